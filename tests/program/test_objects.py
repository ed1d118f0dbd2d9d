"""Vectors worked by hand: a program's objects, by its symbol table."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.errors import ImageError
from gdb_etm.program.objects import NO_OBJECT, Objects, load_objects
from tests.firmware.build import size, symbol
from tests.firmware.recovery import build as recovery


def test_a_programs_variables_and_functions() -> None:
    path = recovery.elf("control-Os")
    objects = load_objects([path])
    for name in ("channels", "events", "tasks"):
        start = symbol(path, name)
        assert objects.bounds(objects.at(start)) == (start, start + size(path, name))
        assert objects.at(start + size(path, name) - 1) == objects.at(start)
    assert objects.at(symbol(path, "run")) == NO_OBJECT
    assert symbol(path, "run") in dict(objects.functions)
    starts, ends = zip(*objects.functions)
    assert all(end <= start for end, start in zip(ends, starts[1:]))


def test_objects_that_overlap_are_one() -> None:
    objects = Objects([(0x110, 0x118), (0x100, 0x108), (0x104, 0x10C)], [], [])
    assert len(objects) == 2
    assert [objects.at(one) for one in (0xFF, 0x100, 0x10B, 0x10C, 0x110, 0x118)] == [-1, 0, 0, -1, 1, -1]
    assert [list(objects.between(*one)) for one in ((0x10C, 0x110), (0x10B, 0x111), (0, 0x101))] == [[], [0, 1], [0]]
    assert [objects.is_near(one, 4) for one in (0xFB, 0xFC, 0x10D, 0x11B, 0x11C)] == [False, True, True, True, False]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(ImageError):
        load_objects([str(tmp_path / "text")])
    assert not len(load_objects([]))
