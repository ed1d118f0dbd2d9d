"""Where decoders put what they find: columns of run numbers, and the events between them.

A *run* is what a stretch of trace bytes executed: some ranges, each with the place in the stretch of the packet that
it came from.  Programs loop, so few distinct runs make up a long execution; a run is stored once and
the execution is a column of run numbers.
"""

from __future__ import annotations

from array import array
from typing import Callable, Dict, List, NamedTuple, Tuple

from gdb_etm.protocols.elements import Event, Range


class PlacedRange(NamedTuple):
    """A range, and where its packet lies relative to the start of the run's bytes."""

    position: int
    """Bytes from the first byte of the run."""
    range: Range


class Run(NamedTuple):
    """What a stretch of trace bytes executed, in order."""

    ranges: Tuple[PlacedRange, ...]
    instructions: int
    """Number of instructions in all ranges."""


class RunTable:
    """The distinct runs, numbered from 0 in order of first appearance; grows, never changes."""

    def __init__(self) -> None:
        self.runs: List[Run] = []
        self._numbers: Dict[Tuple[PlacedRange, ...], int] = {}

    def number(self, ranges: Tuple[PlacedRange, ...]) -> int:
        """Give the number of the run with these ranges; a new one when it is new."""
        number = self._numbers.get(ranges)
        if number is None:
            number = self._numbers[ranges] = len(self.runs)
            self.runs.append(Run(ranges, sum(placed.range.instructions for placed in ranges)))
        return number


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

    def add(self, ranges: Tuple[PlacedRange, ...], position: int) -> None:
        """Append executed ranges whose packets lie at ``position`` and on."""
        self.order.append(self.table.number(ranges))
        self.positions.append(position)

    def event(self, event: Event) -> None:
        """Append an event after all that was executed so far."""
        self.events.append(event)
        self.event_places.append(len(self.order))
