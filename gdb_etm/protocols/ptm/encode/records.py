"""The waypoints of a program, as the encoder needs them."""

from __future__ import annotations

from typing import Optional

from gdb_etm.program.barriers import is_barrier
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.encode.instructions import (
    BranchRecord,
    InstructionCache,
    ReadCode,
    Region,
    instruction_at,
    is_certain,
)

_MASK = 0xFFFFFFFF
_ISB = 0xF3BF


def waypoints(
    read_code: ReadCode, broadcast: Optional[Region], barriers: bool
) -> InstructionCache[Optional[BranchRecord]]:
    """Make the table of waypoints by address; None for other instructions.

    All addresses have bit 0 set for T32 code.

    :param read_code: Reads program memory.
    :param broadcast: Where branch broadcasting is on; None for nowhere.
    :param barriers: Whether DMB and DSB are waypoints (ETMCCER[24]).
    """

    def find(marked: int) -> Optional[BranchRecord]:
        address, thumb = marked & ~1, marked & 1
        isa = Isa.T32 if thumb else Isa.A32
        code = read_code(address)
        insn = instruction_at(read_code, address, isa)
        following = (address + insn.size) & _MASK | thumb
        if insn.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
            target = insn.target | (insn.isa is Isa.T32) if insn.kind is InstructionKind.DIRECT else -1
            # ISB counts as a branch to the next instruction.
            barrier = target == following and _is_isb(code, thumb)
            everywhere = broadcast is not None and not barrier and broadcast(address)
            return BranchRecord(target, following, insn.link, everywhere, barrier, is_certain(read_code, address, isa))
        if barriers and is_barrier(code, isa):
            return BranchRecord(following, following, False, False, True, False)
        return None

    return InstructionCache(find)


def _is_isb(code: bytes, thumb: int) -> bool:
    first = int.from_bytes(code[:2], "little")
    return first == _ISB if thumb else code[2:4] == b"\x7f\xf5"
