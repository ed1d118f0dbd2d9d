"""Property tests, some worked by hand: ETMv3 and PTM units.

A model of their registers holds to the programming rules (IHI 0014Q, 3.4.3).
"""

from __future__ import annotations

from itertools import count
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.coresight.components import Component, ComponentKind
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.drivers import make_unit
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.unit import TraceUnit

from . import units
from .armv7 import DWT, POWER_DOWN, PROG, UNIT, Registers
from .ports import Interrupted
from .test_plan_etmv3 import OPTIONS

ALL = [*units.ETMV3, *units.PTM]


def unit_on(registers: Registers) -> TraceUnit:
    ticks = iter(range(1 << 20))
    return make_unit(registers.component, Deadline(20.0, lambda: float(next(ticks))), registers.dwt)


def attached(has: Armv7Capabilities, **state: Any) -> Any:
    registers = Registers(has, **state)
    unit = unit_on(registers)
    unit.attach()
    return registers, unit


@pytest.mark.parametrize("has", ALL)
def test_attaching_finds_what_there_is(has: Armv7Capabilities) -> None:
    registers = Registers(has)
    found = registers.settings()
    unit = unit_on(registers)
    unit.attach()
    known: Dict[str, int] = dict(getattr(unit, "capabilities").registers)
    expected = dict(has.registers, ETMAUTHSTATUS=0x0C)
    assert {name: known[name] for name in expected if name != "ETMCR"} == {
        name: value for name, value in expected.items() if name != "ETMCR"
    }
    assert known["ETMCR"] & has.probe_bits == has.registers["ETMCR"] & has.probe_bits
    status = unit.status()
    assert status.claimed and status.idle and status.powered and not status.enabled and not unit.enabled
    assert not registers.words[0] & POWER_DOWN and registers.words[0] & PROG
    unit.release()
    assert registers.settings() == found


@pytest.mark.parametrize("has", ALL)
def test_start_and_stop(has: Armv7Capabilities) -> None:
    registers, unit = attached(has)
    plan = unit.plan(TraceOptions(trace_id=0x21), 4096)
    unit.program(plan)
    assert not unit.enabled
    unit.enable()
    assert unit.enabled and unit.status().enabled and not unit.status().idle
    registers.reset()
    unit.disable()
    unit.ensure(plan)
    unit.enable()
    unit.disable()
    assert not unit.enabled
    sources = unit.capture_registers()
    assert sources["ETMTRACEIDR"] == 0x21 and sources["ETMIDR"] == has.registers["ETMIDR"]
    assert sources.keys() >= {"ETMCR", "ETMCCER"} and sources["ETMCR"] & ~0xC70 == plan.value("ETMCR") & ~0xC70


@given(OPTIONS, st.sampled_from(ALL))
def test_any_plan_reads_back(options: TraceOptions, has: Armv7Capabilities) -> None:
    """Each plan is taken and restored; twice, with another in between."""
    registers = Registers(has)
    found = registers.settings()
    unit = unit_on(registers)
    unit.attach()
    try:
        plan = unit.plan(options, 4096)
    except UnsupportedError:
        plan = unit.plan(TraceOptions(), 4096)
    for each in (plan, unit.plan(TraceOptions(), 4096), plan):
        unit.program(each)
        for write in each.writes + list(each.dwt):
            base = DWT if write.name.startswith("DWT") else UNIT
            last = [other.value for other in each.writes + list(each.dwt) if other.name == write.name][-1]
            assert (registers.read32(base + write.offset) ^ last) & write.mask == 0
        unit.enable()
        unit.disable()
    unit.release()
    assert registers.settings() == found


@pytest.mark.parametrize("has", [units.M4, units.A15])
def test_others_put_it_back(has: Armv7Capabilities) -> None:
    """The process beside GDB carries out ``restoration()`` with the unit running."""
    registers = Registers(has)
    found = registers.settings()
    unit = unit_on(registers)
    unit.attach()
    unit.program(unit.plan(TraceOptions(exclude=(AddressRange(0x1000, 0x1FFF),)), 4096))
    unit.enable()
    steps = unit.restoration()
    assert len(steps) < 256
    for port, address, value, mask in steps:
        if mask:
            assert any(port.read32(address) & mask == value for _ in range(10))
        else:
            port.write32(address, value)
    assert registers.settings() == found


def test_a_unit_that_traced_traces_again() -> None:
    """Tracing that was found goes on after release."""
    registers = Registers(units.A9)
    registers.words[0] &= ~(PROG | POWER_DOWN)
    registers.words[0x10] &= ~2
    unit = unit_on(registers)
    unit.attach()
    assert not unit.enabled
    unit.release()
    assert not registers.words[0] & PROG


def test_os_lock() -> None:
    """Only the key locks (programming map L784, 8.4)."""
    registers, unit = attached(units.A15, os_locked=True)
    assert not unit.status().os_locked
    unit.release()
    assert unit.status().os_locked and not unit.status().claimed


def test_a_lost_plan_is_written_again() -> None:
    registers, unit = attached(units.M4)
    plan = unit.plan(TraceOptions(include=(AddressRange(0, 0xFF),)), 2048)
    unit.program(plan)
    registers.watch[0x58] = registers.watch[0x50] = 0
    registers.words[0x200] = 0x7F
    unit.ensure(plan)
    assert (registers.watch[0x58], registers.words[0x200]) == (8, 0x10)
    registers.watch[0x58] = 5  # a watchpoint on reads
    with pytest.raises(CaptureError, match=r"a watchpoint took the comparator of the trace filter \(DWT_FUNCTION3\)"):
        unit.ensure(plan)


def test_the_start_stop_block_is_as_the_halt_left_it() -> None:
    """IHI 0014Q, 3.4.4: clearing the programming bit resets an unwritten one.

    Every "continue" clears it.
    """
    registers, unit = attached(units.A15)
    plan = unit.plan(TraceOptions(stop_at=(0x1000,)), 4096)
    unit.program(plan)
    unit.enable()
    assert registers.words[0x10] & 4
    for state in (4, 0, 4):
        registers.words[0x10] = registers.words[0x10] & ~4 | state
        unit.disable()
        unit.ensure(plan)
        unit.enable()
        assert registers.words[0x10] & 4 == state


def test_power_is_lost_while_it_is_programmed() -> None:
    registers, unit = attached(units.A15)
    unit.program(unit.plan(TraceOptions(), 4096))
    registers.loses_power = True
    with pytest.raises(CaptureError, match=r"lost power while it was programmed \(ETMPDSR.Sticky\)"):
        unit.enable()
    unit.disable()
    unit.enable()


def test_trace_that_does_not_drain() -> None:
    registers, unit = attached(units.A9)
    unit.program(unit.plan(TraceOptions(), 4096))
    unit.enable()
    registers.drains = False
    with pytest.raises(CaptureError, match="ETMSR at 0xe0041010 .* stays 0x0: .* all trace has left it; the trace it"):
        unit.disable()


def test_it_is_of_another_kind() -> None:
    registers = Registers(units.A9)
    with pytest.raises(UnsupportedError, match=r"is no ETMv3: its major version is 3, not 2 \(ETMIDR.Major\)"):
        make_unit(registers.component._replace(kind=ComponentKind.ETMV3), Deadline(1.0, count().__next__)).attach()


@pytest.mark.parametrize(
    "kind, message",
    [
        (ComponentKind.ETM, r"which architecture it is cannot be read \(ETMIDR.Major\); is it powered"),
        (ComponentKind.ETE, r"only ETMv3, ETMv4 and PTM can be programmed"),
    ],
)
def test_there_is_no_driver(kind: ComponentKind, message: str) -> None:
    component: Component = Registers(units.A9).component
    with pytest.raises(UnsupportedError, match=message):
        make_unit(component._replace(kind=kind), Deadline())


def test_another_debugger_has_it() -> None:
    registers = Registers(units.A9)
    registers.write32(UNIT + 0xFB0, 0xC5ACCE55)
    registers.write32(UNIT + 0xFA0, 1)
    unit = unit_on(registers)
    unit.attach()
    assert unit.notes == ("another debugger had claimed the trace unit; if it is still there, it loses its trace",)
    unit.release()
    registers.write32(UNIT + 0xFB0, 0xC5ACCE55)
    registers.write32(UNIT + 0xFA0, 2)
    with pytest.raises(CaptureError, match="in use by software on the target .claim tags 0x02."):
        unit_on(registers).attach()


@pytest.mark.sweep
@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_anywhere(late: bool) -> None:
    """Interrupted before or after any access, the unit is restored."""
    for access in range(1000):
        registers = Registers(units.M4)
        found = registers.settings()
        port = Interrupted(registers)
        unit = make_unit(registers.component._replace(port=port), Deadline(), registers.dwt._replace(port=port))
        port.interrupt_at(access, late)
        try:
            unit.attach()
            unit.program(unit.plan(TraceOptions(include=(AddressRange(0, 0xFF),)), 2048))
            unit.enable()
            unit.disable()
        except KeyboardInterrupt:
            port.interrupt_at(-1, late)
            unit.release()
            assert registers.settings() == found, access
        else:
            break
    assert access > 60
