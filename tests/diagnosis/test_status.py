"""Worked by hand: fault status registers in words.

From DDI 0553, D1.2 (CFSR with MMFSR, BFSR and UFSR; DFSR, HFSR, SFSR, SHCSR), and DDI 0403E, B3.2.13 to B3.2.18.
"""

from __future__ import annotations

import re
from typing import Dict, Optional

import pytest

from gdb_etm.diagnosis.causes import CAUSES, DEBUG
from gdb_etm.diagnosis.status import fault_status
from gdb_etm.registers import cortex_m

# The bits' places, as the manual's tables give them.
CFSR_BITS = {
    "IACCVIOL": 0,
    "DACCVIOL": 1,
    "MUNSTKERR": 3,
    "MSTKERR": 4,
    "MLSPERR": 5,
    "IBUSERR": 8,
    "PRECISERR": 9,
    "IMPRECISERR": 10,
    "UNSTKERR": 11,
    "STKERR": 12,
    "LSPERR": 13,
    "UNDEFINSTR": 16,
    "INVSTATE": 17,
    "INVPC": 18,
    "NOCP": 19,
    "STKOF": 20,
    "UNALIGNED": 24,
    "DIVBYZERO": 25,
}
SFSR_BITS = {"INVEP": 0, "INVIS": 1, "INVER": 2, "AUVIOL": 3, "INVTRAN": 4, "LSPERR": 5, "LSERR": 7}
MMARVALID, BFARVALID, SFARVALID = 1 << 7, 1 << 15, 1 << 6
FORCED, VECTTBL, DEBUGEVT = 1 << 30, 1 << 1, 1 << 31
HARD, MEMORY, BUS, USAGE, SECURE = 3, 4, 5, 6, 7
BUSFAULTACT, BUSFAULTENA = 1 << 1, 1 << 17
LONGEST = 92


def one(field: str, **others: int) -> Dict[str, int]:
    """Make registers with a bit of CFSR."""
    return {"cfsr": 1 << CFSR_BITS[field], "hfsr": 0, "shcsr": 0x70000, **others}


@pytest.mark.parametrize("field", CFSR_BITS)
def test_a_bit_of_cfsr_is_a_cause_of_its_fault(field: str) -> None:
    bit = CFSR_BITS[field]
    exception = MEMORY if bit < 8 else BUS if bit < 16 else USAGE
    status = fault_status(one(field), exception)
    (cause,) = status.causes
    assert (cause.register, cause.field, cause.exception) == ("CFSR", field, exception)
    assert status.lines[0].startswith("CFSR.%s: " % field)
    # As a HardFault, too: another fault became it.
    forced = fault_status(one(field, hfsr=FORCED), HARD)
    assert forced.causes == (cause,) and forced.is_forced
    assert forced.lines[-1].startswith("HFSR.FORCED: ")


@pytest.mark.parametrize("field", SFSR_BITS)
def test_a_bit_of_sfsr_is_a_cause_of_a_secure_fault(field: str) -> None:
    status = fault_status({"cfsr": 0, "hfsr": 0, "sfsr": 1 << SFSR_BITS[field]}, SECURE)
    assert [cause.name for cause in status.causes] == ["SFSR." + field]
    assert status.brief.startswith("SecureFault (")


@pytest.mark.parametrize(
    "field, bit", [("HALTED", 0), ("BKPT", 1), ("DWTTRAP", 2), ("VCATCH", 3), ("EXTERNAL", 4), ("PMU", 5)]
)
def test_a_bit_of_dfsr_is_told_where_there_is_no_fault(field: str, bit: int) -> None:
    status = fault_status({"cfsr": 0, "hfsr": 0, "dfsr": 1 << bit})
    assert [cause.name for cause in status.debug] == ["DFSR." + field]
    assert status.lines == [status.debug[0].line] and not status.brief
    assert fault_status(one("INVSTATE", dfsr=1 << bit), USAGE).lines == fault_status(one("INVSTATE"), USAGE).lines


def test_an_address_is_that_of_the_fault_if_its_bit_says_so() -> None:
    load = fault_status({"cfsr": 0x8200, "hfsr": 0, "bfar": 0x30000000}, BUS)
    assert (load.address, load.address_register, load.address_is_valid) == (0x30000000, "BFAR", True)
    assert load.lines == ["CFSR.PRECISERR: load or store: the bus answered with an error (BFAR 0x30000000)"]
    guarded = fault_status({"cfsr": 0x82, "hfsr": 0, "mmfar": 0x20, "bfar": 5}, MEMORY)
    assert guarded.address == 0x20 and guarded.address_is_valid
    secure = fault_status({"sfsr": 8 | SFARVALID, "sfar": 0x10000000}, SECURE)
    assert (secure.address, secure.address_register) == (0x10000000, "SFAR") and secure.address_is_valid


def test_an_address_that_is_not_valid_is_not_the_fault_s() -> None:
    load = fault_status(one("PRECISERR", bfar=0x20000000), BUS)
    assert load.address == 0x20000000 and not load.address_is_valid
    assert load.lines[1] == "CFSR.BFARVALID is not set: BFAR does not hold the address"
    # A fetch leaves no address.
    fetch = fault_status({"cfsr": 0x100 | BFARVALID, "hfsr": 0, "bfar": 4}, BUS)
    assert not fetch.address_is_valid
    assert fetch.lines[1] == "CFSR.BFARVALID is set, but not by IBUSERR: BFAR is of an earlier fault"
    assert fault_status(one("DIVBYZERO", mmfar=4, bfar=4), USAGE).address is None


def test_an_imprecise_error_has_no_address_and_no_place() -> None:
    status = fault_status({"cfsr": 0x400 | BFARVALID, "hfsr": 0, "bfar": 0x20}, BUS)
    assert not status.is_precise and not status.address_is_valid
    assert "before the stacked PC" in status.lines[0]
    assert "not by IMPRECISERR" in status.lines[1]
    assert fault_status(one("PRECISERR"), BUS).is_precise


def test_one_address_register_for_two_faults() -> None:
    """DDI 0403E, B3.2.18: an implementation may share BFAR and MMFAR."""
    registers = {"cfsr": 0x8282, "hfsr": FORCED, "shcsr": 0, "mmfar": 4, "bfar": 4}
    assert any("may be one register" in line for line in fault_status(registers, HARD).lines)


@pytest.mark.parametrize("field", ["STKERR", "MSTKERR"])
def test_stacking(field: str) -> None:
    status = fault_status(one(field), BUS if field == "STKERR" else MEMORY)
    assert status.while_stacking and not status.while_unstacking
    assert "the frame is not there" in status.lines[0]
    # With the access that came before it, too.
    both = fault_status({"cfsr": 0x9292, "hfsr": FORCED, "mmfar": 4, "bfar": 4}, HARD)
    assert both.while_stacking and both.brief == "HardFault (SP leads to no stack)"


@pytest.mark.parametrize("field", ["UNSTKERR", "MUNSTKERR"])
def test_unstacking(field: str) -> None:
    status = fault_status(one(field), BUS if field == "UNSTKERR" else MEMORY)
    assert status.while_unstacking and not status.while_stacking


@pytest.mark.parametrize(
    "shcsr, says",
    [
        (0, "HFSR.FORCED: BusFault, whose handler is off (SHCSR.BUSFAULTENA is 0)"),
        (BUSFAULTENA, "HFSR.FORCED: BusFault, whose handler could not run here: priority or mask"),
        (BUSFAULTENA | BUSFAULTACT, "SHCSR.BUSFAULTACT: it came within the handler of BusFault: two faults"),
    ],
)
def test_why_a_fault_became_a_hard_fault(shcsr: int, says: str) -> None:
    status = fault_status(one("IBUSERR", hfsr=FORCED, shcsr=shcsr), HARD)
    assert says in status.lines
    assert status.brief == "HardFault (a jump to where no code is)"


def test_forced_without_a_cause() -> None:
    """DDI 0553, B3.9: so does an SVC whose handler cannot run."""
    (line,) = fault_status({"cfsr": 0, "hfsr": FORCED}, HARD).lines
    assert line == "HFSR.FORCED: but CFSR is 0: SVC while masked, or software has cleared CFSR already"
    assert fault_status({"hfsr": FORCED}, HARD).lines == ["HFSR.FORCED: another fault became a HardFault: see CFSR"]


def test_the_vector_table_and_debug_events() -> None:
    vector = fault_status({"cfsr": 1 << 16, "hfsr": VECTTBL}, HARD)
    assert [cause.name for cause in vector.causes] == ["HFSR.VECTTBL", "CFSR.UNDEFINSTR"]
    event = fault_status({"cfsr": 1 << 16, "hfsr": DEBUGEVT, "dfsr": 2}, HARD)
    assert [line.partition(":")[0] for line in event.lines] == ["HFSR.DEBUGEVT", "DFSR.BKPT", "CFSR.UNDEFINSTR"]
    assert event.brief == "HardFault (a breakpoint without a debugger)"


def test_bits_of_several_faults() -> None:
    hard = fault_status({"cfsr": 0x02000082, "hfsr": FORCED, "shcsr": 0, "mmfar": 8}, HARD)
    assert [cause.field for cause in hard.causes] == ["DIVBYZERO", "DACCVIOL"]
    assert hard.lines[-1] == "CFSR: bits of several faults: some may be of an earlier one"
    usage = fault_status({"cfsr": 0x02000082, "hfsr": 0, "shcsr": 0x70000, "mmfar": 8}, USAGE)
    assert [cause.field for cause in usage.causes] == ["DIVBYZERO"]
    assert usage.lines[-1] == "CFSR.DACCVIOL: set too, by another fault; bits stay until they are cleared"


@pytest.mark.parametrize("exception, place", [(HARD, "HFSR"), (MEMORY, "CFSR"), (BUS, "CFSR"), (SECURE, "SFSR")])
def test_no_bit_at_all(exception: int, place: str) -> None:
    status = fault_status({"cfsr": 0, "hfsr": 0, "sfsr": 0}, exception)
    assert status.lines == [place + ": no bit tells of this fault: software has cleared it already"]
    assert not status.is_precise and status.brief == status.name


def test_nothing_was_read() -> None:
    status = fault_status({"pc": 0x100}, HARD)
    assert not status.is_known and status.lines[0].startswith("CFSR, HFSR: not read")
    assert status.brief == "HardFault"


@pytest.mark.parametrize("pc", [0xEFFFFFFE, 0xFFFFFFFE])
@pytest.mark.parametrize("exception", [None, HARD])
def test_lockup(pc: int, exception: Optional[int]) -> None:
    """DDI 0553, B3.33; DDI 0403E, B1.5.15: the PC tells it."""
    status = fault_status(one("PRECISERR", hfsr=FORCED, pc=pc, bfar=4), exception)
    assert status.is_lockup and status.name == "lockup"
    assert status.lines[0].startswith("DHCSR.S_LOCKUP: ") and status.lines[1].startswith("CFSR.PRECISERR: ")
    assert not fault_status({"cfsr": 0, "pc": 0x100}, exception).is_lockup


def test_a_private_register_without_privileges() -> None:
    """DDI 0403E, B3.1: such an access to the PPB is a BusFault."""
    status = fault_status({"cfsr": 0x8200, "hfsr": 0, "bfar": 0xE000ED24}, BUS)
    assert "BFAR.ADDRESS is of the core's own registers" in status.lines[1]


@pytest.mark.parametrize("exception", [None, 2, *range(3, 8), 11])
def test_lines_are_few_and_short(exception: Optional[int]) -> None:
    """With every bit set, and with each of them alone."""
    ones = dict.fromkeys(("shcsr", "cfsr", "hfsr", "dfsr", "mmfar", "bfar", "sfsr", "sfar"), 0xFFFFFFFF)
    for registers in (ones, {**ones, "pc": 0xEFFFFFFE}, {**ones, "cfsr": 0x8200}, {**ones, "cfsr": 0x82}, {}):
        lines = fault_status(registers, exception).lines
        assert len(lines) <= 6 and all(len(line) <= LONGEST for line in lines)
        assert all(re.match(r"[A-Z]{4,5}[.:,]", line) for line in lines)
    assert all(len(cause.line) <= LONGEST for cause in CAUSES + DEBUG)


def test_every_bit_that_the_registers_have_is_told() -> None:
    told = {cause.name for cause in CAUSES + DEBUG}
    have = {
        "%s.%s" % (page.name, field)
        for page in (cortex_m.CFSR, cortex_m.HFSR, cortex_m.DFSR, cortex_m.SFSR)
        for field in page.fields
    }
    assert have - told == {"HFSR.FORCED", "CFSR.MMARVALID", "CFSR.BFARVALID", "SFSR.SFARVALID"}
