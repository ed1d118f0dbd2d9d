"""Segments of a history: nothing known helps across a cut."""

from __future__ import annotations

from itertools import chain
from typing import FrozenSet, Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.history.halts import goes_on
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import DEBUG_HALT, DEBUG_STATE, Event, Exception_, Gap, GapReason

_RESET = 1

Item = Union[Span, Event]


class SsaSegment(NamedTuple):
    """Instructions with nothing unknown between them."""

    first: int
    last: int


def cut_segments(history: ExecutionHistory, untouched: bool = False) -> List[SsaSegment]:
    """Cut a history into segments, at gaps and where the debugger interfered.

    :param untouched: Whether the debugger is known to have changed nothing while the core was halted.
    """
    found = []
    first = 1
    paused = pauses(history) if untouched else frozenset()
    for before, event in history.interruptions():
        if breaks(event) and before >= first and before not in paused:
            found.append(SsaSegment(first, before))
            first = before + 1
    if len(history) >= first or not found:
        found.append(SsaSegment(first, len(history)))
    return found


def pauses(history: ExecutionHistory) -> FrozenSet[int]:
    """List the instructions after which the core paused, and nothing else ran."""
    found = set()
    events: List[Event] = []
    number = 0
    last: Tuple[int, Optional[Event]] = (len(history) + 1, None)
    for before, event in chain(history.interruptions(), [last]):
        if before != number or event is None:
            if 0 < number < len(history) and _is_pause(history, number, events):
                found.add(number)
            number, events = before, []
        if event is not None:
            events.append(event)
    return frozenset(found)


def _is_pause(history: ExecutionHistory, number: int, events: List[Event]) -> bool:
    # One halt, from which execution goes on where it was: at the next instruction, or with an exception.
    halts = [at for at, event in enumerate(events) if breaks(event)]
    if not halts:
        return False
    halt, others = events[halts[0]], [events[at] for at in halts[1:]]
    if isinstance(halt, Gap) and not any(isinstance(event, Exception_) for event in events):
        # An ETMv3 says that the core was in debug state, not where it was halted.
        same = all(isinstance(event, Gap) and event.detail == DEBUG_STATE for event in [halt, *others])
        return same and goes_on(history, number, None, history.instruction(number + 1).address)
    if not isinstance(halt, Exception_) or halt.name != DEBUG_HALT or halt.return_address is None:
        return False
    if not all(isinstance(other, Gap) and other.reason is GapReason.TRACE_ON for other in others):
        return False
    later = (event.return_address for event in events[halts[0] + 1 :] if isinstance(event, Exception_))
    address = next(later, history.instruction(number + 1).address)
    return address is not None and goes_on(history, number, halt.return_address, address)


def breaks(event: Event) -> bool:
    """Check whether nothing before an event helps after it."""
    if isinstance(event, Exception_):
        return event.name == DEBUG_HALT or event.vector == _RESET
    return isinstance(event, Gap)


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
