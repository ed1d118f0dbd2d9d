"""Dead stack: memory below SP, which stores through pointers miss.

A function that has returned leaves its frame below SP.  What is there stays as it was until the stack grows over it,
and only by addresses made from SP.  Where stacks are is known from the values that SP has had: each covers what it
went over, and stacks of different threads do not overlap.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, List, Sequence, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.misses import Ground
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

_UNKNOWN: Final = -1


class DeadStack(Ground):
    """Finds the bytes below SP when an instruction runs.

    :param ssa: With its variables of SP.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        super().__init__(ConstraintKind.BELOW)
        self._ssa = ssa
        # By access: the index of SP's variable then; -1 without one, and where the address is made from SP.
        self._at: List[int] = self._places()
        # By SP's variable: the lowest address of its stack, where its value is known.
        self._lowest: List[int] = [MASK] * len(ssa.held[SP])
        # The values of SP that it follows from, by variable; -1 where unknown; and how often there were others.
        self._values: List[int] = []
        self._look = 0
        # Whether stores may be taken to miss it: no more after a contradiction, as each costs a round.
        self.holds = True

    def _places(self) -> List[int]:
        ssa = self._ssa
        bases = {ssa.base(variable) for variable in ssa.held[SP]}
        times = ssa.times[SP]
        return [
            _UNKNOWN if ssa.base(access.address) in bases else bisect_right(times, access.number) - 1
            for access in ssa.accesses
        ]

    def is_above(self, number: int) -> bool:
        """Check whether a store is through a pointer, with SP known.

        :param number: Of the access.
        """
        at = self._at[number]
        return at >= 0 and self._ssa.domain.mask[self._ssa.held[SP][at]] == MASK

    def look(self) -> int:
        """Find the stacks by what is known of SP.

        :returns: A number that is another one when there is anything new.
        """
        mask, bits = self._ssa.domain.mask, self._ssa.domain.bits
        values = [bits[variable] if mask[variable] == MASK else _UNKNOWN for variable in self._ssa.held[SP]]
        if values != self._values:
            self._values = values
            self._look += 1
            self._find(values)
        return self._look

    def _find(self, values: Sequence[int]) -> None:
        ssa = self._ssa
        spans: List[Tuple[int, int]] = []
        base = None
        for variable, value in zip(ssa.held[SP], values):
            if value == _UNKNOWN:
                base = None
            elif base is not None and ssa.base(variable) == base:
                low, high = spans[-1]
                spans[-1] = min(low, value), max(high, value)
            else:
                spans.append((value, value))
                base = ssa.base(variable)
        spans.sort()
        lows: List[int] = []
        highs: List[int] = []
        for low, high in spans:
            if lows and low < highs[-1]:
                highs[-1] = max(highs[-1], high)
            else:
                lows.append(low)
                highs.append(high)
        self._lowest = []
        for value in values:
            at = bisect_right(lows, value) - 1
            # SP at the top of a stack is that of what is below it.
            if at > 0 and highs[at - 1] == value:
                at -= 1
            self._lowest.append(MASK if value == _UNKNOWN else lows[at])

    def misses(self, number: int, byte: int) -> bool:
        """Check whether a store through a pointer misses a byte below SP.

        :param number: Of the access.
        """
        at = self._at[number]
        if at < 0 or byte < self._lowest[at]:
            return False
        domain, variable = self._ssa.domain, self._ssa.held[SP][at]
        return domain.mask[variable] == MASK and byte < domain.bits[variable]
