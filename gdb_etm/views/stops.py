"""Where a cursor stands, as GDB prints a stop and a frame."""

from __future__ import annotations

from typing import NamedTuple, Optional

from gdb_etm.protocols.elements import Exception_
from gdb_etm.views.text import exception_text

# What GDB 13 says at both ends.
NO_MORE = "No more reverse-execution history."


class BacktraceRow(NamedTuple):
    """A frame with what the debugger knows of it."""

    # Of the function; None when unknown.
    name: Optional[str]
    has_arguments: bool
    address: Optional[int]
    # Whether the address is where the line begins, so that it is not shown.
    is_exact: bool
    # Source file as shown; empty when unknown.
    path: str
    line: int
    exception: Optional[Exception_] = None
    # Whether its call lies before the history.
    called_before: bool = False
    # Names and values of its arguments; None where they were not worked out.
    arguments: Optional[str] = None
    # What the arguments rest on, where that is not everything exact.
    mark: str = ""


def frame_text(row: BacktraceRow) -> str:
    """Write a frame: ``dispatch (...) at rx.c:121``.  Dots stand for arguments that were not worked out."""
    if row.exception is not None:
        return "<%s>" % exception_text(row.exception)
    dots = "..." if row.has_arguments else ""
    words = "%s (%s)" % (row.name or "??", dots if row.arguments is None else row.arguments)
    if row.address is not None and not (row.is_exact and row.path):
        words = "0x%08x in %s" % (row.address, words)
    place = " at %s:%d" % (row.path, row.line) if row.path else ""
    return ("%s%s %s" % (words, place, row.mark)).rstrip()


def level_text(level: int, row: BacktraceRow) -> str:
    """Write a frame with its level, as a line of a backtrace."""
    note = "   [called before the history begins]" if row.called_before else ""
    return "#%-2d %s%s" % (level, frame_text(row), note)


def source_text(row: BacktraceRow, text: Optional[str], mid_line: bool = False) -> str:
    """Write a source line with its number; without its text name the file.

    :param mid_line: Whether to write the address before it.
    """
    address = "0x%08x\t" % row.address if mid_line and row.address is not None else ""
    return "%s%d\t%s" % (address, row.line, text if text is not None else "in " + row.path)
