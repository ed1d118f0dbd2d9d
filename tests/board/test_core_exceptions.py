"""Vectors worked by hand from the Armv8-M and Armv7-M manuals: stacking, EXC_RETURN, priorities, tail-chaining, faults,
lockup."""

from __future__ import annotations

import struct
from typing import Dict, Iterator, List, Optional, Tuple

import pytest

from tests.board import assembly
from tests.board.assembly import STACK, Program
from tests.board.witness import DEMCR, DFSR, register

NO_EXECUTION = 0xFFFFFFFE
CFSR = 0xE000ED28
HFSR = 0xE000ED2C
BFAR = 0xE000ED38
LR, XPSR = 14, 16


# EXC_RETURN of an Armv8-M core without Security Extension, and of Armv7-M for the same.
EXC_RETURNS: Dict[str, Dict[int, int]] = {
    "m33": {},
    "m7": {
        0xFFFFFFB0: 0xFFFFFFF1,
        0xFFFFFFB8: 0xFFFFFFF9,
        0xFFFFFFBC: 0xFFFFFFFD,
        0xFFFFFFA8: 0xFFFFFFE9,
        0xFFFFFFF9: 0xFFFFFFF5,
    },
}
LOCKUP = {"m33": 0xEFFFFFFE, "m7": 0xFFFFFFFE}

_core = "m33"


@pytest.fixture(autouse=True, params=["m33", "m7"], name="core")
def fixture_core(request: pytest.FixtureRequest) -> Iterator[str]:
    """Choose the core that the programs of a test run on."""
    global _core
    _core = request.param
    yield _core


def program(source: str) -> Program:
    """Assemble a program for the core at hand and load it."""
    return assembly.program(source, _core)


def exc_return(value: int) -> int:
    """Return the core's own value of EXC_RETURN for that of a Cortex-M33."""
    return EXC_RETURNS[_core].get(value, value)


def words(run: Program, address: int, count: int) -> Tuple[int, ...]:
    return struct.unpack("<%dI" % count, run.machine.read_block(address, 4 * count))


def events(run: Program) -> List[Tuple[str, int, int]]:
    """Return what happened after the reset."""
    return run.recorder.events[1:]


def test_frame_of_an_svc() -> None:
    run = program("""
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
""")
    run.machine.run(100)
    assert events(run) == [("exception", 11, run["after"]), ("halt", 0, run["svc"])]
    assert register(run.machine, 13) == STACK - 32
    assert register(run.machine, LR) == exc_return(0xFFFFFFB8)
    assert register(run.machine, XPSR) & 0x1FF == 11
    # r0-r3, r12, LR, return address, xPSR with Z and T.
    expected = (10, 11, 12, 0, 0x12121212, 0xFFFFFFFF, run["after"], 0x41000000)
    assert words(run, STACK - 32, 8) == expected


def test_stack_is_aligned_and_put_back() -> None:
    run = program("""
start:
    push {r4}
    svc #0
    mov r5, sp
    bkpt
svc:
    mov r6, sp
    bx lr
""")
    run.machine.run(100)
    assert register(run.machine, 6) == STACK - 8 - 32
    assert words(run, STACK - 8 - 4, 1)[0] & 1 << 9
    assert register(run.machine, 5) == STACK - 4
    assert not register(run.machine, XPSR) & 1 << 9


@pytest.mark.parametrize(
    "control, value", [("0", 0xFFFFFFB8), ("2", 0xFFFFFFBC), ("3", 0xFFFFFFBC)], ids=["msp", "psp", "unprivileged"]
)
def test_thread_stacks(control: str, value: int) -> None:
    run = program("""
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
""" % control)
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
    run = program("""
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
""" % control)
    run.machine.run(100)
    main, process = (STACK, 0x20003FFC) if control & 2 else (STACK - 4, 0x20004000)
    stack = process if control & 2 else main
    assert [register(run.machine, number) for number in (13, 17, 18)] == [stack, main, process]
    assert register(run.machine, 20) == control << 24 | 0x4001


def test_masks_hold_in_unprivileged_code() -> None:
    run = program("""
start:
    cpsid i
    store ISER, 1
    movs r0, #1
    msr control, r0
    isb
    store ISPR, 1
    nop
    bkpt
""")
    run.machine.run(100)
    assert [event for event in events(run) if event[0] == "exception"] == []


def test_handler_of_unprivileged_code_is_privileged() -> None:
    run = program("""
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
""")
    run.machine.run(100)
    assert register(run.machine, 5) == 1


def test_priorities_decide_on_nesting_and_tail_chaining() -> None:
    run = program("""
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
""")
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
    run = program("""
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
""")
    run.machine.run(200)
    taken = [event for event in events(run) if event[0] == "exception"]
    assert taken == [("exception", 16, run["unmasked"]), ("exception", 16, run["unmasked_again"])]


@pytest.mark.parametrize("period", [37, 100, 1001])
def test_systick_comes_at_exact_times(period: int) -> None:
    run = program("""
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
""" % (period - 1))
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


@pytest.mark.parametrize("code", [
    "movs r1, #7\n movs r0, #0\n udiv r2, r1, r0",
    "ldr r0, =0x20000102\n str r0, [r0]\n ldr r1, [r0]\n movs r2, #0",
    "ldr r0, =0x20000102\n cmp r0, r0\n itt ne\n ldmne r0, {r1, r2}\n ldrdne r1, r3, [r0]\n movs r2, #0",
    "store 0xe000ed14, 0x10\n movs r0, #0\n cmp r0, r0\n it ne\n udivne r2, r0, r0\n movs r2, #0",
])
def test_none_without_the_trap_nor_where_the_condition_fails(code: str) -> None:
    run = program("start:\n%s\nend:\n bkpt\nhardfault:\n b stop" % code)
    run.machine.run(100)
    assert register(run.machine, 15) == run["end"] and register(run.machine, 2) == 0


@pytest.mark.parametrize("core", ["m33"], indirect=True)
def test_stack_limit() -> None:
    test_fault_on_an_instruction(STACK_LIMIT, 0x100000, None)


def test_a_return_to_the_wrong_mode() -> None:
    run = program("""
start:
    svc #0
svc:
    ldr r0, =0x%x
at: bx r0
hardfault:
    bkpt
""" % exc_return(0xFFFFFFB0))
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
    run = program("""
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
""" % access)
    run.machine.run(100)
    assert run.recorder.stream[-3:-1] == [run["at"] - 2, ("exception", 3, run["at"])]
    # Nothing after it in the block has been done, nor any part of it.
    assert register(run.machine, 5) == 1
    assert run.machine.read(0x20000100, 4) == 0
    frame = words(run, STACK - 32, 8)
    assert frame[0] == 0x30000000
    # ITSTATE is that of the second of four instructions: EQ, 0010.
    assert frame[7] & 0x0600FC00 == 0x2 << 25


def test_it_state_goes_through_an_exception() -> None:
    run = program("""
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
""")
    run.machine.run(100)
    assert register(run.machine, 5) == 2
    assert len(run.recorder.addresses) == 4 + 3 + 3


def test_configurable_faults_need_enabling_and_priority() -> None:
    run = program("""
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
""")
    run.machine.run(100)
    assert [number for name, number, _ in events(run) if name == "exception"] == [6, 5, 4, 3]
    assert run.machine.read(HFSR, 4) == 0x40000000


def test_fault_in_hard_fault_locks_up() -> None:
    run = program("start:\n udf #0\nhardfault:\n nop\nat: udf #1")
    run.machine.run(100)
    assert events(run)[-1] == ("lockup", 0, run["at"])
    assert run.machine.read(0xE000EDF0, 4) & 1 << 19
    run.machine.write(0xE000EDF0, 4, 0xA05F0003)
    assert register(run.machine, 15) == LOCKUP[_core]


def test_illegal_exc_return_is_a_usage_fault() -> None:
    run = program("""
start:
    svc #0
svc:
    ldr r0, =0x%x
at: bx r0
hardfault:
    bkpt
""" % exc_return(0xFFFFFFF9))
    run.machine.run(100)
    assert run.recorder.stream[-4:-1] == [run["at"], ("return", 0, 0), ("exception", 3, NO_EXECUTION)]
    assert run.machine.read(CFSR, 4) == 0x40000


def test_stacking_outside_memory_is_a_derived_fault() -> None:
    run = program("""
start:
    ldr r0, =0x20000010
    mov sp, r0
    svc #0
svc:
    bkpt
hardfault:
    bkpt
""")
    run.machine.run(100)
    # Both the frame of SVC and that of HardFault are lost; which exceptions are taken is what counts.
    assert run.machine.read(CFSR, 4) & 0x1000
    assert events(run)[0][:2] == ("exception", 3)


def test_wfi_sleeps_until_systick_without_taking_time() -> None:
    run = program("""
start:
    store SYST + 4, 1000000
    store SYST + 8, 0
    store SYST, 3
    wfi
woken:
    bkpt
systick:
    bx lr
""")
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
    run = program("""
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
""")
    run.machine.run(100)
    assert register(run.machine, 6) == exc_return(0xFFFFFFA8)
    assert [register(run.machine, number) for number in (4, 5, 7)] == [0x3F800000, 0x40000000, STACK]
    assert register(run.machine, 8) & 4
    assert words(run, STACK - 0x68 + 0x20, 1) == (0x3F800000,)
    assert register(run.machine, 64) == 0x3F800000 and register(run.machine, 79) == 0x40000000


def test_reset_request_starts_anew() -> None:
    run = program("""
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
""")
    run.machine.run(200)
    assert [event for event in run.recorder.events if event[0] == "exception"] == [("exception", 1, NO_EXECUTION)] * 3
    assert register(run.machine, 4) == 1
    assert run.machine.read(0x20000000, 4) == 3
