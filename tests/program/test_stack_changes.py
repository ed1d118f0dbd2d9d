"""Worked by hand: functions that go over to another stack.

The instructions' encodings are the assembler's.
"""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.program.isa import Isa
from gdb_etm.program.stack_changes import main_stack_changes, process_stack_changes, stack_changes

START = 0x1000


def found(code: str, isa: Isa) -> List[int]:
    return [one.address - START for one in stack_changes(bytes.fromhex(code), START, isa)]


def test_sp_is_stored_elsewhere_and_loaded() -> None:
    # push {r4-r7, lr}; str sp, [r1, #8]; ldr sp, [r0, #8]; pop {r4-r7, pc}
    code = bytes.fromhex("f0b5 c1f808d0 d0f808d0 f0bd")
    (change,) = stack_changes(code, START, Isa.T32)
    assert (change.address, change.end) == (START + 6, START + 10)


@pytest.mark.parametrize(
    "code, isa, at",
    [
        # push {r4, lr}; mov r3, sp; str r3, [r0]; ldr r2, [r1]; mov sp, r2; pop {r4, pc}
        ("10b5 6b46 0360 0a68 9546 10bd", Isa.T32, 8),
        # stmia r1!, {r4-r11, sp, lr}; ldm r0!, {r4-r11, sp, pc}
        ("f06fa1e8 f0afb0e8", Isa.A32, 4),
        # A function is given SP, and gives another one: push {r4, lr}; mov r0, sp; bl; mov sp, r0; pop {r4, pc}
        ("10b5 6846 fff7cfff 8546 10bd", Isa.T32, 8),
        # mov x9, sp; str x9, [x0]; ldr x9, [x1]; mov sp, x9; ret
        ("e9030091 090000f9 290040f9 3f010091 c0035fd6", Isa.A64, 12),
    ],
)
def test_through_other_registers_and_in_other_instruction_sets(code: str, isa: Isa, at: int) -> None:
    assert found(code, isa) == [at]


@pytest.mark.parametrize(
    "code, isa",
    [
        # A longjmp: ldmia r0!, {r4-r11, ip, lr}; mov sp, ip; bx lr
        ("b0e8f05f e546 7047", Isa.T32),
        # Room on the stack is given back: push {r7}; add r7, sp, #0; mov r3, sp; str r3, [r7, #-4]; ldr r3, [r7, #-4];
        # mov sp, r3; pop {r7}; bx lr
        ("80b4 00af 6b46 47f8043c 57f8043c 9d46 80bc 7047", Isa.T32),
        # Behind tbh there is its table, whose second entry would be ldr r5, [r1]: push {r4, r5, lr}; mov r5, sp;
        # mov r3, sp; str r3, [r0]; tbh [pc, r3, lsl #1]; its table; mov sp, r5; pop {r4, r5, pc}
        ("30b5 6d46 6b46 0360 dfe813f0 02000d68 ad46 30bd", Isa.T32),
        # What stands behind a return has the frame's registers: push {r4, r5, lr}; mov r5, sp; mov r3, sp;
        # str r3, [r0]; cbz r0, to the ldr; pop {r4, r5, pc}; ldr r4, [r5]; mov sp, r4; pop {r4, r5, pc}
        ("30b5 6d46 6b46 0360 00b1 30bd 2c68 a546 30bd", Isa.T32),
        # A frame: mov ip, sp; push {fp, ip, lr, pc}; sub fp, ip, #4; ldm sp, {fp, sp, pc}
        ("0dc0a0e1 00d82de9 04b04ce2 00a89de8", Isa.A32),
        # A function's result, which does not get SP: bl; mov sp, r0
        ("fff7cfff 8546", Isa.T32),
        # A setjmp: mov x9, sp; str x9, [x0]; ret
        ("e9030091 090000f9 c0035fd6", Isa.A64),
    ],
)
def test_what_sets_sp_to_its_own_stacks_or_stores_none(code: str, isa: Isa) -> None:
    assert not found(code, isa)


@pytest.mark.parametrize(
    "code, at",
    [
        # mrs r0, psp; stmdb r0!, {r4-r11}; ldr r1, [r2]; str r0, [r1]; ldr r0, [r3]; ldmia r0!, {r4-r11}; msr psp, r0
        ("eff30980 20e9f00f 1168 0860 1868 b0e8f00f 80f30988", [18]),
        # What a call gives may be anything: mrs r0, psp; bl; msr psp, r0
        ("eff30980 fff7cfff 80f30988", [8]),
        # A frame more, for the same thread: mrs r3, psp; subs r3, #32; str r2, [r3, #24]; msr psp, r3
        ("eff30983 203b 9a61 83f30988", []),
    ],
)
def test_a_handler_sets_psp_to_another_stack(code: str, at: List[int]) -> None:
    assert [one.address - START for one in process_stack_changes(bytes.fromhex(code), START)] == at


@pytest.mark.parametrize(
    "code, at",
    [
        # push {r4, lr}; str sp, [r1]; ldr sp, [r0]; pop {r4, lr}; bx lr
        ("10b5 c1f800d0 d0f800d0 bde81040 7047", [6]),
        # What was not made from SP is another's: ldr r0, [r1]; mov sp, r0; bx lr
        ("0868 8546 7047", [2]),
        # mrs r0, msp; subs r0, #32; msr msp, r0: a frame more; ldr r0, [r1]; msr msp, r0
        ("eff30880 2038 80f30888 0868 80f30888", [12]),
        # A frame pointer: push {r7, lr}; add r7, sp, #0; bl; mov sp, r7; pop {r7, pc}
        ("80b5 00af fff7cfff bd46 80bd", []),
    ],
)
def test_a_handler_sets_msp_to_another_stack(code: str, at: List[int]) -> None:
    assert [one.address - START for one in main_stack_changes(bytes.fromhex(code), START)] == at
