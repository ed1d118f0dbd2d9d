"""Stacks of threads between gaps, and which of them are one thread's."""

from __future__ import annotations

from itertools import chain, islice
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.history.frames import Frame, Function, find_caller

# Callers compared across a gap; more would make deep recursion slow and no surer.
_DEEPEST = 16
# Bytes of instructions that the handler of a request may skip.
SKIPPED = 8


# Where a return led, and the function there.
Return = Tuple[int, Optional[Function]]


class WaitingStack(NamedTuple):
    """A stack that is not in use, and its innermost frame."""

    # Where it will go on; None when that is not known.
    address: Optional[int]
    frame: Frame
    # Index of its segment.
    segment: int
    # Whether it has asked for the exception, whose handler may then skip some of its instructions.
    asked: bool = False

    def goes_on_at(self, address: int) -> bool:
        """Tell whether it may go on at an address."""
        if self.address is None:
            return False
        return self.address == address or self.asked and self.address < address <= self.address + SKIPPED


class Before(NamedTuple):
    """The stacks before a gap: each goes on once at most."""

    # That in use.
    running: WaitingStack
    # Those that waited.
    others: Sequence[WaitingStack]


class HistorySegment:
    """History of one stack between two gaps.

    It has its own call levels until stitching.

    :param first: The frame it begins in.
    :param before: The stacks before the last gap, whose history it may go on with.
    """

    __slots__ = ("first", "before", "shift", "group")

    def __init__(self, first: Frame, before: Optional[Before]) -> None:
        self.first = first
        self.before = before
        # What to add to its levels to have those of its group.
        self.shift = 0
        # Shared by segments that were stitched together, one thread's; levels of different groups have nothing in
        # common.
        self.group = 0


def stitch(segments: List[HistorySegment]) -> None:
    """Join call levels across gaps where the callers match.

    As GDB's ftrace_bridge_gap: of all pairs of a frame live before the gap and one live after it, the pair with the
    longest common chain of callers is taken to be the same frame.  The stack in use before the gap comes first; of
    those that waited the only one whose outermost function is the same.
    """
    gaps: Dict[int, _Gap] = {}
    groups = 0
    for segment in segments:
        found = None
        if segment.before is not None:
            gap = gaps.setdefault(id(segment.before), _Gap(segment.before))
            found = gap.find(segments, segment)
        if found is None:
            segment.group, groups = groups, groups + 1
            continue
        left, (one, other) = found
        segment.group = segments[left].group
        segment.shift = one.level + segments[left].shift - other.level
        _adopt_callers(one, other)


class _Gap:
    # The stacks before a gap that none after it is known to be.

    def __init__(self, before: Before) -> None:
        self._before = before
        self._taken: Set[int] = set()
        self._by_function: Optional[Dict[Function, List[WaitingStack]]] = None

    def find(
        self, segments: Sequence[HistorySegment], segment: HistorySegment
    ) -> Optional[Tuple[int, Tuple[Frame, Frame]]]:
        running = self._before.running
        same = None
        if segments[running.segment].group not in self._taken:
            same = _same(running.frame, segment.first)
        if same is None:
            alike = [one for one in self._alike(segment) if segments[one.segment].group not in self._taken]
            if len(alike) != 1:
                return None
            running = alike[0]
            same = _same(running.frame, segment.first)
        if same is None:
            return None
        self._taken.add(segments[running.segment].group)
        return running.segment, same

    def _alike(self, segment: HistorySegment) -> List[WaitingStack]:
        if self._by_function is None:
            self._by_function = {}
            for one in self._before.others:
                function = _outermost(one.frame)
                if function is not None:
                    self._by_function.setdefault(function, []).append(one)
        function = _outermost(segment.first)
        return [] if function is None else self._by_function.get(function, [])


def _outermost(frame: Frame) -> Optional[Function]:
    outermost = frame
    for outermost in frame.callers():
        pass
    return outermost.function


def _same(left: Frame, right: Frame) -> Optional[Tuple[Frame, Frame]]:
    # The frame that is live in two stacks, if they are one.
    best = 0
    same = None
    for before in islice(left.chain(), _DEEPEST):
        for after in islice(right.chain(), _DEEPEST):
            matches = _matching(before, after)
            if matches > best:
                best = matches
                same = before, after
    return same


def _matching(left: Frame, right: Frame) -> int:
    count = 0
    for one, other in islice(zip(left.chain(), right.chain()), _DEEPEST):
        if one.function is None or one.function != other.function:
            return 0
        count += 1
    return count


def _adopt_callers(left: Frame, right: Frame) -> None:
    # Callers that only the history before the gap has seen are the later frames' callers too.
    shift = right.level - left.level
    for one, other in zip(left.chain(), right.chain()):
        left, right = one, other
    if right.up is None and left.up is not None:
        right.return_address = left.return_address
    for caller in islice(left.callers(), _DEEPEST):
        if right.up is not None:
            return
        right.up = Frame(caller.level + shift, caller.function, None, caller.return_address)
        right.up.is_tail_call = caller.is_tail_call
        right = right.up


def outermost_of(frame: Frame) -> Frame:
    """Give the outermost frame of a chain."""
    for frame in chain((frame,), frame.callers()):
        pass
    return frame


def add_callers(first: Frame, known: Frame) -> None:
    """Give a frame the callers that were found later."""
    while first.up is not None and known.up is not None:
        first, known = first.up, known.up
    if first.up is None and known.up is not None:
        first.return_address = known.return_address
    while first.up is None and known.up is not None:
        up = known.up
        first.up = Frame(first.level + up.level - known.level, up.function, None, up.return_address)
        first.up.is_tail_call = up.is_tail_call
        known = up
        first = first.up


def segments_of(ended: Sequence[Tuple[Frame, Frame]], last: Sequence[Frame]) -> List[HistorySegment]:
    """List stretches to be stitched: each goes on with the one before.

    :param ended: The frames in which those before the last gap began and ended.
    :param last: Those in which the others began.
    """
    before: Optional[Before] = None
    found: List[HistorySegment] = []
    for at, (first, innermost) in enumerate(ended):
        found.append(HistorySegment(first, before))
        before = Before(WaitingStack(None, innermost, at), ())
    return found + [HistorySegment(first, before) for first in last]


def way(frame: Frame, returns: Sequence[Return]) -> Optional[Tuple[List[Frame], bool]]:
    """Find the frames that returns go through; tell whether all are known.

    :returns: None when one of them leads elsewhere.
    """
    frames = [frame]
    for address, function in returns:
        caller = find_caller(frames[-1], address, function)
        if caller is None:
            outermost = outermost_of(frames[-1])
            is_open = outermost.return_address is None and not outermost.is_first and frames[-1].caller() is None
            return (frames, False) if is_open or ends_thread(frames[-1], (address, function)) else None
        frames.append(caller)
    return frames, True


def ends_thread(frame: Frame, last: Return) -> bool:
    """Tell whether a thread's first function has returned.

    A kernel has it go on at the beginning of another one.
    """
    address, function = last
    is_first = frame.caller() is None and outermost_of(frame).is_first
    return is_first and function is not None and function.start == address
