"""Real pyOCD on board m0: the core, debug components, the MTB."""

from __future__ import annotations

from struct import unpack

from pyocd.core.target import Target

from tests.board import hand
from tests.firmware.build import symbol
from tests.firmware.cortex_m0.build import elf

MTB = 0x41006000
POSITION, MASTER, FLOW, BASE = MTB, MTB + 4, MTB + 8, MTB + 12
EN, MASK_64 = 1 << 31, 2


def test_the_core_is_recognised() -> None:
    with hand.board("m0") as session:
        core = session.target.cores[0]
        assert core.name == "Cortex-M0+"
        assert session.target.read32(0xE000ED00) == 0x410CC601
        assert core.dwt.watchpoint_count == 2
        assert len(core.fpb.hw_breakpoints) == 4
        # Armv6-M has no fault status.
        assert [session.target.read32(0xE000E000 + offset) for offset in (0xD28, 0xD2C, 0xD34, 0xD38)] == [0] * 4


def test_the_buffer_s_identification() -> None:
    # DDI 0486, table 3-1: class 0x9, part 0x932 of Arm, DEVTYPE 0x31, DEVARCH 0x47700A31.
    with hand.board("m0") as session:
        read = session.target.read32
        assert [read(MTB + offset) & 0xFF for offset in (0xFE0, 0xFE4, 0xFE8, 0xFD0)] == [0x32, 0xB9, 0x0B, 0x04]
        assert [read(MTB + offset) & 0xFF for offset in range(0xFF0, 0x1000, 4)] == [0x0D, 0x90, 0x05, 0xB1]
        assert (read(MTB + 0xFCC), read(MTB + 0xFBC)) == (0x31, 0x47700A31)
        assert read(BASE) == 0x20000000


def test_packets_by_hand() -> None:
    # The PC steps over a call and its return: source and destination of both, the S bit in the first.
    path = elf("sort")
    with hand.board("m0", elf=path) as session:
        target = session.target
        reset, run = symbol(path, "Reset_Handler"), symbol(path, "run")
        target.set_breakpoint(run, Target.BreakpointType.HW)
        target.write32(POSITION, 0x40000)
        target.write32(MASTER, EN | MASK_64)
        hand.run_to_halt(session)
        # Up to BL run the start-up code has loops: of the newest packet the destination is run.
        position = target.read32(POSITION)
        at = 0x20040000 + (position & 0x38) - 8 & ~0x40
        source, destination = unpack("<II", bytes(target.read_memory_block8(at, 8)))
        assert reset < source < reset + 0x40 and destination == run
        assert position & 4 and position & ~0x3F == 0x40000


def test_a_reset_stops_it() -> None:
    # KL25 Reference Manual, 19.31.2: MASTER is 0x80 after a reset.
    with hand.board("m0", elf=elf("sort")) as session:
        session.target.write32(MASTER, EN | MASK_64)
        session.target.reset_and_halt()
        assert session.target.read32(MASTER) == 0x80
