"""Vectors worked by hand: where a program keeps what it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.errors import ImageError
from gdb_etm.program.ram import SRAM, in_use, joined, load_writable, regions
from tests.firmware.build import elf, size, symbol
from tests.firmware.recovery import build as recovery


def test_writable_sections_are_those_of_the_file() -> None:
    path = recovery.elf("control-Os")
    pieces = load_writable(path)
    for name in ("channels", "events", "tasks"):
        start = symbol(path, name)
        assert any(first <= start and start + size(path, name) <= end for first, end in pieces)
    assert all(SRAM[0] <= first < end < SRAM[0] + 0x10000 for first, end in pieces)
    assert not any(first <= symbol(path, "run") < end for first, end in pieces)
    with pytest.raises(ImageError, match="cannot read"):
        load_writable("/nowhere")


def test_what_is_no_elf_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(ImageError, match="no"):
        load_writable(str(tmp_path / "text"))
    assert load_writable(elf("sort"))


def test_regions_are_the_memory_maps_and_the_programs() -> None:
    assert regions([], [0x20001000], True) == [SRAM]
    assert regions([(0x10000000, 0x10000400)], [0x10008000], True) == [
        (0x10000000, 0x10010000),
        SRAM,
    ]
    assert regions([(0x100000, 0x180000)], [0x17FF00, 0, 0x3FFF0000], False) == [
        (0x100000, 0x180000),
        (0x3FFE0000, 0x3FFF0000),
    ]


@pytest.mark.parametrize(
    "writable, stacks, top, expected",
    [
        # Between data and stack there is a heap.
        ([(0x20000000, 0x20000800)], [0x2007FF00], 0x20080000, [(0x20000000, 0x20080000)]),
        # The main stack elsewhere, that of a task within the data.
        (
            [(0x20000000, 0x20000800)],
            [0x1000FF00, 0x20000400],
            0x10010000,
            [(0x1000FF00, 0x10010000), (0x20000000, 0x20000800)],
        ),
        # Where the stack begins is not known: up to the end of its 64 KiB.
        ([], [0x20001234], None, [(0x20001234, 0x20010000)]),
        # An empty stack, and a pointer that was never set.
        ([(0x20000000, 0x20000800)], [0x20080000, 0], 0x20080000, [(0x20000000, 0x20000800)]),
        ([], [0x20080000], 0x08000123, []),
    ],
)
def test_what_is_in_use(writable: list, stacks: list, top: int, expected: list) -> None:
    assert in_use(writable, stacks, top) == expected


def test_joined() -> None:
    assert joined([(8, 12), (0, 4), (4, 6)]) == [(0, 6), (8, 12)]
    assert joined([(8, 12), (0, 4), (4, 6)], 2) == [(0, 12)]
    assert joined([(0, 20), (4, 6)]) == [(0, 20)]
