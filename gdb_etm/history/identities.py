"""Identities of stacks that wait at one address.

One is taken for it, with a doubt; a return to where another one was called shows that it is that one.  What ran
meanwhile is then the other one's, perhaps of several turns, and perhaps the other way round for the one taken before.
"""

from __future__ import annotations

from itertools import chain
from typing import AbstractSet, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

from gdb_etm.history.alike import Alike, AlikeStacks, WaitedStack, as_known
from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame, Moved, find_caller, moved_frame
from gdb_etm.history.stacks import HistorySegment, Return, WaitingStack, ends_thread, outermost_of, way

# Stacks remembered; a task that does not come back is forgotten after so many others.
_WAITING = 64
# Turns of a stack in doubt that are remembered, and entries of the call history that they may lie back.
_TURNS = 8
_FAR = 1 << 14


class Correction(NamedTuple):
    """Another stack goes on than it seemed."""

    # Index of its segment.
    segment: int
    # Where the frame that returned goes to.
    caller: Frame


class _Doubt:
    # A turn of a stack that may be another one's.

    def __init__(self, chosen: WaitingStack, others: Sequence[WaitingStack], row: int, start: int, left: int) -> None:
        # As they waited.
        self.chosen = chosen
        self.others = list(others)
        # The segment of the stack that was in use before.
        self.left = left
        # How many entries there were.
        self.row = row
        # Where it went on.
        self.start = start
        self.known = as_known(chosen, row)
        self.known_others = {other.segment: as_known(other, row) for other in others}
        # Those that were first seen since, where this one went on.
        self.late: List[WaitedStack] = []
        # The frames of the chosen one that have run since, innermost first, and the returns between them.
        self.ran = [chosen.frame]
        self.returns: List[Return] = []

    @property
    def stays(self) -> bool:
        """Whether no other than the stack before is known to fit."""
        return self.chosen.segment == self.left and not self.others

    def take(self, caller: Frame, last: Return) -> None:
        self.ran.append(caller)
        self.returns.append(last)
        self.others = [other for other in self.others if way(other.frame, self.returns) is not None]

    def take_all(self, frames: Sequence[Frame], returns: Sequence[Return]) -> None:
        """Take returns through frames of the same stack."""
        for caller, last in zip(frames[1:], returns):
            if caller.level < self.ran[-1].level:
                self.take(caller, last)


class _Move(NamedTuple):
    # Entries since a turn began are another stack's.
    doubt: _Doubt
    # The frames there for those that have run.
    frames: List[Frame]
    segment: int


class Identities:
    """The stacks that wait, and the doubts about those that went on.

    :param rows: The entries so far of the call history.
    :param add: Adds a stack that begins with a frame, and gives the index of its segment.
    """

    def __init__(self, rows: List[FrameEntry], add: Callable[[Frame], int]) -> None:
        self._rows = rows
        self._add = add
        # Those that were left, the longest ago first.
        self.waiting: List[WaitingStack] = []
        # Turns in doubt by segment, oldest first.
        self._doubts: Dict[int, List[_Doubt]] = {}
        # That of each one's last turn.
        self._last: Dict[int, _Doubt] = {}
        # The segment of the stack in use, if that has been left before.
        self._running = -1
        self._alike = AlikeStacks()

    @property
    def is_empty(self) -> bool:
        """Whether no stack waits and nothing is in doubt."""
        return not (self.waiting or self._doubts)

    def switch(
        self, left: WaitingStack, chosen: Optional[WaitingStack], others: Sequence[WaitingStack], start: int
    ) -> None:
        """Go from a stack to another one.

        :param chosen: None for one that was not seen so far.
        :param others: Those that it may be as well.
        :param start: Where execution goes on.
        """
        self.leave()
        if chosen is not None:
            self.waiting.remove(chosen)
            self._begin(_Doubt(chosen, others, len(self._rows), start, left.segment))
        if left.address is not None:
            self.waiting = [*self.waiting[1 - _WAITING :], left]

    def stay(self, left: WaitingStack, start: int) -> None:
        """Go on with the same stack, the only one seen."""
        self.leave()
        self._begin(_Doubt(left, (), len(self._rows), start, left.segment))

    def note_new(self, stack: WaitingStack, start: int, row: Optional[int] = None) -> None:
        """Note a stack that was not seen before.

        :param start: Where it goes on.
        :param row: How many entries of the call history there were then; None: as many as there are.
        """
        new = self._alike.note_new(stack, start, len(self._rows) if row is None else row)
        for doubt in chain.from_iterable(self._doubts.values()):
            if doubt.known.is_before(new, start):
                doubt.late.append(new)

    def _begin(self, doubt: _Doubt) -> None:
        self._running = doubt.chosen.segment
        doubts = self._doubts.setdefault(self._running, [])
        doubts.append(doubt)
        self._last[self._running] = doubt
        while len(doubts) > _TURNS or doubts[0].row < len(self._rows) - _FAR:
            self._settle(doubts.pop(0))

    def leave(self) -> None:
        """Note that the stack in use is left.

        What has shown no other stack by now does not later, unless a handler that goes to another one seems to have
        stayed on it: one that was not seen may have waited there.
        """
        doubts = self._doubts.get(self._running)
        if doubts is not None:
            self._doubts[self._running] = [doubt for doubt in doubts if doubt.others or doubt.stays]
            for doubt in doubts:
                if not doubt.others and not doubt.stays:
                    self._settle(doubt)
        self._running = -1

    def _settle(self, doubt: _Doubt) -> None:
        others = [doubt.known_others[other.segment] for other in doubt.others]
        self._alike.note_turn(doubt.known, [*others, *doubt.late], doubt.returns)

    def settle(self, segments: List[HistorySegment]) -> AbstractSet[Alike]:
        """Say which stacks are not told apart everywhere.

        :param segments: All; what may be several ones' is cut off them.
        """
        for doubt in chain.from_iterable(self._doubts.values()):
            self._settle(doubt)
        return self._alike.settle(self._rows, segments)

    def arrive(self, frame: Frame, caller: Frame, last: Return) -> Optional[Correction]:
        """Take a return: it may show that another stack goes on.

        :param frame: The frame that returned.
        :param caller: The frame that it returns to, unless another stack goes on.
        """
        ends = ends_thread(frame, last)
        # Nor does it return from there.
        caller.is_first |= ends
        doubts = [one for one in self._doubts.get(self._running, ()) if caller.level < one.ran[-1].level]
        if not doubts:
            return None
        if ends or last[0] in caller.set_jumps or find_caller(frame, *last) is not None:
            for doubt in doubts:
                doubt.take(caller, last)
            return None
        return self._correct(doubts[::-1], last)

    def _correct(self, doubts: List[_Doubt], last: Return) -> Correction:
        for doubt in doubts:
            returns = [*doubt.returns, last]
            replaced, exchanged = self._replaced(doubt, returns, True), self._exchanged(doubt, returns)
            for moves in chain(replaced, exchanged, self._inherited(doubt, returns)):
                return self._apply(moves, returns)
        for doubt in doubts:
            returns = [*doubt.returns, last]
            for moves in self._replaced(doubt, returns, False):
                return self._apply(moves, returns)
        # One that was left before the history, or where it has a gap; rather where a handler seems to have stayed.
        doubt = next((one for one in doubts if one.stays), doubts[0])
        returns = [*doubt.returns, last]
        first = doubt.ran[0]
        frames = invented([Frame(first.level, first.function, None, None)], returns)
        segment = self._add(frames[0])
        self.note_new(WaitingStack(doubt.start, frames[0], segment), doubt.start, doubt.row)
        return self._apply([_Move(doubt, frames, segment)], returns)

    def _replaced(self, doubt: _Doubt, returns: List[Return], whole: bool) -> Iterator[List[_Move]]:
        # By one that waits still.
        for other in doubt.others:
            found = way(other.frame, returns) if other in self.waiting else None
            if found is not None and found[1] >= whole:
                self.waiting.remove(other)
                yield [_Move(doubt, invented(found[0], returns), other.segment)]

    def _exchanged(self, doubt: _Doubt, returns: List[Return]) -> Iterator[List[_Move]]:
        # With one that was taken for this one before, or since.
        for segment, found in self._doubts.items():
            for other in found if segment != self._running else ():
                if other.chosen not in doubt.others and doubt.chosen not in other.others:
                    continue
                mine, its = way(other.chosen.frame, returns), way(doubt.chosen.frame, other.returns)
                if mine is not None and mine[1] and its is not None:
                    frames = invented(its[0], other.returns)
                    yield [_Move(doubt, mine[0], segment), _Move(other, frames, doubt.chosen.segment)]

    def _inherited(self, doubt: _Doubt, returns: List[Return]) -> Iterator[List[_Move]]:
        # By one that waits still, as another one's last turn was its own already.
        for other in doubt.others:
            last = self._last.get(other.segment)
            is_open = last in self._doubts.get(other.segment, ()) and other in self.waiting
            if last is None or not is_open or last.ran[-1] is not other.frame:
                continue
            for one in last.others:
                before = way(one.frame, last.returns) if one in self.waiting else None
                found = way(before[0][-1], returns) if before is not None and before[1] else None
                if before is not None and found is not None and found[1]:
                    self.waiting.remove(one)
                    self.waiting[self.waiting.index(other)] = last.chosen
                    yield [_Move(doubt, found[0], one.segment), _Move(last, before[0], one.segment)]

    def _apply(self, moves: List[_Move], returns: List[Return]) -> Correction:
        doubt, frames, segment = moves[0]
        moved = _move_entries(self._rows, moves)
        is_exchange = moves[-1].segment == doubt.chosen.segment
        if not is_exchange:
            self.waiting.insert(0, doubt.chosen)
        segments = {one.doubt.chosen.segment: one.segment for one in moves}
        if is_exchange:
            for at, one in enumerate(self.waiting):
                if one.segment in segments:
                    frame = moved_frame(one.frame, moved)
                    self.waiting[at] = one._replace(frame=frame, segment=segments[one.segment])
        # Of several moves all that refers to them is of the time before; of one, what came later has moved, too.
        changed = {*segments, segment}
        settled = [one.doubt for one in moves]
        for old in chain.from_iterable([self._doubts.pop(key, []) for key in changed]):
            if len(moves) == 1 and old.row < doubt.row:
                if old.stays and old.chosen.segment == segment:
                    old.take_all(frames, returns)
                self._doubts.setdefault(old.chosen.segment, []).append(old)
            elif old not in settled:
                self._settle(old)
        for other in chain.from_iterable(self._doubts.values()) if len(moves) > 1 else ():
            other.others = [one for one in other.others if one.segment not in changed]
        # Each may still turn out to be another one.
        for move in reversed(moves):
            following = _still_open(move, returns if move.doubt is doubt else move.doubt.returns, changed)
            self._doubts.setdefault(move.segment, []).append(following)
            self._last[move.segment] = following
        self._running = segment
        return Correction(segment, frames[-1])


def _still_open(move: _Move, returns: List[Return], changed: AbstractSet[int]) -> _Doubt:
    # What is left of a doubt: the turn is taken for another stack's, but may be a third one's.
    doubt, frames, segment = move
    others = [one for one in doubt.others if one.segment not in changed and way(one.frame, returns) is not None]
    chosen = doubt.chosen._replace(frame=frames[0], segment=segment)
    following = _Doubt(chosen, others, doubt.row, doubt.start, doubt.left)
    following.ran, following.returns = list(frames), returns
    following.late = doubt.late
    following.known, following.known_others = doubt.known_others.get(segment, following.known), doubt.known_others
    return following


def invented(frames: List[Frame], returns: Sequence[Return]) -> List[Frame]:
    """Add the frames that later returns go to."""
    frames = list(frames)
    for address, function in returns[len(frames) - 1 :]:
        outermost = outermost_of(frames[-1])
        caller = Frame(outermost.level - 1, function, None, None)
        outermost.up, outermost.return_address = caller, address
        frames.append(caller)
    return frames


def _move_entries(rows: List[FrameEntry], moves: Sequence[_Move]) -> Moved:
    # Gives the entries of some turns to other stacks, all at once.
    segments = {one.doubt.chosen.segment: one for one in moves}
    moved: Moved = {
        frame: (to, to.level - frame.level) for one in moves for frame, to in zip(one.doubt.ran, one.frames)
    }
    for at in range(min(one.doubt.row for one in moves), len(rows)):
        row = rows[at]
        move = segments.get(row.stretch)
        if move is not None and at >= move.doubt.row:
            to = moved_frame(row.frame, moved)
            rows[at] = row._replace(stretch=move.segment, level=to.level, frame=to)
    return moved
