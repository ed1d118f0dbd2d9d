"""What a recording in pieces has, and what it cost, as lines."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional

from gdb_etm.views.text import about_text, plural


class Recorded(NamedTuple):
    """What was recorded, and what it cost."""

    pieces: int
    # Of them, those whose oldest trace was lost.
    wrapped: int
    # Whether reading the last one was interrupted, and its oldest trace lost by that.
    is_torn: bool
    instructions: int
    # Bytes of trace.
    size: int
    # Cycles that ran; None where nothing counts them.
    cycles: Optional[int]
    # From the beginning to the end, and while the core ran.
    seconds: float
    running: float
    # Why it ended.
    end: str
    # Why the core was halted by the computer's clock; empty where it was not.
    untimed: str
    # What the debugger printed at the last halt.
    text: str


def recorded_lines(recorded: Recorded) -> Iterator[str]:
    """Say what was recorded, and what it cost."""
    if recorded.text:
        yield recorded.text.rstrip("\n")
    seen = plural(recorded.instructions, "instruction")
    pieces = "%s, %s of trace" % (plural(recorded.pieces, "piece"), about_text(recorded.size))
    if recorded.wrapped:
        lost = "of %s the buffer wrapped" % plural(recorded.wrapped, "piece")
        if recorded.wrapped == recorded.pieces:
            lost = "of each the buffer wrapped"
        if recorded.cycles is not None:
            lost += "; %s ran" % plural(recorded.cycles, "cycle")
    elif recorded.is_torn:
        lost = "reading the last one was interrupted, its oldest trace is missing"
    else:
        lost = "nothing that ran is missing"
    yield "recorded %s in %s: %s" % (seen, pieces, lost)
    total = max(recorded.seconds, 1e-9)
    yield "in %s: the core was halted %.0f %% of the time, %s/s of trace were read" % (
        _time_text(recorded.seconds),
        100 * max(total - recorded.running, 0) / total,
        about_text(round(recorded.size / total)),
    )
    if recorded.untimed:
        yield "note: halted by this computer's clock, for %s" % recorded.untimed
    yield "ended: " + recorded.end


def _time_text(seconds: float) -> str:
    return "%.2f s" % seconds if seconds < 60 else "%d min %d s" % divmod(round(seconds), 60)
