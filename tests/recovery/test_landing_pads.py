"""Worked by hand, and on Unicorn: where exceptions of C++ land."""

from __future__ import annotations

import pytest

from gdb_etm.program.cfi import load_frames
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.firmware.build import symbol
from tests.recovery.small import DEVICE, STACK, Ran, built, run, wrong

# The pad's address, and its stack pointer and r4, come from a device.  What it finds in r4 stays in r1.
SOURCE = """
    .cfi_sections .debug_frame
    b begin
worker:
    .cfi_startproc
    push {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset r4, -8
    .cfi_offset lr, -4
    ldr r4, [r3, #12]
    add r4, r2
    cbz r2, 1f
    movs r2, #0
    bl worker
    pop {r4, pc}
1:  bl thrower
    %s
pad:
    mov r1, r4
    nop
    pop {r4, pc}
    .cfi_endproc
thrower:
    .cfi_startproc
    push {r4, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset r4, -8
    .cfi_offset lr, -4
    mov r4, r2
    mov r1, sp
    ldr r12, [r3]
    ldr r4, [r3, #8]
    ldr r0, [r3, #4]
    str r0, [r12, #-4]!
    mov sp, r12
    movs r0, #0
    movs r1, #0
    pop {pc}
    .cfi_endproc
begin:
    bl worker
    mov r4, #0
    b end
"""
FOUR = 0x12345678


def ran(source: str, deep: int = 0) -> Ran:
    elf = built(source)
    device = {DEVICE: STACK - 8, DEVICE + 4: symbol(elf, "pad") | 1, DEVICE + 8: FOUR + deep, DEVICE + 12: FOUR}
    return run(source, {"r3": DEVICE, "r4": FOUR, "r2": deep}, device)


def recovered(done: Ran, source: str) -> Recovery:
    return done.recovery(Rules(limit=Tier.ASSUMED, frames=load_frames([built(source)])))


@pytest.mark.parametrize("between", ["nop", ""])
def test_the_function_goes_on_with_its_stack_and_its_registers(between: str) -> None:
    # The pad may be where the call would have returned to.
    source = SOURCE % between
    done = ran(source)
    recovery = recovered(done, source)
    number = done.number(symbol(built(source), "thrower") + 2)
    assert recovery.register(number, "sp")[:2] == (STACK - 16, Tier.ASSUMED)
    assert recovery.register(number, "r4")[:2] == (FOUR, Tier.ASSUMED)
    assert not wrong(done, recovery)


def test_it_is_not_known_which_call_of_a_function_goes_on() -> None:
    # The older one does, with another r4.
    source = SOURCE % "nop"
    done = ran(source, 1)
    recovery = recovered(done, source)
    assert recovery.register(done.number(symbol(built(source), "thrower") + 2), "r4").value is None
    assert not wrong(done, recovery)


def test_what_is_behind_another_call_is_no_pad() -> None:
    source = SOURCE % "bl begin"
    done = ran(source)
    recovery = recovered(done, source)
    assert recovery.register(done.number(symbol(built(source), "thrower") + 2), "sp").value is None
    assert not wrong(done, recovery)
