"""Conditional instructions, and those that set flags, by encoding masks.

A unit that traces conditional instructions that are no branches leaves it to the analyser to find them (IHI 0064,
appendices F.3 and F.4).  Encodings are those of the Armv8-M ARM (C2.2 to C2.4) and the A-profile ARM (F3.1, F4.1 and
C4.1).
"""

from __future__ import annotations

from struct import unpack_from
from typing import Final, Tuple

from gdb_etm.program.isa import Isa, is_wide

# The condition flags, in the order of the APSR's bits 31:28.
N: Final = 8
Z: Final = 4
C: Final = 2
V: Final = 1
# The condition code of an instruction that is not conditional.
ALWAYS: Final = 14
# The flags that each condition code tests.
FLAGS_NEEDED: Final[Tuple[int, ...]] = (Z, Z, C, C, N, N, V, V, C | Z, C | Z, N | V, N | V, N | Z | V, N | Z | V, 0, 0)


def holds(condition: int, flags: int) -> bool:
    """Return whether a condition code holds.

    :param condition: 0 (EQ) to 15.
    :param flags: N, Z, C and V in bits 3 to 0.
    """
    negative, zero, carry, overflow = bool(flags & N), bool(flags & Z), bool(flags & C), bool(flags & V)
    base = (
        zero,
        carry,
        negative,
        overflow,
        carry and not zero,
        negative == overflow,
        negative == overflow and not zero,
        True,
    )[condition >> 1]
    return base if condition >= ALWAYS or not condition & 1 else not base


def enters_it_block(half: int) -> bool:
    """Return whether a 16-bit T32 instruction is IT."""
    return half & 0xFF00 == 0xBF00 and bool(half & 0xF)


def next_it_state(state: int) -> int:
    """Advance ITSTATE over one instruction; 0 outside IT blocks."""
    return state & 0xE0 | state << 1 & 0x1F if state & 7 else 0


def condition(code: bytes, index: int, isa: Isa, it_state: int) -> int:
    """Give an instruction's condition code.

    Branches are for the caller to leave out.

    :param code: Program bytes with the whole instruction.
    :param index: Index of the instruction in ``code``.
    :param it_state: ITSTATE as the instruction runs.
    :returns: 0 to 13, or ALWAYS when it is not conditional (appendix F.3).
    """
    if isa is Isa.T32:
        first = code[index] | code[index + 1] << 8
        second = code[index + 2] | code[index + 3] << 8 if is_wide(first) else 0
        if it_state:
            # SG is advised to be taken for unconditional here (F.3.2).
            return ALWAYS if first == 0xE97F == second else min(it_state >> 4, ALWAYS)
        return _t32_condition(first, second)
    word: int = unpack_from("<I", code, index)[0]
    if isa is Isa.A64:
        return _a64_condition(word)
    return word >> 28 if word >> 28 < ALWAYS else _vsel(word)


# EQ, VS, GE, GT.
_VSEL: Final = (0, 6, 10, 12)


def _vsel(word: int) -> int:
    # The same encoding in A32 and T32, of single, double and half precision.
    if word & 0xFF800C50 == 0xFE000800 and word & 0x300:
        return _VSEL[word >> 20 & 3]
    return ALWAYS


def _t32_condition(first: int, second: int) -> int:
    if first & 0xFFF0 == 0xEA50 and second & 0xC000 == 0x8000:
        return min(second >> 4 & 0xF, ALWAYS)  # CSEL, CSINC, CSINV, CSNEG and their aliases
    return _vsel(first << 16 | second)


def _a64_condition(word: int) -> int:
    selects = word & 0x3FE00800 == 0x1A800000
    compares = word & 0x3FE00410 == 0x3A400000
    floats = word & 0xFF200C00 in (0x1E200C00, 0x1E200400)  # FCSEL, FCCMP
    return min(word >> 12 & 0xF, ALWAYS) if selects or compares or floats else ALWAYS


def sets_flags(code: bytes, index: int, isa: Isa, it_state: int) -> bool:
    """Return whether an instruction may update the condition flags.

    Even one whose condition fails counts (appendix F.4).

    Returns from exceptions do so too; on M-profile their encoding does not show them.

    :param code: Program bytes with the whole instruction.
    :param index: Index of the instruction in ``code``.
    :param it_state: ITSTATE as the instruction runs.
    """
    if isa is Isa.T32:
        first = code[index] | code[index + 1] << 8
        if not is_wide(first):
            return _t16_sets(first, bool(it_state))
        return _t32_sets(first, code[index + 2] | code[index + 3] << 8)
    word: int = unpack_from("<I", code, index)[0]
    return _a64_sets(word) if isa is Isa.A64 else _a32_sets(word)


def _t16_sets(half: int, in_it_block: bool) -> bool:
    top = half >> 10
    if top < 0x10:
        return not in_it_block or half & 0xF800 == 0x2800  # shifts, ADD, SUB, MOV; CMP
    if top == 0x10:
        return not in_it_block or half >> 6 & 0xF in (0x8, 0xA, 0xB)  # data processing; TST, CMP, CMN
    return half & 0xFF00 == 0x4500  # CMP of high registers


def _t32_sets(first: int, second: int) -> bool:
    if first & 0xFA10 == 0xF010 and not second & 0x8000:
        return True  # modified immediate
    if first & 0xFE10 == 0xEA10:
        # Shifted register; next to ORRS are the conditional selects and, with Rm 15, the 64-bit shifts.
        return first & 0xFFF0 != 0xEA50 or not second & 0x8000 and second & 0xF != 0xF
    if first & 0xFF90 == 0xFA10:
        return second & 0xF0F0 == 0xF000  # shift by register
    if first & 0xFFF0 == 0xF380:
        return second & 0xD820 == 0x8800 and second & 0xFF < 4  # MSR to the flags
    if first & 0xEF10 == 0xEE10:
        # MRC to APSR_nzcv, VMRS among them; the other half of the space has no coprocessors 8 to 13.
        return second & 0xF010 == 0xF010 and not (first & 0x1000 and 8 <= second >> 8 & 0xF <= 13)
    if first == 0xE89F:
        return bool(second & 0x8000)  # CLRM with the APSR
    return first & 0xFFF0 == 0xF3D0 and second & 0xFF00 == 0x8F00  # SUBS PC, LR; ERET


def _a32_sets(word: int) -> bool:
    if word & 0x0F10F010 == 0x0E10F010:
        return word >> 28 != 0xF or not 8 <= word >> 8 & 0xF <= 13  # MRC to APSR_nzcv
    if word >> 28 == 0xF:
        return word & 0xFE500000 == 0xF8100000  # RFE
    group = word >> 25 & 7
    if group == 4:
        return word & 0x00508000 == 0x00508000  # LDM that returns from an exception
    if group > 1:
        return False
    if group == 0 and word & 0x90 == 0x90:
        return word & 0x01100060 == 0x00100000  # multiplies; loads and stores
    if word & 0x01900000 == 0x01000000:
        if word & 0x0FFFFFFF == 0x0160006E:
            return True  # ERET
        # MSR to the flags; with bit 9 of the register form it is to a banked register.
        return word & 0x0FF8F2F0 == 0x0128F000 or word & 0x0FF8F000 == 0x0328F000
    return bool(word & 0x00100000)


def _a64_sets(word: int) -> bool:
    if word & 0x3F800000 == 0x31000000 or word & 0x3F000000 == 0x2B000000:
        return True  # ADDS, SUBS
    if word & 0x7F800000 == 0x72000000 or word & 0x7F000000 == 0x6A000000:
        return True  # ANDS, BICS
    if word & 0x3FE00000 in (0x3A000000, 0x3A400000):
        return True  # ADCS, SBCS, RMIF, SETF; CCMP, CCMN
    if word & 0xFF20FC07 == 0x1E202000 or word & 0xFF200C00 == 0x1E200400:
        return True  # FCMP, FCCMP
    return word & 0xFFFFFFE0 == 0xD51B4200 or word == 0xD500401F or word & 0xFFFFF000 == 0xD69F0000  # MSR, CFINV, ERET
