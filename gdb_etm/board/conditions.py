"""Watcher of failed conditions, on demand: it slows every run down.

Unicorn's hook on instructions is silent for those of IT blocks whose condition fails.  VSEL, which is conditional by
itself, it reports always, and before it runs.
"""

from __future__ import annotations

from typing import Any, Collection, Dict, FrozenSet, List, Sequence, Set

from unicorn import arm_const

from gdb_etm.board.hooks import INSTRUCTIONS, Hooks
from gdb_etm.program.conditions import ALWAYS, condition, holds
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.encode.instructions import RAM

NONE_FAILED: Collection[int] = frozenset()


class ConditionWatch(Hooks):
    """Collects the instructions of a run whose condition holds.

    :param uc: Unicorn.
    """

    def __init__(self, uc: Any) -> None:
        super().__init__(uc, INSTRUCTIONS, self._on_instruction)
        self._hooked: List[int] = []
        # Which of those are selections whose condition fails, and the conditions of selections by address.
        self._failed: Set[int] = set()
        self._selections: Dict[int, int] = {}

    def clear(self) -> None:
        """Forget what was collected."""
        self._hooked.clear()
        self._failed.clear()

    def failed(self, executed: Sequence[int]) -> FrozenSet[int]:
        """Return the indices of the executed instructions whose condition failed."""
        if not self._hooks:
            return frozenset()
        hooked = self._hooked
        found: List[int] = []
        at = 0
        for index, address in enumerate(executed):
            if at < len(hooked) and hooked[at] == address:
                if at in self._failed:
                    found.append(index)
                at += 1
            else:
                found.append(index)
        return frozenset(found)

    def _on_instruction(self, uc: Any, address: int, size: int, data: Any) -> None:
        if size == 4:
            selects = self._selection(address)
            if selects != ALWAYS and not holds(selects, self._uc.reg_read(arm_const.UC_ARM_REG_XPSR) >> 28):
                self._failed.add(len(self._hooked))
        self._hooked.append(address)

    def _selection(self, address: int) -> int:
        # The condition code of VSEL; ALWAYS for other instructions, whose IT block the hook knows.
        found = self._selections.get(address)
        if found is None:
            found = condition(bytes(self._uc.mem_read(address, 4)), 0, Isa.T32, 0)
            if address < RAM:
                self._selections[address] = found
        return found
