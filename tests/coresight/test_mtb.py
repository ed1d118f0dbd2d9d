"""Vectors worked by hand: where MTB_POSITION points to.

KL25 Sub-Family Reference Manual, 19.31.1: BASE is a quarter of the RAM below 0x20000000, and POINTER the address modulo
32 KiB.  A DA1469x that was dumped: BASE 0x2007e000, POSITION 0x1e2c, the newest packet at 0x2007fe20.
"""

from __future__ import annotations

from typing import Dict, Sequence

import pytest

from gdb_etm.access.port import AccessPort
from gdb_etm.capture import BufferEnd
from gdb_etm.coresight.borrowed import Borrowed
from gdb_etm.coresight.mtb import MtbBuffer
from gdb_etm.coresight.sink import BufferPlace, SinkSetup
from gdb_etm.errors import CaptureError

POSITION, BASE = 0x0, 0xC


class Chip(AccessPort):
    """Registers of an MTB at 0; RAM reads as its addresses."""

    name = "chip"

    def __init__(self, base: int, reach: int) -> None:
        self.registers: Dict[int, int] = {BASE: base, POSITION: 0}
        self._reach = reach

    def read32(self, address: int) -> int:
        """Read a register, or a word of RAM."""
        return self.registers.get(address, address)

    def write32(self, address: int, value: int) -> None:
        """Write a register; bits that no RAM needs stay 0."""
        self.registers[address] = value & (self._reach - 1) & ~3 if address == POSITION else value

    def read_block(self, address: int, count: int) -> Sequence[int]:
        """Read words of RAM."""
        return [address + 4 * n for n in range(count)]


def drained(chip: Chip, place: BufferPlace, position: int) -> Sequence[int]:
    """Start with a buffer, move the pointer on, and read it."""
    buffer = MtbBuffer(Borrowed(chip, 0))
    buffer.attach()
    buffer.start(SinkSetup(place=place))
    chip.registers[POSITION] = position
    data = buffer.drain()
    assert (data.end is BufferEnd.WRAPPED) == bool(position & 4)
    return [int.from_bytes(data.data[at : at + 4], "little") for at in range(0, len(data.data), 4)]


def test_kinetis() -> None:
    # 16 KiB of RAM from 0x1ffff000 on: the pointer of its beginning is 0x7000.
    chip, place = Chip(0x1FFFF000, 0x8000), BufferPlace(0x1FFFF000, 1024)
    buffer = MtbBuffer(Borrowed(chip, 0))
    buffer.attach()
    buffer.start(SinkSetup(place=place))
    assert chip.registers[POSITION] == 0x7000
    assert buffer.address_of(0x7018) == 0x1FFFF018
    assert drained(chip, place, 0x7018) == [0x1FFFF000 + 4 * n for n in range(6)]


def test_da1469x() -> None:
    words = drained(Chip(0x2007E000, 0x2000), BufferPlace(0x2007E000, 8192), 0x1E2C)
    assert words[0] == 0x2007FE28 and words[-2:] == [0x2007FE20, 0x2007FE24]


def test_lpc8xx() -> None:
    # BASE reads 0 whatever the RAM is.
    assert drained(Chip(0, 1 << 32), BufferPlace(0x10000200, 512), 0x10000210) == [0x10000200 + 4 * n for n in range(4)]


@pytest.mark.parametrize("reach", [8, 256])
def test_a_pointer_that_takes_nothing(reach: int) -> None:
    with pytest.raises(CaptureError, match="has the MTB a clock"):
        drained(Chip(0x20000000, reach), BufferPlace(0x20000400, 1024), 0)
