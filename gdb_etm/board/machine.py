"""A machine with a Cortex-M: core, devices, truth."""

from __future__ import annotations

from typing import Collection, Sequence

from gdb_etm.board import exceptions as exc
from gdb_etm.board.accesses import Accesses, BusAccess
from gdb_etm.board.chips import chip_of
from gdb_etm.board.cortex_m import CortexMCore
from gdb_etm.board.dma import Dma
from gdb_etm.board.dwt import Dwt
from gdb_etm.board.fpb import Fpb
from gdb_etm.board.listeners import CortexMListener
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.scs import SystemControlSpace
from gdb_etm.board.status import DFSR_DWTTRAP
from gdb_etm.board.system import System
from gdb_etm.board.systick import SysTick
from gdb_etm.board.uart import Uart

_UART_IRQ, _DMA_IRQ = exc.IRQ0, exc.IRQ0 + 2
_TRCENA = 1 << 24


class Machine(System[CortexMCore, CortexMListener]):
    """A simulated board with a Cortex-M, without its trace components.

    :param options: What the user chose.
    :raises OSError: the program cannot be read or the truth file cannot be written.
    :raises ValueError: the program is not one for this board.
    """

    def __init__(self, options: BoardOptions) -> None:
        super().__init__(options)
        self._traces_data = False
        self.core = CortexMCore(chip_of(options.board).base.core, self.bus, self.clock, self)
        self._add_devices()
        self.watch_accesses(False)
        self.watch_conditions(False)
        self.core.engine.registers.wanted = options.truth_registers
        self._load()

    def _add_devices(self) -> None:
        """Put the core's own registers and the devices on the bus."""
        pending = self.core.exceptions.pend
        systick = SysTick(self.clock, lambda: pending(exc.SYSTICK))
        uart = Uart(self.clock, lambda level: self.core.exceptions.set_line(_UART_IRQ, level))
        line, forget = self.core.exceptions.set_line, self.core.engine.code_changed
        dma = Dma(self.bus, self.clock, lambda level: line(_DMA_IRQ, level), forget)
        buffer = self.core.write_buffer
        buffer.is_there = self.options.write_buffer
        scs = SystemControlSpace(self.core, systick)
        self.core.on_reset = (systick.reset, uart.reset, dma.reset, buffer.reset, scs.reset)
        model = self.core.model
        has_cycles = not model.is_baseline
        self.dwt = Dwt(self.clock, self._trace_enabled, model.dwt, model.dwt_comparators, model.dwt_kind, has_cycles)
        self.dwt.changed = self._watch_data
        self.dwt.halt = self._halt_in_time
        for timer in (systick, uart, dma, buffer, self.dwt):
            self.clock.add(timer)
        fpb = Fpb(self.core.set_breakpoints, model.fpb, model.fpb_version, model.fpb_comparators)
        for device in (scs, self.dwt, fpb, uart, dma):
            self.add_device(device)

    @property
    def owes_step(self) -> bool:
        """Whether the core has still to make a step."""
        return self.core.stepping and not self.core.halted

    def _halt_in_time(self) -> None:
        if self.core.debug_enabled:
            self.core.halt(DFSR_DWTTRAP)

    def _trace_enabled(self) -> bool:
        return bool(self.core.demcr & _TRCENA)

    # What the core does goes to the truth file and the trace unit.

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Pass on completed instructions."""
        self._truth.executed(addresses, accesses, failed, self.core.engine.registers.take())
        if self.trace is not None:
            self.trace.executed(addresses, accesses, failed)
        self._catch_up()

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
        """Let the engine report loads and stores, or no longer.

        Those for the truth file it always reports.
        """
        self._traces_data = on
        self._watch_data()

    def _watch_data(self) -> None:
        self.core.watchpoints = self.dwt.halts if self.dwt.watches else None
        wanted = self._traces_data or self.options.truth_data or self.core.watchpoints is not None
        wanted = wanted or self.dwt.reports_data
        self.core.engine.watch.wanted = wanted

    def watch_conditions(self, on: bool) -> None:
        """Let the engine report which conditions fail, or no longer."""
        self.core.engine.conditions.wanted = on or self.options.truth_registers

    def lockup(self, address: int) -> None:
        """Pass on a lockup."""
        self._truth.lockup(address)
        if self.trace is not None:
            self.trace.lockup(address)
