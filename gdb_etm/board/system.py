"""Base of the machines: memory, core thread, debugger's turns, truth file."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, ContextManager, Generic, List, Optional, Protocol, TypeVar

from gdb_etm.board.bus import Bus, BusDevice
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.listeners import CoreListener
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.path import WrongPath
from gdb_etm.board.registers import CORTEX_M, RegisterSet, RegisterWatch
from gdb_etm.board.truth import Truth
from gdb_etm.program.elf import open_elf

# How long the debugger may have to wait for the bus: some milliseconds.
_SLICE = 5000
_NAP = 50e-6
# How many accesses in a row a busy debugger gets before the core, if it has anything to do, gets a slice.
_TURNS = 64
_PATIENCE = 0.1


class AnyEngine(Protocol):
    """What runs a core's instructions."""

    @property
    def running(self) -> bool:
        """Whether it runs instructions of the program."""

    @property
    def registers(self) -> RegisterWatch:
        """The registers, as the truth file has them."""

    def map_device(self, base: int, size: int) -> None:
        """Lead the core's accesses to a range of addresses to the bus."""

    def code_changed(self) -> None:
        """Forget translated code before the next run: the debugger has written memory."""


class AnyCore(Protocol):
    """A core of any kind."""

    locked_up: bool

    @property
    def engine(self) -> AnyEngine:
        """What runs its instructions."""

    def reset(self) -> None:
        """Reset the core and what belongs to the system reset."""

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until only the debugger can act."""

    def is_idle(self) -> bool:
        """Tell whether only the debugger can make anything happen."""


C = TypeVar("C", bound=AnyCore)
L = TypeVar("L", bound=CoreListener)


class System(Generic[C, L]):
    """A simulated board without its trace components.

    Subclasses put the core in, call :meth:`_load`, and hear what it does.

    :param options: What the user chose.
    :raises ImageError: the program cannot be read.
    :raises OSError: the truth file cannot be written.
    :raises ValueError: the program is not one for this board.
    """

    # The core's registers, as far as they are in the truth file.
    registers: RegisterSet = CORTEX_M
    core: C

    def __init__(self, options: BoardOptions) -> None:
        self.options = options
        # The trace unit.
        self.trace: Optional[L] = None
        self.bus = Bus()
        self.failure: Optional[WrongPath] = None
        self._truth = Truth(options.truth, options.truth_data, self.registers)
        # Writes of the core to trace components, which wait until they have heard what ran before.
        self._due: List[Callable[[], None]] = []
        self._lock = threading.RLock()
        self._waiting = 0
        self._turns = 0
        self._ran = threading.Event()
        self._work = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="board " + options.board, daemon=True)
        self.clock = InstructionClock()

    def _load(self) -> None:
        """Put the program into memory."""
        if self.options.elf is not None:
            load_elf(self.bus, self.options.elf)

    def add_device(self, device: BusDevice) -> None:
        """Put a device on the bus; before :meth:`start`."""
        self.bus.add_device(device)
        self.core.engine.map_device(device.base, device.size)

    # The debugger's side.

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes through the AHB-AP.

        :raises BusFault: nothing is at the address.
        """
        with self.turn():
            return self.bus.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes through the AHB-AP.

        :raises BusFault: nothing is at the address.
        """
        with self.turn():
            self.bus.write(address, size, value)
            if self.bus.memory(address, size) is not None:
                self.core.engine.code_changed()
        self.wake()

    def read_block(self, address: int, length: int) -> bytes:
        """Read memory at once, or device registers byte by byte.

        :raises BusFault: part of the range is not there.
        """
        with self.turn():
            found = self.bus.memory(address, length)
            if found is not None:
                memory, offset = found
                return bytes(memory[offset : offset + length])
            return bytes(self.bus.read(address + index, 1) for index in range(length))

    def turn(self) -> ContextManager[None]:
        """Return a context in which the core waits for the debugger."""
        return _Turn(self)

    def postpones(self, write: Callable[[], None]) -> bool:
        """Take a component's write, after what the core has not told yet."""
        if self.core.engine.running:
            self._due.append(write)
        return self.core.engine.running

    def _catch_up(self) -> None:
        """Do the writes that were postponed."""
        due, self._due = self._due, []
        for write in due:
            write()

    def wake(self) -> None:
        """Let the core's thread look whether there is something to do."""
        self._work.set()

    @property
    def owes_step(self) -> bool:
        """Whether the debugger waits for a step.

        On silicon it has happened before the debugger's next access.
        """
        return False

    def _is_waiting_to_run(self) -> bool:
        """Tell whether the core's thread waits to run."""
        here = self._thread is threading.current_thread()
        return self._thread.is_alive() and not here and not self.core.is_idle()

    # The core's side.

    def start(self) -> None:
        """Switch the power on: reset the core, and start its thread."""
        with self._lock:
            self.core.reset()
        self._thread.start()

    def close(self) -> None:
        """Switch the power off, and wait for the thread."""
        self._closing = True
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()
        self._truth.close()

    def debug_entry(self, pc: int) -> None:
        """Pass on a halt."""
        self._truth.halt(pc & ~1)
        if self.trace is not None:
            self.trace.debug_entry(pc)

    def debug_exit(self, pc: int) -> None:
        """Pass on the end of a halt."""
        self._truth.resume(pc & ~1, self.core.engine.registers.now())
        if self.trace is not None:
            self.trace.debug_exit(pc)

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until halt, sleep or lockup."""
        with self._lock:
            self.core.run(limit)

    def _run(self) -> None:
        """Run the core in slices, and let the debugger in between them."""
        while True:
            if self._waiting and self._turns < _TURNS:
                time.sleep(_NAP)
            # Cleared before looking at what is asked for, or a request in between would be missed.
            self._work.clear()
            if self._closing:
                return
            with self._lock:
                self._turns = 0
                try:
                    self.core.run(_SLICE)
                except WrongPath as failure:
                    # There is no truth any more. The debugger sees a core in lockup, and the tests see why.
                    self.failure = failure
                    self.core.locked_up = True
                idle = self.core.is_idle()
                if idle:
                    self._truth.flush()
                self._ran.set()
            if idle:
                self._work.wait()


AnySystem = System[Any, Any]


class _Turn(ContextManager[None]):
    """The debugger's turn: the board's lock, requested from the core."""

    def __init__(self, system: AnySystem) -> None:
        self.__system = system

    def __enter__(self) -> None:
        system = self.__system
        if (system._turns >= _TURNS or system.owes_step) and system._is_waiting_to_run():
            system._ran.clear()
            system._ran.wait(_PATIENCE)
        system._waiting += 1
        system._lock.acquire()
        system._waiting -= 1
        system._turns += 1

    def __exit__(self, *_error: object) -> None:
        self.__system._lock.release()


def load_elf(bus: Bus, path: str) -> None:
    """Copy an ELF file's loadable segments to their physical addresses.

    :param bus: The memory.
    :param path: The file.
    :raises ImageError: it cannot be read.
    :raises ValueError: it is not for Arm, or does not fit into flash and RAM.
    """
    with open_elf(path) as elf:
        segments = [(each["p_paddr"], each.data()) for each in elf.iter_segments() if each["p_type"] == "PT_LOAD"]
        machine = elf["e_machine"]
    if machine != "EM_ARM":
        raise ValueError("%s: not a program for Arm" % path)
    for address, data in segments:
        found = bus.memory(address, len(data))
        if found is None:
            raise ValueError("%s: nothing at 0x%08x to load a segment of %d bytes into" % (path, address, len(data)))
        memory, offset = found
        memory[offset : offset + len(data)] = data
