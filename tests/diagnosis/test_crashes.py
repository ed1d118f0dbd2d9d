"""The board's truth: crashes in words.

The words are those of what the program did, in the ways of tests/firmware/crashes/crashes.c; the fault status
registers are the simulated core's.
"""

from __future__ import annotations

from typing import Dict, Tuple

import pytest

from gdb_etm.board.machine import Machine
from gdb_etm.diagnosis.status import FaultStatus, fault_status
from gdb_etm.registers import cortex_m
from tests.board.test_crashes import ALL, PROCESS, crash

REGISTERS = ("SHCSR", "CFSR", "HFSR", "DFSR", "MMFAR", "BFAR")
IPSR = 0x1FF
# Where no memory is.
NOTHING = 0x30000000

# The fields of the causes, and the words for the first one.
WORDS: Dict[str, Tuple[Tuple[str, ...], str]] = {
    "call_odd": (("IBUSERR",), "BusFault (a jump to where no code is)"),
    "call_null": (("INVSTATE",), "UsageFault (a jump to an even address)"),
    "call_even": (("INVSTATE",), "UsageFault (a jump to an even address)"),
    "call_unmapped": (("IACCVIOL",), "MemManage (a jump to where no code may run)"),
    "call_device": (("IACCVIOL",), "MemManage (a jump to where no code may run)"),
    "jump_null": (("INVSTATE",), "UsageFault (a jump to an even address)"),
    "return_even": (("INVSTATE",), "UsageFault (a jump to an even address)"),
    "return_unmapped": (("IBUSERR",), "BusFault (a jump to where no code is)"),
    "read": (("PRECISERR",), "BusFault (a load or store that the bus refused)"),
    "write": (("PRECISERR",), "BusFault (a load or store that the bus refused)"),
    "undefined": (("UNDEFINSTR",), "UsageFault (an undefined instruction)"),
    "divide": (("DIVBYZERO",), "UsageFault (a division by zero)"),
    "unaligned": (("UNALIGNED",), "UsageFault (an unaligned access)"),
    "unaligned_pair": (("UNALIGNED",), "UsageFault (an unaligned access)"),
    "guarded_write": (("DACCVIOL",), "MemManage (a forbidden load or store)"),
    "guarded_call": (("IACCVIOL",), "MemManage (a jump to where no code may run)"),
    "overflow": (("PRECISERR", "STKERR"), "BusFault (SP leads to no stack)"),
    "stacking": (("STKERR",), "BusFault (SP leads to no stack)"),
    "frame_even": (("INVSTATE",), "UsageFault (a jump to an even address)"),
    "frame_unmapped": (("IBUSERR",), "BusFault (a jump to where no code is)"),
    "frame_mode": (("INVPC",), "UsageFault (a bad exception return)"),
    "frame_lost": (("UNSTKERR",), "BusFault (an exception's frame could not be read)"),
}


def status_of(machine: Machine) -> FaultStatus:
    """Read a crashed core's registers."""
    pages = [cortex_m.PAGE.by_name[name] for name in REGISTERS]
    found = {page.name.lower(): machine.read(cortex_m.SCS_BASE + page.offset, 4) for page in pages}
    return fault_status({**found, "pc": machine.core.engine.pc}, machine.core.engine.xpsr & IPSR)


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
@pytest.mark.parametrize("way", WORDS)
def test_a_crash_in_words(board: str, way: str) -> None:
    status = status_of(crash(board, way, ALL, PROCESS))
    fields, brief = WORDS[way]
    assert (tuple(cause.field for cause in status.causes), status.brief) == (fields, brief)
    assert [line.partition(":")[0] for line in status.lines] == ["CFSR." + field for field in fields]
    assert status.is_precise and not status.is_forced
    has_address = any(field in ("PRECISERR", "DACCVIOL") for field in fields)
    assert status.address_is_valid == has_address
    assert way != "read" or (status.address or 0) & ~0xFFF == NOTHING


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
@pytest.mark.parametrize("way", ["call_null", "read", "divide", "exc_return"])
def test_a_hard_fault_in_words(board: str, way: str) -> None:
    status = status_of(crash(board, way))
    (cause,) = status.causes
    assert status.name == "HardFault" and status.is_forced
    assert cause.field == {"exc_return": "INVPC"}.get(way) or (cause.field,) == WORDS[way][0]
    assert "whose handler is off" in status.lines[1]


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_a_guarded_stack_in_words(board: str) -> None:
    """Where the guard allows no access at all, the handler faults, too."""
    status = status_of(crash(board, "guarded_stack", ALL, PROCESS))
    assert [cause.field for cause in status.causes] == ["DACCVIOL", "MSTKERR"] and status.while_stacking
    assert status.brief == ("MemManage" if board == "m33" else "HardFault") + " (SP leads to no stack)"
    is_second = "SHCSR.MEMFAULTACT: it came within the handler of MemManage: two faults" in status.lines
    assert is_second == (board != "m33")


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_lockup_in_words(board: str) -> None:
    """The handler itself faults."""
    status = status_of(crash(board, "lockup", ALL, PROCESS))
    assert status.is_lockup and status.brief == "lockup (a load or store that the bus refused)"
    assert status.address == NOTHING
    assert "SHCSR.BUSFAULTACT: it came within the handler of BusFault: two faults" in status.lines
    vector = status_of(crash(board, "vector", ALL, PROCESS))
    assert [cause.name for cause in vector.causes] == ["HFSR.VECTTBL", "CFSR.UNDEFINSTR"]


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_an_svc_that_cannot_run_in_words(board: str) -> None:
    (line,) = status_of(crash(board, "supervisor_twice")).lines
    assert line.startswith("HFSR.FORCED: but CFSR is 0: SVC while masked")
