"""Differential run of a compiler; the programs' own checks hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from tests.board import witness
from tests.firmware.build import compiler, symbol
from tests.firmware.field.build import BUILDS, FOLDER, LEVELS, PROGRAMS, SOURCES, board_of, build, elf
from tests.firmware.test_firmware import loaded, version
from tests.recovery.inputs import Inputs


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_ends_well_after_more_than_two_long_windows(program: str) -> None:
    machine = Machine(BoardOptions(board_of(program), elf(program)))
    machine.add_device(Inputs())
    machine.core.reset()
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.halted and machine.clock.now() < 400_000:
        machine.run(5000)
    assert machine.core.halted
    assert 0 <= machine.core.engine.pc - symbol(elf(program), "finished") < 8
    assert machine.clock.now() > 120_000


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_built_file_is_what_the_source_says(program: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    build(program, out)
    if version(elf(program)) == version(out):
        assert loaded(out) == loaded(elf(program))


def test_no_built_file_names_where_it_was_built() -> None:
    for program in PROGRAMS:
        assert str(FOLDER.parent.parent).encode() not in Path(elf(program)).read_bytes()


def test_each_program_has_three_builds_and_each_way_to_build_three_programs() -> None:
    names = Counter(program.partition("-")[0] for program in PROGRAMS)
    assert set(names) == set(SOURCES)
    assert min(names.values()) >= 3
    assert {name for name in names if name + "-O2" in PROGRAMS} == set(names)
    levels = Counter(program.partition("-")[2] for program in PROGRAMS)
    boards = Counter(target.board for target in BUILDS.values())
    floats = Counter(target.floats for target in BUILDS.values())
    assert set(levels) == set(LEVELS)
    assert min(*levels.values(), *boards.values(), *floats.values()) >= 3
