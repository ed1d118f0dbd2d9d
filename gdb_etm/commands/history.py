"""``etm history`` and ``etm functions``: the executed instructions, one by one and by function."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Optional, Set, Tuple, Union

from gdb_etm.capture import BufferEnd
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.history.calls import Break, Entry, Interrupt, Segment
from gdb_etm.history.clock import Timed, TraceTime
from gdb_etm.history.store import Span, TracedInstruction
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Cycles, DataGap, Event, Gap, GapReason, Timestamp, TraceEvent, Transfer
from gdb_etm.protocols.registry import LANGUAGES
from gdb_etm.session.captures import Decoded
from gdb_etm.session.debugger import Debugger, SourceLine
from gdb_etm.session.disassembler import ItBlocks, symbol_text
from gdb_etm.session.numbers import count
from gdb_etm.session.ranges import NumberRange, check, window
from gdb_etm.session.session import DebugSession
from gdb_etm.views.history import (
    EventRow,
    FunctionRow,
    InstructionRow,
    Row,
    SourceRow,
    TracedData,
    TransferRow,
    function_lines,
    instruction_lines,
)
from gdb_etm.views.text import end_text, plural

RANGE = Argument(
    "RANGE",
    str,
    "which: N | N,M | N,+M | N,-M | -N (the last N) | + (next) | - (before); none: the next, at first the last",
    many=True,
)
TRACE_ID = Argument("--id", count, "the trace ID, where a capture holds several cores", "ID")

# Upper bits of what an M-profile handler returns to (Armv8-M ARM, B3.17); tail-chained exceptions come from there.
_EXC_RETURN = 0xFFFFFF
_LOCKUP = "Lockup"
_LONGEST_IT_BLOCK = 4
# Lines aligned together; a listing of any length starts to print at once.
_BATCH = 1000


def run_history(session: DebugSession, values: Values) -> Iterable[str]:
    """List executed instructions."""
    decoded = session.decode(session.look(), values.get(TRACE_ID))
    text = " ".join(values.all(RANGE))
    limit = _limit(session, "history-size")
    if not len(decoded.history):
        check(text, "instructions")
        yield from _events_alone(session.debugger, decoded, limit)
        return
    shown = window(text, len(decoded.history), limit, decoded.instructions_shown, "instructions")
    yield from _whose(session, values, decoded, decoded.instructions_shown)
    yield from _doubts(decoded, "instructions marked ! are not what the target holds now")
    yield from _other_names(session, decoded)
    yield from _absent(decoded, values.modifiers)
    batch: List[Row] = []
    for row in history_rows(session.debugger, decoded, shown, values.modifiers, _is_next(text), text.strip() == "-"):
        batch.append(row)
        if len(batch) >= _BATCH:
            yield from instruction_lines(batch)
            batch = []
    yield from instruction_lines(batch)
    decoded.instructions_shown = shown


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
    for item, time in _timed(decoded, shown, modifiers):
        if not isinstance(item, TracedInstruction):
            leading = last < shown.first and shown.first > 1 and no_leading
            trailing = last >= shown.last and no_trailing
            starts = last == 0 and item is not None and is_start(decoded, item)
            if not (leading or trailing or starts):
                yield write.event(item, time)
            continue
        last = item.number
        yield from write.instruction(item, time)


def _timed(decoded: Decoded, shown: NumberRange, modifiers: str) -> Iterator[Timed]:
    items: Iterator[Union[TracedInstruction, Event]] = decoded.history.walk(shown.first, shown.last)
    if "d" not in modifiers:
        items = (item for item in items if not isinstance(item, DataGap))
    if "t" in modifiers:
        return decoded.clock.timed(items, shown.first)
    return (Timed(item, None) for item in items if not isinstance(item, (Cycles, Timestamp)))


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
        self._traced = _traced(decoded)

    def pass_over(self, item: TracedInstruction) -> None:
        """Take note of an instruction that is not shown."""
        self._blocks.before(item.address, self._decoded.program.read(item.address, item.size), item.isa)

    def instruction(self, item: TracedInstruction, time: Optional[TraceTime]) -> Iterator[Row]:
        if self._source:
            line = self._debugger.line_at(item.address)
            if line is not None and line != self._before:
                yield SourceRow("%s:%d" % (line.path, line.line), self._debugger.source_text(line))
            self._before = line
        code = self._decoded.program.read(item.address, item.size)
        addresses = range(item.address, item.address + item.size)
        yield InstructionRow(
            item.number,
            item.address,
            symbol_text(self._debugger.function_at(item.address), item.address) if self._names else "",
            code if self._bytes else b"",
            self._debugger.disassemble(item.address, code, item.isa, self._blocks.before(item.address, code, item.isa)),
            not self._decoded.doubt.addresses.isdisjoint(addresses),
            time,
            self._transfers(self._decoded.history.transfers(item.number)) if self._data else (),
            "condition failed" if self._decoded.history.outcome(item.number) is False else "",
        )

    def event(self, event: Optional[Event], time: Optional[TraceTime]) -> Row:
        found = self._decoded.history.event_transfers(event) if self._data and event is not None else ()
        words = self._marks.get(event.number, "") if isinstance(event, TraceEvent) else ""
        return EventRow(event, time, self._transfers(found), words)

    def _transfers(self, found: Iterable[Transfer]) -> Tuple[TransferRow, ...]:
        return tuple(TransferRow(transfer, self._symbol(transfer), self._traced) for transfer in found)

    def _symbol(self, transfer: Transfer) -> str:
        return self._debugger.symbol_at(transfer.address) if self._names and transfer.address is not None else ""


def is_start(decoded: Decoded, event: Event) -> bool:
    """Tell whether an event before the first instruction only says that tracing started, as the first line does."""
    started = decoded.history.end_reason is BufferEnd.STARTED
    return started and isinstance(event, Gap) and event.reason is GapReason.TRACE_ON


def run_functions(session: DebugSession, values: Values) -> Iterable[str]:
    """List function segments, exceptions and gaps."""
    decoded = session.decode(session.look(), values.get(TRACE_ID))
    calls = decoded.calls(session.debugger.function_at)
    text = " ".join(values.all(RANGE))
    limit = _limit(session, "function-call-history-size")
    if not len(calls):
        check(text, "functions")
        yield from _events_alone(session.debugger, decoded, limit)
        return
    shown = window(text, len(calls), limit, decoded.functions_shown, "functions")
    yield from _whose(session, values, decoded, decoded.functions_shown)
    yield from _doubts(decoded, "some of what is listed may never have run")
    yield from _other_names(session, decoded)
    if shown.first == 1:
        yield end_text(decoded.history.end_reason)
    lines = _Lines(session.debugger, decoded) if "l" in values.modifiers else None
    batch: List[FunctionRow] = []
    for entry in calls.entries(shown.first, shown.last):
        if isinstance(entry, Break) and entry.after == 0 and is_start(decoded, entry.event):
            continue
        path, first, last = lines.of(entry) if lines is not None else ("", 0, 0)
        batch.append(FunctionRow(entry, path, first, last, _origin(decoded, entry)))
        if len(batch) >= _BATCH:
            yield from function_lines(batch, "c" in values.modifiers, "i" in values.modifiers)
            batch = []
    yield from function_lines(batch, "c" in values.modifiers, "i" in values.modifiers)
    decoded.functions_shown = shown


def _whose(session: DebugSession, values: Values, decoded: Decoded, before: Optional[NumberRange]) -> Iterator[str]:
    # At the first look, where several cores were traced and the user did not say which.
    words = session.look().whose(decoded) if before is None and values.get(TRACE_ID) is None else ""
    if words:
        yield words


def _doubts(decoded: Decoded, consequence: str) -> Iterator[str]:
    # Decoding with code that did not run gives a history that did not happen.
    if decoded.doubt.addresses:
        yield "the program and the target's memory differ: %s" % consequence
    elif decoded.doubt.unread is not None:
        yield "the code was not compared with the target's: %s" % decoded.doubt.unread


def _other_names(session: DebugSession, decoded: Decoded) -> Iterator[str]:
    # A capture keeps the program that it was taken with, but names are the debugger's.
    now = Program(session.images())
    if now.pieces and not decoded.is_of(now):
        yield "another program than this capture's is loaded now; names and lines are of that one"


def _absent(decoded: Decoded, modifiers: str) -> Iterator[str]:
    # What a modifier asks for may not have been traced.
    if "t" in modifiers and not decoded.clock.has_times:
        yield "no cycle counts and no timestamps in this trace"
    if "d" in modifiers and not decoded.history.tells_transfers:
        yield "no loads and stores in this trace"
    elif "d" in modifiers and not all(_traced(decoded)):
        what = "values" if _traced(decoded).addresses else "addresses"
        yield '%s of loads and stores are not traced; "etm start --data both" traces them' % what


def _traced(decoded: Decoded) -> TracedData:
    language = LANGUAGES[decoded.history.source.protocol]
    return TracedData(*language.transfers(language.config(decoded.history.source)))


def _events_alone(debugger: Debugger, decoded: Decoded, limit: Optional[int]) -> Iterator[str]:
    # Without instructions the events still say why there are none.
    events = [event for event in decoded.history.events if not isinstance(event, (Cycles, DataGap, Timestamp))]
    writer = _RowWriter(debugger, decoded, "")
    rows: List[Row] = [writer.event(event, None) for event in events if not is_start(decoded, event)]
    newest = rows[-limit:] if limit else rows
    if len(newest) == len(rows):
        yield end_text(decoded.history.end_reason)
    else:
        yield "[%s before these]" % plural(len(rows) - len(newest), "event")
    yield from instruction_lines(newest)
    yield "no instructions" if decoded.program.images else 'no instructions, for want of a program: "file" or --elf'


def _origin(decoded: Decoded, entry: Entry) -> str:
    # An exception from outside the program is most often the end of a wild jump.
    if not isinstance(entry, Interrupt) or entry.event.return_address is None:
        return ""
    address = entry.event.return_address
    if address >> 8 == _EXC_RETURN:
        return "" if entry.event.name == _LOCKUP else "tail-chained"
    return "" if decoded.program.read(address, 2) else "from 0x%08x: not in the program" % address


class _Lines:
    # The source lines that ran in a segment, looked up once for each executed range.

    def __init__(self, debugger: Debugger, decoded: Decoded) -> None:
        self._debugger = debugger
        self._decoded = decoded
        self._known: Dict[Tuple[int, int], Set[Tuple[str, int]]] = {}

    def of(self, entry: Entry) -> Tuple[str, int, int]:
        """Give a segment's source file with the lowest and the highest line that ran."""
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


def _is_next(text: str) -> bool:
    return text.strip() in ("", "+")


def _limit(session: DebugSession, name: str) -> Optional[int]:
    value = session.settings.get(name, "10")
    return None if value == "unlimited" else int(value)


HISTORY = Command(
    "history",
    "Print the instructions that really ran.",
    run_history,
    details=(
        "The newest have the highest numbers.  Exceptions and gaps take a line, not a number.\n"
        'Like GDB\'s "record instruction-history"; "set etm history-size" sets how many are printed.\n'
        "The total of cycles begins anew at a count that is unknown; a timestamp's own count is of cycles since the\n"
        "count before it.  What there is depends on what the unit can and was told to trace."
    ),
    arguments=(RANGE, TRACE_ID),
    modifiers={
        "m": "with source lines",
        "s": "with source lines",
        "r": "with the instructions' bytes, in memory order",
        "f": "without function names",
        "t": "with cycle counts, their total and timestamps, beside what they belong to",
        "d": "with the data that was loaded and stored, below the instruction",
    },
    examples=(
        ("history", "the last ten; typed again, the next ten"),
        ("history -", "the ten before"),
        ("history /s -30", "the last thirty, with source"),
        ("history 21890,+20", "twenty from number 21890"),
        ("history /st -30", "the last thirty, with source, cycles and timestamps"),
        ("history /d 21900", "ten, with the values that they loaded and stored"),
    ),
)

FUNCTIONS = Command(
    "functions",
    "Print the functions that really ran, in order.",
    run_functions,
    details=(
        "One line for each stretch of instructions in one function; exceptions have lines of their own, and so have\n"
        'gaps, without a number.  Like GDB\'s "record function-call-history"; "set etm function-call-history-size"\n'
        "sets how many are printed."
    ),
    arguments=(RANGE, TRACE_ID),
    modifiers={
        "i": "with the numbers of the first and last instruction",
        "l": "with the source file and lines",
        "c": "indented by call depth",
    },
    examples=(
        ("functions /c -20", "the last twenty, indented"),
        ("functions /ilc 1,+50", "the first fifty, with everything"),
    ),
)
