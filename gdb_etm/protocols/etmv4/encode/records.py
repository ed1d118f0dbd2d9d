"""The P0 instructions of a program, as the encoder needs them."""

from __future__ import annotations

from typing import Optional

from gdb_etm.program.isa import InstructionKind
from gdb_etm.protocols.encode.instructions import (
    BranchRecord,
    InstructionCache,
    ReadCode,
    Region,
    instruction_at,
    is_certain,
)

# A P0 instruction that is no branch.
TRANSFER = BranchRecord(-1, -1, False, False, False, False)


def p0_instructions(
    read_code: ReadCode, broadcast: Optional[Region], transfers: Optional[Region]
) -> InstructionCache[Optional[BranchRecord]]:
    """Make the table of P0 instructions by address; None for the others.

    :param read_code: Reads program memory.
    :param broadcast: Where branch broadcasting is on; None for nowhere.
    :param transfers: Which instructions are P0 elements for their loads or stores; None for none.
    """

    def find(address: int) -> Optional[BranchRecord]:
        insn = instruction_at(read_code, address)
        if insn.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
            target = insn.target if insn.kind == InstructionKind.DIRECT else -1
            following = (address + insn.size) & 0xFFFFFFFF
            everywhere = broadcast is not None and broadcast(address)
            barrier = insn.size == 4 and target == following and not insn.link
            return BranchRecord(target, following, insn.link, everywhere, barrier, is_certain(read_code, address))
        return TRANSFER if transfers is not None and transfers(address) else None

    return InstructionCache(find)
