"""A differential run against Unicorn: each instruction alone, from random registers, flags and memory.

Left out: encodings that are unpredictable and that Unicorn gives a meaning of its own, and IT and the end of an IT
block, where Unicorn goes wrong after accesses to memory that are watched.
"""

from __future__ import annotations

import random
from typing import List, NamedTuple

import pytest

from tests.recovery import comparison
from tests.recovery.comparison import A9_A32, A9_FLOAT, A9_T32, M33, M33_FLOAT, Core

SAMPLES = 500


class Class(NamedTuple):
    """Encodings with some bits given."""

    name: str
    value: int
    mask: int
    """Bits that are as in ``value``; the others are random."""


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


def words(chosen: Class, count: int) -> List[int]:
    chance = random.Random(chosen.value)
    return [chosen.value | chance.getrandbits(32) & ~chosen.mask for _number in range(count)]


def narrow(half: int) -> bytes:
    return half.to_bytes(2, "little")


def wide(word: int) -> bytes:
    return narrow(word >> 16) + narrow(word & 0xFFFF)


# BX and BLX, IT, POP of the program counter, CPS.
_ENDS = (0x4700, 0xBF00, 0xBD00, 0xB600)


def is_it(half: int) -> bool:
    return half & 0xFF00 == 0xBF00 and half & 0xF != 0


@pytest.mark.parametrize("part", range(4))
def test_t16(part: int) -> None:
    codes = [narrow(half) for half in range(part, 0xE800, 16) if not is_it(half)]
    tally = comparison.compare(M33, codes, part)
    assert tally.wrong == []
    assert tally.compared > 0.9 * len(codes)


@pytest.mark.parametrize("core", [M33, A9_T32])
def test_t16_in_an_it_block(core: Core) -> None:
    def ends(half: int) -> bool:
        # Branches and CPS, which are unpredictable there unless they come last.
        return half & 0xF500 == 0xB100 or half & 0xF000 == 0xD000 or half & 0xFF00 in _ENDS

    codes = [narrow(half) for half in range(5, 0xE800, 19) if not ends(half)]
    tally = comparison.compare(core, codes, 1, 0xE8)
    assert tally.wrong == []
    assert tally.compared > 0.9 * len(codes)


def unpredictable_t32(word: int) -> bool:
    # Shifts of PC, next to which Armv8.1-M has 64-bit shifts.
    return word & 0xFFF0000F == 0xEA50000F


@pytest.mark.parametrize("chosen", T32, ids=lambda chosen: chosen.name)
@pytest.mark.parametrize("core", [M33, A9_T32], ids=lambda core: core.model)
def test_t32(core: Core, chosen: Class) -> None:
    codes = [wide(word) for word in words(chosen, SAMPLES) if not unpredictable_t32(word)]
    tally = comparison.compare(core, codes, chosen.value)
    assert tally.wrong == []
    assert tally.compared > 0.1 * len(codes)


def unpredictable_float(word: int) -> bool:
    # Transfers from PC but VLDR and VSTR, which Armv8.1-M has VSCCLRM for, and moves of two words to one register.
    return word & 0x0E0F0000 == 0x0C0F0000 or word & 0x0FF00000 == 0x0C500000 and word >> 16 & 0xF == word >> 12 & 0xF


@pytest.mark.parametrize("chosen", FLOATS, ids=lambda chosen: chosen.name)
@pytest.mark.parametrize("core", [M33_FLOAT, A9_FLOAT], ids=lambda core: core.model)
def test_floating_point(core: Core, chosen: Class) -> None:
    picked = [word | 0xE0000000 for word in words(chosen, SAMPLES) if not unpredictable_float(word)]
    codes = [wide(word) if core is M33_FLOAT else word.to_bytes(4, "little") for word in picked]
    tally = comparison.compare(core, codes, chosen.value)
    assert tally.wrong == []
    assert tally.compared > 0.02 * len(codes)


@pytest.mark.parametrize("chosen", A32, ids=lambda chosen: chosen.name)
def test_a32(chosen: Class) -> None:
    codes = [word.to_bytes(4, "little") for word in words(chosen, SAMPLES)]
    tally = comparison.compare(A9_A32, codes, chosen.value)
    assert tally.wrong == []
    assert tally.compared > 0.1 * len(codes)
