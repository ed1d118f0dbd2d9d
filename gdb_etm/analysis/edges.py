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
from gdb_etm.protocols.recorder import Chain, Run


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
        for (before, after), times in _Neighbours(history).counts().items():
            source = last_of[before]
            if after.start != before.end or is_conditional_branch(blocks, before.start, source, before.isa):
                self.edges[Edge(source, after.start)] += times


class _Neighbours:
    # The ranges that ran one after the other, with nothing in between, in a history.

    def __init__(self, history: ExecutionHistory) -> None:
        self._history = history
        # Of runs that are no chains.
        self._summaries: Dict[int, _Summary] = {}
        self._parts: CounterOf[int] = Counter()
        # Pairs of runs, one after the other.
        self._joints: CounterOf[Tuple[int, int]] = Counter()
        self._join({number: self._outermost(number, times) for number, times in Counter(history.order).items()})

    def counts(self) -> CounterOf[Tuple[Range, Range]]:
        found: CounterOf[Tuple[Range, Range]] = Counter()
        for number, times in self._parts.items():
            for pair in self._summaries[number].pairs:
                found[pair] += times
        for (left, right), times in self._joints.items():
            last, first = self._summaries[left].last, self._summaries[right].first
            if last is not None and first is not None:
                found[last, first] += times
        return found

    def _outermost(self, number: int, times: int) -> Optional[Tuple[int, int]]:
        # Counts the parts of a run; gives the outermost of those that matter.
        run = self._history.run(number)
        inside = [part for part in (run.numbers if isinstance(run, Chain) else (number,)) if self._matters(part)]
        for part, count in Counter(inside).items():
            self._parts[part] += count * times
        for joint, count in Counter(zip(inside, inside[1:])).items():
            self._joints[joint] += count * times
        return (inside[0], inside[-1]) if inside else None

    def _matters(self, number: int) -> bool:
        # Whether there is anything in a run that its neighbours see.
        if number not in self._summaries:
            self._summaries[number] = _summary(self._history.run(number))
        return self._summaries[number].first is not None or self._summaries[number].is_broken

    def _join(self, outermost: Dict[int, Optional[Tuple[int, int]]]) -> None:
        breaks = {entry for entry, event in self._history.entry_events() if _breaks(event)}
        before = -1
        for entry, number in enumerate(self._history.order):
            if entry in breaks:
                before = -1
            ends = outermost[number]
            if ends is not None:
                if before >= 0:
                    self._joints[before, ends[0]] += 1
                before = ends[1]


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
