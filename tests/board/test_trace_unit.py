"""Vectors worked by hand from IHI 0064, chapter 7: the unit."""

from __future__ import annotations

from typing import List, Optional, Tuple

from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.dwt import Armv8Comparator, Dwt
from gdb_etm.board.etm import Etmv4Device
from gdb_etm.board.faults import Faults
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.units import ETM_M33

CODE = bytes.fromhex("00bf 00bf fce7 00bf 7047".replace(" ", ""))
PRGCTLR, STATR, CONFIGR, SYNCPR, TRACEIDR, VICTLR = 0x004, 0x00C, 0x010, 0x034, 0x040, 0x080
VIIECTLR, VIPCSSCTLR, PDSR, CLAIMSET, CLAIMCLR = 0x084, 0x08C, 0x314, 0xFA0, 0xFA4
LOOP = [0x1000, 0x1002, 0x1004]
UNUSED = ((0x020, 0), (0x024, 0), (0x030, 0), (VIPCSSCTLR, 0), (0x208, 0), (0x20C, 0), (0x280, 0), (0x2C0, 0))
SYNC = bytes(11) + b"\x80\x01\x01\x00"


class Traced:
    """A trace unit and what it sent."""

    def __init__(self, comparators: int = 0, watched: Optional[int] = None, overflow: int = 0, loss: int = 0) -> None:
        self.sent: List[Tuple[int, bytes]] = []
        self.dwt = Dwt(InstructionClock(), lambda: True, {}, 4, Armv8Comparator)
        if watched is not None:
            self.dwt.write32(0x20, watched)
            self.dwt.write32(0x28, 2)
        self.unit = Etmv4Device(
            ETM_M33,
            0xE0041000,
            lambda address: CODE[address - 0x1000 : address - 0xFFC],
            self.dwt,
            lambda trace_id, data: self.sent.append((trace_id, data)),
            BoardOptions(comparators=comparators),
            Faults(overflow=overflow, power_loss=loss),
        )

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.sent)

    def program(self, configuration: int = 1, view: int = 0x201, more: Tuple[Tuple[int, int], ...] = ()) -> None:
        for offset, value in ((CONFIGR, configuration), (TRACEIDR, 0x10), (VICTLR, view)) + UNUSED + more:
            self.unit.write32(offset, value)
        self.unit.write32(PRGCTLR, 1)
        while self.unit.read32(STATR) & 1:
            pass


def test_identification() -> None:
    unit = Traced().unit
    registers = [unit.read32(0x1E0 + 4 * number) for number in range(6)]
    assert registers == [0x280006E1, 0x4100F421, 0x00000004, 0x0F090004, 0x00114000, 0x90C70004]
    assert unit.read32(0xFBC) == 0x47724A13
    assert unit.read32(0xFCC) == 0x13
    assert (unit.read32(0xFE0), unit.read32(0xFE4) & 0xF) == (0x21, 0xD)
    assert Traced(comparators=2).unit.read32(0x1F0) == 0x00114002


def test_writes_are_dropped_unless_disabled_and_idle() -> None:
    unit = Traced().unit
    unit.write32(CONFIGR, 0x1001)
    assert unit.read32(CONFIGR) == 0x1001
    unit.write32(PRGCTLR, 1)
    unit.write32(CONFIGR, 0x0801)
    assert unit.read32(CONFIGR) == 0x1001
    # IDLE follows the enable bit a while later.
    assert unit.read32(STATR) & 1
    while unit.read32(STATR) & 1:
        pass
    unit.write32(PRGCTLR, 0)
    assert not unit.read32(STATR) & 1
    unit.write32(CONFIGR, 0x0801)
    assert unit.read32(CONFIGR) == 0x1001
    while not unit.read32(STATR) & 1:
        pass
    unit.write32(CONFIGR, 0x0801)
    assert unit.read32(CONFIGR) == 0x0801


def test_power_up_contents_are_junk_within_the_implemented_bits() -> None:
    unit = Traced().unit
    assert unit.read32(CONFIGR) & ~0x1F18 == 1
    assert unit.read32(PRGCTLR) == 0
    offsets = (CONFIGR, TRACEIDR, VICTLR, VIPCSSCTLR, 0x208, 0x140)
    assert sum(bool(unit.read32(offset)) for offset in offsets) > 3
    unit.write32(VICTLR, 0xFFFFFFFF)
    assert unit.read32(VICTLR) == 0x00090E8F
    # This unit has no address comparators, and its synchronisation period cannot be changed.
    unit.write32(VIIECTLR, 1)
    unit.write32(SYNCPR, 8)
    assert (unit.read32(VIIECTLR), unit.read32(SYNCPR)) == (0, 10)


def test_power_status_and_claim_tags() -> None:
    unit = Traced().unit
    assert [unit.read32(PDSR), unit.read32(PDSR)] == [3, 1]
    unit.write32(CLAIMSET, 5)
    unit.write32(CLAIMCLR, 1)
    assert (unit.read32(CLAIMSET), unit.read32(CLAIMCLR)) == (0xF, 4)


def test_a_trace_run() -> None:
    traced = Traced()
    traced.program()
    traced.unit.executed(LOOP + LOOP)
    traced.unit.debug_entry(0x1000)
    traced.unit.write32(PRGCTLR, 0)
    assert {trace_id for trace_id, _ in traced.sent} == {0x10}
    assert traced.data[len(SYNC) :].hex(" ") == "04 81 00 96 80 10 db 06 b1 00 90"
    assert traced.data.startswith(SYNC)


def test_level_filter() -> None:
    traced = Traced()
    # EXLEVEL_S bit 0: not in Thread mode.
    traced.program(view=0x10201)
    traced.unit.executed(LOOP)
    traced.unit.exception(16, 0x1000)
    traced.unit.executed([0x1006, 0x1008])
    traced.unit.flush()
    # The handler, whose return waits for its target.
    assert traced.data[len(SYNC) :].hex(" ") == "04 81 03 96 83 10"


def test_the_event_false_traces_nothing() -> None:
    traced = Traced()
    traced.program(view=0x200)
    traced.unit.executed(LOOP)
    traced.unit.flush()
    assert traced.data == SYNC


def test_include_range_with_comparators() -> None:
    traced = Traced(comparators=2)
    # Pair 1, both ends included.
    more = ((0x410, 0x1006), (0x418, 0x1008), (0x490, 0), (0x498, 0), (VIIECTLR, 2), (0x088, 0))
    traced.program(more=more)
    traced.unit.executed(LOOP + [0x1000, 0x1002, 0x1004, 0x1006, 0x1008] + LOOP)
    traced.unit.flush()
    assert traced.data[len(SYNC) :].hex(" ") == "04 81 00 96 83 10 f7"


def test_start_and_stop_at_a_dwt_comparator() -> None:
    traced = Traced(watched=0x1006)
    traced.program(view=0x001, more=((VIPCSSCTLR, 1),))
    traced.unit.executed(LOOP)
    assert not traced.unit.read32(VICTLR) & 0x200
    traced.unit.executed([0x1006, 0x1008] + LOOP + [0x1000])
    # SSSTATUS is what the start point made it, and stays after the run.
    assert traced.unit.read32(VICTLR) & 0x200
    traced.unit.write32(PRGCTLR, 0)
    assert traced.unit.read32(VICTLR) & 0x200
    assert traced.data[len(SYNC) :].hex(" ") == "04 81 00 96 83 10 f7 96 00 f7"


def test_overflow_on_demand() -> None:
    traced = Traced(overflow=1)
    traced.program()
    traced.unit.flush()
    traced.unit.executed(LOOP)
    traced.unit.executed(LOOP)
    traced.unit.flush()
    assert traced.data[len(SYNC) :].startswith(bytes.fromhex("0481009680100005") + SYNC + b"\x04")


def test_power_is_lost_on_demand() -> None:
    """3.3, 7.3.52: STICKYPD shows it once; programming and trace are lost."""
    traced = Traced(loss=1)
    traced.program(configuration=0x1001)
    traced.unit.write32(CLAIMSET, 2)
    assert traced.unit.read32(PDSR) == 3 and traced.unit.read32(PDSR) == 1
    traced.unit.flush()
    traced.unit.executed(LOOP)
    traced.unit.flush()
    assert traced.data == SYNC
    assert (traced.unit.read32(PRGCTLR), traced.unit.read32(CLAIMCLR)) == (0, 0)
    assert traced.unit.read32(TRACEIDR) != 0x10
    assert traced.unit.read32(PDSR) == 3 and traced.unit.read32(PDSR) == 1
