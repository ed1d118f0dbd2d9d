"""Differential run against QEMU: whole programs, instruction by instruction."""

from __future__ import annotations

from typing import Iterator, List

import pytest

from tests.board.witness import DHCSR, HALT, RUN, STEP, Recorder, board
from tests.firmware.build import PROGRAMS, elf, symbol
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.qemu import executed

LIMIT = 1_000_000
CORES = ("m33", "m7", "m4")


def program(name: str, core: str) -> str:
    """Return the ELF file of a program for a board."""
    return elf_m4(name) if core == "m4" else elf(name)


def path(name: str, slices: Iterator[int], core: str = "m33") -> Recorder:
    """Return the board's path up to a program's last BKPT."""
    recorder = Recorder()
    machine = board(program(name, core), recorder, name=core)
    machine.write(DHCSR, 4, RUN)
    while not machine.core.halted and len(recorder.addresses) < LIMIT:
        machine.run(next(slices))
    assert recorder.events[-1] == ("halt", 0, symbol(program(name, core), "finished"))
    return recorder


def always(length: int) -> Iterator[int]:
    while True:
        yield length


def varied() -> Iterator[int]:
    length = 1
    while True:
        length = length * 7 % 61 + 1
        yield length


# In "ticks" SysTick comes at another instruction in QEMU; of "faults" QEMU lists the loads that fault as well.
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("ticks", "faults")])
@pytest.mark.parametrize("core", CORES)
def test_path_is_qemus(name: str, core: str) -> None:
    end = symbol(program(name, core), "finished")
    assert path(name, always(5000), core).addresses + [end] == executed(program(name, core), end)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("core", CORES)
def test_path_does_not_depend_on_the_slices(name: str, core: str) -> None:
    assert path(name, varied(), core).stream == path(name, always(100_000), core).stream


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_single_steps_take_the_same_path(name: str) -> None:
    recorder = Recorder()
    machine = board(elf(name), recorder)
    machine.write(DHCSR, 4, HALT)
    end = symbol(elf(name), "finished")
    while machine.core.engine.pc != end and len(recorder.addresses) < LIMIT:
        machine.write(DHCSR, 4, STEP)
        machine.run(1)
        assert machine.core.halted
    # Between two halts there is one instruction, or one exception entry, or a fault in place of an instruction.
    at_most_one = [len([each for each in part if isinstance(each, int)]) for part in parts(recorder.stream)]
    assert max(at_most_one) == 1
    debug = ("halt", "resume")
    without_halts = [each for each in recorder.stream if not (isinstance(each, tuple) and each[0] in debug)]
    assert without_halts == path(name, always(100_000)).stream[:-1]


def parts(stream: List[object]) -> List[List[object]]:
    """Return what lies between halts."""
    found: List[List[object]] = [[]]
    for each in stream:
        if isinstance(each, tuple) and each[0] == "halt":
            found.append([])
        else:
            found[-1].append(each)
    return found
