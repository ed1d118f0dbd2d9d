"""Links of accesses in a trial: nothing of them stays.

The index of accesses is left as it is.  A store whose address the trial alone tells is one of unknown address there,
so that it is in the way of what it hits.
"""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.cells import FIRST, LAST
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa


class TrialLinks:
    """Finds links with what a trial takes to be known.

    :param ssa: With its accesses; constraints are added to it.
    :param memory: The links of the same segment.
    """

    def __init__(self, ssa: TraceSsa, memory: StoreForwarding) -> None:
        self._ssa = ssa
        self._memory = memory
        self._cells = memory.cells
        self._may_alias = memory.may_alias.copy(memory.cells)

    def look(self, number: int) -> None:
        """Link an access of which there is news.

        :raises Contradiction: What it is linked to is known to be another value.
        """
        ssa, access = self._ssa, self._ssa.accesses[number]
        mask, bits = ssa.domain.mask, ssa.domain.bits
        has_run = mask[access.condition] == MASK and bits[access.condition]
        if self._memory.resolved[number] or not access.size or mask[access.address] != MASK or not has_run:
            return
        ssa.number, address = access.number, bits[access.address]
        known = None if access.store else ssa.read_constant(address, access.size)
        if known is not None:
            ssa.learn(access.data, MASK, known, Premise.MEMORY)
        elif ssa.is_ram(address, access.size) and not ssa.is_volatile(address, access.size):
            if not access.store:
                self._link_before(number, access, address)
            self._link_after(number, access, address)

    def _link_before(self, number: int, access: MemoryAccess, address: int) -> None:
        # With the access that all its bytes come from.
        found = {self._shifted(self._cells.source(number, address + index), index) for index in range(access.size)}
        source, distance = found.pop()
        if not found and source > FIRST and not self._is_hidden(source, number, access, address):
            data = self._ssa.accesses[source].data
            self._ssa.add((ConstraintKind.LINK, access.data, data, 0, 8 * distance, 8 * access.size, source, number))

    def _link_after(self, number: int, access: MemoryAccess, address: int) -> None:
        # With a load that reads all its bytes later, or with memory at the end.
        found = {self._shifted(self._cells.target(number + 1, address + index), index) for index in range(access.size)}
        target, distance = found.pop()
        last = len(self._ssa.accesses)
        later = last if target == LAST else target
        if found and target != LAST or self._is_hidden(number, later, access, address):
            return
        if target == LAST:
            value = self._at_end(address, access.size)
            if value is not None:
                self._ssa.learn(access.data, (1 << 8 * access.size) - 1, value, Premise.STORED)
        elif not self._ssa.accesses[target].store:
            data = self._ssa.accesses[target].data
            self._ssa.add((ConstraintKind.LINK, data, access.data, 8 * distance, 0, 8 * access.size, number, target))

    @staticmethod
    def _shifted(found: Tuple[int, int], index: int) -> Tuple[int, int]:
        # An access and which of its bytes, less the index of the byte that was looked for.
        return (found[0], found[1] - index) if found[0] != LAST else (LAST, 0)

    def _is_hidden(self, older: int, later: int, access: MemoryAccess, address: int) -> bool:
        may_alias = self._may_alias
        grounds = may_alias.grounds_between(older, later)
        return any(
            [may_alias.first_of_link(older, later, address + index, grounds)[0] >= 0 for index in range(access.size)]
        )

    def _at_end(self, address: int, size: int) -> Optional[int]:
        found = 0
        for index in range(size):
            word = self._memory.final_word(address + index & ~3)
            if word is None:
                return None
            found |= (word >> 8 * (address + index & 3) & 0xFF) << 8 * index
        return found
