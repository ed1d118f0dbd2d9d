"""Saved contexts: registers stored below a waiting frame, or in it.

They are in memory still at the end.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, List, NamedTuple, Optional, Set

from gdb_etm.recovery.functions.calls import WAITING, Assumption
from gdb_etm.recovery.lift.operations import MASK, PSP, SP
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Bytes below a frame: r4 to r11, s16 to s31 and a few words more.
_BELOW: Final = 160
# Instructions that are looked at, after the exception, or before the plain function's switch.
_SOON: Final = 400
BEFORE: Final = 24


class Wait(NamedTuple):
    """A thread that waits."""

    # Of the instruction before it was left.
    number: int
    # Variable of its frame's address.
    frame: int
    # Of the frame.
    address: int
    # What a plain function has pushed is there, so many bytes; else a handler pushes it below.
    pushed: int = 0
    # Of the instruction with which its handler, which uses the same stack, leaves that; None where there are two.
    changed: Optional[int] = None


class SavedContexts:
    """Finds saved contexts.

    A waiting thread's registers are on its stack.

    :param ssa: With its accesses.
    :param waits: The threads that wait.
    :param word: Reads memory at the end.
    :param assumptions: Are added to.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        waits: List[Wait],
        word: Callable[[int], Optional[int]],
        assumptions: List[Assumption],
    ) -> None:
        self._ssa = ssa
        self._waits = waits
        self._word = word
        self._assumptions = assumptions
        self._assumed: Set[int] = set()
        self._zero = ssa.constant(0)
        self._end = ssa.number
        # Bases of stack pointers.
        self._pointers = {ssa.base(one) for one in ssa.held[SP] if one >= 0}

    def look(self) -> None:
        """Assume that the last words stored there are still there."""
        for wait in self._waits:
            for number, assumption in self.of(wait).items():
                if number not in self._assumed:
                    self._assumed.add(number)
                    self._assumptions.append(assumption)

    def add(self, wait: Wait) -> None:
        """Look at another thread, too."""
        self._waits.append(wait)

    def remove(self, wait: Wait) -> None:
        """Look at a thread no more."""
        self._waits.remove(wait)

    def of(self, wait: Wait) -> Dict[int, Assumption]:
        """Give what is assumed of a thread's saved registers, by their stores."""
        domain, ssa = self._ssa.domain, self._ssa
        found: Dict[int, Assumption] = {}
        if domain.mask[wait.frame] == MASK and domain.bits[wait.frame] == wait.address:
            for address, number in self._last(wait).items():
                value, data = self._word(address), ssa.accesses[number].data
                if value is not None:
                    found[number] = Assumption(WAITING, PSP, self._zero, data, wait.number, self._end, value)
        return found

    def _last(self, wait: Wait) -> Dict[int, int]:
        # The last store to each word below the frame, or in it.
        ssa = self._ssa
        domain = ssa.domain
        found: Dict[int, int] = {}
        first, last = (wait.number - BEFORE, wait.number) if wait.pushed else (wait.number + 1, wait.number + _SOON)
        if wait.changed is not None:
            last = wait.changed
        low = wait.address - (0 if wait.pushed else _BELOW)
        for number in range(ssa.first_access(first), ssa.first_access(last + 1)):
            access = ssa.accesses[number]
            has_run = domain.mask[access.condition] == MASK
            if not access.store or has_run and not domain.bits[access.condition]:
                continue
            address = domain.bits[access.address]
            if domain.mask[access.address] != MASK:
                if wait.changed is not None and ssa.base(access.address) in self._pointers:
                    # It may be in a frame of the handler.
                    found.clear()
            elif low <= address < wait.address + wait.pushed:
                found.pop(address & ~3, None)
                if has_run and access.size == 4 and not address & 3:
                    found[address] = number
        return found
