"""The rules, counters and sequencer of a session."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.session.event_words import action_of, event_of
from gdb_etm.session.places import Locations
from gdb_etm.traceunit.actions import Action, Counter, Rule, Timestamp
from gdb_etm.traceunit.events import Event

# Percent of the buffer that is filled after a trigger, unless another is chosen.
_POSITION = 50


class Reaction(NamedTuple):
    """One rule."""

    number: int
    # As it was typed.
    event: str
    action: str
    when: Event
    do: Action

    def __str__(self) -> str:
        return "on %s do %s" % (self.event, self.action)


class EventSettings(NamedTuple):
    """Rules and counters as one value, to change them at once."""

    reactions: Sequence[Reaction] = ()
    counters: Sequence[Counter] = ()
    first_state: int = 0
    position: int = _POSITION
    # The number that was given last; none is given twice.
    last: int = 0


class EventSet:
    """Rules, numbered like breakpoints, with counters and the rest."""

    def __init__(self) -> None:
        self.now = EventSettings()
        # Names of external inputs.
        self.inputs: Mapping[str, int] = {}
        self._stale = False

    def made(self, event: str, action: str, places: Optional[Locations]) -> Reaction:
        """Make the next rule, without keeping it.

        :raises CommandError: There is no such event, action or place.
        """
        when, do = event_of(event, places, self.inputs), action_of(action)
        return Reaction(self.now.last + 1, event, action, when, do)

    def without(self, numbers: Sequence[int]) -> List[Reaction]:
        """List all rules but some.

        :raises CommandError: There is none of such a number.
        """
        for number in numbers:
            if all(each.number != number for each in self.now.reactions):
                raise CommandError('no event %d; "etm on list" shows them' % number)
        return [each for each in self.now.reactions if each.number not in numbers]

    @property
    def text(self) -> str:
        """All rules in a line."""
        return "; ".join(str(each) for each in self.now.reactions)

    def forget_places(self) -> None:
        """Look locations up again at next use: the symbols have changed."""
        self._stale = True

    def renew(self, places: Optional[Locations]) -> None:
        """Look locations up again if the symbols have changed.

        :raises CommandError: A rule's location is gone.
        """
        if not self._stale:
            return
        renewed = []
        for each in self.now.reactions:
            try:
                renewed.append(each._replace(when=event_of(each.event, places, self.inputs)))
            except CommandError as error:
                raise CommandError("event %d (%s): %s" % (each.number, each, error))
        self.now = self.now._replace(reactions=renewed)
        self._stale = False


def rules_of(events: EventSettings) -> Tuple[Rule, ...]:
    """Put reactions in the terms of :class:`~gdb_etm.traceunit.options.TraceOptions`."""
    return tuple(Rule(each.when, each.do, each.event) for each in events.reactions)


def asks_for_time(events: EventSettings) -> bool:
    """Check whether a rule needs timestamps to be on."""
    return any(isinstance(each.do, Timestamp) for each in events.reactions)
