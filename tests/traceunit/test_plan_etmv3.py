"""Vectors worked by hand, property tests: plans for ETMv3.

From the programming map (6.1; Lnnn is a line of it), else from IHI 0014Q.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import dwt, etmv3_page, ptm
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities, EtmV3Capabilities
from gdb_etm.traceunit.armv7.etmv3 import plan_program
from gdb_etm.traceunit.armv7.plan import plan_disable, plan_enable
from gdb_etm.traceunit.armv7.ptm import plan_program as plan_ptm
from gdb_etm.traceunit.options import AddressRange, DataTrace, ExceptionTrace, TraceOptions
from gdb_etm.traceunit.plan import Plan, RegisterChange, RegisterWrite

from . import units

KIB = 1024
TRUE, FALSE = 0x6F, 0x406F  # L786


def values(plan: Plan) -> Dict[str, int]:
    return {write.name: write.value for write in plan.writes}


def watched(plan: Plan) -> Dict[str, int]:
    return {write.name: write.value for write in plan.dwt}


def accesses(plan: Plan) -> List[str]:
    words = {RegisterWrite: "%s=%x", RegisterChange: "%s:%x=%x"}
    result = []
    for step in plan.steps:
        if isinstance(step, RegisterWrite):
            result.append(words[RegisterWrite] % (step.name, step.value))
        elif isinstance(step, RegisterChange):
            result.append(words[RegisterChange] % (step.name, step.mask, step.value))
        else:
            result.append("%s&%x==%x" % (step.name, step.mask, step.value))
    return result


def test_trace_everything() -> None:
    """L788: TEEVR TRUE, TECR1, TECR2 empty; ETMCR kept but Prog, ETMEN."""
    got = values(plan_program(TraceOptions(trace_id=0x12), units.A7, 4 * KIB))
    expected = {
        "ETMCR": 0x00000C60,
        "ETMTRACEIDR": 0x12,
        "ETMTEEVR": TRUE,
        "ETMTECR1": 0x01000000,
        "ETMTECR2": 0,
        "ETMTSSCR": 0,
        "ETMTRIGGER": FALSE,
        "ETMTSEVR": FALSE,
        "ETMSYNCFR": 512,
    }
    assert {name: got[name] for name in expected} == expected
    assert not any(name.startswith("ETMVD") for name in got)  # an A7's unit traces no data


def test_procedure() -> None:
    """L788: PowerDown first, then Prog alone (IHI 0014Q, 3.4.3), then wait."""
    for unit in units.ETMV3:
        steps = accesses(plan_program(TraceOptions(), unit, 4 * KIB))
        assert steps[:3] == ["ETMCR:1=0", "ETMCR:400=400", "ETMSR&2==2"] and steps[3].startswith("ETMCR=")
        assert not any(step.startswith("ETMCR") for step in steps[4:])
    assert accesses(plan_enable()) == ["ETMCR:400=0", "ETMSR&2==0"]
    assert accesses(plan_disable()) == ["ETMCR:400=400", "ETMSR&2==2"]


@pytest.mark.parametrize(
    "options, bits",
    [
        (dict(cycle_count=1), 1 << 12),
        (dict(timestamps=True), 1 << 28),
        (dict(context_id=True), 3 << 14),
        (dict(vmid=True), 1 << 30),
        (dict(branch_broadcast=True), 1 << 8),
        (dict(stall=True), 1 << 7),
        (dict(data=DataTrace.ADDRESSES), 1 << 3),
        (dict(data=DataTrace.VALUES), 1 << 2),
        (dict(data=DataTrace.BOTH), 3 << 2),
    ],
)
def test_main_control(options: Dict[str, Any], bits: int) -> None:
    """L759: the options' bits of ETMCR."""
    assert plan_program(TraceOptions(**options), units.FULL, 4 * KIB).value("ETMCR") == 0xC60 | bits


def test_data_trace() -> None:
    """L788: VDEVR is TRUE; without data trace it is FALSE."""
    got = values(plan_program(TraceOptions(data=DataTrace.BOTH), units.FULL, 4 * KIB))
    assert [got["ETMVDEVR"], got["ETMVDCR1"], got["ETMVDCR2"], got["ETMVDCR3"]] == [TRUE, 0, 0, 0x10000]
    assert values(plan_program(TraceOptions(), units.FULL, 4 * KIB))["ETMVDEVR"] == FALSE


def test_data_of_an_address_range() -> None:
    """L770, L771: VDCR3 includes the pair; type 4; exclusive end."""
    options = TraceOptions(data=DataTrace.VALUES, data_include=(AddressRange(0x20000000, 0x200000FF),))
    got = values(plan_program(options, units.FULL, 4 * KIB))
    assert (got["ETMVDCR3"], got["ETMTECR1"]) == (0x8, 0x01000000)
    assert [got[name] for name in ("ETMACVR7", "ETMACVR8", "ETMACTR7", "ETMACTR8")] == [0x20000000, 0x20000100, 4, 4]
    with pytest.raises(UnsupportedError, match=r"cannot compare their addresses \(ETMCCER.NoDataComp is 1\)"):
        capabilities = EtmV3Capabilities({**units.FULL.registers, "ETMCCER": 0x3C401800})
        plan_program(options, capabilities, 4 * KIB)


@pytest.mark.parametrize(
    "pair, ends, size",
    [
        ((0x1000, 0x10FF), (0x1000, 0x1100), 3),  # whole words: ARM instructions too
        ((0x1000, 0x10FE), (0x1000, 0x1100), 3),  # up to the instruction at 0x10fe
        ((0x1002, 0x10FF), (0x1002, 0x1100), 1),  # Thumb: bit 0 is not compared
        ((0x1000, 0x1005), (0x1000, 0x1006), 1),
        ((0xFFFFFF00, 0xFFFFFFFF), (0xFFFFFF00, 0xFFFFFFFF), 1),
    ],
)
def test_ends_of_ranges(pair: Any, ends: Any, size: int) -> None:
    """L771: type 1, no size; exclusive end (IHI 0014Q, 2.7.10)."""
    got = values(plan_program(TraceOptions(include=(AddressRange(*pair),)), units.A7, 4 * KIB))
    assert (got["ETMACVR7"], got["ETMACVR8"]) == ends and got["ETMTECR1"] == 0x8
    assert got["ETMACTR7"] == got["ETMACTR8"] == 1 | size << 3


def test_include_without_exclude() -> None:
    """L795: one list; exclusions are cut out of inclusions."""
    include, exclude = AddressRange(0x1000, 0x1FFF), AddressRange(0x1400, 0x17FF)
    got = values(plan_program(TraceOptions(include=(include,), exclude=(exclude,)), units.A7, 4 * KIB))
    assert got["ETMTECR1"] == 0xC
    assert [got["ETMACVR%d" % n] for n in (7, 8, 5, 6)] == [0x1000, 0x1400, 0x1800, 0x2000]
    got = values(plan_program(TraceOptions(exclude=(exclude,)), units.A7, 4 * KIB))
    assert got["ETMTECR1"] == 0x01000008 and (got["ETMACVR7"], got["ETMACVR8"]) == (0x1400, 0x1800)
    with pytest.raises(UnsupportedError, match="nothing is left to trace"):
        plan_program(TraceOptions(include=(exclude,), exclude=(include,)), units.A7, 4 * KIB)


def test_start_and_stop() -> None:
    """L765, L768: comparators from the first; L763: on with stops alone."""
    plan = plan_program(TraceOptions(start_at=(0x1000,), stop_at=(0x2000, 0x3002)), units.A7, 4 * KIB)
    got = values(plan)
    assert (got["ETMTSSCR"], got["ETMTECR1"], got["ETMSR"]) == (0x00060001, 0x03000000, 0)
    assert [got["ETMACVR%d" % n] for n in (1, 2, 3)] == [0x1000, 0x2000, 0x3002]
    assert [got["ETMACTR%d" % n] for n in (1, 2, 3)] == [0x19, 0x19, 0x09]
    got = values(plan_program(TraceOptions(stop_at=(0x2000,)), units.A7, 4 * KIB))
    assert (got["ETMTSSCR"], got["ETMSR"]) == (0x00010000, 4)


def test_too_few_comparators() -> None:
    ranges = tuple(AddressRange(n << 12, (n << 12) + 0xFF) for n in range(4))
    plan_program(TraceOptions(include=ranges), units.A7, 4 * KIB)
    with pytest.raises(UnsupportedError) as error:
        plan_program(TraceOptions(include=ranges, start_at=(0,)), units.A7, 4 * KIB)
    assert str(error.value) == "this unit has 4 pairs of address comparators (ETMCCR.AddrPairs); the filters need 5"
    with pytest.raises(UnsupportedError, match="compares 32 bits"):
        plan_program(TraceOptions(include=(AddressRange(0, 1 << 32),)), units.A7, 4 * KIB)


def test_m4() -> None:
    """L790: no comparators, a reduced counter, fixed period; port size kept."""
    plan = plan_program(TraceOptions(timestamps=True), units.M4, 2 * KIB)
    got = values(plan)
    assert got == {
        "ETMCR": 0x10000C10,
        "ETMTRACEIDR": 0x10,
        "ETMTRIGGER": FALSE,
        "ETMTSEVR": FALSE,
        "ETMFFLR": 12,
        "ETMTEEVR": TRUE,
        "ETMTECR1": 0x01000000,
        "ETMTESSEICR": 0,
        "ETMCNTRLDVR1": 0,
    }
    assert plan.sync_bytes == 1024 and not plan.dwt
    (write,) = [write for write in plan.writes if write.name == "ETMTECR1"]
    assert write.mask == 1 << 25


@pytest.mark.parametrize(
    "options, event, comparators",
    [
        (dict(include=(AddressRange(0x1000, 0x17FF),)), 0x23, {3: (0x1000, 11)}),
        (dict(exclude=(AddressRange(0x1000, 0x17FF),)), 0x4023, {3: (0x1000, 11)}),
        (dict(include=(AddressRange(0x1000, 0x1BFF),)), 0x15123, {3: (0x1000, 11), 2: (0x1800, 10)}),
        (
            dict(exclude=(AddressRange(0x100, 0x1FF), AddressRange(0x300, 0x303))),
            0x11123,
            {3: (0x100, 8), 2: (0x300, 2)},
        ),
    ],
)
def test_ranges_of_m4(options: Dict[str, Any], event: int, comparators: Dict[int, Any]) -> None:
    """L786, L790: inputs 0x20 to 0x23 are the DWT's; masks (L886)."""
    plan = plan_program(TraceOptions(**options), units.M4, 2 * KIB)
    got = watched(plan)
    assert plan.value("ETMTEEVR") == event and plan.value("ETMTECR1") == 0x01000000
    for n, (address, mask) in comparators.items():
        assert (got["DWT_COMP%d" % n], got["DWT_MASK%d" % n], got["DWT_FUNCTION%d" % n]) == (address, mask, 8)
    assert len(got) == 3 * len(comparators)
    assert plan.notes[-1].startswith("the filter takes comparators of the DWT (3")


def test_start_and_stop_of_m4() -> None:
    """L780: ETMTESSEICR: start in bits 3:0, stop in 19:16."""
    plan = plan_program(TraceOptions(start_at=(0x1002,), stop_at=(0x2000,)), units.M4, 2 * KIB)
    assert (plan.value("ETMTESSEICR"), plan.value("ETMTECR1")) == (0x00040008, 0x03000000)
    got = watched(plan)
    assert [got[name] for name in ("DWT_COMP3", "DWT_MASK3", "DWT_COMP2", "DWT_MASK2")] == [0x1002, 0, 0x2000, 0]


def test_what_the_dwt_cannot() -> None:
    ragged = TraceOptions(include=(AddressRange(0x1002, 0x1FFF),))
    with pytest.raises(UnsupportedError, match=r"powers of two of at most 32768 bytes: the filters need 11 of these"):
        plan_program(ragged, units.M4, 2 * KIB)
    taken = EtmV3Capabilities({**units.M4.registers, "DWT_FUNCTION3": 5, "DWT_FUNCTION2": 5, "DWT_FUNCTION0": 5})
    assert watched(plan_program(TraceOptions(stop_at=(8,)), taken, 2 * KIB))["DWT_FUNCTION1"] == 8
    with pytest.raises(UnsupportedError, match=r"\(ETMCCR.AddrPairs\), and of the DWT's 1 are free: .* need 2; watch"):
        plan_program(TraceOptions(start_at=(4,), stop_at=(8,)), taken, 2 * KIB)
    alone = EtmV3Capabilities({**units.M4.registers, "DWT_CTRL": 0})
    with pytest.raises(UnsupportedError, match=r"has 0 pairs of address comparators \(ETMCCR.AddrPairs\)"):
        plan_program(TraceOptions(include=(AddressRange(0, 3),)), alone, 2 * KIB)


@pytest.mark.parametrize(
    "unit, options, message",
    [
        (units.M4, dict(cycle_count=1), r"cycle counts: not in this trace unit \(ETMCR.CycleAccurate stays 0\)"),
        (units.A7, dict(cycle_count=16), r"counts every cycle, so it must be 1 \(ETMCR.CycleAccurate\)"),
        (units.R4, dict(timestamps=True), r"timestamps: not in this trace unit \(ETMCCER.Timestamp is 0\)"),
        (units.M4, dict(context_id=True), r"Context ID: not in this trace unit \(ETMCR.ContextIDSize stays 0\)"),
        (units.R4, dict(vmid=True), r"VMID: not in this trace unit \(ETMCCER.Virtualization is 0\)"),
        (units.A7, dict(data=DataTrace.BOTH), r"data addresses: not in this trace unit \(ETMCR.DataAddress stays 0\)"),
        (units.A7, dict(stall=True), r"stalling the processor: not in this trace unit \(ETMCCR.FIFOFULL is 0\)"),
        (units.A7, dict(return_stack=True), r"return stack: an ETMv3 has none \(ETMIDR.Major\)"),
        (units.M4, dict(sync_bytes=256), r"fixed at 1024 bytes \(ETMSYNCFR.Frequency\)"),
        (units.A7, dict(sync_bytes=4096), r"this unit takes 256 to 2048 \(ETMSYNCFR.Frequency\)"),
    ],
)
def test_what_units_lack(unit: EtmV3Capabilities, options: Dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as error:
        plan_program(TraceOptions(**options), unit, 4 * KIB)
    assert error.value.register in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("buffer_bytes, sync", [(2 * KIB, 256), (4 * KIB, 512), (64 * KIB, 2048), (256, 256)])
def test_sync_period_suits_the_buffer(buffer_bytes: int, sync: int) -> None:
    """L777: ETMSYNCFR has 12 bits."""
    plan = plan_program(TraceOptions(), units.A7, buffer_bytes)
    assert plan.sync_bytes == plan.value("ETMSYNCFR") == sync


def test_old_units_cannot_be_read_back() -> None:
    """Before ETMv3.1 there is no ETMCCER; few registers are readable."""
    plan = plan_program(TraceOptions(), units.OLD, 4 * KIB)
    assert {write.name for write in plan.writes if write.mask} == {"ETMCR"}
    assert not {"ETMTSEVR", "ETMCNTVR1", "ETMSQR", "ETMEXTINSELR"} & {write.name for write in plan.writes}


_RANGES = st.tuples(st.integers(0, 0xFFFF0000), st.integers(0, 0xFFFF)).map(
    lambda pair: AddressRange(pair[0], pair[0] + pair[1])
)
_ADDRESSES = st.lists(st.integers(0, 0x1FFFFFFFF), max_size=2).map(tuple)
OPTIONS = st.builds(
    lambda data, stop_at, **more: TraceOptions(
        data=data,
        stop_at=tuple(at for at in stop_at if at not in more["start_at"]),
        **(dict(more, data_include=()) if not data else more),
    ),
    data=st.sampled_from(DataTrace),
    trace_id=st.integers(1, 0x6E),
    return_stack=st.sampled_from([None, True, False]),
    cycle_count=st.none() | st.integers(1, 2),
    timestamps=st.booleans(),
    context_id=st.booleans(),
    vmid=st.booleans(),
    branch_broadcast=st.booleans(),
    stall=st.booleans(),
    sync_bytes=st.none() | st.integers(7, 12).map(lambda n: 1 << n),
    include=st.lists(_RANGES, max_size=2).map(tuple),
    exclude=st.lists(_RANGES, max_size=2).map(tuple),
    exceptions=st.sampled_from(ExceptionTrace),
    contexts=st.lists(st.integers(0, 9), max_size=2).map(tuple),
    secure=st.booleans(),
    start_at=_ADDRESSES,
    stop_at=_ADDRESSES,
    data_include=st.lists(_RANGES, max_size=2).map(tuple),
)


@given(OPTIONS, st.sampled_from([*units.ETMV3, *units.PTM]), st.integers(256, 1 << 20))
def test_any_options(options: TraceOptions, unit: Armv7Capabilities, buffer_bytes: int) -> None:
    """A plan, or an error with a field; the same twice."""
    plan_it: Any = plan_program if isinstance(unit, EtmV3Capabilities) else plan_ptm
    page = etmv3_page.PAGE if isinstance(unit, EtmV3Capabilities) else ptm.PAGE
    try:
        plan = plan_it(options, unit, buffer_bytes)
    except UnsupportedError as error:
        register, field = error.register.split(".")
        assert field in page.by_name[register].fields and register in str(error) and "\n" not in str(error)
        return
    assert plan == plan_it(options, unit, buffer_bytes)
    offsets = [write.offset for write in plan.writes]
    assert len(set(offsets)) == len(offsets)
    for write, where in [(write, page) for write in plan.writes] + [(write, dwt.PAGE) for write in plan.dwt]:
        register = where.by_name[write.name]
        assert write.offset == register.offset and register.access == "RW" and write.why
        assert write.value >> 32 == 0 and write.value & ~register.mask == 0
    assert plan.value("ETMCR") & 0x401 == 0x400 and all(plan.lines())
    assert re.match("instruction trace", next(write.why for write in plan.writes if write.name == "ETMCR"))
