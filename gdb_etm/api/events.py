"""Events of a script among those of ``etm on``."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Tuple

from gdb_etm.session.events import EventSettings
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.events import Counter


class EventRequest(NamedTuple):
    """What a script asked for."""

    # Events and actions, in the words of ``etm on``.
    on: Sequence[Tuple[str, str]] = ()
    counters: Sequence[Counter] = ()
    first_state: Optional[int] = None
    trigger_position: Optional[int] = None


class Own(NamedTuple):
    """What a script has put among the session's events and filters."""

    reactions: Tuple[int, ...] = ()
    counters: Tuple[int, ...] = ()
    filters: Tuple[int, ...] = ()


def with_asked(session: DebugSession, own: Own, asked: EventRequest) -> Tuple[EventSettings, Own]:
    """Put a script's events among the session's, in place of those that it put there before.

    :returns: All events, and which of them are the script's.
    :raises CommandError: There is no such event, action or place.
    """
    now = session.events.now
    reactions = [each for each in now.reactions if each.number not in own.reactions]
    kept = len(reactions)
    for number, (event, action) in enumerate(asked.on, now.last + 1):
        reactions.append(session.events.made(event, action, session.locations)._replace(number=number))
    numbers = tuple(each.number for each in asked.counters)
    counters = [each for each in now.counters if each.number not in own.counters + numbers] + list(asked.counters)
    events = now._replace(
        reactions=reactions,
        counters=sorted(counters, key=_number),
        last=now.last + len(asked.on),
        first_state=_or(asked.first_state, now.first_state),
        position=_or(asked.trigger_position, now.position),
    )
    return events, Own(tuple(each.number for each in reactions[kept:]), numbers)


def _number(counter: Counter) -> int:
    return counter.number


def _or(value: Optional[int], other: int) -> int:
    return other if value is None else value
