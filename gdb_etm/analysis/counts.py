"""Counts of executed instructions and of the ways of branches.

Programs loop, so an execution is many runs of few ranges: the ranges are counted, and their instructions once.
"""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import NamedTuple

from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.program.untaken import always_taken
from gdb_etm.protocols.elements import Gap, Range
from gdb_etm.protocols.recorder import Chain, Leg


class BranchCounts(NamedTuple):
    """Ways of a conditional branch, each with how often it went so."""

    taken: int
    not_taken: int


class ExecutionCounts:
    """Numbers of executions, by address."""

    def __init__(self) -> None:
        # How many instructions were seen in all.
        self.instructions = 0
        # How often something was not seen: the gaps in the histories.
        self.gaps = 0
        # How often each instruction ran.
        self.executed: CounterOf[int] = Counter()
        # How often each conditional branch was taken, and how often it was not.
        self.taken: CounterOf[int] = Counter()
        self.not_taken: CounterOf[int] = Counter()

    def branch(self, address: int) -> BranchCounts:
        """Give the ways of a conditional branch."""
        return BranchCounts(self.taken[address], self.not_taken[address])

    def add(self, history: ExecutionHistory) -> None:
        """Count what a history holds, too."""
        self.instructions += len(history)
        paused = pauses(history)
        self.gaps += sum(isinstance(event, Gap) and at not in paused for at, event in history.interruptions())
        blocks = history.blocks
        for executed, times in executed_ranges(history).items():
            addresses = history.addresses(executed)
            for address in addresses:
                self.executed[address] += times
            if is_conditional_branch(blocks, executed.start, addresses[-1], executed.isa):
                (self.taken if executed.taken else self.not_taken)[addresses[-1]] += times

    def merge(self, other: ExecutionCounts) -> None:
        """Add what others counted of the same program."""
        self.instructions += other.instructions
        self.gaps += other.gaps
        self.executed.update(other.executed)
        self.taken.update(other.taken)
        self.not_taken.update(other.not_taken)


def is_conditional_branch(blocks: Blocks, start: int, address: int, isa: Isa) -> bool:
    """Tell whether an instruction is a conditional branch.

    :param start: Where an instruction begins that runs before it, or its own address.
    """
    insn = blocks.instruction(address, isa)
    if insn is None or insn.kind not in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
        return False
    if insn.kind is InstructionKind.DIRECT and insn.target == address + insn.size:
        # Either way it goes on there, as an ISB does.
        return False
    return not always_taken(blocks.program.read, start, address, isa)


def executed_ranges(history: ExecutionHistory) -> CounterOf[Range]:
    """Count how often each range ran."""
    parts: CounterOf[int] = Counter()
    for number, times in Counter(history.order).items():
        run = history.run(number)
        if isinstance(run, Chain):
            for part, count in Counter(run.numbers).items():
                parts[part] += count * times
        else:
            parts[number] += times
    legs: CounterOf[Leg] = Counter()
    for number, times in parts.items():
        for leg in history.run(number).legs:
            legs[leg] += times
    found: CounterOf[Range] = Counter()
    for leg, times in legs.items():
        for executed in leg.ranges:
            found[executed] += times
    return found
