"""Effect of each instruction on the flow of control, by encoding masks.

This is the hot path of decoding, so it only answers what a trace decoder asks: how long is the
instruction, is it one that trace units report (a P0 instruction, ETMv4 IHI 0064 appendix F), and
where does it go.  Capstone gives text and operands elsewhere, and judges these masks in tests.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    # Computed with as machine words where it is compiled.
    from mypy_extensions import i64


class Isa(IntEnum):
    """Instruction set of a piece of code; the value indexes tables."""

    A32 = 0
    T32 = 1
    A64 = 2


class InstructionKind(IntEnum):
    """The meaning of an instruction to a trace decoder."""

    # Goes on with the next instruction and is not reported.
    OTHER = 0
    # A branch whose target is in the instruction.  ISB counts as a branch to the next instruction.
    DIRECT = 1
    # A branch whose target comes from a register or from memory.
    INDIRECT = 2
    # WFI or WFE: reported only by units with TRCIDR2.WFXMODE = 1.
    WAIT = 3
    # A branch-future instruction of Armv8.1-M: reported only by units with TRCIDR0.BF = 1.
    FUTURE = 4


class Insn(NamedTuple):
    """One instruction as the flow of control sees it."""

    # 2 or 4 bytes.
    size: int
    kind: InstructionKind
    # Branch target of a DIRECT instruction, else 0.
    target: int
    # Instruction set at the target of a DIRECT instruction; otherwise that of the instruction.
    isa: Isa
    # Whether a taken branch leaves a return address (pushed by trace units with a return stack).
    link: bool


_T16: Final = Insn(2, InstructionKind.OTHER, 0, Isa.T32, False)
_T32: Final = Insn(4, InstructionKind.OTHER, 0, Isa.T32, False)
_A32: Final = Insn(4, InstructionKind.OTHER, 0, Isa.A32, False)
_A64: Final = Insn(4, InstructionKind.OTHER, 0, Isa.A64, False)
_T16_INDIRECT: Final = Insn(2, InstructionKind.INDIRECT, 0, Isa.T32, False)
_T16_INDIRECT_LINK: Final = Insn(2, InstructionKind.INDIRECT, 0, Isa.T32, True)
_T32_INDIRECT: Final = Insn(4, InstructionKind.INDIRECT, 0, Isa.T32, False)
_A32_INDIRECT: Final = Insn(4, InstructionKind.INDIRECT, 0, Isa.A32, False)
_A32_INDIRECT_LINK: Final = Insn(4, InstructionKind.INDIRECT, 0, Isa.A32, True)
_A64_INDIRECT: Final = Insn(4, InstructionKind.INDIRECT, 0, Isa.A64, False)
_A64_INDIRECT_LINK: Final = Insn(4, InstructionKind.INDIRECT, 0, Isa.A64, True)

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__
# A name of its own is faster to reach than an enumeration's member.
_DIRECT: Final = InstructionKind.DIRECT
_WAIT: Final = InstructionKind.WAIT
_A32_STATE: Final = Isa.A32
_T32_STATE: Final = Isa.T32
_A64_STATE: Final = Isa.A64

# What :func:`offset_a64` gives where it gives none: a register has the target; it is no branch.
TO_REGISTER: Final = -1
NO_BRANCH: Final = -2

_MASK32: Final = 0xFFFFFFFF
_MASK64: Final = 0xFFFFFFFFFFFFFFFF


def _signed(value: int, bits: int) -> int:
    return value - ((value >> (bits - 1)) << bits)


def is_wide(halfword: int) -> bool:
    """Return whether a T32 instruction has 4 bytes (Armv8-M ARM, C2.2)."""
    return halfword >= 0xE800


def decode_t16(address: int, half: int) -> Insn:
    """Classify a 16-bit T32 instruction.

    :param address: Its address in bytes.
    :param half: The halfword; :func:`is_wide` must be False for it.
    """
    top = half >> 12
    if top == 0xD:
        if (half >> 8) & 0xF < 0xE:
            return _new(Insn, (2, _DIRECT, (address + 4 + _signed(half & 0xFF, 8) * 2) & _MASK32, _T32_STATE, False))
    elif top == 0xE:
        return _new(Insn, (2, _DIRECT, (address + 4 + _signed(half & 0x7FF, 11) * 2) & _MASK32, _T32_STATE, False))
    elif top == 0xB:
        if half & 0xF500 == 0xB100:
            offset = (half >> 3 & 0x40) | (half >> 2 & 0x3E)
            return _new(Insn, (2, _DIRECT, (address + 4 + offset) & _MASK32, _T32_STATE, False))
        if half & 0xFF00 == 0xBD00:
            return _T16_INDIRECT
        if half in (0xBF20, 0xBF30):
            return _new(Insn, (2, _WAIT, 0, _T32_STATE, False))
    elif top == 0x4:
        # BX, BXNS, BLX, BLXNS, then ADD and MOV to PC.
        if half & 0xFF00 == 0x4700:
            return _T16_INDIRECT_LINK if half & 0x80 else _T16_INDIRECT
        if half & 0xFD87 == 0x4487:
            return _T16_INDIRECT
    return _T16


def decode_t32(address: int, first: int, second: int) -> Insn:
    """Classify a 32-bit T32 instruction.

    :param address: Its address in bytes.
    :param first: First halfword; :func:`is_wide` must be True for it.
    :param second: Second halfword.
    """
    if first & 0xF800 == 0xF000:
        return _t32_control(address, first, second) if second & 0x8000 else _T32
    if first & 0xFE40 == 0xE800:
        if second & 0x8000 and first & 0xFFD0 in (0xE890, 0xE910) and first != 0xE89F:
            return _T32_INDIRECT  # LDMIA and LDMDB with PC; with base PC it is CLRM of Armv8.1-M
        if first & 0xFFD0 in (0xE810, 0xE990):
            return _T32_INDIRECT  # RFE
    if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:
        return _T32_INDIRECT  # TBB, TBH
    if first & 0xFF70 == 0xF850 and second & 0xF000 == 0xF000:
        return _T32_INDIRECT  # LDR to PC
    if first == 0xEE07 and second & 0x0FFF == 0x0F95:
        return _next_t32(address)  # ISB in its CP15 form
    if first & 0xFFF0 == 0xFB50 and second & 0x0FF0 == 0x0F10:
        return _T32_INDIRECT  # BXAUT
    return _T32


def _next_t32(address: int) -> Insn:
    return _new(Insn, (4, _DIRECT, (address + 4) & _MASK32, _T32_STATE, False))


def _t32_control(address: int, first: int, second: int) -> Insn:
    # Branches and miscellaneous control (Armv8-M ARM, C2.3.5; A-profile ARM, F3.1.9).
    form = second & 0x5000
    if form == 0x0000:
        condition = first >> 6 & 0xF
        return _t32_branch(address, first, second) if condition < 0xE else _t32_misc(address, first, second)
    if form == 0x4000 and second & 1:
        return _t32_loop(address, first, second)
    sign = first >> 10 & 1
    high = (~(second >> 13 ^ sign) & 1) << 23 | (~(second >> 11 ^ sign) & 1) << 22
    offset = _signed(sign << 24 | high | (first & 0x3FF) << 12 | (second & 0x7FF) << 1, 25)
    if form == 0x4000:
        return _new(Insn, (4, _DIRECT, ((address & ~3) + 4 + offset) & _MASK32, _A32_STATE, True))
    return _new(Insn, (4, _DIRECT, (address + 4 + offset) & _MASK32, _T32_STATE, form == 0x5000))


def _t32_branch(address: int, first: int, second: int) -> Insn:
    high = (first >> 10 & 1) << 20 | (second >> 11 & 1) << 19 | (second >> 13 & 1) << 18
    offset = _signed(high | (first & 0x3F) << 12 | (second & 0x7FF) << 1, 21)
    return _new(Insn, (4, _DIRECT, (address + 4 + offset) & _MASK32, _T32_STATE, False))


def _t32_misc(address: int, first: int, second: int) -> Insn:
    if first & 0xFFF0 == 0xF3B0 and second & 0xD0F0 == 0x8060:
        return _next_t32(address)  # ISB
    if first == 0xF3AF and second in (0x8002, 0x8003):
        return _new(Insn, (4, _WAIT, 0, _T32_STATE, False))
    if first & 0xFFF0 == 0xF3C0 and second & 0xD000 == 0x8000:
        return _T32_INDIRECT  # BXJ
    if first & 0xFFF0 == 0xF3D0 and second & 0xDF00 == 0x8F00 and first & 0xF == 0xE:
        return _T32_INDIRECT  # SUBS PC, LR and ERET
    return _T32


def _t32_loop(address: int, first: int, second: int) -> Insn:
    # Low-overhead loops and branch futures (Armv8.1-M ARM, C2.4): bits 10:7 of the first halfword are
    # the distance to a branch point, 0 in the loop instructions.
    if first & 0xFF80 != 0xF000:
        return _new(Insn, (4, InstructionKind.FUTURE, 0, _T32_STATE, False))
    if second & 0x2000:
        return _T32  # DLS, DLSTP, LCTP
    offset = (second >> 1 & 0x3FF) << 2 | (second >> 11 & 1) << 1
    if first in (0xF00F, 0xF01F, 0xF02F):
        offset = -offset  # LE, LETP
    return _new(Insn, (4, _DIRECT, (address + 4 + offset) & _MASK32, _T32_STATE, False))


def decode_a32(address: int, word: int) -> Insn:
    """Classify an A32 instruction (A-profile ARM, F4.1).

    :param address: Its address in bytes.
    :param word: The instruction word.
    """
    if word >> 28 == 0xF:
        return _a32_unconditional(address, word)
    group = word >> 25 & 7
    if group == 5:
        target = (address + 8 + _signed(word & 0xFFFFFF, 24) * 4) & _MASK32
        return _new(Insn, (4, _DIRECT, target, _A32_STATE, bool(word >> 24 & 1)))
    if group == 4:
        return _A32_INDIRECT if word & 0x00108000 == 0x00108000 else _A32
    if group in (2, 3):
        load_pc = word & 0x0050F000 == 0x0010F000 and not (group == 3 and word & 0x10)
        return _A32_INDIRECT if load_pc else _A32
    if group in (0, 1):
        return _a32_data_processing(word)
    if word & 0x0FFF0FFF == 0x0E070F95:
        return _new(Insn, (4, _DIRECT, (address + 4) & _MASK32, _A32_STATE, False))  # ISB in its CP15 form
    return _A32


def _a32_unconditional(address: int, word: int) -> Insn:
    if word & 0xFE000000 == 0xFA000000:
        offset = _signed(word & 0xFFFFFF, 24) * 4 + (word >> 23 & 2)
        return _new(Insn, (4, _DIRECT, (address + 8 + offset) & _MASK32, _T32_STATE, True))
    if word & 0xFE500000 == 0xF8100000:
        return _A32_INDIRECT  # RFE
    if word & 0xFFFFFFF0 == 0xF57FF060:
        return _new(Insn, (4, _DIRECT, (address + 4) & _MASK32, _A32_STATE, False))  # ISB
    return _A32


def _a32_data_processing(word: int) -> Insn:
    if word & 0x0FFFFFD0 == 0x012FFF10:
        return _A32_INDIRECT_LINK if word & 0x20 else _A32_INDIRECT  # BX, BLX
    if word & 0x0FFFFFF0 == 0x012FFF20 or word & 0x0FFFFFFF == 0x0160006E:
        return _A32_INDIRECT  # BXJ, ERET
    if word & 0x0FFFFFFE == 0x0320F002:
        return _new(Insn, (4, _WAIT, 0, _A32_STATE, False))
    if word & 0xF000 != 0xF000 or word >> 23 & 3 == 2:
        return _A32  # destination is not PC, or one of TST, TEQ, CMP, CMN and their neighbours
    if not word >> 25 & 1 and word & 0x90 == 0x90:
        return _A32  # multiplies and extra loads and stores
    return _A32_INDIRECT


def offset_a64(word: i64) -> i64:
    """Give the distance to an A64 branch's target (A-profile ARM, C4.1.66).

    :param word: The instruction word.
    :returns: In bytes; ``TO_REGISTER`` where a register has the target, ``NO_BRANCH`` for what is no branch.
    """
    if word & 0xFF000000 == 0x54000000 or word & 0x7E000000 == 0x34000000:
        return ((word >> 5 & 0x7FFFF ^ 0x40000) - 0x40000) << 2
    if word & 0x7C000000 == 0x14000000:
        return ((word & 0x3FFFFFF ^ 0x2000000) - 0x2000000) << 2
    if word & 0x7E000000 == 0x36000000:
        return ((word >> 5 & 0x3FFF ^ 0x2000) - 0x2000) << 2
    if word & 0xFE1FF000 == 0xD61F0000:
        # BR, BLR, RET and ERET; BR and BLR with pointer authentication.
        return TO_REGISTER if word >> 21 & 0xF in (0, 1, 2, 4, 8, 9) else NO_BRANCH
    # ISB.
    return 4 if word & 0xFFFFF0FF == 0xD50330DF else NO_BRANCH


def decode_a64(address: int, word: int) -> Insn:
    """Classify an A64 instruction.

    :param address: Its address in bytes.
    :param word: The instruction word.
    """
    # Addresses have 64 bits without a sign.
    offset: int = offset_a64(word)
    if not offset & 3:
        link = word & 0xFC000000 == 0x94000000
        return _new(Insn, (4, _DIRECT, (address + offset) & _MASK64, _A64_STATE, link))
    if offset == TO_REGISTER:
        # BLR, BLRAA and BLRAB and their zero forms.
        return _A64_INDIRECT_LINK if word >> 21 & 0x7 == 1 else _A64_INDIRECT
    if word in (0xD503205F, 0xD503207F):
        return _new(Insn, (4, _WAIT, 0, _A64_STATE, False))
    return _A64


# By the top byte of an A64 branch: 1 for B, BL, BR and their like, which are always taken; 2 for B.cond and BC.cond,
# which are with the conditions 14 and 15; 0 for others.
CERTAIN_A64: Final = bytes([2 if top == 0x54 else top & 0x7C == 0x14 or top >> 1 == 0x6B for top in range(256)])


def is_unconditional(word: int, isa: Isa) -> bool:
    """Return whether a branch is taken whenever it runs, IT blocks aside.

    :param word: The branch, four bytes from where it begins: of a 16-bit one the upper half means nothing.
    """
    if isa is _A64_STATE:
        form = CERTAIN_A64[word >> 24]
        return form == 1 or form == 2 and word & 0xE == 0xE
    if isa is _A32_STATE:
        return word >> 28 >= 0xE
    first, second = word & 0xFFFF, word >> 16
    if not is_wide(first):
        # B with a condition, CBZ and CBNZ.
        return first >> 12 != 0xD and first & 0xF500 != 0xB100
    # B with a condition; low-overhead loops, which end.
    loop = second & 0xD001 == 0xC001
    conditional = second & 0xD000 == 0x8000 and first >> 6 & 0xF < 0xE
    return not (first & 0xF800 == 0xF000 and (loop or conditional))


def is_aligned(address: int, isa: Isa) -> bool:
    """Return whether an instruction can begin at an address."""
    return not address & (1 if isa is _T32_STATE else 3)


def to_packed(address: int, is_t32: bool) -> i64:
    """Pack an address, and whether T32 code is there, into one number.

    It is signed and has 64 bits; bit 0 is set for T32, as no instruction begins at an odd address.
    """
    packed = address | is_t32
    return packed - (1 << 64) if packed >> 63 else packed


def from_packed(packed: int) -> int:
    """Give the address in a packed one."""
    return packed & ~1 if packed >= 0 else (packed & ~1) + (1 << 64)
