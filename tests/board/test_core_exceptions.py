"""Vectors worked by hand from the manuals: exceptions."""

from __future__ import annotations

from typing import List

import pytest

from tests.board.assembly import STACK
from tests.board.exception_cores import (
    LR,
    NO_EXECUTION,
    XPSR,
    events,
    exc_return,
    fixture_core,
    program,
    words,
)
from tests.board.witness import DEMCR, DFSR, register

__all__ = ["fixture_core"]


def test_frame_of_an_svc() -> None:
    run = program(
        """
start:
    ldr r12, =0x12121212
    movs r0, #10
    movs r1, #11
    movs r2, #12
    movs r3, #0
    adds r3, #0
    svc #9
after:
    nop
    b after
svc:
    bkpt
"""
    )
    run.machine.run(100)
    assert events(run) == [("exception", 11, run["after"]), ("halt", 0, run["svc"])]
    assert register(run.machine, 13) == STACK - 32
    assert register(run.machine, LR) == exc_return(0xFFFFFFB8)
    assert register(run.machine, XPSR) & 0x1FF == 11
    # r0-r3, r12, LR, return address, xPSR with Z and T.
    expected = (10, 11, 12, 0, 0x12121212, 0xFFFFFFFF, run["after"], 0x41000000)
    assert words(run, STACK - 32, 8) == expected


def test_stack_is_aligned_and_put_back() -> None:
    run = program(
        """
start:
    push {r4}
    svc #0
    mov r5, sp
    bkpt
svc:
    mov r6, sp
    bx lr
"""
    )
    run.machine.run(100)
    assert register(run.machine, 6) == STACK - 8 - 32
    assert words(run, STACK - 8 - 4, 1)[0] & 1 << 9
    assert register(run.machine, 5) == STACK - 4
    assert not register(run.machine, XPSR) & 1 << 9


@pytest.mark.parametrize(
    "control, value", [("0", 0xFFFFFFB8), ("2", 0xFFFFFFBC), ("3", 0xFFFFFFBC)], ids=["msp", "psp", "unprivileged"]
)
def test_thread_stacks(control: str, value: int) -> None:
    run = program(
        """
start:
    ldr r0, =0x20004000
    msr psp, r0
    movs r0, #%s
    msr control, r0
    isb
    mov r4, sp
    svc #0
    mrs r6, control
    mov r7, sp
    movs r0, #1
    cpsid i
    bkpt
svc:
    mov r5, lr
    mov r8, sp
    mrs r9, control
    bx lr
"""
        % control
    )
    run.machine.run(100)
    stack = STACK if control == "0" else 0x20004000
    assert [register(run.machine, number) for number in (4, 5, 7)] == [stack, exc_return(value), stack]
    # In the handler: the main stack, and no SPSEL.
    assert register(run.machine, 8) == (STACK - 32 if control == "0" else STACK)
    assert register(run.machine, 9) & 7 == int(control) & 1
    # Unprivileged code reads the special registers, but CPS does nothing.
    assert register(run.machine, 6) & 7 == int(control)
    assert register(run.machine, 20) & 1 == (0 if control == "3" else 1)


@pytest.mark.parametrize("control", [0, 1, 2, 3])
def test_a_debugger_reads_everything_of_unprivileged_code(control: int) -> None:
    run = program(
        """
start:
    ldr r0, =0x20004000
    msr psp, r0
    movs r0, #0x40
    msr basepri, r0
    movs r0, #1
    msr primask, r0
    movs r0, #%d
    msr control, r0
    isb
    push {r0}
    bkpt
"""
        % control
    )
    run.machine.run(100)
    main, process = (STACK, 0x20003FFC) if control & 2 else (STACK - 4, 0x20004000)
    stack = process if control & 2 else main
    assert [register(run.machine, number) for number in (13, 17, 18)] == [stack, main, process]
    assert register(run.machine, 20) == control << 24 | 0x4001


def test_masks_hold_in_unprivileged_code() -> None:
    run = program(
        """
start:
    cpsid i
    store ISER, 1
    movs r0, #1
    msr control, r0
    isb
    store ISPR, 1
    nop
    bkpt
"""
    )
    run.machine.run(100)
    assert [event for event in events(run) if event[0] == "exception"] == []


def test_handler_of_unprivileged_code_is_privileged() -> None:
    run = program(
        """
start:
    movs r0, #1
    msr control, r0
    isb
    svc #0
    bkpt
svc:
    cpsid i
    mrs r5, primask
    cpsie i
    bx lr
"""
    )
    run.machine.run(100)
    assert register(run.machine, 5) == 1


def test_priorities_decide_on_nesting_and_tail_chaining() -> None:
    run = program(
        """
start:
    store IPR, 0x00204080
    store ISER, 7
    ldr r0, =ISPR
    movs r1, #1
    str r1, [r0]
here:
    bkpt
irq0:                   @ priority 0x80
    movs r1, #6
    str r1, [r0]        @ irq2, then irq1
in0:
    store ICSR, 0x10000000
    bx lr
irq1:
    nop
    bx lr
irq2:
    bx lr
pendsv:                 @ priority 0, so before irq0's end
    nop
    bx lr
"""
    )
    run.machine.run(200)
    assert [(name, number) for name, number, _ in events(run)] == [
        ("exception", 16),
        ("exception", 18),
        ("return", 0),
        ("exception", 17),
        ("return", 0),
        ("exception", 14),
        ("return", 0),
        ("return", 0),
        ("halt", 0),
    ]
    addresses = [address for name, _number, address in events(run) if name == "exception"]
    assert addresses[:3] == [run["here"], run["in0"], NO_EXECUTION]


def test_masking_keeps_an_interrupt_pending_until_the_very_end() -> None:
    run = program(
        """
start:
    store ISER, 1
    cpsid i
    store ISPR, 1
    nop
    nop
    cpsie i
unmasked:
    nop
    movs r0, #0x40
    msr basepri, r0
    store IPR, 0x40
    store ISPR, 1
    movs r0, #0
    nop
    msr basepri, r0
unmasked_again:
    nop
    bkpt
irq0:
    bx lr
"""
    )
    run.machine.run(200)
    taken = [event for event in events(run) if event[0] == "exception"]
    assert taken == [("exception", 16, run["unmasked"]), ("exception", 16, run["unmasked_again"])]


@pytest.mark.parametrize("period", [37, 100, 1001])
def test_systick_comes_at_exact_times(period: int) -> None:
    run = program(
        """
start:
    store SYST + 4, %d
    store SYST + 8, 0
    store SYST, 3
started:
loop:
    adds r4, #1
    ite ne
    addne r5, #1
    addeq r6, #1
    b loop
systick:
    bx lr
"""
        % (period - 1)
    )
    run.machine.run(20 * period)
    times: List[int] = []
    time = 0
    for each in run.recorder.stream:
        if isinstance(each, int):
            time += 1
        elif isinstance(each, tuple) and each[:2] == ("exception", 15):
            times.append(time)
    assert len(times) >= 19
    # An IT block is not interrupted, so it may come up to two instructions late.
    late = [(time - times[0]) % period for time in times]
    assert max(min(each, period - each) for each in late) <= 2


def test_wfi_sleeps_until_systick_without_taking_time() -> None:
    run = program(
        """
start:
    store SYST + 4, 1000000
    store SYST + 8, 0
    store SYST, 3
    wfi
woken:
    bkpt
systick:
    bx lr
"""
    )
    run.machine.run(1000)
    assert ("exception", 15, run["woken"]) in events(run)
    assert run.machine.clock.now() > 1000000
    assert len(run.recorder.addresses) < 30


def test_wfi_with_nothing_to_wait_for_can_be_halted() -> None:
    run = program("start:\n wfi\nafter: b after")
    run.machine.run(100)
    assert run.machine.read(0xE000EDF0, 4) & 1 << 18
    run.machine.write(0xE000EDF0, 4, 0xA05F0003)
    assert register(run.machine, 15) == run["after"]


@pytest.mark.parametrize("enable", [True, False])
def test_vector_catch_of_hard_fault(enable: bool) -> None:
    run = program("start:\n udf #0\nhardfault:\n nop\n b hardfault")
    run.machine.write(DEMCR, 4, 0x01000400 if enable else 0x01000000)
    run.machine.run(100)
    assert run.machine.core.halted is enable
    assert run.machine.read(DFSR, 4) == (8 if enable else 0)
    if enable:
        assert register(run.machine, 15) == run["hardfault"]


def test_floating_point_context_is_saved_and_restored() -> None:
    run = program(
        """
start:
    store CPACR, 0x00f00000
    dsb
    isb
    vmov.f32 s0, #1.0
    vmov.f32 s15, #2.0
    svc #0
    vmov r4, s0
    vmov r5, s15
    mov r7, sp
    mrs r8, control
    bkpt
svc:
    mov r6, lr
    vmov.f32 s0, #3.0
    vmov.f32 s15, #4.0
    bx lr
"""
    )
    run.machine.run(100)
    assert register(run.machine, 6) == exc_return(0xFFFFFFA8)
    assert [register(run.machine, number) for number in (4, 5, 7)] == [0x3F800000, 0x40000000, STACK]
    assert register(run.machine, 8) & 4
    assert words(run, STACK - 0x68 + 0x20, 1) == (0x3F800000,)
    assert register(run.machine, 64) == 0x3F800000 and register(run.machine, 79) == 0x40000000


def test_the_frame_is_fpcas_whoever_set_it() -> None:
    # PushStack asks for CONTROL.FPCA alone; FPCCR.ASPEN decides who sets it.
    run = program(
        """
start:
    store CPACR, 0x00f00000
    store 0xE000EF34, 0
    mov r0, #4
    msr control, r0
    isb
    svc #0
    mrs r8, control
    bkpt
svc:
    mov r6, lr
    bx lr
"""
    )
    run.machine.run(100)
    assert register(run.machine, 6) == exc_return(0xFFFFFFA8)
    assert register(run.machine, 8) & 4


def test_reset_request_starts_anew() -> None:
    run = program(
        """
start:
    adds r4, #1
    ldr r1, =0x20000000
    ldr r2, [r1]
    adds r2, #1
    str r2, [r1]
    cmp r2, #3
    beq done
    store 0xE000ED0C, 0x05fa0004
    nop
done:
    bkpt
"""
    )
    run.machine.run(200)
    assert [event for event in run.recorder.events if event[0] == "exception"] == [("exception", 1, NO_EXECUTION)] * 3
    assert register(run.machine, 4) == 1
    assert run.machine.read(0x20000000, 4) == 3
