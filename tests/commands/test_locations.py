"""Differential run of GDB: locations in the demo's ELF file."""

from __future__ import annotations

import re
from typing import List, Tuple

import pytest

from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from tests.access.processes import DEMO
from tests.gdb_session import run_gdb

_LINE = re.compile(r'Line (\d+) of "(\w+\.c)" starts at address 0x([0-9a-f]+)[^>]*> and ends at 0x([0-9a-f]+)')
_FUNCTION = re.compile(r"Symbol \"(\w+)\" is a function at address 0x([0-9a-f]+)")


@pytest.fixture(scope="module")
def locations() -> ElfLocations:
    return ElfLocations(OfflineDebugger([str(DEMO)]))


def covered(ranges: List[Tuple[int, int]]) -> List[int]:
    return [address for first, last in ranges for address in range(first, last + 1)]


def test_functions_are_where_gdb_has_them(locations: ElfLocations) -> None:
    names = ["main", "dispatch", "parse", "parse_values", "UART_Handler", "Reset_Handler"]
    output = run_gdb(["info address %s" % name for name in names], source=False, arguments=[str(DEMO)])
    found = {name: int(address, 16) for name, address in _FUNCTION.findall(output)}
    assert set(found) == set(names)
    for name, address in found.items():
        assert list(locations.entries(name)) == [address]
        assert locations.code(name)[0][0] == address and all(first < last for first, last in locations.code(name))


def test_lines_are_where_gdb_has_them(locations: ElfLocations) -> None:
    numbers = range(100, 125)
    output = run_gdb(["info line rx.c:%d" % number for number in numbers], source=False, arguments=[str(DEMO)])
    found = _LINE.findall(output)
    assert len(found) > 5
    for number, file, first, end in found:
        code = locations.code("%s:%s" % (file, number))
        assert set(range(int(first, 16), int(end, 16))) <= set(covered(list(code))), number
        assert len(locations.entries("%s:%s" % (file, number))) == 1


def test_addresses_and_completions(locations: ElfLocations) -> None:
    assert list(locations.code("*0x304")) == [(0x304, 0x304)] and list(locations.entries("*772")) == [0x304]
    assert locations.completions("parse") == ["parse", "parse_number", "parse_values"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("pars", 'no function "pars"; did you mean parse'),
        ("zzz", 'no function "zzz"$'),
        ("rx.c:1", "no code for line 1 of rx.c; next with code: "),
        ("x.c:1", 'no source file "x.c" in the debug information'),
        ("*here", '"here" is not a number'),
    ],
)
def test_no_such_place(locations: ElfLocations, text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        locations.code(text)


def test_without_a_program() -> None:
    with pytest.raises(CommandError, match='no symbols, so no function "main"; name the ELF file, or try .ADDRESS'):
        ElfLocations(OfflineDebugger()).entries("main")


def test_variables_are_where_gdb_has_them(locations: ElfLocations) -> None:
    output = run_gdb(
        ["output/x (unsigned) &station", "echo \\n", "output sizeof(station)"], source=False, arguments=[str(DEMO)]
    )
    first, size = (int(word, 0) for word in output.split()[-2:])
    assert list(locations.data("station")) == [(first, first + size - 1)]
    assert list(locations.data("*0x20000000")) == [(0x20000000, 0x20000000)]
    with pytest.raises(CommandError, match='no variable "statoin"; did you mean station?'):
        locations.data("statoin")
