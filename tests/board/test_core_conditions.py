"""The board's truth: failed conditions against a debugger's single steps."""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.board.t32 import condition_passes
from tests.board.assembly import program
from tests.board.test_core_path import LIMIT, always, varied
from tests.board.witness import DHCSR, HALT, RUN, STEP, Recorder, board, register
from tests.firmware.build import elf, symbol

PROGRAMS = ("branches", "transfers", "interrupts", "sort")
_XPSR = 16


def failures(name: str, lengths: object, data: bool = False) -> Recorder:
    """Run a program to its end with conditions watched."""
    recorder = Recorder()
    machine = board(elf(name), recorder, name="m7")
    machine.watch_conditions(True)
    machine.watch_accesses(data)
    machine.write(DHCSR, 4, RUN)
    slices = always(5000) if lengths == "long" else varied()
    while not machine.core.halted and len(recorder.addresses) < LIMIT:
        machine.run(next(slices))
    return recorder


def judged(name: str) -> List[int]:
    """Step through a program; return the indices of failed conditions."""
    recorder = Recorder()
    machine = board(elf(name), recorder, name="m7")
    machine.write(DHCSR, 4, HALT)
    end = symbol(elf(name), "finished")
    found: List[int] = []
    while machine.core.engine.pc != end and len(recorder.addresses) < LIMIT:
        xpsr, before = register(machine, _XPSR), len(recorder.addresses)
        state = xpsr >> 25 & 3 | xpsr >> 8 & 0xFC
        machine.write(DHCSR, 4, STEP)
        machine.run(1)
        if state and not condition_passes(state >> 4, xpsr) and len(recorder.addresses) > before:
            found.append(before)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("data", [False, True], ids=["alone", "with data"])
def test_failed_conditions_are_those_that_the_flags_say(name: str, data: bool) -> None:
    found = failures(name, "long", data)
    assert found.failed == judged(name)
    assert failures(name, "short", data).failed == found.failed


def test_watching_does_not_change_what_runs() -> None:
    recorder = Recorder()
    machine = board(elf("branches"), recorder, name="m7")
    machine.write(DHCSR, 4, RUN)
    while not machine.core.halted:
        machine.run(5000)
    assert recorder.failed == []
    assert recorder.stream == failures("branches", "long").stream


def test_by_hand() -> None:
    code = program(
        """
start:
    movs r0, #0
    cmp r0, #0
    itete eq
    moveq r1, #1
first:
    movne r1, #2
    cmpeq r0, #1        // the flags change inside of the block
second:
    movne r2, #3
    beq stop
    it ne
    bne stop
third:
    nop
    bkpt
        """
    )
    code.machine.watch_conditions(True)
    code.machine.run(100)
    recorder = code.recorder
    # MOVNE r1; then CMPEQ makes it NE, so MOVNE r2 runs; of branches only those in IT blocks count, and BNE passes.
    assert [recorder.addresses[index] for index in recorder.failed] == [code["first"]]
