"""Vectors worked by hand from IHI 0064, 4.2 to 4.4: resources."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Dict, List, Sequence, Tuple

import pytest

from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.dwt import Armv7Comparator, Armv8Comparator, Dwt
from gdb_etm.board.etm import Etmv4Device
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.resources import Counts, ResourceLogic
from gdb_etm.board.units import ETM_M7, ETM_M33, UnitModel

BASE = 0x1000
A, B, JUMP, ELSE = 0x1000, 0x1010, 0x1012, 0x1020
# NOPs, and at JUMP a branch to ELSE.
NOPS = bytes.fromhex("00bf") * 9 + bytes.fromhex("05e0") + bytes.fromhex("00bf") * 0x800
TRACE_ID, ATB_TRIGGER = 0x10, 0x7D

PRGCTLR, STATR, EVENTCTL0R, EVENTCTL1R, TSCTLR = 0x004, 0x00C, 0x020, 0x024, 0x030
VICTLR, VIIECTLR, VISSCTLR, VIPCSSCTLR = 0x080, 0x084, 0x088, 0x08C
SEQEVR, SEQRSTEVR, SEQSTR, EXTINSELR = 0x100, 0x118, 0x11C, 0x120
CNTRLDVR, CNTCTLR, CNTVR = 0x140, 0x150, 0x160
RSCTLR, SSCCR, SSCSR, SSPCICR, ACVR, ACATR, DVCVR, DVCMR = 0x200, 0x280, 0x2A0, 0x2C0, 0x400, 0x480, 0x500, 0x580
FIRED = 1 << 31

_RESOURCES = (*range(0x020, 0x0A4, 4), *range(0x100, 0x180, 4), *range(0x200, 0x2E0, 4), *range(0x400, 0x600, 4))
Writes = Dict[int, int]


class Unit:
    """A unit with all resources, what it sent, and its external outputs."""

    def __init__(self, model: UnitModel = ETM_M33, resources: str = "full") -> None:
        self.sent: List[Tuple[int, bytes]] = []
        self.outputs: List[int] = []
        self.told = 0
        kind = Armv8Comparator if model is ETM_M33 else Armv7Comparator
        self.dwt = Dwt(InstructionClock(), lambda: True, {}, 4, kind)
        options = BoardOptions(resources=resources, speculation=0)
        self.unit = Etmv4Device(model, 0xE0041000, self._code, self.dwt, self._take, options)
        self.unit.outputs = self.outputs.append

    def _code(self, address: int) -> bytes:
        return NOPS[address - BASE : address - BASE + 4]

    def _take(self, trace_id: int, data: bytes) -> None:
        self.sent.append((trace_id, data))

    def start(self, writes: Writes) -> None:
        """Program everything, what is not given with 0, and enable."""
        values = {**dict.fromkeys(_RESOURCES, 0), 0x010: 1, 0x040: TRACE_ID, VICTLR: 0x201, **writes}
        for offset, value in values.items():
            self.unit.write32(offset, value)
        self.unit.write32(PRGCTLR, 1)
        self.data()

    def stop(self) -> None:
        self.unit.write32(PRGCTLR, 0)

    def run(self, *addresses: int) -> List[int]:
        """Let instructions execute; return the Event packets that they give, in order."""
        for address in addresses:
            self.unit.executed([address])
        return [byte & 0xF for byte in self.data() if byte >> 4 == 7]

    def data(self) -> bytes:
        """Return what it has sent since this was asked last."""
        self.unit.flush()
        data = b"".join(data for _, data in self.sent[self.told :])
        self.told = len(self.sent)
        return data


def unit_with(writes: Writes) -> Unit:
    """Start a unit with event 0, and comparators at A and B."""
    unit = Unit()
    unit.start({ACVR: A, ACVR + 8: B, EVENTCTL1R: 1, **writes})
    return unit


def test_identification() -> None:
    """TRCIDR0, 4 and 5 tell what there is (7.3.34, 7.3.38, 7.3.39)."""
    counts = [
        Counts.of(*(unit.read32(offset) for offset in (0x1E0, 0x1F0, 0x1F4)))
        for unit in (Unit(resources="own").unit, Unit().unit)
    ]
    assert counts[0] == Counts(0, 4, 1, 1, True, 0, 0, 2)
    assert counts[1] == Counts(4, 16, 2, 4, False, 4, 4, 4)
    assert Unit(ETM_M7).unit.read32(0x1F0) == 0x00274124


def test_all_registers_hold_what_they_implement() -> None:
    unit = Unit().unit
    for offset in _RESOURCES:
        unit.write32(offset, 0xFFFFFFFF)
    assert [unit.read32(RSCTLR + 4 * n) for n in (0, 1, 2, 15)] == [0, 0, 0x3FFFFF, 0x1FFFFF]
    assert [unit.read32(CNTCTLR + 4 * n) for n in range(4)] == [0x18F8F, 0x38F8F, 0x18F8F, 0x38F8F]
    assert unit.read32(SSCCR + 4) == 0x010F00FF
    assert unit.read32(SSCSR) == 0x80000009
    assert (unit.read32(EVENTCTL0R), unit.read32(SEQEVR + 8), unit.read32(SEQSTR)) == (0x8F8F8F8F, 0x8F8F, 3)


def test_one_of_two_comparators_drives_an_output() -> None:
    """Appendix E.1: one selector is an OR of members of its group."""
    unit = unit_with({RSCTLR + 8: 0x00040003, EVENTCTL0R: 0x02})
    unit.run(ELSE, A, ELSE, B, A, ELSE)
    assert unit.outputs == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "a_inverted, b_inverted, pair_inverted, function",
    [
        (0, 0, 0, lambda a, b: a and b),
        (0, 0, 1, lambda a, b: not (a and b)),
        (1, 0, 0, lambda a, b: not a and b),
        (0, 1, 1, lambda a, b: not a or b),
        (1, 1, 0, lambda a, b: not a and not b),
        (1, 1, 1, lambda a, b: a or b),
    ],
)
def test_pairs_of_selectors(a_inverted: int, b_inverted: int, pair_inverted: int, function: object) -> None:
    """Table 4-14, with external inputs for A and B."""
    assert callable(function)
    unit = Unit()
    even = pair_inverted << 21 | a_inverted << 20 | 1
    unit.start({EXTINSELR: 0x0100, RSCTLR + 8: even, RSCTLR + 12: b_inverted << 20 | 2, EVENTCTL0R: 0x81})
    for a, b in itertools.product((0, 1), repeat=2):
        unit.unit.set_inputs(a | b << 1)
        unit.run(ELSE)
        active = unit.outputs[-1] if unit.outputs else 0
        assert active == bool(function(a, b)), (a, b)


def test_an_event_element_is_before_the_block_that_it_is_in() -> None:
    """5.2.17: not before the P0 element before it."""
    unit = unit_with({RSCTLR + 8: 0x00040001, EVENTCTL0R: 0x02})
    unit.unit.executed([ELSE, A])
    unit.unit.debug_entry(A + 2)
    # Trace On, address with context, Event 0, Exception.
    assert unit.data().hex(" ").startswith("04 81 00 96 90 10 71 06")


def test_events_while_nothing_is_traced() -> None:
    """4.2.5: filtered instructions drive comparators; 4.1.2: FALSE traces nothing."""
    unit = unit_with({RSCTLR + 8: 0x00040001, EVENTCTL0R: 0x02, VICTLR: 0x200})
    assert unit.run(ELSE, A, ELSE) == [1]


def test_two_events_at_once_are_one_packet() -> None:
    """6.4.11; an event without INSTEN gives none."""
    unit = unit_with({RSCTLR + 8: 0x00040001, EVENTCTL0R: 0x02020202, EVENTCTL1R: 0xB})
    assert unit.run(A) == [0xB]
    assert unit.outputs[0] == 0xF


def test_the_trigger_on_the_trace_bus() -> None:
    """7.3.28: ATID 0x7D; its data is the trace ID; event 0 only."""
    unit = unit_with({RSCTLR + 8: 0x00040001, RSCTLR + 12: 0x00040002, EVENTCTL0R: 0x0302, EVENTCTL1R: 1 << 11})
    unit.run(B)
    assert not [data for trace_id, data in unit.sent if trace_id == ATB_TRIGGER]
    unit.run(A)
    assert [data for trace_id, data in unit.sent if trace_id == ATB_TRIGGER] == [bytes((TRACE_ID,))]


@pytest.mark.parametrize("address, active", [(0x103E, 0), (0x1040, 1), (0x1050, 1), (0x105E, 1), (0x1060, 0)])
def test_a_range(address: int, active: int) -> None:
    """4.2.5: both ends are in it."""
    writes = {ACVR + 0x10: 0x1040, ACVR + 0x18: 0x105E, RSCTLR + 8: 0x00050002, EVENTCTL0R: 0x02}
    assert unit_with(writes).run(ELSE, address) == [1] * active


def test_an_exception_level() -> None:
    """7.3.2: EXLEVEL_S[3] keeps a comparator from Handler mode."""
    unit = unit_with({ACATR: 0x800, RSCTLR + 8: 0x00040001, EVENTCTL0R: 0x02})
    unit.unit.exception(16, ELSE)
    assert unit.run(A) == []
    unit.unit.exception_return()
    assert unit.run(A) == [1]


# Counters.


@pytest.mark.parametrize("reload, count, value", list(itertools.product((0, 1), (0, 1), (0, 1, 5))))
def test_a_counter_in_normal_mode(reload: int, count: int, value: int) -> None:
    """Table 4-4."""
    after = 9 if reload else value - 1 if count and value else value
    assert counted(reload, count, value, 0) == (after, int(value == 0))


@pytest.mark.parametrize("reload, count, value", list(itertools.product((0, 1), (0, 1), (0, 1, 5))))
def test_a_counter_that_reloads_itself(reload: int, count: int, value: int) -> None:
    """Table 4-5."""
    after = 9 if reload or count and value == 0 else value - 1 if count else value
    assert counted(reload, count, value, 1) == (after, int(not reload and bool(count) and value == 0))


def counted(reload: int, count: int, value: int, itself: int) -> Tuple[int, int]:
    """Spend a cycle; return a counter and whether it was zero."""
    control = itself << 16 | reload << 8 | count
    # Another counter, which only comes after it, keeps the event at zero from being constant.
    writes = {CNTCTLR: control, CNTVR: value, CNTRLDVR: 9, RSCTLR + 8: 0x00020001, EVENTCTL0R: 0x02}
    unit = unit_with(writes)
    events = unit.run(ELSE)
    unit.stop()
    return unit.unit.read32(CNTVR), len(events)


def test_a_chain_of_counters() -> None:
    """4.2.1: the upper counter counts the lower one's reloads."""
    lower = {CNTCTLR: 0x00010002, CNTRLDVR: 0xFFFF, CNTVR: 0, RSCTLR + 8: 0x00040001}
    unit = unit_with({**lower, CNTCTLR + 4: 1 << 17, CNTVR + 4: 0x1234})
    unit.run(ELSE, A, ELSE)
    assert (unit.unit.read32(CNTVR + 4), unit.unit.read32(CNTVR)) == (0x1233, 0xFFFF)


def test_every_third_call() -> None:
    """4.2.1: a counter that reloads N fires every N + 1 events."""
    writes = {CNTCTLR: 0x00010002, CNTRLDVR: 2, CNTVR: 2, RSCTLR + 8: 0x00040001, RSCTLR + 12: 0x00020001}
    unit = unit_with({**writes, EVENTCTL0R: 0x03})
    assert [len(unit.run(A, ELSE)) for _ in range(9)] == [0, 0, 1] * 3


def test_a_counter_at_zero_when_the_unit_is_disabled() -> None:
    """4.4.6: a match before the unit is idle gives one Event."""
    writes = {CNTCTLR: 0x00010002, RSCTLR + 8: 0x00040001, RSCTLR + 12: 0x00020001, EVENTCTL0R: 0x03}
    unit = unit_with(writes)
    unit.unit.executed([A])
    unit.stop()
    assert [byte for byte in unit.data() if byte >> 4 == 7] == [0x71]


def test_the_reduced_counter() -> None:
    """4.2.1: it counts every cycle and cannot be read."""
    unit = Unit(resources="own")
    unit.start({CNTRLDVR: 9, RSCTLR + 8: 0x00020001, EVENTCTL0R: 0x02, EVENTCTL1R: 1})
    cycles = [len(unit.run(ELSE)) for _ in range(40)]
    first = cycles.index(1)
    assert first <= 9 and cycles == [0] * first + ([1] + [0] * 9) * 3 + [1] + [0] * (9 - first)
    assert unit.unit.read32(CNTVR) == 0


def test_counters_are_read_while_they_count_and_stay_afterwards() -> None:
    """3.5.2 and 3.5.3: enabling resets nothing."""
    unit = unit_with({CNTCTLR + 8: 0x00000002, CNTVR + 8: 100, RSCTLR + 8: 0x00040001})
    unit.run(A, ELSE, A)
    assert unit.unit.read32(CNTVR + 8) == 98
    unit.stop()
    while not unit.unit.read32(STATR) & 1:
        pass
    unit.unit.write32(PRGCTLR, 1)
    unit.run(A)
    assert unit.unit.read32(CNTVR + 8) == 97


# The sequencer.


@pytest.mark.parametrize("state", range(4))
def test_the_sequencer(state: int) -> None:
    """Table 4-8: each row with each combination of events."""
    for f0, f1, f2, b0, b1, b2, reset in itertools.product((False, True), repeat=7):
        rows: Sequence[Sequence[bool]] = (
            (not f0, f0 and not f1, f0 and f1 and not f2, f0 and f1 and f2),
            (b0 and not f1 and not f0, (not b0 or f0) and not f1, f1 and not f2, f1 and f2),
            (
                b1 and b0 and not (f0 or f1 or f2),
                b1 and (not b0 or f0) and not f1 and not f2,
                (not b1 or f1) and not f2,
                f2,
            ),
            (
                b2 and b1 and b0 and not (f0 or f1 or f2),
                b2 and b1 and (not b0 or f0) and not f2 and not f1,
                b2 and (not b1 or f1) and not f2,
                not b2 or f2,
            ),
        )
        expected = 0 if reset else list(rows[state]).index(True)
        registers = {SEQSTR: state, SEQRSTEVR: int(reset)}
        registers.update({SEQEVR + 4 * n: b << 8 | f for n, (f, b) in enumerate(((f0, b0), (f1, b1), (f2, b2)))})
        counts = Counts(0, 16, 0, 0, False, 4, 0, 1)
        resources = ResourceLogic(defaultdict(int, registers).__getitem__, counts)
        resources.step(0)
        assert resources.state == expected, registers


def test_a_then_b() -> None:
    """4.2.2: two comparators, in this order, lead to state 2."""
    comparators = {RSCTLR + 8: 0x00040001, RSCTLR + 12: 0x00040002}
    writes = {**comparators, RSCTLR + 16: 0x00020040, SEQEVR: 0x02, SEQEVR + 4: 0x03, EVENTCTL0R: 0x04}
    unit = unit_with(writes)
    assert [len(unit.run(address)) for address in (B, ELSE, A, A, ELSE)] == [0] * 5
    assert unit.unit.read32(SEQSTR) == 1
    assert unit.run(B, ELSE, ELSE) == [1]
    unit.stop()
    assert unit.unit.read32(SEQSTR) == 2


def test_states_that_are_passed_through_are_active() -> None:
    """4.2.2: two steps in one cycle; state 1 is active in it."""
    writes = {RSCTLR + 8: 0x00040001, RSCTLR + 12: 0x00020020, SEQEVR: 0x02, SEQEVR + 4: 0x02, EVENTCTL0R: 0x03}
    assert unit_with(writes).run(ELSE, A) == [1]
    assert unit_with({**writes, SEQSTR: 3, SEQRSTEVR: 0x02}).run(ELSE, A) == []


# Single-shot controls and what drives them.


@pytest.mark.parametrize("control, events", [(0x00000001, 1), (0x01000001, 3), (0x00040000, 1)])
def test_a_single_shot(control: int, events: int) -> None:
    """4.2.5: it fires once, or with RST each time."""
    writes = {ACVR + 0x20: A, ACVR + 0x28: A, SSCCR: control, RSCTLR + 8: 0x00030001, EVENTCTL0R: 0x02}
    unit = unit_with(writes)
    assert not unit.unit.read32(SSCSR) & FIRED
    assert len(unit.run(A, ELSE, A, ELSE, A)) == events
    assert unit.unit.read32(SSCSR) & FIRED
    unit.stop()
    assert unit.unit.read32(SSCSR) & FIRED


def test_a_single_shot_that_has_fired_before() -> None:
    """7.3.67: with STATUS set and RST clear no more matches are possible."""
    assert unit_with({SSCCR: 1, SSCSR: FIRED, RSCTLR + 8: 0x00030001, EVENTCTL0R: 0x02}).run(A) == []


@pytest.mark.parametrize("model, function", [(ETM_M33, 0x2), (ETM_M7, 0x8)])
def test_the_dwt_drives_pe_comparator_inputs(model: UnitModel, function: int) -> None:
    """4.2.8; DDI 0553, DWT_FUNCTION.MATCH; DDI 0403E, table C1-14."""
    unit = Unit(model, "own")
    shot = {SSPCICR: 2, SSCCR: 1 << 24, RSCTLR + 12: 0x00030001}
    unit.start({RSCTLR + 8: 0x00010001, **shot, EVENTCTL0R: 0x0302, EVENTCTL1R: 3})
    unit.dwt.write32(0x20, A)
    unit.dwt.write32(0x28, function)
    assert unit.run(A, ELSE, B) == [1]
    unit.dwt.write32(0x30, B)
    unit.dwt.write32(0x38, function)
    assert unit.run(A, ELSE, B) == [1, 2]
    assert unit.dwt.read32(0x28) & 1 << 24


@pytest.mark.parametrize("model, function", [(ETM_M33, 0x805), (ETM_M7, 0xA)])
def test_the_dwt_tells_of_stores(model: UnitModel, function: int) -> None:
    unit = Unit(model, "own")
    unit.start({RSCTLR + 8: 0x00010001, EVENTCTL0R: 0x02, EVENTCTL1R: 1})
    unit.dwt.write32(0x20, 0x20000010)
    unit.dwt.write32(0x28, function)
    assert unit.dwt.reports_data and not unit.dwt.watches
    for store, address in ((False, 0x20000010), (True, 0x20000010), (True, 0x20000020)):
        unit.unit.executed([ELSE], {0: (BusAccess(address, 4, 0, store, 0),)})
        assert len(unit.run(ELSE)) == (store and address == 0x20000010)


# Loads and stores, on a unit that has comparators for them.

WORD, HALF = 2 << 18, 1 << 18


@pytest.mark.parametrize(
    "kind, access, matches",
    [
        (1, BusAccess(0x20000010, 4, 0, False, 0), True),
        (1, BusAccess(0x20000010, 4, 0, True, 0), False),
        (2, BusAccess(0x20000010, 4, 0, True, 0), True),
        (3, BusAccess(0x20000013, 1, 0, True, 0), False),
        (3, BusAccess(0x2000000E, 4, 0, False, 0), True),
        (3, BusAccess(0x20000014, 4, 0, False, 0), False),
        (0x10001 | WORD, BusAccess(0x20000010, 4, 0xDEADBEEF, False, 0), True),
        (0x10001 | WORD, BusAccess(0x20000010, 4, 0xDEADBEEE, False, 0), False),
        (0x30001 | WORD, BusAccess(0x20000010, 4, 0xDEADBEEE, False, 0), True),
        (0x10001 | WORD, BusAccess(0x20000010, 2, 0xBEEF, False, 0), False),
        (0x10001 | HALF, BusAccess(0x20000010, 4, 0xFFFFBEEF, False, 0), True),
        (0x10001 | HALF, BusAccess(0x2000000F, 4, 0xBEEFBEEF, False, 0), False),
    ],
)
def test_data_comparators(kind: int, access: BusAccess, matches: bool) -> None:
    """4.2.5, 7.3.2, table 4-10: bytes, kind of access, and value."""
    unit = Unit(ETM_M7)
    value = 0xDEADBEEF if kind & WORD else 0xBEEFBEEF
    comparator = {ACVR: 0x20000010, ACATR: kind, DVCVR: value}
    unit.start({**comparator, RSCTLR + 8: 0x00040001, EVENTCTL0R: 0x02, EVENTCTL1R: 1})
    unit.unit.executed([ELSE], {0: (access,)})
    assert len(unit.run(ELSE)) == matches


def test_a_byte_some_of_whose_bits_are_not_compared() -> None:
    """7.3.25: a store of 0x5A to 0x20000010, bits 2 to 0 ignored."""
    unit = Unit(ETM_M7)
    comparator = {ACVR: 0x20000010, ACATR: 0x00010002, DVCVR: 0x58585858, DVCMR: 0x07070707}
    unit.start({**comparator, RSCTLR + 8: 0x00040001, EVENTCTL0R: 0x02, EVENTCTL1R: 1})
    for value, matches in ((0x5A, True), (0x5F, True), (0x60, False)):
        unit.unit.executed([ELSE], {0: (BusAccess(0x20000010, 1, value, True, 0),)})
        assert len(unit.run(ELSE)) == matches


def test_the_loads_of_a_range() -> None:
    """4.2.5: a range compares values of just its size."""
    unit = Unit(ETM_M7)
    kind = 0x00110001 | WORD
    comparator = {ACVR: 0x20001000, ACVR + 8: 0x2000100F, ACATR: kind, ACATR + 8: kind, DVCVR: 7}
    unit.start({**comparator, RSCTLR + 8: 0x00050001, EVENTCTL0R: 0x02, EVENTCTL1R: 1})
    for address, size, matches in ((0x20001008, 4, True), (0x20001008, 1, False), (0x20001010, 4, False)):
        unit.unit.executed([ELSE], {0: (BusAccess(address, size, 7, False, 0),)})
        assert len(unit.run(ELSE)) == matches


# External inputs, timestamps and ViewInst.


def test_external_inputs() -> None:
    """4.2.3: TRCEXTINSELR selects; without it group 0 has the first four.

    4 and 5 are the board's own.
    """
    unit = Unit()
    writes = {EXTINSELR: 0x00000504, RSCTLR + 8: 1, RSCTLR + 12: 2, EVENTCTL0R: 0x0302, EVENTCTL1R: 3}
    unit.start(writes)
    unit.unit.exception(16, ELSE)
    assert unit.run(ELSE, ELSE) == [1]
    unit.unit.exception_return()
    assert unit.run(ELSE, ELSE) == [2]
    flat = Unit(resources="own")
    flat.start({RSCTLR + 8: 1 << 2, EVENTCTL0R: 2, EVENTCTL1R: 1})
    flat.unit.pulse(2)
    assert flat.run(ELSE, ELSE) == [1]
    flat.unit.pulse(1)
    assert flat.run(ELSE, ELSE) == []


def test_the_enabling_event() -> None:
    """Appendix E.2: comparator 5 or counter 1 at zero, as one pair."""
    writes = {RSCTLR + 8: 0x00340020, RSCTLR + 12: 0x00120002, VICTLR: 0x281, ACVR + 0x28: A, CNTVR + 4: 1}
    unit = unit_with(writes)
    unit.unit.executed([ELSE, A, ELSE, ELSE, A])
    unit.unit.debug_entry(ELSE)
    data = unit.data()
    # What is between two traced instructions is not traced: these run into each other without a branch.
    assert data.count(b"\x04") == 1
    unit = unit_with({**writes, VICTLR: 0x201})
    unit.run(ELSE)
    assert unit.data() == b""


def test_a_timestamp_at_an_event() -> None:
    """7.3.73: the resource becomes active, a timestamp follows."""
    found = []
    for event in (0, 2):
        unit = unit_with({0x010: 1 | 1 << 11, RSCTLR + 8: 0x00040001, TSCTLR: event})
        unit.unit.executed([JUMP, ELSE, JUMP, A, JUMP, ELSE])
        found.append(b"".join(data for _, data in unit.sent[unit.told :]) + unit.data())
    # Between where execution went, which is A, the fourth instruction, and the atom of the branch in A's block.
    assert found[0][-3:].hex(" ") == "96 00 f7"
    assert found[1] == found[0][:-1] + bytes.fromhex("02 04 f7")


def test_start_and_stop_by_a_load() -> None:
    """4.1.2: TRCVISSCTLR is for instruction addresses only."""
    unit = Unit(ETM_M7)
    unit.start({ACVR: 0x1000, ACATR: 1, VISSCTLR: 1, VICTLR: 1})
    unit.run(0x1000)
    assert not unit.unit.read32(VICTLR) & 0x200
