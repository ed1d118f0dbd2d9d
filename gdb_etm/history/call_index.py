"""Index of a call history: where its entries are, without the entries.

Reading is one look-up for each run; the entries of a window are read again when somebody looks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import reduce
from itertools import accumulate, chain
from operator import add
from typing import AbstractSet, Callable, Dict, Iterator, List, Optional, Tuple, Union

from gdb_etm.history.call_steps import MATTERING, CalledAt, CallStep, StepMemory, StepReader, Unrepeatable, spans_of
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame
from gdb_etm.history.later_callers import LaterCallers, all_followed, complete, fates, is_unnamed, open_frames
from gdb_etm.history.reader import RangeReader
from gdb_etm.history.stacks import add_callers, outermost_of, segments_of, stitch
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import Event, Gap
from gdb_etm.protocols.recorder import Chain, Run

# Steps between two calls of a progress function.
_PROGRESS_INTERVAL = 1 << 14
# More than any level.
_HIGHEST = 1 << 30
# So many runs may be new at least; after that half of them.
_MOST_NEW = 1 << 15


def _earlier(called_at: CalledAt, ran: int) -> CalledAt:
    return called_at if called_at is None or isinstance(called_at, int) else (called_at[0] + ran,)


class CallIndex:
    """Where the entries of a call history are.

    :param history: The executed instructions.
    :param memory: What is known of steps.
    :param paused: Instructions after which the core paused; it makes no entry.
    :param progress: Called now and then with the number of instructions read since the last call.
    :raises Unrepeatable: Little comes back.
    """

    def __init__(
        self,
        history: ExecutionHistory,
        memory: StepMemory,
        paused: AbstractSet[int],
        progress: Callable[[int], None] = lambda instructions: None,
    ) -> None:
        self._history = history
        self._memory = memory
        self._paused = paused
        # The events that matter: their places and their indices.
        recorder = history.recorder
        found = [at for at, event in enumerate(recorder.events) if isinstance(event, MATTERING)]
        self._events = array("I", found)
        self._places = array("I", [recorder.event_entries[at] for at in found])
        # The numbers of the steps.
        self._steps = array("I")
        follower = self._follower = StepReader(history, memory, paused)
        self._begin = follower.begin()
        last = self._follow(follower, progress)
        # Entries with a number before each step, and in all.
        self._numbers = array("I")
        # Levels before each step.
        self._levels = array("i")
        # The steps in which stretches began, and of each stretch what to add to its levels.
        self._stretches: List[int] = []
        self.shifts: List[int] = []
        counts = Counter(self._steps)
        self.calls = sum([memory.steps[number].calls * times for number, times in counts.items()])
        self.exceptions = sum([memory.steps[number].exceptions * times for number, times in counts.items()])
        lowest, ended = self._sum_up()
        frames = follower.put(last, len(history) + 1, self._levels[-1])
        for index, frame in enumerate(frames):
            # Where it was called is found when somebody asks.
            frame.called_at = ~index
        self._unplaced = len(frames)
        opened = open_frames(frames)
        if self._steps:
            follower.reader.rows.append(FrameEntry(0, 0, None, 0, 0, Entered.START, None, frames[0]))
        self._end = follower.reader.end()
        self._last = fates(opened, ())
        self._later: Optional[LaterCallers] = None
        segments = segments_of(ended, [stretch.first for stretch in follower.reader.stretches])
        stitch(segments)
        # The frames that the stretches began in, with all their callers.
        self._firsts = [segment.first for segment in segments]
        base: Dict[int, int] = {}
        for segment, low in zip(segments, lowest):
            if low is not None:
                base[segment.group] = min(low + segment.shift, base.get(segment.group, low + segment.shift))
        self.shifts = [segment.shift - base.get(segment.group, 0) for segment in segments] or [0]

    def __len__(self) -> int:
        return self._numbers[-1]

    def _follow(self, follower: StepReader, progress: Callable[[int], None]) -> int:
        # Gives the last state.
        history, memory, steps = self._history, self._memory, self._steps
        known, after, order = memory.known, memory.after, history.order
        state = self._begin
        entry = new = reported = 0
        for event, place in zip([*self._events, -1], [*self._places, len(order)]):
            while entry < place:
                until = min(place, entry + _PROGRESS_INTERVAL)
                for number in order[entry:until]:
                    found = known[state].get(number)
                    if found is None:
                        new += 1
                        found = self._read_run(follower, state, entry)
                    steps.append(found)
                    state = after[found]
                    entry += 1
                if new > _MOST_NEW and new * 2 > len(steps):
                    raise Unrepeatable
                if until < place:
                    ran = history.entry_first(entry) - 1
                    progress(ran - reported)
                    reported = ran
            if event >= 0:
                found = self._read_event(follower, state, event, entry)
                steps.append(found)
                state = after[found]
        return state

    def _read_run(self, follower: StepReader, state: int, entry: int) -> int:
        number, ran = self._history.order[entry], self._history.entry_first(entry) - 1
        run = self._history.run(number)
        # Whether a gap within a run is a pause depends on its place.
        has_gaps = self._history.recorder.table.has_gaps and any(
            isinstance(one.event, Gap) for _, part in run.parts() for one in part.foreseen
        )
        if isinstance(run, Chain) and not has_gaps:
            steps = self._read_chain(follower, state, run, ran)
            if not any(self._memory.steps[one].finished for one in steps):
                return self._memory.add(state, number, self._joined(run, steps))
        return follower.step(state, None if has_gaps else number, spans_of(run, ran), ran)

    def _read_chain(self, follower: StepReader, state: int, chain: Chain, ran: int) -> List[int]:
        # The steps of its parts, which may be known.
        memory, steps = self._memory, []
        for number in chain.numbers:
            run = self._history.run(number)
            found = memory.known[state].get(number)
            if found is None:
                found = follower.step(state, number, spans_of(run, ran), ran)
            steps.append(found)
            state = memory.after[found]
            ran += run.instructions
        return steps

    def _joined(self, chain: Chain, numbers: List[int]) -> CallStep:
        # Several steps, in which no stretch began, as one.
        steps = [self._memory.steps[number] for number in numbers]
        before = list(accumulate([step.level for step in steps], initial=0))
        lows = [level + step.lowest[0] for level, step in zip(before, steps) if step.lowest[0] is not None]
        ran = list(accumulate([self._history.run(number).instructions for number in chain.numbers], initial=0))
        called_at = steps[-1].called_at
        called_at = tuple([one if one is None or isinstance(one, int) else (one[0] + ran[-2],) for one in called_at])
        for step, first in zip(steps[-2::-1], ran[-3::-1]):
            called_at = tuple(
                [_earlier(step.called_at[one], first) if isinstance(one, int) else one for one in called_at]
            )
        return CallStep(
            steps[-1].state,
            sum([step.entries for step in steps]),
            any(step.has_rows for step in steps),
            sum([step.calls for step in steps]),
            sum([step.exceptions for step in steps]),
            before[-1],
            (min(lows, default=None),),
            (),
            called_at,
            reduce(lambda later, step: all_followed(step.fates, later), steps[-2::-1], steps[-1].fates),
        )

    def _read_event(self, follower: StepReader, state: int, index: int, entry: int) -> int:
        event = self._history.recorder.events[index]._replace(offset=0)
        ran = self._history.entry_first(entry) - 1
        read = event, ran in self._paused
        found = self._memory.known[state].get(read)
        if found is not None:
            return found
        return follower.step(state, read, iter((event,)), ran)

    def _sum_up(self) -> Tuple[List[Optional[int]], List[Tuple[Frame, Frame]]]:
        # The lowest levels of all stretches, and the frames in which all but the last began and ended.
        memory, steps = self._memory, self._steps
        table = memory.steps
        entries = [step.entries for step in table]
        self._numbers.extend(accumulate(map(entries.__getitem__, steps), initial=0))
        levels = [step.level for step in table]
        lows = [_HIGHEST if step.lowest[0] is None else step.lowest[0] for step in table]
        ends = {number for number, step in enumerate(table) if step.finished}
        lowest: List[Optional[int]] = []
        ended: List[Tuple[Frame, Frame]] = []
        begin, level, low = 0, 0, _HIGHEST
        places = [at for at, number in enumerate(steps) if number in ends] if ends else []
        for at in [*places, len(steps)]:
            piece = steps[begin : at + 1]
            before = list(accumulate(map(levels.__getitem__, steps[begin:at]), initial=level))
            self._levels.extend(before)
            low = min(low, min(map(add, before, map(lows.__getitem__, piece)), default=_HIGHEST))
            lowest.append(None if low == _HIGHEST else low)
            if at < len(steps):
                step = table[steps[at]]
                ended += [one.ends(0 if nth else before[-1]) for nth, one in enumerate(step.finished)]
                lowest += step.lowest[1:-1]
                self._stretches += [at] * len(step.finished)
                begin, level = at + 1, step.level
                low = _HIGHEST if step.lowest[-1] is None else step.lowest[-1]
        return lowest, ended

    @property
    def later(self) -> LaterCallers:
        """What becomes known of frames after each step."""
        if self._later is None:
            self._later = LaterCallers(self._steps, [step.fates for step in self._memory.steps], self._last)
        return self._later

    def outermost(self, stretch: int) -> Frame:
        """Give the frame that a stretch began in, with its callers."""
        return self._firsts[stretch]

    def end(self) -> Frame:
        """Give the activation that would execute the next instruction."""
        if self._unplaced:
            self._place(self._end, self._unplaced, len(self._steps))
            self._unplaced = 0
        return self._end

    def innermost(self, number: int) -> Frame:
        """Give the activation that executes an instruction."""
        history = self._history
        entry, _ = history.entry(number)
        ran, event = history.entry_first(entry) - 1, bisect_left(self._places, entry)
        step = entry + event
        reader, frames = self._reader(step, ran)
        until = bisect_right(self._places, entry)
        for item in self._items(entry, event, until, history.run(history.order[entry]), ran):
            reader.item(item)
        found, stretch = frames[0], 0
        for row in reader.rows:
            if row.event is None and row.first <= number:
                found, stretch = row.frame, row.stretch
        first = reader.stretches[stretch].first
        if outermost_of(found) is not outermost_of(first) or any(map(is_unnamed, found.chain())):
            state = reader.state()
            assert state is not None
            complete(state[1], self.later.fates(self.later.after(entry + until + 1)))
        add_callers(first, self._firsts[bisect_left(self._stretches, step) + stretch])
        self._place(found, len(frames), step)
        return found

    def _reader(self, step: int, ran: int) -> Tuple[RangeReader, List[Frame]]:
        # A reader before a step, and its frames, of which it is to be found out where they were called.
        follower = StepReader(self._history, self._memory, self._paused)
        state = self._state(step)
        frames = follower.put(state, ran + 1, self._levels[step])
        for index, frame in enumerate(frames):
            frame.called_at = ~index
        return follower.reader, frames

    def _state(self, step: int) -> int:
        # The number of the state before a step.
        return self._memory.after[self._steps[step - 1]] if step else self._begin

    def _place(self, innermost: Frame, frames: int, steps: int) -> None:
        places = self._find_calls(frames, steps)
        for frame in chain((innermost,), innermost.callers()):
            if frame.called_at is not None and frame.called_at < 0:
                frame.called_at = places.get(~frame.called_at)

    def _find_calls(self, frames: int, steps: int) -> Dict[int, int]:
        # Where the frames of the state after some steps were called, by their indices: goes back through what made
        # them.
        known: Dict[Tuple[int, Tuple[int, ...]], Tuple[int, ...]] = {}
        found: Dict[int, int] = {}
        # Those that are looked for, and their indices in the state that is looked at.
        wanted = indices = tuple(range(frames))
        for at in range(steps - 1, -1, -1):
            key = self._steps[at], indices
            before = known.get(key)
            if before is None:
                called_at = self._memory.steps[key[0]].called_at
                made = [called_at[index] for index in indices]
                left = [(frame, one) for frame, one in zip(wanted, made) if isinstance(one, int)]
                if len(left) < len(made):
                    ran = self._ran(at)
                    found.update((frame, one[0] + ran) for frame, one in zip(wanted, made) if isinstance(one, tuple))
                    wanted = tuple([frame for frame, _ in left])
                before = tuple([one for _, one in left])
                if len(left) == len(made):
                    known[key] = before
            indices = before
            if not indices:
                break
        return found

    def _ran(self, step: int) -> int:
        return self._history.entry_first(self._entry(step)) - 1

    def _entry(self, step: int) -> int:
        # The entry that a step reads, or that its event comes before.
        low, high = 0, len(self._places)
        while low < high:
            middle = (low + high) // 2
            if self._places[middle] + middle < step:
                low = middle + 1
            else:
                high = middle
        return step - low if low == len(self._places) or self._places[low] + low > step else self._places[low]

    def _first_step(self, entry: int) -> int:
        return entry + bisect_left(self._places, entry)

    def rows(self, number: int) -> Iterator[Tuple[int, FrameEntry]]:
        """Go through the entries behind that of a number.

        Each comes with its number, a gap with that before it.

        :param number: 0 for all.
        """
        is_behind = not number
        first = self._entry(max(bisect_left(self._numbers, number) - 1, 0) if number else 0)
        for count, row in self._rows(first):
            if is_behind:
                yield count, row
            is_behind = is_behind or count >= number

    def at(self, instruction: int) -> int:
        """Give the number of the entry that an instruction is in."""
        entry, _ = self._history.entry(instruction)
        found = self._numbers[self._first_step(entry)]
        for count, row in self._rows(entry):
            if row.first > instruction:
                break
            if row.event is None:
                found = count
        return found

    def _rows(self, first: int) -> Iterator[Tuple[int, FrameEntry]]:
        return chain.from_iterable(self._batches(first))

    def _batches(self, first: int) -> Iterator[List[Tuple[int, FrameEntry]]]:
        # The entries of the call history from an entry of the order on, as far as they are read at once.
        history, table, steps = self._history, self._memory.steps, self._steps
        follower = StepReader(history, self._memory, self._paused)
        reader = follower.reader
        ran, event = history.entry_first(first) - 1, bisect_left(self._places, first)
        step = first + event
        is_there = False
        added = 0
        for entry in range(first, len(history.order) + 1):
            until = event
            while until < len(self._places) and self._places[until] == entry:
                until += 1
            run = history.run(history.order[entry]) if entry < len(history.order) else None
            after = step + until - event + (run is not None)
            if any([table[number].has_rows for number in steps[step:after]]):
                if not is_there:
                    follower.put(self._state(step), ran + 1, self._levels[step])
                    added = bisect_left(self._stretches, step)
                    is_there = True
                for item in self._items(entry, event, until, run, ran):
                    reader.item(item)
                rows = follower.pauses.kept(reader.rows)
                reader.rows.clear()
                counts = accumulate([not isinstance(row.event, Gap) for row in rows], initial=self._numbers[step])
                next(counts)
                yield list(zip(counts, [row._replace(stretch=row.stretch + added) for row in rows]))
            else:
                is_there = False
            ran += run.instructions if run is not None else 0
            step, event = after, until

    def _items(self, entry: int, event: int, until: int, run: Optional[Run], ran: int) -> Iterator[Union[Span, Event]]:
        # The events before an entry, and the entry.
        recorder = self._history.recorder
        for at in self._events[event:until]:
            yield recorder.placed(recorder.events[at])
        if run is not None:
            yield from spans_of(
                run, ran, lambda distance: recorder.offset_of(next(recorder.positions(entry)) + distance)
            )
