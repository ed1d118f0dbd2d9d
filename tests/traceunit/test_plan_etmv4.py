"""Vectors worked by hand, property tests: plans for ETMv4.

AT-nn: programming map section 5, with the lines of IHI 0064's text.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_disable, plan_enable, plan_program
from gdb_etm.traceunit.options import AddressRange, DataTrace, TraceOptions
from gdb_etm.traceunit.plan import Plan, RegisterWrite

from . import units

KIB = 1024


def values(plan: Plan) -> Dict[str, int]:
    return {write.name: write.value for write in plan.writes}


def accesses(plan: Plan) -> List[str]:
    return [
        (
            "%s=%x" % (step.name, step.value)
            if isinstance(step, RegisterWrite)
            else "%s&%x==%x" % (step.name, step.mask, step.value)
        )
        for step in plan.steps
    ]


def test_program_flow_trace() -> None:
    """AT-01, L6528-L6551 (example 4.5.1, table 4-15)."""
    options = TraceOptions(
        return_stack=True, timestamps=True, vmid=True, context_id=True, sync_bytes=4096, trace_id=0x20
    )
    got = values(plan_program(options, units.A53, 4 * KIB))
    expected = {
        "TRCCONFIGR": 0x18C1,
        "TRCEVENTCTL0R": 0,
        "TRCEVENTCTL1R": 0,
        "TRCSTALLCTLR": 0,
        "TRCSYNCPR": 0xC,
        "TRCTRACEIDR": 0x20,
        "TRCTSCTLR": 0,
        "TRCVICTLR": 0x201,
        "TRCVIIECTLR": 0,
        "TRCVISSCTLR": 0,
    }
    assert {name: got[name] for name in expected} == expected


def test_program_flow_trace_of_m33() -> None:
    """AT-01 on the M33's unit: no Context ID, VMID; fixed period."""
    got = values(plan_program(TraceOptions(timestamps=True), units.M33, 4 * KIB))
    assert got["TRCCONFIGR"] == 0x1801 and "TRCSYNCPR" not in got and "TRCVIIECTLR" not in got
    with pytest.raises(UnsupportedError, match="Context ID: not in this trace unit") as error:
        plan_program(TraceOptions(context_id=True), units.M33, 4 * KIB)
    assert error.value.register == "TRCIDR2.CIDSIZE"
    with pytest.raises(UnsupportedError, match="TRCIDR2.VMIDSIZE is 0"):
        plan_program(TraceOptions(vmid=True), units.M33, 4 * KIB)


def test_program_data_trace() -> None:
    """AT-02, L6553-L6580 (example 4.5.2), without conditional instructions."""
    options = TraceOptions(return_stack=True, vmid=True, context_id=True, trace_id=0x20, data=DataTrace.BOTH)
    got = values(plan_program(options, units.DATA, 4 * KIB))
    expected = {"TRCCONFIGR": 0x318C7, "TRCVDCTLR": 0x1001, "TRCVDSACCTLR": 0, "TRCVDARCCTLR": 0, "TRCTRACEIDR": 0x20}
    assert {name: got[name] for name in expected} == expected
    # Without addresses, or without values; timestamps are on all the same, for the streams are aligned by them (L1318).
    for data, bits in ((DataTrace.ADDRESSES, 0x11807), (DataTrace.VALUES, 0x21807)):
        assert values(plan_program(TraceOptions(data=data), units.DATA, 4 * KIB))["TRCCONFIGR"] == bits
    off = values(plan_program(TraceOptions(), units.DATA, 4 * KIB))
    assert (off["TRCCONFIGR"], off["TRCVDCTLR"]) == (0x1001, 1)


def test_data_trace_that_is_not_there() -> None:
    with pytest.raises(UnsupportedError, match="data trace: not in this trace unit .TRCIDR0.TRCDATA is 0") as error:
        plan_program(TraceOptions(data=DataTrace.VALUES), units.M33, 4 * KIB)
    assert error.value.register == "TRCIDR0.TRCDATA"


def test_trace_ids_of_data_trace() -> None:
    """AT-60, L18047: before 4.5 the next ID, the first even."""
    with pytest.raises(UnsupportedError, match="trace ID 0x21: with data trace this unit needs an even one"):
        plan_program(TraceOptions(trace_id=0x21, data=DataTrace.BOTH), units.DATA, 4 * KIB)
    newer = Capabilities({**units.DATA.registers, "TRCIDR1": 0x4100F452})
    got = values(plan_program(TraceOptions(trace_id=0x21, data=DataTrace.BOTH), newer, 4 * KIB))
    assert got["TRCTRACEIDR"] == 0x2221
    assert values(plan_program(TraceOptions(trace_id=0x21), newer, 4 * KIB))["TRCTRACEIDR"] == 0x21
    with pytest.raises(ValueError, match="the data stream needs the next one"):
        TraceOptions(trace_id=0x6F, data=DataTrace.BOTH)


def test_procedure() -> None:
    """AT-20, L6007-L6023: disable, wait for idle, program, enable, wait for not idle."""
    for unit in units.ALL:
        steps = accesses(plan_program(TraceOptions(), unit, 4 * KIB))
        assert steps[:2] == ["TRCPRGCTLR=0", "TRCSTATR&1==1"]
        assert not any(step.startswith(("TRCPRGCTLR", "TRCSTATR")) for step in steps[2:])
    assert accesses(plan_enable()) == ["TRCPRGCTLR=1", "TRCSTATR&1==0"]
    # L17946 (PMSTABLE), L3539 (IDLE)
    assert accesses(plan_disable()) == ["TRCPRGCTLR=0", "TRCSTATR&2==2", "TRCSTATR&1==1"]


def test_sync_periods() -> None:
    """AT-23, L17989: 8 to 20; a fixed period cannot be chosen."""
    for period in range(8, 21):
        assert values(plan_program(TraceOptions(sync_bytes=1 << period), units.A53, 4 * KIB))["TRCSYNCPR"] == period
    for wrong in (1, 128, 1 << 21):
        with pytest.raises(UnsupportedError, match="TRCSYNCPR.PERIOD"):
            plan_program(TraceOptions(sync_bytes=wrong), units.A53, 4 * KIB)
    with pytest.raises(UnsupportedError, match="fixed at 1024 bytes") as error:
        plan_program(TraceOptions(sync_bytes=512), units.M33, 4 * KIB)
    assert error.value.register == "TRCIDR3.SYNCPR"
    assert plan_program(TraceOptions(sync_bytes=1024), units.M33, 4 * KIB).sync_bytes == 1024


@pytest.mark.parametrize(
    "buffer_bytes, sync",
    [(4 * KIB, 512), (2 * KIB, 256), (1 * KIB, 256), (64 * KIB, 8 * KIB), (48 * KIB, 4 * KIB), (1 << 30, 1 << 20)],
)
def test_sync_period_suits_the_buffer(buffer_bytes: int, sync: int) -> None:
    """At least four synchronisation points, where the unit can (L2154)."""
    plan = plan_program(TraceOptions(), units.A53, buffer_bytes)
    assert plan.sync_bytes == sync and values(plan)["TRCSYNCPR"] == sync.bit_length() - 1
    assert plan.notes == ()


def test_include_and_exclude() -> None:
    """AT-40: ranges take the last comparator pairs first, both ends inclusive (L4448)."""
    options = TraceOptions(include=(AddressRange(0x1000, 0x10FF),), exclude=(AddressRange(0x1040, 0x107F),))
    got = values(plan_program(options, units.A53, 4 * KIB))
    assert [got["TRCACVR%d" % n] for n in (6, 7, 4, 5)] == [0x1000, 0x10FF, 0x1040, 0x107F]
    assert got["TRCVIIECTLR"] == 0x00040008 and got["TRCVICTLR"] == 0x201
    assert [got["TRCACATR%d" % n] for n in range(8)] == [0] * 8
    assert [got["TRCACVR%d[63:32]" % n] for n in range(8)] == [0] * 8


def test_wide_addresses() -> None:
    """L6125: both words of a 64-bit comparator are written."""
    options = TraceOptions(include=(AddressRange(0xFFFF000008081000, 0xFFFF0000080810FF),))
    got = values(plan_program(options, units.A53, 4 * KIB))
    assert (got["TRCACVR6"], got["TRCACVR6[63:32]"]) == (0x08081000, 0xFFFF0000)
    with pytest.raises(UnsupportedError, match="compares 32 bits"):
        plan_program(TraceOptions(include=(AddressRange(1 << 32, 1 << 32),)), units.DATA, 4 * KIB)


def test_neighbours_share_a_comparator_pair() -> None:
    options = TraceOptions(include=(AddressRange(0x200, 0x2FF), AddressRange(0x100, 0x1FF), AddressRange(0x180, 0x280)))
    got = values(plan_program(options, units.A53, 4 * KIB))
    assert (got["TRCACVR6"], got["TRCACVR7"], got["TRCVIIECTLR"]) == (0x100, 0x2FF, 0x8)


def test_too_few_comparators() -> None:
    ranges = tuple(AddressRange(n * 0x1000, n * 0x1000 + 0xFF) for n in range(5))
    with pytest.raises(UnsupportedError) as error:
        plan_program(TraceOptions(include=ranges), units.A53, 4 * KIB)
    assert str(error.value) == ("this unit has 4 address comparator pairs (TRCIDR4.NUMACPAIRS);" " the filters need 5")
    with pytest.raises(UnsupportedError, match=r"has 0 address comparator pairs \(TRCIDR4.NUMACPAIRS\)"):
        plan_program(TraceOptions(include=ranges[:1]), units.M33, 4 * KIB)


def test_cycle_counts() -> None:
    """AT-46 and AT-47: threshold at least TRCIDR3.CCITMIN (L15065)."""
    got = values(plan_program(TraceOptions(cycle_count=16, return_stack=False), units.M33, 4 * KIB))
    assert got["TRCCONFIGR"] == 0x11 and got["TRCCCCTLR"] == 0x10
    got = values(plan_program(TraceOptions(cycle_count=4, timestamps=True), units.M33, 4 * KIB))
    assert got["TRCCONFIGR"] == 0x1811
    for wrong in (3, 4096):
        with pytest.raises(UnsupportedError, match=r"takes 4 \(TRCIDR3.CCITMIN\) to 4095"):
            plan_program(TraceOptions(cycle_count=wrong), units.M33, 4 * KIB)


def test_branch_broadcast() -> None:
    plan = plan_program(TraceOptions(branch_broadcast=True), units.A53, 4 * KIB)
    assert plan.value("TRCCONFIGR") == 0x1009 and plan.value("TRCBBCTLR") == 0
    assert plan.notes == ("branch broadcast overrides the return stack",)


def test_start_and_stop() -> None:
    """AT-41: single comparators from the first; SSSTATUS is 0."""
    got = values(plan_program(TraceOptions(start_at=(0x1000,), stop_at=(0x2000,)), units.A53, 4 * KIB))
    assert (got["TRCACVR0"], got["TRCACVR1"], got["TRCVISSCTLR"], got["TRCVICTLR"]) == (0x1000, 0x2000, 0x20001, 1)
    (control,) = [
        write
        for write in plan_program(TraceOptions(start_at=(4,)), units.A53, 4 * KIB).writes
        if write.name == "TRCVICTLR"
    ]
    assert not control.mask & 0x200  # it changes by itself
    got = values(plan_program(TraceOptions(stop_at=(0x2000,)), units.A53, 4 * KIB))
    assert (got["TRCVISSCTLR"], got["TRCVICTLR"]) == (0x10000, 0x201)
    ranges = tuple(AddressRange(n * 0x1000, n * 0x1000 + 0xFF) for n in range(3))
    got = values(plan_program(TraceOptions(include=ranges, start_at=(0x1000,), stop_at=(0x2000,)), units.A53, 4 * KIB))
    assert (got["TRCVIIECTLR"], got["TRCVISSCTLR"]) == (0xE, 0x20001)
    with pytest.raises(UnsupportedError, match=r"has 4 address comparator pairs .*; the filters need 5"):
        plan_program(TraceOptions(include=ranges, start_at=(1, 2, 3)), units.A53, 4 * KIB)
    with pytest.raises(UnsupportedError, match=r"TRCIDR4.NUMACPAIRS"):
        plan_program(TraceOptions(stop_at=(0x2000,)), units.M33, 4 * KIB)


def test_data_of_an_address_range() -> None:
    """L18088, L14652: TRCVDARCCTLR.INCLUDE and comparators of loads and stores (TYPE is 3)."""
    options = TraceOptions(trace_id=0x10, data=DataTrace.BOTH, data_include=(AddressRange(0x20000000, 0x200000FF),))
    got = values(plan_program(options, units.DATA, 4 * KIB))
    assert (got["TRCVDARCCTLR"], got["TRCVDSACCTLR"], got["TRCVIIECTLR"]) == (8, 0, 0)
    assert (got["TRCACVR6"], got["TRCACVR7"]) == (0x20000000, 0x200000FF)
    assert (got["TRCACATR6"], got["TRCACATR7"], got["TRCACATR0"]) == (3, 3, 0)


def test_stalling() -> None:
    """L17829: ISTALL, only where TRCIDR3.SYSSTALL is set."""
    plan = plan_program(TraceOptions(stall=True), units.A53, 4 * KIB)
    (write,) = [write for write in plan.writes if write.name == "TRCSTALLCTLR"]
    assert write.value == 0x10F and not write.mask & 3
    with pytest.raises(UnsupportedError, match="TRCIDR3.STALLCTL is 0"):
        plan_program(TraceOptions(stall=True), units.MINIMAL, 4 * KIB)


def test_minimal_unit() -> None:
    """AT-58, L16524: no selectors, no TRCEVENTCTL0R; AT-59: v4.2 has it."""
    minimal = values(plan_program(TraceOptions(), units.MINIMAL, 4 * KIB))
    assert minimal["TRCVICTLR"] == 0x201 and "TRCEVENTCTL0R" not in minimal
    assert values(plan_program(TraceOptions(), units.ONE_PAIR, 4 * KIB))["TRCEVENTCTL0R"] == 0


def test_everything_that_the_m33_has_is_written() -> None:
    """Programming map 3.5, against App. C configuration 1 (L19921)."""
    assert sorted(values(plan_program(TraceOptions(), units.M33, 4 * KIB))) == sorted(
        (
            "TRCPRGCTLR",
            "TRCCONFIGR",
            "TRCEVENTCTL0R",
            "TRCEVENTCTL1R",
            "TRCSTALLCTLR",
            "TRCTSCTLR",
            "TRCCCCTLR",
            "TRCTRACEIDR",
            "TRCVICTLR",
            "TRCVIPCSSCTLR",
            "TRCCNTRLDVR0",
            "TRCRSCTLR2",
            "TRCRSCTLR3",
            "TRCSSCCR0",
            "TRCSSCSR0",
            "TRCSSPCICR0",
        )
    )


def test_counts_of_what_the_others_have() -> None:
    def count(unit: Capabilities, pattern: str) -> int:
        return sum(bool(re.fullmatch(pattern, name)) for name in values(plan_program(TraceOptions(), unit, 4 * KIB)))

    assert count(units.A53, r"TRCRSCTLR\d+") == 14 and count(units.A53, r"TRCACVR\d\[63:32\]") == 8
    assert count(units.A53, r"TRCCNT\w+") == 6 and count(units.A53, r"TRCSEQ\w+") == 5
    assert count(units.A53, "TRCCIDC.*") == 2 and count(units.A53, "TRCVMIDC.*") == 1
    assert count(units.DATA, r"TRCDVC.*") == 4 and count(units.DATA, r"TRCVD\w+") == 3
    assert count(units.MINIMAL, r"TRC(RSCTLR|CNT|SEQ|AC|SS).*") == 0


def test_plan_as_text() -> None:
    assert plan_program(TraceOptions(), units.MINIMAL, 2 * KIB).lines() == [
        "0x004  TRCPRGCTLR           0x00000000  disabled while it is programmed",
        "0x00c  TRCSTATR             wait for 0x1 of 0x1: writes may be dropped until it is idle",
        "0x010  TRCCONFIGR           0x00001001  instruction trace, return stack",
        "0x024  TRCEVENTCTL1R        0x00000000  no events in the trace",
        "0x030  TRCTSCTLR            0x00000000  no timestamps beyond the usual ones",
        "0x038  TRCCCCTLR            0x00000004  cycle count threshold",
        "0x040  TRCTRACEIDR          0x00000010  trace ID",
        "0x080  TRCVICTLR            0x00000201  trace always, at every exception level",
    ]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(trace_id=0), "must be from 0x01 to 0x6f"),  # AT-60, V-12
        (dict(trace_id=0x70), "must be from 0x01 to 0x6f"),
        (dict(include=(AddressRange(2, 1),)), "ends before it starts"),  # V-20
        (dict(sync_bytes=1000), "power of two"),
        (dict(cycle_count=0), "at least 1"),  # V-06
        (dict(data_include=(AddressRange(0, 1),)), "data trace is off"),
        (dict(start_at=(-4,)), "at least 0"),
    ],
)
def test_options_refuse(wrong: Dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TraceOptions(**wrong)


_RANGES = st.tuples(st.integers(0, 0xFFFF0000), st.integers(0, 0xFFFF)).map(
    lambda pair: AddressRange(pair[0], pair[0] + pair[1])
)
_OPTIONS = st.builds(
    TraceOptions,
    trace_id=st.integers(1, 0x6F),
    return_stack=st.sampled_from([None, True, False]),
    cycle_count=st.none() | st.integers(1, 5000),
    timestamps=st.booleans(),
    context_id=st.booleans(),
    vmid=st.booleans(),
    branch_broadcast=st.booleans(),
    sync_bytes=st.none() | st.integers(7, 21).map(lambda n: 1 << n),
    include=st.lists(_RANGES, max_size=3).map(tuple),
    exclude=st.lists(_RANGES, max_size=3).map(tuple),
)


@given(_OPTIONS, st.sampled_from(units.ALL), st.integers(256, 1 << 20))
def test_any_options(options: TraceOptions, unit: Capabilities, buffer_bytes: int) -> None:
    """A plan, or an error with a field; the same twice."""
    try:
        plan = plan_program(options, unit, buffer_bytes)
    except UnsupportedError as error:
        assert re.match(r"TRC[A-Z0-9]+\.[A-Z]+$", error.register) and error.register in str(error)
        return
    assert plan == plan_program(options, unit, buffer_bytes)
    offsets = [write.offset for write in plan.writes]
    assert len(set(offsets)) == len(offsets)
    for write in plan.writes:
        register = PAGE.by_name[write.name.replace("[63:32]", "")]
        assert write.offset - register.offset == (4 if "[" in write.name else 0) and register.access == "RW"
        assert write.value >> 32 == 0 and write.why
    assert plan.value("TRCVICTLR") == 0x201 and plan.value("TRCCONFIGR") & 1
