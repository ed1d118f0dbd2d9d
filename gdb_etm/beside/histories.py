"""Sources of a proxy's history: trace unit, snapshot, or plug-in.

The trace unit is reached through the server; the plug-in hands over the captures that it drained.
"""

from __future__ import annotations

import gc
import struct
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from gdb_etm.access.memory_port import MemoryPort
from gdb_etm.beside.replays import make_replay
from gdb_etm.capture import RawCapture, with_images
from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import AccessError, CaptureError, EtmError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.program.image import load_elf
from gdb_etm.replay.console import Replay
from gdb_etm.replay.halted import Halt, Server, read_memory
from gdb_etm.replay.reliance import Reliance
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.halt_states import Anchored, anchored_of, with_ends
from gdb_etm.session.messages import HandedOver
from gdb_etm.session.opening import over_port
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.options import TraceOptions

LIVE_END = "[the live end: here the target is halted; the next command runs it]"
# Words in one read of a server.
_MOST_WORDS = 256
# Prints a line for the user.
Tell = Callable[[str], None]


class Histories:
    """Makes histories of captures that end where a target is halted.

    :param files: ELF files of the program.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._debugger = OfflineDebugger(files)
        self._session = DebugSession(self._debugger)
        self._files = list(files)
        # What GDB knows of the kernel's control blocks.
        self.constants: Dict[str, int] = {}
        # The program.
        self.images = tuple(image for name in files for image in load_elf(name))

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take settings that the user has changed, by their names."""
        self._session.settings.update(settings)

    def forget(self) -> None:
        """Forget all captures: the next one follows none."""
        self._session.captures.clear()
        self._session.joined = None

    def add(self, capture: RawCapture, known: Anchored, unseen: str = "", follows_untouched: bool = False) -> None:
        """Take the capture of the newest halt; it follows the one before.

        :param known: What is known of the ends of its trace.
        :param unseen: What more has happened since the capture before; empty where nothing has.
        :param follows_untouched: Whether nothing was changed from the halt before until the core ran on.
        """
        whole = with_ends(with_images(capture, self.images, first=True), known.begin, known.end)
        record = self._session.add(whole, "halt", is_live=False)
        record.anchored = known
        self._session.join(record, unseen, follows_untouched)

    def replay(self, halt: Halt, reliance: Reliance = Reliance()) -> Replay:
        """Give the history that ends with the newest capture.

        :param halt: The target, where the capture ends; its server knows more of it than the capture does.
        :param reliance: What values may rest on.
        :raises CaptureError: There is nothing to replay.
        """
        # The history before it is garbage now: megabytes in cycles, which Python collects seldom.
        gc.collect()
        decoded = self._session.shown()
        anchored = decoded.anchored._replace(end=_HaltAnchor(halt, decoded.anchored.end))
        replay = make_replay(
            decoded, self._debugger.function_at, self._files, anchored, halt.layout, LIVE_END, self.constants.get
        )
        replay.past.rely(reliance)
        return replay


class _HaltAnchor(Anchor):
    # The registers at the halt; memory is read, and kept, by who knows what GDB has written meanwhile.

    def __init__(self, halt: Halt, known: Optional[Anchor]) -> None:
        self._halt = halt
        super().__init__({**(known.registers if known is not None else {}), **halt.state().registers})

    def read(self, address: int, size: int) -> Optional[bytes]:
        return self._halt.read(address, size)


class SnapshotSource:
    """Source of an older capture, for the program halted at its end.

    :param captures: The snapshot's captures.
    :param reliance: What values may rest on.
    """

    def __init__(self, histories: Histories, captures: Sequence[RawCapture], reliance: Reliance = Reliance()) -> None:
        self._histories = histories
        self._reliance = reliance
        self._captures = list(captures)

    def replay(self, halt: Halt) -> Replay:
        """Give the history."""
        problem: EtmError = CaptureError("the snapshot holds no trace")
        for capture in self._captures:
            try:
                self._histories.forget()
                self._histories.add(capture, anchored_of(capture)._replace(end=None))
                return self._histories.replay(halt, self._reliance)
            except CaptureError as error:
                problem = error
        raise problem

    def on_past(self, in_the_past: bool) -> None:
        """Do nothing."""

    def on_resume(self, halt: Halt) -> None:
        """Do nothing: the capture stays valid for the place where it ends.

        GDB may come there by running.
        """

    def on_leave(self, halt: Halt) -> None:
        """Do nothing."""


class ServerPort(MemoryPort):
    """An :class:`~gdb_etm.access.port.AccessPort` made of ``m`` and ``M`` packets.

    :param server: The server of a halted target.
    :param name: Short description for messages.
    """

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(name)
        self._server = server

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        reply = self._server.ask(b"M%x,4:%s" % (address, struct.pack("<I", value).hex().encode("ascii")))
        if reply != b"OK":
            raise AccessError("write of 0x%08x failed: %s" % (address, reply.decode("latin-1") or "refused"), address)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        result: List[int] = []
        while len(result) < words:
            count = min(_MOST_WORDS, words - len(result))
            at = address + 4 * len(result)
            data = read_memory(self._server, at, 4 * count)
            if data is None:
                raise AccessError("read of 0x%08x failed" % at, at)
            result += struct.unpack("<%dI" % count, data)
        return result


class TracingSource:
    """Source that traces through the memory packets of the proxy's server.

    :param name: What the server is called in messages.
    :param tell: Prints what was found.
    :param reliance: What values may rest on.
    """

    def __init__(self, histories: Histories, name: str, tell: Tell, reliance: Reliance = Reliance()) -> None:
        self._histories = histories
        self._reliance = reliance
        self._name = name
        self._tell = tell
        self._connection: Optional[TargetConnection] = None
        self._failure: Optional[EtmError] = None
        # Since the buffer was empty.
        self._has_run = False
        self._begin: Optional[Anchor] = None

    def replay(self, halt: Halt) -> Replay:
        """Drain the trace buffer, go on tracing, and give the history."""
        if self._failure is not None:
            raise self._failure
        if self._connection is None or not self._has_run:
            raise CaptureError("nothing was traced yet: let the program run, then halt it")
        capture = self._connection.drain(self._histories.images, "halt")
        self._has_run = False
        self._histories.add(capture, Anchored(self._begin, Anchor(halt.state().registers), True))
        return self._histories.replay(halt, self._reliance)

    def on_past(self, in_the_past: bool) -> None:
        """Do nothing."""

    def on_resume(self, halt: Halt) -> None:
        """Begin to trace before the target first runs."""
        was_empty, self._has_run = not self._has_run, True
        if self._failure is not None:
            return
        try:
            if was_empty:
                self._begin = Anchor(halt.state().registers)
            if self._connection is not None:
                return
            connection = over_port(ServerPort(halt.server, self._name))
            connection.find(Choice())
            self._connection = connection
            for line in [*connection.greeting(), *connection.start(TraceOptions())]:
                self._tell(line)
        except EtmError as error:
            self._failure = error
            self._tell("no history: %s" % error)

    def on_leave(self, halt: Halt) -> None:
        """Put the trace hardware back as it was."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.release()
            except EtmError as error:
                self._tell("the trace unit could not be put back: %s" % error)


class PluginSource:
    """Source of the captures that the plug-in drained and handed over."""

    def __init__(self) -> None:
        # Whether GDB looks at the past.
        self.in_the_past = False
        # How often GDB let the target run.
        self.runs = 0
        # Whether the newest capture is that of the present halt.
        self._has_capture = False
        self._reliance = Reliance()
        # What was given for the present halt.
        self._replay: Optional[Replay] = None
        self._files: List[str] = []
        self._histories: Optional[Histories] = None

    @property
    def position(self) -> Tuple[int, int]:
        """The numbers of GDB's instruction and of the last one.

        Both are 0 where it looks at none.
        """
        replay = self._replay
        return (replay.motion.number, replay.motion.end - 1) if replay is not None and self.in_the_past else (0, 0)

    def rely(self, reliance: Reliance) -> None:
        """Change what values may rest on, and recover the past again."""
        self._reliance = reliance
        replay = self._replay
        if replay is not None:
            replay.past.rely(reliance)
            if self.in_the_past:
                replay.past.prepare(replay.motion.number)

    def hand_over(self, handed: HandedOver) -> None:
        """Take the capture of the present halt, to be decoded when needed."""
        self._replay = None
        if self._histories is None or list(handed.files) != self._files:
            self._files, self._histories = list(handed.files), Histories(handed.files)
        self._histories.configure(handed.settings)
        self._histories.constants = handed.constants
        self._histories.add(handed.capture, handed.anchored, handed.unseen, handed.follows_untouched)
        self._has_capture = True

    def replay(self, halt: Halt) -> Replay:
        """Give the history."""
        if self._histories is None or not self._has_capture:
            raise CaptureError(
                'nothing was captured for this halt: "etm start", then let the program run; "etm history" first where'
                ' "set etm drain" is lazy'
            )
        self._replay = self._histories.replay(halt, self._reliance)
        return self._replay

    def on_past(self, in_the_past: bool) -> None:
        """Note what GDB looks at."""
        self.in_the_past = in_the_past

    def on_resume(self, halt: Halt) -> None:
        """Note that the capture is one of an older halt."""
        self._has_capture, self._replay = False, None
        self.runs += 1

    def on_leave(self, halt: Halt) -> None:
        """Do nothing: the plug-in puts the hardware back."""
