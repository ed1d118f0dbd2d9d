"""The call history: entries by function, as ``etm functions`` prints them.

Consecutive instructions of one activation of a function make a :class:`Segment`; an exception and a gap
are entries of their own.  Reading costs work per executed range, not per instruction.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import AbstractSet, Callable, Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.history.entries import Entered, FrameEntry, Resolver
from gdb_etm.history.exits import Exit
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.reader import RangeReader
from gdb_etm.history.stacks import HistorySegment, stitch
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.history.threads import Threads
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Gap, Range

# Instructions between two calls of a progress function.
_PROGRESS_INTERVAL = 1 << 14


class Segment(NamedTuple):
    """Consecutive instructions of one activation of a function."""

    number: int
    # Call depth; the outermost entry has 0, and begins anew after a gap that hides how deep it is.
    level: int
    # None where the address belongs to no known function.
    function: Optional[Function]
    # Of its first instruction.
    address: int
    # Number of its first instruction.
    first: int
    last: int
    entered: Entered


class Interrupt(NamedTuple):
    """An exception was taken."""

    number: int
    # Level of its handler.
    level: int
    event: Exception_
    # Number of the instruction before it; 0 when there is none.
    after: int


class Break(NamedTuple):
    """A gap in the history; it has no number."""

    level: int
    event: Gap
    after: int


class ThreadSwitch(NamedTuple):
    """Another thread goes on; it has no number."""

    level: int
    # Numbers of the threads.
    before: int
    thread: int
    # Number of the instruction before it.
    after: int


# One line of the call history.
Entry = Union[Segment, Interrupt, Break, ThreadSwitch]


class Activation(NamedTuple):
    """A segment as the activation of a function."""

    # Number of its first instruction.
    first: int
    # The same object in all segments of one activation.
    frame: Frame
    entered: Entered


class CallHistory:
    """The entries of a history, numbered as GDB numbers function segments.

    :param rows: Entries in order, made by :func:`call_history`.
    :param stretches: The stretches that the rows refer to, stitched.
    :param instructions: Number of instructions in the history.
    :param calls: Number of calls in the history.
    :param end: The activation that would execute the next instruction.
    :param alike: Pairs of stretches whose stacks are not told apart everywhere.
    """

    def __init__(
        self,
        rows: List[FrameEntry],
        stretches: List[HistorySegment],
        instructions: int,
        calls: int,
        end: Frame,
        alike: AbstractSet[Tuple[int, int]] = frozenset(),
    ) -> None:
        self._rows = rows
        # The activation that would execute the next instruction, had the history not ended.
        self.end = end
        self._instructions = instructions
        # The threads that ran.
        self.threads = Threads(rows, stretches, instructions, alike)
        self._numbers: List[int] = []
        self._firsts = [row.first for row in rows]
        count = 0
        for row in rows:
            count += not isinstance(row.event, Gap)
            self._numbers.append(count)
        # How many calls the history holds, tail calls included.
        self.calls = calls
        # How many exceptions were taken.
        self.exceptions = sum(isinstance(row.event, Exception_) for row in rows)

    def __len__(self) -> int:
        return self._numbers[-1] if self._numbers else 0

    def at(self, instruction: int) -> int:
        """Give the number of the entry that an instruction is in.

        One past the last instruction is one past the last entry; 0 is 0.
        """
        if instruction < 1:
            return 0
        if instruction > self._instructions:
            return len(self) + 1
        index = bisect_right(self._firsts, instruction) - 1
        while self._rows[index].event is not None:
            index -= 1
        return self._numbers[index]

    def activations(self) -> Iterator[Activation]:
        """Give for each segment its activation, oldest first."""
        for row in self._rows:
            if row.event is None:
                yield Activation(row.first, row.frame, row.entered)

    def entries(self, first: int, last: int) -> Iterator[Entry]:
        """Give the entries ``first`` to ``last``, with the gaps directly around them."""
        at = bisect_left(self._numbers, first - 1) + 1 if first > 1 else 0
        while at < len(self._rows) and self._numbers[at] <= last:
            switch = self.switch(at)
            if switch is not None:
                yield switch
            yield self._entry(at)
            at += 1

    def of_thread(self, thread: int) -> List[int]:
        """List the entries of a thread's own instructions, by their numbers."""
        return [self._numbers[at] for at in self.threads.entries[thread - 1]]

    def switch(self, at: int) -> Optional[ThreadSwitch]:
        """Give the switch of threads before an entry, if there is one.

        :param at: The entry's index.
        """
        row = self._rows[at]
        if row.entered is not Entered.EXCEPTION_RETURN or row.event is not None:
            return None
        before, thread = self.threads.before(at), self.threads.of(at)
        if before is None or thread is None or thread == before:
            return None
        return ThreadSwitch(row.level + self.threads.shifts[row.stretch], before, thread, row.first - 1)

    def switches(self, first: int, last: int) -> Iterator[ThreadSwitch]:
        """Give the switches of threads before the instructions ``first`` to ``last``."""
        at = bisect_left(self._firsts, first)
        while at < len(self._rows) and self._rows[at].first <= last:
            switch = self.switch(at)
            if switch is not None:
                yield switch
            at += 1

    def _entry(self, at: int) -> Entry:
        row = self._rows[at]
        level = row.level + self.threads.shifts[row.stretch]
        if row.event is None:
            last = self._instructions
            if at + 1 < len(self._rows):
                last = self._rows[at + 1].first - 1
            return Segment(self._numbers[at], level, row.function, row.address, row.first, last, row.entered)
        if isinstance(row.event, Gap):
            return Break(level, row.event, row.first - 1)
        return Interrupt(self._numbers[at], level, row.event, row.first - 1)


def call_history(
    history: ExecutionHistory,
    resolve: Resolver,
    exits: Callable[[Range], Exit],
    progress: Optional[Callable[[int], None]] = None,
    paused: AbstractSet[int] = frozenset(),
) -> CallHistory:
    """Cut a history into function segments.

    :param history: The executed instructions.
    :param resolve: Finds the function at an address; asked once for every executed range that is new.
    :param exits: Tells how a range is left, see :class:`~gdb_etm.history.exits.Exits`.
    :param progress: Called now and then with the number of instructions read since the last call; what it raises ends
        the work.
    :param paused: Instructions after which the core paused; it makes no entry.
    """
    due = reported = 0
    reader = RangeReader(history, resolve, exits)
    for item in history.spans(1, len(history)):
        if isinstance(item, Span):
            reader.span(item)
            if progress is not None and item.number > due:
                progress(item.number - reported)
                reported, due = item.number, item.number + _PROGRESS_INTERVAL
        elif isinstance(item, Gap):
            reader.gap(item)
        elif isinstance(item, Exception_):
            reader.exception(item)
        elif isinstance(item, ExceptionReturn):
            reader.exception_return()
    end = reader.end()
    stitch(reader.stretches)
    rows = _without_pauses(reader.rows, paused) if paused else reader.rows
    return CallHistory(rows, reader.stretches, len(history), reader.calls, end, reader.alike)


def _without_pauses(rows: List[FrameEntry], paused: AbstractSet[int]) -> List[FrameEntry]:
    # An activation that goes on after a pause has one segment.
    kept: List[FrameEntry] = []
    is_after_pause = False
    for row in rows:
        if isinstance(row.event, Gap) and row.first - 1 in paused:
            is_after_pause = True
            continue
        goes_on = (
            is_after_pause and kept and row.event is None and kept[-1].event is None and kept[-1].frame is row.frame
        )
        if not goes_on:
            kept.append(row)
        is_after_pause = False
    return kept
