"""Captures at hand, decoded when somebody looks."""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.analysis.profile import CallProfile
from gdb_etm.capture import MemoryImage, RawCapture, with_images
from gdb_etm.errors import AccessError, CaptureError, CommandError
from gdb_etm.history.build import DecoderCache, SourceStream, all_streams, data_trace_id
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.calls import CallHistory, call_history
from gdb_etm.history.clock import CycleClock
from gdb_etm.history.entries import Resolver
from gdb_etm.history.exits import Exits
from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoding import decode_capture, taking_apart
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.packet_listing import Packets
from gdb_etm.session.progress import Meter
from gdb_etm.session.ranges import NumberRange
from gdb_etm.session.recovered import Recovered
from gdb_etm.session.threads import NamedThreads
from gdb_etm.session.walk import Walk
from gdb_etm.views.text import plural

# Reads the target's memory: address, size in bytes.
ReadMemory = Callable[[int, int], bytes]

# Captures that stay at hand.
KEPT = 16
# Instructions whose calls are found while nobody waits for long.
_SOON = 1 << 20
# From so many instructions on the calls of a history are not all kept.
_INDEXED = 1 << 22
# Bytes compared with the target in one read.
_PIECE = 1024


class Doubt(NamedTuple):
    """How the executed code compares with what the target holds."""

    # Every byte address where they differ.
    addresses: Set[int]
    # Why the target could not be read; None when it was.
    unread: Optional[str]


NO_DOUBT = Doubt(set(), None)


class Decoded:
    """One core's history with what is derived from it.

    :param history: The executed instructions.
    :param meter: Watches what takes long.
    :param anchored: What is known of the core's state at the ends of the trace.
    :param trace_id: Its instruction trace's.
    """

    def __init__(self, history: ExecutionHistory, meter: Meter, anchored: Anchored, trace_id: int) -> None:
        self.history = history
        self.anchored = anchored
        self.trace_id = trace_id
        self._meter = meter
        self.doubt = NO_DOUBT
        # Where the debugger halted in it, such as "halt in put (breakpoint 1)": by the instruction before.
        self.halts: Dict[int, str] = {}
        # Named positions.
        self.marks: Dict[str, int] = {}
        # What ``etm history`` showed last.
        self.instructions_shown: Optional[NumberRange] = None
        # What ``etm functions`` showed last.
        self.functions_shown: Optional[NumberRange] = None
        # The same for one thread alone: which of its functions, by its number.
        self.thread_functions_shown: Dict[int, NumberRange] = {}
        # The user's walk through it, see :mod:`gdb_etm.session.past`.
        self.walk: Optional[Walk] = None
        # Its recovery, as it was asked for last, see :mod:`gdb_etm.session.past`.
        self.recovered: Optional[Recovered] = None
        # What is known of how its calls are found; of a small history nothing is kept.
        self.steps: Optional[StepMemory] = None
        # Its profiles by unit, see :mod:`gdb_etm.session.analysed`.
        self.profiles: Dict[str, CallProfile] = {}
        self._calls: Optional[CallHistory] = None
        self._threads: Optional[NamedThreads] = None
        self._paused: Optional[FrozenSet[int]] = None
        self._clock: Optional[CycleClock] = None
        self._likened: Optional[Tuple[Tuple[Tuple[int, bytes], ...], bool]] = None

    @property
    def program(self) -> Program:
        """The program that it was decoded with."""
        return self.history.program

    @property
    def paused(self) -> FrozenSet[int]:
        """The instructions after which the core was halted, and nothing ran unseen."""
        if self._paused is None:
            self._paused = pauses(self.history)
        return self._paused

    @property
    def clock(self) -> CycleClock:
        """What adds up its cycle counts, made at the first look."""
        if self._clock is None:
            size = len(self.history.order)
            with self._meter.task("adding up the cycle counts", size) as task:
                self._clock = CycleClock(self.history, task.advance)
        return self._clock

    def forget_symbols(self) -> None:
        """Forget the call history: the symbols have changed."""
        self._calls = self._threads = self.recovered = self.steps = None
        self.profiles.clear()
        if self.walk is not None:
            self.walk.cursor.forget()

    def calls(self, resolve: Resolver, is_whole: bool = False) -> CallHistory:
        """Give the call history, made at the first look.

        :param is_whole: Whether all of it is going to be looked at.
        """
        if self._calls is None:
            size = len(self.history)
            with self._meter.task("finding the calls in %s" % plural(size, "instruction"), size) as task:
                exits = Exits(self.program)
                if self.steps is None and size >= _INDEXED and not is_whole:
                    self.steps = StepMemory(resolve, exits)
                paused, steps = self.paused - self.halts.keys(), None if is_whole else self.steps
                self._calls = call_history(self.history, resolve, exits, task.advance, paused, steps)
        return self._calls

    def threads(self, debugger: Debugger) -> NamedThreads:
        """Give the threads, named at the first look."""
        if self._threads is None:
            end = self.anchored.after(self.history)
            self._threads = NamedThreads(self.calls(debugger.function_at), end, debugger.constant)
        return self._threads

    @property
    def has_threads(self) -> bool:
        """Whether the threads are known, or are soon."""
        return self._calls is not None and self._calls.is_read or len(self.history) <= _SOON

    def compare(self, read: ReadMemory) -> None:
        """Compare the executed code with the target's memory; sets :attr:`doubt`."""
        pieces = self._code()
        different: Set[int] = set()
        try:
            with self._meter.task("comparing the code that ran with the target's", len(pieces)) as task:
                for at, size in pieces:
                    expected = self.program.read(at, size)
                    found = read(at, len(expected))
                    if found != expected:
                        different.update(at + i for i, (a, b) in enumerate(zip(expected, found)) if a != b)
                    task.advance(1)
        except AccessError as error:
            self.doubt = Doubt(different, str(error))
        else:
            self.doubt = Doubt(different, None)

    def is_of(self, program: Program) -> bool:
        """Check whether the executed code is part of a program."""
        key = program.identity()
        if key == self.program.identity():
            return True
        if self._likened is None or self._likened[0] != key:
            found = all(self.program.read(at, size) == program.read(at, size) for at, size in self._code())
            self._likened = key, found
        return self._likened[1]

    def _code(self) -> List[Tuple[int, int]]:
        # Addresses and sizes of pieces of the code that ran.
        ranges = {(executed.start, executed.end) for executed in self.history.distinct_ranges()}
        return [(at, min(_PIECE, end - at)) for start, end in _joined(ranges) for at in range(start, end, _PIECE)]


class CaptureRecord:
    """One capture with a number.

    :param number: Counts the captures of this session from 1.
    :param capture: The buffer and what decoding needs.
    :param origin: Where it was taken, such as ``"halt in main"``.
    :param is_live: Whether it comes from the target, so that its code can be compared with the target's.
    :param meter: Watches what takes long.
    """

    def __init__(self, number: int, capture: RawCapture, origin: str, is_live: bool, meter: Meter) -> None:
        self._meter = meter
        self.number = number
        self.capture = capture
        self.origin = origin
        self.is_live = is_live
        # What is known of the core's state at the ends of the trace.
        self.anchored = Anchored()
        # Why the core is not where it was at the halt before, or what more ran than is in this capture; may be empty.
        self.unseen = ""
        # Whether it is one of many that "etm record" took: then what is counted of it stays when it is left out.
        self.is_piece = False
        # Whether the debugger changed nothing from the halt before until the core ran on.
        self.follows_untouched = False
        # The instructions of its first core that has any; negative while nobody has looked.
        self.instructions = -1
        # All histories, once they are decoded; until then those that somebody asked for by their trace IDs.
        self._decoded: Optional[Dict[int, Decoded]] = None
        self._some: Dict[int, Decoded] = {}
        self._packets: Dict[Optional[int], Packets] = {}

    @property
    def is_decoded(self) -> bool:
        """Check whether somebody has looked at all of it already."""
        return self._decoded is not None

    @property
    def has_program(self) -> bool:
        """Check whether the capture holds code that it can be decoded with."""
        return any(source.images for source in self.capture.sources)

    @property
    def walks(self) -> List[Walk]:
        """The user's walks through its histories."""
        return [one.walk for one in (self._decoded or self._some).values() if one.walk is not None]

    def forget_symbols(self) -> None:
        """Forget the names of functions: the symbols have changed."""
        for decoded in (self._decoded or self._some).values():
            decoded.forget_symbols()

    def release(self) -> None:
        """Drop what was decoded, unless the user is in it.

        It is decoded again when somebody looks.
        """
        if not self.walks:
            self._decoded, self._some, self._packets = None, {}, {}

    def forget_memory(self, with_begin: bool) -> None:
        """Drop what memory is known of the core at its end.

        :param with_begin: Whether to drop that before the run, too.
        """
        for anchor in (self.anchored.end, self.anchored.begin if with_begin else None):
            if anchor is not None:
                anchor.forget_memory()

    def decoded(
        self,
        images: Sequence[MemoryImage],
        cache: DecoderCache,
        read: Optional[ReadMemory],
        trace_id: Optional[int] = None,
    ) -> Dict[int, Decoded]:
        """Decode histories by trace ID, once, and again when code appears.

        :param images: Program memory beside what the capture holds; it comes after the capture's own.
        :param cache: Decoders of earlier captures.
        :param read: Reads the target's memory for comparing; None where there is no target.
        :param trace_id: The one that is enough, where there is one; None takes all.
        :raises CaptureError: Nothing in it can be decoded.
        """
        if images and not self.has_program:
            self._decoded, self._some = None, {}
        if self._decoded is not None:
            return self._decoded
        if trace_id is not None and trace_id not in self._some:
            self._some.update(self._decode(images, cache, read, trace_id))
        if trace_id in self._some:
            return self._some
        self._decoded = {**self._decode(images, cache, read, None), **self._some}
        self.instructions = next(filter(None, (len(one.history) for one in self._decoded.values())), 0)
        return self._decoded

    def _decode(
        self,
        images: Sequence[MemoryImage],
        cache: DecoderCache,
        read: Optional[ReadMemory],
        trace_id: Optional[int],
    ) -> Dict[int, Decoded]:
        capture = with_images(self.capture, images)
        result: Dict[int, Decoded] = {}
        for found, history in decode_capture(capture, self._meter, cache, trace_id).items():
            result[found] = Decoded(history, self._meter, self.anchored, found)
            if read is not None and self.is_live:
                result[found].compare(read)
        self.capture = capture
        return result

    def streams(self) -> List[SourceStream]:
        """Take the capture apart by trace IDs.

        :raises CaptureError: Nothing in it can be decoded.
        """
        with taking_apart(self.capture, self._meter) as taken:
            return all_streams(self.capture, taken.advance)

    def packets(self, trace_id: Optional[int]) -> Packets:
        """List a trace ID's packets; None takes all, in buffer order.

        :raises CommandError: There is no such trace ID.
        """
        if trace_id not in self._packets:
            found = self.streams()
            chosen = [stream for stream in found if trace_id in (None, stream.trace_id)]
            if not chosen and trace_id is not None:
                raise no_such_id(trace_id, self.number, [stream.trace_id for stream in found])
            if not chosen:
                raise CaptureError("capture %d holds no trace: %s" % (self.number, _empty_reason(self.capture)))
            self._packets[trace_id] = Packets(chosen, self._meter)
        return self._packets[trace_id]

    def choose(self, decoded: Dict[int, Decoded], trace_id: Optional[int]) -> Decoded:
        """Choose a trace ID's history; None takes the first with instructions.

        :raises CommandError: There is no such trace ID.
        """
        if trace_id is not None:
            if trace_id not in decoded:
                _refuse_data_id(trace_id, decoded)
                raise no_such_id(trace_id, self.number, decoded)
            return decoded[trace_id]
        if not decoded:
            raise CaptureError("capture %d holds no trace: %s" % (self.number, _empty_reason(self.capture)))
        return next((one for one in decoded.values() if len(one.history)), next(iter(decoded.values())))

    def whose(self, decoded: Decoded) -> str:
        """Name a history's trace ID; empty where there is only one."""
        ids = ["0x%02x" % trace_id for trace_id in self._decoded or ()]
        return "" if len(ids) < 2 else "trace ID 0x%02x of %s" % (decoded.trace_id, ", ".join(ids))


def _refuse_data_id(trace_id: int, decoded: Dict[int, Decoded]) -> None:
    # A data stream has no instructions of its own.
    for own_id, one in decoded.items():
        if data_trace_id(one.history.source) == trace_id:
            words = 'trace ID 0x%02x is the data trace of 0x%02x; "history /d --id 0x%02x" shows its loads and stores'
            raise CommandError(words % (trace_id, own_id, own_id))


def no_such_id(trace_id: int, number: int, known: Iterable[int]) -> CommandError:
    """Make the error for a trace ID that is not there."""
    words = ", ".join("0x%02x" % one for one in known) or "none"
    return CommandError("no trace ID 0x%02x in capture %d; it has: %s" % (trace_id, number, words))


def _empty_reason(capture: RawCapture) -> str:
    if not capture.buffer:
        return "the buffer was empty; did the program run since tracing started?"
    names = ", ".join(source.name for source in capture.sources)
    return "%d bytes, but none from %s" % (len(capture.buffer), names)


def _joined(ranges: Set[Tuple[int, int]]) -> List[Tuple[int, int]]:
    # Executed ranges overlap and touch; read each byte once.
    result: List[Tuple[int, int]] = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result
