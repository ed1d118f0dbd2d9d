"""The doctor's verdict as text."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Tuple

from gdb_etm.views.text import align, plural

# What was looked at; ``"ok"``, ``"bad"`` or ``"unknown"``; the proof; what to do about it, which may be empty.
VerdictRow = Tuple[str, str, str, str]


def verdict_objects(rows: Iterable[VerdictRow]) -> List[Dict[str, str]]:
    """Make an object of each check."""
    return [dict(zip(("subject", "verdict", "proof", "advice"), row)) for row in rows]


def verdict_lines(rows: Iterable[VerdictRow]) -> Iterator[str]:
    """Write a numbered line a check, with what to do below it."""
    found = list(rows)
    shown = [["%2d" % number, verdict, subject, proof] for number, (subject, verdict, proof, _) in enumerate(found, 1)]
    for (_, _, _, advice), line in zip(found, align(shown)):
        yield line
        if advice:
            yield "    -> " + advice
    wrong = [(number, subject) for number, (subject, verdict, _, _) in enumerate(found, 1) if verdict == "bad"]
    if not wrong:
        yield "Nothing is wrong."
        return
    number, subject = wrong[0]
    more = "; %s more" % plural(len(wrong) - 1, "bad line") if len(wrong) > 1 else ""
    yield "Begin with line %d, %s%s." % (number, subject, more)
