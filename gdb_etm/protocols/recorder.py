"""Recorder of decoders: a column of run numbers, and events.

A *run* is the content of some trace bytes: the *legs* of their packets, and events, each with its packet's position.
Programs loop, so few distinct runs make up a long execution: a run is stored once, and the execution is a column of
run numbers.  Where loops are long, runs are joined to *chains*, which are runs as well.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Callable, Dict, Final, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.protocols.elements import Event, Gap, Range, Timestamp, Transfer

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__

# Entries of the execution at most between two whose position is stored.
_MARK_EVERY: Final = 64


class Leg:
    """The ranges that one packet executed; kept once, and compared by identity."""

    __slots__ = ("ranges", "instructions")

    def __init__(self, ranges: Tuple[Range, ...]) -> None:
        self.ranges = ranges
        # Number of instructions in all ranges.
        self.instructions = ranges[0].instructions if len(ranges) == 1 else sum([one.instructions for one in ranges])


class Foreseen(NamedTuple):
    """An event within a run: it comes whenever these bytes do."""

    # How many of the run's legs come before it.
    leg: int
    # Its packet's distance in bytes from the first byte of the run.
    position: int
    # Its offset means nothing.
    event: Event


# Each leg's distance in bytes from the first byte of the run, the legs, and events between them.
Content = Tuple[Sequence[int], Sequence[Leg], Sequence[Foreseen]]


class Run:
    """The content of some trace bytes, in order."""

    __slots__ = ("length", "_foreseen", "_positions", "_legs", "_instructions")

    def __init__(
        self, length: int, positions: Sequence[int], legs: Sequence[Leg], foreseen: Tuple[Foreseen, ...] = ()
    ) -> None:
        # Number of trace bytes.
        self.length = length
        self._foreseen = foreseen
        self._positions = positions
        self._legs = legs
        self._instructions = -1

    @property
    def foreseen(self) -> Tuple[Foreseen, ...]:
        """Events between the legs, in order."""
        return self._foreseen

    @property
    def positions(self) -> Sequence[int]:
        """Each leg's distance in bytes from the run's first byte."""
        return self._positions

    @property
    def legs(self) -> Sequence[Leg]:
        """The ranges that its packets executed."""
        return self._legs

    def content(self) -> Content:
        """Give positions, legs and foreseen events at once."""
        return self._positions, self._legs, self._foreseen

    @property
    def instructions(self) -> int:
        """Number of instructions in all legs."""
        if self._instructions < 0:
            self._instructions = sum([leg.instructions for leg in self.legs])
        return self._instructions

    def parts(self) -> Iterator[Tuple[int, "Run"]]:
        """Iterate over its parts that are no chains."""
        yield 0, self

    def ranges(self) -> Iterator[Tuple[int, Range]]:
        """Go through the ranges, each with the distance of its packet."""
        for position, item in self.items():
            if isinstance(item, Range):
                yield position, item

    def items(self) -> Iterator[Tuple[int, Union[Range, Event]]]:
        """Iterate over ranges and events, with their packets' distances."""
        positions, legs, foreseen = self.content()
        done = 0
        for before, event_position, event in foreseen:
            for index in range(done, before):
                for executed in legs[index].ranges:
                    yield positions[index], executed
            yield event_position, event
            done = before
        for index in range(done, len(legs)):
            for executed in legs[index].ranges:
                yield positions[index], executed

    def all_legs(self) -> List[Leg]:
        """List the legs of all parts."""
        return list(self.legs)


class Chain(Run):
    """Runs that came one after the other.

    :param numbers: Their numbers; none of them is a chain.
    :param runs: All runs by number.
    """

    __slots__ = ("numbers", "_runs")

    def __init__(self, numbers: Iterable[int], runs: Sequence[Run]) -> None:
        self.numbers = array("I", numbers)
        self._runs = runs
        super().__init__(sum([runs[number].length for number in self.numbers]), (), ())

    @property
    def instructions(self) -> int:
        """Number of instructions in all parts."""
        if self._instructions < 0:
            self._instructions = sum([self._runs[number].instructions for number in self.numbers])
        return self._instructions

    def parts(self) -> Iterator[Tuple[int, Run]]:
        """Iterate over the runs of the chain, with their distances."""
        distance = 0
        for number in self.numbers:
            run = self._runs[number]
            yield distance, run
            distance += run.length

    def items(self) -> Iterator[Tuple[int, Union[Range, Event]]]:
        """Go through the ranges and the events of all parts."""
        for distance, run in self.parts():
            for position, item in run.items():
                yield distance + position, item

    def all_legs(self) -> List[Leg]:
        """List the legs of all parts."""
        return [leg for _, run in self.parts() for leg in run.legs]


class RunTable:
    """Runs by number, from 0; it grows and never changes."""

    def __init__(self) -> None:
        self.runs: List[Run] = []
        # Whether there are events in any run.
        self.has_events = False
        # Whether there are gaps in any run.
        self.has_gaps = False
        self._single: Dict[Leg, int] = {}

    def add(self, run: Run, gaps: Optional[bool] = None) -> int:
        """Give a new run its number.

        :param gaps: Whether there may be gaps in it, and no other events; None to look.
        """
        number = len(self.runs)
        self.runs.append(run)
        if gaps:
            self.has_events = self.has_gaps = True
        elif gaps is None and run.foreseen:
            self.has_events = True
            self.has_gaps = self.has_gaps or any(isinstance(one.event, Gap) for one in run.foreseen)
        return number

    def single(self, leg: Leg) -> int:
        """Give the run that is only this leg, of one byte."""
        number = self._single.get(leg)
        if number is None:
            number = self._single[leg] = self.add(Run(1, (0,), (leg,)))
        return number


# The conditional instructions of an entry whose outcome is known: index in the entry, whether the condition passed.
Outcomes = Tuple[Tuple[int, bool], ...]


class DataCounts(NamedTuple):
    """Number of transfers of a data stream with a known P0 element."""

    # Of instructions and exceptions in the history.
    executed: int
    # Of P0 elements that were cancelled, or whose place in the program is not known.
    unexecuted: int


class Spot(NamedTuple):
    """A spot in a recording."""

    # The number of entries before it.
    entries: int
    # The last event before it that is not before the last of those entries; None where there is none.
    event: Optional[Event]


class Recorder:
    """Collects one stream's execution.

    :param table: Runs by number; may be shared by the recordings of one decoder.
    :param offset_of: Maps a position in the stream to the offset in the capture's buffer.
    """

    def __init__(self, table: RunTable, offset_of: Callable[[int], int]) -> None:
        self.table = table
        self.offset_of = offset_of
        # Run numbers in execution order: the entries.
        self.order = array("I")
        # Entries whose position does not follow from the entry before it, and others now and then; ascending.
        self.marks = array("I")
        # For each of ``marks`` the position in the stream of its first byte.
        self.mark_positions = array("Q")
        # Events between entries; :meth:`placed` makes them what others see.
        self.events: List[Event] = []
        # For each event the number of entries before it.
        self.event_entries = array("I")
        # Loads and stores of the last instruction of an entry of ``order``, by the entry's index.
        self.transfers: Dict[int, Tuple[Transfer, ...]] = {}
        # Of conditional instructions that are no branches, by entry of ``order``; where the unit traces them.
        self.outcomes: Dict[int, Outcomes] = {}
        # Loads and stores of an exception's entry or return, by the index of its event.
        self.event_transfers: Dict[int, Tuple[Transfer, ...]] = {}
        # None where no data stream was decoded.
        self.data_counts: Optional[DataCounts] = None
        self._following: Optional[int] = None

    def add(self, leg: Leg, position: int) -> None:
        """Append the leg of the packet at ``position``."""
        self.extend([self.table.single(leg)], position, position + 1)

    def extend(self, numbers: List[int], position: int, following: int) -> None:
        """Append runs whose bytes lie one after the other.

        :param numbers: Their numbers.
        :param position: In the stream, of the first byte.
        :param following: Position after the last byte.
        """
        if position != self._following or len(self.order) - self.marks[-1] >= _MARK_EVERY:
            self.marks.append(len(self.order))
            self.mark_positions.append(position)
        self.order.fromlist(numbers)
        self._following = following

    def event(self, event: Event) -> None:
        """Append an event after all that was executed so far."""
        self.events.append(event)
        self.event_entries.append(len(self.order))

    def time(self, value: int, position: int) -> None:
        """Append a timestamp.

        There may be many, so its offset is computed when somebody looks at it.

        :param position: In the stream, of its packet.
        """
        # Below zero there is no offset.
        self.events.append(_new(Timestamp, (~position, value, None)))
        self.event_entries.append(len(self.order))

    def placed(self, event: Event) -> Event:
        """Give an event of :attr:`events` with its offset in the capture's buffer."""
        offset = event.offset
        return event if offset >= 0 else event._replace(offset=self.offset_of(~offset))

    def unfold(self) -> bool:
        """Split the last entry: each leg becomes an entry.

        What is foreseen becomes events between them.

        :returns: False when there is none, it is a single leg, or a gap follows it.
        """
        number = self.order[-1] if self.order else -1
        run = self.table.runs[number] if number >= 0 else None
        last = len(self.order) - 1
        index = bisect_right(self.event_entries, last)
        if run is None or any(isinstance(event, Gap) for event in self.events[index:]):
            return False
        if not isinstance(run, Chain) and len(run.legs) == 1 and not run.foreseen:
            return False
        (position,) = self.positions(last)
        following = self.events[index:]
        del self.events[index:], self.event_entries[index:], self.order[last]
        if self.marks[-1] == last:
            del self.marks[-1], self.mark_positions[-1]
        self._following = None
        for distance, part in run.parts():
            self._unfold_part(part, position + distance)
        for event in following:
            self.event(event)
        return True

    def _unfold_part(self, run: Run, position: int) -> None:
        positions, legs, foreseen_events = run.content()
        events = list(foreseen_events)
        for index, (distance, leg) in enumerate(list(zip(positions, legs)) + [(0, None)]):
            while events and events[0].leg <= index:
                foreseen = events.pop(0)
                self.event(foreseen.event._replace(offset=self.offset_of(position + foreseen.position)))
            if leg is not None:
                self.add(leg, position + distance)

    def insert(self, found: Sequence[Tuple[int, Event]]) -> None:
        """Put events found afterwards among the others.

        :param found: Each with the number of entries of ``order`` before it, in ascending order; it comes after the
            events that have the same.
        """
        self._insert([(bisect_right(self.event_entries, entries), entries, event) for entries, event in found])

    def here(self) -> Spot:
        """Give the spot after all that was recorded so far."""
        entries = len(self.order)
        last = self.events[-1] if self.events and self.event_entries[-1] == entries else None
        return Spot(entries, last)

    def insert_at(self, found: Sequence[Tuple[Spot, Event]]) -> None:
        """Put events found afterwards at the spots that :meth:`here` has given.

        :param found: Each with its spot, in the order in which they were given.
        """
        self._insert([(self._index(spot), spot.entries, event) for spot, event in found])

    def _index(self, spot: Spot) -> int:
        index = bisect_left(self.event_entries, spot.entries)
        end = bisect_right(self.event_entries, spot.entries)
        while spot.event is not None and index < end:
            index += 1
            if self.events[index - 1] is spot.event:
                break
        return index

    def _insert(self, found: Sequence[Tuple[int, int, Event]]) -> None:
        # Each with the index that it goes before, and the number of entries before it.
        found = sorted(found, key=lambda one: one[0])
        events: List[Event] = []
        counts = array("I")
        at = 0
        for index, entries, event in found:
            events += self.events[at:index]
            counts += self.event_entries[at:index]
            events.append(event)
            counts.append(entries)
            at = index
        self.events[:at] = events
        self.event_entries[:at] = counts
        indices = [index for index, _, _ in found]
        self.event_transfers = {at + bisect_right(indices, at): kept for at, kept in self.event_transfers.items()}

    def positions(self, entry: int = 0) -> Iterator[int]:
        """Give the positions of the entries from number ``entry`` on."""
        mark = bisect_right(self.marks, entry) - 1
        if mark < 0:
            return
        runs = self.table.runs
        position = self.mark_positions[mark]
        for at in range(self.marks[mark], len(self.order)):
            if mark + 1 < len(self.marks) and self.marks[mark + 1] == at:
                mark += 1
                position = self.mark_positions[mark]
            if at >= entry:
                yield position
            position += runs[self.order[at]].length
