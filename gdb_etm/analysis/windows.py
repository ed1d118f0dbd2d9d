"""Costs of functions, window by window of a call history.

A long history has more calls than memory has room for.  Here the entries are read again from an index, any window of
them by itself, and summed up; windows may be read in several processes.  The sums are those of
:class:`~gdb_etm.analysis.profile.CallProfile` for the whole history: where a window begins, the callers are known.
"""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set

from gdb_etm.analysis.activity import returning
from gdb_etm.analysis.profile import UNKNOWN
from gdb_etm.history.call_index import CallIndex
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame, Function

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
    # Instructions whose outer callers are found later in the history, or not at all.

    stretch: int
    # Level of the outermost frame that was known, and the functions up to it.
    level: int
    functions: FrozenSet[Function]


class WindowSums:
    """Sums of one window, or of several."""

    def __init__(self) -> None:
        self.calls: CounterOf[Function] = Counter()
        self.own: CounterOf[Function] = Counter()
        self.inclusive: CounterOf[Function] = Counter()
        self.debts: CounterOf[_Debt] = Counter()
        # By stretch: levels to which handlers returned whose entry was not seen.
        self.interrupted: Dict[int, Set[int]] = {}

    def merge(self, other: WindowSums) -> None:
        """Add another window's."""
        for mine, theirs in (
            (self.calls, other.calls),
            (self.own, other.own),
            (self.inclusive, other.inclusive),
        ):
            mine.update(theirs)
        self.debts.update(other.debts)
        for stretch, levels in other.interrupted.items():
            self.interrupted.setdefault(stretch, set()).update(levels)

    def costs(self, index: CallIndex) -> List[FunctionCost]:
        """Give the costs of all functions, when all windows are in.

        :param index: Of the whole history.
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
        known = known.up
        yield known.function or UNKNOWN


def window_sums(index: CallIndex, first: int, last: int, instructions: int) -> WindowSums:
    """Sum up entries.

    :param first: Number of the first entry, from 1.
    :param last: Number of the last.
    :param instructions: How many the whole history has.
    """
    sums = WindowSums()
    open_: Optional[FrameEntry] = None
    # The frame that executed before; None behind an event.
    before: Optional[Frame] = None
    unseen: Set[Frame] = set()
    for batch in index.batches(max(first - 2, 0)):
        unseen.clear()
        # Links between frames that the batch made are in all of its rows.
        behind = before
        for number, row in batch:
            if row.event is None and row.entered is Entered.EXCEPTION_RETURN and behind is not None:
                _mark(sums, unseen, behind, row)
            behind = row.frame if row.event is None else None
        for number, row in batch:
            if open_ is not None:
                _close(sums, open_, row.first - open_.first, unseen)
                open_ = None
            if number > last:
                return sums
            if row.event is None and number >= first:
                open_ = row
                sums.calls[row.frame.function or UNKNOWN] += row.entered in _BEGINS
            before = row.frame if row.event is None else None
    if open_ is not None:
        _close(sums, open_, instructions + 1 - open_.first, unseen)
    return sums


def _mark(sums: WindowSums, unseen: Set[Frame], before: Frame, row: FrameEntry) -> None:
    # A handler whose entry was not seen, when it returns.
    outer = returning(before, row.frame)
    if outer.up is row.frame:
        unseen.add(outer)
    if outer.up is None or outer.up is row.frame:
        sums.interrupted.setdefault(row.stretch, set()).add(row.frame.level)


def _is_open(frame: Frame) -> bool:
    # What a handler interrupted before anything of it was seen: its function is found later.
    return frame.up is None and frame.function is None and not frame.is_exception


def _close(sums: WindowSums, row: FrameEntry, instructions: int, unseen: Set[Frame]) -> None:
    frame: Frame = row.frame
    sums.own[frame.function or UNKNOWN] += instructions
    functions = {frame.function or UNKNOWN}
    while frame.up is not None and not (frame.up.is_exception or _is_open(frame.up) or frame in unseen):
        frame = frame.up
        functions.add(frame.function or UNKNOWN)
    for function in functions:
        sums.inclusive[function] += instructions
    if frame.up is None or _is_open(frame.up) and frame not in unseen:
        sums.debts[_Debt(row.stretch, frame.level, frozenset(functions))] += instructions
