"""Between GDB and a live server: everything passes, until GDB goes backward.

While live, packets go on as they are; only the answer to qSupported says more.  At ``bs`` or ``bc`` the history that
ends at the halt takes over and answers as the target; where it runs off its end, the live target does again.  The
server never learns of it: it has a halted target all the while, with the breakpoints that GDB has put there.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, Optional, Protocol, Tuple

from gdb_etm.errors import EtmError
from gdb_etm.replay.console import Replay, console, is_goto, monitor_reply, take_goto
from gdb_etm.replay.halted import Halt, Server
from gdb_etm.replay.packets import InputKind, Item
from gdb_etm.replay.past import Patience
from gdb_etm.replay.target import Reply, Target

_FEATURES = b"ReverseStep+;ReverseContinue+;QStartNoAckMode+;vContSupported+"
# Non-stop mode is not offered: while the past is shown no stop may come unasked.  GDB has to know that the target steps
# by itself: where it would step by breakpoints it would have to know the condition flags of the past.
_REPLACED = re.compile(rb"(ReverseStep|ReverseContinue|QStartNoAckMode|QNonStop|vContSupported)[-+?]")
_ACTIONS = b"vCont;c;C;s;S"
_ACTION = re.compile(rb"vCont;([csCS][0-9a-f]{0,2})")
# Packets that let the target run, or make another one of it.
_RESUMES = re.compile(rb"vCont;|[sc][0-9a-f]*$|[SC][0-9a-f]{2}|R|vRun|vAttach|vFlash")
_MONITOR = re.compile(rb"qRcmd,")
_TAKES_LEAVE = re.compile(rb"D(;|$)|k$|vKill")
_WRITES = re.compile(rb"[GPMX](?!.*,0:$)")
# What the halted target's server answers in the past as well: descriptions, settings.
_ASKS_LIVE = re.compile(
    rb"qC$|qAttached|qSupported|qOffsets|qSymbol|qTStatus"
    rb"|qXfer:(?!threads:)[a-z-]+:read:"
    rb"|[HT]|!|vMustReplyEmpty|vFile|QPassSignals|QProgramSignals|QThreadEvents|QCatchSyscalls|vCont\?"
)
# What the past answers where it has more threads than one.
_OF_THREADS = re.compile(rb"[HT]")
_LEAVES = re.compile(rb"D|k|vKill|R|vRun|vAttach")
_THREAD = re.compile(rb"[T;0-9a-f]thread:([^;]+);")
_STOP = re.compile(rb"[TSWXN]")
# Kind, address and size of a breakpoint or a watchpoint.
Point = Tuple[int, int, int]


class Source(Protocol):
    """Where the history comes from."""

    def replay(self, halt: Halt) -> Replay:
        """Give the history that ends where the target is halted.

        :param halt: The halted target.
        :raises EtmError: There is none; the message says why.
        """

    def on_past(self, in_the_past: bool) -> None:
        """Take note of whether GDB looks at the past from now on."""

    def on_resume(self, halt: Halt) -> None:
        """Take note that the target is about to run.

        The history that was given is then that of an older halt.

        :param halt: The target, halted still.
        """

    def on_leave(self, halt: Halt) -> None:
        """Take note that GDB takes its leave of the halted target."""


class Proxy:
    """One GDB's conversation with one server.

    :param server: The live target.
    :param source: Where its history comes from.
    """

    def __init__(self, server: Server, source: Source) -> None:
        self._server = server
        self._source = source
        # The packet that the server has still to answer.
        self._passed: Optional[bytes] = None
        self._thread = ""
        # What the server has inserted, with the packets that did it.
        self._inserted: Dict[Point, bytes] = {}
        # What GDB has inserted.
        self._wanted: Dict[Point, bytes] = {}
        self._target: Optional[Target] = None
        self._kept: Optional[Replay] = None
        # The position in it that the next step back goes to at once.
        self._goal: Optional[int] = None
        self._halt = Halt(server)
        self._is_doubted = False
        # Whether the live target runs, as far as is known.
        self.is_running = False
        self._has_actions = b";s" in server.ask(b"vCont?")
        # Who waits for answers of the past that take long.
        self.patience: Optional[Patience] = None
        # Whether GDB has taken its leave.
        self.has_left = False

    @property
    def is_replaying(self) -> bool:
        """Whether GDB sees the past."""
        return self._target is not None

    def leaves_alone(self, data: bytes) -> bool:
        """Tell whether the server answers a packet without the proxy."""
        return self._target is None and data[:1] == b"m"

    def from_gdb(self, item: Item) -> Iterator[Reply]:
        """Take what GDB sent.

        :returns: Packets for GDB; None now and then while a long run through the past goes on.
        """
        if item.kind is InputKind.INTERRUPT:
            (self._server if self._target is None else self._target).interrupt()
            return
        data = item.data
        goto = _goto(data) if self._target is None else ""
        if self._target is None and data in (b"bs", b"bc"):
            yield from self._go_back(data)
        elif goto:
            yield self._take_goto(goto)
        elif self._target is not None and _LEAVES.match(data):
            self._leave()
            self._pass(data)
        elif data == b"vCont?" and not self._has_actions:
            yield _ACTIONS
        elif self._target is None or _ASKS_LIVE.match(data) and not (_OF_THREADS.match(data) and self._target.others):
            self._pass(data)
        else:
            yield from self._replayed(self._target, data)

    def interrupted(self) -> bytes:
        """Give the stop reply for an interrupted run through the past."""
        return self._target.interrupted() if self._target is not None else b"T02"

    def from_server(self, item: Item) -> Optional[bytes]:
        """Take what the server sent, and give what GDB gets of it."""
        data, passed = item.data, self._passed
        if data[:1] == b"O" and data != b"OK":
            return data  # console output; the reply is still to come
        self._passed = None
        if _STOP.match(data) and (self.is_running or passed is not None and passed == b"?"):
            self.is_running = False
            thread = _THREAD.search(data)
            if thread is not None:
                self._thread = thread.group(1).decode("ascii", "replace")
        if passed is None:
            return data
        if passed.startswith(b"qSupported"):
            return _with_reverse(data)
        if passed[:1] in (b"Z", b"z") and data == b"OK":
            self._note(passed)
        return data

    def _pass(self, data: bytes) -> None:
        if _RESUMES.match(data):
            self._resume()
        elif _TAKES_LEAVE.match(data):
            self._source.on_leave(self._halt)
            self.has_left = True
        elif _MONITOR.match(data):
            self._halt.keep_registers()
            self._is_doubted = True
        elif _WRITES.match(data):
            self._halt.before_write(data)
        self._passed = data
        action = _ACTION.match(data) if not self._has_actions else None
        self._server.send(data if action is None else action.group(1))

    def leave(self) -> None:
        """Take note that GDB is gone without a word."""
        if not self.is_running and not self.has_left:
            self._source.on_leave(self._halt)

    def _take_goto(self, command: str) -> bytes:
        try:
            self._goal, lines = take_goto(self._replay().motion, command)
        except EtmError as error:
            lines = [str(error)]
        return monitor_reply(lines)

    def _resume(self) -> None:
        self._source.on_resume(self._halt)
        self.is_running = True
        self._kept = self._goal = None
        self._halt = Halt(self._server)

    def _look_again(self) -> None:
        # A monitor command may have let the target run.
        self._is_doubted = False
        now = Halt(self._server)
        if now.keep_registers() != self._halt.keep_registers():
            self._kept, self._halt = None, now

    def _note(self, data: bytes) -> None:
        point = _point(data)
        if point is None:
            return
        for known in (self._inserted, self._wanted):
            known.pop(point, None)
            if data[:1] == b"Z":
                known[point] = data

    def _go_back(self, data: bytes) -> Iterator[Reply]:
        try:
            replay = self._replay()
        except EtmError as error:
            yield console("etm: %s" % error)
            yield self._begins()
            return
        self._wanted = dict(self._inserted)
        replay.motion.forget()
        replay.motion.number = replay.motion.last
        self._target = Target(replay, self._thread)
        self._target.patience = self.patience
        self._target.goal, self._goal = self._goal, None
        self._source.on_past(True)
        for kind, address, size in self._wanted:
            self._target.insert(kind, address, size)
        yield from self._replayed(self._target, data)

    def _replay(self) -> Replay:
        if self._is_doubted:
            self._look_again()
        if self._kept is None:
            self._kept = self._source.replay(self._halt)
        return self._kept

    def _begins(self) -> bytes:
        thread = "thread:%s;" % self._thread if self._thread else ""
        return ("T05replaylog:begin;" + thread).encode()

    def _replayed(self, target: Target, data: bytes) -> Iterator[Reply]:
        point = _point(data) if data[:1] in (b"Z", b"z") else None
        for reply in target.answer(data):
            if point is not None and reply == b"OK":
                self._wanted.pop(point, None)
                if data[:1] == b"Z":
                    self._wanted[point] = data
            if target.ended is not None and reply is not None and reply[:1] == b"T":
                self._leave()
            yield reply

    def _leave(self) -> None:
        # The live target again, with the breakpoints that GDB believes it to have.
        self._target = None
        self._source.on_past(False)
        for point in [point for point in self._inserted if point not in self._wanted]:
            self._server.ask(b"z" + self._inserted.pop(point)[1:].partition(b";")[0])
        for point in [point for point in self._wanted if point not in self._inserted]:
            if self._server.ask(self._wanted[point]) == b"OK":
                self._inserted[point] = self._wanted[point]


def _with_reverse(reply: bytes) -> bytes:
    kept = [part for part in reply.split(b";") if part and not _REPLACED.fullmatch(part)]
    return b";".join([*kept, _FEATURES])


def _goto(data: bytes) -> str:
    # The words of "monitor goto"; empty for other packets.
    if not _MONITOR.match(data):
        return ""
    try:
        command = bytes.fromhex(data.decode("ascii").partition(",")[2]).decode("utf-8", "replace").strip()
    except ValueError:
        return ""
    return command if is_goto(command) else ""


def _point(data: bytes) -> Optional[Point]:
    try:
        kind, address, size = data[1:].partition(b";")[0].split(b",")
        return int(kind, 16), int(address, 16), int(size, 16)
    except ValueError:
        return None
