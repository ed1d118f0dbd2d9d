"""Vectors worked by hand: every option in plans, and refusals.

AT-nn: programming map section 5, with the lines of IHI 0064's text.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

import pytest

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.armv7.etmv3 import plan_program as plan_etmv3
from gdb_etm.traceunit.armv7.ptm import plan_program as plan_ptm
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_program as plan_etmv4
from gdb_etm.traceunit.identification import Identification
from gdb_etm.traceunit.options import AddressRange, Conditionals, DataTrace, ExceptionLevel, QElements, TraceOptions
from gdb_etm.traceunit.plan import Plan

from . import units

KIB = 1024
ONE, OTHER = AddressRange(0x20001000, 0x20001000), AddressRange(0x20002000, 0x200020FF)
CODE = AddressRange(0x1000, 0x10FF)
# The A53's unit with all that it has not: overflow prevention, Q elements of every sort, conditionals.
MORE = Capabilities({**units.A53.registers, "TRCIDR0": 0x28000EA1 | 3 << 15 | 1 << 14 | 1 << 6, "TRCIDR3": 0x8D7B0004})


def plan(unit: Identification, **options: Any) -> Plan:
    planner: Callable[..., Plan] = plan_etmv4
    if unit in units.ETMV3:
        planner = plan_etmv3
    if unit in units.PTM:
        planner = plan_ptm
    return planner(TraceOptions(**options), unit, 4 * KIB)


@pytest.mark.parametrize("level, value", [(None, 0x10F), (15, 0x10F), (4, 0x104), (0, 0x100)])
def test_stall_level(level: Any, value: int) -> None:
    """L17829: ISTALL is bit 8, LEVEL 3:0, perhaps without low bits."""
    found = plan(units.A53, stall=True, stall_level=level)
    (write,) = [each for each in found.writes if each.name == "TRCSTALLCTLR"]
    assert write.value == value and not write.mask & 3 and write.mask & 0xC == 0xC


def test_overflow_prevention() -> None:
    """L17861: NOOVERFLOW is bit 13."""
    assert plan(MORE, overflow_prevention=True).value("TRCSTALLCTLR") == 0x2000
    assert plan(MORE, overflow_prevention=True, stall=True, stall_level=8).value("TRCSTALLCTLR") == 0x2108


def test_branch_broadcast_in_one_range() -> None:
    """AT-57: TRCBBCTLR.MODE is bit 8; V-08: the comparators are of instructions."""
    found = plan(units.A53, branch_broadcast=True, broadcast_ranges=(CODE,))
    assert (found.value("TRCBBCTLR"), found.value("TRCCONFIGR") & 8, found.value("TRCVIIECTLR")) == (0x108, 8, 0)
    assert [found.value("TRCACVR%d" % n) for n in (6, 7)] == [0x1000, 0x10FF]
    assert [found.value("TRCACATR%d" % n) for n in (6, 7)] == [0, 0]
    assert ("branch-broadcast", CODE, "pair 3") in found.taken
    assert plan(units.A53, branch_broadcast=True).value("TRCBBCTLR") == 0


def test_data_in_and_out() -> None:
    """AT-56: an address takes one comparator, a range two (V-42)."""
    found = plan(units.DATA, data=DataTrace.BOTH, data_include=(ONE,), data_exclude=(OTHER,))
    assert (found.value("TRCVDSACCTLR"), found.value("TRCVDARCCTLR")) == (0x1, 0x00080000)
    assert (found.value("TRCACVR0"), found.value("TRCACVR6"), found.value("TRCACVR7")) == (
        0x20001000,
        0x20002000,
        0x200020FF,
    )
    assert [found.value("TRCACATR%d" % n) for n in (0, 6, 7)] == [3, 3, 3]
    found = plan(units.DATA, data=DataTrace.BOTH, data_include=(OTHER,), data_exclude=(ONE,))
    assert (found.value("TRCVDSACCTLR"), found.value("TRCVDARCCTLR")) == (0x10000, 0x8)


def test_data_in_and_out_of_an_etmv3() -> None:
    """Programming map 6.1: ETMVDCR3 7:0 includes, 15:8 excludes; bit 16."""
    both = plan(units.FULL, data=DataTrace.BOTH, data_include=(ONE,), data_exclude=(OTHER,))
    assert both.value("ETMVDCR3") == 0x00000408
    assert [both.value("ETMACVR%d" % n) for n in (7, 8, 5, 6)] == [0x20001000, 0x20001001, 0x20002000, 0x20002100]
    assert plan(units.FULL, data=DataTrace.BOTH, data_exclude=(OTHER,)).value("ETMVDCR3") == 0x00010800


@pytest.mark.parametrize("which, field", [("loads", 1), ("stores", 2), ("both", 3), ("all", 7)])
def test_conditional_instructions(which: str, field: int) -> None:
    """V-05, L15592: COND is 10:8."""
    assert plan(units.DATA, conditional=Conditionals(which)).value("TRCCONFIGR") == 0x1001 | field << 8


def test_instructions_and_data_in_full() -> None:
    """AT-02, L6553-L6580 (example 4.5.2, table 4-16), as the text has it."""
    found = plan(
        units.DATA,
        return_stack=True,
        timestamps=True,
        vmid=True,
        context_id=True,
        trace_id=0x20,
        data=DataTrace.BOTH,
        conditional=Conditionals.ALL,
        sync_bytes=4096,
    )
    # The text writes DV and DA, bits 17 and 16, as 0x00031FC7.
    assert found.value("TRCCONFIGR") == 0x00031FC7
    expected = {
        "TRCVDARCCTLR": 0,
        "TRCVDSACCTLR": 0,
        "TRCTRACEIDR": 0x20,
        "TRCSYNCPR": 0xC,
        "TRCEVENTCTL0R": 0,
        "TRCEVENTCTL1R": 0,
        "TRCSTALLCTLR": 0,
        "TRCTSCTLR": 0,
        "TRCVICTLR": 0x201,
        "TRCVIIECTLR": 0,
        "TRCVISSCTLR": 0,
    }
    assert {name: found.value(name) for name in expected} == expected
    assert found.value("TRCVDCTLR") & 0xFFF == 1  # and the data of exceptions, which the text leaves out


@pytest.mark.parametrize(
    "supported, asked, field",
    [
        (1, QElements.ON, 1),
        (1, QElements.COUNTS, 1),
        (2, QElements.ON, 3),
        (3, QElements.ON, 3),
        (3, QElements.COUNTS, 1),
    ],
)
def test_q_elements(supported: int, asked: QElements, field: int) -> None:
    """L15584, L16035: QSUPP 1 with counts, 2 without, 3 both."""
    unit = Capabilities({**MORE.registers, "TRCIDR0": 0x28000EA1 | supported << 15})
    assert plan(unit, q_elements=asked).value("TRCCONFIGR") == 0x1001 | field << 13


@pytest.mark.parametrize(
    "levels, value",
    [
        ((ExceptionLevel(1, True),), 0x005B0201),  # AT-44: only Non-secure EL1
        ((ExceptionLevel(3),), 0x00730201),  # AT-45: only EL3
        ((ExceptionLevel(0), ExceptionLevel(0, True)), 0x006A0201),
    ],
)
def test_exception_levels(levels: Any, value: int) -> None:
    assert plan(units.A53, levels=levels).value("TRCVICTLR") == value


def test_contexts_and_machines() -> None:
    """L15559: CID bit 6, VMID bit 7; ETMCR 15:14 and 30."""
    assert plan(units.A53, context_id=True, vmid=True).value("TRCCONFIGR") == 0x10C1
    assert plan(units.A7, context_id=True).value("ETMCR") >> 14 & 3 == 3
    assert plan(units.A15, context_id=True, vmid=True).value("ETMCR") & (1 << 30 | 3 << 14) == 1 << 30 | 3 << 14


@pytest.mark.parametrize("level, left", [(None, 32), (15, 64), (0, 1), (5, 21)])
def test_stall_level_of_an_etmv3(level: Any, left: int) -> None:
    """IHI 0014Q, 3.5 (ETMFFLR): bytes left of the FIFO's 64."""
    unit = type(units.FULL)({**units.FULL.registers, "ETMSCR": 0x00000D00})
    assert plan(unit, stall=True, stall_level=level).value("ETMFFLR") == left


def test_an_etmv3_tells_conditions_anyway() -> None:
    found = plan(units.A7, conditional=Conditionals.ALL)
    assert found.notes == ("an ETMv3 always traces whether the condition of each instruction held",)


@pytest.mark.parametrize(
    "unit, options, message",
    [
        (units.MINIMAL, dict(cycle_count=3), "takes 4 (TRCIDR3.CCITMIN) to 4095"),
        (units.A53, dict(overflow_prevention=True), "not in this trace unit (TRCIDR3.NOOVERFLOW is 0)"),
        (units.MINIMAL, dict(overflow_prevention=True), "TRCIDR3.STALLCTL is 0"),
        (units.MINIMAL, dict(stall=True), "TRCIDR3.STALLCTL is 0"),
        (units.MINIMAL, dict(branch_broadcast=True), "TRCIDR0.TRCBB is 0"),
        (units.A53, dict(conditional=Conditionals.ALL), "not in this trace unit (TRCIDR0.TRCCOND is 0)"),
        (units.A53, dict(q_elements=QElements.ON), "Q elements: not in this trace unit (TRCIDR0.QSUPP is 0)"),
        (units.M33, dict(branch_broadcast=True, broadcast_ranges=(CODE,)), "0 address comparator pairs (TRCIDR4"),
        (
            units.M33,
            dict(levels=(ExceptionLevel(1),)),
            "exception level s1: not in this trace unit (TRCIDR3.EXLEVEL_S is 0x9)",
        ),
        (
            units.A53,
            dict(levels=(ExceptionLevel(2),)),
            "exception level s2: not in this trace unit (TRCIDR3.EXLEVEL_S is 0xb)",
        ),
        (
            units.A53,
            dict(levels=(ExceptionLevel(1),), secure=False),
            "every exception level is left out (TRCVICTLR.EXLEVEL_S)",
        ),
        (units.A7, dict(overflow_prevention=True), "overflow prevention: not in an ETMv3 or a PTM (ETMIDR.Major)"),
        (units.A9, dict(q_elements=QElements.ON), "Q elements: not in an ETMv3 or a PTM (ETMIDR.Major)"),
        (units.A9, dict(levels=(ExceptionLevel(1),)), "exception levels: not in an ETMv3 or a PTM (ETMIDR.Major)"),
        (units.A9, dict(conditional=Conditionals.LOADS), "a PTM traces branches only (ETMIDR.Major)"),
        (units.A7, dict(branch_broadcast=True, broadcast_ranges=(CODE,)), "at all or none (ETMCR.BranchBroadcast)"),
        (units.M4, dict(context_id=True), "Context ID: not in this trace unit (ETMCR.ContextIDSize stays 0)"),
        (units.A7, dict(vmid=False, data=DataTrace.BOTH), "not in this trace unit (ETMCR.DataAddress stays 0)"),
        (units.R4, dict(vmid=True), "VMID: not in this trace unit (ETMCCER.Virtualization is 0)"),
        (units.R4, dict(stall=True), "ETMCCR.FIFOFULL is 0"),
    ],
)
def test_what_a_unit_lacks(unit: Identification, options: Dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        plan(unit, **options)
    assert message in str(error.value) and error.value.register in str(error.value)


@pytest.mark.parametrize(
    "other", [dict(data=DataTrace.BOTH), dict(conditional=Conditionals.ALL), dict(branch_broadcast=True)]
)
def test_q_elements_stand_alone(other: Dict[str, Any]) -> None:
    """V-03, L15586: not with loads and stores, conditional instructions or branch broadcast."""
    unit = Capabilities({**units.DATA.registers, "TRCIDR0": units.DATA.registers["TRCIDR0"] | 3 << 15})
    with pytest.raises(UnsupportedError, match=r"no trace unit can do both \(TRCCONFIGR.QE\)"):
        plan(unit, q_elements=QElements.ON, **other)
    with pytest.raises(UnsupportedError, match=r"has those without \(TRCIDR0.QSUPP is 2\)"):
        plan(Capabilities({**MORE.registers, "TRCIDR0": 0x28000EA1 | 2 << 15}), q_elements=QElements.COUNTS)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(stall=True, stall_level=16), "must be from 0 to 15"),
        (dict(stall_level=3), "stalling is off"),
        (dict(broadcast_ranges=(CODE,)), "branch broadcast: it is off"),
        (dict(data_exclude=(ONE,)), "data trace is off"),
        (dict(levels=(ExceptionLevel(4),)), "numbered 0 to 3"),
        (dict(cycle_count=0), "at least 1"),
        (dict(sync_bytes=1000), "power of two"),
    ],
)
def test_what_makes_no_sense_whatever_the_unit(options: Dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TraceOptions(**options)
