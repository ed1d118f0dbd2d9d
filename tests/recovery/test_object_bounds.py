"""Worked by hand, and on Unicorn: objects to which no pointer leads."""

from __future__ import annotations

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.objects import Objects
from gdb_etm.program.ram import SRAM
from gdb_etm.recovery.memory.object_bounds import ObjectBounds
from gdb_etm.recovery.pointers.points_to import PointsTo
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.values import Tier
from tests.firmware.build import symbol
from tests.recovery.small import CODE, DEVICE, RAM, Ran, built, run, wrong

# Two variables of four bytes.
ONE, TWO = RAM + 0x40, RAM + 0x80
# What r0 was is in the first one still, if the store through a pointer from a device missed it.
SOURCE = (
    """
    bl worker
    b end
worker:
    %%s
    ldr r12, =0x%x
    str r0, [r12]
    ldr r1, [r3]
    str r2, [r1]
    movs r0, #0
    movs r1, #0
    ldr r2, [r3]
    mov r12, #0
    bx lr
after:
"""
    % ONE
)
PLAIN = SOURCE % "nop"


def ran(source: str) -> Ran:
    return run(source, {"r2": 7, "r3": DEVICE, "r0": 0x1234}, {DEVICE: TWO})


def recovered(done: Ran, source: str, limit: Tier = Tier.ASSUMED) -> Recovery:
    elf = built(source)
    worker, after = symbol(elf, "worker"), symbol(elf, "after")
    known = Objects([(ONE, ONE + 4), (TWO, TWO + 4)], [(CODE, worker), (worker, after)], [])
    return done.recovery(Rules(limit=limit, frames=load_frames([elf]), objects=known))


def test_a_pointer_from_elsewhere_does_not_lead_to_a_variable_whose_address_stays() -> None:
    done = ran(PLAIN)
    recovery = recovered(done, PLAIN)
    assert recovery.register(1, "r0")[:2] == (0x1234, Tier.ASSUMED)
    said = "stored at #4, still in RAM at the halt, in an object to which no pointer led"
    assert [step.text for step in recovery.why(1, "r0")] == [said]
    assert not wrong(done, recovery)


def test_it_is_assumed_and_known_of_objects_alone() -> None:
    done = ran(PLAIN)
    assert recovered(done, PLAIN, Tier.EXACT).register(1, "r0").value is None
    assert done.recovery().register(1, "r0").value is None


def test_a_variable_whose_address_is_stored_may_be_led_to() -> None:
    source = SOURCE % ("ldr r1, =0x%x\n str r1, [r3, #4]" % ONE)
    assert recovered(ran(source), source).register(1, "r0").value is None


def test_a_pointer_that_leads_there_after_all_is_believed() -> None:
    # The branch says what r0 was, and the store has overwritten it.
    source = SOURCE % "cmp r0, #5\n bne 1f\n nop\n1:"
    done = run(source, {"r0": 5, "r2": 7, "r3": DEVICE}, {DEVICE: ONE})
    recovery = recovered(done, source)
    assert recovery.register(5, "r0")[:2] == (5, Tier.EXACT)
    assert not wrong(done, recovery)


def test_what_an_exception_pushes_goes_where_stacks_are() -> None:
    # The instruction before it is a store that misses the object; the frame may be there, as others have its address.
    elf = built(SOURCE % ("ldr r1, =0x%x\n str r0, [r1]" % TWO))
    worker, after = symbol(elf, "worker"), symbol(elf, "after")
    known = Objects([(ONE, ONE + 4), (TWO, TWO + 4)], [(CODE, worker), (worker, after)], [])
    program = Program(load_elf(elf))
    points_to = PointsTo(program, known, load_frames([elf]), [SRAM])
    points_to.escaped.add(known.at(ONE))
    ssa = TraceSsa(Rules(), program)
    ssa.number = 1
    for _ in range(2):
        ssa.store(ssa.new(0), ssa.new(0), 4, ssa.one)
    ssa.stacked.add(1)
    bounds = ObjectBounds(ssa, points_to, 1, 1, lambda number: worker + 2)
    assert [bounds.misses(number, ONE) for number in range(2)] == [True, False]
    assert [bounds.misses(number, TWO) for number in range(2)] == [False, True]
