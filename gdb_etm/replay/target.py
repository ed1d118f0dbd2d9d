"""The replay as GDB's remote target: packets in, replies out.

Ref: Debugging with GDB, appendix E: packets (E.2), stop replies (E.3), general queries (E.4), target descriptions by
qXfer:features:read; 6, "Running programs backward".
"""

from __future__ import annotations

import html
import re
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from gdb_etm.replay.console import Replay, console, is_goto, missed_text, monitor, monitor_reply, stop_text, take_goto
from gdb_etm.replay.motion import Stopped, Why
from gdb_etm.replay.packets import MAX_PACKET, escape
from gdb_etm.replay.past import Impatient, Patience
from gdb_etm.replay.watching import STORES

_MOST_READ = 1 << 14
# Registers and memory of the past cannot be written.
_REFUSED = b"E01"
_UNKNOWN = b"E01"
# The reply to a packet that is not supported.
_NOTHING = b""
_SUPPORTED = "PacketSize=%x;qXfer:features:read+;ReverseStep+;ReverseContinue+;QStartNoAckMode+;vContSupported+"
_THREADS = ("qfThreadInfo", "qsThreadInfo", "qThreadExtraInfo", "qXfer:threads:read:")
_RAN = "what ran then"
# Threads that wait are called by numbers above this one.
_FIRST = 1 << 20
# Packets that let the core run.
_RUNS = re.compile(r"[sc]|b[sc]$|vCont;")
_FRESH_WORDS = ("watch", "rwatch", "awatch")


# A packet's data; None while a long run goes on, so that somebody may look whether it is to end.
Reply = Optional[bytes]


class Target:
    """Queries GDB from a history.

    :param replay: The history.
    :param thread: How the live server named the thread; empty without one.
    """

    def __init__(self, replay: Replay, thread: str = "") -> None:
        self.replay = replay
        self.motion = replay.motion
        # The stop at the end of the history, when the last packet ran there.
        self.ended: Optional[Stopped] = None
        # Who waits for answers that take long.
        self.patience: Optional[Patience] = None
        # Whether the stack pointer was known at the last stop.
        self._has_stack = True
        self._thread = thread
        # The position that the next step or run goes to at once.
        self.goal: Optional[int] = None
        self._is_asked_to_stop = False
        # The thread whose registers GDB asks for; None for the one that runs.
        self._chosen: Optional[int] = None
        self._packets: Dict[str, Callable[[str], Iterator[Reply]]] = {
            "?": self._status,
            "g": self._registers,
            "p": self._register,
            "m": self._memory,
            "Z": self._insert,
            "z": self._remove,
            "s": self._step,
            "c": self._continue,
            "b": self._back,
            "v": self._verbose,
            "H": self._choose,
            "T": self._is_there,
            "D": self._accept,
            "q": self._query,
            "G": self._refuse,
            "P": self._refuse,
            "M": self._refuse,
            "X": self._refuse,
        }

    def answer(self, data: bytes) -> Iterator[Reply]:
        """Answer a packet.

        :param data: What stands in it.
        :returns: The replies in order, console output before the last; between them None while a long run goes on: who
            does not go on then has interrupted it, and sends :meth:`interrupted`.
        """
        self.ended = None
        text = data.decode("latin-1")
        packet = self._packets.get(text[:1])
        if packet is None:
            yield _NOTHING
            return
        if self._is_asked_to_stop and _RUNS.match(text):
            self._is_asked_to_stop = False
            yield self.interrupted()
            return
        if _RUNS.match(text) and self.goal is not None:
            packet = self._jump
        past = self.replay.past
        past.patience = self.patience
        try:
            yield from packet(text)
        except Impatient:
            yield self.interrupted()
        except (ValueError, IndexError):
            yield _UNKNOWN
        finally:
            past.patience = None

    def interrupted(self) -> bytes:
        """Give the stop reply for a run that was interrupted."""
        return self._stop_reply(2)

    def interrupt(self) -> None:
        """Take an interrupt while the core stands still.

        The next run ends at once.

        GDB steps on by itself where it looks for something after each step, and its interrupt may come in between.
        """
        self._is_asked_to_stop = True

    def insert(self, kind: int, address: int, size: int) -> bool:
        """Insert a breakpoint (kind 0, 1) or a watchpoint (2 to 4).

        :returns: Whether that is possible.
        """
        if kind < 2:
            self.motion.breakpoints.add(address)
            return True
        if kind > 4:
            return False
        self.motion.watch(kind, address, size)
        return True

    def _status(self, text: str) -> Iterator[Reply]:
        # GDB takes no console output here: it is connecting.
        for _ in self._prepared():
            pass
        self._has_stack = True
        yield self._stop_reply(5)

    def _prepared(self) -> Iterator[Reply]:
        # What the values at a stop take; who does not wait for them sees where it is all the same.
        try:
            text = self.replay.past.prepare(self.motion.number)
        except Impatient:
            text = "interrupted: registers and memory are not all worked out here"
        if text:
            yield console("etm: " + text)
        had, self._has_stack = self._has_stack, self.replay.past.register(self.motion.number, "sp") is not None
        if had and not self._has_stack:
            yield console("etm: the stack pointer is not known here: GDB cannot find the caller")

    def _stop_reply(self, signal: int, more: str = "") -> bytes:
        self._chosen = None
        thread = self._thread or ("1" if self.others else "")
        return ("T%02x%s%s" % (signal, more, "thread:%s;" % thread if thread else "")).encode()

    @property
    def others(self) -> List[int]:
        """Numbers of the threads that wait."""
        threads = self.replay.threads
        return threads.others(self.motion.number) if threads is not None else []

    def _choose(self, text: str) -> Iterator[Reply]:
        if text[:2] == "Hg":
            self._chosen = self._thread_of(text[2:])
        yield b"OK"

    def _is_there(self, text: str) -> Iterator[Reply]:
        found = self._thread_of(text[1:])
        yield b"OK" if found is None or found in self.others else _UNKNOWN

    def _thread_of(self, text: str) -> Optional[int]:
        # By GDB's name of it; None for the one that runs, or any.
        number = int(text.rpartition(".")[2], 16) - _FIRST
        return number if number > 0 else None

    def _named(self, thread: int) -> str:
        # Within the process that the live server has named.
        process, dot, _ = self._thread.rpartition(".")
        return "%s%s%x" % (process, dot, _FIRST + thread)

    def _registers(self, text: str) -> Iterator[Reply]:
        yield "".join(self._value(register.name, register.bits) for register in self.replay.layout.together).encode()

    def _register(self, text: str) -> Iterator[Reply]:
        register = self.replay.layout.at(int(text[1:], 16))
        yield self._value(register.name, register.bits).encode() if register is not None else _UNKNOWN

    def _value(self, name: str, bits: int) -> str:
        threads, number = self.replay.threads, self.motion.number
        if self._chosen is not None and threads is not None:
            value = threads.register(self._chosen, number, name.lower())
        else:
            value = self.replay.past.register(number, name.lower())
        return "x" * (bits // 4) if value is None else value.to_bytes(bits // 8, "little").hex()

    def _memory(self, text: str) -> Iterator[Reply]:
        address, size = _pair(text[1:])
        size = min(size, _MOST_READ)
        found = self.replay.past.memory(self.motion.number, address, size)
        if found is None:
            # GDB takes a shorter reply; of a piece that is known in part it gets what is known first.
            found = self._beginning(address, size)
        yield found.hex().encode() if found or not size else _UNKNOWN

    def _beginning(self, address: int, size: int) -> bytes:
        known = b""
        while len(known) < size:
            byte = self.replay.past.memory(self.motion.number, address + len(known), 1)
            if byte is None:
                break
            known += byte
        return known

    def _insert(self, text: str) -> Iterator[Reply]:
        kind, address, size = _point(text)
        yield b"OK" if self.insert(kind, address, size) else _UNKNOWN

    def _remove(self, text: str) -> Iterator[Reply]:
        kind, address, size = _point(text)
        if kind < 2:
            self.motion.breakpoints.discard(address)
        else:
            self.motion.unwatch(kind, address, size)
        yield b"OK"

    def _step(self, text: str) -> Iterator[Reply]:
        yield from self._stopped(self.motion.step(False))

    def _continue(self, text: str) -> Iterator[Reply]:
        yield from self._run(False)

    def _back(self, text: str) -> Iterator[Reply]:
        if text == "bs":
            yield from self._stopped(self.motion.step(True))
        elif text == "bc":
            yield from self._run(True)
        else:
            yield _NOTHING

    def _jump(self, text: str) -> Iterator[Reply]:
        goal, self.goal = self.goal, None
        if goal is not None:
            self.motion.number = min(goal, self.motion.last)
        if goal == self.motion.end:
            self.ended = Stopped(self.motion.last, Why.END)
        else:
            yield from self._prepared()
        # To GDB a place that it is brought to is no breakpoint that was hit, and no end of a step, of which it would
        # have to know the caller: it stops for no signal.
        yield self._stop_reply(0)

    def _run(self, backward: bool) -> Iterator[Reply]:
        for stop in self.motion.run(backward):
            if stop is None:
                yield None
            else:
                yield from self._stopped(stop)

    def _verbose(self, text: str) -> Iterator[Reply]:
        name, _, rest = text.partition(";")
        if name == "vCont?":
            yield b"vCont;c;C;s;S;r"
        elif name == "vCont":
            action = rest.split(";")[0].split(":")[0]
            if action[:1] in ("s", "S"):
                yield from self._step(action)
            elif action[:1] == "r":
                yield from self._range(*_pair(action[1:]))
            else:
                yield from self._run(False)
        elif name == "vKill":
            yield b"OK"
        else:
            yield _NOTHING

    def _range(self, start: int, end: int) -> Iterator[Reply]:
        # Step while inside of a range.
        while True:
            stop = self.motion.step(False)
            address = self.motion.path.address(stop.number) or 0
            if stop.why is not Why.STEPPED or not start <= address < end:
                yield from self._stopped(stop)
                return
            yield None

    def _stopped(self, stop: Stopped) -> Iterator[Reply]:
        # GDB knows one word for a place that it cannot go on from; what it is stands on the console.
        line = stop_text(self.replay, stop)
        if line:
            yield console("etm: " + line)
        if stop.missed:
            yield console("etm: " + missed_text(stop.missed))
        if stop.why is Why.END:
            self.ended = stop
        else:
            yield from self._prepared()
        if stop.why in (Why.BEGIN, Why.END, Why.GAP, Why.UNSEEN):
            yield self._stop_reply(5, "replaylog:%s;" % ("end" if stop.why is Why.END else "begin"))
        elif stop.why is Why.WATCHPOINT and stop.watch is not None:
            yield from self._watched(stop.number, *stop.watch)
        else:
            yield self._stop_reply(5)

    def _watched(self, number: int, kind: int, address: int) -> Iterator[Reply]:
        if kind != STORES or self.replay.past.memory(number, address, 1) is not None:
            yield self._stop_reply(5, "%s:%x;" % (_FRESH_WORDS[kind - 2], address))
            return
        # GDB would look whether the value has changed, and go on: to it one that is not known is like another.
        what = "wrote" if self.motion.is_certain(number) else "may have written, as its address is not known,"
        yield console("etm: this instruction %s 0x%08x; what was there before is not known" % (what, address))
        yield self._stop_reply(0)

    def _accept(self, text: str) -> Iterator[Reply]:
        yield b"OK"

    def _refuse(self, text: str) -> Iterator[Reply]:
        yield _REFUSED

    def _query(self, text: str) -> Iterator[Reply]:
        name = text.partition(":")[0]
        if name == "qSupported":
            yield (_SUPPORTED % (MAX_PACKET // 2)).encode()
        elif name == "qXfer" and text.startswith("qXfer:features:read:target.xml:"):
            yield piece(self.replay.layout.xml.encode(), *_pair(text.rpartition(":")[2]))
        elif text.startswith(_THREADS):
            yield self._threads(text)
        elif name.startswith("qRcmd,"):
            yield from self._monitor(bytes.fromhex(text.partition(",")[2]).decode("utf-8", "replace").strip())
        else:
            yield _ANSWERS.get(name, _NOTHING)

    def _threads(self, text: str) -> bytes:
        # The one that ran keeps the name that the live target's has, which of those it was is not known.
        others = self.others
        found = {self._thread or "1": self._ran(others)}
        found.update((self._named(one), self._waits(one)) for one in others)
        if text.startswith("qXfer"):
            xml = "".join('<thread id="%s">%s</thread>' % (name, html.escape(what)) for name, what in found.items())
            return piece(("<threads>%s</threads>" % xml).encode(), *_pair(text.rpartition(":")[2]))
        if text.startswith("qThreadExtraInfo"):
            return found.get(text.partition(",")[2], _RAN).encode().hex().encode()
        return b"m%s" % ",".join(found).encode() if text.startswith("qf") else b"l"

    def _ran(self, others: List[int]) -> str:
        threads = self.replay.threads
        running = threads.running(self.motion.number) if threads is not None and others else None
        return _RAN if threads is None or running is None else "%s, %s" % (threads.name(running), _RAN)

    def _waits(self, thread: int) -> str:
        return "%s, waits" % self.replay.threads.name(thread) if self.replay.threads is not None else _RAN

    def _monitor(self, command: str) -> Iterator[Reply]:
        if is_goto(command):
            self.goal, lines = take_goto(self.motion, command)
        else:
            lines = monitor(self.replay, command)
        yield monitor_reply(lines)


_ANSWERS = {
    "qAttached": b"1",
    "qC": b"QC1",
    "qSymbol": b"OK",
}


def _pair(text: str) -> Tuple[int, int]:
    first, _, second = text.partition(",")
    return int(first, 16), int(second, 16)


def _point(text: str) -> Tuple[int, int, int]:
    # "Z0,ADDRESS,KIND", with conditions after a semicolon that GDB judges as well.
    kind, address, size = text[1:].partition(";")[0].split(",")
    return int(kind, 16), int(address, 16), int(size, 16)


def piece(data: bytes, offset: int, size: int) -> bytes:
    """Give part of a document as the reply to ``qXfer``."""
    part = data[offset : offset + min(size, MAX_PACKET // 4)]
    return (b"m" if offset + len(part) < len(data) else b"l") + escape(part)
