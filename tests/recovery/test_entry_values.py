"""Worked by hand, and on Unicorn: functions' arguments and frames."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, List, Optional, Tuple

import pytest

from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.image import Program
from gdb_etm.recovery.functions.calls import CONSTANT, CallMatcher
from gdb_etm.recovery.functions.losses import NOTHING
from gdb_etm.recovery.functions.origins import Origin
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.values import CoreState, Tier, no_memory
from tests.firmware.build import symbol
from tests.history.executed import history_of
from tests.recovery.small import CODE, RAM, STACK, Ran, built, run

SOURCE = """
    push {r4, lr}
    sub sp, #8
    add r0, sp, #4
    movs r1, #7
    %s
    add sp, #8
    mov r12, r4
    b end
function:
    push {r4, r5, lr}
    mov r4, r0
    adds r5, r1, #2
    nop
    str r5, [r4]
    nop
    pop {r4, r5, pc}
other:
    b function
"""
CALL, AFTER = CODE + 8, CODE + 12
FUNCTION = CODE + 18
LATE = FUNCTION + 6
END = FUNCTION + 14
ROWS = {CODE: 0, CODE + 2: 8, CODE + 4: 16, CODE + 14: 8, FUNCTION: 0, FUNCTION + 2: 12, END: 0}
REGISTERS = {"r4": 0x44, "r5": 0x55, "sp": STACK}


class Told:
    """Call frame information of functions by their beginnings, based on SP."""

    def __init__(self, functions: List[int], rows: Dict[int, int]) -> None:
        self._functions = functions
        self._rows = rows

    def row(self, address: int) -> Optional[FrameRow]:
        at = [start for start in self._rows if start <= address]
        return FrameRow(13, self._rows[max(at)], {}) if at else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        at = bisect_right(self._functions, address)
        return (self._functions[at - 1], self._functions[at]) if 0 < at < len(self._functions) else None


TOLD = Told([CODE, FUNCTION, END, END + 2], ROWS)


def late(ran: Ran, source: str, start: int, told: Told, limit: Tier = Tier.ASSUMED) -> Recovery:
    """Recover from an instruction on, with final registers and no memory."""
    addresses = [one["pc"] for one in ran.before[ran.number(start) - 1 : -1]]
    history = history_of(built(source), addresses, ran.before[-1]["pc"])
    history.source = ran.history.source
    end = CoreState({name: ran.before[-1][name] for name in ("r12", "sp", "control", "xpsr")}, no_memory)
    return Recovery(history, end, rules=Rules(frames=told, limit=limit))


def test_what_a_function_was_called_with() -> None:
    source = SOURCE % "bl function"
    recovery = late(run(source, REGISTERS), source, LATE, TOLD)
    found = recovery.register(1, "r4")
    assert found[:3] == (STACK - 12, Tier.ASSUMED, "the call before %#x has left that in r0" % AFTER)
    assert recovery.register(1, "r5")[:2] == (9, Tier.ASSUMED)
    why = "the call before %#x has left that in lr" % AFTER
    assert recovery.register(1, "lr")[:3] == (AFTER | 1, Tier.ASSUMED, why)
    assert recovery.register(1, "r0")[:2] == (STACK - 12, Tier.ASSUMED)
    assert [value.value for value in recovery.memory(3, STACK - 12, 2)] == [9, 0]
    assert recovery.register(5, "r4")[:2] == (0x44, Tier.EXACT)
    assert not recovery.findings
    assert late(run(source, REGISTERS), source, LATE, TOLD, Tier.EXACT).register(1, "r5").value is None


def test_another_function_may_have_gone_on_in_it() -> None:
    # The call enters another one, so what it was called with is not what this one was.
    source = SOURCE % "bl other"
    recovery = late(run(source, REGISTERS), source, LATE, TOLD)
    assert recovery.register(1, "r4").value is None
    assert recovery.register(1, "r5").value is None
    assert recovery.register(1, "lr")[:2] == (AFTER | 1, Tier.ASSUMED)


SPILLED = """
    push {lr}
    sub sp, #12
    movs r3, #40
    str r3, [sp]
    str r3, [sp, #4]
    bl leaf
    nop
    ldr r2, [sp, #4]
    adds r2, r2, #1
    mov r12, r2
    b end
leaf:
    bx lr
"""
LEAF = CODE + 24


def test_words_of_a_frame() -> None:
    told = Told([CODE, LEAF, LEAF + 2], {CODE: 0, CODE + 2: 4, CODE + 4: 16, LEAF: 0})
    ran = run(SPILLED, REGISTERS)
    addresses = [one["pc"] for one in ran.before[ran.number(CODE + 14) - 1 : -1]]
    history = history_of(built(SPILLED), addresses, ran.before[-1]["pc"])
    history.source = ran.history.source
    recovery = Recovery(history, CoreState({"sp": STACK - 16}, no_memory), rules=Rules(frames=told))
    found = recovery.register(3, "r2")
    assert found[:2] == (40, Tier.ASSUMED)
    why = "whichever way the function came to %#x, it has set a word of its frame so" % (CODE + 14)
    assert why in [step.text for step in recovery.why(3, "r2")]
    # What it stores and never loads may be an argument of what it calls, and that one's to change.
    assert [value.value for value in recovery.memory(1, STACK - 16, 8)] == [None] * 4 + [40, 0, 0, 0]
    assert not recovery.findings


ASSERTING = """
    movs r3, #1
    movs r2, #3
again:
    subs r2, #1
    beq out
    cmp r2, #9
    bne again
    bl failed
    b again
out:
    mov r12, r2
    b.n end
failed:
    nop
    %s
"""
OUT, FAILED = CODE + 18, CODE + 22


@pytest.mark.parametrize(
    "code, size, known", [("b failed", 4, 1), ("bx lr", 4, None), ("it eq\n bxeq lr\n b failed", 8, None)]
)
def test_a_function_that_does_not_return_changes_nothing(code: str, size: int, known: Optional[int]) -> None:
    told = Told([CODE, FAILED, FAILED + size], {CODE: 0})
    recovery = late(run(ASSERTING % code), ASSERTING % code, OUT, told)
    assert recovery.register(1, "r3").value == known
    assert not recovery.findings


@pytest.mark.parametrize("other, known", [("nop\n nop", CODE + 4 | 1), ("bl lone", None), ("b.w lone", None)])
def test_lr_is_known_in_a_function_that_one_call_leads_to(other: str, known: Optional[int]) -> None:
    source = "bl lone\n nop\n %s\nlone: nop\n nop\n mov lr, r1\n b.n end" % other
    lone = symbol(built(source), "lone")
    recovery = late(run(source), source, lone + 2, Told([CODE, lone, lone + 8], {CODE: 0, lone: 0}))
    assert recovery.register(1, "lr").value == known
    assert not recovery.findings


def test_a_function_that_the_only_call_did_not_lead_to() -> None:
    # It is entered through a pointer that nothing tells of, and returns by LR.
    source = "adds r0, r5, r6\n bx r0\n bl lone\n nop\n b.n end\nlone: nop\n nop\n bx lr"
    lone = symbol(built(source), "lone")
    pointers = {"r5": lone + 1, "r6": 0, "lr": CODE + 10 | 1}
    recovery = late(run(source, pointers), source, lone, Told([CODE, lone, lone + 6], {CODE: 0, lone: 0}))
    assert recovery.register(1, "lr")[:2] == (CODE + 10 | 1, Tier.EXACT)
    text = "the function at %#x did not begin with LR as a reset, or its only call, leaves it" % lone
    assert [one.text for one in recovery.findings] == [text]


SHARED = """
    movs r3, #1
    %s
    nop
zero:
    movs r3, #0
shared:
    nop
    nop
    nop
"""
ZERO = CODE + 6


@pytest.mark.parametrize("first, known", [("b.n shared", False), ("b.n zero", True), ("bl shared", False)])
def test_other_code_may_enter_a_function_behind_its_beginning(first: str, known: bool) -> None:
    # As a compiler's arithmetic in assembly does.
    wide = 2 * first.startswith("bl")
    told = Told([CODE, ZERO + wide, ZERO + wide + 8], {CODE: 0})
    source = SHARED % first
    recovery = late(run(source, REGISTERS), source, ZERO + wide + 4, told)
    assert recovery.register(1, "r3").value == (0 if known else None)
    assert not recovery.findings


def test_what_is_known_of_an_entry_is_forgotten_when_it_returns() -> None:
    line = TraceSsa(Rules(), Program([]))
    current = [line.new(-1) for _ in range(64)]
    for returned, expected in ((False, 1), (True, 0)):
        calls = CallMatcher(line)
        if returned:
            calls.call(1, 0x200, current, NOTHING.lost)
        calls.believe(CONSTANT, 4, current[4], Origin(0, 8))
        if returned:
            calls.arrive(2, 0x200, False, current)
        calls.arrive(3, 0x300, False, current)
        assert len(calls.left[1]) == expected


@pytest.mark.parametrize("pushed, is_assumed", [(8, True), (20, False)])
def test_a_frame_is_aligned_unless_its_caller_has_pushed_an_odd_word(pushed: int, is_assumed: bool) -> None:
    # As functions in assembly do that call others of their library.
    line = TraceSsa(Rules(), Program([]))
    calls = CallMatcher(line)
    current = [line.new(-1) for _ in range(64)]
    for number in (1, 3):
        calls.call(number, 0x200, current, NOTHING.lost)
        current[SP] = line.offset(current[SP], -pushed)
    calls.align_frame()
    assert bool(calls.assumptions) is is_assumed


LOOP = """
    push {r4, lr}
    ldr r4, [r2]
    mov r0, r4
    bl walk
    mov r12, r4
    pop {r4, pc}
    nop
walk:
    %s
    adds r1, r0, #8
    subs r3, r0, #4
again:
    ldrb r2, [r3, #4]
    adds r0, r0, #1
    adds r3, r3, #1
    cmp r0, r1
    bne again
    bx lr
"""
WALK = CODE + 16


def walked(first: str) -> Recovery:
    start = WALK + 8 + (2 if first else 0)
    told = Told([CODE, WALK, start + 8], {CODE: 0, CODE + 2: 8, WALK: 0})
    source = LOOP % first + "other:\n"
    registers = {**REGISTERS, "r2": STACK + 0x40, "lr": CODE + 14 | 1}
    ran = run(source.replace("pop {r4, pc}", "b end"), registers, {STACK + 0x40: 0x20000100})
    addresses = [one["pc"] for one in ran.before[ran.number(start, 3) - 1 : -1]]
    history = history_of(built(source.replace("pop {r4, pc}", "b end")), addresses, ran.before[-1]["pc"])
    history.source = ran.history.source
    end = CoreState({"r12": ran.before[-1]["r12"], "sp": STACK - 8}, no_memory)
    return Recovery(history, end, rules=Rules(frames=told))


def test_what_a_call_was_given_is_in_a_register_that_it_kept() -> None:
    # r1 is r0 of the entry and 8; the call's r0 is r4, which is known afterwards.
    recovery = walked("")
    assert recovery.register(1, "r1")[:2] == (0x20000108, Tier.ASSUMED)
    # The loop ends when r0 is r1, and began some times before.
    assert recovery.register(1, "r0")[:2] == (0x20000102, Tier.ASSUMED)


def test_a_function_that_does_not_keep_the_register() -> None:
    assert walked("mvns r4, r0").register(1, "r1").value is None


DEAD = """
    push {r4, lr}
    sub sp, #8
    movs r3, #40
    str r3, [sp, #4]
    ldr r2, [sp, #4]
    nop
    add sp, #8
    nop
    b end
"""


def test_a_word_below_the_stack_pointer_is_nobodys() -> None:
    told = Told([CODE, CODE + 18], {CODE: 0, CODE + 2: 8, CODE + 4: 16, CODE + 14: 8})
    ran = run(DEAD, REGISTERS)
    for start, expected in ((CODE + 10, 40), (CODE + 14, None)):
        addresses = [one["pc"] for one in ran.before[ran.number(start) - 1 : -1]]
        history = history_of(built(DEAD), addresses, ran.before[-1]["pc"])
        history.source = ran.history.source
        recovery = Recovery(history, CoreState({"sp": STACK - 8}, no_memory), rules=Rules(frames=told))
        assert recovery.memory(1, STACK - 12, 1)[0].value == expected


ANSWERED = """
    push {r4, lr}
    movs r0, #7
    movs r1, #0
    %s
    mov r4, r0
    nop
    movs r5, #1
    b end
"""


@pytest.mark.parametrize("between, known", [("nop", 7), ("svc 0", None), ("isb", None), ("dsb", None)])
def test_what_code_asks_for_may_change_registers(between: str, known: Optional[int]) -> None:
    # A handler of an SVC, or of a PendSV before a barrier, leaves results in the frame that it finds.
    source = ANSWERED % between
    wide = 2 if between in ("isb", "dsb") else 0
    at = CODE + 10 + wide
    history = history_of(built(source), [at, at + 2], at + 4)
    told = Told([CODE, CODE + 16 + wide], {CODE: 0, CODE + 2: 8})
    recovery = Recovery(history, CoreState({"sp": STACK - 8}, no_memory), rules=Rules(frames=told))
    assert recovery.register(1, "r4").value == known


CHOSEN = """
    sub sp, #8
    movs r2, #0
    str r2, [sp, #4]
    cmp r0, r1
    %s
    nop
    nop
    ldr r3, [sp, #4]
    movs r3, #1
    b end
"""


@pytest.mark.parametrize("between, known", [("nop\nnop", 0), ("it ne\nstrne r0, [sp, #4]", None)])
def test_a_store_that_may_have_run_leaves_nothing_known(between: str, known: Optional[int]) -> None:
    source = CHOSEN % between
    at = CODE + 12
    history = history_of(built(source), [at, at + 2, at + 4, at + 6], at + 8)
    told = Told([CODE, CODE + 22], {CODE: 0, CODE + 2: 8})
    recovery = Recovery(history, CoreState({"sp": STACK - 8}, no_memory), rules=Rules(frames=told))
    assert recovery.register(4, "r3").value == known


# Where the ways of three loops meet, r7 is named by joins that lead to each other.
ROUND = """
    movs r4, #1
outer:
    adds r7, #1
    beq inner
middle:
    beq outer + 2
    beq middle
inner:
    beq outer + 2
    beq outer
    bx lr
"""


def test_names_of_joins_do_not_go_round_for_ever() -> None:
    at = CODE + 14
    recovery = Recovery(
        history_of(built(ROUND), [at - 2, at], CODE + 16),
        CoreState({}, no_memory),
        rules=Rules(frames=Told([CODE, CODE + 16], {CODE: 0})),
    )
    assert recovery.register(1, "r4")[:2] == (1, Tier.ASSUMED)
    assert recovery.register(1, "r7").value is None


def test_false_frame_information_is_given_up_once() -> None:
    # Of a function that is called often: what else is assumed holds.
    source = """
    movs r7, #20
loop:
    blx r8
    subs r7, #1
    bne loop
    movs r2, #0
    mov r12, r6
    cbz r5, over
    nop
over:
    b.n end
function:
    push {r4, lr}
    sub sp, sp, r5
    str r6, [r2]
    movs r6, #1
    ldr r6, [r3]
    add sp, sp, r5
    pop {r4, pc}
"""
    function = CODE + 18
    rows = {CODE: 0, function: 0, function + 2: 8, function + 6: 16, function + 14: 8}
    told = Told([CODE, function, function + 16, function + 18], rows)
    registers = {"r2": RAM, "r3": RAM, "r5": 0, "r6": 0x66, "r8": function | 1, "sp": STACK}
    recovery = late(run(source, registers), source, CODE + 2, told)
    assert recovery.register(1, "r6")[:2] == (0x66, Tier.ASSUMED)
    text = "the call frame information at %#x does not hold" % (function + 6)
    assert [one.text for one in recovery.findings] == [text]


RELEASED = """
    bl function
    mov r12, r0
    b end
function:
    push {r7, lr}
    mov r7, sp
    cbz r0, behind
    pop.w {r7, lr}
    bx lr
behind:
    bl leaf
    movs r0, #7
    pop {r7, pc}
leaf:
    bx lr
"""


class Framed(Told):
    """The same with a frame pointer in r7."""

    def row(self, address: int) -> Optional[FrameRow]:
        start = CODE + 8
        inside = start + 4 <= address < start + 10 or start + 12 <= address < start + 20
        return FrameRow(7, 8, {7: -8, 14: -4}) if inside else super().row(address)


def test_behind_a_release_the_frame_is_the_bodys() -> None:
    start = CODE + 8
    leaf = start + 20
    told = Framed([CODE, start, leaf, leaf + 2], {CODE: 0, start: 0, start + 2: 8, start + 10: 0, leaf: 0})
    recovery = run(RELEASED, {"r0": 0, "sp": STACK}).recovery(Rules(frames=told))
    assert recovery.register(7, "sp").value == STACK - 8
    assert not recovery.findings
