"""Rows of the instruction listing and of the function listing."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from gdb_etm.capture import BufferEnd
from gdb_etm.history.calls import Break, Entry, Interrupt, Segment, ThreadSwitch
from gdb_etm.history.clock import Timed, TraceTime
from gdb_etm.history.store import Span, TracedInstruction
from gdb_etm.protocols.elements import (
    DEBUG_HALT,
    Cycles,
    DataGap,
    Event,
    Exception_,
    Gap,
    GapReason,
    Timestamp,
    TraceEvent,
    Transfer,
)
from gdb_etm.protocols.registry import PROTOCOLS
from gdb_etm.session.debugger import Debugger, SourceLine
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.disassembler import ItBlocks, symbol_text
from gdb_etm.session.ranges import NumberRange
from gdb_etm.views.history import (
    EventRow,
    FunctionRow,
    InstructionRow,
    NoteRow,
    Row,
    SourceRow,
    TracedData,
    TransferRow,
)

# Upper bits of what an M-profile handler returns to (Armv8-M ARM, B3.17); tail-chained exceptions come from there.
_EXC_RETURN = 0xFFFFFF
_LOCKUP = "Lockup"
_LONGEST_IT_BLOCK = 4
_STEPPED = "stepped by the debugger"
# Instructions whose outcomes are looked up together.
_BLOCK = 1024


def history_rows(
    debugger: Debugger,
    decoded: Decoded,
    shown: NumberRange,
    modifiers: str,
    no_leading: bool = False,
    no_trailing: bool = False,
) -> Iterator[Row]:
    """Give the rows of an instruction listing.

    :param modifiers: Letters of GDB's ``record instruction-history``: m, s, r, f; also t for times and d for data.
    :param no_leading: Leave out the events directly before the first instruction, which were shown already.
    :param no_trailing: The same after the last instruction.
    """
    write = _RowWriter(debugger, decoded, modifiers)
    for before in decoded.history.walk(max(1, shown.first - _LONGEST_IT_BLOCK), shown.first - 1):
        if isinstance(before, TracedInstruction):
            write.pass_over(before)
    last = shown.first - 1
    if shown.first == 1:
        yield decoded.history.end_reason
    halts = HaltNotes(decoded)
    for item, time in _timed(decoded, shown, modifiers):
        if not isinstance(item, TracedInstruction):
            note = halts.note(last, item)
            if note is not None:
                yield note
            if halts.hides(last, item):
                continue
            leading = last < shown.first and shown.first > 1 and no_leading
            trailing = last >= shown.last and no_trailing
            starts = last == 0 and item is not None and is_start(decoded, item)
            if not (leading or trailing or starts):
                yield write.event(item, time)
            continue
        last = item.number
        source = write.source(item)
        if source is not None:
            yield source
        yield write.instruction(item, time)


class HaltNotes:
    """Tells halts in a line each.

    Those that the user saw are told with their reason, the debugger's own together.
    """

    def __init__(self, decoded: Decoded) -> None:
        self._paused = decoded.paused
        self._halts = decoded.halts
        # The instruction after which the debugger halted by itself last, and the one whose halt was told last.
        self._stepped = self._told = -1

    def note(self, after: int, event: Optional[Event]) -> Optional[NoteRow]:
        """Give the line of a halt at the first event of it."""
        if after == self._told or not _is_of_halt(event):
            return None
        if after in self._halts:
            self._told = after
            return NoteRow(self._halts[after])
        if after not in self._paused or after == self._stepped:
            return None
        is_first, self._stepped = after - 1 not in (self._stepped, self._told), after
        return NoteRow(_STEPPED) if is_first else None

    def hides(self, after: int, event: Optional[Event]) -> bool:
        """Tell whether an event is told by the line."""
        # Where it went on nothing else is to be told; elsewhere there is a gap.
        if after in self._paused:
            return _is_of_halt(event)
        return after in self._halts and isinstance(event, Exception_) and event.name == DEBUG_HALT


def _is_of_halt(event: Optional[Event]) -> bool:
    if isinstance(event, Exception_):
        return event.name == DEBUG_HALT
    return isinstance(event, Gap) and event.reason is GapReason.TRACE_ON


def event_rows(debugger: Debugger, decoded: Decoded) -> List[Row]:
    """Give the rows of a history without instructions: its events."""
    events = [event for event in decoded.history.events if not isinstance(event, (Cycles, DataGap, Timestamp))]
    write = _RowWriter(debugger, decoded, "")
    return [write.event(event, None) for event in events if not is_start(decoded, event)]


def function_rows(debugger: Debugger, decoded: Decoded, shown: NumberRange, with_lines: bool) -> Iterator[FunctionRow]:
    """Give the rows of a function listing.

    :param with_lines: Whether each has its source file and lines.
    """
    entries = decoded.calls(debugger.function_at).entries(shown.first, shown.last)
    return _function_rows(debugger, decoded, entries, with_lines)


def _function_rows(
    debugger: Debugger, decoded: Decoded, entries: Iterable[Entry], with_lines: bool
) -> Iterator[FunctionRow]:
    lines = _SegmentLines(debugger, decoded) if with_lines else None
    told: Set[int] = set()
    for entry in entries:
        if isinstance(entry, Break) and entry.after == 0 and is_start(decoded, entry.event):
            continue
        if isinstance(entry, Break) and entry.after in decoded.halts:
            if entry.after not in told:
                told.add(entry.after)
                yield FunctionRow(NoteRow(decoded.halts[entry.after]), "", 0, 0)
            if entry.after in decoded.paused:
                continue
        if isinstance(entry, ThreadSwitch):
            yield FunctionRow(NoteRow(decoded.threads(debugger).switch(entry)), "", 0, 0)
            continue
        path, first, last = lines.of(entry) if lines is not None else ("", 0, 0)
        yield FunctionRow(entry, path, first, last, _origin(decoded, entry))


def thread_rows(
    debugger: Debugger, decoded: Decoded, thread: int, numbers: Iterable[int], with_lines: bool
) -> Iterator[FunctionRow]:
    """Give the rows of one thread's functions, with the switches to it.

    :param numbers: Which entries.
    """
    calls = decoded.calls(debugger.function_at)
    found = (entry for number in numbers for entry in calls.entries(number, number))
    own = (one for one in found if isinstance(one, Segment) or isinstance(one, ThreadSwitch) and one.thread == thread)
    return _function_rows(debugger, decoded, own, with_lines)


def with_switches(debugger: Debugger, decoded: Decoded, shown: NumberRange, rows: Iterator[Row]) -> Iterator[Row]:
    """Add the switches of threads to the rows of an instruction listing.

    Nothing is added where the calls of a long history were not looked at.
    """
    if not decoded.has_threads:
        return rows
    calls = decoded.calls(debugger.function_at)
    found = {one.after + 1: one for one in calls.switches(shown.first, shown.last)}
    return _with_notes(rows, {number: decoded.threads(debugger).switch(one) for number, one in found.items()})


def _with_notes(rows: Iterator[Row], notes: Dict[int, str]) -> Iterator[Row]:
    # Before an instruction and its source line.
    source: List[Row] = []
    for row in rows:
        if isinstance(row, InstructionRow) and row.number in notes:
            yield NoteRow(notes[row.number])
        yield from source
        source = [row] if isinstance(row, SourceRow) else []
        if not source:
            yield row


def traced_data(decoded: Decoded) -> TracedData:
    """Check whether addresses and values of loads and stores are traced."""
    reader = PROTOCOLS[decoded.history.source.protocol]
    return TracedData(*reader.transfers(reader.config(decoded.history.source)))


def _timed(decoded: Decoded, shown: NumberRange, modifiers: str) -> Iterator[Timed]:
    items: Iterator[Union[TracedInstruction, Event]] = decoded.history.walk(shown.first, shown.last)
    if "d" not in modifiers:
        items = (item for item in items if not isinstance(item, DataGap))
    if "t" in modifiers:
        return decoded.clock.timed(items, shown.first)
    return (Timed(item, None) for item in items if not isinstance(item, (Cycles, Timestamp)))


class _KnownCells(NamedTuple):
    symbol: str
    code: bytes
    text: str
    is_doubtful: bool


class _RowWriter:
    # Makes rows of what is in a history, with what the debugger knows and the modifiers ask for.

    def __init__(self, debugger: Debugger, decoded: Decoded, modifiers: str) -> None:
        self._debugger = debugger
        self._decoded = decoded
        self._source = "m" in modifiers or "s" in modifiers
        self._bytes = "r" in modifiers
        self._names = "f" not in modifiers
        self._data = "d" in modifiers
        self._before: Optional[SourceLine] = None
        self._blocks = ItBlocks()
        self._marks = dict(decoded.history.source.marks)
        self._traced = traced_data(decoded)
        # What is the same whenever an instruction runs: by its address and what of an IT block is before it.
        self._known: Dict[Tuple[int, bytes], _KnownCells] = {}
        # Whether conditional instructions passed, up to an instruction.
        self._outcomes: Dict[int, bool] = {}
        self._outcomes_end = 0

    def pass_over(self, item: TracedInstruction) -> None:
        """Note an instruction that is not shown."""
        self._blocks.before(item.address, self._decoded.program.read(item.address, item.size), item.isa)

    def source(self, item: TracedInstruction) -> Optional[SourceRow]:
        """Give an instruction's source line, unless the one before has it."""
        if not self._source:
            return None
        line, before = self._debugger.line_at(item.address), self._before
        self._before = line
        if line is None or line == before:
            return None
        return SourceRow("%s:%d" % (line.path, line.line), self._debugger.source_text(line))

    def instruction(self, item: TracedInstruction, time: Optional[TraceTime]) -> InstructionRow:
        number, address, size, isa = item
        cells = self._known.get((address, b""))
        before = self._blocks.before(address, cells.code if cells else self._decoded.program.read(address, size), isa)
        if before or cells is None:
            cells = self._known.get((address, before)) or self._look_up(item, before)
        if number > self._outcomes_end:
            self._outcomes_end = number + _BLOCK - 1
            self._outcomes = self._decoded.history.outcomes(number, self._outcomes_end)
        return InstructionRow(
            number,
            address,
            cells.symbol,
            cells.code if self._bytes else b"",
            cells.text,
            cells.is_doubtful,
            time,
            self._transfers(self._decoded.history.transfers(number)) if self._data else (),
            "condition failed" if self._outcomes.get(number) is False else "",
        )

    def _look_up(self, item: TracedInstruction, before: bytes) -> _KnownCells:
        code = self._decoded.program.read(item.address, item.size)
        cells = self._known[item.address, before] = _KnownCells(
            symbol_text(self._debugger.function_at(item.address), item.address) if self._names else "",
            code,
            self._debugger.disassemble(item.address, code, item.isa, before),
            not self._decoded.doubt.addresses.isdisjoint(range(item.address, item.address + item.size)),
        )
        return cells

    def event(self, event: Optional[Event], time: Optional[TraceTime]) -> Row:
        found = self._decoded.history.event_transfers(event) if self._data and event is not None else ()
        words = self._marks.get(event.number, "") if isinstance(event, TraceEvent) else ""
        return EventRow(event, time, self._transfers(found), words)

    def _transfers(self, found: Iterable[Transfer]) -> Tuple[TransferRow, ...]:
        return tuple(TransferRow(transfer, self._symbol(transfer), self._traced) for transfer in found)

    def _symbol(self, transfer: Transfer) -> str:
        return self._debugger.symbol_at(transfer.address) if self._names and transfer.address is not None else ""


def is_start(decoded: Decoded, event: Event) -> bool:
    """Tell whether an event before all only says that tracing started."""
    started = decoded.history.end_reason in (BufferEnd.STARTED, BufferEnd.LEFT_OUT)
    return started and isinstance(event, Gap) and event.reason is GapReason.TRACE_ON


def _origin(decoded: Decoded, entry: Entry) -> str:
    # An exception from outside the program is most often the end of a wild jump.
    if not isinstance(entry, Interrupt) or entry.event.return_address is None:
        return ""
    address = entry.event.return_address
    if address >> 8 == _EXC_RETURN:
        return "" if entry.event.name == _LOCKUP else "tail-chained"
    return "" if decoded.program.read(address, 2) else "from 0x%08x: not in the program" % address


class _SegmentLines:
    # The source lines that ran in a segment, looked up once for each executed range.

    def __init__(self, debugger: Debugger, decoded: Decoded) -> None:
        self._debugger = debugger
        self._decoded = decoded
        self._known: Dict[Tuple[int, int], Set[Tuple[str, int]]] = {}

    def of(self, entry: Entry) -> Tuple[str, int, int]:
        """Give a segment's source file, lowest and highest executed line."""
        if not isinstance(entry, Segment):
            return "", 0, 0
        here = self._debugger.line_at(entry.address)
        if here is None:
            return "", 0, 0
        numbers = {here.line}
        for item in self._decoded.history.spans(entry.first, entry.last):
            if isinstance(item, Span):
                numbers.update(line for path, line in self._lines(item) if path == here.path)
        return here.path, min(numbers), max(numbers)

    def _lines(self, span: Span) -> Set[Tuple[str, int]]:
        key = (span.range.start, span.range.end)
        if key not in self._known:
            found = (self._debugger.line_at(at) for at in self._decoded.history.addresses(span.range))
            self._known[key] = {(line.path, line.line) for line in found if line is not None}
        return self._known[key]
