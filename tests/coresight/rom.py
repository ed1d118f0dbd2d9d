"""Identification registers and ROM tables as words in memory."""

from __future__ import annotations

from typing import Dict, List, NamedTuple

from gdb_etm.errors import AccessError


class Ids(NamedTuple):
    """A component's identification registers."""

    part: int
    component_class: int = 9
    devtype: int = 0
    devarch: int = 0
    devid: int = 0
    affinity: int = 0
    designer: int = 0x43B


class Rom:
    """A memory space of words that cannot be written; everything else faults.

    :param name: Its name as an access port.
    """

    def __init__(self, name: str = "AHB-AP 0") -> None:
        self.name = name
        self.words: Dict[int, int] = {}

    def add(self, address: int, ids: Ids) -> None:
        """Put a component at an address."""
        block = dict.fromkeys(range(0, 0x1000, 4), 0)
        block.update(
            {
                0xFA8: ids.affinity,
                0xFBC: ids.devarch,
                0xFC8: ids.devid,
                0xFCC: ids.devtype,
                0xFD0: ids.designer >> 8,
                0xFE0: ids.part & 0xFF,
                0xFE4: (ids.designer & 0xF) << 4 | ids.part >> 8,
                0xFE8: 8 | ids.designer >> 4 & 7,
                0xFF0: 0x0D,
                0xFF4: ids.component_class << 4,
                0xFF8: 0x05,
                0xFFC: 0xB1,
            }
        )
        self.words.update((address + offset, value) for offset, value in block.items())

    def add_table(self, address: int, *components: int, part: int = 0x4C3, present: int = 3) -> None:
        """Put a class 0x1 table at an address, with 32-bit entries."""
        self.add(address, Ids(part, component_class=1))
        for n, component in enumerate(components):
            self.words[address + 4 * n] = (component - address) & 0xFFFFF000 | present

    def read32(self, address: int) -> int:
        """Read one word."""
        if address not in self.words:
            raise AccessError("cannot read 0x%08x: the bus answered with a fault" % address, address)
        return self.words[address]

    def write32(self, address: int, value: int) -> None:
        """Fault: nothing here can be written."""
        raise AccessError("cannot write 0x%08x: the bus answered with a fault" % address, address)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return [self.read32(address + 4 * n) for n in range(words)]

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read one word many times."""
        return [self.read32(address) for _ in range(words)]


def cortex_m33(rom: Rom, base: int = 0xE00FF000) -> None:
    """Put a Cortex-M33's private peripherals into a space (TRM 100230, 4.2)."""
    rom.add_table(base, 0xE000E000, 0xE0001000, 0xE0002000, 0xE0000000, 0xE0041000, 0xE0042000, part=0x4C9)
    rom.add(0xE000E000, Ids(0xD21, devarch=0x47702A04))
    rom.add(0xE0001000, Ids(0xD21, devarch=0x47701A02))
    rom.add(0xE0002000, Ids(0xD21, devarch=0x47701A03))
    rom.add(0xE0000000, Ids(0xD21, devtype=0x43, devarch=0x47701A01))
    rom.add(0xE0041000, Ids(0xD21, devtype=0x13, devarch=0x47724A13))
    rom.add(0xE0042000, Ids(0xD21, devtype=0x14, devarch=0x47701A14))
