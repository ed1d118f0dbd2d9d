"""A script's trace request: places as addresses, and its events."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.session.events import EventSettings
from gdb_etm.session.places import Locations, required
from gdb_etm.session.request import Range
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.actions import Counter

# A byte address, or what ``break`` takes: ``"dispatch"``, ``"rx.c:121"``, ``"*0x304"``.
Location = Union[int, str]
# One range or location, or several; a function means its whole code.
Places = Union[Range, Location, Sequence[Union[Range, Location]]]

# One pair of byte addresses, variable or other object of memory, or several.
Variables = Union[Range, str, Sequence[Union[Range, str]]]


def ranges(places: Places, locations: Optional[Locations]) -> Tuple[Range, ...]:
    """Find the code of places, as first and last byte addresses.

    :raises CommandError: There is no such place.
    """
    found: List[Range] = []
    for place in _several(places):
        if isinstance(place, tuple):
            found.append(place)
        else:
            found += required(locations).code("*%d" % place if isinstance(place, int) else place)
    return tuple(found)


def variables(places: Variables, locations: Optional[Locations]) -> Tuple[Range, ...]:
    """Find the memory of variables, as first and last byte addresses.

    :raises CommandError: There is no such variable.
    """
    found: List[Range] = []
    for place in _several(places):
        found += [place] if isinstance(place, tuple) else required(locations).data(place)
    return tuple(found)


def addresses(places: Union[Location, Sequence[Location]], locations: Optional[Locations]) -> Tuple[int, ...]:
    """Find the byte addresses at which locations begin.

    :raises CommandError: There is no such place.
    """
    found: List[int] = []
    for place in _several(places):
        found += [place & ~1] if isinstance(place, int) else required(locations).entries(place)
    return tuple(found)


def _several(places: Any) -> Sequence[Any]:
    # One place or several; a pair of addresses is one.
    if isinstance(places, (int, str)) or _is_range(places):
        return [places]
    return list(places)


def _is_range(value: Any) -> bool:
    """Check whether a value is a pair of addresses."""
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, int) for end in value)


class EventRequest(NamedTuple):
    """What a script asked for."""

    # Events and actions, in the words of ``etm on``.
    on: Sequence[Tuple[str, str]] = ()
    counters: Sequence[Counter] = ()
    first_state: Optional[int] = None
    trigger_position: Optional[int] = None


class ScriptRules(NamedTuple):
    """Numbers of the rules, counters and filters that a script added."""

    reactions: Tuple[int, ...] = ()
    counters: Tuple[int, ...] = ()
    filters: Tuple[int, ...] = ()


def with_events(session: DebugSession, own: ScriptRules, asked: EventRequest) -> Tuple[EventSettings, ScriptRules]:
    """Put a script's events among the session's, replacing its earlier ones.

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
    return events, ScriptRules(tuple(each.number for each in reactions[kept:]), numbers)


def _number(counter: Counter) -> int:
    return counter.number


def _or(value: Optional[int], other: int) -> int:
    return other if value is None else value
