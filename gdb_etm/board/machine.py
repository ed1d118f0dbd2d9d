"""A board with a Cortex-M as one object: devices, core, and who hears what it does."""

from __future__ import annotations

from typing import Collection, Optional, Protocol, Sequence

from gdb_etm.board import exceptions as exc
from gdb_etm.board.accesses import Accesses, BusAccess
from gdb_etm.board.cortex_m import CortexMCore
from gdb_etm.board.dwt import Dwt
from gdb_etm.board.fpb import Fpb
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.scs import SystemControlSpace
from gdb_etm.board.system import AnyCore, AnyEngine, System
from gdb_etm.board.systick import SysTick
from gdb_etm.board.uart import Uart
from gdb_etm.board.variants import VARIANTS

_UART_IRQ = exc.IRQ0
_TRCENA = 1 << 24


class CortexMListener(Protocol):
    """What a trace unit hears from the core, in execution order.

    The machine's lock is held during each call.
    """

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Take completed instructions in order, those of an IT block whose condition failed included.

        :param accesses: What they loaded and stored, by index in ``addresses``, while the engine watches that.
        :param failed: Indices in ``addresses`` of those whose condition failed, while the engine watches that.
        """

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess]) -> None:
        """Take an exception entry.

        :param number: The architectural exception number (IPSR).
        :param return_address: The preferred return address; 0xFFFFFFFE when nothing ran since the exception return
            before it.
        :param pushed: What it stored on the stack.
        """

    def exception_return(self, popped: Sequence[BusAccess]) -> None:
        """Take an exception return; the instruction that loaded EXC_RETURN was the last one executed.

        :param popped: What it loaded from the stack.
        """

    def lockup(self, address: int) -> None:
        """Take an entry to lockup; `address` is as for an exception's return address."""

    def debug_entry(self, pc: int) -> None:
        """Take a halt: `pc` is the next instruction to execute."""

    def debug_exit(self, pc: int) -> None:
        """Take the end of a halt: `pc` is the next instruction to execute."""


class Machine(System):
    """A simulated board with a Cortex-M, without its trace components.

    :param options: What the user chose.
    :raises OSError: the program cannot be read or the truth file cannot be written.
    :raises ValueError: the program is not one for this board.
    """

    def __init__(self, options: BoardOptions) -> None:
        super().__init__(options)
        self.trace: Optional[CortexMListener] = None
        self._traces_data = False
        self.core = CortexMCore(VARIANTS[options.board].core, self.bus, self.clock, self)
        self._add_devices()
        self.watch_accesses(False)
        self.watch_conditions(False)
        self.core.engine.registers.wanted = options.truth_registers
        self._load()

    @property
    def any_core(self) -> AnyCore:
        """The core."""
        return self.core

    @property
    def any_engine(self) -> AnyEngine:
        """What runs its instructions."""
        return self.core.engine

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
        self.dwt = Dwt(self.clock, self._trace_enabled, model.dwt, model.dwt_comparators, model.dwt_kind)
        self.dwt.changed = self._watch_data
        fpb = Fpb(self.core.set_breakpoints, model.fpb, model.fpb_version, model.fpb_comparators)
        for device in (scs, self.dwt, fpb, uart):
            self.add_device(device)

    def _trace_enabled(self) -> bool:
        return bool(self.core.demcr & _TRCENA)

    # The core's witness: the truth file and the trace unit.

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Pass on completed instructions."""
        self._truth.executed(addresses, accesses, failed, self.core.engine.registers.take())
        if self.trace is not None:
            self.trace.executed(addresses, accesses, failed)

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess]) -> None:
        """Pass on an exception entry."""
        self._truth.exception(number, return_address, pushed, self.core.engine.registers.now())
        if self.trace is not None:
            self.trace.exception(number, return_address, pushed)

    def exception_return(self, popped: Sequence[BusAccess]) -> None:
        """Pass on an exception return."""
        self._truth.exception_return(popped, self.core.engine.registers.now())
        if self.trace is not None:
            self.trace.exception_return(popped)

    def watch_accesses(self, on: bool) -> None:
        """Let the engine tell loads and stores, or no longer; those for the truth file it always tells."""
        self._traces_data = on
        self._watch_data()

    def _watch_data(self) -> None:
        self.core.watchpoints = self.dwt.halts if self.dwt.watches else None
        wanted = self._traces_data or self.options.truth_data or self.core.watchpoints is not None
        wanted = wanted or self.dwt.tells_data
        self.core.engine.watch.wanted = wanted

    def watch_conditions(self, on: bool) -> None:
        """Let the engine tell which conditions fail, or no longer."""
        self.core.engine.conditions.wanted = on or self.options.truth_registers

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
        self._truth.resume(pc, self.core.engine.registers.now())
        if self.trace is not None:
            self.trace.debug_exit(pc)
