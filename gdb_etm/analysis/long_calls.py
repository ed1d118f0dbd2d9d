"""Costs of functions in a long call history.

It has more calls than memory has room for, but an index knows the steps by which it is read, and these come again:
what a group of steps adds is found out once and counted.  The sums are those of
:class:`~gdb_etm.analysis.profile.CallProfile`: where a group begins, the callers are known.
"""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.analysis.activity import has_interrupted, returning
from gdb_etm.analysis.profile import UNKNOWN
from gdb_etm.history.call_groups import CallGroups, GroupEntries, StepGroup
from gdb_etm.history.call_index import CallIndex
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.later_callers import NO_FATES, Fates, KnownCallers
from gdb_etm.history.stacks import outermost_of

_BEGINS = (Entered.CALL, Entered.TAIL_CALL, Entered.EXCEPTION)


class FunctionCost(NamedTuple):
    """A function in all contexts."""

    function: Function
    # Calls that were seen to begin.
    calls: int
    # Instructions of its own, and with those of what it called.
    own: int
    inclusive: int


class _Debt(NamedTuple):
    # Instructions whose outer callers are found later in the history, or not at all; those of the frame that a stretch
    # began in.

    stretch: int
    # Level of the outermost frame that was known, and the functions up to it.
    level: int
    functions: FrozenSet[Function]


class _LooseDebt(NamedTuple):
    # The same of a frame that the one that its stretch began in does not lead to.

    # Its index among the frames after the group.
    frame: int
    functions: FrozenSet[Function]


class CallSums:
    """Sums of a call history."""

    def __init__(self) -> None:
        self.calls: CounterOf[Function] = Counter()
        self.own: CounterOf[Function] = Counter()
        self.inclusive: CounterOf[Function] = Counter()
        self.debts: CounterOf[_Debt] = Counter()
        # By stretch: levels to which handlers returned whose entry was not seen.
        self.interrupted: Dict[int, Set[int]] = {}

    def costs(self, index: CallIndex) -> List[FunctionCost]:
        """Give the costs of all functions.

        :param index: Of the call history.
        """
        inclusive = Counter(self.inclusive)
        for debt, instructions in self.debts.items():
            for function in {*_later_callers(index, debt, self.interrupted.get(debt.stretch, set()))} - debt.functions:
                inclusive[function] += instructions
        return [FunctionCost(one, self.calls[one], self.own[one], inclusive[one]) for one in inclusive]


def _later_callers(index: CallIndex, debt: _Debt, interrupted: Set[int]) -> Iterator[Function]:
    known: Optional[Frame] = index.outermost(debt.stretch)
    while known is not None and known.level > debt.level:
        known = known.up
    if known is None or known.level != debt.level:
        return
    while known.up is not None and not known.up.is_exception and known.up.level not in interrupted:
        if has_interrupted(known):
            return
        known = known.up
        yield known.function or UNKNOWN


class _GroupSums(NamedTuple):
    # What a group of steps adds each time; levels count from the group's, but in later stretches from 0.

    calls: CounterOf[Function]
    own: CounterOf[Function]
    inclusive: CounterOf[Function]
    # By the stretch, counted from the group's: what is owed, and where handlers returned to.
    debts: CounterOf[_Debt]
    interrupted: Dict[int, Set[int]]
    loose: CounterOf[_LooseDebt]


class _Place(NamedTuple):
    # Where a group is, as far as its debts depend on that.

    level: int
    stretch: int
    # What becomes known of the frames after it, by its number; -1: no matter.
    later: int


def call_sums(index: CallGroups) -> CallSums:
    """Sum up a call history."""
    sums = CallSums()
    groups: Dict[Tuple[int, ...], _GroupSums] = {}
    times: CounterOf[Tuple[int, ...]] = Counter()
    places: CounterOf[Tuple[Tuple[int, ...], _Place]] = Counter()
    for group in index.groups():
        if group.steps not in groups:
            groups[group.steps] = _group_sums(index, group)
        times[group.steps] += 1
        found = groups[group.steps]
        if found.debts or found.interrupted or found.loose:
            later = index.later.after(group.step + len(group.steps)) if found.loose else -1
            places[group.steps, _Place(group.level, group.stretch, later)] += 1
    for steps, count in times.items():
        found = groups[steps]
        for mine, theirs in ((sums.calls, found.calls), (sums.own, found.own), (sums.inclusive, found.inclusive)):
            for function, number in theirs.items():
                mine[function] += number * count
    for (steps, place), count in places.items():
        _add_debts(sums, groups[steps], place, count)
        _add_loose(sums, groups[steps], index.later.fates(place.later) if place.later >= 0 else NO_FATES, count)
    return sums


def _add_debts(sums: CallSums, found: _GroupSums, place: _Place, times: int) -> None:
    for debt, number in found.debts.items():
        level = debt.level + (0 if debt.stretch else place.level)
        sums.debts[_Debt(place.stretch + debt.stretch, level, debt.functions)] += number * times
    for after, levels in found.interrupted.items():
        known = sums.interrupted.setdefault(place.stretch + after, set())
        known.update(one + (0 if after else place.level) for one in levels)


def _add_loose(sums: CallSums, found: _GroupSums, later: Fates, times: int) -> None:
    for debt, number in found.loose.items():
        for function in {*_callers_of(later[debt.frame])} - debt.functions:
            sums.inclusive[function] += number * times


def _callers_of(known: KnownCallers) -> Iterator[Function]:
    # The functions that called; what a handler interrupted did not call it.
    for below, one in zip(known, known[1:]):
        if below.return_address is None:
            return
        yield one.function or UNKNOWN


def _group_sums(index: CallGroups, group: StepGroup) -> _GroupSums:
    sums = _GroupSums(Counter(), Counter(), Counter(), Counter(), {}, Counter())
    entries = index.read(group)
    # Links between frames that reading made are in all of the entries.
    open_, begun = entries.goes_on, (0, group.ran + 1)
    unseen: Set[Frame] = set()
    before = open_
    for row in entries.rows:
        if row.event is None and row.entered is Entered.EXCEPTION_RETURN and before is not None:
            _mark(sums, unseen, before, row)
        before = row.frame if row.event is None else None
    for row in entries.rows:
        _count(sums, entries, open_, begun, row.first, unseen)
        open_, begun = row.frame if row.event is None else None, (row.stretch, row.first)
        if open_ is not None and row.entered in _BEGINS:
            sums.calls[row.frame.function or UNKNOWN] += 1
    _count(sums, entries, open_, begun, group.until + 1, unseen)
    return sums


def _mark(sums: _GroupSums, unseen: Set[Frame], before: Frame, row: FrameEntry) -> None:
    # A handler whose entry was not seen, when it returns.
    outer = returning(before, row.frame)
    if outer.up is row.frame:
        unseen.add(outer)
    if outer.up is None or outer.up is row.frame:
        sums.interrupted.setdefault(row.stretch, set()).add(row.frame.level)


def _count(
    sums: _GroupSums,
    entries: GroupEntries,
    frame: Optional[Frame],
    begun: Tuple[int, int],
    until: int,
    unseen: Set[Frame],
) -> None:
    # Counts the instructions of a frame since it went on, in some stretch.
    stretch, first = begun
    instructions = until - first
    if frame is None or not instructions:
        return
    sums.own[frame.function or UNKNOWN] += instructions
    functions = {frame.function or UNKNOWN}
    while frame.up is not None and not (frame.up.is_exception or has_interrupted(frame) or frame in unseen):
        frame = frame.up
        functions.add(frame.function or UNKNOWN)
    for function in functions:
        sums.inclusive[function] += instructions
    if frame.up is not None:
        return
    if frame is outermost_of(entries.firsts[stretch]):
        sums.debts[_Debt(stretch, frame.level, frozenset(functions))] += instructions
    elif frame in entries.after:
        sums.loose[_LooseDebt(entries.after.index(frame), frozenset(functions))] += instructions
