"""Classification of branches: calls, returns, jumps.

The trace decoder only needs to know that an instruction branches (``program.isa``); the call history
also asks why, which is a matter of the procedure call standards (AAPCS32 and AAPCS64, "Subroutine
calls").  Encodings are from the Armv8-M (DDI 0553), Armv7-A (DDI 0406) and Armv8-A (DDI 0487) manuals.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.far_jumps import FarJumps
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range


class Exit(Enum):
    """What the last instruction of a range does when it branches."""

    # Leaves a return address.
    CALL = "call"
    # Goes to a return address, by the usual idioms for it.
    RETURN = "return"
    # Jumps through a table inside the function; never a return.
    TABLE = "table"
    # Goes to an address in a register: a tail call or a return, depending on the target.
    INDIRECT = "indirect"
    # Goes to a fixed address, or does not branch at all.
    DIRECT = "direct"


def exit_of(code: bytes, isa: Isa) -> Exit:
    """Classify how an instruction leaves the code before it.

    :param code: One instruction, 2 or 4 bytes, in memory order.
    :param isa: Its instruction set.
    """
    word = int.from_bytes(code, "little")
    if isa is Isa.A64:
        return _exit_a64(word)
    if isa is Isa.A32:
        return _exit_a32(word)
    if len(code) == 2:
        return _exit_t16(word)
    return _exit_t32(word & 0xFFFF, word >> 16)


class Exits:
    """Cache of the exits of executed ranges.

    :param program: The program that ran.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._blocks = Blocks(program)
        self._far_jumps = FarJumps(program)
        self._known: Dict[Tuple[int, Isa], Exit] = {}

    def __call__(self, executed: Range) -> Exit:
        """Tell what the last instruction of ``executed`` does when it branches."""
        key = (executed.end, executed.isa)
        known = self._known.get(key)
        if known is None:
            last = executed.end - 4
            if executed.isa is Isa.T32:
                last = self._blocks.addresses(executed.start, executed.end, executed.isa)[-1]
            code = self._program.read(last, executed.end - last)
            known = exit_of(code, executed.isa)
            if known is Exit.CALL and executed.isa is Isa.T32 and self._far_jumps.has(last):
                known = Exit.DIRECT
            self._known[key] = known
        return known


def _exit_t16(half: int) -> Exit:
    if half & 0xFF80 == 0x4780:
        return Exit.CALL  # BLX, BLXNS
    if half & 0xFFF8 == 0x4770 or half & 0xFF00 == 0xBD00 or half == 0x46F7:
        return Exit.RETURN  # BX LR, BXNS LR; POP with PC; MOV PC, LR
    if half & 0xFF80 == 0x4700 or half & 0xFF87 == 0x4687:
        return Exit.INDIRECT  # BX, MOV PC
    if half & 0xFF87 == 0x4487:
        return Exit.TABLE  # ADD PC
    return Exit.DIRECT


def _exit_t32(first: int, second: int) -> Exit:
    if first & 0xF800 == 0xF000 and second & 0xC000 == 0xC000:
        return Exit.CALL  # BL, BLX
    if first in (0xE89D, 0xE8BD) and second & 0x8000 or (first == 0xF85D and second == 0xFB04):
        return Exit.RETURN  # LDM SP with PC; LDR PC, [SP], #4
    if first == 0xF3DE and second & 0xFF00 == 0x8F00 or first & 0xFFD0 in (0xE810, 0xE990):
        return Exit.RETURN  # SUBS PC, LR; RFE
    if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:
        return Exit.TABLE  # TBB, TBH
    if first & 0xFFF0 == 0xF850 and first != 0xF85F and second & 0xFFC0 == 0xF000:
        return Exit.TABLE  # LDR PC, [Rn, Rm, LSL #2]
    if first & 0xFF70 == 0xF850 and second >> 12 == 0xF:
        return Exit.INDIRECT  # LDR PC
    if first & 0xFFD0 in (0xE890, 0xE910) and second & 0x8000:
        return Exit.INDIRECT  # LDM with PC from elsewhere
    return Exit.DIRECT


def _exit_a32(word: int) -> Exit:
    if word >> 28 == 0xF:
        if word & 0x0E500000 == 0x08100000:
            return Exit.RETURN  # RFE
        return Exit.CALL if word & 0x0E000000 == 0x0A000000 else Exit.DIRECT  # BLX (immediate)
    if word & 0x0F000000 == 0x0B000000 or word & 0x0FFFFFF0 == 0x012FFF30:
        return Exit.CALL  # BL, BLX (register)
    if word & 0x0FFFFFFF in (0x012FFF1E, 0x01A0F00E, 0x01B0F00E, 0x049DF004):
        return Exit.RETURN  # BX LR; MOV(S) PC, LR; LDR PC, [SP], #4
    if word & 0x0FDF8000 == 0x089D8000 or word & 0x0FFFF000 == 0x025EF000:
        return Exit.RETURN  # LDM SP with PC; SUBS PC, LR
    if word & 0x0FFFF000 == 0x079FF000 or word & 0x0FEFF000 == 0x008FF000:
        return Exit.TABLE  # LDR PC, [PC, Rm, LSL #2]; ADD PC, PC
    loads = word & 0x0C10F000 == 0x0410F000 or word & 0x0E108000 == 0x08108000
    computes = word & 0x0C00F000 == 0x0000F000 and word & 0x0D800000 != 0x01000000
    return Exit.INDIRECT if loads or computes or word & 0x0FFFFFF0 == 0x012FFF10 else Exit.DIRECT


def _exit_a64(word: int) -> Exit:
    if word >> 26 == 0x25:
        return Exit.CALL  # BL
    if word & 0xFE000000 != 0xD6000000:
        return Exit.DIRECT
    operation = word >> 21 & 0x7  # bit 24 is set in authenticated forms with a modifier, which mean the same
    if operation == 1:
        return Exit.CALL  # BLR, BLRAA
    if operation in (2, 4):
        return Exit.RETURN  # RET, RETAA, ERET
    return Exit.INDIRECT  # BR, BRAA
