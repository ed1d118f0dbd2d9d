"""Real pyOCD, and vectors worked by hand: DCRSR and DCRDR."""

from __future__ import annotations

from typing import Any, Tuple, cast

import pytest

from gdb_etm.coresight.special import SpecialRegisters
from gdb_etm.errors import AccessError
from gdb_etm.registers.cortex_m import SCS_BASE
from tests.coresight.transcript import transcript
from tests.firmware.build import elf
from tests.traceunit.live import fixture_boards

__all__ = ["fixture_boards"]

DCRDR = SCS_BASE + 0xDF8
COMMON = ("msp", "psp", "control", "primask", "basepri", "faultmask")


@pytest.mark.parametrize("board, limits", [("m33", ("msplim", "psplim")), ("m4", ()), ("m7", ())])
def test_what_the_server_does_not_give(board: str, limits: Tuple[str, ...], boards: Any) -> None:
    live = boards(elf("sort"), board)
    for name, value in (("msp", 0x20001000), ("psp", 0x20002000), ("primask", 1), ("basepri", 0x40)):
        live.core.write_core_register(name, value)
    if limits:
        # As a debugger does: REGSEL 30 is MSPLIM_NS.
        live.port.write32(DCRDR, 0x20000800)
        live.port.write32(SCS_BASE + 0xDF4, 1 << 16 | 30)
    live.port.write32(DCRDR, 0x12345678)
    found = SpecialRegisters(live.port).missing(("r0", "sp"))
    assert tuple(sorted(found)) == tuple(sorted(COMMON + limits))
    assert (found["msp"], found["psp"], found["primask"], found["basepri"]) == (0x20001000, 0x20002000, 1, 0x40)
    assert found.get("msplim", 0x20000800) == 0x20000800
    assert live.port.read32(DCRDR) == 0x12345678
    assert set(SpecialRegisters(live.port).missing(COMMON)) == set(limits)
    live.core.resume()
    assert SpecialRegisters(live.port).missing(()) == {}


IDENTITY = "r d00 = 411fd210; Cortex-M33\nr fbc = 47702a04\nr d44 = 00000210; with Security Extension\n"


def test_both_security_states_limits() -> None:
    lines = IDENTITY + "block df0 = 130003 0 55; S_SDE, S_HALT, S_REGRDY\n"
    for number, value in ((0x1C, 0x100), (0x1D, 0x200), (0x1E, 0x300), (0x1F, 0x400)):
        # Not ready at the first look.
        lines += "w df4 = %x\nblock df0 = 120003 0 55\nr df0 = 00130003\nr df8 = %x\n" % (number, value)
    port = transcript(SCS_BASE, lines + "w df8 = 55\n")
    found = SpecialRegisters(port).missing(COMMON)
    assert found == {"msplim_s": 0x100, "psplim_s": 0x200, "msplim_ns": 0x300, "psplim_ns": 0x400}


def test_a_secure_state_that_is_kept_from_debuggers() -> None:
    lines = IDENTITY + "block df0 = 30003 0 55; no S_SDE\n"
    lines += "w df4 = 14\nblock df0 = 30003 0 2004001\nw df8 = 55\n"
    found = SpecialRegisters(transcript(SCS_BASE, lines)).missing(("msp", "psp"))
    assert found == {"primask": 1, "basepri": 0x40, "faultmask": 0, "control": 2}


def test_baseline_has_none_that_bound_both() -> None:
    port = transcript(SCS_BASE, "r d00 = 411cd200; Cortex-M23\nr fbc = 47702a04\n")
    assert SpecialRegisters(port).missing(COMMON) == {}


FAULTS = "block d24 = 70000 8200 40000000 8 e000edf8 30000000\nr f34 = c0000000\n"
FAULT_STATUS = {
    "shcsr": 0x70000,
    "cfsr": 0x8200,
    "hfsr": 0x40000000,
    "dfsr": 8,
    "mmfar": 0xE000EDF8,
    "bfar": 0x30000000,
    "fpccr": 0xC0000000,
}


def test_fault_status_in_one_transfer() -> None:
    """DDI 0403E, B3.2.2: they are neighbours.

    What the core is is asked once.
    """
    special = SpecialRegisters(transcript(SCS_BASE, "r d00 = 410fc241; Cortex-M4\nr fbc = 0\n" + 2 * FAULTS))
    assert special.status() == FAULT_STATUS
    assert special.status() == FAULT_STATUS


def test_secure_fault_status() -> None:
    secure = IDENTITY + FAULTS + "r df0 = 00130003; S_SDE\nblock de4 = 48 10000000\n"
    found = SpecialRegisters(transcript(SCS_BASE, secure)).status()
    assert found == {**FAULT_STATUS, "sfsr": 0x48, "sfar": 0x10000000}
    # Kept from the debugger they would be read as zeros.
    kept = IDENTITY + FAULTS + "r df0 = 00030003; no S_SDE\n"
    assert SpecialRegisters(transcript(SCS_BASE, kept)).status() == FAULT_STATUS


def test_no_fault_status() -> None:
    baseline = "r d00 = 411cd200; Cortex-M23\nr fbc = 47702a04\n"
    assert SpecialRegisters(transcript(SCS_BASE, baseline)).status() == {}


@pytest.mark.parametrize("board", ["m33", "m4", "m7"])
def test_fault_status_of_a_core_that_does_not_answer(board: str, boards: Any) -> None:
    live = boards(elf("sort"), board)
    live.port.write32(SCS_BASE + 0xD24, 0x70000)
    special = SpecialRegisters(live.port)
    found = special.status()
    assert list(found) == list(FAULT_STATUS) and found["shcsr"] == 0x70000

    class Gone:
        """A port that does not answer."""

        def __getattr__(self, name: str) -> Any:
            raise AccessError("gone")

    assert SpecialRegisters(cast(Any, Gone())).status() == {}
