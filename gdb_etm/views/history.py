"""A history as text: instructions, events, and the call history."""

from __future__ import annotations

from itertools import groupby
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.capture import BufferEnd
from gdb_etm.history.calls import Break, Entry, Interrupt, Segment
from gdb_etm.history.clock import TraceTime
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import DataGap, Event, Exception_, ExceptionReturn, Gap, TraceEvent, Transfer
from gdb_etm.views.text import align, end_text, exception_text, gap_lines, gap_text

# Before the line that the cursor is in, and before others, as GDB's "disassemble" has it.
CURSOR = "=> "
NO_CURSOR = "   "
NOT_CERTAIN = "[may belong to another instruction]"


class TracedData(NamedTuple):
    """What was traced of loads and stores."""

    addresses: bool
    values: bool


class TransferRow(NamedTuple):
    """A load or store, with what the debugger knows of its address."""

    transfer: Transfer
    # Such as ``"station+80"``; empty when unknown or unwanted.
    symbol: str
    traced: TracedData = TracedData(True, True)


class InstructionRow(NamedTuple):
    """One executed instruction, with what the debugger knows of it."""

    number: int
    address: int
    # Such as ``"dispatch+18"``; empty when unknown or unwanted.
    symbol: str
    # Its bytes in memory order; empty when unwanted.
    code: bytes
    # Mnemonic, a tab, operands.
    text: str
    # Whether the target holds other code at this address now.
    doubtful: bool
    time: Optional[TraceTime] = None
    transfers: Tuple[TransferRow, ...] = ()
    # More about it, such as that its condition failed; may be empty.
    note: str = ""


class SourceRow(NamedTuple):
    """The source line of the instructions below it."""

    # Such as ``"rx.c:57"``.
    where: str
    # None when the source is not at hand.
    text: Optional[str]


class EventRow(NamedTuple):
    """An event, or a time that belongs to nothing in the history."""

    event: Optional[Event]
    time: Optional[TraceTime] = None
    transfers: Tuple[TransferRow, ...] = ()
    # What an event of the trace unit's means.
    words: str = ""


class FoldRow(NamedTuple):
    """Instructions of a call, or of an exception's handler, as one line."""

    # Of the first instruction.
    number: int
    # Such as ``"crc16"``.
    name: str
    # How many instructions, and what more is to be told.
    text: str


class NoteRow(NamedTuple):
    """A line between instructions, such as ``"halt in put (breakpoint 1)"``."""

    text: str


# A BufferEnd says that the history begins here.
Row = Union[InstructionRow, SourceRow, EventRow, FoldRow, NoteRow, BufferEnd]


class ListedLine(NamedTuple):
    """A line of a listing."""

    text: str
    # What is on it: an instruction, or what is between two.
    row: Row


def instruction_lines(rows: Iterable[Row], cursor: Optional[int] = None) -> Iterator[str]:
    """Write the rows of one listing, aligned.

    :param cursor: The number of the instruction to mark; None where none of the listing is.
    """
    return (line.text for line in listed_lines(rows, cursor))


def listed_lines(rows: Iterable[Row], cursor: Optional[int] = None) -> Iterator[ListedLine]:
    """Write the same, each line with its row."""
    kept = list(rows)
    columns = _Columns(kept)
    # With a mark all other lines are as far to the right.
    margin = NO_CURSOR if cursor is not None else ""
    for are_gaps, group in groupby(kept, key=_is_gap):
        alike = list(group)
        if are_gaps:
            gaps = (row.event for row in alike if isinstance(row, EventRow) and isinstance(row.event, Gap))
            yield from (ListedLine(margin + line, alike[0]) for line in gap_lines(gaps))
            continue
        for row in alike:
            if isinstance(row, InstructionRow):
                yield ListedLine((CURSOR if row.number == cursor else margin) + columns.instruction(row), row)
                if row.transfers:
                    yield from (ListedLine(margin + line, row) for line in columns.transfers(row.transfers))
            else:
                yield from (ListedLine(margin + line, row) for line in columns.other(row))


def _is_gap(row: Row) -> bool:
    return isinstance(row, EventRow) and isinstance(row.event, Gap)


# What a row shows of its instruction, whenever it runs: see :class:`InstructionRow`.
_Cells = Tuple[int, str, bytes, str, bool]


class _Columns:
    # The widths of one listing's columns, and lines of these widths.

    def __init__(self, rows: List[Row]) -> None:
        shown = [row for row in rows if isinstance(row, InstructionRow)]
        numbers = [row.number for row in rows if isinstance(row, (InstructionRow, FoldRow))]
        # Programs loop: few cells make many rows.
        cells = {row[1:6] for row in shown}
        self._number = max(map(len, map(str, numbers)), default=1)
        self._middle = max((len(_middle(*one[:3])) for one in cells), default=0)
        self._mnemonic = max((len(text.partition("\t")[0]) for _, _, _, text, _ in cells), default=0)
        self._texts: Dict[_Cells, str] = {one: self._text(*one) for one in cells}
        self._source = max([self._number + 3] + [len(row.where) for row in rows if isinstance(row, SourceRow)])
        times = [time_cells(row.time) for row in shown if row.time is not None]
        self._cycles = max((len(cycles) for cycles, _ in times), default=0)
        self._time = max((len(time) for _, time in times), default=0)
        owners = [row for row in rows if isinstance(row, (InstructionRow, EventRow))]
        transfers = [transfer_cells(one) for row in owners for one in row.transfers]
        self._kind = max((len(kind) for kind, *_ in transfers), default=0)
        self._size = max((len(size) for _, size, *more in transfers if len(more) > 1), default=0)

    def instruction(self, row: InstructionRow) -> str:
        line = self._left(str(row.number), " ! " if row.doubtful else "   ", row.time) + self._texts[row[1:6]]
        return line + ("   [%s]" % row.note if row.note else "")

    def _text(self, address: int, symbol: str, code: bytes, text: str, _: bool) -> str:
        word, _tab, operands = text.partition("\t")
        line = _middle(address, symbol, code).ljust(self._middle) + "   " + word.ljust(self._mnemonic)
        return (line + "  " + operands.replace("\t", " ")).rstrip()

    def other(self, row: Union[SourceRow, EventRow, FoldRow, NoteRow, BufferEnd]) -> List[str]:
        if isinstance(row, SourceRow):
            return [("%s   %s" % (row.where.ljust(self._source), row.text or "")).rstrip()]
        if isinstance(row, BufferEnd):
            return [end_text(row)]
        if isinstance(row, NoteRow):
            return ["[%s]" % row.text]
        if isinstance(row, FoldRow):
            return ["%s + %s   %s" % (str(row.number).ljust(self._number), row.name, row.text)]
        return [*self._event(row), *self.transfers(row.transfers)]

    def _event(self, row: EventRow) -> List[str]:
        lines = event_text(row.event, row.words) if row.event is not None else []
        time = ", ".join(cell for cell in time_cells(row.time) if cell)
        if not time:
            return lines
        return ["%s   %s" % (line, time) for line in lines] or ["<%s>" % time]

    def transfers(self, rows: Tuple[TransferRow, ...]) -> List[str]:
        margin = self._left("", "     ", None)
        cells = [transfer_cells(row) for row in rows]
        padded = [[kind.ljust(self._kind), size.ljust(self._size), *more] for kind, size, *more in cells]
        return [margin + line for line in align(padded)]

    def _left(self, number: str, mark: str, time: Optional[TraceTime]) -> str:
        line = number.ljust(self._number) + mark
        cycles, stamp = time_cells(time)
        for cell, width in ((cycles, self._cycles), (stamp, self._time)):
            line += cell.ljust(width) + "   " if width else ""
        return line


def time_cells(time: Optional[TraceTime]) -> Tuple[str, str]:
    """Write a time as two cells, either of which may be empty.

    They are such as ``"cycle 1204 (+18)"`` and ``"time 77215 (+6 cycles)"``.
    """
    if time is None:
        return "", ""
    cycles = stamp = ""
    if time.cycles is not None:
        total = "unknown" if time.cycles.total is None else "%d" % time.cycles.total
        cycles = "cycle " + total + (" (+%d)" % time.cycles.cycles if time.cycles.cycles is not None else "")
    if time.timestamp is not None:
        # Zero stands for a time that is not known (IHI 0064, 5.2.14).
        stamp = "time " + ("%d" % time.timestamp.value if time.timestamp.value else "unknown")
        stamp += " (+%d cycles)" % time.timestamp.cycles if time.timestamp.cycles is not None else ""
    return cycles, stamp


def transfer_cells(row: TransferRow) -> List[str]:
    """Write a load or store as cells.

    They are such as ``store``, ``4 bytes``, ``at 0x20000050 <station>``, ``= 0x0000001b``, and a doubt.
    """
    transfer = row.transfer
    doubt = [] if transfer.certain else [NOT_CERTAIN]
    if transfer.role is TransferRole.STATUS:
        did = {0: "took place", 1: "did not take place", None: "took place or not: unknown"}
        return ["store", did.get(transfer.value, "took place or not: 0x%x" % (transfer.value or 0))] + doubt
    if transfer.role is TransferRole.COPROCESSOR:
        return ["write" if transfer.store else "read", *_register_cells(transfer)] + doubt
    word = {False: "load", True: "store", None: "transfer"}[transfer.store]
    size = "" if transfer.size is None else "%d byte%s" % (transfer.size, "" if transfer.size == 1 else "s")
    words = []
    if transfer.address is not None:
        words.append("at 0x%08x" % transfer.address + (" <%s>" % row.symbol if row.symbol else ""))
    elif row.traced.addresses:
        words.append("at an address unknown")
    if transfer.value is not None:
        words.append("= 0x%0*x" % (2 * (transfer.size or 0), transfer.value))
    elif row.traced.values:
        words.append("value unknown")
    if transfer.role is TransferRole.OPERAND:
        words[-1:] = [", ".join([*words[-1:], "the operand"])]
    return [word, size, *words] + doubt


def _register_cells(transfer: Transfer) -> List[str]:
    value = "value unknown" if transfer.value is None else "= 0x%08x" % transfer.value
    return ["%d bytes" % (transfer.size or 0), "of a coprocessor's register", value]


def event_text(event: Event, words: str = "") -> List[str]:
    """Write an event as lines of the history; perhaps none.

    :param words: What an event of the trace unit's means, where that is known.
    """
    if isinstance(event, Gap):
        return [gap_text(event)]
    if isinstance(event, DataGap):
        return ["[data trace: %s]" % ": ".join(filter(None, (event.reason.value, event.detail)))]
    if isinstance(event, Exception_):
        after = "" if event.return_address is None else ", return address 0x%08x" % event.return_address
        return ["<%s%s>" % (exception_text(event), after)]
    if isinstance(event, ExceptionReturn):
        return ["<return from exception>"]
    if isinstance(event, TraceEvent):
        return ["<event %d%s>" % (event.number, ": " + words if words else "")]
    return []


def _middle(address: int, symbol: str, code: bytes) -> str:
    words = ["0x%08x" % address]
    if symbol:
        words.append("<%s>" % symbol)
    if code:
        words.append(" ".join("%02x" % byte for byte in code))
    return " ".join(words)


class FunctionRow(NamedTuple):
    """An entry of the call history, with source lines and a note."""

    # A note stands for a halt.
    entry: Union[Entry, NoteRow]
    # Source file of a segment; empty when unknown or unwanted.
    path: str
    # Lowest source line that ran, where ``path`` is known.
    first_line: int
    last_line: int
    # More about an exception, such as where it came from; may be empty.
    note: str = ""
    # The functions inlined into a segment that ran.
    inlined: Tuple[str, ...] = ()


def function_lines(
    rows: Iterable[FunctionRow], calls: bool, instructions: bool, cursor: Optional[int] = None
) -> List[str]:
    """Write the rows of one listing, aligned.

    :param calls: Whether to indent by call depth.
    :param instructions: Whether to show the range of instruction numbers.
    :param cursor: The number of the entry to mark; None where none of the listing is.
    """
    cells: List[List[str]] = []
    gaps: List[Tuple[int, str]] = []
    for are_gaps, group in groupby(rows, key=lambda row: isinstance(row.entry, Break)):
        if are_gaps:
            alike = [row.entry for row in group if isinstance(row.entry, Break)]
            indent = "  " * alike[0].level if calls else ""
            gaps += [(len(cells), indent + text) for text in gap_lines(entry.event for entry in alike)]
            continue
        for row in group:
            if isinstance(row.entry, NoteRow):
                gaps.append((len(cells), "[%s]" % row.entry.text))
            else:
                cells.append(_function_cells(row, calls, instructions))
    lines = align(cells, "   ")
    if cursor is not None:
        lines = [(CURSOR if cell[0] == str(cursor) else NO_CURSOR) + line for cell, line in zip(cells, lines)]
    margin = ("" if cursor is None else NO_CURSOR) + " " * (max((len(line[0]) for line in cells), default=0) + 3)
    for at, text in reversed(gaps):
        lines.insert(at, margin + text)
    return lines


def _function_cells(row: FunctionRow, calls: bool, instructions: bool) -> List[str]:
    entry = row.entry
    if not isinstance(entry, (Segment, Interrupt)):
        return []
    line = [str(entry.number), ("  " * entry.level if calls else "") + _function_name(entry, row.note)]
    if instructions and isinstance(entry, Segment):
        line.append("inst %d,%d" % (entry.first, entry.last))
    if row.path:
        line.append("at %s:%d,%d" % (row.path, row.first_line, row.last_line))
    if row.inlined:
        line.append("inlined: " + ", ".join(row.inlined))
    return line


def _function_name(entry: Union[Segment, Interrupt], note: str) -> str:
    if isinstance(entry, Segment):
        if entry.function is not None:
            return entry.function.name
        return "?? at 0x%08x" % entry.address
    return "<%s%s>" % (exception_text(entry.event), ", " + note if note else "")
