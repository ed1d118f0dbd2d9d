"""Captures as text."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Tuple

from gdb_etm.capture import BufferEnd, RawCapture
from gdb_etm.views.text import align, plural


class CaptureRow(NamedTuple):
    """One capture at hand."""

    number: int
    is_current: bool
    capture: RawCapture
    # Executed instructions in it; negative while nobody has looked.
    instructions: int
    origin: str


def size_text(capture: RawCapture) -> str:
    """Describe a capture's size, and what is lost before its oldest byte."""
    if not capture.buffer:
        return "the trace buffer is empty"
    size = plural(len(capture.buffer), "byte")
    return size if capture.end is BufferEnd.STARTED else "%s; %s" % (size, capture.end.value)


def counts_text(capture: RawCapture, instructions: int, span: Tuple[str, str], calls: int, exceptions: int) -> str:
    """Describe a decoded capture in a line.

    :param span: Names of the functions of the oldest and of the newest instruction; empty where unknown.
    """
    parts = [plural(instructions, "instruction")]
    if all(span):
        parts[0] += " in %s" % span[0] if span[0] == span[1] else " from %s to %s" % span
    if instructions:
        parts += [plural(calls, "call"), plural(exceptions, "exception")]
    # What ran straight on is no packet of a Micro Trace Buffer.
    size = size_text(capture) if capture.buffer else "0 bytes"
    return "%s in %s" % (", ".join(parts), size)


def capture_lines(rows: Iterable[CaptureRow]) -> List[str]:
    """List captures, aligned; the current one is marked."""
    cells = []
    for row in rows:
        decoded = plural(row.instructions, "instruction") if row.instructions >= 0 else "not decoded yet"
        mark = "*" if row.is_current else " "
        size = plural(len(row.capture.buffer), "byte")
        cells.append(["%s %d" % (mark, row.number), size, decoded, row.capture.end.value, row.origin])
    return align(cells)
