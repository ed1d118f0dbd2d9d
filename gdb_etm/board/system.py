"""What every board has: memory, devices, a core in a thread of its own, turns for the debugger, and the truth file."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import ContextManager, Optional, Protocol

from gdb_etm.board.bus import Bus, BusDevice
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.path import WrongPath
from gdb_etm.board.registers import CORTEX_M, RegisterSet
from gdb_etm.board.truth import Truth
from gdb_etm.program.elf import open_elf

# How long the debugger may have to wait for the bus: some milliseconds.
_SLICE = 5000
_NAP = 50e-6
# How many accesses in a row a busy debugger gets before the core, if it has anything to do, gets a slice.
_TURNS = 64
_PATIENCE = 0.1


class AnyCore(Protocol):
    """A core of any kind."""

    locked_up: bool

    def reset(self) -> None:
        """Reset the core and what belongs to the system reset."""

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until only the debugger can make anything happen."""

    def is_idle(self) -> bool:
        """Tell whether only the debugger can make anything happen."""


class AnyEngine(Protocol):
    """What runs a core's instructions."""

    def map_device(self, base: int, size: int) -> None:
        """Lead the core's accesses to a range of addresses to the bus."""

    def code_changed(self) -> None:
        """Forget translated code before the next run: the debugger has written memory."""


class System(ABC):
    """A simulated board without its trace components.

    Subclasses put the core in, call :meth:`_load`, and are told by it what it does.

    :param options: What the user chose.
    :raises ImageError: the program cannot be read.
    :raises OSError: the truth file cannot be written.
    :raises ValueError: the program is not one for this board.
    """

    # The core's registers, as far as the truth file tells them.
    registers: RegisterSet = CORTEX_M

    def __init__(self, options: BoardOptions) -> None:
        self.options = options
        self.bus = Bus()
        self.failure: Optional[WrongPath] = None
        self._truth = Truth(options.truth, options.truth_data, self.registers)
        self._lock = threading.RLock()
        self._waiting = 0
        self._turns = 0
        self._ran = threading.Event()
        self._work = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="board " + options.board, daemon=True)
        self.clock = InstructionClock()

    @property
    @abstractmethod
    def any_core(self) -> AnyCore:
        """The core."""

    @property
    @abstractmethod
    def any_engine(self) -> AnyEngine:
        """What runs its instructions."""

    def _load(self) -> None:
        """Put the program into memory."""
        if self.options.elf is not None:
            load_elf(self.bus, self.options.elf)

    def add_device(self, device: BusDevice) -> None:
        """Put a device on the bus; before :meth:`start`."""
        self.bus.add_device(device)
        self.any_engine.map_device(device.base, device.size)

    # The debugger's side.

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes as the debugger does through the AHB-AP.

        :raises BusFault: nothing is at the address.
        """
        with self.turn():
            return self.bus.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes as the debugger does through the AHB-AP; flash too, so that loading is simple.

        :raises BusFault: nothing is at the address.
        """
        with self.turn():
            self.bus.write(address, size, value)
            if self.bus.memory(address, size) is not None:
                self.any_engine.code_changed()
        self.wake()

    def read_block(self, address: int, length: int) -> bytes:
        """Read bytes of flash or RAM at once, or of device registers byte by byte.

        :raises BusFault: part of the range is not there.
        """
        with self.turn():
            place = self.bus.memory(address, length)
            if place is not None:
                memory, offset = place
                return bytes(memory[offset : offset + length])
            return bytes(self.bus.read(address + index, 1) for index in range(length))

    def turn(self) -> ContextManager[None]:
        """Return a context in which the core waits for the debugger."""
        return _Turn(self)

    def wake(self) -> None:
        """Let the core's thread look whether there is something to do."""
        self._work.set()

    def _is_waiting_to_run(self) -> bool:
        """Tell whether the core's thread has something to do; it may be the one that asks, for the trace unit."""
        here = self._thread is threading.current_thread()
        return self._thread.is_alive() and not here and not self.any_core.is_idle()

    # The core's side.

    def start(self) -> None:
        """Switch the power on: reset the core, and let it run in a thread of its own."""
        with self._lock:
            self.any_core.reset()
        self._thread.start()

    def close(self) -> None:
        """Switch the power off, and wait for the thread."""
        self._closing = True
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()
        self._truth.close()

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until the core halts, sleeps or locks up."""
        with self._lock:
            self.any_core.run(limit)

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
                    self.any_core.run(_SLICE)
                except WrongPath as failure:
                    # There is no truth any more. The debugger sees a core in lockup, and the tests see why.
                    self.failure = failure
                    self.any_core.locked_up = True
                idle = self.any_core.is_idle()
                if idle:
                    self._truth.flush()
                self._ran.set()
            if idle:
                self._work.wait()


class _Turn(ContextManager[None]):
    """The board's lock for the debugger, with a word to the core to let it have it."""

    def __init__(self, system: System) -> None:
        self.__system = system

    def __enter__(self) -> None:
        system = self.__system
        if system._turns >= _TURNS and system._is_waiting_to_run():
            system._ran.clear()
            system._ran.wait(_PATIENCE)
        system._waiting += 1
        system._lock.acquire()
        system._waiting -= 1
        system._turns += 1

    def __exit__(self, *_error: object) -> None:
        self.__system._lock.release()


def load_elf(bus: Bus, path: str) -> None:
    """Copy the loadable segments of an ELF file to their physical addresses, as if programmed before power-up.

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
        place = bus.memory(address, len(data))
        if place is None:
            raise ValueError("%s: nothing at 0x%08x to load a segment of %d bytes into" % (path, address, len(data)))
        memory, offset = place
        memory[offset : offset + len(data)] = data
