"""The call history as text, one function segment, exception or gap a line."""

from __future__ import annotations

from itertools import groupby
from typing import Iterable, List, NamedTuple, Tuple, Union

from gdb_etm.history.calls import Break, Entry, Interrupt, Segment
from gdb_etm.views.text import align, exception_text, gap_lines


class FunctionRow(NamedTuple):
    """An entry of the call history, with what the debugger knows of it."""

    entry: Entry
    # Source file of a segment; empty when unknown or unwanted.
    path: str
    # Lowest source line that ran, where ``path`` is known.
    first_line: int
    last_line: int
    # More about an exception, such as where it came from; may be empty.
    note: str = ""


def function_lines(rows: Iterable[FunctionRow], calls: bool, instructions: bool) -> List[str]:
    """Write the rows of one listing, aligned.

    :param calls: Whether to indent by call depth.
    :param instructions: Whether to show the range of instruction numbers.
    """
    cells: List[List[str]] = []
    gaps: List[Tuple[int, str]] = []
    for are_gaps, group in groupby(rows, key=lambda row: isinstance(row.entry, Break)):
        if are_gaps:
            alike = [row.entry for row in group if isinstance(row.entry, Break)]
            indent = "  " * alike[0].level if calls else ""
            gaps += [(len(cells), indent + text) for text in gap_lines(entry.event for entry in alike)]
            continue
        cells += [_cells(row, calls, instructions) for row in group]
    lines = align(cells, "   ")
    margin = " " * (max((len(line[0]) for line in cells), default=0) + 3)
    for at, text in reversed(gaps):
        lines.insert(at, margin + text)
    return lines


def _cells(row: FunctionRow, calls: bool, instructions: bool) -> List[str]:
    entry = row.entry
    if isinstance(entry, Break):
        return []
    line = [str(entry.number), ("  " * entry.level if calls else "") + _name(entry, row.note)]
    if instructions and isinstance(entry, Segment):
        line.append("inst %d,%d" % (entry.first, entry.last))
    if row.path:
        line.append("at %s:%d,%d" % (row.path, row.first_line, row.last_line))
    return line


def _name(entry: Union[Segment, Interrupt], note: str) -> str:
    if isinstance(entry, Segment):
        if entry.function is not None:
            return entry.function.name
        return "?? at 0x%08x" % entry.address
    return "<%s%s>" % (exception_text(entry.event), ", " + note if note else "")
