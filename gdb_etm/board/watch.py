"""Hooks on loads and stores: one collects, one refuses.

They are there on demand, for they slow every run down.

What the core refuses though the bus would make it: unaligned accesses that trap, and protected memory.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from unicorn import arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.accesses import BusAccess, RawAccess, transfers
from gdb_etm.board.bus import Bus
from gdb_etm.board.hooks import ACCESSES, Hooks, end_it
from gdb_etm.board.path import CortexMBlock, CortexMPath
from gdb_etm.board.stops import RunEnd

# Tells by address, size and whether it is a store why an access is refused; None when it is not.
Refusal = Callable[[int, int, bool], Optional[RunEnd]]


class AccessWatch(Hooks):
    """Collects the accesses of a run.

    :param uc: Unicorn.
    :param bus: The memory that it reaches.
    :param blocks: The blocks that the run has entered, which its owner keeps.
    """

    def __init__(self, uc: Any, bus: Bus, blocks: List[CortexMBlock]) -> None:
        super().__init__(uc, ACCESSES, self._on_access)
        self._bus = bus
        self._blocks = blocks
        self._accesses: List[RawAccess] = []

    def clear(self) -> None:
        """Forget what was collected."""
        self._accesses.clear()

    def device_read(self, value: int) -> None:
        """Take the value that a device returned.

        Unicorn reports a read before it is done.
        """
        if self._hooks and self._accesses:
            self._accesses[-1] = self._accesses[-1]._replace(value=value)

    def transfers(self, executed: Sequence[int], path: CortexMPath) -> Dict[int, Tuple[BusAccess, ...]]:
        """Return the accesses of complete instructions, by their index."""
        if not self._accesses:
            return {}
        starts = [0]
        for block in self._blocks:
            starts.append(starts[-1] + block.length)
        found: Dict[int, List[RawAccess]] = {}
        for access in self._accesses:
            index = starts[access.block - 1] + self._blocks[access.block - 1].index(access.pc)
            if index < len(executed):
                found.setdefault(index, []).append(access)
        return {at: transfers(raw, path.instruction(raw[0].pc).is_store_exclusive()) for at, raw in found.items()}

    def _on_access(self, uc: Any, kind: int, address: int, size: int, value: int, _data: Any) -> None:
        store = kind == const.UC_MEM_WRITE
        found = self._bus.memory(address, size)
        if found is not None:
            memory, offset = found
            if store and memory is self._bus.flash:
                return  # it faults
            if not store:
                value = int.from_bytes(memory[offset : offset + size], "little")
        pc = int(uc.reg_read(arm_const.UC_ARM_REG_PC))
        self._accesses.append(RawAccess(len(self._blocks), pc, address, size, value & ((1 << 8 * size) - 1), store))
        end_it(uc)


class AccessGuard(Hooks):
    """Stops a run at the first access that is refused.

    :param uc: Unicorn.
    :param stop: Called with the reason and the address.
    """

    def __init__(self, uc: Any, stop: Callable[[RunEnd, int], None]) -> None:
        super().__init__(uc, ACCESSES, self._on_access)
        self._stop = stop
        self.refusal: Refusal = lambda address, size, store: None

    def _on_access(self, uc: Any, kind: int, address: int, size: int, value: int, _data: Any) -> None:
        found = self.refusal(address, size, kind == const.UC_MEM_WRITE)
        if found is not None:
            self._stop(found, address)
        end_it(uc)
