"""The instruction history as text, one executed instruction or event a line."""

from __future__ import annotations

from itertools import groupby
from typing import Iterable, Iterator, List, NamedTuple, Optional, Union

from gdb_etm.capture import BufferEnd
from gdb_etm.protocols.elements import Cycles, Event, Exception_, ExceptionReturn, Gap, Timestamp, TraceEvent
from gdb_etm.views.text import end_text, exception_text, gap_lines, gap_text


class InstructionRow(NamedTuple):
    """One executed instruction, with what the debugger knows of it."""

    number: int
    address: int
    symbol: str
    """Such as ``"dispatch+18"``; empty when unknown or unwanted."""
    code: bytes
    """Its bytes in memory order; empty when unwanted."""
    text: str
    """Mnemonic, a tab, operands."""
    doubtful: bool
    """Whether the target holds other code at this address now."""


class SourceRow(NamedTuple):
    """The source line of the instructions below it."""

    where: str
    """Such as ``"rx.c:57"``."""
    text: Optional[str]
    """None when the source is not at hand."""


Row = Union[InstructionRow, SourceRow, Event, BufferEnd]
"""A BufferEnd says that the history begins here."""


def instruction_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Write the rows of one listing, aligned."""
    kept = list(rows)
    shown = [row for row in kept if isinstance(row, InstructionRow)]
    number = max((len(str(row.number)) for row in shown), default=1)
    middle = max((len(_middle(row)) for row in shown), default=0)
    mnemonic = max((len(row.text.partition("\t")[0]) for row in shown), default=0)
    wheres = [len(row.where) for row in kept if isinstance(row, SourceRow)]
    source = max([number + 3] + wheres)
    for are_gaps, group in groupby(kept, key=lambda row: isinstance(row, Gap)):
        if are_gaps:
            yield from gap_lines(row for row in group if isinstance(row, Gap))
            continue
        for row in group:
            if isinstance(row, InstructionRow):
                word, _, operands = row.text.partition("\t")
                mark = " ! " if row.doubtful else "   "
                line = str(row.number).ljust(number) + mark + _middle(row).ljust(middle)
                yield (line + "   " + word.ljust(mnemonic) + "  " + operands.replace("\t", " ")).rstrip()
            elif isinstance(row, SourceRow):
                yield ("%s   %s" % (row.where.ljust(source), row.text or "")).rstrip()
            elif isinstance(row, BufferEnd):
                yield end_text(row)
            else:
                yield from event_text(row)


def event_text(event: Event) -> List[str]:
    """Write an event as a line of the history; those that say nothing to a reader give none."""
    if isinstance(event, Gap):
        return [gap_text(event)]
    if isinstance(event, Exception_):
        after = "" if event.return_address is None else ", return address 0x%08x" % event.return_address
        return ["<%s%s>" % (exception_text(event), after)]
    if isinstance(event, ExceptionReturn):
        return ["<return from exception>"]
    if isinstance(event, Timestamp):
        cycles = "" if event.cycles is None else ", %d cycles" % event.cycles
        return ["<timestamp %d%s>" % (event.value, cycles)]
    if isinstance(event, Cycles):
        return ["<cycle count unknown>" if event.cycles is None else "<%d cycles>" % event.cycles]
    if isinstance(event, TraceEvent):
        return ["<event %d>" % event.number]
    return []


def _middle(row: InstructionRow) -> str:
    words = ["0x%08x" % row.address]
    if row.symbol:
        words.append("<%s>" % row.symbol)
    if row.code:
        words.append(" ".join("%02x" % byte for byte in row.code))
    return " ".join(words)
