"""Steps of reading a call history, by the reader's state.

What a reader makes of a run depends on its state alone, see :mod:`gdb_etm.history.reader_states`.  Programs loop, so it
is found out once for each state and run.
"""

from __future__ import annotations

from typing import AbstractSet, Callable, Dict, Hashable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.history.entries import FrameEntry, Resolver
from gdb_etm.history.exits import Exit
from gdb_etm.history.frames import Frame
from gdb_etm.history.later_callers import Fates, fates, open_frames
from gdb_etm.history.reader import RangeReader
from gdb_etm.history.reader_states import FinishedStretch, ReaderState, frames_of, shapes_of
from gdb_etm.history.stacks import HistorySegment
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import Event, Exception_, ExceptionReturn, Gap, Range
from gdb_etm.protocols.recorder import Run

# Where a frame was called: where a frame before was, by its index; an instruction, counted from the step's first; or
# nowhere that was seen.
CalledAt = Union[int, Tuple[int], None]
# The events that make entries, or end them.
MATTERING = (Gap, Exception_, ExceptionReturn)


class PauseFilter:
    """Leaves pauses out of the entries.

    An activation that goes on after one has one segment.

    :param paused: The instructions after which the core paused.
    """

    def __init__(self, paused: AbstractSet[int]) -> None:
        self._paused = paused
        # The frame of the last entry, if that is a segment.
        self.open: Optional[Frame] = None
        self.is_after_pause = False

    def kept(self, rows: List[FrameEntry]) -> List[FrameEntry]:
        """Give those of the next entries that are kept."""
        found = []
        for row in rows:
            if isinstance(row.event, Gap) and row.first - 1 in self._paused:
                self.is_after_pause = True
                continue
            if not (self.is_after_pause and row.event is None and self.open is row.frame):
                found.append(row)
                self.open = row.frame if row.event is None else None
            self.is_after_pause = False
        return found


class StepState(NamedTuple):
    """The state before a step."""

    reader: ReaderState
    # Of a :class:`PauseFilter`: whether the frame that executes is open.
    is_open: bool
    is_after_pause: bool


class CallStep(NamedTuple):
    """What a run or an event does in a state."""

    # The number of the state after it.
    state: int
    # Entries with a number.
    entries: int
    # Whether there are any, with gaps.
    has_rows: bool
    calls: int
    exceptions: int
    # The level after it: relative to that before, unless a stretch began.
    level: int
    # The lowest levels of the stretch before and of those that began; the first is relative.  None: no entry.
    lowest: Tuple[Optional[int], ...]
    # The stretches that ended; the first one's levels are relative to that before.
    finished: Tuple[FinishedStretch, ...]
    # Of each frame after it.
    called_at: Tuple[CalledAt, ...]
    # What becomes of the frames before it of which more may become known.
    fates: Fates


class StepMemory:
    """What runs and events do, by states.

    It may serve a history that grows, as long as the symbols stay.

    :param resolve: Finds the function at an address.
    :param exits: Tells how a range is left.
    """

    def __init__(self, resolve: Resolver, exits: Callable[[Range], Exit]) -> None:
        self.resolve, self.exits = resolve, exits
        self.states: List[StepState] = []
        self.steps: List[CallStep] = []
        # By state: the numbers of steps by what is read.
        self.known: List[Dict[Hashable, int]] = []
        # By the number of a step: that of the state after it.
        self.after: List[int] = []
        self._numbers: Dict[StepState, int] = {}

    def add(self, state: int, read: Optional[Hashable], step: CallStep) -> int:
        """Give a step its number.

        :param state: The state before it.
        :param read: What is read; None for what never comes again.
        """
        number = len(self.steps)
        self.steps.append(step)
        self.after.append(step.state)
        if read is not None:
            self.known[state][read] = number
        return number

    def number(self, state: StepState) -> int:
        """Give a state its number."""
        found = self._numbers.get(state)
        if found is None:
            found = self._numbers[state] = len(self.states)
            self.states.append(state)
            self.known.append({})
        return found


class Unrepeatable(Exception):
    """States hardly come back, or there are threads: all entries are read."""


class StepReader:
    """A reader that goes on from any state.

    :param history: The executed instructions.
    :param memory: What is known of steps.
    :param paused: Instructions after which the core paused.
    """

    def __init__(self, history: ExecutionHistory, memory: StepMemory, paused: AbstractSet[int]) -> None:
        self._memory = memory
        self.reader = RangeReader(history, memory.resolve, memory.exits)
        self.pauses = PauseFilter(paused)
        # The state that the reader is in, and how many instructions ran before.
        self._live = -1, -1
        self._frames: List[Frame] = []

    def begin(self) -> int:
        """Give the number of the state before the history."""
        found = self.reader.state()
        assert found is not None
        return self._memory.number(StepState(found[0], False, False))

    def put(self, state: int, number: int, level: int) -> List[Frame]:
        """Go on from a state; give its frames.

        :param number: Of the next instruction.
        :param level: Of the frame that executes.
        """
        found = self._memory.states[state]
        frames = self.reader.put(found.reader, number, level)
        self.pauses.open, self.pauses.is_after_pause = frames[0] if found.is_open else None, found.is_after_pause
        return frames

    def step(self, state: int, read: Optional[Hashable], items: Iterator[Union[Span, Event]], ran: int) -> int:
        """Read what was not read in this state so far.

        :param read: What it is known by; None for what never comes again.
        :param ran: How many instructions ran before.
        :returns: The step's number.
        """
        reader = self.reader
        frames = self._frames if self._live == (state, ran) else self.put(state, ran + 1, 0)
        for index, frame in enumerate(frames):
            frame.called_at = ~index
        level, calls = reader.level, reader.calls
        opened = open_frames(frames)
        for item in items:
            reader.item(item)
        rows = self.pauses.kept(reader.rows)
        ended = _ended(reader.stretches)
        found = reader.state()
        if found is None:
            raise Unrepeatable
        lowest: List[Optional[int]] = [None] * (len(ended) + 1)
        for row in rows:
            if not isinstance(row.event, Gap):
                relative = row.level if row.stretch else row.level - level
                before = lowest[row.stretch]
                lowest[row.stretch] = relative if before is None else min(before, relative)
        reader.forget_entries()
        reader_state, self._frames = found
        after = self._memory.number(
            StepState(reader_state, self.pauses.open is self._frames[0], self.pauses.is_after_pause)
        )
        self._live = after, reader.next - 1
        return self._memory.add(
            state,
            read,
            CallStep(
                after,
                sum([not isinstance(row.event, Gap) for row in rows]),
                bool(rows),
                reader.calls - calls,
                sum([isinstance(row.event, Exception_) for row in rows]),
                reader.level if ended else reader.level - level,
                tuple(lowest),
                tuple([_finished(*ends, 0 if at else level) for at, ends in enumerate(ended)]),
                tuple([_called_at(frame, ran) for frame in self._frames]),
                fates(opened, self._frames),
            ),
        )


def _called_at(frame: Frame, ran: int) -> CalledAt:
    at = frame.called_at
    return None if at is None else ~at if at < 0 else (at - ran,)


def _ended(stretches: Sequence[HistorySegment]) -> List[Tuple[Frame, Frame]]:
    # The frames in which stretches began and ended, those that a gap has ended.
    found = []
    for at, (stretch, following) in enumerate(zip(stretches, stretches[1:])):
        before = following.before
        if before is None or before.running.segment != at:
            raise Unrepeatable  # a thread that was not seen so far
        found.append((stretch.first, before.running.frame))
    return found


def _finished(first: Frame, last: Frame, level: int) -> FinishedStretch:
    frames = frames_of([last, first])
    if frames is None:
        raise Unrepeatable
    begun = next(at for at, frame in enumerate(frames) if frame is first)
    return FinishedStretch(shapes_of(frames, level), begun, 0)


def spans_of(run: Run, ran: int, offset_of: Callable[[int], int] = lambda distance: 0) -> Iterator[Union[Span, Event]]:
    """Go through a run's ranges and the events that matter.

    :param ran: How many instructions ran before.
    :param offset_of: Gives an event's offset for its distance from the run's first byte.
    """
    for distance, item in run.items():
        if isinstance(item, Range):
            yield Span(ran + 1, item)
            ran += item.instructions
        elif isinstance(item, MATTERING):
            yield item._replace(offset=offset_of(distance))
