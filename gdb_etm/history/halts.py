"""Halts inside a history: whether execution went on from where it halted."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import InstructionKind, Isa

# The upper byte of its encoding (Armv7-M ARM, A7.7.17).
_BKPT = b"\xbe"


def goes_on(history: ExecutionHistory, number: int, halted_at: Optional[int], address: int) -> bool:
    """Tell whether execution continued at an address as if without the halt.

    :param number: Of the instruction before the halt.
    :param halted_at: Where the core was halted; None: an ETMv3 only says that it was.
    :param address: Of what ran next.
    """
    if halted_at is not None:
        return address == halted_at & ~1
    return number > 0 and address in successors(history, number)


def successors(history: ExecutionHistory, number: int) -> Tuple[int, ...]:
    """List an instruction's successors, as far as its encoding names them.

    :param number: Of the instruction.
    :returns: Nothing after BKPT: a debugger may have done what the program asked it for.
    """
    one = history.instruction(number)
    if one.isa is Isa.T32 and history.program.read(one.address, 2)[1:] == _BKPT:
        return ()
    insn = Blocks(history.program).instruction(one.address, one.isa)
    if insn is None or insn.kind is InstructionKind.INDIRECT:
        return ()
    return (insn.target, one.address + insn.size) if insn.kind is InstructionKind.DIRECT else (one.address + insn.size,)
