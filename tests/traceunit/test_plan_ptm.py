"""Vectors worked by hand: plans for PTM.

From the programming map (6.2; Lnnn is a line of it), else from IHI 0035B. The property test over options is in
test_plan_etmv3.py.
"""

from __future__ import annotations

from typing import Any, Dict

import pytest

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.armv7.capabilities import PtmCapabilities
from gdb_etm.traceunit.armv7.ptm import plan_program
from gdb_etm.traceunit.options import AddressRange, DataTrace, TraceOptions

from . import units
from .test_plan_etmv3 import FALSE, KIB, TRUE, values


def test_trace_everything() -> None:
    """L805: the map of ETMv3 without data, FIFOFULL and memory map decoders."""
    got = values(plan_program(TraceOptions(trace_id=0x13), units.A9, 4 * KIB))
    expected = {
        "ETMCR": 0x400,
        "ETMTRACEIDR": 0x13,
        "ETMTEEVR": TRUE,
        "ETMTECR1": 0x01000000,
        "ETMTSSCR": 0,
        "ETMTRIGGER": FALSE,
        "ETMTSEVR": FALSE,
        "ETMSYNCFR": 512,
        "ETMACVR1": 0,
        "ETMACTR8": 1,
        "ETMCNTENR1": 0x2406F,
        "ETMCNTRLDEVR2": FALSE,
        "ETMSQ13EVR": FALSE,
        "ETMEXTOUTEVR2": FALSE,
        "ETMCIDCVR1": 0,
        "ETMCIDCMR": 0,
        "ETMEXTINSELR": 0,
    }
    assert {name: got[name] for name in expected} == expected
    assert not {"ETMTECR2", "ETMVDEVR", "ETMFFRR", "ETMFFLR"} & got.keys()


@pytest.mark.parametrize(
    "unit, options, control",
    [
        (units.A9, dict(cycle_count=1, timestamps=True), 0x10001400),  # as the Snowball capture has them
        (units.A15, dict(cycle_count=1, timestamps=True), 0x30001400),  # and TC2's with its return stack
        (units.A15, dict(return_stack=False), 0x400),
        (units.A15, dict(branch_broadcast=True), 0x500),
        (units.A15, dict(context_id=True, vmid=True), 0x6000C400),
    ],
)
def test_main_control(unit: PtmCapabilities, options: Dict[str, Any], control: int) -> None:
    plan = plan_program(TraceOptions(**options), unit, 4 * KIB)
    assert plan.value("ETMCR") == control and plan.return_stack == bool(control >> 29 & 1)


def test_branch_broadcast_and_return_stack() -> None:
    """L805: not both."""
    assert plan_program(TraceOptions(branch_broadcast=True), units.A15, 4 * KIB).notes == (
        "branch broadcast turns the return stack off",
    )
    with pytest.raises(UnsupportedError, match="choose one of them") as error:
        plan_program(TraceOptions(branch_broadcast=True, return_stack=True), units.A15, 4 * KIB)
    assert error.value.register == "ETMCR.ReturnStack"


def test_ranges() -> None:
    """IHI 0035B, 3.4.3, table 3.27: exclusive end, type 1, no size."""
    options = TraceOptions(include=(AddressRange(0x8000, 0x80FD),), start_at=(0x8002,), stop_at=(0x9000,))
    got = values(plan_program(options, units.A9, 4 * KIB))
    assert (got["ETMTECR1"], got["ETMTSSCR"]) == (0x02000008, 0x00020001)
    assert [got["ETMACVR%d" % n] for n in (1, 2, 7, 8)] == [0x8002, 0x9000, 0x8000, 0x80FE]
    assert {got["ETMACTR%d" % n] for n in range(1, 9)} == {1}


@pytest.mark.parametrize(
    "unit, options, message",
    [
        (units.A9, dict(return_stack=True), r"return stack: not in this trace unit \(ETMCCER.ReturnStack is 0\)"),
        (units.A15, dict(data=DataTrace.VALUES), r"data trace: a PTM has none \(ETMIDR.Major\)"),
        (units.A15, dict(cycle_count=4), r"it must be 1 \(ETMCR.CycleAccurate\)"),
        (units.A9, dict(vmid=True), r"\(ETMCCER.Virtualization is 0\)"),
        (PtmCapabilities({**units.A15.registers, "ETMCCER": 0}), dict(timestamps=True), r"\(ETMCCER.Timestamp is 0\)"),
    ],
)
def test_what_units_lack(unit: PtmCapabilities, options: Dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        plan_program(TraceOptions(**options), unit, 4 * KIB)


def test_timestamps_of_a_cortex_a9() -> None:
    """The Snowball capture has timestamps by ETMCR, despite ETMCCER bit 22."""
    assert units.A9.has_timestamps and not PtmCapabilities({**units.A9.registers, "ETMCR": 0}).has_timestamps
    assert units.A9.words[:2] == ("cycle counts", "48-bit timestamps")
    assert units.A15.words[0] == "return stack"
