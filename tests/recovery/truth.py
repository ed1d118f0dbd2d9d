"""Programs on the board with all registers, and windows of them."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from pathlib import Path
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.board.bus import RAM_BASE
from gdb_etm.board.cortex_a_machine import CortexAMachine
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.registers import CORTEX_A
from gdb_etm.capture import Core
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import load_elf
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.values import CoreState
from tests.board import witness
from tests.firmware.build import symbol
from tests.firmware.cortex_a import build as cortex_a
from tests.firmware.programs import deep_of, elf
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.inputs import Inputs

CORES = {"m33": "Cortex-M33", "m7": "Cortex-M7", "m4": "Cortex-M4", "m0": "Cortex-M0+", "a9": "Cortex-A9"}
_MOST = 1_000_000


class Files(NamedTuple):
    """Where a run is kept."""

    truth: Path
    # Registers at the halt, by name, as JSON.
    state: Path
    # At the halt.
    ram: Path
    # RAM some instructions before the halt; how many had run is ``begun`` in ``state``.
    before: Optional[Path] = None


def prepare(
    program: str,
    folder: Path,
    halt: Optional[int] = None,
    board: str = "m33",
    begin: Optional[int] = None,
    deep: bool = False,
    data: bool = False,
) -> Files:
    """Run a program and keep its truth, unless that is current.

    :param program: Its name, or its path (``tests.firmware.programs``).
    :param halt: After about how many instructions it is halted; None lets it run to its end.
    :param begin: After about how many instructions its RAM is saved, too.
    :param deep: Whether it is halted only where its function by ``tests.firmware.programs.deep_of`` begins next.
    :param data: Whether its stores are kept, too.
    """
    name = "%s-%s-%s" % (board, program.replace("/", "%"), "end" if halt is None else halt)
    name += ("-deep" if deep else "") + ("-data" if data else "")
    if begin is not None:
        name += "-%d" % begin
    files = Files(*(folder / (name + suffix) for suffix in (".truth", ".json", ".ram")))
    if begin is not None:
        files = files._replace(before=folder / (name + ".before"))
    newest = Path(elf(program)).stat().st_mtime
    if all(file is None or file.exists() and file.stat().st_mtime > newest for file in files):
        return files
    options = BoardOptions(board, elf(program), truth=str(files.truth), truth_data=data, truth_registers=True)
    machine = Machine(options)
    machine.add_device(Inputs())
    machine.core.reset()
    machine.write(witness.DHCSR, 4, witness.RUN)
    begun = 0
    if files.before is not None and begin is not None:
        begun = _run(machine, begin)
        files.before.write_bytes(machine.bus.ram)
    _run(machine, halt or _MOST)
    if deep:
        place = symbol(elf(program), deep_of(program) or "")
        machine.core.set_breakpoints([place])
        _run(machine, _MOST)
        assert machine.core.engine.pc == place, program + " does not get there"
    if not machine.core.halted:
        assert halt is not None, program + " does not end"
        machine.write(witness.DHCSR, 4, witness.HALT)
    files.ram.write_bytes(machine.bus.ram)
    files.state.write_text(json.dumps(dict(_registers(machine), begun=begun)))
    if halt is None:
        finished = symbol(elf(program), "finished")
        assert finished <= machine.core.engine.pc < finished + 8, program + " failed"
    machine.close()
    return files


def _run(machine: Machine, until: int) -> int:
    while not machine.core.halted and machine.clock.now() < until:
        machine.run(min(5000, until - machine.clock.now()))
    return machine.clock.now()


def prepare_a9(program: str, folder: Path, halt: int) -> Files:
    """Run a program for the Cortex-A9, of one instruction set alone.

    :param program: One of ``tests.firmware.cortex_a.build.PROGRAMS``.
    :param halt: After about how many instructions it is halted.
    """
    files = Files(*(folder / ("a9-%s-%d%s" % (program, halt, suffix)) for suffix in (".truth", ".json", ".ram")))
    options = BoardOptions("a9", cortex_a.elf(program), truth=str(files.truth), truth_registers=True)
    machine = CortexAMachine(options, "CORTEX_A9", 0xF8F00000)
    machine.core.reset()
    while not machine.core.is_idle() and machine.clock.now() < halt:
        machine.run(min(5000, halt - machine.clock.now()))
    engine = machine.core.engine
    registers = {name: engine.read(number) for name, number, _ in CORTEX_A.words}
    registers["pc"] = engine.pc & ~1
    machine.debug_entry(engine.pc)
    files.ram.write_bytes(machine.bus.ram)
    files.state.write_text(json.dumps(registers))
    machine.close()
    return files


def _registers(machine: Machine) -> Dict[str, int]:
    # What a debugger reads (DDI 0553, D1.2.34).
    numbers = {"r%d" % number: number for number in range(13)}
    numbers.update({"sp": 13, "lr": 14, "pc": 15, "xpsr": 16, "msp": 17, "psp": 18, "fpscr": 33})
    if machine.core.model.has_stack_limits:
        numbers.update({"msplim": 30, "psplim": 31})
    numbers.update({"s%d" % number: 64 + number for number in range(32)})
    found = {name: witness.register(machine, number) for name, number in numbers.items()}
    masks = witness.register(machine, 20)
    for shift, name in ((0, "primask"), (8, "basepri"), (16, "faultmask"), (24, "control")):
        found[name] = masks >> shift & 0xFF
    return found


class Stored(NamedTuple):
    """A store that took place."""

    # Of the instruction, or of the one before the exception that pushed it.
    index: int
    address: int
    # In bytes.
    size: int
    value: int


class Run:
    """A run that was prepared.

    :param files: Where it is kept.
    :param program: Which program it was.
    :param board: Which board.
    """

    def __init__(self, files: Files, program: str, board: str = "m33") -> None:
        self.program = program
        self.elf = cortex_a.elf(program) if board == "a9" else elf(program)
        self.isa = Isa.A32 if program.endswith("a32") else Isa.T32
        self.core = CORES[board]
        # Executed addresses, exceptions and returns, after the reset.
        self.items: List[Item] = []
        # Of each executed instruction, its index in ``items``.
        self.places: List[int] = []
        # Of each executed instruction, whether its condition failed.
        self.failed: List[bool] = []
        # In the order in which they took place, if they were kept.
        self.stores: List[Stored] = []
        self._changes: Dict[str, Tuple[List[int], List[int]]] = {}
        self.halted_at = 0
        self.registers: Dict[str, int] = json.loads(files.state.read_text())
        # Index of the instruction before which the RAM was saved.
        self.begun: int = self.registers.pop("begun", 0)
        self._ram = files.ram.read_bytes()
        self._before = files.before.read_bytes() if files.before is not None else b""
        with open(files.truth, encoding="ascii") as file:
            for line in file:
                self._take(line)

    def _take(self, line: str) -> None:
        if line.startswith("0x"):
            self.places.append(len(self.items))
            self.items.append(int(line[:10], 16))
            self.failed.append(line[11:17] == "failed")
            return
        kind, *words = line.split()
        if kind == "registers":
            for word in words:
                name, _, value = word.partition("=")
                at, values = self._changes.setdefault(name, ([], []))
                at.append(len(self.places))
                values.append(int(value, 16))
        elif kind == "store":
            self._store(Stored(len(self.places) - 1, int(words[0], 16), int(words[1]), int(words[2], 16)))
        elif kind == "exception" and self.places:
            self.items.append(Taken(int(words[0]), int(words[2], 16)))
        elif kind == "exception-return":
            self.items.append(Returned())
        elif kind == "halt":
            self.halted_at = int(words[0], 16)

    def _store(self, stored: Stored) -> None:
        # The success of a store-exclusive has the address of the store, and comes after it.
        if not self.stores or self.stores[-1][:3] != stored[:3]:
            self.stores.append(stored)

    def __len__(self) -> int:
        return len(self.places)

    def value(self, name: str, index: int) -> int:
        """Return a register before an instruction's index, or at the end.

        With an exception or a return before the instruction it is the value after that.
        """
        at, values = self._changes[name]
        return values[bisect_right(at, index) - 1]

    def column(self, name: str, first: int) -> array[int]:
        """Return a register before each instruction from an index on."""
        at, values = self._changes[name]
        found = array("I")
        where = bisect_right(at, first) - 1
        for place in range(where, len(at)):
            start = max(at[place], first)
            end = at[place + 1] if place + 1 < len(at) else len(self) + 1
            found.extend([values[place]] * (end - start))
        return found

    def changes(self, names: Sequence[str]) -> Dict[int, FrozenSet[str]]:
        """Return which registers an instruction changed."""
        found: Dict[int, Set[str]] = {}
        for name in names:
            for at in self._changes[name][0]:
                found.setdefault(at, set()).add(name)
        return {at: frozenset(changed) for at, changed in found.items()}

    def start(self, window: int) -> int:
        """Return a window's first index, not in an IT block."""
        first = max(0, len(self) - window)
        code = {image.address: image for image in load_elf(self.elf)} if self.isa is Isa.T32 else {}
        for back in range(1, min(4, first) + 1):
            address = self.items[self.places[first - back]]
            assert isinstance(address, int)
            for image in code.values():
                if image.address <= address < image.address + len(image.data):
                    low, high = image.data[address - image.address : address - image.address + 2]
                    mask = low & 15
                    if high == 0xBF and mask and 4 - (mask & -mask).bit_length() + 1 >= back:
                        return first - back
        return first

    def history(self, first: int) -> ExecutionHistory:
        """Return the history from an index on to the halt."""
        history = history_of(self.elf, self.items[self.places[first] :], self.halted_at, self.isa)
        history.source = history.source._replace(core=Core("cpu_0", self.core, {}))
        return history

    def end(self) -> CoreState:
        """Return the state at the halt."""
        return CoreState(self.registers, self.read)

    def begin(self) -> CoreState:
        """Return the state before the instruction at :attr:`begun`."""
        registers = {name: self.value(name, self.begun) for name in self._changes}
        registers["xpsr"] |= 1 << 24
        address = self.items[self.places[self.begun]]
        assert isinstance(address, int)
        return CoreState(dict(registers, pc=address), self.read_before)

    def read(self, address: int, size: int) -> Optional[bytes]:
        """Read RAM as it was at the halt."""
        return _part(self._ram, address, size)

    def read_before(self, address: int, size: int) -> Optional[bytes]:
        """Read RAM as it was before the instruction at :attr:`begun`."""
        return _part(self._before, address, size)


def _part(ram: bytes, address: int, size: int) -> Optional[bytes]:
    offset = address - RAM_BASE
    return ram[offset : offset + size] if 0 <= offset <= len(ram) - size else None
