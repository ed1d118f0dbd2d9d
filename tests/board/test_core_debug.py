"""Vectors worked by hand: debugging by System Control Space and FPB.

From the Armv8-M manual.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable, List

import pytest

from gdb_etm.board.bus import BusFault
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from gdb_etm.errors import ImageError
from tests.board.assembly import Program, program
from tests.board.witness import DEMCR, DFSR, DHCSR, HALT, MASKED, RUN, STEP, Recorder, board, register, set_register
from tests.firmware.build import elf, symbol

FP_CTRL = 0xE0002000
FP_COMP0 = 0xE0002008
AIRCR = 0xE000ED0C
PC, XPSR, CFBP = 15, 16, 20
S_REGRDY, S_HALT, S_SLEEP, S_LOCKUP, S_RETIRE_ST, S_RESET_ST = (1 << bit for bit in (16, 17, 18, 19, 24, 25))

COUNTING = """
start:
    movs r0, #0
loop:
    adds r0, #1
    adds r1, #2
    b loop
"""


def halted(source: str = COUNTING) -> Program:
    run = program(source)
    run.machine.write(DHCSR, 4, HALT)
    return run


def test_halt_and_resume_while_running() -> None:
    run = program(COUNTING)
    run.machine.run(1000)
    assert not run.machine.read(DHCSR, 4) & S_HALT
    run.machine.write(DHCSR, 4, HALT)
    assert run.machine.read(DHCSR, 4) & (S_HALT | S_REGRDY | 3) == S_HALT | S_REGRDY | 3
    assert run.machine.read(DFSR, 4) == 1
    pc = register(run.machine, PC)
    count = len(run.recorder.addresses)
    run.machine.run(1000)
    assert len(run.recorder.addresses) == count
    run.machine.write(DHCSR, 4, RUN)
    run.machine.run(1000)
    assert run.recorder.events[1:] == [("halt", 0, pc), ("resume", 0, pc)]
    assert run.recorder.addresses[count] == pc


def test_sticky_bits_of_dhcsr() -> None:
    machine = program(COUNTING).machine
    assert machine.read(DHCSR, 4) & (S_RETIRE_ST | S_RESET_ST) == S_RESET_ST
    machine.run(10)
    assert machine.read(DHCSR, 4) & (S_RETIRE_ST | S_RESET_ST) == S_RETIRE_ST
    assert machine.read(DHCSR, 4) & (S_RETIRE_ST | S_RESET_ST) == 0


def test_writes_without_the_key_do_nothing() -> None:
    machine = program(COUNTING).machine
    machine.write(DHCSR, 4, 3)
    assert not machine.core.halted


def test_registers_can_be_read_and_written() -> None:
    machine = halted().machine
    for number in [*range(15), 17, 18, 64, 65, 95]:
        value = 0x20001000 + 8 * number
        set_register(machine, number, value)
        assert register(machine, number) == value
    set_register(machine, 64, 0x3F800000)
    assert register(machine, 65) == 0x20001000 + 8 * 65
    set_register(machine, XPSR, 0xF1000000)
    assert register(machine, XPSR) == 0xF1000000
    # FAULTMASK, BASEPRI (four bits of it), PRIMASK; CONTROL selects the process stack.
    set_register(machine, CFBP, 0x0201F701)
    assert register(machine, CFBP) == 0x0201F001
    set_register(machine, 13, 0x20000100)
    assert register(machine, 18) == 0x20000100
    set_register(machine, 33, 0xF0000000)
    assert register(machine, 33) == 0xF0000000
    for number in (30, 31):
        set_register(machine, number, 0x20000207)
        assert register(machine, number) == 0x20000200


def test_writing_pc_and_flags_takes_effect() -> None:
    run = halted(
        """
start:
    nop
back:
    b back
elsewhere:
    beq back
    bkpt
"""
    )
    set_register(run.machine, PC, run["elsewhere"])
    set_register(run.machine, XPSR, 0x01000000)
    run.machine.write(DHCSR, 4, RUN)
    run.machine.run(10)
    assert run.recorder.addresses == [run["elsewhere"]]
    assert register(run.machine, PC) == run["elsewhere"] + 2


def test_breakpoints_halt_before_the_instruction() -> None:
    run = halted(COUNTING)
    machine = run.machine
    assert machine.read(FP_CTRL, 4) == 0x10000080
    machine.write(FP_COMP0 + 12, 4, run["loop"] + 2 | 1)
    machine.write(DHCSR, 4, RUN)
    machine.run(100)
    assert not machine.core.halted
    machine.write(FP_CTRL, 4, 3)
    machine.run(100)
    assert machine.core.halted
    assert machine.read(DFSR, 4) & 2
    assert register(machine, PC) == run["loop"] + 2
    # It is met again until it is taken away.
    count = len(run.recorder.addresses)
    machine.write(DHCSR, 4, RUN)
    machine.run(100)
    assert machine.core.halted and len(run.recorder.addresses) == count
    machine.write(FP_COMP0 + 12, 4, 0)
    machine.write(DHCSR, 4, STEP)
    machine.run(100)
    machine.write(FP_COMP0 + 12, 4, run["loop"] + 2 | 1)
    machine.write(DHCSR, 4, RUN)
    machine.run(100)
    assert run.recorder.addresses[count:] == [run["loop"] + 2, run["loop"] + 4, run["loop"]]


def test_breakpoint_inside_an_it_block() -> None:
    run = halted(
        """
start:
    cmp r0, r0
    ittet eq
    addeq r1, #1
    addeq r1, #2
at: addne r1, #4
    addeq r1, #8
    bkpt
"""
    )
    machine = run.machine
    machine.write(FP_COMP0, 4, run["at"] | 1)
    machine.write(FP_CTRL, 4, 3)
    machine.write(DHCSR, 4, RUN)
    machine.run(100)
    assert register(machine, PC) == run["at"]
    # NE: the flags say that it will not pass, and the rest of the block is still conditional.
    # ITTET EQ is 0000 0101; two instructions on it is 0001 0100.
    assert register(machine, XPSR) & 0x0600FC00 == 0x14 >> 2 << 10
    machine.write(FP_COMP0, 4, 0)
    machine.write(DHCSR, 4, RUN)
    machine.run(100)
    assert register(machine, 1) == 1 + 2 + 8
    assert len(run.recorder.addresses) == 6


def test_breakpoints_do_nothing_without_halting_debug() -> None:
    run = program(COUNTING)
    run.machine.write(FP_COMP0, 4, run["loop"] | 1)
    run.machine.write(FP_CTRL, 4, 3)
    run.machine.write(DHCSR, 4, 0xA05F0000)
    run.machine.run(100)
    assert not run.machine.core.halted
    run.machine.write(DHCSR, 4, RUN)
    run.machine.run(100)
    assert run.machine.core.halted


def test_bkpt_without_halting_debug_is_a_hard_fault() -> None:
    run = program("start:\n nop\nat: bkpt\nhardfault:\n b hardfault")
    run.machine.write(DHCSR, 4, 0xA05F0000)
    run.machine.run(10)
    assert run.recorder.events[1:] == [("exception", 3, run["at"])]
    assert run.machine.read(0xE000ED2C, 4) == 0x80000000


@pytest.mark.parametrize("masked", [False, True])
def test_steps_and_pending_interrupts(masked: bool) -> None:
    run = halted(
        """
start:
    store ISER, 1
    store ISPR, 1
here:
    nop
    nop
    bkpt
irq0:
    bx lr
"""
    )
    machine = run.machine
    steps = STEP | (MASKED if masked else 0)
    machine.write(DHCSR, 4, HALT | (MASKED if masked else 0))
    for _ in range(7):
        machine.write(DHCSR, 4, steps)
        machine.run(1)
    if masked:
        assert register(machine, PC) == run["here"] + 2
        machine.write(DHCSR, 4, HALT)
        machine.write(DHCSR, 4, RUN)
        machine.run(100)
        assert ("exception", 16, run["here"] + 2) in run.recorder.events
    else:
        # The seventh step takes the interrupt, and nothing else.
        assert register(machine, PC) == run["irq0"]
        assert run.recorder.stream[-2:] == [("exception", 16, run["here"]), ("halt", 0, run["irq0"])]


def test_step_over_wfi_and_onto_bkpt() -> None:
    run = halted("start:\n wfi\n nop\nat: bkpt\n")
    for expected in (run["start"] + 2, run["at"], run["at"]):
        run.machine.write(DHCSR, 4, STEP)
        run.machine.run(10)
        assert register(run.machine, PC) == expected
    assert run.machine.read(DFSR, 4) & 2


def test_reset_with_and_without_catch() -> None:
    run = halted(COUNTING)
    machine = run.machine
    machine.write(DHCSR, 4, RUN)
    machine.run(100)
    machine.write(DEMCR, 4, 0x01000001)
    machine.write(AIRCR, 4, 0x05FA0004)
    assert machine.core.halted and machine.read(DFSR, 4) & 8
    assert register(machine, PC) == run["start"]
    assert machine.read(DHCSR, 4) & S_RESET_ST
    machine.write(DEMCR, 4, 0x01000000)
    machine.write(AIRCR, 4, 0x05FA0004)
    assert not machine.core.halted
    machine.run(10)
    assert run.recorder.addresses[-10] == run["start"]


def test_code_written_by_the_debugger_is_run() -> None:
    run = halted(COUNTING)
    run.machine.write(DHCSR, 4, RUN)
    run.machine.run(100)
    run.machine.write(run["loop"] + 2, 2, 0xBE00)
    run.machine.run(100)
    assert run.machine.core.halted
    assert register(run.machine, PC) == run["loop"] + 2


def test_identification() -> None:
    machine = halted().machine
    assert machine.read(0xE000ED00, 4) == 0x410FD214
    for base, architecture in ((0xE000E000, 0x47702A04), (0xE0001000, 0x47701A02), (0xE0002000, 0x47701A03)):
        assert machine.read(base + 0xFBC, 4) == architecture
        assert machine.read(base + 0xFE0, 4) | machine.read(base + 0xFE4, 4) << 8 & 0xF00 == 0xD21


def test_nothing_where_nothing_is() -> None:
    machine = halted().machine
    for address in (0x00100000, 0x1F000000, 0x20080000, 0x40005000, 0xE0000000):
        with pytest.raises(BusFault):
            machine.read(address, 4)
        with pytest.raises(BusFault):
            machine.write(address, 4, 0)


def test_cycle_counter_counts_instructions() -> None:
    run = program(
        """
start:
    store 0xE0001004, 0
    store 0xE0001000, 1
    ldr r0, =0xE0001004
    ldr r4, [r0]
    nop
    movs r1, #1
    cmp r1, #2
    it eq
    moveq r1, #3
    ldr r5, [r0]
    bkpt
"""
    )
    run.machine.write(DEMCR, 4, 0x01000000)
    run.machine.run(100)
    assert register(run.machine, 5) - register(run.machine, 4) == 6


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for the board's own thread to get somewhere."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_board_runs_in_its_own_thread(tmp_path: Path) -> None:
    truth = tmp_path / "truth.txt"
    machine = Machine(BoardOptions(elf=elf("sort"), truth=str(truth)))
    recorder = Recorder()
    machine.trace = recorder
    machine.write(DHCSR, 4, RUN)
    machine.start()
    wait_for(lambda: bool(machine.read(DHCSR, 4) & S_HALT))
    end = symbol(elf("sort"), "finished")
    assert register(machine, PC) == end
    assert machine.failure is None
    # The file is complete at the halt, while the board has power.
    lines = truth.read_text().splitlines()
    assert lines[0] == "exception 1 return 0xfffffffe"
    assert lines[-1] == "halt 0x%08x" % end
    assert lines[1:-1] == ["0x%08x" % address for address in recorder.addresses]
    machine.close()


def test_debugger_gets_in_while_the_core_runs() -> None:
    run = program(COUNTING)
    machine = run.machine
    source: List[int] = []
    again = Machine(BoardOptions())
    again.bus.flash[:] = machine.bus.flash
    again.start()
    for _ in range(20):
        again.write(DHCSR, 4, RUN)
        wait_for(lambda: bool(again.read(DHCSR, 4) & S_RETIRE_ST))
        again.write(DHCSR, 4, HALT)
        source.append(register(again, 0))
        assert again.read_block(0, 64) == machine.read_block(0, 64)
    again.close()
    assert source == sorted(set(source))


def test_blank_flash_locks_up_and_takes_a_program() -> None:
    recorder = Recorder()
    machine = board(None, recorder)
    machine.run(100)
    assert machine.read(DHCSR, 4) & S_LOCKUP
    machine.write(DHCSR, 4, HALT)
    assert not machine.read(DHCSR, 4) & S_LOCKUP
    image = program(COUNTING)
    for offset in range(0, 128, 4):
        machine.write(offset, 4, image.machine.read(offset, 4))
    machine.write(DEMCR, 4, 0x01000001)
    machine.write(AIRCR, 4, 0x05FA0004)
    assert register(machine, PC) == image["start"]
    machine.write(DHCSR, 4, RUN)
    machine.run(5)
    assert recorder.addresses[:2] == [image["start"], image["loop"]]


def test_program_that_does_not_fit(tmp_path: Path) -> None:
    text = tmp_path / "not-elf"
    text.write_text("no")
    with pytest.raises(ImageError, match="not-elf is not a readable ELF file"):
        Machine(BoardOptions(elf=str(text)))
    with pytest.raises(ImageError, match="cannot read .*missing: No such file"):
        Machine(BoardOptions(elf=str(tmp_path / "missing")))
