"""Worked by hand from the Armv8-M manual: PushStack, PopStack."""

from __future__ import annotations

from typing import Dict, List, Optional

import pytest

from gdb_etm.capture import Core
from gdb_etm.protocols.elements import Exception_
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier, no_memory
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.small import CODE, RAM, built

TOP = RAM + 0x1000
SOURCE = """
    movs r0, #1
    adds r0, r0, r4
    nop
    b end
handler:
    push {r4, lr}
    movs r0, #9
    movs r4, #3
    pop {r4, pc}
leaf:
    movs r1, #7
    bx lr
supervisor:
    ldr r0, [sp]
    bx lr
"""
HANDLER, LEAF, SUPERVISOR = CODE + 8, CODE + 16, CODE + 20
LEAVE = [HANDLER, HANDLER + 2, HANDLER + 4, HANDLER + 6]
FLOATING: List[Item] = [CODE, Taken(16, CODE + 4), CODE + 8, Returned(), CODE + 4]
REGISTERS = {"r4": 5, "sp": TOP, "msp": TOP, "psp": 0x20000800, "control": 0, "xpsr": 0x01000000, "lr": 0x77}


def recovered(items: List[Item], core: str = "Cortex-M4", **registers: int) -> Recovery:
    """Recover a run that ends after its last item."""
    halted = CODE + 6 if items[-1] == CODE + 4 else HANDLER + 4
    history = history_of(built(SOURCE), items, halted)
    history.source = history.source._replace(core=Core("cpu_0", core, {}))
    return Recovery(history, CoreState({**REGISTERS, **registers}, no_memory), rules=Rules(limit=Tier.EXACT))


def run(handler: List[int], number: int = 16) -> List[Item]:
    """An exception between the second and the third instruction."""
    return [CODE, CODE + 2, Taken(number, CODE + 4), *handler, Returned(), CODE + 4]


def test_a_frame_is_pushed_and_popped() -> None:
    recovery = recovered(run(LEAVE), r0=6)
    assert recovery.register(2, "r4")[:2] == (5, Tier.EXACT)
    assert recovery.register(3, "sp").value == TOP - 32
    assert recovery.register(4, "sp").value == TOP - 40
    assert recovery.register(7, "sp").value == TOP
    assert recovery.register(3, "lr").value == 0xFFFFFFF9
    assert recovery.register(2, "lr").value == 0x77
    assert recovery.register(7, "r0").value == 6
    assert recovery.register(3, "r0").value is None
    assert recovery.register(5, "r0").value == 9
    assert not recovery.findings


def test_what_is_pushed_is_in_memory() -> None:
    recovery = recovered(run(LEAVE), r0=6)
    frame = [recovery.memory(5, TOP - 32 + 4 * index, 4) for index in range(8)]
    words = [[one.value for one in word] for word in frame]
    assert words[0] == [6, 0, 0, 0]
    assert words[5] == [0x77, 0, 0, 0]
    assert words[6] == list((CODE + 4).to_bytes(4, "little"))


def test_the_frame_is_aligned() -> None:
    recovery = recovered(run(LEAVE), r0=6, sp=TOP - 4, msp=TOP - 4)
    assert recovery.register(7, "sp").value == TOP - 4
    assert recovery.register(2, "sp").value in (None, TOP - 4)
    items: List[Item] = [CODE, CODE + 2, Taken(16, CODE + 4), HANDLER, HANDLER + 2]
    halted = recovered(items, sp=TOP - 48, msp=TOP - 48, xpsr=16, lr=0xFFFFFFF9)
    assert halted.register(3, "sp").value == TOP - 40
    aligned = halted.register(2, "sp")
    assert (aligned.known, aligned.bits) == (0xFFFFFFFB, TOP - 8)


def test_a_tail_chain_pushes_once() -> None:
    items: List[Item] = [CODE, CODE + 2, Taken(16, CODE + 4), *LEAVE, Returned(), Taken(17, 0xFFFFFFFE)]
    recovery = recovered([*items, LEAF, LEAF + 2, Returned(), CODE + 4], r0=6)
    assert recovery.register(7, "sp").value == TOP - 32
    assert recovery.register(7, "lr").value == 0xFFFFFFF9
    assert recovery.register(9, "r0").value == 6
    assert recovery.register(2, "r4").value == 5
    assert not recovery.findings


def test_the_process_stack_is_used() -> None:
    registers = {"sp": 0x20000800, "msp": TOP, "control": 2}
    recovery = recovered(run([LEAF, LEAF + 2]), r0=6, **registers)
    assert recovery.register(3, "lr").value == 0xFFFFFFFD
    assert recovery.register(3, "sp").value == TOP
    assert recovery.register(3, "psp").value == 0x20000800 - 32
    assert recovery.register(2, "psp").value == 0x20000800
    assert recovery.register(2, "msp").value == TOP
    assert recovery.memory(4, 0x20000800 - 32, 1)[0].value == 6


def test_a_handler_reads_its_frame() -> None:
    recovery = recovered(run([SUPERVISOR, SUPERVISOR + 2], 11), r0=6)
    assert recovery.register(4, "r0").value == 6


def test_the_security_state_is_not_known() -> None:
    recovery = recovered(run([LEAF, LEAF + 2]), "Cortex-M33", r0=6)
    found = recovery.register(3, "lr")
    assert (found.value, found.known, found.bits) == (None, 0xFFFFFF9E, 0xFFFFFF98)


def test_a_halt_in_a_handler() -> None:
    items: List[Item] = [CODE, CODE + 2, Taken(16, CODE + 4), HANDLER, HANDLER + 2]
    registers = {"sp": TOP - 40, "msp": TOP - 40, "xpsr": 0x01000010, "r0": 9, "lr": 0xFFFFFFF9}
    recovery = recovered(items, **registers)
    assert recovery.register(3, "sp").value == TOP - 32
    assert recovery.register(5, "psp").value == 0x20000800
    assert recovery.register(2, "psp").value == 0x20000800
    assert recovery.register(2, "control").value == 0


def test_there_is_no_security_state() -> None:
    recovery = recovered(run([LEAF, LEAF + 2]), "Cortex-M33", r0=6, msplim=0, psplim=0)
    assert recovery.register(3, "lr")[:2] == (0xFFFFFFB8, Tier.EXACT)


def test_floating_point_that_ran_counts_more_than_the_name_of_the_core() -> None:
    history = history_of(built(".fpu fpv5-sp-d16\nvmov s0, r4\nnop\nb end\nleaf:\nbx lr\n"), FLOATING, CODE + 6)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M3", {}))
    rules = Rules(limit=Tier.EXACT, fpu=False)
    recovery = Recovery(history, CoreState({**REGISTERS, "control": 4}, no_memory), rules=rules)
    assert recovery.register(2, "sp").value == TOP - 0x68
    assert recovery.register(2, "lr").value == 0xFFFFFFE9


def test_a_handler_that_another_one_follows_leaves_no_floating_point_context() -> None:
    # The first handler executes vmov, so FPCA is 1; ExceptionTaken makes it 0 for the second one, which has none.
    source = ".fpu fpv5-sp-d16\nnop\nnop\nb end\nhandler:\nvmov s0, r4\nbx lr\nleaf:\nmrs r1, control\nbx lr\n"
    first, second = CODE + 6, CODE + 12
    items: List[Item] = [CODE, Taken(16, CODE + 2), first, first + 4, Returned(), Taken(17, 0xFFFFFFFE)]
    history = history_of(built(source), [*items, second, second + 4, Returned(), CODE + 2], CODE + 4)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    state = CoreState({**REGISTERS, "fpscr": 0x00C00010}, no_memory)
    recovery = Recovery(history, state, rules=Rules(limit=Tier.EXACT))
    assert recovery.register(3, "control")[:2] == (4, Tier.EXACT)
    assert recovery.register(4, "control")[:2] == (0, Tier.EXACT)
    assert not recovery.findings


@pytest.mark.parametrize("aspen, control", [(1, 4), (0, None)])
def test_floating_point_sets_fpca_with_aspen_alone(aspen: int, control: Optional[int]) -> None:
    # ExecuteFPCheck: a context is made with FPCCR.ASPEN alone; kernels clear it that set CONTROL.FPCA themselves.
    source = ".fpu fpv5-sp-d16\nnop\nnop\nb end\nhandler:\nvmov s0, r4\nmrs r1, control\nbx lr\n"
    items: List[Item] = [CODE, Taken(16, CODE + 2), CODE + 6, CODE + 10, CODE + 14, Returned(), CODE + 2]
    history = history_of(built(source), items, CODE + 4)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    state = CoreState({**REGISTERS, "control": 4, "fpccr": aspen << 31}, no_memory)
    recovery = Recovery(history, state, rules=Rules(limit=Tier.EXACT))
    assert recovery.register(2, "control").value == 0
    assert recovery.register(3, "control").value == control
    # The frame is one with floating point: that is in EXC_RETURN, and in the distance of the stack pointers.
    assert recovery.register(2, "sp").value == TOP - 0x68
    assert recovery.register(2, "lr").value == 0xFFFFFFE9


@pytest.mark.parametrize("control, before", [(0, None), (4, 5)])
def test_a_frame_without_floating_point_keeps_none(control: int, before: Optional[int]) -> None:
    # The handler writes s0, which is pushed and popped with CONTROL.FPCA alone (PushStack, PopStack).
    source = ".fpu fpv5-sp-d16\nnop\nnop\nb end\nhandler:\nvmov s0, r4\nbx lr\n"
    items: List[Item] = [CODE, Taken(16, CODE + 2), CODE + 6, CODE + 10, Returned(), CODE + 2]
    history = history_of(built(source), items, CODE + 4)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    recovery = Recovery(history, CoreState({**REGISTERS, "control": control, "s0": 5}, no_memory))
    assert recovery.register(4, "s0")[:2] == (5, Tier.EXACT)
    assert recovery.register(1, "s0").value == before
    assert recovery.register(2, "control").value == 0


def test_of_fpscr_flags_and_modes_are_told_alone() -> None:
    # Bits 7 and 4:0 add up (DDI 0553, D1.2.102), so those at the end are not those before the addition.
    history = history_of(built(".fpu fpv5-sp-d16\nvadd.f32 s0, s0, s1\nnop\nb end\n"), [CODE, CODE + 4], CODE + 6)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    state = CoreState({**REGISTERS, "control": 4, "fpscr": 0x20C00010}, no_memory)
    found = Recovery(history, state, rules=Rules(limit=Tier.EXACT)).register(2, "fpscr")
    assert (found.value, found.known, found.bits) == (None, 0xF7C00000, 0x20C00000)
    assert found.low <= 0x20C00000 <= 0x20C00010 <= found.high


def test_loads_that_were_interrupted_may_be_done_in_part() -> None:
    # The word of r0 in the frame is what the core found there, not what the program had before.
    source = "nop\nldm r2, {r0, r1}\nb end\nhandler:\nmov r4, r4\nbx lr\n"
    frame = {TOP - 32 + 4 * index: word for index, word in enumerate((7, 1, RAM, 3, 12, 0x77, CODE + 2, 0x01000000))}

    def read(address: int, size: int) -> Optional[bytes]:
        return frame.get(address, 0).to_bytes(4, "little")[:size]

    def found(program: str, name: str) -> Optional[int]:
        history = history_of(built(program), [CODE, Taken(16, CODE + 2), CODE + 8], CODE + 10)
        history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
        registers = {**REGISTERS, "sp": TOP - 32, "msp": TOP - 32, "xpsr": 0x01000010, "lr": 0xFFFFFFF9}
        return Recovery(history, CoreState(registers, read), rules=Rules(limit=Tier.EXACT)).register(1, name).value

    assert (found(source, "r0"), found(source, "r2"), found(source, "r3")) == (None, RAM, 3)
    assert found(source.replace("ldm r2, {r0, r1}", "ldr.w r0, [r2]"), "r0") == 7


JUMP = "bx r4\nnop\nhandler:\nbx lr\nleaf:\nmovs r1, #7\nb leaf\n"
JUMPS_TO, JUMP_HANDLER = CODE + 6, CODE + 4


def jumped(items: List[Item], memory: Dict[int, int], **registers: int) -> Recovery:
    """Recover a run after a branch, halted in a handler or later."""

    def read(address: int, size: int) -> Optional[bytes]:
        return memory[address].to_bytes(4, "little")[:size] if address in memory else None

    halted = JUMP_HANDLER if isinstance(items[-1], Taken) else JUMPS_TO + 2
    history = history_of(built(JUMP), items, halted)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    state = CoreState({**REGISTERS, "pc": halted, **registers}, read)
    return Recovery(history, state, rules=Rules(limit=Tier.EXACT))


def frame_of(*words: int) -> Dict[int, int]:
    return {TOP - 32 + 4 * index: word for index, word in enumerate(words)}


def test_a_branch_to_an_even_address_faults_there() -> None:
    # The frame has the target as its return address, and T is 0 (Armv7-M ARM, BXWritePC).
    memory = frame_of(6, 1, 2, 3, 12, 0x77, JUMPS_TO, 0x40000000)
    registers = {"sp": TOP - 32, "msp": TOP - 32, "lr": 0xFFFFFFF9, "xpsr": 0x01000003}
    recovery = jumped([CODE, Taken(3, JUMPS_TO)], memory, r4=JUMPS_TO, **registers)
    assert not recovery.findings
    assert [recovery.register(1, name).value for name in ("r0", "r4", "r12", "lr", "sp", "z")] == [
        6,
        JUMPS_TO,
        12,
        0x77,
        TOP,
        1,
    ]


def test_where_an_instruction_runs_after_an_interrupt_the_branch_led_to_thumb_code() -> None:
    items: List[Item] = [CODE, Taken(16, JUMPS_TO), JUMP_HANDLER, Returned(), JUMPS_TO]
    history = jumped(items, {}).history
    recovery = Recovery(history, rules=Rules(limit=Tier.EXACT))
    assert recovery.register(1, "r4").value == JUMPS_TO + 1
    pending = jumped([CODE, Taken(16, JUMPS_TO)], {}).history
    unknown = Recovery(pending, rules=Rules(limit=Tier.EXACT)).register(1, "r4")
    assert (unknown.value, unknown.known, unknown.bits) == (None, 0xFFFFFFFE, JUMPS_TO)


def test_a_frame_that_may_be_missing_tells_nothing() -> None:
    # STKERR: SP is that of the frame, and memory need not hold it, nor how it was aligned (Armv7-M ARM, PushStack).
    registers = {"sp": TOP - 32, "msp": TOP - 32, "lr": 0xFFFFFFF9, "xpsr": 0x01000003, "cfsr": 1 << 12}
    recovery = jumped([CODE, Taken(3, JUMPS_TO)], frame_of(*range(8)), r4=JUMPS_TO, **registers)
    assert not recovery.findings
    assert (recovery.register(1, "r0").value, recovery.register(1, "r4").value) == (None, JUMPS_TO)
    pointer = recovery.register(1, "sp")
    assert (pointer.known, pointer.bits) == (0xFFFFFFFB, TOP)


def test_a_lockup_enters_no_handler() -> None:
    items: List[Item] = [CODE, Exception_(0, 0x1A, "Lockup", None, JUMPS_TO)]
    history = history_of(built(JUMP), items, 0xEFFFFFFE)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M33", {}))
    recovery = Recovery(history, CoreState({**REGISTERS, "pc": 0xEFFFFFFE, "r4": JUMPS_TO}, no_memory))
    assert not recovery.findings
    assert (recovery.register(1, "sp").value, recovery.register(1, "r4").value) == (TOP, JUMPS_TO)


EDITING = """
    movs r0, #1
    adds r0, r0, r4
    nop
    b end
handler:
    ldr r1, [r6]
    ldr r3, [r6, #4]
    str r3, [r1]
    bx lr
careful:
    str r4, [r7]
    bx lr
"""
CAREFUL = CODE + 16


def answered(number: int, handler: int = CODE + 8, resumed: int = CODE + 4) -> Recovery:
    """Recover a run in which an exception's handler stores somewhere."""
    code = [handler + 2 * index for index in range(4 if handler < CAREFUL else 2)]
    items: List[Item] = [CODE, CODE + 2, Taken(number, CODE + 4), *code, Returned(), resumed]
    history = history_of(built(EDITING), items, CODE + 6 if resumed == CODE + 4 else CODE + 20)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    registers = {**REGISTERS, "r2": 6, "r6": 0x40000000, "r7": RAM}
    return Recovery(history, CoreState(registers, no_memory))


@pytest.mark.parametrize("number", [11, 14])
def test_what_was_asked_for_may_be_answered_in_the_frame(number: int) -> None:
    recovery = answered(number)
    assert recovery.register(2, "r2").value is None
    assert recovery.register(2, "lr").value is None
    assert recovery.register(2, "sp").value == TOP
    assert not recovery.register(3, "xpsr").known
    assert not recovery.findings


@pytest.mark.parametrize("number", [11, 14])
def test_unless_the_handlers_stores_miss_it(number: int) -> None:
    recovery = answered(number, CAREFUL)
    assert recovery.register(2, "r2").value == 6
    assert recovery.register(2, "lr").value == 0x77


@pytest.mark.parametrize("number", [15, 16])
def test_nobody_waits_for_an_interrupt(number: int) -> None:
    recovery = answered(number)
    assert recovery.register(2, "r2")[:2] == (6, Tier.ASSUMED)
    assert recovery.register(2, "lr")[:2] == (0x77, Tier.ASSUMED)


def test_one_that_goes_on_elsewhere_has_another_frame() -> None:
    recovery = answered(16, resumed=CODE + 6)
    assert recovery.register(2, "r2").value is None
    assert not recovery.findings
