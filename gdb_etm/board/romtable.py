"""The ROM table of the core's private peripheral bus."""

from __future__ import annotations

from typing import Dict, Sequence, Tuple

from gdb_etm.board.identity import ARM, CLASS_ROM_TABLE, identification

_MEMTYPE = 0xFCC


class RomTable:
    """A class 0x1 ROM table (ADIv5.2, D3).

    :param base: Address of the table.
    :param part: Its part number.
    :param components: Address of each component, and whether it is present on this board.
    :param shared: Whether system memory is on the same bus.
    :param designer: By JEP106, whose part number it is.
    """

    size = 0x1000

    def __init__(
        self, base: int, part: int, components: Sequence[Tuple[int, bool]], shared: bool = True, designer: int = ARM
    ) -> None:
        self.base = base
        self._registers: Dict[int, int] = identification(part, component_class=CLASS_ROM_TABLE, designer=designer)
        self._registers[_MEMTYPE] = int(shared)
        for index, (address, present) in enumerate(components):
            self._registers[4 * index] = ((address - base) & 0xFFFFF000) | 2 | present

    def read32(self, offset: int) -> int:
        """Read an entry or an identification register."""
        return self._registers.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Ignore a write: the table is read-only."""
