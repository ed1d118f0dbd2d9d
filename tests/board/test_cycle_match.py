"""Vectors worked by hand: CYCCNT halts the core.

DDI 0403E, C1.8.1 (Armv7-M: CYCMATCH, FUNCTION 0b0100) and DDI 0553, DWT_FUNCTIONn (Armv8-M: MATCH 1, ACTION 1).
"""

from __future__ import annotations

import pytest

from tests.board.assembly import program
from tests.board.witness import DEMCR, DFSR, DHCSR, HALT, RUN

CTRL, CYCCNT, COMP0, FUNCTION0, COMP1, FUNCTION1 = (0xE0001000 + each for each in (0, 4, 0x20, 0x28, 0x30, 0x38))
TRCENA, DWTTRAP, MATCHED = 1 << 24, 1 << 2, 1 << 24
# Nothing but an IT block of three runs as a whole: a match in it halts after it.
LOOP = """
start:
    adds r0, #1
    cmp r0, r0
    itt eq
    addeq r1, #1
    addeq r2, #1
    b start
"""


@pytest.mark.parametrize("core, function", [("m33", 0x811), ("m7", 0x84)])
@pytest.mark.parametrize("cycles, length", [(1, 1), (2, 2), (6, 6), (3, 5), (601, 601)])
def test_the_core_halts_at_the_cycle(core: str, function: int, cycles: int, length: int) -> None:
    run = program(LOOP, core)
    machine = run.machine
    machine.write(DHCSR, 4, HALT)
    machine.write(DEMCR, 4, TRCENA)
    machine.write(CTRL, 4, 1)
    machine.write(CYCCNT, 4, 0xFFFFFFFF)
    machine.write(COMP0, 4, cycles - 1)
    machine.write(FUNCTION0, 4, function)
    machine.write(DHCSR, 4, RUN)
    machine.run(5000)
    assert machine.core.halted and machine.read(DFSR, 4) & DWTTRAP
    assert len(run.recorder.addresses) == length
    assert machine.read(CYCCNT, 4) == length - 1
    assert machine.read(FUNCTION0, 4) & MATCHED and not machine.read(FUNCTION0, 4) & MATCHED
    # It is the same value again after 2**32 cycles alone.
    machine.write(DHCSR, 4, RUN)
    machine.run(5000)
    assert not machine.core.halted


@pytest.mark.parametrize("core, function", [("m33", 0x811), ("m7", 0x84)])
@pytest.mark.parametrize("what", ["off", "second", "stopped", "no trace"])
def test_what_does_not_halt(core: str, function: int, what: str) -> None:
    machine = program(LOOP, core).machine
    machine.write(DHCSR, 4, HALT)
    machine.write(DEMCR, 4, TRCENA)
    machine.write(CTRL, 4, what != "stopped")
    comparator, control = (COMP1, FUNCTION1) if what == "second" else (COMP0, FUNCTION0)
    machine.write(comparator, 4, 100)
    machine.write(control, 4, 0 if what == "off" else function)
    machine.write(DEMCR, 4, 0 if what == "no trace" else TRCENA)
    machine.write(DHCSR, 4, RUN)
    machine.run(5000)
    assert not machine.core.halted


def test_which_comparator_says_that_it_can() -> None:
    machine = program(LOOP, "m33").machine
    assert [machine.read(each, 4) >> 27 for each in (FUNCTION0, FUNCTION1)] == [0b01011, 0b01010]


def test_small_cores_have_no_cycle_counter() -> None:
    # DDI 0419, C1.8.3: Armv6-M has NUMCOMP alone.  DDI 0553, DWT_CTRL.NOCYCCNT: Armv8-M Baseline says that it has none.
    for core, control, functions in (("m0", 0x20000000, [0, 0]), ("m23", 0x2F000000, [0x50000000] * 2)):
        machine = program("start: b start", core).machine
        machine.write(DEMCR, 4, TRCENA)
        machine.write(CTRL, 4, 1)
        machine.write(CYCCNT, 4, 5)
        assert (machine.read(CTRL, 4), machine.read(CYCCNT, 4)) == (control, 0)
        assert [machine.read(each, 4) for each in (FUNCTION0, FUNCTION1)] == functions
