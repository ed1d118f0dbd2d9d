"""Vectors worked by hand from the manuals: faults and lockup."""

from __future__ import annotations

from typing import Optional

import pytest

from tests.board.assembly import STACK
from tests.board.exception_cores import (
    BFAR,
    CFSR,
    HFSR,
    LOCKUP,
    NO_EXECUTION,
    events,
    exc_return,
    fixture_core,
    program,
    words,
)
from tests.board.witness import register

__all__ = ["fixture_core"]


FAULTS = [
    ("ldr r0, =0x30000000\nat: ldr r1, [r0]", 0x8200, 0x30000000),
    ("ldr r0, =0x30000004\nat: str r1, [r0]", 0x8200, 0x30000004),
    ("ldr r0, =0x100\nat: str r1, [r0]", 0x8200, 0x100),
    ("ldr r0, =0x2007fff8\nat: ldmia r0!, {r1-r4}", 0x8200, 0x20080000),
    ("at: udf #0", 0x10000, None),
    ("at: mrc p15, 0, r0, c1, c0, 0", 0x80000, None),
    ("at: vadd.f32 s0, s1, s2", 0x80000, None),
]
DIVIDE = "store 0xe000ed14, 0x%x\n movs r0, #0\n movs r1, #7\nat: %s"
TRAPS = [
    (DIVIDE % (0x10, "udiv r1, r1, r0"), 0x2000000),
    (DIVIDE % (0x10, "sdiv r1, r1, r0"), 0x2000000),
    (DIVIDE % (0x8, "udiv r1, r1, r0\n ldr r0, =0x20000102\n at: ldr r1, [r0]"), 0x1000000),
    (DIVIDE % (0x8, "nop\n ldr r0, =0x20000101\n at: strh r1, [r0, #2]"), 0x1000000),
    (DIVIDE % (0x8, "nop\n ldr r0, =0x20000101\n cmp r0, r0\n it eq\n at: strheq r1, [r0, #2]"), 0x1000000),
    ("ldr r0, =0x20000102\n at: ldmia r0, {r1, r2}", 0x1000000),
    ("ldr r0, =0x20000102\n at: stmia r0!, {r1, r2}", 0x1000000),
    ("ldr r0, =0x20000102\n movs r3, #0\n at: ldrd r1, r2, [r0, #8]", 0x1000000),
    ("ldr r0, =0x20000102\n cmp r0, r0\n ite eq\n at: strdeq r1, r2, [r0], #8\n movne r7, #3", 0x1000000),
]
STACK_LIMIT = "ldr r0, =0x20007fe0\n msr msplim, r0\nat: sub sp, #0x40"


@pytest.mark.parametrize("code, cfsr, bfar", FAULTS)
def test_fault_on_an_instruction(code: str, cfsr: int, bfar: Optional[int]) -> None:
    run = program("start:\n movs r7, #1\n %s\n movs r7, #2\n bkpt\nhardfault:\n b stop" % code)
    run.machine.run(100)
    machine = run.machine
    assert ("exception", 3, run["at"]) in events(run)
    assert machine.read(CFSR, 4) == cfsr
    assert machine.read(HFSR, 4) == 0x40000000
    assert register(machine, 7) == 1
    assert run["at"] not in run.recorder.addresses
    if bfar is not None:
        assert machine.read(BFAR, 4) == bfar


@pytest.mark.parametrize("code, cfsr", TRAPS)
def test_trap_on_an_instruction(code: str, cfsr: int) -> None:
    test_fault_on_an_instruction(code.replace("\nat: ", "\n", code.count("at: ") - 1), cfsr, None)


@pytest.mark.parametrize(
    "code",
    [
        "movs r1, #7\n movs r0, #0\n udiv r2, r1, r0",
        "ldr r0, =0x20000102\n str r0, [r0]\n ldr r1, [r0]\n movs r2, #0",
        "ldr r0, =0x20000102\n cmp r0, r0\n itt ne\n ldmne r0, {r1, r2}\n ldrdne r1, r3, [r0]\n movs r2, #0",
        "store 0xe000ed14, 0x10\n movs r0, #0\n cmp r0, r0\n it ne\n udivne r2, r0, r0\n movs r2, #0",
    ],
)
def test_none_without_the_trap_nor_where_the_condition_fails(code: str) -> None:
    run = program("start:\n%s\nend:\n bkpt\nhardfault:\n b stop" % code)
    run.machine.run(100)
    assert register(run.machine, 15) == run["end"] and register(run.machine, 2) == 0


@pytest.mark.parametrize("core", ["m33"], indirect=True)
def test_stack_limit() -> None:
    test_fault_on_an_instruction(STACK_LIMIT, 0x100000, None)


@pytest.mark.parametrize("value", [0xFFFFFFB0, 0xFFFFFFF9], ids=["to the wrong mode", "illegal"])
def test_a_bad_return_is_a_usage_fault(value: int) -> None:
    run = program(
        """
start:
    svc #0
svc:
    ldr r0, =0x%x
at: bx r0
hardfault:
    bkpt
"""
        % exc_return(value)
    )
    run.machine.run(100)
    assert run.recorder.stream[-4:-1] == [run["at"], ("return", 0, 0), ("exception", 3, NO_EXECUTION)]
    assert run.machine.read(CFSR, 4) == 0x40000


BRANCHES = [
    ("ldr r0, =0x30000001", 0x100, 0x30000000, 0x01000000),
    ("ldr r0, =0x40004001", 0x1, 0x40004000, 0x01000000),
    ("ldr r0, =0xe000e001", 0x1, 0xE000E000, 0x01000000),
    ("ldr r0, =0xffffffb9", 0x1, 0xFFFFFFB8, 0x01000000),
    ("ldr r0, =0x20000000", 0x20000, 0x20000000, 0),
]


@pytest.mark.parametrize("load, cfsr, address, thumb", BRANCHES)
def test_fault_on_the_target_of_a_branch(load: str, cfsr: int, address: int, thumb: int) -> None:
    run = program("start:\n %s\nat: bx r0\nhardfault:\n b stop" % load)
    run.machine.run(100)
    # The branch itself has been executed.
    assert run.recorder.stream[2:4] == [run["at"], ("exception", 3, address)]
    assert run.machine.read(CFSR, 4) == cfsr
    assert words(run, STACK - 8, 2) == (address, thumb | words(run, STACK - 4, 1)[0] & ~0x01000000)


@pytest.mark.parametrize("access", ["streq r1, [r0]", "ldreq r1, [r0]", "stmeq r0!, {r1, r2}", "streq r1, [r0], #4"])
def test_fault_inside_an_it_block_is_precise(access: str) -> None:
    run = program(
        """
start:
    ldr r0, =0x30000000
    ldr r4, =0x20000100
    movs r5, #0
    cmp r0, r0
    itttt eq
    addeq r5, #1
at: %s
    streq r0, [r4]
    addeq r5, #16
    bkpt
hardfault:
    bkpt
"""
        % access
    )
    run.machine.run(100)
    assert run.recorder.stream[-3:-1] == [run["at"] - 2, ("exception", 3, run["at"])]
    # Nothing after it in the block has been done, nor any part of it.
    assert register(run.machine, 5) == 1
    assert run.machine.read(0x20000100, 4) == 0
    frame = words(run, STACK - 32, 8)
    assert frame[0] == 0x30000000
    # ITSTATE is that of the second of four instructions: EQ, 0010.
    assert frame[7] & 0x0600FC00 == 0x2 << 25


@pytest.mark.parametrize("setup", ["", "ldr r2, =0xe000ed88\n mov r3, #0xf00000\n str r3, [r2]"], ids=["", "fpu"])
def test_nothing_runs_after_a_fault_inside_an_it_block(setup: str) -> None:
    run = program(
        """
start:
    %s
    ldr r0, =0x30000000
    ldr r4, =0x20000100
    cmp r0, r0
again:
    nop
    itt eq
at: streq r1, [r0], #4
    addeq r5, #1
    bne other
    str r4, [r4]
    b again
other:
    bkpt
hardfault:
    bkpt
"""
        % setup
    )
    run.machine.run(100)
    assert run.recorder.stream[-3:-1] == [run["at"] - 2, ("exception", 3, run["at"])]
    assert run.recorder.addresses.count(run["again"]) == 1
    assert run.machine.read(BFAR, 4) == 0x30000000
    assert run.machine.read(0x20000100, 4) == 0


def test_it_state_goes_through_an_exception() -> None:
    run = program(
        """
start:
    movs r5, #0
    cmp r5, r5
    itete eq
    svceq #0
    addne r5, #1
    addeq r5, #2
    addne r5, #4
    bkpt
svc:
    movs r0, #0
    cmp r0, #1
    bx lr
"""
    )
    run.machine.run(100)
    assert register(run.machine, 5) == 2
    assert len(run.recorder.addresses) == 4 + 3 + 3


def test_configurable_faults_need_enabling_and_priority() -> None:
    run = program(
        """
start:
    store SHCSR, 0x70000
    udf #0
    ldr r0, =0x30000000
    ldr r1, [r0]
    ldr r0, =0x40004001
    bx r0
usagefault:
    ldr r0, [sp, #24]
    adds r0, #2
    str r0, [sp, #24]
    bx lr
busfault:
    ldr r0, [sp, #24]
    adds r0, #2
    str r0, [sp, #24]
    bx lr
memmanage:
    udf #1          @ the same priority: escalates
hardfault:
    bkpt
"""
    )
    run.machine.run(100)
    assert [number for name, number, _ in events(run) if name == "exception"] == [6, 5, 4, 3]
    assert run.machine.read(HFSR, 4) == 0x40000000


def test_fault_in_hard_fault_locks_up(core: str) -> None:
    run = program("start:\n udf #0\nhardfault:\n nop\nat: udf #1")
    run.machine.run(100)
    assert events(run)[-1] == ("lockup", 0, run["at"])
    assert run.machine.read(0xE000EDF0, 4) & 1 << 19
    run.machine.write(0xE000EDF0, 4, 0xA05F0003)
    assert register(run.machine, 15) == LOCKUP[core]


def test_stacking_outside_memory_is_a_derived_fault() -> None:
    run = program(
        """
start:
    ldr r0, =0x20000010
    mov sp, r0
    svc #0
svc:
    bkpt
hardfault:
    bkpt
"""
    )
    run.machine.run(100)
    # Both the frame of SVC and that of HardFault are lost; which exceptions are taken is what counts.
    assert run.machine.read(CFSR, 4) & 0x1000
    assert events(run)[0][:2] == ("exception", 3)
