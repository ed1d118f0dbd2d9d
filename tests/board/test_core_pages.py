"""Vectors worked by hand from the manuals: IT blocks across pages.

The emulator ends its own blocks where a page of 1 KiB or 4 KiB ends, which no core does.
"""

from __future__ import annotations

import pytest

from tests.board.assembly import STACK
from tests.board.exception_cores import BFAR, events, fixture_core, program, words
from tests.board.witness import register

__all__ = ["fixture_core"]

# IT begins so many bytes before the end of a page.
BEFORE = (2, 4, 6, 8)
TAKEN = """
start:
    movs r5, #0
    movs r6, #3
    cmp r6, #%d
    b.w work
    .balign 0x400
    .space 0x400 - %d
work:
    ittee eq
    addeq r5, #1
    addeq r5, #2
    addne r5, #4
    blne other
    adds r5, #16
    bkpt
other:
    adds r5, #32
    bkpt
"""
DEVICE = """
start:
    ldr r0, =SYST
    movs r5, #7
    cmp r0, r0
    b.w work
    .balign 0x400
    .space 0x400 - %d
work:
    itttt eq
    moveq r6, #1
    moveq r6, #2
    streq r5, [r0, #4]
    addeq r6, #4
    bkpt
"""
WATCHED = """
start:
    store 0xe000ed14, 8
    ldr r0, =0x20000100
    movs r5, #0
    cmp r5, r5
    b.w work
    .balign 0x400
    .space 0x400 - %d
work:
    itete eq
    ldreq r6, [r0]
    addne r5, #2
    ldreq r6, [r0, #4]
    addne r5, #4
    adds r5, #16
    bkpt
"""
FAULTS = """
start:
    ldr r0, =0x30000000
    movs r5, #0
    cmp r0, r0
    b.w work
    .balign 0x400
    .space 0x400 - %d
work:
    itttt eq
    addeq r5, #1
    addeq r5, #2
at: streq r5, [r0]
    addeq r5, #4
    bne other
    b work
other:
    bkpt
hardfault:
    bkpt
"""


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("compared, result", [(3, 19), (4, 36)])
def test_the_last_instruction_is_conditional(before: int, compared: int, result: int) -> None:
    run = program(TAKEN % (compared, before))
    run.machine.run(100)
    assert register(run.machine, 5) == result
    assert run.recorder.addresses[4:9] == [run["work"] + offset for offset in (0, 2, 4, 6, 8)]


@pytest.mark.parametrize("before", BEFORE)
def test_a_device_gets_a_conditional_store(before: int) -> None:
    run = program(DEVICE % before)
    run.machine.run(100)
    assert run.machine.read(0xE000E014, 4) == 7
    assert register(run.machine, 6) == 6


@pytest.mark.parametrize("before", BEFORE)
def test_a_hook_on_accesses_leaves_the_rest_conditional(before: int) -> None:
    run = program(WATCHED % before)
    run.machine.run(100)
    assert register(run.machine, 5) == 16


@pytest.mark.parametrize("before", BEFORE)
def test_a_fault_is_precise(before: int) -> None:
    run = program(FAULTS % before)
    run.machine.run(100)
    assert ("exception", 3, run["at"]) in events(run)
    assert run.recorder.addresses[-1] == run["at"] - 2
    assert run.recorder.addresses.count(run["work"]) == 1
    assert run.machine.read(BFAR, 4) == 0x30000000
    assert register(run.machine, 5) == 3
    # ITSTATE is that of the third of four instructions: EQ, 0100.
    assert words(run, STACK - 4, 1)[0] & 0x0600FC00 == 0x4 << 8
