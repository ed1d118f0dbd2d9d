"""Watching the loads and stores that Unicorn makes, on demand: it slows every run down."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from unicorn import arm_const
from unicorn import unicorn_const as const

from gdb_etm.board.accesses import BusAccess, RawAccess, transfers
from gdb_etm.board.bus import Bus
from gdb_etm.board.hooks import ACCESSES, Hooks, end_it
from gdb_etm.board.path import CortexMBlock, CortexMPath


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
        """Take the value that a device gave for the last access: Unicorn tells of a read before it is done."""
        if self._hooks and self._accesses:
            self._accesses[-1] = self._accesses[-1]._replace(value=value)

    def transfers(self, executed: Sequence[int], path: CortexMPath) -> Dict[int, Tuple[BusAccess, ...]]:
        """Return what the instructions that are complete loaded and stored, by their index."""
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
        place = self._bus.memory(address, size)
        if place is not None:
            memory, offset = place
            if store and memory is self._bus.flash:
                return  # it faults
            if not store:
                value = int.from_bytes(memory[offset : offset + size], "little")
        pc = int(uc.reg_read(arm_const.UC_ARM_REG_PC))
        self._accesses.append(RawAccess(len(self._blocks), pc, address, size, value & ((1 << 8 * size) - 1), store))
        end_it(uc)
