"""Vectors worked by hand: status of aborts, from the Armv7-A manual.

DDI 0406C: table B3-23 (short descriptors), table B3-24 (long ones), B4.1.52 (DFSR), B1.3.1 (modes).
"""

from __future__ import annotations

from typing import Dict, Optional

import pytest

from gdb_etm.diagnosis.aborts import abort_lines, abort_of
from gdb_etm.diagnosis.causes import is_fault
from gdb_etm.program.modes import banked_names, failed, status_name
from gdb_etm.protocols.armv7.exceptions import exception_name
from gdb_etm.protocols.elements import Exception_, is_reset

UNDEFINED, PREFETCH, DATA, LATE, IRQ, RESET = 9, 11, 12, 4, 14, 8


def event(number: int) -> Exception_:
    return Exception_(0, number, exception_name(number), None, 0x1000)


def line(number: int, registers: Dict[str, int]) -> Optional[str]:
    return next(abort_lines(event(number), abort_of(registers, event(number))), None)


@pytest.mark.parametrize(
    "status, words",
    [
        # FS[4] is bit 10, FS[3:0] are bits 3:0, WnR is bit 11.
        (0x005, "a load from 0x00000040: no page is mapped there, by the MMU's table of level 1"),
        (0x807, "a store to 0x00000040: no page is mapped there, by the MMU's table of level 2"),
        (0x80F, "a store to 0x00000040: its page forbids it, by the MMU's table of level 2"),
        (0x009, "a load from 0x00000040: its domain gives no access (DACR), by the MMU's table of level 1"),
        (0x003, "a load from 0x00000040: its page's access flag is 0, in the MMU's table of level 1"),
        (0x001, "a load from 0x00000040: not aligned: "),
        (0x008, "a load from 0x00000040: nothing answers there, or it refuses: a synchronous external abort"),
        (0x00C, "a load from 0x00000040: a table of the MMU could not be read, at level 1"),
        (0x40E, "a load from 0x00000040: a table of the MMU could not be read, at level 2"),
        (0x409, "a load from 0x00000040: memory with a parity or ECC error"),
        (0x406, "an access before has failed late, by an external abort: nothing says which, nor its address"),
        (0x002, "a BKPT, breakpoint or watchpoint without a debugger that halts the core"),
        (0x40F, "a load from 0x00000040: status 0x1f, which has no meaning"),
        # LPAE is bit 9, STATUS are bits 5:0.
        (0x205, "a load from 0x00000040: no page is mapped there, by the MMU's table of level 1"),
        (0xA0F, "a store to 0x00000040: its page forbids it, by the MMU's table of level 3"),
        (0x210, "a load from 0x00000040: nothing answers there, or it refuses: a synchronous external abort"),
        (0x211, "an access before has failed late, "),
        (0x221, "a load from 0x00000040: not aligned: "),
    ],
)
def test_data_aborts(status: int, words: str) -> None:
    found = line(DATA, {"dfsr": status, "dfar": 0x40, "ifsr": 0x5, "ifar": 0x80})
    assert found is not None and found.startswith("DFSR 0x%08x: %s" % (status, words))


def test_a_prefetch_abort_has_registers_of_its_own() -> None:
    registers = {"dfsr": 0x807, "dfar": 0x40, "ifsr": 0xD, "ifar": 0x80}
    assert line(PREFETCH, registers) == (
        "IFSR 0x0000000d: a fetch from 0x00000080: its page forbids it, by the MMU's table of level 1"
    )
    abort = abort_of(registers, event(PREFETCH))
    assert abort is not None and (abort.address, abort.is_store, abort.is_late) == (0x80, None, False)


def test_what_is_not_known_is_not_told() -> None:
    assert abort_of({"ifsr": 5}, event(DATA)) is None
    assert line(DATA, {"ifsr": 5}) == "DFSR, DFAR: not read: the debugger cannot read them"
    late = abort_of({"dfsr": 0x406, "dfar": 0x40}, event(LATE))
    assert late is not None and late.is_late and late.address is None
    assert line(UNDEFINED, {"dfsr": 5}) == "what was fetched is no instruction: UDF, data, or damaged code"
    assert abort_of({"dfsr": 5}, event(IRQ)) is None and line(IRQ, {}) is None


def test_which_exceptions_are_faults() -> None:
    assert [number for number in range(1, 16) if is_fault(event(number))] == [LATE, UNDEFINED, PREFETCH, DATA]
    assert [number for number in range(1, 16) if is_reset(event(number))] == [RESET]
    # Of M-profile the numbers count: 12 is not one of a fault there, 3 is HardFault, 1 a reset.
    assert not is_fault(event(DATA)._replace(vector=12)) and is_fault(event(1)._replace(vector=3))
    assert is_reset(event(2)._replace(vector=1)) and not is_reset(event(RESET)._replace(vector=8))


def test_banked_registers() -> None:
    assert [status_name(mode) for mode in (0x1D7, 0x1DB, 0x1D3, 0x1D2)] == ["spsr_abt", "spsr_und", None, None]
    assert banked_names(0x60000010) == banked_names(0x1F) == ("sp_usr", "lr_usr")
    assert banked_names(0x1F3) == ("sp_svc", "lr_svc") and banked_names(0x1A) is None
    registers = {"cpsr": 0x1D7, "spsr_abt": 0x1F3, "sp_svc": 8, "lr_svc": 9, "sp_usr": 1, "lr_usr": 2}
    assert failed(registers) == (8, 9)
    assert failed({**registers, "cpsr": 0x1D3}) is None
    assert failed({**registers, "spsr_abt": 0x192}) is None
