"""Where decoders put what they find: columns of run numbers, and the events between them.

A *run* is what a stretch of trace bytes executed: the *legs* of its packets, each with the place in the stretch
of its packet.  Programs loop, so few distinct runs make up a long execution; a run is stored once and the
execution is a column of run numbers.
"""

from __future__ import annotations

from array import array
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.protocols.elements import Event, Range, Transfer


class Leg:
    """The ranges that one packet executed; kept once, and compared by identity."""

    __slots__ = ("ranges", "instructions")

    def __init__(self, ranges: Tuple[Range, ...]) -> None:
        self.ranges = ranges
        self.instructions = sum([executed.instructions for executed in ranges])
        """Number of instructions in all ranges."""


class Run:
    """What a stretch of trace bytes executed, in order."""

    __slots__ = ("positions", "legs", "instructions")

    def __init__(self, positions: Tuple[int, ...], legs: Tuple[Leg, ...]) -> None:
        self.positions = positions
        """For each leg, its packet's distance in bytes from the first byte of the run."""
        self.legs = legs
        self.instructions = sum([leg.instructions for leg in legs])
        """Number of instructions in all legs."""

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
        merged = sorted(
            [(place, 0, index) for index, place in enumerate(self.event_places)]
            + [(place, 1, index) for index, (place, _) in enumerate(found)]
        )
        events = [found[index][1] if new else self.events[index] for _, new, index in merged]
        moved = {index: at for at, (_, new, index) in enumerate(merged) if not new}
        self.event_transfers = {moved[index]: kept for index, kept in self.event_transfers.items()}
        self.events[:] = events
        self.event_places[:] = [place for place, _, _ in merged]
