"""The call history as text, one function segment, exception or gap a line."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Optional

from gdb_etm.history.calls import Break, Entry, Segment
from gdb_etm.views.text import align, exception_text, gap_text


class FunctionRow(NamedTuple):
    """An entry of the call history, with what the debugger knows of it."""

    entry: Entry
    path: str
    """Source file of a segment; empty when unknown or unwanted."""
    first_line: int
    """Lowest source line that ran, where ``path`` is known."""
    last_line: int


def function_lines(rows: Iterable[FunctionRow], calls: bool, instructions: bool) -> List[str]:
    """Write the rows of one listing, aligned.

    :param calls: Whether to indent by call depth.
    :param instructions: Whether to show the range of instruction numbers.
    """
    cells: List[List[str]] = []
    texts: List[Optional[str]] = []
    for row in rows:
        entry = row.entry
        indent = "  " * entry.level if calls else ""
        if isinstance(entry, Break):
            texts.append(indent + gap_text(entry.event))
            continue
        texts.append(None)
        line = [str(entry.number), indent + _name(entry)]
        if instructions:
            line.append("inst %d,%d" % (entry.first, entry.last) if isinstance(entry, Segment) else "")
        if row.path:
            line.append("at %s:%d,%d" % (row.path, row.first_line, row.last_line))
        cells.append(line)
    lines = iter(align(cells, "   "))
    width = max((len(line[0]) for line in cells), default=0)
    return [next(lines) if text is None else " " * (width + 3) + text for text in texts]


def _name(entry: Entry) -> str:
    if isinstance(entry, Segment):
        if entry.function is not None:
            return entry.function.name
        return "0x%08x: not in the program's symbols" % entry.address
    if isinstance(entry, Break):
        return ""
    return "<%s>" % exception_text(entry.event)
