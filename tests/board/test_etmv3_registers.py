"""Vectors worked by hand from IHI 0014Q: the ETMv3's registers."""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.dwt import Dwt
from gdb_etm.board.etmv3 import Etmv3Device
from gdb_etm.board.faults import Faults
from gdb_etm.board.fpb import Fpb
from gdb_etm.board.units_armv7 import ETM_DATA, ETM_M4, Armv7Model
from tests.board.hand_m4 import (
    ALWAYS,
    CR,
    ETMEN,
    FFLR,
    NEVER,
    PROG,
    SR,
    SYNCFR,
    TECR1,
    TECR2,
    TEEVR,
    TESSEICR,
    TRACEIDR,
    TRIGGER,
)

KEY, LAR, LSR = 0xC5ACCE55, 0xFB0, 0xFB4
SYNC = bytes.fromhex("000000000080")
# 1000 movs r0, #0 | 1002 beq 1000 | 1004 bx lr
CODE = bytes.fromhex("0020fdd07047")
LOOP = [0x1000, 0x1002]


class Traced:
    """A unit, and what it sent."""

    def __init__(self, model: Armv7Model = ETM_M4, unlocked: bool = True, **faults: int) -> None:
        self.sent: List[Tuple[int, bytes]] = []
        self.watched: List[bool] = []
        self.unit = Etmv3Device(model, 0xE0041000, self._code, (), self._take, Faults(**faults))
        self.unit.watch_conditions = self.watched.append
        if unlocked:
            self.unit.write32(LAR, KEY)

    def _code(self, address: int) -> bytes:
        return CODE[address - 0x1000 : address - 0x1000 + 4]

    def _take(self, trace_id: int, data: bytes) -> None:
        self.sent.append((trace_id, data))

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.sent)

    def program(self, control: int = ETMEN, **more: int) -> None:
        for offset, value in ((CR, PROG), (CR, PROG | control), (TRIGGER, NEVER), (TEEVR, ALWAYS), (TECR1, 1 << 24)):
            self.unit.write32(offset, value)
        self.unit.write32(TRACEIDR, 0x22)
        self.unit.write32(CR, control)


def test_identification() -> None:
    unit = Traced().unit
    values = {0x004: 0x8C802000, 0x014: 0x00020D09, 0x1E4: 0x4114F250, 0x1E8: 0x18541800, 0xFB8: 0xC0, 0xFCC: 0x13}
    assert {offset: unit.read32(offset) for offset in values} == values
    assert (unit.read32(0xFE0), unit.read32(0xFE4) & 0xF) == (0x25, 9)
    unit = Traced(ETM_DATA).unit
    # Four pairs of comparators, also for data, and timestamps of 64 bits.
    assert (unit.read32(0x004) & 0xF, unit.read32(0x1E8) >> 29 & 1, unit.read32(0x1E8) >> 12 & 1) == (4, 1, 0)


def test_locked_and_without_power_at_reset() -> None:
    unit = Traced(unlocked=False).unit
    assert (unit.read32(CR), unit.read32(LSR)) == (0x411, 3)
    unit.write32(CR, PROG)
    assert unit.read32(CR) == 0x411
    unit.write32(LAR, KEY)
    assert unit.read32(LSR) == 1
    # With ETMCR.PowerDown set other registers take no writes.
    before = unit.read32(TRACEIDR)
    unit.write32(TRACEIDR, 0x11)
    assert unit.read32(TRACEIDR) == before
    unit.write32(CR, PROG)
    unit.write32(TRACEIDR, 0x11)
    assert unit.read32(TRACEIDR) == 0x11
    # Power was lost before; reading says so once.
    assert [unit.read32(0x314), unit.read32(0x314)] == [3, 1]


def test_implemented_bits() -> None:
    unit = Traced().unit
    unit.write32(CR, PROG | 0xFFFFFFFE)
    assert unit.read32(CR) == 0x10632FF0
    for offset, expected in ((TECR1, 1 << 25), (TESSEICR, 0x000F000F), (TECR2, 0), (SYNCFR, 0x400), (0x040, 0)):
        unit.write32(offset, 0xFFFFFFFF)
        assert unit.read32(offset) == expected, hex(offset)
    # More than the FIFO holds reads back as what it holds.
    unit.write32(FFLR, 0xFF)
    assert unit.read32(FFLR) == 24
    unit.write32(FFLR, 7)
    assert unit.read32(FFLR) == 7
    fuller = Traced(ETM_DATA).unit
    fuller.write32(CR, PROG | 0xFFFFFFFE)
    assert fuller.read32(CR) == 0x10673FFC
    fuller.write32(SYNCFR, 0x123)
    assert fuller.read32(SYNCFR) == 0x123


def test_the_programming_bit_takes_effect_some_polls_later() -> None:
    traced = Traced()
    unit = traced.unit
    unit.write32(CR, PROG)
    assert unit.read32(SR) & 2
    traced.program()
    assert unit.read32(SR) & 2
    while unit.read32(SR) & 2:
        pass
    # While it may trace, nothing else takes a write.
    unit.write32(TRACEIDR, 1)
    assert unit.read32(TRACEIDR) == 0x22
    assert traced.watched == [True]
    unit.write32(CR, ETMEN | PROG)
    assert not unit.read32(SR) & 2
    while not unit.read32(SR) & 2:
        pass
    assert traced.watched == [True, False]


def test_a_trace_run() -> None:
    traced = Traced()
    traced.program()
    traced.unit.executed(LOOP + LOOP + [0x1004])
    traced.unit.debug_entry(0x1004)
    traced.unit.write32(CR, ETMEN | PROG)
    assert {trace_id for trace_id, _ in traced.sent} == {0x22}
    # I-sync: tracing enabled; MOVS, BEQ taken, MOVS, BEQ not taken, BX; where BX goes.
    assert traced.data.hex(" ") == SYNC.hex(" ") + " 08 21 01 10 00 00 cc 84 05"


def test_without_the_port_nothing_comes_out() -> None:
    traced = Traced()
    traced.program(0)
    traced.unit.executed(LOOP)
    traced.unit.flush()
    assert traced.data == b""


def test_overflow_on_demand_unless_the_processor_stalls() -> None:
    for control, overflows in ((ETMEN, True), (ETMEN | 1 << 7, False)):
        traced = Traced(overflow=1)
        traced.program(control)
        for _ in range(3):
            traced.unit.executed(LOOP)
            traced.unit.flush()
        # I-sync after an overflow.
        assert (b"\x08\x41" in traced.data) is overflows


def test_start_and_stop_state_can_be_written() -> None:
    traced = Traced()
    traced.unit.write32(CR, PROG)
    traced.unit.write32(SR, 0xFFFFFFFF)
    assert traced.unit.read32(SR) & 0xC == 0xC
    traced.unit.write32(SR, 0)
    assert traced.unit.read32(SR) & 0xC == 0


@pytest.mark.parametrize("function, halts", [(0, ""), (5, "load"), (6, "store"), (7, "load store"), (8, "")])
def test_comparators_of_the_dwt(function: int, halts: str) -> None:
    dwt = Dwt(InstructionClock(), lambda: True, {}, 4)
    assert dwt.read32(0) >> 28 == 4
    for offset, value in ((0x30, 0x20000104), (0x34, 2), (0x38, function)):
        dwt.write32(offset, value)
    load, store = BusAccess(0x20000107, 1, 0, False, 0), BusAccess(0x20000102, 4, 0, True, 0)
    assert dwt.watches is bool(halts)
    assert (dwt.halts([load]), dwt.halts([store])) == ("load" in halts, "store" in halts)
    assert not dwt.halts([BusAccess(0x20000108, 4, 0, True, 0), BusAccess(0x20000100, 4, 0, False, 0)])
    # MATCHED is cleared by reading.
    assert [dwt.read32(0x38) >> 24 & 1, dwt.read32(0x38) >> 24 & 1] == [int(bool(halts)), 0]
    assert [each.traces(0x20000106) for each in dwt.comparators] == [False, function == 8, False, False]
    dwt.write32(0x34, 0x1F)
    assert dwt.read32(0x34) == 15


def test_breakpoints_of_version_1() -> None:
    stops: List[List[int]] = []
    fpb = Fpb(lambda addresses: stops.append(list(addresses)), {}, 1, 6)
    assert fpb.read32(0) == 6 << 4
    fpb.write32(0, 3)
    for word in (0x40000101, 0x80000101, 0xC0000101, 0x40000100):
        fpb.write32(0x008, word)
    # The lower halfword, the upper, both; not enabled.
    assert stops == [[], [0x100], [0x102], [0x100, 0x102], []]
