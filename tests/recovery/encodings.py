"""Classes of encodings, random members, and exclusions for Unicorn."""

from __future__ import annotations

import random
from typing import Dict, List, NamedTuple, Tuple

from gdb_etm.program.isa import Isa
from tests.recovery.comparison import A9_A32, A9_FLOAT, A9_T32, M33, M33_FLOAT, Core, compare


class Class(NamedTuple):
    """Encodings with some bits given."""

    name: str
    value: int
    # Bits that are as in ``value``; the others are random.
    mask: int


T32 = (
    Class("shifted register", 0xEA000000, 0xFE008000),
    Class("modified immediate", 0xF0000000, 0xFA008000),
    Class("plain immediate", 0xF2000000, 0xFA008000),
    Class("bit fields", 0xF3400000, 0xFFD08020),
    Class("saturation", 0xF3000000, 0xFF508020),
    Class("branches and control", 0xF0008000, 0xF8008000),
    Class("single transfers", 0xF8000000, 0xFE808000),
    Class("indexed transfers", 0xF8000800, 0xFE808800),
    Class("register transfers", 0xF8000000, 0xFE808FC0),
    Class("multiple transfers", 0xE8000000, 0xFE40A000),
    Class("dual transfers", 0xE8400000, 0xFE408000),
    Class("exclusives", 0xE8C00F00, 0xFEE08F00),
    Class("shifts by register", 0xFA00F000, 0xFF80F0F0),
    Class("extensions", 0xFA00F080, 0xFF80F0C0),
    Class("parallel", 0xFA80F000, 0xFF80F080),
    Class("miscellaneous", 0xFA80F080, 0xFFC0F0C0),
    Class("multiplications", 0xFB000000, 0xFF8080C0),
    Class("long multiplications", 0xFB800000, 0xFF808000),
)
FLOATS = (
    Class("transfers", 0x0C000A00, 0x0E000E00),
    Class("single word", 0x0D000A00, 0x0F200E00),
    Class("arithmetic", 0x0E000A00, 0x0F000E10),
    Class("one operand", 0x0EB00A40, 0x0FB00E50),
    Class("fixed point", 0x0EBA0A40, 0x0FBA0F50),
    Class("immediates", 0x0EB00A00, 0x0FB00EF0),
    Class("moves", 0x0E000A10, 0x0F000E7F),
    Class("system registers", 0x0EE10A10, 0x0FEF0FFF),
)
A32 = (
    Class("registers", 0xE0000000, 0xFE000000),
    Class("shifts by register", 0xE0000010, 0xFE000090),
    Class("immediates", 0xE2000000, 0xFE000000),
    Class("status reads", 0xE10F0000, 0xFFBF0FFF),
    Class("status writes", 0xE120F000, 0xFFF0FFF0),
    Class("bit counts and exchanges", 0xE12FFF10, 0xFFBFFFD0),
    Class("saturating additions", 0xE1000050, 0xFF900FF0),
    Class("halves", 0xE1000080, 0xFF900090),
    Class("multiplications", 0xE0000090, 0xFF0000F0),
    Class("exclusives", 0xE1000F90, 0xFF000FF0),
    Class("extra transfers", 0xE0000090, 0xFE000090),
    Class("single transfers", 0xE4000000, 0xFE000000),
    Class("register transfers", 0xE6000000, 0xFE000010),
    Class("parallel", 0xE6000F10, 0xFF800F10),
    Class("packing", 0xE6800010, 0xFF800010),
    Class("dual multiplications", 0xE7000010, 0xFF800010),
    Class("bit fields", 0xE7A00010, 0xFFA00010),
    Class("multiple transfers", 0xE8000000, 0xFE000000),
    Class("branches", 0xEA000000, 0xFE000000),
    Class("unconditional", 0xF0000000, 0xF0000000),
)
# What is compared on which core.
GROUPS: Dict[str, Tuple[Core, Tuple[Class, ...]]] = {
    "M33": (M33, T32),
    "A9 in T32": (A9_T32, T32),
    "A9 in A32": (A9_A32, A32),
    "M33 with floats": (M33_FLOAT, FLOATS),
    "A9 with floats": (A9_FLOAT, FLOATS),
}
_ALWAYS = 0xE0000000
# BX and BLX, POP of the program counter, CPS; IT, NOP and the other hints.
_END_A_BLOCK = (0x4700, 0xBD00, 0xB600, 0xBF00)


def codes(core: Core, chosen: Class, seed: int, count: int) -> List[bytes]:
    """Give random instructions of a class.

    :param count: How many to try; those left out are fewer.
    """
    chance = random.Random(seed)
    found = [chosen.value | chance.getrandbits(32) & ~chosen.mask for _number in range(count)]
    if chosen in FLOATS:
        found = [word | _ALWAYS for word in found if not _unpredictable_float(word) and not _from_fixed(word)]
    if core.isa is Isa.A32:
        return [word.to_bytes(4, "little") for word in found]
    return [_narrow(word >> 16) + _narrow(word & 0xFFFF) for word in found if not _shifts_pc(word)]


def narrow_codes(seed: int, count: int, in_it_block: bool = False) -> List[bytes]:
    """Give random 16-bit instructions, each at most once.

    :param in_it_block: Whether to leave out what is unpredictable in IT blocks unless it comes last.
    """
    chosen = random.Random(seed).sample(range(0xE800), count)
    if in_it_block:
        chosen = [half for half in chosen if not _ends_a_block(half)]
    return [_narrow(half) for half in chosen if half & 0xFF00 != 0xBF00 or not half & 0xF]


def _narrow(half: int) -> bytes:
    return half.to_bytes(2, "little")


def _ends_a_block(half: int) -> bool:
    return half & 0xF500 == 0xB100 or half & 0xF000 == 0xD000 or half & 0xFF00 in _END_A_BLOCK


def _shifts_pc(word: int) -> bool:
    # ORRS and MOVS of PC and SP: Armv8.1-M has 64-bit shifts there.
    return word & 0xFFF0000D == 0xEA50000D


def _unpredictable_float(word: int) -> bool:
    # Transfers from PC but VLDR and VSTR, where Armv8.1-M has VSCCLRM, and moves of two words to one register.
    return word & 0x0E0F0000 == 0x0C0F0000 or word & 0x0FF00000 == 0x0C500000 and word >> 16 & 0xF == word >> 12 & 0xF


def _from_fixed(word: int) -> bool:
    # Conversions of 32 bits of fixed point round to nearest; Unicorn rounds as FPSCR says.
    return word & 0x0FBE0ED0 == 0x0EBA0AC0


def check(group: str, seed: int) -> None:
    """Compare some instructions of each class, and some 16-bit ones.

    :param group: A key of :data:`GROUPS`.
    :raises AssertionError: any of them differs.
    """
    core, classes = GROUPS[group]
    for chosen in classes:
        assert compare(core, codes(core, chosen, seed, 40), seed).wrong == []
    if core.isa is Isa.T32:
        assert compare(core, narrow_codes(seed, 200), seed).wrong == []
        assert compare(core, narrow_codes(seed, 100, True), seed, 0xE8).wrong == []
