"""Stacks that may be taken for each other.

Several stacks wait at one address, or one is first seen there after another one has gone on from there: it was left
before the history begins.  If both were called from the same places, each turn from there may have been the other
one's, and the two are alike.  If it was not known yet by whom they were called, what each had run until then is a stack
of its own: whose it is is not known.
"""

from __future__ import annotations

from copy import copy
from itertools import islice
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame, Function, Moved, moved_frame
from gdb_etm.history.stacks import SKIPPED, HistorySegment, Return, WaitingStack, outermost_of, way

# Callers that are compared.
_DEEPEST = 16

# The functions of a stack with where they return to, innermost first.
_Callers = Tuple[Tuple[Optional[Function], Optional[int]], ...]
# Stacks, as segments: what is shown as the first one's may be the second one's.
Alike = Tuple[int, int]


class WaitedStack(NamedTuple):
    """A stack, as known when one at its address went on."""

    stack: WaitingStack
    callers: _Callers
    outermost: Frame
    # How many entries of the call history there were.
    row: int

    def is_before(self, new: WaitedStack, start: int) -> bool:
        """Tell whether it went on before a new stack did.

        :param start: Where that goes on: this one may have, too.
        """
        is_there = self.stack.frame.function == new.stack.frame.function and self.stack.goes_on_at(start)
        return self.row < new.row and is_there


def as_known(stack: WaitingStack, row: int) -> WaitedStack:
    """Note what is known of a stack.

    :param row: How many entries of the call history there are.
    """
    return WaitedStack(stack, _callers(stack.frame), outermost_of(stack.frame), row)


class _Turn(NamedTuple):
    # A stack went on; as many returns were seen as tell which one it was.
    one: WaitedStack
    returns: Tuple[Return, ...]

    @property
    def key(self) -> Tuple[int, _Callers, Tuple[Return, ...]]:
        return self.one.stack.segment, self.one.callers, self.returns


# Turns by what tells them apart: the last one of each kind.
_Turns = Dict[Tuple[int, _Callers, Tuple[Return, ...]], _Turn]


class AlikeStacks:
    """The stacks of a history that may be taken for each other."""

    def __init__(self) -> None:
        # By where the stacks waited.
        self._turns: Dict[Tuple[Optional[int], Optional[Function]], _Turns] = {}
        # Turns, and other stacks that may have had them.
        self._pairs: Dict[Tuple[object, int, _Callers], Tuple[_Turn, WaitedStack]] = {}

    def note_turn(self, one: WaitedStack, others: Iterable[WaitedStack], returns: Sequence[Return]) -> None:
        """Note that a stack went on that was seen before.

        :param others: Those that it may have been, too.
        :param returns: Its returns since then.
        """
        turn = _Turn(one, tuple(returns))
        self._turns.setdefault((one.stack.address, one.stack.frame.function), {})[turn.key] = turn
        for other in others:
            self._note_pair(turn, other)

    def note_new(self, stack: WaitingStack, start: int, row: int) -> WaitedStack:
        """Note a stack that was not seen before.

        Turns from there may have been its own.

        :param start: Where it goes on.
        :param row: How many entries of the call history there are.
        """
        new = WaitedStack(stack, (), stack.frame, row)
        for address in range(start - SKIPPED, start + 1):
            for turn in self._turns.get((address, stack.frame.function), {}).values():
                if turn.one.is_before(new, start):
                    self._note_pair(turn, new)
        return new

    def _note_pair(self, turn: _Turn, other: WaitedStack) -> None:
        self._pairs[turn.key, other.stack.segment, other.callers] = turn, other

    def settle(self, rows: List[FrameEntry], segments: List[HistorySegment]) -> Set[Alike]:
        """Say which are alike; cut off what may be several ones'.

        :param rows: All entries.
        :param segments: The stacks that they refer to; those that were cut off are added.
        """
        found: Set[Alike] = set()
        cuts: Dict[int, WaitedStack] = {}
        owners: Dict[int, Set[int]] = {}
        for (one, returns), other in self._pairs.values():
            if way(other.stack.frame, returns) is not None:
                found.update(((one.stack.segment, other.stack.segment), (other.stack.segment, one.stack.segment)))
            elif _fits(one, other.callers) and _fits(other, one.callers):
                for cut in one, other:
                    segment = cut.stack.segment
                    cuts[segment] = max(cut, cuts.get(segment, cut), key=lambda waited: waited.row)
                    owners.setdefault(segment, set()).update((one.stack.segment, other.stack.segment))
        for segment, cut in cuts.items():
            if _cut(rows, segments, cut):
                found.update((len(segments) - 1, owner) for owner in owners[segment])
        return found


def _callers(frame: Frame) -> _Callers:
    return tuple([(one.function, one.return_address) for one in islice(frame.chain(), _DEEPEST)])


def _fits(one: WaitedStack, known: _Callers) -> bool:
    # Whether a stack may be another one, by the callers as far as both are known at last.
    for (left, left_address), (right, right_address) in zip(_callers(one.stack.frame), known):
        if left != right or len({left_address, right_address} - {None}) > 1:
            return False
    return True


def _cut(rows: List[FrameEntry], segments: List[HistorySegment], waited: WaitedStack) -> bool:
    # Gives what a stack had run by then to one of its own, which knows no more callers than were known by then.
    segment, frame = waited.stack.segment, waited.stack.frame
    own = [at for at, row in enumerate(rows[: waited.row]) if row.stretch == segment]
    if not own:
        return False
    frames = [frame, *frame.callers()]
    moved: Moved = {}
    up: Optional[Frame] = None
    for known in reversed(frames[: frames.index(waited.outermost) + 1]):
        copied = copy(known)
        copied.up, up = up, copied
        moved[known] = copied, 0
    moved[waited.outermost][0].return_address = None
    for at in own:
        rows[at] = rows[at]._replace(stretch=len(segments), frame=moved_frame(rows[at].frame, moved))
    cut = segments[segment]
    segments.append(HistorySegment(moved_frame(cut.first, moved), cut.before))
    cut.first = frame
    return True
