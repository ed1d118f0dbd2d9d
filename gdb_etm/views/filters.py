"""Filters as a table."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

from gdb_etm.views.text import align

_MOST = 3


class FilterRow(NamedTuple):
    """What is shown of one filter."""

    number: int
    # As the user said it.
    what: str
    ranges: Sequence[Tuple[int, int]]
    points: Sequence[int]
    # What is shown where there are no addresses.
    meaning: str
    # Which comparators; empty when that is not known.
    takes: str


def place_text(ranges: Sequence[Tuple[int, int]], points: Sequence[int]) -> str:
    """Write addresses, of many the first."""
    words = ["0x%08x-0x%08x" % pair if pair[0] != pair[1] else "0x%08x" % pair[0] for pair in ranges]
    words += ["0x%08x" % point for point in points]
    more = len(words) - _MOST
    return ", ".join(words[:_MOST]) + (" and %d more" % more if more > 0 else "")


def filter_lines(rows: Sequence[FilterRow], with_takes: bool) -> List[str]:
    """Write the table.

    :param with_takes: Whether there is a trace unit whose comparators are known.
    """
    head = ["Num", "What", "Where", "Takes"]
    cells = [[str(row.number), row.what, place_text(row.ranges, row.points) or row.meaning, row.takes] for row in rows]
    return align([each if with_takes else each[:-1] for each in [head, *cells]])
