"""Conditional instructions that are no branches: which were skipped."""

from __future__ import annotations

from typing import Set

from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.program.conditions import ALWAYS, condition, enters_it_block, next_it_state
from gdb_etm.program.isa import InstructionKind, Isa


def conditional_addresses(history: ExecutionHistory, first: int, last: int) -> Set[int]:
    """Give the addresses of those that were reached, executed or not.

    :param first: Number of the first instruction that counts.
    :param last: Of the last one.
    """
    found: Set[int] = set()
    for executed in {span.range for span in history.spans(first, last) if isinstance(span, Span)}:
        state = 0
        for address in history.addresses(executed):
            insn = history.blocks.instruction(address, executed.isa)
            if insn is None:
                break
            code = history.program.read(address, insn.size)
            if insn.kind is InstructionKind.OTHER and condition(code, 0, executed.isa, state) != ALWAYS:
                found.add(address)
            half = int.from_bytes(code[:2], "little")
            is_it = executed.isa is Isa.T32 and insn.size == 2 and enters_it_block(half)
            state = half & 0xFF if is_it else next_it_state(state)
    return found


def skipped_instructions(history: ExecutionHistory) -> Set[int]:
    """Give the numbers of those that are known to be skipped."""
    return {number for number, passed in history.outcomes(1, len(history)).items() if not passed}
