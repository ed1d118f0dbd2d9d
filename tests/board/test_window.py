"""Vectors worked by hand: trace hardware in a Cortex-A's own memory map.

CoreSight (IHI 0029, B2.3.10): the software lock.  UG585, table 4-7: where a Zynq-7000's components are.
"""

from __future__ import annotations

from typing import Iterator

import pytest

from gdb_etm.board.board import AnyBoard, make_board
from gdb_etm.board.bus import BusFault
from gdb_etm.board.options import BoardOptions

TABLE, ETB, FUNNEL, CORE, PTM = 0xF8800000, 0xF8801000, 0xF8804000, 0xF8890000, 0xF889C000
LAR, LSR, KEY = 0xFB0, 0xFB4, 0xC5ACCE55
IMPLEMENTED, LOCKED = 1, 2


@pytest.fixture
def board() -> Iterator[AnyBoard]:
    """Give a Zynq-7000 power, its core held."""
    made = make_board(BoardOptions("zynq7000", hold=True))
    yield made
    made.close()


def test_the_rom_table_leads_to_the_components(board: AnyBoard) -> None:
    read = board.machine.read
    found = [TABLE + (read(TABLE + 4 * index, 4) & ~0xFFF) for index in range(6)]
    assert found == [ETB, FUNNEL, CORE, PTM, 0xF8892000, 0xF889D000]
    assert [read(base + 0xFCC, 4) for base in found] == [0x21, 0x12, 0x15, 0x13, 0x15, 0x13]
    with pytest.raises(BusFault):
        read(0xF8802000, 4)


@pytest.mark.parametrize("base, offset, value", [(ETB, 0x01C, 0x55), (FUNNEL, 0, 0x301), (PTM, 0x200, 0x42)])
def test_software_opens_the_lock(board: AnyBoard, base: int, offset: int, value: int) -> None:
    machine = board.machine
    before = machine.read(base + offset, 4)
    machine.write(base + offset, 4, value)
    assert machine.read(base + offset, 4) == before and machine.read(base + LSR, 4) == IMPLEMENTED | LOCKED
    machine.write(base + LAR, 4, KEY)
    if base == PTM:
        # Power, and the programming bit.
        machine.write(base, 4, 0x400)
    machine.write(base + offset, 4, value)
    assert machine.read(base + offset, 4) == value and machine.read(base + LSR, 4) == IMPLEMENTED


def test_the_cores_debug_registers_have_a_lock_for_software_alone(board: AnyBoard) -> None:
    machine, vector_catch = board.machine, 0x01C
    machine.write(CORE + vector_catch, 4, 1)
    assert machine.read(CORE + vector_catch, 4) == 0 and machine.read(CORE + LSR, 4) == IMPLEMENTED | LOCKED
    machine.write(CORE + LAR, 4, KEY)
    machine.write(CORE + vector_catch, 4, 1)
    assert machine.read(CORE + vector_catch, 4) == 1
    machine.write(CORE + LAR, 4, 0)
    machine.write(CORE + vector_catch, 4, 2)
    assert machine.read(CORE + vector_catch, 4) == 1
