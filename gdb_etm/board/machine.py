"""The whole board as one object: bus, devices, core and the thread that runs it."""

from __future__ import annotations

import threading
import time
from typing import Optional, Protocol, Sequence

from gdb_etm.board import exceptions as exc
from gdb_etm.board.accesses import Access, Accesses
from gdb_etm.board.bus import Bus, Device
from gdb_etm.board.clock import Clock
from gdb_etm.board.cortex_m import Core
from gdb_etm.board.dwt import Dwt
from gdb_etm.board.fpb import Fpb
from gdb_etm.board.loader import load_elf
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.path import WrongPath
from gdb_etm.board.scs import SystemControlSpace
from gdb_etm.board.systick import SysTick
from gdb_etm.board.truth import Truth
from gdb_etm.board.uart import Uart
from gdb_etm.board.variants import VARIANTS

_UART_IRQ = exc.IRQ0
_TRCENA = 1 << 24
# How long the debugger may have to wait for the bus: some milliseconds.
_SLICE = 5000
_NAP = 50e-6
# How many accesses in a row a busy debugger gets before the core, if it has anything to do, gets a slice.
_TURNS = 64
_PATIENCE = 0.1


class ExecutionListener(Protocol):
    """What a trace unit hears from the core, in execution order.

    The machine's lock is held during each call.
    """

    def executed(self, addresses: Sequence[int], accesses: Accesses) -> None:
        """Take completed instructions in order, those of an IT block whose condition failed included.

        :param accesses: What they loaded and stored, by index in ``addresses``, while the engine watches that.
        """

    def exception(self, number: int, return_address: int, pushed: Sequence[Access]) -> None:
        """Take an exception entry.

        :param number: The architectural exception number (IPSR).
        :param return_address: The preferred return address; 0xFFFFFFFE when nothing ran since the exception return
            before it.
        :param pushed: What it stored on the stack.
        """

    def exception_return(self, popped: Sequence[Access]) -> None:
        """Take an exception return; the instruction that loaded EXC_RETURN was the last one executed.

        :param popped: What it loaded from the stack.
        """

    def lockup(self, address: int) -> None:
        """Take an entry to lockup; `address` is as for an exception's return address."""

    def debug_entry(self, pc: int) -> None:
        """Take a halt: `pc` is the next instruction to execute."""

    def debug_exit(self, pc: int) -> None:
        """Take the end of a halt: `pc` is the next instruction to execute."""


class Machine:
    """The simulated board without its trace components.

    :param options: What the user chose.
    :raises OSError: the program cannot be read or the truth file cannot be written.
    :raises ValueError: the program is not one for this board.
    """

    def __init__(self, options: BoardOptions) -> None:
        self.options = options
        self.bus = Bus()
        self.trace: Optional[ExecutionListener] = None
        self.failure: Optional[WrongPath] = None
        self._truth = Truth(options.truth, options.truth_data)
        self._lock = threading.RLock()
        self._waiting = 0
        self._turns = 0
        self._ran = threading.Event()
        self._work = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="board " + options.board, daemon=True)
        self.clock = Clock()
        self.core = Core(VARIANTS[options.board].core, self.bus, self.clock, self)
        self._add_devices()
        self.watch_accesses(False)
        if options.elf is not None:
            load_elf(self.bus, options.elf)

    def _add_devices(self) -> None:
        """Put the core's own registers and the serial port on the bus."""
        pending = self.core.exceptions.pend
        systick = SysTick(self.clock, lambda: pending(exc.SYSTICK))
        uart = Uart(self.clock, lambda level: self.core.exceptions.set_line(_UART_IRQ, level))
        scs = SystemControlSpace(self.core, systick)
        self.clock.add(systick)
        self.clock.add(uart)
        self.core.on_reset = (systick.reset, uart.reset, scs.reset)
        model = self.core.model
        dwt = Dwt(self.clock, self._trace_enabled, model.dwt)
        for device in (scs, dwt, Fpb(self.core.set_breakpoints, model.fpb), uart):
            self.add_device(device)

    def _trace_enabled(self) -> bool:
        return bool(self.core.demcr & _TRCENA)

    def add_device(self, device: Device) -> None:
        """Put a device on the bus; before :meth:`start`."""
        self.bus.add_device(device)
        self.core.engine.map_device(device.base, device.size)

    # The debugger's side.

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes as the debugger does through the AHB-AP.

        :raises BusFault: nothing is at the address.
        """
        with self._turn():
            return self.bus.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes as the debugger does through the AHB-AP; flash too, so that loading is simple.

        :raises BusFault: nothing is at the address.
        """
        with self._turn():
            self.bus.write(address, size, value)
            if self.bus.memory(address, size) is not None:
                self.core.engine.code_changed()
        self._work.set()

    def read_block(self, address: int, length: int) -> bytes:
        """Read bytes of flash or RAM at once, or of device registers byte by byte.

        :raises BusFault: part of the range is not there.
        """
        with self._turn():
            place = self.bus.memory(address, length)
            if place is not None:
                memory, offset = place
                return bytes(memory[offset : offset + length])
            return bytes(self.bus.read(address + index, 1) for index in range(length))

    def _turn(self) -> _Turn:
        return _Turn(self)

    def _is_waiting_to_run(self) -> bool:
        """Tell whether the core's thread has something to do; it may be the one that asks, for the trace unit."""
        here = self._thread is threading.current_thread()
        return self._thread.is_alive() and not here and not self.core.is_idle()

    # The core's side.

    def start(self) -> None:
        """Switch the power on: reset the core, and let it run in a thread of its own."""
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

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until the core halts, sleeps or locks up."""
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

    # The core's witness: the truth file and the trace unit.

    def executed(self, addresses: Sequence[int], accesses: Accesses) -> None:
        """Pass on completed instructions."""
        self._truth.executed(addresses, accesses)
        if self.trace is not None:
            self.trace.executed(addresses, accesses)

    def exception(self, number: int, return_address: int, pushed: Sequence[Access]) -> None:
        """Pass on an exception entry."""
        self._truth.exception(number, return_address, pushed)
        if self.trace is not None:
            self.trace.exception(number, return_address, pushed)

    def exception_return(self, popped: Sequence[Access]) -> None:
        """Pass on an exception return."""
        self._truth.exception_return(popped)
        if self.trace is not None:
            self.trace.exception_return(popped)

    def watch_accesses(self, on: bool) -> None:
        """Let the engine tell loads and stores, or no longer; those for the truth file it always tells."""
        self.core.engine.watch.wanted = on or self.options.truth_data

    def lockup(self, address: int) -> None:
        """Pass on a lockup."""
        self._truth.lockup(address)
        if self.trace is not None:
            self.trace.lockup(address)

    def halt(self, pc: int) -> None:
        """Pass on a halt."""
        self._truth.halt(pc)
        if self.trace is not None:
            self.trace.debug_entry(pc)

    def resume(self, pc: int) -> None:
        """Pass on the end of a halt."""
        self._truth.resume(pc)
        if self.trace is not None:
            self.trace.debug_exit(pc)


class _Turn:
    """The machine's lock for the debugger, with a word to the core to let it have it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __enter__(self) -> None:
        machine = self._machine
        if machine._turns >= _TURNS and machine._is_waiting_to_run():
            machine._ran.clear()
            machine._ran.wait(_PATIENCE)
        machine._waiting += 1
        machine._lock.acquire()
        machine._waiting -= 1
        machine._turns += 1

    def __exit__(self, *_error: object) -> None:
        self._machine._lock.release()
