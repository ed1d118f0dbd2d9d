"""Property test, and a differential run against GDB: all firmware's variables."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Dict, List, Set

import pytest

from gdb_etm.program.containers import Container
from gdb_etm.program.datatypes import ARRAY, STRUCT, UNION, UNKNOWN
from gdb_etm.program.variables import load_variables
from tests.firmware.build import FOLDER
from tests.program.declared import ask_gdb

FILES = sorted(FOLDER.rglob("*.elf"))
# All addresses of an object up to this size are asked about, and so many of a larger one.
MOST = 128


def check(found: List[Container], address: int) -> None:
    """Check that each container holds an address within the one before."""
    assert found
    for one in found:
        assert one.start <= address < one.end, (one, hex(address))
        assert one.element_size * one.element_count in (0, one.size), one
        assert one.kind in (ARRAY, STRUCT, UNION, UNKNOWN) or one is found[-1], one
    for outer, inner in zip(found, found[1:]):
        assert outer.start <= inner.start and inner.end <= outer.end, (outer, inner)
        assert inner.path.startswith(outer.path)
        if outer.kind == ARRAY:
            index = (inner.start - outer.start) // outer.element_size
            assert (inner.path, inner.size) == ("%s[%d]" % (outer.path, index), outer.element_size)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "-".join(path.relative_to(FOLDER).with_suffix("").parts))
def test_every_address_of_a_variable_is_in_nested_containers(path: Path) -> None:
    variables, chance = load_variables([str(path)]), random.Random(str(path.name))
    assert variables.symbols
    for symbol in variables.symbols:
        inside = range(symbol.start, symbol.start + symbol.size)
        for address in inside if symbol.size <= MOST else [*chance.sample(inside, MOST), inside[0], inside[-1]]:
            found = list(variables.containers(address))
            check(found, address)
            assert variables.path_at(address) == found[-1]
        assert (found[0].start, found[0].size) == (symbol.start, symbol.size)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name in ("field", "recovery")], ids=lambda path: str(path.stem)
)
def test_addresses_and_types_are_gdbs(path: Path, tmp_path: Path) -> None:
    variables, chance = load_variables([str(path)]), random.Random(str(path.name))
    asked: Dict[str, Container] = {}
    for symbol in variables.symbols:
        for _ in range(6):
            found = variables.containers(symbol.start + chance.randrange(symbol.size))
            asked.update((one.path, one) for one in found if one.kind != UNKNOWN)
    compared: Set[str] = set()
    for (name, one), said in zip(asked.items(), ask_gdb(str(path), list(asked), tmp_path)):
        # A bit field has no address, and a variable with another's name is not found.
        if said is None or said.address is None:
            continue
        outermost = variables.containers(one.start)[0]
        if not outermost.start <= said.address < outermost.end:
            continue
        assert (one.start, one.size) == (said.address, said.size), name
        assert one.type_name == said.type_name or one.kind == ARRAY, name
        compared.add(outermost.path)
    # GDB does not know where variables are after optimisation of the whole program.
    assert len(compared) > 0.6 * len(variables.symbols) or path.stem.endswith("flto"), compared
