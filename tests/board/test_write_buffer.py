"""Vectors worked by hand from the manuals: stores that fail late."""

from __future__ import annotations

import pytest

from tests.board import assembly
from tests.board.assembly import Program
from tests.board.exception_cores import BFAR, CFSR, HFSR, events, fixture_core, program
from tests.board.witness import register

__all__ = ["fixture_core"]

NOTHING = 0x30000000
IMPRECISERR, FORCED = 1 << 10, 1 << 30
STORES = (
    "str r1, [r0]",
    "strb r1, [r0], #4",
    "stmia r0!, {r1, r2}",
    "strd r1, r2, [r0]",
    "cmp r1, r1\n it eq\n streq r1, [r0]",
)


def buffered(source: str) -> Program:
    """Load a program onto a core with a write buffer."""
    run = program(source)
    run.machine.core.write_buffer.is_there = True
    return run


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("address", [NOTHING, 0x100, 0x2007FFFC])
def test_it_is_complete_and_fails_three_instructions_later(store: str, address: int) -> None:
    source = "start:\n ldr r0, =0x%x\n movs r1, #1\n %s\n movs r7, #1\n movs r7, #2\n movs r7, #3"
    source += "\nat: movs r7, #4\n bkpt"
    run = buffered(source % (address, store) + "\nhardfault:\n b stop")
    flash = bytes(run.machine.bus.flash)
    run.machine.run(100)
    if address == 0x2007FFFC and store in STORES[:2] + STORES[4:]:
        assert run.machine.read(CFSR, 4) == 0 and register(run.machine, 7) == 4
        return
    assert ("exception", 3, run["at"]) in events(run)
    assert (run.machine.read(CFSR, 4), run.machine.read(HFSR, 4)) == (IMPRECISERR, FORCED)
    assert run.machine.read(BFAR, 4) == 0
    assert register(run.machine, 7) == 3
    assert bytes(run.machine.bus.flash) == flash
    if "!" in store:
        assert register(run.machine, 0) == address + 8
    if address == 0x2007FFFC:
        assert run.machine.read(address, 4) == 1


def test_an_own_handler_is_pended() -> None:
    source = "start:\n store SHCSR, 1 << 17\n ldr r0, =0x30000000\n str r1, [r0]\n nop\n nop\n nop\nat: b at"
    run = buffered(source + "\nbusfault:\n b stop")
    run.machine.run(100)
    assert ("exception", 5, run["at"]) in events(run)
    assert (run.machine.read(CFSR, 4), run.machine.read(HFSR, 4)) == (IMPRECISERR, 0)


def test_a_handler_of_higher_priority_goes_on_until_it_ends() -> None:
    run = buffered(
        """
start:
    store SHCSR, 1 << 17
    store 0xE000ED18, 0x8000    @ SHPR1: BusFault's priority
    store ICSR, 1 << 28         @ PendSV
    nop
at: b at
pendsv:
    ldr r0, =0x30000000
    str r1, [r0]
    nop
    nop
    nop
    nop
    bx lr
busfault:
    b stop
"""
    )
    run.machine.run(100)
    assert [one[:2] for one in events(run) if one[0] == "exception"][:2] == [("exception", 14), ("exception", 5)]
    assert run.machine.read(CFSR, 4) == IMPRECISERR


@pytest.mark.parametrize("code", ["ldr r1, [r0]", "ldr r0, =0xe0001000\n ldr r0, =0xe0070000\nat: str r1, [r0]"])
def test_loads_and_the_cores_own_registers_are_precise(code: str) -> None:
    run = buffered("start:\n ldr r0, =0x30000000\n %s\n nop\n bkpt\nhardfault:\n b stop" % code)
    run.machine.run(100)
    assert run.machine.read(CFSR, 4) == 0x8200


def test_an_interrupt_before_the_answer_is_interrupted_by_the_fault() -> None:
    run = buffered(
        "start:\n ldr r0, =0x30000000\n store ISER, 1\n ldr r2, =ISPR\n ldr r3, =0x30000000\n str r1, [r3]\n"
        " str r1, [r2]\n nop\n bkpt\nirq0:\n nop\n nop\n nop\n bx lr\nhardfault:\n b stop"
    )
    run.machine.run(100)
    assert [one[:2] for one in events(run) if one[0] == "exception"] == [("exception", 16), ("exception", 3)]


def test_disdefwbuf_of_a_cortex_m4() -> None:
    """Cortex-M4 TRM, DDI 0439B, 4.2: ACTLR bit 1."""
    source = "start:\n store 0xE000E008, %d\n ldr r0, =0x30000000\n str r1, [r0]\n nop\n nop\n nop\n nop\n bkpt"
    source += "\nhardfault:\n b stop"
    for bit, cfsr in ((2, 0x8200), (0, IMPRECISERR)):
        run = assembly.program(source % bit, "m4")
        run.machine.core.write_buffer.is_there = True
        run.machine.run(100)
        assert run.machine.read(CFSR, 4) == cfsr
