"""Edges between instructions, and the ranges between them, counted.

An edge is a transfer of control within the program: a branch that was taken, or a conditional one that was not.  An
exception, a return from one, and a gap are none: what ran after them was not chosen by the instruction before.
"""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.analysis.counts import executed_ranges, is_conditional_branch
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import Event, Exception_, ExceptionReturn, Gap, Range
from gdb_etm.protocols.recorder import Run


class Edge(NamedTuple):
    """A transfer of control."""

    # Address of the branch.
    source: int
    # Address of the instruction that ran next.
    target: int


class Stretch(NamedTuple):
    """Instructions that ran one after the other."""

    # Addresses of the first and of the last instruction.
    first: int
    last: int


class _Summary(NamedTuple):
    # What a run is to its neighbours: its outermost ranges, and whether something breaks the way to them.
    first: Optional[Range]
    last: Optional[Range]
    is_broken: bool
    # Neighbours within.
    pairs: Tuple[Tuple[Range, Range], ...]


class EdgeCounts:
    """Numbers of edges and stretches."""

    def __init__(self) -> None:
        self.edges: CounterOf[Edge] = Counter()
        self.stretches: CounterOf[Stretch] = Counter()

    def add(self, history: ExecutionHistory) -> None:
        """Count what a history holds, too."""
        last_of: Dict[Range, int] = {}
        for executed, times in executed_ranges(history).items():
            last_of[executed] = history.addresses(executed)[-1]
            self.stretches[Stretch(executed.start, last_of[executed])] += times
        blocks = history.blocks
        for (before, after), times in _neighbours(history).items():
            source = last_of[before]
            if after.start != before.end or is_conditional_branch(blocks, before.start, source, before.isa):
                self.edges[Edge(source, after.start)] += times


def _neighbours(history: ExecutionHistory) -> CounterOf[Tuple[Range, Range]]:
    # The ranges that ran one after the other, with nothing in between.
    breaks = {entry for entry, event in history.entry_events() if _breaks(event)}
    summaries: Dict[int, _Summary] = {}
    joints: CounterOf[Tuple[int, int]] = Counter()
    before = -1
    for entry, number in enumerate(history.order):
        one = summaries.get(number)
        if one is None:
            one = summaries[number] = _summary(history.run(number))
        if entry in breaks:
            before = -1
        if one.first is not None:
            if before >= 0:
                joints[before, number] += 1
            before = number if one.last is not None else -1
        elif one.is_broken:
            before = number if one.last is not None else -1
    found: CounterOf[Tuple[Range, Range]] = Counter()
    for number, times in Counter(history.order).items():
        for pair in summaries[number].pairs:
            found[pair] += times
    for (left, right), times in joints.items():
        last, first = summaries[left].last, summaries[right].first
        if last is not None and first is not None:
            found[last, first] += times
    return found


def _summary(run: Run) -> _Summary:
    first: Optional[Range] = None
    last: Optional[Range] = None
    is_broken = False
    pairs: List[Tuple[Range, Range]] = []
    for _, item in run.items():
        if not isinstance(item, Range):
            if _breaks(item):
                is_broken, last = True, None
            continue
        if last is not None:
            pairs.append((last, item))
        elif not is_broken:
            first = item
        last = item
    return _Summary(first, last, is_broken, tuple(pairs))


def _breaks(event: Event) -> bool:
    return isinstance(event, (Gap, Exception_, ExceptionReturn))
