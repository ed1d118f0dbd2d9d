"""Differential run: lines and inlined functions by GDB and pyelftools."""

from __future__ import annotations

import json

import pytest

from tests.firmware.build import elf, symbol
from tests.firmware.recovery import build as recovery
from tests.gdb_session import run_gdb
from tests.gdb_texts import gdb_version
from tests.history.dwarf import DwarfPlaces

_PRINT = (
    "python import json, gdb_etm.gdbui.start as s; p = s.session().places; "
    "row = lambda a: [a, p.line_at(a) and list(p.line_at(a)[1:5]), "
    "[[i.name, i.call and i.call[1], i.begins_here] for i in p.inlined_at(a)]]; "
    "print('@' + json.dumps([row(a) for a in range(%d, %d, 2)]))"
)


# What GCC writes differs most at -O2: functions inlined in several parts that are entered in the midst of one.
OPTIMISED = ["digest-O2", "requests-O2", "kernel-O2", "twins-Os", "digest-O0"]


@pytest.mark.parametrize("name", ["steps", "sort", "faults", "tasks", "branches", *OPTIMISED])
def test_gdb_and_dwarf_agree(name: str) -> None:
    path = recovery.elf(name) if name in OPTIMISED else elf(name)
    first, last = symbol(path, "Reset_Handler"), symbol(path, "run") + 100
    output = run_gdb(["file %s" % path, _PRINT % (first, last)])
    rows = json.loads(next(line[1:] for line in output.splitlines() if line.startswith("@")))
    places = DwarfPlaces(path, gdb_version())
    assert len(rows) > 50
    for address, line, inlined in rows:
        expected = places.line_at(address)
        assert line == (list(expected[1:5]) if expected is not None else None), hex(address)
        found = [[one.name, one.call[1] if one.call else None, one.begins_here] for one in places.inlined_at(address)]
        assert inlined == found, hex(address)


def test_locations_and_arguments() -> None:
    code = "python import gdb_etm.gdbui.start as s; p = s.session().places; "
    output = run_gdb(
        [
            "file %s" % elf("steps"),
            code + "print([hex(a) for a in p.locate('*0x1c6')], p.has_arguments(p.locate('leaf')[0], 'leaf'))",
            code + "print(p.has_arguments(p.locate('run')[0], 'run'))",
            "break leaf",
            "break tail",
            "disable 2",
            code + "print(p.breakpoints())",
            "etm last nosuch",
        ]
    ).splitlines()
    assert output[0] == "['0x1c6'] True" and output[1] == "False"
    assert output[-2] == "{%d: 1}" % symbol(elf("steps"), "leaf")
    assert "nothing captured" in output[-1]
