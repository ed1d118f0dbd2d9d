"""Differential run: the truth's registers against single steps."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import pytest

from gdb_etm.board.cortex_a_machine import CortexAMachine
from gdb_etm.board.frame import CONTROL, FPSCR, LR, MSP, PSP, SP, D, R
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from tests.board import witness
from tests.firmware.build import elf
from tests.firmware.cortex_a import build as cortex_a
from tests.firmware.cortex_m4 import build as cortex_m4
from tests.firmware.recovery import build as recovery
from tests.recovery.inputs import Inputs

LIMIT = 1500
NAMES = {**{"r%d" % n: register for n, register in enumerate(R)}, "sp": SP, "lr": LR, "msp": MSP, "psp": PSP}
Registers = Dict[str, int]


def run(name: str, path: str, truth: Path) -> None:
    """Run a program to its end."""
    machine = Machine(BoardOptions(name, path, truth=str(truth), truth_registers=True))
    machine.core.reset()
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.halted and machine.clock.now() < LIMIT:
        machine.run(500)
    machine.close()


def read(truth: Path) -> List[Tuple[str, Registers]]:
    """Return the truth's lines, each with all registers after it."""
    found: List[Tuple[str, Registers]] = []
    now: Registers = {}
    for line in truth.read_text("ascii").splitlines():
        kind, _, rest = line.partition(" ")
        if kind != "registers":
            found.append((line.partition(" failed")[0], now))
            continue
        now = dict(now)
        now.update((item[0], int(item[2], 16)) for item in (word.partition("=") for word in rest.split()))
        found[-1:] = [(before, now) for before, _ in found[-1:]]
    return found


class Stepper(witness.Recorder):
    """Reads the registers after each instruction by itself, as a debugger does."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__()
        self.found: List[Tuple[str, Registers]] = []
        self.machine = witness.board(path, self, name=name)
        self.machine.core.watchpoints = lambda accesses: False
        self.machine.write(witness.DHCSR, 4, witness.RUN)
        while not self.machine.core.halted and self.machine.clock.now() < LIMIT:
            self.machine.run(500)

    def executed(self, addresses: Sequence[int], *more: object) -> None:
        (address,) = addresses
        self._note("0x%08x" % address)

    def exception(self, number: int, return_address: int, pushed: object = ()) -> None:
        self._note("exception %d return 0x%08x" % (number, return_address))

    def exception_return(self, popped: object = ()) -> None:
        self._note("exception-return")

    def _note(self, line: str) -> None:
        if not hasattr(self, "machine"):
            return  # the reset before the first instruction
        engine = self.machine.core.engine
        now = {name: engine.read(register) for name, register in NAMES.items()}
        now.update(xpsr=engine.xpsr & 0xF80F01FF, control=engine.read(CONTROL) & 7, fpscr=engine.read(FPSCR))
        for number, register in enumerate(D):
            now["s%d" % (2 * number)] = engine.read(register) & 0xFFFFFFFF
            now["s%d" % (2 * number + 1)] = engine.read(register) >> 32
        self.found.append((line, now))


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["sort", "interrupts", "tasks", "branches", "fpu", "ticks", "faults", "transfers"])
@pytest.mark.parametrize("name, built", [("m33", elf), ("m4", cortex_m4.elf), ("m7", elf)], ids=["m33", "m4", "m7"])
def test_registers_are_those_of_a_core_that_steps(name: str, built: object, program: str, tmp_path: Path) -> None:
    assert callable(built)
    run(name, built(program), tmp_path / "truth")
    told = [item for item in read(tmp_path / "truth")[1:] if not item[0].startswith("halt")]
    real = Stepper(name, built(program)).found
    assert abs(len(told) - len(real)) < 5
    for at, (ours, theirs) in enumerate(zip(told, real)):
        assert ours[0] == theirs[0], at
        assert {key: ours[1][key] for key in theirs[1]} == theirs[1], (at, ours[0])


def test_without_being_asked_for_nothing_is_told_and_nothing_watched(tmp_path: Path) -> None:
    machine = Machine(BoardOptions("m33", elf("fpu"), truth=str(tmp_path / "truth")))
    machine.core.reset()
    machine.run(100)
    machine.close()
    assert "registers" not in (tmp_path / "truth").read_text("ascii")
    assert machine.core.engine.registers.take() == []


class ArmStepper:
    """The same for a Cortex-A, in the smallest possible steps."""

    def __init__(self, path: str) -> None:
        self.found: List[Tuple[int, Registers]] = []
        self.executed_so_far = 0
        self.machine = CortexAMachine(BoardOptions("a9", path), "CORTEX_A9", 0xF8F00000)
        self.machine.trace = self
        self.machine.core.reset()
        while not self.machine.core.is_idle() and self.executed_so_far < LIMIT:
            self.machine.run(1)

    def executed(self, places: Sequence[int]) -> None:
        engine = self.machine.core.engine
        now = {name: engine.read(register) for name, register in NAMES.items() if name not in ("msp", "psp")}
        now.update(cpsr=engine.cpsr & 0xF80F03FF)
        self.executed_so_far += len(places)
        self.found.append((self.executed_so_far, now))

    def exception(self, number: int, reached: int, vector: int) -> None:
        return

    def exception_return(self) -> None:
        return

    def debug_entry(self, place: int) -> None:
        return

    def debug_exit(self, place: int) -> None:
        return


@pytest.mark.parametrize("program", ["sort-a32", "steps-t32", "modes", "tables-t32"])
def test_a_cortex_a9_too(program: str, tmp_path: Path) -> None:
    path, truth = cortex_a.elf(program), tmp_path / "truth"
    machine = CortexAMachine(BoardOptions("a9", path, truth=str(truth), truth_registers=True), "CORTEX_A9", 0xF8F00000)
    machine.core.reset()
    while not machine.core.is_idle() and machine.clock.now() < LIMIT:
        machine.run(500)
    machine.close()
    told = [registers for line, registers in read(truth) if line.startswith("0x")]
    real = ArmStepper(path).found
    assert len(real) > 100
    for count, registers in real:
        if count < len(told):
            assert {name: told[count - 1][name] for name in registers} == registers, count


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m4", "m7"])
def test_a_return_goes_on_with_the_floating_point_context(board: str, tmp_path: Path) -> None:
    program, truth = recovery.elf("floats-Os"), tmp_path / "truth"
    machine = Machine(BoardOptions(board, program, truth=str(truth), truth_registers=True))
    machine.add_device(Inputs())
    machine.core.reset()
    machine.run(40000)
    machine.close()
    before: Registers = {}
    returned = False
    count = 0
    for line, now in read(truth):
        if line.startswith("exception"):
            returned = line == "exception-return"
        elif returned and before.get("fpscr", 0) >> 28 != now.get("fpscr", 0) >> 28:
            # VCMP, VCMPE (Armv7-M ARM, A7.7.229).
            code = machine.read_block(int(line, 16), 4)
            first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
            assert first & 0xFFBE == 0xEEB4 and second & 0xE50 == 0xA40, line
            count += 1
        before = now
    assert count > 3
