"""Vectors worked by hand: addresses that a comparator may miss.

V-33 and V-50 of the programming map, 3.6; encodings of the Armv8-M ARM.
"""

from __future__ import annotations

import struct
from typing import Callable, Optional

import pytest

from gdb_etm.program.comparator_limits import doubt_of

NOP, WIDE = 0xBF00, (0xF3AF, 0x8000)
ITTE, IT = 0xBF0A, 0xBF08  # on EQ


def reader(*halves: int) -> Callable[[int, int], bytes]:
    code = struct.pack("<%dH" % len(halves), *halves)
    return lambda address, size: code[address - 0x100 : address - 0x100 + size]


@pytest.mark.parametrize(
    "halves, address, words",
    [
        ((0xE97F, 0xE97F, NOP), 0x100, "is SG"),
        ((NOP, 0xF00F, 0xC805), 0x102, "ends a low-overhead loop"),  # LE LR, label
        ((NOP, 0xF02F, 0xC805), 0x102, "ends a low-overhead loop"),  # LE label
        ((NOP, 0xF040, 0xE001), 0x102, ""),  # DLS
        ((NOP, IT, NOP, NOP), 0x104, "take that, 0x00000102"),
        ((NOP, IT, NOP, NOP), 0x106, ""),
        ((NOP, IT, NOP, NOP), 0x102, ""),
        ((ITTE, *WIDE, NOP, NOP, NOP), 0x102, "take that, 0x00000100"),
        ((ITTE, *WIDE, NOP, NOP, NOP), 0x106, "take that, 0x00000100"),
        ((ITTE, *WIDE, NOP, NOP, NOP), 0x108, "take that, 0x00000100"),
        ((ITTE, *WIDE, NOP, NOP, NOP), 0x10A, ""),
        ((*WIDE, NOP), 0x102, ""),  # no instruction begins there
        ((NOP,), 0x200, ""),  # nothing is there
    ],
)
def test_where_a_comparator_may_miss(halves: tuple, address: int, words: str) -> None:
    found = doubt_of(reader(*halves), address, 0x100)
    assert words in found and bool(words) == bool(found)


@pytest.mark.parametrize("entry", [None, 0x200, 0])
def test_without_a_function_only_the_instruction_itself_is_looked_at(entry: Optional[int]) -> None:
    assert doubt_of(reader(IT, NOP), 0x102, entry) == ""
    assert doubt_of(reader(0xE97F, 0xE97F), 0x100, entry)
