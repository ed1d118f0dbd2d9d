"""Control blocks: the one that a scheduler keeps each thread in.

They tell apart threads that are left, and go on, at the same address.

The thread that was left last waits at the end, or goes on later in what ran.  Where it waits, memory at the end has its
frame, and a block with a pointer to that; where it goes on later its block is known already, as threads are looked at
from the end backwards.  Of these blocks the handler has come from one to the block of the thread that it chose; if
it is one alone, that is the block of the thread that was left.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.exception_frames import Word, held
from gdb_etm.recovery.threads.context_switch import Switch

# Those that a thread's may be; None for any.
Blocks = Optional[Set[int]]


class Period(NamedTuple):
    """A thread between going on and being left."""

    # Where it goes on.
    address: Optional[int]
    # Where it is left.
    left_at: Optional[int]
    # What the handler does that it is left to.
    switch: Optional[Switch]


class Decided(NamedTuple):
    """What was found."""

    # Of each period the thread's block, if it is known.
    blocks: Tuple[Optional[int], ...]
    # The words that handlers are taken to have read as they are at the end, and the first period that is left to such
    # a handler.
    read: Dict[int, int]


NOTHING = Decided((), {})


def decide(
    periods: Sequence[Period],
    word: Word,
    frames: Callable[[int], List[int]],
    pointers: "Pointers",
    keeps: Callable[[int], bool],
) -> Decided:
    """Find the blocks of threads.

    :param periods: In the order in which they ran; the last one is not over, or its handler is not.
    :param word: Reads memory at the end.
    :param frames: Gives for a return address where memory has frames with it.
    :param pointers: Finds pointers to them.
    :param keeps: Checks that no handler at the end has written the pointer at an address.
    """
    kinds = {one.switch[:4] for one in periods if one.switch is not None}
    if len(kinds) != 1:
        return NOTHING
    kind = next(iter(kinds))
    known = periods[-1].switch is not None or keeps(kind[0])
    return _Search(periods, word, frames, pointers, kind).decide(word(kind[0]) if known else None)


class Pointers:
    """Finds words of memory at the end by what they hold.

    :param pieces: Where they may be.
    :param word: Reads it.
    """

    def __init__(self, pieces: Iterable[Tuple[int, int]], word: Word) -> None:
        self._pieces = pieces
        self._word = word
        self._found: Optional[Dict[int, List[int]]] = None

    def to(self, values: Iterable[int]) -> List[int]:
        """List the addresses of words that hold any of some values."""
        if self._found is None:
            self._found = {}
            for address, value in held(self._pieces, self._word, 4):
                self._found.setdefault(value, []).append(address)
        return [address for value in values for address in self._found.get(value, ())]


class _Search:
    def __init__(
        self,
        periods: Sequence[Period],
        word: Word,
        frames: Callable[[int], List[int]],
        pointers: Pointers,
        kind: Tuple[int, int, int, int],
    ) -> None:
        self._periods = periods
        self._word = word
        self._frames = frames
        self._pointers = pointers
        _, self._member, *self._lowered = kind
        # By return address, blocks of threads that may wait at the end.
        self._waiting: Dict[int, Set[int]] = {}
        # By address, blocks of the threads that go on there.
        self._later: Dict[Optional[int], Blocks] = {}
        self.read: Dict[int, int] = {}

    def decide(self, last: Optional[int]) -> Decided:
        now: Blocks = None if last is None else {last}
        found: List[Blocks] = []
        for number in range(len(self._periods) - 1, -1, -1):
            now = self._before(number, now)
            if now is not None and not now:
                return NOTHING
            found.append(now)
            self._go_on(self._periods[number].address, now)
        found.reverse()
        blocks = tuple([next(iter(one)) if one is not None and len(one) == 1 else None for one in found])
        return Decided(blocks, self.read)

    def _before(self, number: int, after: Blocks) -> Blocks:
        # The blocks that a period's thread may have, by those of the next one.
        period = self._periods[number]
        switch = period.switch
        if period.left_at is None:
            return after
        if switch is None:
            return None
        left = self._left(period.left_at)
        if left is None:
            return None
        return {block for block in left if self._leads(number, switch, block, after)}

    def _leads(self, number: int, switch: Switch, block: int, after: Blocks) -> bool:
        read: List[int] = []
        chosen = switch.follow(block, self._word, read)
        self.read.update(dict.fromkeys(read, number))
        return chosen is None or after is None or chosen in after

    def _left(self, address: int) -> Blocks:
        # The blocks of all threads that may have been left at an address.
        later = self._later.get(address, set())
        if later is None:
            return None
        found = self._waiting.get(address)
        if found is None:
            values = {(frame - lowered) & MASK for frame in self._frames(address) for lowered in self._lowered}
            found = {(at - self._member) & MASK for at in self._pointers.to(values)}
            self._waiting[address] = found
        return later | found

    def _go_on(self, address: Optional[int], blocks: Blocks) -> None:
        had = self._later.get(address, set())
        self._later[address] = None if had is None or blocks is None else had | blocks
