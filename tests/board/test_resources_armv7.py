"""Vectors worked by hand from IHI 0014Q and IHI 0035B: resources."""

from __future__ import annotations

from typing import Dict, List

import pytest

from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.armv7_unit import Armv7Device
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.dwt import Dwt
from gdb_etm.board.etmv3 import Etmv3Device
from gdb_etm.board.ptm import PtmDevice
from gdb_etm.board.units_armv7 import ETM_DATA, ETM_M4, PTM_A9, Armv7Model

CR, TRIGGER, SR, TEEVR, TECR1, ACVR, ACTR = 0x000, 0x008, 0x010, 0x020, 0x024, 0x040, 0x080
CNTRLDVR, CNTENR, CNTRLDEVR, CNTVR, SQ12EVR = 0x140, 0x150, 0x160, 0x170, 0x180
SQR, EXTOUTEVR, EXTINSELR, TSEVR, TRACEIDR = 0x19C, 0x1A0, 0x1EC, 0x1F8, 0x200
PROG, ETMEN, TIMESTAMPS = 1 << 10, 1 << 11, 1 << 28
ALWAYS, NEVER = 0x6F, 0x406F
COUNTER, STATE, INPUT, CHOSEN, WATCH = 0x40, 0x50, 0x60, 0x68, 0x20
BY_EVENT = 1 << 17
A, B, ELSE = 0x1000, 0x1010, 0x1020
TRIGGERED = 1 << 3

# Every event never, but TraceEnable always.
_PLAIN = {offset: NEVER for offset in (TRIGGER, TSEVR, *range(CNTRLDEVR, 0x170, 4), *range(0x180, 0x198, 4))}
_PLAIN.update({CNTENR + 4 * n: BY_EVENT | NEVER for n in range(4)})
_PLAIN.update({offset: 0 for offset in (*range(CNTRLDVR, 0x150, 4), *range(CNTVR, 0x180, 4), SQR, EXTINSELR)})
_PLAIN.update({EXTOUTEVR: NEVER, EXTOUTEVR + 4: NEVER, TEEVR: ALWAYS, TECR1: 1 << 24, TRACEIDR: 0x10})
_PLAIN.update({offset: 0 for offset in (0x018, 0x01C, 0x030, 0x034, 0x03C, 0x1F0)})


class Unit:
    """A unit, how often its trigger output pulsed, and its external outputs."""

    def __init__(self, kind: Armv7Model = ETM_DATA) -> None:
        self.sent = bytearray()
        self.triggers = 0
        self.outputs: List[int] = []
        self.dwt = Dwt(InstructionClock(), lambda: True, {}, 4)
        self.unit = self._make(kind)
        self.unit.trigger_out = self._trigger
        self.unit.outputs = self.outputs.append
        self.unit.write32(0xFB0, 0xC5ACCE55)

    def _make(self, kind: Armv7Model) -> Armv7Device:
        if kind is not PTM_A9:
            inputs = [each.traces for each in self.dwt.comparators]
            unit = Etmv3Device(kind, 0xE0041000, lambda address: b"\x00\xbf\x00\xbf", inputs, self._take)
            unit.data_inputs = self.dwt.data_inputs
            return unit
        return PtmDevice(PTM_A9, 0x8009C000, lambda address: b"\x00\xbf\x00\xbf", self._take)

    def _take(self, trace_id: int, data: bytes) -> None:
        self.sent += data

    def _trigger(self) -> None:
        self.triggers += 1

    def start(self, writes: Dict[int, int], control: int = 0) -> None:
        self.unit.write32(CR, PROG | ETMEN | control)
        for offset, value in {**_PLAIN, **writes}.items():
            self.unit.write32(offset, value)
        self.unit.write32(CR, ETMEN | control)

    def run(self, *addresses: int) -> "Unit":
        assert isinstance(self.unit, (Etmv3Device, PtmDevice))
        for address in addresses:
            self.unit.executed([address] if isinstance(self.unit, Etmv3Device) else [address | 1])
        return self


def unit_with(writes: Dict[int, int], kind: Armv7Model = ETM_DATA, control: int = 0) -> Unit:
    """Start a unit with comparators 1 and 2 at A and B."""
    unit = Unit(kind)
    unit.start({ACVR: A, ACVR + 4: B, ACTR: 1, ACTR + 4: 1, **writes}, control)
    return unit


KINDS = pytest.mark.parametrize("kind", [ETM_DATA, PTM_A9], ids=["etmv3", "ptm"])


@KINDS
def test_the_trigger(kind: Armv7Model) -> None:
    """It occurs once until the unit is programmed again."""
    unit = unit_with({TRIGGER: 0x00}, kind).run(ELSE, B)
    assert not unit.triggers and not unit.unit.read32(SR) & TRIGGERED
    unit.run(A)
    assert unit.triggers == 1 and unit.unit.read32(SR) & TRIGGERED
    assert unit.sent.count(b"\x0c") == 1
    unit.run(A, ELSE, A)
    assert unit.triggers == 1
    unit.unit.write32(CR, PROG | ETMEN)
    unit.unit.write32(SR, 0)
    unit.unit.write32(CR, ETMEN)
    unit.run(A)
    assert unit.triggers == 2


@KINDS
@pytest.mark.parametrize(
    "function, active",
    [(0, "A"), (1, "B-"), (2, ""), (3, "B"), (4, "-"), (5, "AB"), (6, "B-"), (7, "AB-")],
)
def test_functions_of_two_resources(kind: Armv7Model, function: int, active: str) -> None:
    """Table 3-6: the eight functions of comparators 1 and 2."""
    for name, address in (("A", A), ("B", B), ("-", ELSE)):
        unit = unit_with({EXTOUTEVR: function << 14 | 1 << 7}, kind).run(address)
        assert bool(unit.outputs) == (name in active)


@KINDS
def test_a_counter(kind: Armv7Model) -> None:
    """2.6: it counts down by its event, stays at zero, is readable."""
    writes = {CNTENR: BY_EVENT, CNTVR: 2, CNTRLDVR: 7, CNTRLDEVR: 0x01, EXTOUTEVR: COUNTER}
    unit = unit_with(writes, kind).run(ELSE, A)
    assert (unit.unit.read32(CNTVR), unit.outputs) == (1, [])
    unit.run(A, ELSE, A)
    assert (unit.unit.read32(CNTVR), unit.outputs) == (0, [1])
    unit.run(B)
    assert (unit.unit.read32(CNTVR), unit.outputs) == (7, [1, 0])
    unit.run(A)
    unit.unit.write32(CR, PROG | ETMEN)
    assert unit.unit.read32(CNTVR) == 6


def test_a_counter_that_counts_every_cycle() -> None:
    """Table 3-40: without the count enable source bit."""
    assert unit_with({CNTENR: NEVER, CNTVR: 9}).run(ELSE, A, B).unit.read32(CNTVR) == 6


def test_the_reduced_counter() -> None:
    """ETM-M4: it counts every cycle and reloads itself."""
    unit = unit_with({CNTRLDVR: 4, TRIGGER: COUNTER}, ETM_M4).run(*[ELSE] * 4)
    assert not unit.triggers
    assert unit.run(ELSE).triggers == 1
    assert unit.unit.read32(CNTVR) == 0


@KINDS
def test_the_sequencer(kind: Armv7Model) -> None:
    """3.5: each step by its event; two at once do nothing."""
    for n, (state, to) in enumerate(((1, 2), (2, 1), (2, 3), (3, 1), (3, 2), (1, 3))):
        unit = unit_with({SQ12EVR + 4 * n: 0x00, SQR: state - 1, EXTOUTEVR: STATE + to - 1}, kind).run(ELSE)
        assert (unit.unit.read32(SQR), unit.outputs) == (state - 1, [])
        unit.run(A)
        assert (unit.unit.read32(SQR), unit.outputs) == (to - 1, [1])
        unit.unit.write32(CR, PROG | ETMEN)
        assert unit.unit.read32(SQR) == to - 1
    both = {SQ12EVR: 0x00, SQ12EVR + 0x14: 0x00}
    assert unit_with(both, kind).run(A).unit.read32(SQR) == 0


@KINDS
def test_a_then_b_triggers(kind: Armv7Model) -> None:
    unit = unit_with({SQ12EVR: 0x00, SQ12EVR + 8: 0x01, TRIGGER: STATE + 2}, kind)
    assert unit.run(B, ELSE, A, ELSE).triggers == 0
    assert unit.run(B).triggers == 1


@KINDS
def test_external_inputs(kind: Armv7Model) -> None:
    unit = unit_with({EXTOUTEVR: INPUT + 2}, kind)
    unit.unit.pulse(2)
    assert unit.run(ELSE, ELSE).outputs == [1, 0]
    unit.unit.set_inputs(4)
    assert unit.run(ELSE, ELSE).outputs == [1, 0, 1]
    unit.unit.set_inputs(3)
    assert unit.run(ELSE).outputs == [1, 0, 1, 0]


def test_extended_external_inputs() -> None:
    """3.5: ETMEXTINSELR chooses one of many for each of the two."""
    unit = unit_with({EXTINSELR: 0x2A03, EXTOUTEVR: CHOSEN + 1}, PTM_A9)
    unit.unit.pulse(3)
    assert unit.run(ELSE).outputs == []
    unit.unit.pulse(0x2A)
    assert unit.run(ELSE, ELSE).outputs == [1, 0]


@KINDS
def test_the_enabling_event(kind: Armv7Model) -> None:
    """What is counted enables tracing, which the trace shows."""
    unit = unit_with({CNTENR: BY_EVENT, CNTVR: 1, TEEVR: COUNTER}, kind).run(ELSE, ELSE)
    unit.unit.flush()
    before = len(unit.sent)
    unit.run(A)
    unit.unit.flush()
    assert len(unit.sent) > before


def test_a_timestamp_at_an_event() -> None:
    found = []
    for event in (NEVER, 0x00):
        unit = unit_with({TSEVR: event}, ETM_DATA, TIMESTAMPS).run(ELSE, A, ELSE)
        unit.unit.write32(CR, PROG | ETMEN)
        found.append(bytes(unit.sent))
    assert len(found[1]) > len(found[0])


@pytest.mark.parametrize("function, store", [(9, False), (10, True), (11, False), (11, True)])
def test_the_dwt_tells_of_loads_and_stores(function: int, store: bool) -> None:
    """DDI 0403E, table C1-14: functions 9, 10 and 11."""
    unit = unit_with({TRIGGER: WATCH + 1}, ETM_M4)
    unit.dwt.write32(0x30, 0x20000010)
    unit.dwt.write32(0x38, function)
    assert isinstance(unit.unit, Etmv3Device)
    others = [(0x20000020, store)] + ([] if function == 11 else [(0x20000010, not store)])
    for address, kind in others:
        unit.unit.executed([ELSE], {0: (BusAccess(address, 4, 0, kind, 0),)})
    assert unit.triggers == 0
    unit.unit.executed([ELSE], {0: (BusAccess(0x20000010, 4, 0, store, 0),)})
    assert unit.triggers == 1


def test_a_comparator_of_stores_as_a_resource() -> None:
    """3.5, ETMACTR: type 6 compares the addresses of stores."""
    unit = unit_with({ACVR: 0x20000010, ACTR: 6, TRIGGER: 0x00})
    assert isinstance(unit.unit, Etmv3Device)
    unit.unit.executed([ELSE], {0: (BusAccess(0x20000010, 4, 0, False, 0),)})
    assert unit.triggers == 0
    unit.unit.executed([ELSE], {0: (BusAccess(0x20000012, 1, 0, True, 0), BusAccess(0x20000010, 1, 0, True, 1))})
    assert unit.triggers == 1
