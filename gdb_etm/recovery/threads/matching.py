"""Matching of threads that go on with threads that were left.

A thread goes on where it was left, and its returns lead to where its calls were.  Another one that runs the same code,
and was left before all that is known, would do so too: a thread that waits has a frame on its stack, so memory at the
halt shows whether there is one.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames, SwitchedOut, Waiting, Word, can_search, goes_on
from gdb_etm.recovery.threads.control_blocks import NOTHING, Decided, Pointers, decide
from gdb_etm.recovery.threads.residences import Continuation, Residence, ThreadTracker, follow_returns
from gdb_etm.recovery.threads.scheduler import Handled

# Threads that wait and are looked at, the newest ones.
_WAITING = 64
# Frames that are no further apart, in bytes, are believed to be of one stack.
NEAR = 128
# Bytes below a frame, where a scheduler's pointer to a thread that waits points: to what it has pushed there.
_SAVED = 128


class ThreadMatcher:
    """Finds for each thread that goes on the one that was left.

    :param tracker: Has followed what ran.
    """

    def __init__(self, tracker: ThreadTracker) -> None:
        self._tracker = tracker
        self._residences = tracker.residences
        # Where threads have asked for an exception.
        self._asked: Set[int] = set()
        # The addresses of frames in memory that fit threads that went on, by the index of the exception that left them.
        self.frames: Dict[int, Tuple[int, ...]] = {}
        # The same of all that were matched by where they went on, with what they did then.
        self._fits: List[Tuple[Residence, Tuple[int, ...]]] = []
        # The blocks of the threads.
        self._decided: Decided = NOTHING
        # The exceptions that left threads whose block alone shows what they did afterwards.
        self.by_block: Set[int] = set()

    def match(
        self, stacks: Sequence[Tuple[int, int]], word: Optional[Word]
    ) -> Tuple[Dict[int, int], List[Tuple[int, Waiting]]]:
        """Match the threads that went on with those that were left.

        :param stacks: Where stacks may be.
        :param word: Reads memory at the halt.
        :returns: By the index of an exception return that of the exception that left the thread; and the threads that
            wait at the end, by the same, with their frames.
        """
        self._tracker.join()
        addresses = [one.left_at for one in self._residences if one.left_at is not None]
        searched = word if stacks and can_search(stacks) else None
        self._asked = {one.left_at for one in self._residences if one.left_at is not None and one.asked}
        frames = ExceptionFrames(stacks, searched, set(addresses), self._asked) if searched is not None else None
        pointers = Pointers(stacks, word) if word is not None else None
        found, waiting = self._repeat(addresses, frames, pointers, ())
        at_end = [] if frames is None else _at_end(waiting, frames)
        if self._tracker.later is not None:
            return self._before_later(found, at_end)
        if frames is not None and word is not None and pointers is not None:
            self._decided = decide(self._tracker.periods(), word, frames.at, pointers)
        if frames is None or word is None or not self._decided.blocks:
            return found, at_end
        plain = {*found.items(), *at_end}
        found, waiting = self._repeat(addresses, frames, pointers, self._decided.blocks)
        at_end = self._known_at_end(waiting, frames, word)
        self.by_block = {left for _, left in found.items() - plain} | {left for left, _ in set(at_end) - plain}
        return found, at_end

    def _before_later(
        self, found: Dict[int, int], at_end: List[Tuple[int, Waiting]]
    ) -> Tuple[Dict[int, int], List[Tuple[int, Waiting]]]:
        # What it says of the segment's own threads: those that go on later wait until then, too.
        own = {resumed: left for resumed, left in found.items() if resumed >= 0}
        frames = {one.resumed: one.frame for one in self._residences}
        waiting = [(left, frame) for left, frame in at_end if left >= 0]
        for resumed, left in found.items():
            frame = frames[resumed]
            if resumed < 0 <= left and frame is not None:
                waiting.append((left, Waiting(frame, (), None)))
        self.frames = {left: found for left, found in self.frames.items() if left in own.values()}
        return own, waiting

    def _known_at_end(
        self, waiting: Sequence[SwitchedOut], frames: ExceptionFrames, word: Word
    ) -> List[Tuple[int, Waiting]]:
        # A known block has the address of the frame.
        switch = next(one.switch for one in self._tracker.periods() if one.switch is not None)
        found: List[Tuple[int, Waiting]] = []
        others: List[SwitchedOut] = []
        for left in waiting:
            saved = None if left.block is None else word((left.block + switch.member) & MASK)
            if saved is None:
                others.append(left)
                continue
            fits = [frame for frame in frames.of(left) if frame.address == (saved + switch.lowered) & MASK]
            found += [(left.event, frame) for frame in fits]
        taken = {frame.address for _, frame in found}
        return found + [(left, frame) for left, frame in _at_end(others, frames) if frame.address not in taken]

    def handled(self) -> Iterator[Tuple[Optional[int], int, int, Handled]]:
        """List the handlers that changed between threads.

        Each with the index of the exception return before which the old thread went on (None for the start), and those
        of the exception that began it and of the return that ended it.
        """
        blocks = self._decided.blocks
        for number, one in enumerate(self._residences[:-1] if blocks else ()):
            after = self._residences[number + 1].resumed
            if one.switch is not None and one.left is not None and after is not None:
                yield one.resumed, one.left, after, Handled(one.switch, blocks[number], blocks[number + 1])

    def running(self) -> Optional[Tuple[Optional[int], int, Optional[int], Optional[int]]]:
        """Describe the thread that ran last, if its block is known.

        The block, the address of the pointer to it, the index of the exception return before which the thread went on
        (None for the start), and that of the exception that left it, if its handler runs at the end.
        """
        switches = [one.switch for one in self._tracker.periods() if one.switch is not None]
        if not self._decided.blocks or not switches:
            return None
        last = self._residences[-1]
        return self._decided.blocks[-1], switches[0].current, last.resumed, last.left if self._tracker.depth else None

    def relied(self) -> Iterator[Tuple[int, int]]:
        """List the words that were read as they are at the end.

        Each with the index of the exception from which on.
        """
        for word, number in self._decided.read.items():
            left = self._residences[number].left
            if left is not None:
                yield word, left

    def _repeat(
        self,
        addresses: Sequence[int],
        frames: Optional[ExceptionFrames],
        pointers: Optional[Pointers],
        blocks: Sequence[Optional[int]],
    ) -> Tuple[Dict[int, int], List[SwitchedOut]]:
        # Match all again until no more continuations are known at which several threads wait.
        ambiguous: Set[Continuation] = set()
        count = -1
        while count != len(ambiguous):
            count = len(ambiguous)
            self.frames.clear()
            self._fits.clear()
            found, waiting = self._go(addresses, frames, ambiguous, blocks)
            if frames is not None and pointers is not None:
                ambiguous |= self._rivals(waiting, frames, pointers)
        return found, waiting

    def _rivals(self, waiting: Sequence[SwitchedOut], frames: ExceptionFrames, pointers: Pointers) -> Set[Continuation]:
        # Where others may have gone on than was taken: the thread that was left there seems to wait still, as its
        # frame is in memory, a pointer to it is, and nobody else is known to wait there.  One that runs at the end may
        # have both from before.
        known = {frame.address for left in waiting for frame in frames.of(left)}
        return {
            one.continuation
            for one, fits in self._fits
            if one is not self._residences[-1]
            and any(at not in known and pointers.to(range(at - _SAVED, at + 1, 4)) for at in fits)
        }

    def _go(
        self,
        addresses: Sequence[int],
        frames: Optional[ExceptionFrames],
        ambiguous: Set[Continuation],
        blocks: Sequence[Optional[int]],
    ) -> Tuple[Dict[int, int], List[SwitchedOut]]:
        # Match all but those that go on where several threads are known to wait at times; more such ones are added.
        found: Dict[int, int] = {}
        waiting: List[SwitchedOut] = []
        fresh: Set[Continuation] = set()
        matched: List[Continuation] = []
        for number, residence in enumerate(self._residences):
            calls: List[int] = []
            block = blocks[number] if blocks else None
            own = [left for left in waiting if left.block == block and block is not None]
            alike = _fitting(waiting, residence)
            fits = own or [left for left in alike if None in (block, left.block)]
            waiting = [left for left in waiting if left not in fits]
            continuation = residence.continuation
            if len(alike) > 1 or not fits and continuation in fresh:
                ambiguous.add(continuation)
            elif residence.resumed is not None and not fits:
                fresh.add(continuation)
                # It waited all the time: what went on there before may have been it.
                ambiguous.update(one for one in matched if self._is_same(one, continuation))
            if len(fits) == 1 and residence.resumed is not None and (own or continuation not in ambiguous):
                rare = addresses.count(fits[0].address) == 1
                if _fitting(own, residence) if own else self._is_sure(fits[0], residence, rare, frames):
                    found[residence.resumed] = fits[0].event
                    matched += [] if own else [continuation]
                    calls = list(fits[0].calls)
                    follow_returns(calls, residence.outs)
            running = residence is self._residences[-1] and not self._tracker.depth
            if residence.left is not None and residence.left_at is not None and not running:
                calls += residence.calls
                left = SwitchedOut(residence.left, residence.left_at, tuple(calls), block, residence.asked)
                waiting = waiting[1 - _WAITING :] + [left]
        return found, waiting

    def _is_same(self, one: Continuation, other: Continuation) -> bool:
        # Whether one thread may have both continuations.
        start, there = one[0], other[0]
        near = start == there or start is not None and there in goes_on(start, start in self._asked)
        return near and (one[1] == other[1] or None in (one[1], other[1]) or start != there)

    def _is_sure(self, left: SwitchedOut, residence: Residence, rare: bool, frames: Optional[ExceptionFrames]) -> bool:
        # Whether no thread that was left before all that is known can be meant.
        found = () if frames is None else tuple([frame.address for frame in frames.of(left)])
        if frames is not None and (not found or max(found) - min(found) <= NEAR):
            self.frames[left.event] = found
        elif not rare or follow_returns(list(left.calls), residence.outs) <= 1:
            return False
        self._fits.append((residence, found))
        return True


def _at_end(waiting: Sequence[SwitchedOut], frames: ExceptionFrames) -> List[Tuple[int, Waiting]]:
    # Threads with a single frame in memory, if that fits no other thread.
    fitting = [(left, frames.of(left)) for left in waiting]
    count: Dict[int, int] = {}
    for _, found in fitting:
        for one in found:
            count[one.address] = count.get(one.address, 0) + 1
    return [(left.event, found[0]) for left, found in fitting if len(found) == 1 and count[found[0].address] == 1]


def _fitting(waiting: Sequence[SwitchedOut], residence: Residence) -> List[SwitchedOut]:
    if residence.resumed is None:
        return []
    at = [one for one in waiting if residence.address in goes_on(one.address, one.asked)]
    return [one for one in at if follow_returns(list(one.calls), residence.outs) >= 0]
