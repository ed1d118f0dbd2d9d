"""Worked by hand, and on Unicorn: memory below the stack pointer."""

from __future__ import annotations

from typing import Optional

import pytest

from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.dead_stack import DeadStack
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.values import Tier
from tests.recovery.small import CODE, DEVICE, RAM, STACK, Ran, run, wrong
from tests.recovery.test_entry_values import Told

# What r4 was is in RAM at the halt still, below SP, if the store through r1 missed it.
SOURCE = """
    push {r4}
    ldr r4, [r3]
    pop {r4}
    %s
    str r2, [r1]
    ldr r1, [r3]
    ldr r2, [r3]
    ldr r4, [r3]
"""
REGISTERS = {"r1": RAM + 0x40, "r2": 7, "r3": DEVICE, "r4": 0x1234, "sp": STACK}


def recovered(ran: Ran, limit: Tier = Tier.ASSUMED) -> Recovery:
    return ran.recovery(Rules(limit=limit))


def test_a_store_through_a_pointer_misses_it() -> None:
    ran = run(SOURCE % "nop", REGISTERS)
    recovery = recovered(ran)
    assert recovery.register(1, "r4")[:2] == (0x1234, Tier.ASSUMED)
    assert [step.text for step in recovery.why(1, "r4")] == [
        "stored at #1, loaded at #3",
        "loaded at #3, still in RAM at the halt, below the stack pointer, where no pointer leads",
    ]
    assert not wrong(ran, recovery)
    assert recovered(ran, Tier.EXACT).register(1, "r4").value is None


def test_not_what_the_stack_has_come_back_to() -> None:
    ran = run(SOURCE % "sub sp, #4", REGISTERS)
    assert recovered(ran).register(1, "r4").value is None


@pytest.mark.parametrize("frames", [None, Told([CODE, CODE + 64], {CODE: 0})], ids=["unknown", "known"])
def test_somebody_writes_there_after_all(frames: Optional[Told]) -> None:
    # The branch says what r4 was, and the store has overwritten where it was saved.
    ran = run("cmp r4, #5\nbne 1f\nnop\n1:" + SOURCE % "nop", {**REGISTERS, "r1": STACK - 4, "r2": 9, "r4": 5})
    recovery = ran.recovery(Rules(limit=Tier.ASSUMED, frames=frames))
    assert recovery.register(4, "r4")[:2] == (5, Tier.EXACT)
    assert recovery.register(4, "sp")[:2] == (STACK, Tier.EXACT)
    assert not wrong(ran, recovery) and not recovery.findings


def test_what_is_left_of_a_word_that_is_overwritten_in_part() -> None:
    ran = run(SOURCE % "sub sp, #4\nstrb r2, [sp]\nadd sp, #4", REGISTERS)
    found = recovered(ran).register(1, "r4")
    assert (found.known, found.bits) == (0xFFFFFF00, 0x1200)


@pytest.mark.parametrize(
    "byte, misses", [(STACK - 1, True), (STACK - 16, True), (STACK - 17, False), (STACK, False), (STACK + 4, False)]
)
def test_a_stack_is_what_sp_went_over(byte: int, misses: bool) -> None:
    assert dead_stack(STACK).misses(0, byte) == misses


def dead_stack(address: int, pushed: int = 16) -> DeadStack:
    """Follow SP down and up; then store through a pointer."""
    ssa = TraceSsa(Rules(), Program([]))
    pointer, top = ssa.new(-1), ssa.new(-1)
    for number, distance in enumerate((0, -pushed, 0)):
        ssa.number = number
        ssa.put(SP, ssa.offset(top, distance))
    ssa.number = 4
    ssa.store(pointer, ssa.constant(0), 4, ssa.one)
    ssa.learn(top, MASK, address, Premise.HALT)
    found = DeadStack(ssa)
    found.look()
    return found
