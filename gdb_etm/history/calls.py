"""The call history: entries by function, as ``etm functions`` prints them.

Consecutive instructions of one activation of a function make a :class:`Segment`; an exception and a gap
are entries of their own.  Reading costs work per executed range, not per instruction.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice
from typing import AbstractSet, Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.history.call_index import CallIndex
from gdb_etm.history.call_patterns import PatternReader
from gdb_etm.history.call_steps import PauseFilter, StepMemory, Unrepeatable
from gdb_etm.history.entries import Entered, FrameEntry, Resolver
from gdb_etm.history.exits import Exit
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.reader import RangeReader
from gdb_etm.history.stacks import stitch
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.history.threads import Threads
from gdb_etm.protocols.elements import Exception_, Gap, Range

# Instructions between two calls of a progress function.
_PROGRESS_INTERVAL = 1 << 14
# From so many instructions on it is worth the while to look for what repeats.
_LONG = 1 << 17


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

    :param instructions: Number of instructions in the history.
    :param read: Reads all entries.
    :param index: Where they are, if that is known without them.
    """

    def __init__(self, instructions: int, read: Callable[[], ReadCalls], index: Optional[CallIndex] = None) -> None:
        self._instructions = instructions
        self._read = read
        self._index = index
        self._known: Optional[ReadCalls] = None

    def _all(self) -> ReadCalls:
        if self._known is None:
            self._known = self._read()
        return self._known

    def _places(self) -> Union[ReadCalls, CallIndex]:
        return self._index if self._index is not None and self._known is None else self._all()

    @property
    def is_read(self) -> bool:
        """Whether all entries are at hand, not just an index of them."""
        return self._index is None or self._known is not None

    def __len__(self) -> int:
        return len(self._places())

    @property
    def calls(self) -> int:
        """How many calls the history holds, tail calls included."""
        return self._places().calls

    @property
    def exceptions(self) -> int:
        """How many exceptions were taken."""
        return self._places().exceptions

    @property
    def end(self) -> Frame:
        """The activation that would execute the next instruction."""
        return self._all().end()

    @property
    def threads(self) -> Threads:
        """The threads that ran."""
        return self._all().threads

    def innermost(self, number: int) -> Frame:
        """Give the activation that executes an instruction.

        One past the last instruction is where execution goes on.  With an index the same activation is another object
        each time.
        """
        return self._places().innermost(number) if number <= self._instructions else self._places().end()

    def at(self, instruction: int) -> int:
        """Give the number of the entry that an instruction is in.

        One past the last instruction is one past the last entry; 0 is 0.
        """
        if instruction < 1:
            return 0
        return len(self) + 1 if instruction > self._instructions else self._places().at(instruction)

    def rows(self) -> Sequence[FrameEntry]:
        """Give all entries as they were read, oldest first."""
        return self._all().all_rows

    def activations(self) -> Iterator[Activation]:
        """Give for each segment its activation, oldest first."""
        for _, row in self._all().rows(0):
            if row.event is None:
                yield Activation(row.first, row.frame, row.entered)

    def entries(self, first: int, last: int) -> Iterator[Entry]:
        """Give the entries ``first`` to ``last``, with the gaps directly around them."""
        places = self._places()
        number = max(first - 1, 0)
        rows = places.rows(number)
        at = places.index(number) if isinstance(places, ReadCalls) else 0
        number, row = next(rows, (0, None))
        while row is not None and number <= last:
            following, after = next(rows, (0, None))
            switch = places.switch(at) if isinstance(places, ReadCalls) else None
            if switch is not None:
                yield switch
            end = after.first - 1 if after is not None else self._instructions
            yield _entry(number, row, row.level + places.shifts[row.stretch], end)
            number, row, at = following, after, at + 1

    def of_thread(self, thread: int) -> List[int]:
        """List the entries of a thread's own instructions, by their numbers."""
        return self._all().of_thread(thread)

    def switches(self, first: int, last: int) -> Iterator[ThreadSwitch]:
        """Give the switches of threads before the instructions ``first`` to ``last``."""
        # Where there is an index there is one thread.
        return iter(()) if not self.is_read else self._all().switches(first, last)


def _entry(number: int, row: FrameEntry, level: int, last: int) -> Entry:
    if row.event is None:
        return Segment(number, level, row.function, row.address, row.first, last, row.entered)
    if isinstance(row.event, Gap):
        return Break(level, row.event, row.first - 1)
    return Interrupt(number, level, row.event, row.first - 1)


class ReadCalls:
    """All entries of a history.

    :param rows: Entries in order.
    :param threads: The threads that they belong to.
    :param calls: Number of calls in the history.
    :param end: The activation that would execute the next instruction.
    """

    def __init__(self, rows: List[FrameEntry], threads: Threads, calls: int, end: Frame) -> None:
        self._rows = rows
        self._end = end
        self.threads = threads
        # What to add to the levels of each stretch.
        self.shifts = threads.shifts
        self._firsts = [row.first for row in rows]
        self._numbers: List[int] = []
        count = 0
        for row in rows:
            count += not isinstance(row.event, Gap)
            self._numbers.append(count)
        self.calls = calls
        self.exceptions = sum(isinstance(row.event, Exception_) for row in rows)

    def __len__(self) -> int:
        return self._numbers[-1] if self._numbers else 0

    @property
    def all_rows(self) -> Sequence[FrameEntry]:
        """All entries, oldest first."""
        return self._rows

    def end(self) -> Frame:
        """Give the activation that would execute the next instruction."""
        return self._end

    def at(self, instruction: int) -> int:
        """Give the number of the entry that an instruction is in."""
        index = bisect_right(self._firsts, instruction) - 1
        while self._rows[index].event is not None:
            index -= 1
        return self._numbers[index]

    def innermost(self, number: int) -> Frame:
        """Give the activation that executes an instruction."""
        index = bisect_right(self._firsts, number) - 1
        while self._rows[index].event is not None:
            index -= 1
        return self._rows[index].frame

    def index(self, number: int) -> int:
        """Find the first entry behind that of a number.

        :param number: 0 for the first of all.
        """
        return bisect_left(self._numbers, number) + 1 if number else 0

    def rows(self, number: int) -> Iterator[Tuple[int, FrameEntry]]:
        """Go through the entries behind that of a number.

        Each comes with its number, a gap with that before it.

        :param number: 0 for all.
        """
        return islice(zip(self._numbers, self._rows), self.index(number), None)

    def of_thread(self, thread: int) -> List[int]:
        """List the entries of a thread's own instructions, by their numbers."""
        return [self._numbers[at] for at in self.threads.entries[thread - 1]]

    def switch(self, at: int) -> Optional[ThreadSwitch]:
        """Give the switch of threads before an entry, if there is one.

        :param at: The entry's index.
        """
        row = self._rows[at]
        if row.entered not in (Entered.EXCEPTION_RETURN, Entered.JUMP) or row.event is not None:
            return None
        before, thread = self.threads.before(at), self.threads.of(at)
        if before is None or thread is None or thread == before:
            return None
        return ThreadSwitch(row.level + self.shifts[row.stretch], before, thread, row.first - 1)

    def switches(self, first: int, last: int) -> Iterator[ThreadSwitch]:
        """Give the switches of threads before the instructions ``first`` to ``last``."""
        at = bisect_left(self._firsts, first)
        while at < len(self._rows) and self._rows[at].first <= last:
            switch = self.switch(at)
            if switch is not None:
                yield switch
            at += 1


def call_history(
    history: ExecutionHistory,
    resolve: Resolver,
    exits: Callable[[Range], Exit],
    progress: Callable[[int], None] = lambda instructions: None,
    paused: AbstractSet[int] = frozenset(),
    memory: Optional[StepMemory] = None,
) -> CallHistory:
    """Cut a history into function segments.

    :param history: The executed instructions.
    :param resolve: Finds the function at an address; asked once for every executed range that is new.
    :param exits: Tells how a range is left, see :class:`~gdb_etm.history.exits.Exits`.
    :param progress: Called now and then with the number of instructions read since the last call; what it raises ends
        the work.
    :param paused: Instructions after which the core paused; it makes no entry.
    :param memory: What is known of its steps; None has all entries read.
    """

    def read() -> ReadCalls:
        return read_calls(history, resolve, exits, progress, paused)

    index: Optional[CallIndex] = None
    if memory is not None:
        try:
            index = CallIndex(history, memory, paused, progress)
        except Unrepeatable:
            pass
    calls = CallHistory(len(history), read, index)
    # What takes long is done now.
    len(calls)
    return calls


def read_calls(
    history: ExecutionHistory,
    resolve: Resolver,
    exits: Callable[[Range], Exit],
    progress: Callable[[int], None] = lambda instructions: None,
    paused: AbstractSet[int] = frozenset(),
    by_patterns: Optional[bool] = None,
) -> ReadCalls:
    """Read all entries of a history.

    The other parameters are those of :func:`call_history`.

    :param by_patterns: Whether to look for what repeats; None: in long histories.
    """
    reader = RangeReader(history, resolve, exits)
    if len(history) >= _LONG if by_patterns is None else by_patterns:
        PatternReader(history, reader).read(progress)
    else:
        due = reported = 0
        for item in history.spans(1, len(history)):
            reader.item(item)
            if isinstance(item, Span) and item.number > due:
                progress(item.number - reported)
                reported, due = item.number, item.number + _PROGRESS_INTERVAL
    end, alike = reader.end(), reader.settle()
    stitch(reader.stretches)
    rows = PauseFilter(paused).kept(reader.rows) if paused else reader.rows
    return ReadCalls(rows, Threads(rows, reader.stretches, len(history), alike), reader.calls, end)
