"""Property test: chains of residences, told from what random threads do."""

from __future__ import annotations

import random
from typing import Dict, List, Optional, Sequence, Tuple

from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames
from gdb_etm.recovery.threads.chains import SOMEWHERE, ChainSearch, Successor
from gdb_etm.recovery.threads.residences import Residence

# Where code may be left, and where it may call from.
PLACES, CALLS = range(0x100, 0x700, 0x100), range(0x1000, 0x1600, 0x100)
_SIZE = 0x400


class Threads:
    """Random threads, each with a stack of calls, and what they did.

    :param chance: Decides.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.residences: List[Residence] = []
        # What comes after each residence.
        self.truth: Dict[int, Successor] = {}
        self.memory: Dict[int, int] = {}
        count = chance.randrange(2, 6)
        stacks = [[chance.choice(CALLS) for _ in range(chance.randrange(1, 4))] for _ in range(count)]
        at = [chance.choice(PLACES) for _ in range(count)]
        before: List[Optional[int]] = [None] * count
        for number in range(chance.randrange(2, 30)):
            thread = chance.randrange(count)
            if before[thread] is not None:
                self.truth[before[thread] or 0] = Successor(number, SOMEWHERE)
            before[thread] = number
            at[thread] = self._run(number, at[thread], stacks[thread])
        for thread, last in enumerate(before):
            if last is not None and last < len(self.residences) - 1:
                self.truth[last] = Successor(None, self._wait(thread, at[thread], stacks[thread]))

    def _run(self, number: int, begins: int, stack: List[int]) -> int:
        # One residence; gives where it is left.
        chance = self._chance
        one = Residence(number)
        one.address = begins
        for _ in range(chance.randrange(5)):
            if chance.random() < 0.5 and len(stack) < 6:
                call = chance.choice(CALLS)
                stack.append(call)
                one.calls.append(call)
            elif len(stack) > 1:
                returned = stack.pop()
                if one.calls:
                    one.calls.pop()
                else:
                    one.outs.append((returned, True))
        one.left, one.left_at = number, chance.choice(PLACES)
        self.residences.append(one)
        return one.left_at

    def _wait(self, thread: int, at: int, stack: Sequence[int]) -> int:
        frame = 0x20000000 + thread * _SIZE
        self.memory.update({frame + 24: at, frame + 28: 0x01000000})
        self.memory.update({frame + 32 + 8 * depth: call | 1 for depth, call in enumerate(reversed(stack))})
        return frame

    def told(self) -> Dict[int, Successor]:
        """Search; gives what comes after each residence, where that is known."""
        region = (0x20000000, 0x20000000 + 8 * _SIZE)
        frames = ExceptionFrames([region], lambda address: self.memory.get(address, 0), set(PLACES))

        def followers(number: int, later: Sequence[int]) -> List[Successor]:
            at = self.residences[number].left_at or 0
            found = [Successor(one, SOMEWHERE) for one in later if self.residences[one].address == at]
            return found + [Successor(None, frame) for frame in frames.at(at)]

        search = ChainSearch(self.residences, followers, frames, len(self.residences) - 1)
        known = search.successors()
        assert all(self.truth[number] in after for number, after in known.items() if number in self.truth)
        return {number: after.pop() for number, after in known.items() if len(after) == 1}


def _compared(seed: int) -> Tuple[int, int]:
    # How many successors were told, and how many there are.
    threads = Threads(random.Random(seed))
    told = threads.told()
    told.pop(len(threads.residences) - 1, None)
    assert not {number: after for number, after in told.items() if threads.truth[number] != after}
    return len(told), len(threads.truth)


def test_what_is_told_of_random_threads_is_true() -> None:
    found = [_compared(seed) for seed in range(300)]
    assert sum([told for told, _ in found]) > 0.6 * sum([count for _, count in found])
