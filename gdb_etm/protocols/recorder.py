"""Where decoders put what they find: columns of run numbers, and the events between them.

A *run* is what a stretch of trace bytes executed: the *legs* of its packets, each with the place in the stretch
of its packet.  Programs loop, so few distinct runs make up a long execution; a run is stored once and the
execution is a column of run numbers.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.protocols.elements import Event, Range, Transfer


class Leg:
    """The ranges that one packet executed; kept once, and compared by identity."""

    __slots__ = ("ranges", "cycles", "instructions")

    def __init__(self, ranges: Tuple[Range, ...], cycles: Tuple[int, ...] = ()) -> None:
        self.ranges = ranges
        self.cycles = cycles
        """Processor cycles before each range and, one more, after the last; empty where the packet counts none."""
        self.instructions = sum([executed.instructions for executed in ranges])
        """Number of instructions in all ranges."""


class Run:
    """What a stretch of trace bytes executed, in order."""

    __slots__ = ("positions", "legs", "instructions", "cycles")

    def __init__(self, positions: Tuple[int, ...], legs: Tuple[Leg, ...]) -> None:
        self.positions = positions
        """For each leg, its packet's distance in bytes from the first byte of the run."""
        self.legs = legs
        self.instructions = sum([leg.instructions for leg in legs])
        """Number of instructions in all legs."""
        self.cycles = sum([sum(leg.cycles) for leg in legs if leg.cycles])
        """Processor cycles in all legs."""

    def ranges(self) -> Iterator[Tuple[int, Range]]:
        """Go through the ranges, each with the distance of its packet."""
        for position, leg in zip(self.positions, self.legs):
            for executed in leg.ranges:
                yield position, executed


class RunTable:
    """The distinct runs, numbered from 0 in order of first appearance; grows, never changes."""

    def __init__(self) -> None:
        self.runs: List[Run] = []
        self._numbers: Dict[Tuple[Tuple[int, ...], Tuple[Leg, ...]], int] = {}

    def number(self, positions: Tuple[int, ...], legs: Tuple[Leg, ...]) -> int:
        """Give the number of the run with these legs; a new one when it is new."""
        key = (positions, legs)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.runs)
            self.runs.append(Run(positions, legs))
        return number


Outcomes = Tuple[Tuple[int, bool], ...]
"""The conditional instructions of an entry whose outcome is known: index in the entry, whether the condition passed."""


class DataCounts(NamedTuple):
    """How many transfers a data stream told of that could be put with a P0 element."""

    executed: int
    """Of instructions and exceptions in the history."""
    unexecuted: int
    """Of P0 elements that were cancelled, or whose place in the program is not known."""


class Spot(NamedTuple):
    """A spot in a recording."""

    entries: int
    """The number of entries before it."""
    event: Optional[Event]
    """The last event before it that is not before the last of those entries; None where there is none."""


class Recorder:
    """Collects one stream's execution.

    :param table: Runs by number; may be shared by the recordings of one decoder.
    :param offset_of: Maps a position in the stream to the offset in the capture's buffer.
    """

    def __init__(self, table: RunTable, offset_of: Callable[[int], int]) -> None:
        self.table = table
        self.offset_of = offset_of
        self.order = array("L")
        """Run numbers in execution order."""
        self.positions = array("Q")
        """For each entry of ``order`` the position in the stream of its first byte."""
        self.events: List[Event] = []
        self.event_places: List[int] = []
        """For each event the number of entries of ``order`` before it."""
        self.transfers: Dict[int, Tuple[Transfer, ...]] = {}
        """Loads and stores of the last instruction of an entry of ``order``, by the entry's index."""
        self.outcomes: Dict[int, Outcomes] = {}
        """Of conditional instructions that are no branches, by entry of ``order``; where the unit traces them."""
        self.event_transfers: Dict[int, Tuple[Transfer, ...]] = {}
        """Loads and stores of an exception's entry or return, by the index of its event."""
        self.data_counts: Optional[DataCounts] = None
        """None where no data stream was decoded."""

    def add(self, leg: Leg, position: int) -> None:
        """Append the leg of the packet at ``position``."""
        self.order.append(self.table.number((0,), (leg,)))
        self.positions.append(position)

    def event(self, event: Event) -> None:
        """Append an event after all that was executed so far."""
        self.events.append(event)
        self.event_places.append(len(self.order))

    def insert(self, found: Sequence[Tuple[int, Event]]) -> None:
        """Put events found afterwards among the others.

        :param found: Each with the number of entries of ``order`` before it, in ascending order; it comes after the
            events that have the same.
        """
        self._insert([(bisect_right(self.event_places, entries), entries, event) for entries, event in found])

    def here(self) -> Spot:
        """Give the spot after all that was recorded so far."""
        entries = len(self.order)
        last = self.events[-1] if self.events and self.event_places[-1] == entries else None
        return Spot(entries, last)

    def insert_at(self, found: Sequence[Tuple[Spot, Event]]) -> None:
        """Put events found afterwards at the spots that :meth:`here` has given.

        :param found: Each with its spot, in the order in which they were given.
        """
        self._insert([(self._index(spot), spot.entries, event) for spot, event in found])

    def _index(self, spot: Spot) -> int:
        index = bisect_left(self.event_places, spot.entries)
        end = bisect_right(self.event_places, spot.entries)
        while spot.event is not None and index < end:
            index += 1
            if self.events[index - 1] is spot.event:
                break
        return index

    def _insert(self, found: Sequence[Tuple[int, int, Event]]) -> None:
        # Each with the index that it goes before, and the number of entries before it.
        merged = sorted(
            [(index, 1, index) for index in range(len(self.events))]
            + [(index, 0, number) for number, (index, _, _) in enumerate(found)]
        )
        places = [self.event_places[at] if old else found[at][1] for _, old, at in merged]
        self.events[:] = [self.events[at] if old else found[at][2] for _, old, at in merged]
        self.event_places[:] = places
        moved = {at: index for index, (_, old, at) in enumerate(merged) if old}
        self.event_transfers = {moved[at]: kept for at, kept in self.event_transfers.items()}
