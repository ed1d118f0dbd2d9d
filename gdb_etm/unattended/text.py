"""A script's result as lines for people."""

from __future__ import annotations

from typing import Iterator

from gdb_etm.unattended.figures import CheckOutcome, Figure, where_text
from gdb_etm.unattended.runs import RunRecord, ScriptResult
from gdb_etm.views.text import plural

_WORDS = {CheckOutcome.PASSED: "pass", CheckOutcome.FAILED: "FAIL", CheckOutcome.UNCERTAIN: "uncertain"}
_WIDTH = max(map(len, _WORDS.values()))


def run_line(run: RunRecord) -> str:
    """Say how a run ended."""
    place = run.ended + (" at %s" % run.line if run.line else "")
    text = "run %d: %s, halted in %s after %.1f s" % (
        run.number,
        plural(run.instructions, "instruction"),
        place,
        run.seconds,
    )
    return text + ("; " + run.error if run.error else "")


def check_lines(result: ScriptResult) -> Iterator[str]:
    """Say what became of each check, and of all."""
    for check in result.checks:
        yield "%-*s  %s: %s" % (_WIDTH, _WORDS[check.outcome], check.name, check.text)
        for figure in check.figures if check.outcome is not CheckOutcome.PASSED else ():
            if figure.minimum is not None and figure.minimum.value != figure.ordered()[-1].value:
                yield " " * (_WIDTH + 2) + figure_text(figure)
    # The same for many checks: once.
    for basis in dict.fromkeys(one for check in result.checks for one in check.basis):
        yield "note: " + basis
    for note in result.notes:
        yield "note: " + note
    for path in result.written:
        yield "written: " + path
    if result.error:
        yield "error: " + result.error
    counts = [(sum(check.outcome is one for check in result.checks), one.value) for one in CheckOutcome]
    yield "%s: %s" % (result.script.title, ", ".join("%d %s" % one for one in counts if one[0]) or "nothing checked")


def figure_text(figure: Figure) -> str:
    """Write a figure: minimum, median and maximum, each with its place."""
    named = zip(("minimum", "median", "maximum"), (figure.minimum, figure.median, figure.maximum))
    parts = ["%s %d (%s)" % (name, one.value, where_text(one)) for name, one in named if one is not None]
    return "%s, %s: %s" % (figure.what, plural(len(figure.samples), "value"), ", ".join(parts))
