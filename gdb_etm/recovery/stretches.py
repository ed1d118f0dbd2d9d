"""Where a history is cut: nothing that is known on one side of a cut helps with the other."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Union

from gdb_etm.history.store import History, Span
from gdb_etm.protocols.elements import Event, Exception_, Gap

_DEBUG_HALT = "Debug halt"
_RESET = 1

Item = Union[Span, Event]


class Stretch(NamedTuple):
    """Instructions with nothing unknown between them."""

    first: int
    last: int


def stretches(history: History) -> List[Stretch]:
    """Cut a history where something is not known to have run, or the debugger may have changed something."""
    found = []
    first = 1
    for before, event in history.interruptions():
        if breaks(event) and before >= first:
            found.append(Stretch(first, before))
            first = before + 1
    if len(history) >= first or not found:
        found.append(Stretch(first, len(history)))
    return found


def breaks(event: Event) -> bool:
    """Tell whether nothing before an event helps with what is after it."""
    if isinstance(event, Exception_):
        return event.name == _DEBUG_HALT or event.vector == _RESET
    return isinstance(event, Gap)


def within(history: History, first: int, last: int) -> Iterator[Item]:
    """List what ran, and the events between and directly behind; those that break a stretch stand outside of it."""
    number = first
    for item in history.spans(first, last):
        if isinstance(item, Span):
            number = item.number + item.range.instructions
            yield item
        elif number > last and breaks(item):
            return
        elif number > first:
            yield item
