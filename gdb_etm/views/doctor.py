"""A verdict as text: one numbered line a check, and under a bad one what to do about it."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from gdb_etm.views.text import align, plural


class CheckRow(NamedTuple):
    """One check."""

    # ``"ok"``, ``"bad"`` or ``"unknown"``.
    verdict: str
    subject: str
    proof: str
    # What to do; empty where nothing is to be done.
    advice: str


def verdict_lines(rows: Sequence[CheckRow]) -> Iterator[str]:
    """Write the checks in columns."""
    cells = [["%2d" % number, row.verdict, row.subject, row.proof] for number, row in enumerate(rows, 1)]
    for row, line in zip(rows, align(cells)):
        yield line
        if row.advice:
            yield "    -> " + row.advice


def conclusion(rows: Sequence[CheckRow]) -> str:
    """Say in a line what came out."""
    wrong = [(number, row) for number, row in enumerate(rows, 1) if row.verdict == "bad"]
    if not wrong:
        return "Nothing is wrong."
    number, first = wrong[0]
    more = "; %s more" % plural(len(wrong) - 1, "bad line") if len(wrong) > 1 else ""
    return "Begin with line %d, %s%s." % (number, first.subject, more)
