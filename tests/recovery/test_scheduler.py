"""Worked by hand: the pointer to the running thread's block."""

from __future__ import annotations

from typing import List, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.recovery.functions.calls import BLOCK, CALL, THREAD, Assumption
from gdb_etm.recovery.lift.operations import MASK, PSP, SP
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.solve.assumptions import Assumptions
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.context_switch import HandlerAccess, Switch
from gdb_etm.recovery.threads.scheduler import Handled, Scheduler
from tests.recovery.small import RAM

CURRENT, NEXT, MEMBER = RAM, RAM + 4, 8
# It saves PSP in the block that is the third base, and loads it from that of the fourth.
SWITCH = Switch(
    CURRENT,
    MEMBER,
    32,
    32,
    (3, 0),
    2,
    (None, None, (0, CURRENT), (0, NEXT)),
    ((HandlerAccess(2, 0, 1), (2, MEMBER)), (HandlerAccess(0, 0, 1), (3, MEMBER))),
)


class Ran:
    """Threads that load the pointer, and handlers that switch between them."""

    def __init__(self) -> None:
        self.ssa = TraceSsa(Rules(), Program([]))
        self.made: List[Assumption] = []
        self.scheduler = Scheduler(self.ssa, self.made, lambda number: number, None)

    def run(self, number: int) -> int:
        """Load the pointer in a thread; give the variable."""
        self.ssa.number = number
        return self.ssa.load(self.ssa.constant(CURRENT), 4, self.ssa.one)

    def handle(self, since: int, number: int) -> Tuple[int, int]:
        """Switch; give the addresses in both blocks."""
        ssa = self.ssa
        old, new = ssa.new(0), ssa.new(0)
        ssa.number = number + 1
        ssa.store(old, ssa.new(0), 4, ssa.one)
        ssa.number = number + 3
        ssa.load(new, 4, ssa.one)
        self.scheduler.handle(Handled(SWITCH, None, None), since, number)
        return old, new


def told(assumptions: List[Assumption], kind: int) -> Set[Tuple[int, int, int]]:
    """What is the same as what, less a distance."""
    return {(one.before, one.after, one.distance) for one in assumptions if one.kind == kind}


def test_a_thread_finds_the_same_block_all_the_time() -> None:
    ran = Ran()
    first = ran.run(1)
    old, new = ran.handle(0, 2)
    second = ran.run(7)
    left, _ = ran.handle(5, 8)
    less = -MEMBER & MASK
    # What it was resumed with, what it loads, and what it is left with.
    assert told(ran.made, BLOCK) == {(old, first, less), (new, left, 0), (left, second, less)}


def test_the_one_that_runs_at_the_end() -> None:
    ran = Ran()
    _, new = ran.handle(0, 2)
    loaded = ran.run(7)
    ran.scheduler.run(None, CURRENT, 5, 9)
    assert (new, loaded, -MEMBER & MASK) in told(ran.made, BLOCK)


def test_a_thread_goes_on_with_its_block() -> None:
    ran = Ran()
    old, _ = ran.handle(0, 2)
    _, new = ran.handle(5, 8)
    assert told(ran.scheduler.same(2, 11), THREAD) == {(old, new, 0)}
    assert not ran.scheduler.same(3, 11)


def test_what_was_loaded_before_the_pointer_may_have_been_written_falls() -> None:
    ran = Ran()
    made = [Assumption(BLOCK, PSP, 0, 1, 20, 3), Assumption(BLOCK, PSP, 0, 1, 20, 12), Assumption(CALL, SP, 0, 1, 2, 9)]
    assumptions = Assumptions(ran.ssa, made, lambda number: number, lambda number: number)
    # By a store before instruction 10: what the first one says was loaded before that, in a thread left after it.
    assert assumptions.of_blocks(10) == {0}
    assert assumptions.of_blocks(2) == set()
