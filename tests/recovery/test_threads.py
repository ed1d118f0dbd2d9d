"""Worked by hand, and the board's truth: switched threads."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

import pytest

from gdb_etm.capture import Core
from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier
from tests.firmware.build import compiler
from tests.firmware.recovery.build import LEVELS, build
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.score import Uses, in_mid_run, recover, score
from tests.recovery.small import CODE, RAM, built
from tests.recovery.truth import Run, prepare

SOURCE = """
    movs r5, #3
    bl leaf
    nop
    b end
leaf:
    nop
    bx lr
two:
    movs r1, #2
    nop
    nop
switch:
    mrs r0, psp
    stmdb r0!, {r4, r5}
    str r3, [r2]
    ldmia r1!, {r4, r5}
    msr psp, r1
    bx lr
"""
LEAF, TWO, SWITCH = CODE + 10, CODE + 14, CODE + 20
TICK = 15
TO_OTHER: List[Item] = [SWITCH, SWITCH + 4, SWITCH + 8, SWITCH + 10, SWITCH + 12, SWITCH + 16, Returned()]
# The first thread calls, is left in the leaf, and goes on there after another one.
ITEMS: List[Item] = [
    *(CODE, CODE + 2, LEAF, Taken(TICK, LEAF + 2)),
    *(*TO_OTHER, TWO, TWO + 2, Taken(TICK, TWO + 4)),
    *(*TO_OTHER, LEAF + 2, CODE + 6),
]
TOP, OTHER, THIRD = RAM + 0x200, RAM + 0x3C0, RAM + 0x600
REGISTERS = {"r4": 5, "r5": 3, "sp": TOP, "msp": RAM + 0x800, "psp": TOP, "control": 2, "xpsr": 0x21000000}


def frame(address: int, goes_on: int, lr: int = 0x99) -> Dict[int, int]:
    """What an exception pushes at an address, as words."""
    words = (10, 2, 12, 13, 112, lr, goes_on, 0x21000000)
    return {address + 4 * index: word for index, word in enumerate(words)}


# What was popped last is still there: the saved r4 and r5, and the frame.
LEFT = {TOP - 40: 5, TOP - 36: 3, **frame(TOP - 32, LEAF + 2, CODE + 7)}


def recovered(
    memory: Optional[Mapping[int, int]],
    items: List[Item] = ITEMS,
    halted: int = CODE + 8,
    size: int = 0x800,
    source: str = SOURCE,
    **registers: int,
) -> Recovery:
    """Recover a run from its end, with more words in memory."""

    def read(address: int, size: int) -> Optional[bytes]:
        return None if memory is None else {**LEFT, **memory}.get(address, 0).to_bytes(4, "little")[:size]

    history = history_of(built(source), items, halted)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    stacks = () if memory is None else ((RAM, RAM + size),)
    return Recovery(history, CoreState({**REGISTERS, **registers}, read), rules=Rules(stacks=stacks))


def test_a_thread_goes_on_with_its_registers() -> None:
    recovery = recovered({})
    assert recovery.register(18, "r4")[:2] == (5, Tier.EXACT)
    value = recovery.register(3, "r4")
    assert value[:3] == (5, Tier.ASSUMED, "the thread left at #3 went on at #18 with its registers")
    assert [step.text for step in recovery.why(3, "r4")] == [value.reason, "read at the halt, not written since"]
    assert recovery.register(1, "sp")[:2] == (TOP, Tier.ASSUMED)
    assert not recovery.findings


def test_what_the_handler_finds_and_leaves() -> None:
    recovery = recovered({})
    assert recovery.register(4, "psp").value == recovery.register(17, "psp").value == TOP - 32
    assert recovery.register(15, "r1")[:2] == (TOP - 40, Tier.EXACT)
    assert recovery.register(4, "lr").value == recovery.register(17, "lr").value == 0xFFFFFFFD


def test_of_the_other_thread_nothing_is_known() -> None:
    assert recovered({}).register(10, "r4").value is None
    assert recovered({}).register(11, "sp").value is None


def test_a_handler_that_writes_psp_returns_to_a_thread_that_uses_it() -> None:
    # EXC_RETURN is kept with the thread's registers, so that nothing exact is known of it.
    source = SOURCE.replace("{r4, r5}", "{r4, r5, lr}")
    switch: List[Item] = [SWITCH, SWITCH + 4, SWITCH + 8, SWITCH + 10, SWITCH + 14, SWITCH + 18, Returned()]
    items: List[Item] = [
        LEAF,
        Taken(TICK, LEAF + 2),
        *switch,
        TWO + 2,
        Taken(TICK, TWO + 4),
        *switch,
        LEAF + 2,
        CODE + 6,
    ]
    recovery = recovered({TOP - 44: 5, TOP - 40: 3, TOP - 36: 0xFFFFFFFD}, items, source=source)
    assert not recovery.findings
    assert recovery.register(8, "msp")[:2] == recovery.register(3, "sp")[:2] == (REGISTERS["msp"], Tier.ASSUMED)


def test_a_thread_that_waits_has_its_frame_in_memory() -> None:
    memory = {**frame(OTHER, TWO + 4), OTHER - 8: 44, OTHER - 4: 45}
    recovery = recovered(memory)
    assert recovery.register(11, "sp")[:2] == (OTHER + 32, Tier.ASSUMED)
    why = "the thread left at #11 waits at the end, its frame is in RAM"
    assert recovery.register(11, "r0")[:3] == (10, Tier.ASSUMED, why)
    assert recovery.register(11, "r12").value == 112
    assert recovery.register(12, "psp").value == OTHER
    # What the handler has saved is below it.
    assert recovery.register(11, "r5")[:3] == (45, Tier.ASSUMED, why)
    assert recovery.register(10, "r4")[:2] == (44, Tier.ASSUMED)
    # It is the frame of one thread alone that is there.
    twice = recovered({**memory, **frame(THIRD, TWO + 4)})
    assert twice.register(11, "sp").value is None


def test_a_call_that_its_condition_skipped_is_none_that_its_thread_returns_to() -> None:
    last = SWITCH + 18
    source = SOURCE + "\n it eq\n bleq leaf\n nop\n"
    items = [*ITEMS[:11], last, last + 2, Taken(TICK, last + 6), *ITEMS[14:]]
    recovery = recovered(frame(OTHER, last + 6), items, source=source)
    assert recovery.register(11, "sp")[:2] == (OTHER + 32, Tier.ASSUMED)


@pytest.mark.parametrize("skipped", [0, 2])
def test_a_request_ends_on_the_stack_on_which_it_began(skipped: int) -> None:
    # EXC_RETURN is popped after a store that may have changed it; the handler may have skipped an instruction.
    source = SOURCE.replace("{r4, r5}", "{r4, r5, lr}")
    source += "service:\n    push {r4, lr}\n    ldr r1, [r6]\n    str r1, [r1]\n    pop {r4, pc}\n"
    switch: List[Item] = [SWITCH, SWITCH + 4, SWITCH + 8, SWITCH + 10, SWITCH + 14, SWITCH + 18, Returned()]
    service: List[Item] = [*range(SWITCH + 20, SWITCH + 28, 2), Returned()]
    items: List[Item] = [LEAF, Taken(TICK, LEAF + 2), *switch, TWO, Taken(11, TWO + 2), *service]
    items += [*range(TWO + 2 + skipped, TWO + 4, 2), Taken(TICK, TWO + 4), *switch, LEAF + 2, CODE + 6]
    saved = {TOP - 44: 5, TOP - 40: 3, TOP - 36: 0xFFFFFFFD, OTHER - 4: 0xFFFFFFFD}
    recovery = recovered({**saved, **frame(OTHER, TWO + 4)}, items, source=source)
    assert recovery.register(8, "sp")[:2] == (OTHER + 32, Tier.ASSUMED)
    assert recovery.register(9, "sp")[:2] == (REGISTERS["msp"], Tier.ASSUMED)
    assert recovery.register(10, "sp")[:2] == (REGISTERS["msp"] - 8, Tier.ASSUMED)
    assert not recovery.findings


def test_two_that_wait_at_the_same_place_are_not_told_apart() -> None:
    rival = frame(OTHER, LEAF + 2, CODE + 7)
    assert recovered({**rival, OTHER - 8: 4, OTHER - 4: 3}).register(3, "r4").value is None
    # One that has saved another r5 was not left there.
    assert recovered({**rival, OTHER - 8: 4, OTHER - 4: 2}).register(3, "r4").value == 5
    # Another caller's frame is that of no rival.
    recovery = recovered(frame(OTHER, LEAF + 2, 0x55))
    assert recovery.register(3, "r4").value == 5


def test_one_that_was_left_before_the_trace_began_may_have_gone_on() -> None:
    assert recovered({}).register(18, "r5").value == 3
    # Another one goes on there later, which has waited all the time: which of them was the first?
    twins = [*ITEMS, Taken(TICK, CODE + 8), *TO_OTHER, LEAF + 2, CODE + 6]
    assert recovered({}, twins).register(18, "r5").value is None
    assert recovered({}, twins).register(3, "r5").value == 3


def test_one_that_waits_with_a_pointer_to_its_frame_is_not_the_one_that_went_on() -> None:
    # What went on finds 0 in r4, and is left again; of its stack pointer nothing is known.
    source, end = SOURCE.replace("    nop\n    b end", "    cbz r4, end\n    b end", 1), SWITCH + 18
    items = [*ITEMS, Taken(TICK, end), *TO_OTHER, TWO + 4]
    memory = {**frame(THIRD, TWO + 4), THIRD - 8: 5, THIRD - 4: 3}
    pointer = {RAM + 0x7F0: TOP - 40}
    stack = {"sp": THIRD + 32, "psp": THIRD + 32}
    there = recovered(memory, items, TWO + 6, source=source, **stack)
    assert there.register(3, "r4")[:2] == (0, Tier.ASSUMED)
    still = recovered({**memory, **pointer}, items, TWO + 6, source=source, **stack)
    assert still.register(18, "r4")[:2] == (0, Tier.EXACT)
    assert still.register(3, "r4").value is None
    # Memory of another moment says nothing of either.
    assert recovered(memory, items, TWO + 6, source=source, pc=CODE, **stack).register(3, "r4").value is None
    # The one that runs at the end has had such a pointer, too.
    assert recovered(pointer).register(3, "r4").value == 5


def test_without_memory_one_return_does_not_tell() -> None:
    assert recovered(None).register(3, "r4").value is None


def test_in_more_memory_than_is_searched_nothing_is_found() -> None:
    assert recovered(frame(OTHER, TWO + 4)).register(11, "sp").value == OTHER + 32
    assert recovered(frame(OTHER, TWO + 4), size=1 << 20).register(11, "sp").value == OTHER + 32
    assert recovered(frame(OTHER, TWO + 4), size=(1 << 20) + 4).register(11, "sp").value is None
    assert recovered({}, size=(1 << 20) + 4).register(3, "r4").value is None


def test_a_return_that_leads_elsewhere_is_another_threads() -> None:
    recovery = recovered({TOP - 12: TWO + 3}, [*ITEMS[:-1], TWO + 2], TWO + 4)
    assert recovery.register(18, "r4").value == 5
    assert recovery.register(3, "r4").value is None


def test_another_thread_after_all_is_a_finding() -> None:
    recovery = recovered({TOP - 36: 9}, r5=9)
    assert recovery.register(2, "r5").value == 3
    assert recovery.register(18, "r5").value == 9
    assert recovery.register(3, "r4").value is None
    assert "it was another thread than that left at #3 that went on" in [one.text for one in recovery.findings]


CALLING = (
    """
    movs r1, #7
    bl function
    nop
    b end
function:
    push {r4, r5, r6, lr}
    adds r5, r1, #2
    nop
    bl leaf
    nop
    pop {r4, r5, r6, pc}
leaf:
    push {r5, lr}
    movs r1, #2
    movs r5, #1
    pop {r5, pc}
two:
"""
    + SOURCE[SOURCE.index("    movs r1, #2") :]
)
FUNCTION, DEEP, AFTER = CODE + 10, CODE + 24, CODE + 20


class Told:
    """Call frame information of these functions."""

    def row(self, address: int) -> Optional[FrameRow]:
        rows = {CODE: 0, FUNCTION: 0, FUNCTION + 2: 16, DEEP: 0, DEEP + 2: 8}
        at = max([start for start in rows if start <= address])
        return FrameRow(13, rows[at], {}) if self.function(address) else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        bounds = ((CODE, FUNCTION), (FUNCTION, DEEP), (DEEP, DEEP + 8))
        return next((one for one in bounds if one[0] <= address < one[1]), None)


def _left_in_a_call(r5: int) -> Recovery:
    # A thread calls, is left in what it calls, goes on there, and returns twice.  Nobody knows what it saved of r5.
    switch, two = DEEP + 14, DEEP + 8
    to_other = [switch + one - SWITCH if isinstance(one, int) else one for one in TO_OTHER]
    items: List[Item] = [
        *(FUNCTION + 4, FUNCTION + 6, DEEP, DEEP + 2, DEEP + 4, Taken(TICK, DEEP + 6), *to_other, two, two + 2),
        *(Taken(TICK, two + 4), *to_other, DEEP + 6, AFTER, AFTER + 2, CODE + 6),
    ]
    saved = {TOP - 20: AFTER | 1, TOP - 16: 5, TOP - 12: 3, TOP - 4: CODE + 7}
    saved.update({TOP - 64: 9, TOP - 60: r5, **frame(TOP - 56, DEEP + 6, AFTER | 1)})

    def read(address: int, size: int) -> Optional[bytes]:
        return None if address == TOP - 24 else saved.get(address, 0).to_bytes(4, "little")

    history = history_of(built(CALLING), items, CODE + 8)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    rules = Rules(stacks=((RAM, RAM + 0x800),), frames=Told())
    return Recovery(history, CoreState(REGISTERS, read), rules=rules)


def test_what_a_function_was_called_with_that_a_thread_was_left_in() -> None:
    recovery = _left_in_a_call(1)
    assert not recovery.findings
    assert recovery.register(1, "sp")[:2] == (TOP - 16, Tier.ASSUMED)
    why = "the call before %#x has left that in r1" % (CODE + 6)
    assert recovery.register(1, "r5")[:3] == (9, Tier.ASSUMED, why)


def test_what_it_was_called_with_falls_with_the_thread() -> None:
    # What goes on has another r5 than the leaf has set.
    recovery = _left_in_a_call(2)
    assert recovery.register(1, "r5").value is None
    assert "it was another thread than that left at #5 that went on" in [one.text for one in recovery.findings]


ON = """
    movs r0, #7
    bl function
    nop
    b end
function:
    nop
    mov r0, r9
    b on
on:
    nop
    nop
    bx lr
two:
"""
GOES_ON = FUNCTION + 6


class ToldOn:
    """Call frame information of functions without a frame."""

    def row(self, address: int) -> Optional[FrameRow]:
        return FrameRow(13, 0, {}) if self.function(address) else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        bounds = ((CODE, FUNCTION), (FUNCTION, GOES_ON), (GOES_ON, GOES_ON + 6))
        return next((one for one in bounds if one[0] <= address < one[1]), None)


def test_a_tail_call_has_other_arguments() -> None:
    # A thread is left in a function that another one has gone on to; the call was of that other one.
    source, two = ON + SOURCE[SOURCE.index("    movs r1, #2") :], GOES_ON + 6
    to_other = [two + one - TWO if isinstance(one, int) else one for one in TO_OTHER]
    items: List[Item] = [
        *(FUNCTION + 2, FUNCTION + 4, GOES_ON, Taken(TICK, GOES_ON + 2), *to_other, two, two + 2),
        *(Taken(TICK, two + 4), *to_other, GOES_ON + 2, GOES_ON + 4, CODE + 6),
    ]
    saved = {TOP - 40: 5, TOP - 36: 3, **frame(TOP - 32, GOES_ON + 2, CODE + 7)}

    def read(address: int, size: int) -> Optional[bytes]:
        # Nobody knows what r0 was.
        return None if address == TOP - 32 else saved.get(address, 0).to_bytes(4, "little")[:size]

    history = history_of(built(source), items, CODE + 8)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    rules = Rules(stacks=((RAM, RAM + 0x800),), frames=ToldOn())
    recovery = Recovery(history, CoreState(REGISTERS, read), rules=rules)
    assert recovery.register(3, "lr").value == CODE + 7
    assert [recovery.register(number, "r0").value for number in (2, 3)] == [None, None]


# The same kernel, with PSP or with MSP on each task's stack.
@pytest.mark.parametrize("program", ["%s-%s" % (name, level) for name in ("kernel", "mainstack") for level in LEVELS])
def test_a_kernel(program: str, tmp_path: Path) -> None:
    found = in_mid_run(program, tmp_path)
    assert not found.wrong
    assert found.sp.percent(Tier.ASSUMED) > 97
    assert found.live.percent(Tier.ASSUMED) > 70


OTHER_KERNELS = [("kernel-Os", 70001, "-DODD_STACKS=1"), ("kernel-O2", 52000, "-DODD_STACKS=1")]
OTHER_KERNELS += [("mainstack-O2", 30001, "-DODD_STACKS=1"), ("kernel-O2", 18922, "-DEITHER_STACK")]
OTHER_KERNELS += [("kernel-Os", 28587, "-DEITHER_STACK"), ("kernel-O0", 73618, "-DEITHER_STACK")]


@pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")
@pytest.mark.parametrize("program, halt, option", OTHER_KERNELS)
def test_stacks_at_no_multiples_of_8_and_threads_that_may_use_either(
    program: str, halt: int, option: str, tmp_path: Path
) -> None:
    path = str(tmp_path / (program + ".elf"))
    build(program, path, option)
    run = Run(prepare(path, tmp_path, halt, "m4"), path, "m4")
    for window in (300, 3000):
        found = score(run, Uses(run), *recover(run, window))
        assert not found.wrong
    assert found.sp.percent(Tier.ASSUMED) > 90


REQUESTS = [("O0", "m4", 50001), ("O0", "m33", 30001), ("Os", "m33", 70001), ("O2", "m4", 20001), ("O2", "m7", 60001)]


@pytest.mark.sweep
@pytest.mark.parametrize("level, board, halt", REQUESTS)
def test_a_kernel_that_answers_in_the_frames_of_its_threads(level: str, board: str, halt: int, tmp_path: Path) -> None:
    # Some of these are halted in a handler that no other one of its kind came before.
    program = "requests-" + level
    run = Run(prepare(program, tmp_path, halt, board), program, board)
    found = score(run, Uses(run), *recover(run, 5000))
    assert not found.wrong
    assert found.live.percent(Tier.ASSUMED) > 35
    assert found.sp.percent(Tier.ASSUMED) > 70
    assert found.lr.percent(Tier.ASSUMED) > 65
