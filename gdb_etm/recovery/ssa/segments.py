"""Segments of a history: nothing known helps across a cut."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Sequence, Tuple, Union

from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import Event, breaks

Item = Union[Span, Event]


class SsaSegment(NamedTuple):
    """Instructions with nothing unknown between them."""

    first: int
    last: int


def cut_segments(
    history: ExecutionHistory, untouched: bool = False, touched: Sequence[Tuple[int, int]] = ()
) -> List[SsaSegment]:
    """Cut a history into segments, at gaps and where the debugger interfered.

    :param untouched: Whether the debugger is known to have changed nothing while the core was halted.
    :param touched: Where that is not so: the instructions from and to which it may have, at halts after them.
    """
    found = []
    first = 1
    paused = set(pauses(history)) if untouched else set()
    paused -= {number for number in paused if any(begin <= number <= end for begin, end in touched)}
    for before, event in history.interruptions():
        if breaks(event) and before >= first and before not in paused:
            found.append(SsaSegment(first, before))
            first = before + 1
    if len(history) >= first or not found:
        found.append(SsaSegment(first, len(history)))
    return found


def within(history: ExecutionHistory, first: int, last: int) -> Iterator[Item]:
    """List the parts between two instructions, and the events right after.

    Events that end a segment stand outside of it; pauses are left out.
    """
    number = first
    for item in history.spans(first, last):
        if isinstance(item, Span):
            number = item.number + item.range.instructions
            yield item
        elif breaks(item):
            if number > last:
                return
        elif number > first:
            yield item
