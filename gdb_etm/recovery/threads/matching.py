"""Matching of threads that go on with threads that were left.

A thread goes on where it was left, and its returns lead to where its calls were.  Another one that runs the same code,
and was left before all that is known, would do so too: a thread that waits has a frame on its stack, so memory at the
halt shows whether there is one.  If a pointer leads to any such frame, the scheduler keeps them in memory: then a frame
without one is only what a thread has left there.
"""

from __future__ import annotations

from typing import AbstractSet, Callable, Dict, Final, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames, SwitchedOut, Waiting, Word, can_search, goes_on
from gdb_etm.recovery.threads.chains import SOMEWHERE, ChainSearch, Chooser, Successor
from gdb_etm.recovery.threads.context_switch import Switch
from gdb_etm.recovery.threads.control_blocks import NOTHING, Decided, Pointers, decide
from gdb_etm.recovery.threads.joined import JoinedResidences
from gdb_etm.recovery.threads.residences import Residence, ThreadTracker, follow_returns
from gdb_etm.recovery.threads.scheduler import Handled
from gdb_etm.recovery.threads.switching_instructions import SwitchedBy

# Frames that are no further apart, in bytes, are believed to be of one stack.
NEAR: Final = 128
# Bytes below a frame, where a scheduler's pointer to a thread that waits points: to what it has pushed there.
_SAVED: Final = 128
# Bytes below the pointer of a stack where frames are taken to be of that stack, too.
_DEAD: Final = 232


class Sequel(NamedTuple):
    """What may have come of a thread that was left."""

    # The index of the exception return with which it went on; or the frame with which it waits at the end.
    resumed: Optional[int]
    frame: Optional[Waiting]
    # Its block, if known.
    block: Optional[int]


class Turn(NamedTuple):
    """A thread's turn that ended in the exception that left it.

    All are indices.
    """

    # Of the exception return with which it went on; None at the beginning of what is known.
    resumed: Optional[int]
    # Of the exception.
    left: int
    # Of the return that ended its handler, and what the handler did, if that is known.
    after: Optional[int]
    switch: Optional[Switch]
    # Of the exception that ended the turn before it, and what its handler did.
    before: Optional[int]
    chosen_by: Optional[Switch]


class _Kept(NamedTuple):
    # A block, and where the thread's frame is at the end: without and with floating-point registers.
    block: int
    basic: int
    extended: int


class ThreadMatcher:
    """Finds for each thread that goes on the one that was left.

    :param tracker: Has followed what ran.
    """

    def __init__(self, tracker: ThreadTracker) -> None:
        self._tracker = tracker
        self._residences = tracker.residences
        # The blocks of the threads.
        self._decided: Decided = NOTHING
        # The exceptions that left threads whose block alone shows what they did afterwards.
        self.by_block: Set[int] = set()
        self._joined = JoinedResidences(self._residences, {})
        # With what the threads were matched.
        self._candidates: Optional[_Candidates] = None
        self._pointers: Optional[Pointers] = None
        self._asked: Optional[_Asked] = None

    def match(
        self, stacks: Sequence[Tuple[int, int]], word: Optional[Word], pointer: Optional[int]
    ) -> Tuple[Dict[int, int], List[Tuple[int, Waiting]]]:
        """Match the threads that went on with those that were left.

        :param stacks: Where stacks may be.
        :param word: Reads memory at the halt.
        :param pointer: The stack pointer that handlers set, at the halt, if known.
        :returns: By the index of an exception return that of the exception that left the thread; and the threads that
            wait at the end, by the same, with their frames.
        """
        self._tracker.join()
        left = [one for one in self._residences if one.left_at is not None]
        searched = word if stacks and can_search(stacks) else None
        asked = {one.left_at for one in left if one.left_at is not None and one.asked}
        addresses = {one.left_at for one in left if one.left_at is not None}
        is_process = SwitchedBy.MAIN_STACK not in self._tracker.switched_by
        frames = None if searched is None else ExceptionFrames(stacks, searched, addresses, asked, is_process)
        if frames is not None and pointer is not None and self._tracker.last_goes_on:
            left_at = self._residences[-1].left_at if self._tracker.depth else None
            frames.exclude(pointer - _DEAD, pointer, left_at)
        self._pointers = pointers = Pointers(stacks, word) if word is not None else None
        found, waiting = self._follow(_Candidates(self._residences, frames, pointers, ()))
        if self._tracker.later is not None:
            return self._before_later(found, waiting)
        if frames is None or word is None or pointers is None:
            return found, waiting
        self._decided = decide(self._tracker.periods(), word, frames.at, pointers, self._tracker.keeps)
        if self._decided.blocks:
            plain = {*found.items(), *waiting}
            blocks = self._frames_of_blocks(word)
            found, waiting = self._follow(_Candidates(self._residences, frames, pointers, blocks))
            self.by_block = {left for _, left in found.items() - plain} | {left for left, _ in set(waiting) - plain}
        self._decided = self._decided._replace(blocks=self._blocks(word))
        return found, waiting

    def _blocks(self, word: Word) -> Tuple[Optional[int], ...]:
        # Of each residence the block that is known, or that keeps the frame with which its thread waits.
        found = list(self._decided.blocks or [None] * len(self._residences))
        switches = [one.switch for one in self._tracker.periods() if one.switch is not None]
        for number, (last, frame) in self._joined.ends().items() if len({one[:4] for one in switches}) == 1 else ():
            keepers = self._keepers(frame) if frame != SOMEWHERE else set()
            if frame == SOMEWHERE and last == len(self._residences) - 1 and self._tracker.keeps(switches[0].current):
                keepers = {word(switches[0].current) or 0}
            if found[number] is None and len(keepers) == 1:
                found[number] = keepers.pop()
        return tuple(found) if any(found) else ()

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
        return own, waiting

    def _follow(self, candidates: "_Candidates") -> Tuple[Dict[int, int], List[Tuple[int, Waiting]]]:
        # As :meth:`match`.
        self._candidates = candidates
        self._joined = JoinedResidences(self._residences, self._search(candidates, None))
        candidates.find_returns(self._joined.frames)
        return self._joined.resumed(), self._joined.waiting(candidates.waiting)

    def _search(self, candidates: "_Candidates", choose: Optional[Chooser]) -> Dict[int, Set[Successor]]:
        last = len(self._residences) - 1 if self._tracker.last_goes_on else None
        return ChainSearch(self._residences, candidates.of, candidates.frames, last, choose).successors()

    def choose(self, among: Callable[[Turn, Sequence[Sequel]], Set[int]]) -> None:
        """Ask which of several threads went on, from the end backwards.

        :param among: Gets a turn and what may have come of its thread; gives which of that is possible.
        """
        candidates = self._candidates
        if candidates is None or self._tracker.later is not None:
            return
        if self._asked is None:
            self._asked = _Asked(self._residences, candidates, list(self._decided.blocks), self._keepers)
        self._asked.among = among
        self._search(candidates, self._asked.choose)

    @property
    def is_open(self) -> bool:
        """Whether several threads may have gone on somewhere."""
        return self._joined.is_open and self._tracker.later is None

    def _keepers(self, frame: int) -> Set[int]:
        # The blocks that may keep where a waiting thread's frame is.
        switches = [one.switch for one in self._residences if one.switch is not None]
        if self._pointers is None or len({one[:4] for one in switches}) != 1:
            return set()
        saved = [frame - lowered for lowered in (switches[0].lowered, switches[0].extended)]
        return {at - switches[0].member for at in self._pointers.to(saved)}

    def _frames_of_blocks(self, word: Word) -> List[Optional[_Kept]]:
        # Of each residence what its block keeps, if that is known.
        switch = next(one.switch for one in self._tracker.periods() if one.switch is not None)
        found: List[Optional[_Kept]] = []
        for block in self._decided.blocks:
            saved = None if block is None else word((block + switch.member) & MASK)
            frames = [((saved or 0) + lowered) & MASK for lowered in (switch.lowered, switch.extended)]
            found.append(None if block is None or saved is None else _Kept(block, frames[0], frames[1]))
        return found

    def handled(self) -> Iterator[Tuple[Optional[int], int, int, Handled]]:
        """List the handlers that changed between threads.

        Each with the index of the exception return before which the old thread went on (None for the start), and those
        of the exception that began it and of the return that ended it.
        """
        blocks = self._decided.blocks or [None] * len(self._residences)
        kinds = {one.switch[:2] for one in self._residences if one.switch is not None}
        for number, one in enumerate(self._residences[:-1] if len(kinds) == 1 else ()):
            left, after = one.left, self._residences[number + 1].resumed
            if one.switch is not None and left is not None and after is not None and left >= 0 <= after:
                yield one.resumed, left, after, Handled(one.switch, blocks[number], blocks[number + 1])

    def running(self) -> Optional[Tuple[Optional[int], int, Optional[int], Optional[int]]]:
        """Describe the thread that ran last.

        Its block, if known, the address of the pointer to it, the index of the exception return before which the thread
        went on (None for the start), and that of the exception that left it, if its handler runs at the end.
        """
        switches = [one.switch for one in self._tracker.periods() if one.switch is not None]
        if not switches or self._tracker.later is not None:
            return None
        last, block = self._residences[-1], next(reversed(self._decided.blocks), None)
        left = last.left if self._tracker.depth else None
        return block, switches[0].current, last.resumed, left

    def relied(self) -> Iterator[Tuple[int, int]]:
        """List the words that were read as they are at the end.

        Each with the index of the exception from which on.
        """
        for word, number in self._decided.read.items():
            left = self._residences[number].left
            if left is not None:
                yield word, left


class _Asked:
    # Asks which of several threads went on.

    def __init__(
        self,
        residences: Sequence[Residence],
        candidates: "_Candidates",
        blocks: List[Optional[int]],
        keepers: Callable[[int], Set[int]],
    ) -> None:
        self._residences = residences
        self._candidates = candidates
        # Of each residence, as far as they are known by now.
        self._blocks = blocks or [None] * len(residences)
        self._keepers = keepers
        # Who is asked.
        self.among: Optional[Callable[[Turn, Sequence[Sequel]], Set[int]]] = None
        # What was possible when they were asked last, by residence.
        self._possible: Dict[int, Set[Successor]] = {}

    def choose(self, number: int, successors: Set[Successor]) -> Set[Successor]:
        # Those that are possible.
        before = self._possible.get(number, successors)
        if len(before) > 1 or number not in self._possible:
            self._possible[number] = self._ask(number, successors & before or successors)
        return self._possible[number] & successors or successors

    def _ask(self, number: int, successors: Set[Successor]) -> Set[Successor]:
        one, found = self._residences[number], sorted(successors, key=_in_order)
        sequels = [self._sequel(successor) for successor in found]
        known = [sequel for sequel in sequels if sequel is not None]
        if self.among is None or one.left is None or len(known) < len(found):
            return successors
        after = self._residences[number + 1].resumed if number + 1 < len(self._residences) else None
        before = self._residences[number - 1] if number else None
        chosen_by = (None, None) if before is None else (before.left, before.switch)
        possible = self.among(Turn(one.resumed, one.left, after, one.switch, *chosen_by), known)
        if len(possible) == 1 and self._blocks[number] is None:
            self._blocks[number] = known[min(possible)].block
        return {found[index] for index in possible}

    def _sequel(self, successor: Successor) -> Optional[Sequel]:
        # None where that is not known.
        if successor.residence is not None:
            resumed = self._residences[successor.residence].resumed
            return None if resumed is None else Sequel(resumed, None, self._blocks[successor.residence])
        if successor.frame == SOMEWHERE:
            return None
        keepers = self._keepers(successor.frame)
        block = keepers.pop() if len(keepers) == 1 else None
        return Sequel(None, self._candidates.waiting[successor.frame], block)


def _in_order(successor: Successor) -> Tuple[int, int]:
    return (-1 if successor.residence is None else successor.residence, successor.frame)


def _lead_to(pointers: Pointers, frame: int) -> bool:
    return bool(pointers.to(range(frame - _SAVED, frame + 1, 4)))


class _Candidates:
    # What may come after each residence; reads frames.

    def __init__(
        self,
        residences: Sequence[Residence],
        frames: Optional[ExceptionFrames],
        pointers: Optional[Pointers],
        blocks: Sequence[Optional[_Kept]],
    ) -> None:
        self._residences = residences
        self._pointers = pointers
        self._blocks = blocks or [None] * len(residences)
        self.frames = frames if pointers is not None else None
        # The frames that fit, by residence.
        self._frames: List[List[int]] = []
        # By their addresses.
        self.waiting: Dict[int, Waiting] = {}
        for one in residences:
            fits = (
                [] if frames is None or one.left_at is None else frames.of(SwitchedOut(one.left_at, tuple(one.calls)))
            )
            self._frames.append([frame.address for frame in fits])
            self.waiting.update([(frame.address, frame) for frame in fits])
        # Those that pointers lead to, and whether any do, also to what the running thread has left.
        self._kept = {at for at in self.waiting if pointers and _lead_to(pointers, at)}
        others = frames.own({one.left_at for one in residences}) if frames is not None else []
        self._keeps = bool(self._kept) or any(pointers is not None and _lead_to(pointers, at) for at in others)

    def of(self, number: int, later: Sequence[int]) -> List[Successor]:
        """List what may come after a residence.

        :param later: The residences that are free.
        """
        one = self._residences[number]
        if one.left_at is None:
            return []
        places = goes_on(one.left_at, one.asked)
        block = self._blocks[number]
        after = [other for other in later if self._residences[other].address in places]
        after = [other for other in after if None in (block, self._blocks[other]) or self._blocks[other] == block]
        found = [Successor(other, SOMEWHERE) for other in after]
        if self.frames is None:
            return found if self._is_rare(one, after) else [*found, Successor(None, SOMEWHERE)]
        frames = [at for at in self._frames[number] if block is None or at in block[1:]]
        if self._keeps:
            frames = [at for at in frames if at in self._kept]
        elif found:
            every = [*frames, *self.frames.own([one.left_at])]
            if max(every, default=0) - min(every, default=0) <= NEAR:
                # What it has left there itself.
                frames = []
        return found + [Successor(None, at) for at in frames]

    def find_returns(self, frames: AbstractSet[int]) -> None:
        """Read EXC_RETURN of several threads from their saved contexts.

        It is the same distance above what a pointer to each of them leads to.

        :param frames: Addresses of frames.
        """
        found: Dict[int, Dict[int, Set[int]]] = {}
        reader, pointers = self.frames, self._pointers
        for frame in frames:
            for saved in range(frame - _SAVED, frame, 4) if reader and pointers and len(frames) > 1 else ():
                for at in range(saved, frame, 4) if pointers and pointers.to([saved]) else ():
                    value = None if reader is None else reader.returns(at)
                    if value is not None:
                        found.setdefault(at - saved, {}).setdefault(frame, set()).add(value)
        same = [values for values in found.values() if len(values) == len(frames)]
        for frame in frames if same else ():
            agreed = set().union(*[values[frame] for values in same])
            if len(agreed) == 1:
                self.waiting[frame] = self.waiting[frame]._replace(returns=agreed.pop())

    def _is_rare(self, one: Residence, after: Sequence[int]) -> bool:
        # Whether nobody else is left there, and it returns to more than one call.
        alike = [other for other in self._residences if other.left_at == one.left_at]
        returns = [follow_returns(list(one.calls), self._residences[other].outs) for other in after]
        return len(alike) == 1 and max(returns, default=0) > 1
