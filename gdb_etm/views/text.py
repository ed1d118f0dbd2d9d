"""Words and columns that several views share."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Iterable, Iterator, List, Sequence

from gdb_etm.capture import BufferEnd
from gdb_etm.protocols.elements import Exception_, Gap, GapReason

# Last arguments of templates in C++ that nobody writes (C++17, 24.3 to 26.6), and std::string as it is without them.
_DEFAULTS = re.compile(r"std::(allocator|less|hash|equal_to|char_traits|default_delete)<")
_STRING = re.compile(r"std::(__cxx11::)?basic_string<char *>( (?=>))?")


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Count things: ``plural(21904, "instruction")`` is ``"21,904 instructions"``."""
    return "{:,} {}".format(count, noun if count == 1 else nouns or noun + "s")


def bytes_text(size: int) -> str:
    """Write a buffer's size: ``"4 KiB"``, ``"512 bytes"``."""
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return "%d %s" % (size >> shift, unit)
    return plural(size, "byte")


def about_text(size: int) -> str:
    """Write a buffer's size roughly: ``"14.7 MiB"``."""
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            return "%.3g %s" % (size / (1 << shift), unit)
    return plural(size, "byte")


def short_names(text: str) -> str:
    """Write names of C++ without what templates have by default.

    Those of the standard library: ``std::vector<int, std::allocator<int> >`` is ``std::vector<int>``, and
    ``std::__cxx11::basic_string<char, ...>`` is ``std::string``.
    """
    at = text.find(", std::")
    while at >= 0:
        end = _argument_end(text, at + 2) if _DEFAULTS.match(text, at + 2) and _is_template(text[:at]) else 0
        if end:
            # Of two ">" side by side GDB sets a space between.
            is_last = text[end : end + 2] == " >" and text[at - 1] != ">"
            text = text[:at] + text[end + is_last :]
        at = text.find(", std::", at if end else at + 1)
    return _STRING.sub("std::string", text)


def _argument_end(text: str, start: int) -> int:
    # Where a template's argument ends; 0 where it does not.
    depth = 0
    for at in range(start, len(text)):
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        if depth == 0 and text[at] == ">":
            return at + 1
    return 0


def _is_template(before: str) -> bool:
    # Whether what is open at a text's end are a template's arguments, not a function's.
    depth = 0
    for one in reversed(before):
        depth += {")": 1, ">": 1, "(": -1, "<": -1}.get(one, 0)
        if depth < 0:
            return one == "<"
    return False


def exception_text(event: Exception_) -> str:
    """Name an exception: ``"SysTick (exception 15)"``."""
    if event.vector is None:
        return event.name
    return "%s (exception %d)" % (event.name, event.vector)


def gap_text(gap: Gap) -> str:
    """Describe a gap: ``"[gap: no code at 0x20000100]"``."""
    words = gap.reason.value
    if gap.reason is GapReason.NO_CODE and gap.address is not None:
        words += " at 0x%08x" % gap.address
    if gap.detail:
        words += ": " + gap.detail
    return "[gap: %s]" % words


def gap_lines(gaps: Iterable[Gap]) -> Iterator[str]:
    """Describe consecutive gaps: the first of each reason, and a count.

    A restart after an overflow is left out: tracing was not off.
    """
    for _, alike in groupby(_without_restarts(gaps), key=lambda gap: gap.reason):
        first, *more = alike
        yield gap_text(first)
        if more:
            yield "[%s like it]" % plural(len(more), "more gap")


def _without_restarts(gaps: Iterable[Gap]) -> Iterator[Gap]:
    before = None
    for gap in gaps:
        if gap.reason is not GapReason.TRACE_ON or before is not GapReason.OVERFLOW:
            yield gap
        before = gap.reason


def end_text(end: BufferEnd) -> str:
    """Describe why the history begins where it does, in a line."""
    return {
        BufferEnd.STARTED: "[tracing started here]",
        BufferEnd.WRAPPED: "[the buffer wrapped here: what ran before was overwritten]",
        BufferEnd.UNKNOWN: "[the capture begins here]",
        BufferEnd.LEFT_OUT: '[older captures were left out: "set etm history-limit" says how much is kept]',
    }[end]


def align(rows: Iterable[Sequence[str]], gap: str = "  ") -> List[str]:
    """Put cells into left-aligned columns; the last column is not padded."""
    kept = [list(row) for row in rows]
    widths = [0] * max((len(row) for row in kept), default=0)
    for row in kept:
        for at, cell in enumerate(row[:-1]):
            widths[at] = max(widths[at], len(cell))
    return [gap.join(cell.ljust(widths[at]) for at, cell in enumerate(row)).rstrip() for row in kept]


def align_names(rows: Iterable[Sequence[str]]) -> List[str]:
    """Align cells, names of C++ in them written as :func:`short_names` does."""
    return align([[short_names(cell) for cell in row] for row in rows])


def align_right(rows: Iterable[Sequence[str]], gap: str = "  ") -> List[str]:
    """Put cells into columns: the first one left-aligned, the others right-aligned."""
    kept = [list(row) for row in rows]
    widths = [max(len(row[at]) for row in kept) for at in range(len(kept[0]))]
    return [
        gap.join(cell.rjust(widths[at]) if at else cell.ljust(widths[at]) for at, cell in enumerate(row)).rstrip()
        for row in kept
    ]
