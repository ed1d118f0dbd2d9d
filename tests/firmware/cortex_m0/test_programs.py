"""Differential run of a compiler; the programs' own checks hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from tests.board import witness
from tests.firmware.build import FOLDER, compiler, symbol
from tests.firmware.cortex_m0.build import FOR_M23, PROGRAMS, build, elf, elf_m23
from tests.firmware.test_firmware import loaded, version
from tests.recovery.inputs import Inputs


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_ends_well(program: str) -> None:
    machine = Machine(BoardOptions("m0", elf(program)))
    machine.add_device(Inputs())
    machine.core.reset()
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.halted and machine.clock.now() < 2_000_000:
        machine.run(50_000)
    assert machine.failure is None
    assert machine.core.halted
    assert 0 <= machine.core.engine.pc - symbol(elf(program), "finished") < 8


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_built_file_is_what_the_source_says(program: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    build(program, out)
    if version(elf(program)) == version(out):
        assert loaded(out) == loaded(elf(program))


@pytest.mark.parametrize("program", FOR_M23)
def test_built_file_for_a_cortex_m23_is_what_the_source_says(program: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    build(program, out, "cortex-m23")
    if version(elf_m23(program)) == version(out):
        assert loaded(out) == loaded(elf_m23(program))


def test_no_built_file_names_where_it_was_built() -> None:
    for path in [*map(elf, PROGRAMS), *map(elf_m23, FOR_M23)]:
        assert str(FOLDER.parent.parent).encode() not in Path(path).read_bytes()
