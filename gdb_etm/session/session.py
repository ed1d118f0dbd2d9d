"""What the commands of a session share: connection, captures, settings."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Callable, Dict, Iterator, List, Optional, Sequence

from gdb_etm.capture import MemoryImage, RawCapture
from gdb_etm.errors import CommandError
from gdb_etm.history.build import DecoderCache
from gdb_etm.program.image import load_elf
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.background import Background
from gdb_etm.session.captures import KEPT, CaptureRecord
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.events import EventSet
from gdb_etm.session.fault_hint import hint_lines
from gdb_etm.session.filters import FilterSet
from gdb_etm.session.halt_states import Anchored, Anchors, anchored_of, leaves_nothing_out, with_ends
from gdb_etm.session.joined import DEFAULT_LIMIT, HISTORY_LIMIT, JoinedCaptures, Limit, history_limit
from gdb_etm.session.kernels import kernel_constants
from gdb_etm.session.messages import HandedOver, shared_settings
from gdb_etm.session.places import Locations, ReplayPlaces, ReverseExecution
from gdb_etm.session.progress import Meter
from gdb_etm.session.request import TraceRequest
from gdb_etm.session.summary import halt_lines, summary
from gdb_etm.session.walk import Walk

if TYPE_CHECKING:
    from subprocess import Popen

    from gdb_etm.session.connection import TargetConnection  # imported when connecting: it takes a while
    from gdb_etm.session.second_gdb import SecondGdb  # imported when it is started

_TRACING_WAS_OFF = "while the core ran"


class DebugSession:
    """One user's work: connect, trace, look.

    :param debugger: Symbols and target.
    :param meter: Watches what takes long.
    """

    # Whether halts are pieces of a recording, which is summarised as a whole.
    is_recording = False

    def __init__(self, debugger: Debugger, meter: Optional[Meter] = None) -> None:
        self.debugger = debugger
        self._meter = meter if meter is not None else Meter()
        # Values of ``set etm`` by name; what is absent has its default.
        self.settings: Dict[str, str] = {}
        # Called when a setting was changed by other means than the debugger's commands.
        self.on_setting: Callable[[str], None] = lambda name: None
        # The connection to a target with trace; None without one.  The last one that ended.
        self.connection: Optional[TargetConnection] = None
        self.gone: Optional[TargetConnection] = None
        # Captures, oldest first.
        self.captures: List[CaptureRecord] = []
        # The capture that packets and a budget are of; the history that is shown ends there.
        self.current: Optional[CaptureRecord] = None
        # The captures of the connection, as one history; None without one.
        self.joined: Optional[JoinedCaptures] = None
        # Whether the history is that of the current capture alone.
        self.is_alone = False
        # Called about every second while something starts, with the seconds so far.
        self.progress: Callable[[float], None] = lambda seconds: None
        # What the debugger knows for walking through a history; None where it cannot.
        self.places: Optional[ReplayPlaces] = None
        # The debugger's own reverse execution; None where it has none.
        self.reverse: Optional[ReverseExecution] = None
        # What finds functions and lines by name; None where nothing does.
        self.locations: Optional[Locations] = None
        # What of the program is traced, and what the trace unit does when events happen.
        self.filters, self.events = FilterSet(), EventSet()
        # The request of the last ``etm start``.
        self.request = TraceRequest()
        # The debugger's connection to a snapshot that is replayed, as it describes it; None without one.
        self.replays: Optional[str] = None
        # The process that replays it, as long as we hold its standard input.
        self.replayer: Optional[Popen[str]] = None
        # The second GDB, which prints values of the past; None until it is needed.
        self.second_gdb: Optional[SecondGdb] = None
        # The histories whose registers and memory were worked out, the newest last.
        self.worked_out: List[Decoded] = []
        # What goes on with that while the prompt is free.
        self.background = Background()
        self._anchors = Anchors(
            debugger, self, lambda known: self.connection.special_registers(known) if self.connection else {}
        )
        # Programs the trace unit again at the next halt.
        self._due: Optional[Callable[[], None]] = None
        self._taken, self._undrained = 0, False
        # What stopped the core last, such as "breakpoint 1".
        self.halted_by = ""
        # What more has happened to the core since the last capture than the next one tells; may be empty.
        self._unseen = ""
        # Whether the debugger's program ended: it may have released the target, or be about to run it again.
        self.program_ended = False
        # A connection that was given up, and GDB is still connected to its server.
        self.lost: Optional[TargetConnection] = None
        self._cache = DecoderCache()
        self._images: Dict[str, Sequence[MemoryImage]] = {}

    @property
    def meter(self) -> Meter:
        """What watches over work that takes long."""
        return self._meter

    def add(self, capture: RawCapture, origin: str, is_live: bool) -> CaptureRecord:
        """Add a capture as the current one.

        Of those that are not part of the one history at most 16 are kept.
        """
        self.background.stop()
        self._taken += 1
        self.current = CaptureRecord(self._taken, capture, origin, is_live, self._meter)
        self.current.anchored = anchored_of(capture)
        self.captures.append(self.current)
        self.is_alone = False
        joined = set(self.joined.records) if self.joined is not None else ()
        others = [record for record in self.captures if record not in joined]
        for record in others[:-KEPT]:
            self.captures.remove(record)
        if self._taken % KEPT == 0:
            # A decoded capture holds many reference cycles, which Python collects seldom when they are old.
            gc.collect()
        return self.current

    def join(self, record: CaptureRecord, unseen: str, follows_untouched: bool) -> None:
        """Add the newest capture to the history of the connection.

        :param unseen: What more has happened since the capture before; empty where nothing has.
        :param follows_untouched: Whether the debugger changed nothing from the halt before until the core ran on.
        """
        record.unseen, record.follows_untouched = unseen, follows_untouched
        self.joined = self.joined or JoinedCaptures(self._meter, self._histories, self.debugger)
        self.joined.add(record, self._history_limit)

    @property
    def _history_limit(self) -> Limit:
        return history_limit(self.settings.get(HISTORY_LIMIT, DEFAULT_LIMIT))

    def show(self, record: CaptureRecord, is_alone: bool = True) -> None:
        """Have a capture shown, alone or with its history."""
        self.current, self.is_alone = record, is_alone

    def connected(self) -> TargetConnection:
        """Give the connection.

        :raises CommandError: There is none.
        """
        if self.connection is None:
            raise CommandError('not connected to a trace unit. Try "etm connect"')
        return self.connection

    @property
    def is_undrained(self) -> bool:
        """Whether the trace of the last run is still in the buffer."""
        return self._undrained

    def look(self) -> CaptureRecord:
        """Give the current capture, drained before if necessary.

        :raises CommandError: There is none.
        """
        if self._undrained and self.connection is not None and self.connection.is_tracing:
            self.drain()
        if self.current is None:
            if self.connection is None:
                raise CommandError('nothing captured: not connected. Try "etm connect", or "etm load DIR"')
            if not self.connection.is_tracing:
                raise CommandError('nothing captured: tracing is off. Try "etm start", then "continue"')
            raise CommandError('nothing captured yet: let the program run, then halt it ("continue")')
        return self.current

    def drain(self) -> CaptureRecord:
        """Read the trace buffer into a capture, and go on tracing."""
        connection = self.connected()
        if self.debugger.is_running():
            raise CommandError("the target runs; halt it first (Ctrl-C)")
        images = self.images()
        # Until it is read.
        unseen, self._unseen = self._unseen, self._unseen or "the trace buffer could not be read"
        with self._meter.task("reading the trace buffer") as task:
            begin = self._anchors.take_begin()
            capture = connection.drain(images, "capture %d" % (self._taken + 1), task.advance)
        self._undrained, self._unseen = False, unseen
        place, why = self.debugger.location(), " (%s)" % self.halted_by if self.halted_by else ""
        return self._add_anchored(connection, capture, ("halt in " + place if place else "halt") + why, begin)

    def _add_anchored(
        self, connection: TargetConnection, capture: RawCapture, origin: str, begin: Optional[Anchor]
    ) -> CaptureRecord:
        anchors = self._anchors
        record = self.add(with_ends(capture, begin, anchors.halt), origin, is_live=True)
        record.anchored = Anchored(
            begin, anchors.halt, leaves_nothing_out(connection.trace), connection.sees_halts and anchors.is_untouched
        )
        unseen, self._unseen = self._unseen, "" if connection.sees_halts else _TRACING_WAS_OFF
        self.join(record, unseen, connection.sees_halts and anchors.was_left_alone)
        anchors.emptied()
        if not self.debugger.is_running():
            handed = (
                record.capture,
                self.debugger.program_files(),
                record.anchored,
                unseen,
                record.follows_untouched,
                shared_settings(self.settings),
                kernel_constants(self.debugger.constant),
            )
            connection.hand_over(HandedOver(*handed))
        return record

    def stop(self) -> Optional[CaptureRecord]:
        """Trace no more; what was traced since the last capture becomes one."""
        connection = self.connected()
        if connection.sees_halts and not self._undrained and not self.debugger.is_running():
            connection.halt_trace()
            return None
        is_running = self.debugger.is_running()
        images = self.images()
        with self._meter.task("reading the trace buffer") as task:
            begin = self._anchors.take_begin()
            capture = connection.stop(images, "capture %d" % (self._taken + 1), task.advance)
        self._undrained = False
        record = self._add_anchored(connection, capture, "etm stop", begin)
        self._unseen = _TRACING_WAS_OFF if is_running else self._unseen
        return record

    def shown(self, trace_id: Optional[int] = None) -> Decoded:
        """Give the connection's history, or the chosen capture's.

        :raises CommandError: There is none, or no such trace ID.
        :raises CaptureError: Nothing in it can be decoded.
        """
        record = self.look()
        if self.is_alone or self.joined is None or self.joined.records[-1:] != [record]:
            return self.decode(record, trace_id)
        return self.joined.decoded(self._history_limit, trace_id)

    @property
    def walks(self) -> List[Walk]:
        """The user's walks through the histories that may be shown."""
        alone = self.current.walks if self.current is not None else []
        return alone + (self.joined.walks if self.joined is not None else [])

    def decode(self, record: CaptureRecord, trace_id: Optional[int] = None) -> Decoded:
        """Decode a capture once, and give one core's history."""
        return record.choose(self._histories(record, trace_id), trace_id)

    def _histories(self, record: CaptureRecord, trace_id: Optional[int]) -> Dict[int, Decoded]:
        # By the debugger, which hides its breakpoints.
        read = self.debugger.read_memory if record.is_live and self._reaches_memory() else None
        return record.decoded(self.images_for(record), self._cache, read, trace_id)

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the halted target's memory, whatever the debugger shows.

        With a process beside the debugger, any thread may.

        :raises AccessError: It cannot be read.
        """
        if self.connection is not None and self.reads_beside:
            return self.connection.read_memory(address, size)
        return self.debugger.read_memory(address, size)

    @property
    def reads_beside(self) -> bool:
        """Whether the process beside the debugger reads the target's memory."""
        return self.connection is not None and self.connection.has_process and self.connection.has_core

    def _reaches_memory(self) -> bool:
        if self.connection is None or self.debugger.is_running():
            return False
        return self.connection.has_core or self.debugger.connection() is not None

    def images_for(self, record: CaptureRecord) -> Sequence[MemoryImage]:
        """Read the program for a capture, unless it holds its own."""
        return () if record.is_live and record.has_program else self.images()

    def images(self) -> Sequence[MemoryImage]:
        """Read the program: the ELF files that the debugger knows.

        :raises ImageError: One of them cannot be read, or is for another processor.
        """
        result: List[MemoryImage] = []
        for path in dict.fromkeys(self.debugger.program_files()):
            if path not in self._images:
                self._images[path] = load_elf(path)
            result += self._images[path]
        return result

    def forget_program(self) -> None:
        """Read ELF files and symbols again at next use."""
        self.background.stop()
        self._images.clear()
        self.end_second_gdb()
        self.filters.forget_places()
        self.events.forget_places()
        for record in self.captures:
            record.forget_symbols()
        if self.joined is not None:
            self.joined.forget_symbols()

    def end_second_gdb(self) -> None:
        """End the second GDB; another one is started when it is needed."""
        second_gdb, self.second_gdb = self.second_gdb, None
        if second_gdb is not None:
            second_gdb.close()

    def on_halt(self, halted_by: str = "") -> Iterator[str]:
        """React to a halt: drain the buffer, unless draining is lazy.

        :param halted_by: Such as ``"breakpoint 1"``; empty where it is not known.
        :returns: Lines to print.
        """
        self.halted_by = halted_by
        connection = self.connection
        if connection is None or not connection.is_tracing:
            return
        if not connection.has_run():
            # GDB moved through the past; the core has not run.
            if self.captures and self.captures[-1].is_live and self.captures[-1].anchored.end is not None:
                self.captures[-1].anchored.end.stay(self)
            return
        self._anchors.on_halt()
        connection.expect_trace()
        self._undrained = True
        due, self._due = self._due, None
        if self.settings.get("drain") == "lazy" and due is None:
            yield from hint_lines(self._anchors.halt, self.settings)
            return
        record = self.drain()
        yield from halt_lines(record, self.decode, self.debugger, self.is_recording)
        yield from hint_lines(self._anchors.halt, self.settings)
        if due is not None:
            due()
            self.on_trace_start()

    def summary(self, record: CaptureRecord) -> str:
        """Summarise a capture in a line; a big one is not decoded."""
        return summary(record, self.decode, self.debugger)

    def on_resume(self) -> None:
        """Note the core's state: it is about to run."""
        self.background.stop()
        if self.connection is not None and self.connection.sees_halts and not self.connection.in_the_past:
            is_tracing = self.connection.keeps_tracing()
            # It asks GDB for the registers, and may find that the connection is lost.
            images = self.images() if self.settings.get("anchor-memory") == "on" else None
            self._anchors.on_resume(is_tracing, images)
            if not is_tracing:
                self._unseen = _TRACING_WAS_OFF
        self._leave()

    def _leave(self) -> None:
        # The target is not at rest any more, or not reached.
        for record in self.captures:
            if record.anchored.end is not None:
                record.anchored.end.leave()

    def on_memory_changed(self, address: int, size: int) -> None:
        """Note that the user has written to the target's memory."""
        self._anchors.changed(address, size)

    def on_registers_changed(self) -> None:
        """Note that the user has changed registers."""
        self._anchors.touched()

    def on_trace_start(self) -> None:
        """Note that tracing starts, into an empty buffer."""
        self._anchors.emptied()

    def reprogram(self, start: Callable[[], None]) -> bool:
        """Program the trace unit again; what was traced before is kept.

        :param start: Does it.
        :returns: Whether that is done; otherwise the target runs, and it is done at the next halt.
        """
        if self.debugger.is_running():
            self._due = start
            return False
        if self._undrained:
            self.drain()
        start()
        self.on_trace_start()
        return True

    def let_go(self) -> Optional[TargetConnection]:
        """Take the connection out of the session; None when there is none."""
        self.background.stop()
        self._leave()
        connection, self.connection = self.connection, None
        self.gone, self.joined = connection or self.gone, None
        self._undrained, self._unseen, self._due = False, "", None
        return connection
