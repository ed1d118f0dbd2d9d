"""Vectors worked by hand: what DMA0 copies, and when."""

from __future__ import annotations

import pytest

from tests.board.assembly import Program, program
from tests.board.witness import DHCSR, HALT, register

RAM, SRC, DST, COUNT, CTRL, STATUS = 0x20000100, 0x40020000, 0x40020004, 0x40020008, 0x4002000C, 0x40020010
START = """
start:
    store 0x40020000, 0x%x
    store 0x40020004, 0x%x
    store 0x40020008, %d
    store 0x4002000C, %d
at: ldr r1, =0x40020010
wait:
    ldr r2, [r1]
    cbnz r2, done
    b wait
done:
    bkpt
irq2:
    ldr r3, =0x40020010
    ldr r4, [r3]
    str r4, [r3]
    bx lr
"""


def run_dma(source: int, target: int, count: int, control: int) -> Program:
    """Run a program that copies and waits."""
    run = program(START % (source, target, count, control))
    run.machine.run(1000)
    return run


@pytest.mark.parametrize("count", [1, 16, 40])
def test_it_copies_bytes_while_the_core_goes_on(count: int) -> None:
    run = run_dma(0, RAM + 1, count, 1)
    assert run.machine.read_block(RAM + 1, count) == bytes(run.machine.bus.flash[:count])
    assert run.machine.read_block(RAM + 1 + count, 8) == bytes(8) and run.machine.read(RAM, 1) == 0
    assert [run.machine.read(one, 4) for one in (SRC, DST, COUNT, CTRL, STATUS)] == [count, RAM + 1 + count, 0, 0, 1]
    loops = run.recorder.addresses.count(run["wait"])
    # Each burst takes the time of sixteen instructions, three of which are one turn.
    assert abs(3 * loops - 16 * -(-count // 16)) <= 4


def test_one_address_may_stand_still() -> None:
    run = run_dma(0, RAM, 5, 1 | 4)
    assert run.machine.read_block(RAM, 5) == bytes(run.machine.bus.flash[:1]) * 5
    run = run_dma(0, RAM, 5, 1 | 8)
    assert run.machine.read(RAM, 1) == run.machine.bus.flash[4] and run.machine.read(RAM + 1, 1) == 0


def test_it_stops_where_nothing_is() -> None:
    run = run_dma(0, 0x2007FFF8, 40, 1)
    assert [run.machine.read(one, 4) for one in (DST, COUNT, STATUS)] == [0x20080000, 32, 2]
    assert run.machine.read_block(0x2007FFF8, 8) == bytes(run.machine.bus.flash[:8])


def test_it_interrupts_at_its_end() -> None:
    run = program((START % (0, RAM, 16, 3)).replace("at:", "store ISER, 4\nat:"))
    run.machine.run(200)
    run.machine.write(DHCSR, 4, HALT)
    assert [one[1] for one in run.recorder.events if one[0] == "exception"][1:] == [18]
    assert register(run.machine, 4) == 1 and run.machine.read(STATUS, 4) == 0


def test_it_can_be_stopped_and_nothing_is_changed_under_way() -> None:
    run = program(
        "start:\n store 0x40020000, 0\n store 0x40020004, 0x%x\n store 0x40020008, 64\n store 0x4002000c, 1\n"
        " store 0x40020004, 0x20000000\n store 0x4002000c, 0\n bkpt" % RAM
    )
    run.machine.run(200)
    assert [run.machine.read(one, 4) for one in (DST, COUNT, CTRL, STATUS)] == [RAM, 64, 0, 0]


def test_code_that_it_writes_is_run_as_it_is_then() -> None:
    run = program(
        """
start:
    ldr r5, =0x20000100
    ldr r0, =0x47702001        @ movs r0, #1; bx lr
    str r0, [r5]
    adds r6, r5, #1
    blx r6
    mov r8, r0
    ldr r0, =new
    ldr r1, =0x40020000
    str r0, [r1]
    str r5, [r1, #4]
    movs r0, #4
    str r0, [r1, #8]
    movs r0, #1
    str r0, [r1, #12]
wait:
    ldr r0, [r1, #16]
    cmp r0, #0
    beq wait
    blx r6
    bkpt
    .align 2
new:
    .word 0x47702002
"""
    )
    run.machine.run(300)
    assert (register(run.machine, 8), register(run.machine, 0)) == (1, 2)
