"""Groups of steps of a call history, whose entries are read once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import chain
from typing import Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.history.call_index import CallIndex
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame
from gdb_etm.history.reader_states import ReaderState


class StepGroup(NamedTuple):
    """Steps that are read together; equal steps make equal entries."""

    # Their numbers.
    steps: Tuple[int, ...]
    # The index of the first among all.
    step: int
    # The level before it, and the stretch.
    level: int
    stretch: int
    # The first and the last entry of the history that they read.
    entry: int
    last: int
    # How many instructions ran before, and how many until their end.
    ran: int
    until: int


class GroupEntries(NamedTuple):
    """The entries of a group."""

    # The frame that goes on until the first of them, if one does.
    goes_on: Optional[Frame]
    rows: List[FrameEntry]
    # Those that the stretches began in.
    firsts: List[Frame]
    # Those of the state after them.
    after: List[Frame]


class CallGroups(CallIndex):
    """An index of a call history, with the groups of its steps."""

    def groups(self) -> Iterator[StepGroup]:
        """Go through all steps, those that are read together at once.

        They are those of an entry with the events before it.  The first instruction after a return from an exception
        says what returned, so it stays with the return.
        """
        history, steps, states = self._history, self._steps, self._memory.states
        returning = [_is_returning(states[step.state].reader) for step in self._memory.steps]
        begin, step, first, ran, before = 0, 0, 0, 0, 0
        for entry, (events, number) in enumerate(zip(self._events_before(), chain(history.order, [-1]))):
            instructions = history.run(number).instructions if number >= 0 else 0
            step += events + (number >= 0)
            ran += instructions
            if step > begin and (number < 0 or not returning[steps[step - 1]]):
                where = self._levels[begin], bisect_left(self._stretches, begin)
                yield StepGroup(tuple(steps[begin:step]), begin, *where, first, entry, before, ran)
                begin, first, before = step, entry + 1, ran

    def _events_before(self) -> Iterator[int]:
        # How many events come before each entry, and after the last.
        counts = Counter(self._places)
        return (counts[entry] for entry in range(len(self._history.order) + 1))

    def read(self, group: StepGroup) -> GroupEntries:
        """Read the entries of a group.

        Levels count from the group's, stretches too.
        """
        history, follower, event = self._history, self._follower, group.step - group.entry
        follower.put(self._state(group.step), group.ran + 1, 0)
        goes_on = follower.pauses.open
        ran = group.ran
        for entry in range(group.entry, group.last + 1):
            until = bisect_right(self._places, entry, event)
            run = history.run(history.order[entry]) if entry < len(history.order) else None
            for item in self._items(entry, event, until, run, ran):
                follower.reader.item(item)
            event, ran = until, ran + (run.instructions if run is not None else 0)
        state = follower.reader.state()
        assert state is not None
        firsts = [stretch.first for stretch in follower.reader.stretches]
        return GroupEntries(goes_on, follower.pauses.kept(follower.reader.rows), firsts, state[1])


def _is_returning(state: ReaderState) -> bool:
    # Whether the next instruction is the first after a return from an exception.
    held = state.held
    return Entered.EXCEPTION_RETURN in (state.entered, held.entered if held is not None else None)
