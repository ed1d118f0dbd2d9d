"""Rules of what happens at events, counters and the sequencer as tables."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

from gdb_etm.views.filters import place_text
from gdb_etm.views.text import align


class EventLine(NamedTuple):
    """What is shown of one rule."""

    number: int
    # As the user said it.
    event: str
    action: str
    ranges: Sequence[Tuple[int, int]]
    # Which comparators and which event; empty when that is not known, or none.
    takes: str


class CounterLine(NamedTuple):
    """What is shown of one counter."""

    number: int
    value: int
    reload: int
    # What it does at zero.
    goes_on: str
    # What makes it go down.
    counts: str
    # What makes it reload.
    reloads: str


def event_lines(rows: Sequence[EventLine], with_takes: bool) -> List[str]:
    """Write the table of rules.

    :param with_takes: Whether there is a trace unit whose resources are known.
    """
    head = ["Num", "Event", "Action", "Where", "Takes"]
    cells = [[str(row.number), row.event, row.action, place_text(row.ranges, ()), row.takes] for row in rows]
    return align([each if with_takes else each[:-1] for each in [head, *cells]])


def counter_lines(rows: Sequence[CounterLine]) -> List[str]:
    """Write the table of counters."""
    head = ["Counter", "From", "Reload", "At zero", "Counts", "Reloads at"]
    cells = [[str(row.number), str(row.value), str(row.reload), row.goes_on, row.counts, row.reloads] for row in rows]
    return align([head, *cells])


def step_lines(first: int, steps: Sequence[Tuple[str, str]]) -> List[str]:
    """Write the sequencer's steps.

    :param first: The state in which it begins.
    :param steps: Each with its event, in the user's words.
    """
    return ["begins in state %d" % first, *align([["Step", "Event"], *([step, event] for step, event in steps)])]
