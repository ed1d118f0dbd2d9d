"""Differential run of a compiler; the programs' own checks hold."""

from __future__ import annotations

import pytest

from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from tests.board import witness
from tests.firmware.build import symbol
from tests.firmware.field.hosted.build import BUILDS, DEEP, PROGRAMS, elf, missing
from tests.recovery.inputs import Inputs


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_ends_well_after_more_than_two_long_windows(program: str) -> None:
    reason = missing(program)
    if reason is not None:
        pytest.skip(reason)
    path = elf(program)
    assert symbol(path, DEEP[program.partition("-")[0]])
    machine = Machine(BoardOptions(BUILDS[program].board, path))
    machine.add_device(Inputs())
    machine.core.reset()
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.halted and machine.clock.now() < 400_000:
        machine.run(5000)
    assert machine.core.halted
    assert 0 <= machine.core.engine.pc - symbol(path, "finished") < 8
    assert machine.clock.now() > 120_000
