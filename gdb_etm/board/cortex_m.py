"""The Cortex-M core: instructions, exceptions and debug state.

Armv8-M, DDI 0553; Armv7-M, DDI 0403.

Simplifications, each of which the architecture allows:

- Interrupts are taken between instructions and never inside an IT block. So there is no late arrival and no ICI state.
- Faults on data are precise, but for stores that a write buffer took.
- Floating-point registers are stacked at exception entry: FPCCR.LSPEN reads as zero, there is no lazy stacking.
- WFE and YIELD do nothing.

And some that it does not: there is no DebugMonitor, VLDR and VLDM at an unaligned address do not fault, unprivileged
code reaches the System Control Space, MRS CONTROL shows a bit 3, and floating point sets FPCA whatever FPCCR.ASPEN is.
"""

from __future__ import annotations

from typing import Callable, Optional, Sequence

from gdb_etm.board import exceptions as exc
from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.bus import Bus
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.exception_model import NO_EXECUTION, CortexMExceptionModel
from gdb_etm.board.listeners import CortexMListener
from gdb_etm.board.models import CoreModel
from gdb_etm.board.path import WrongPath
from gdb_etm.board.status import (
    DFSR_BKPT,
    DFSR_DWTTRAP,
    DFSR_EXTERNAL,
    DFSR_HALTED,
    DFSR_VCATCH,
    VC_BUSERR,
    VC_CORERESET,
    VC_MMERR,
)
from gdb_etm.board.stops import RunEnd, RunResult
from gdb_etm.board.write_buffer import WriteBuffer


class CortexMCore(CortexMExceptionModel):
    """A Cortex-M.

    :param model: Which one.
    :param bus: What it reaches.
    :param clock: Virtual time, which it drives.
    :param listener: Who hears what it does.
    """

    def __init__(self, model: CoreModel, bus: Bus, clock: InstructionClock, listener: CortexMListener) -> None:
        super().__init__(model, bus, listener)
        self.clock = clock
        self.write_buffer = WriteBuffer(clock, self.exceptions, self.status, model.has_write_buffer_control)
        clock.elapsed = self.engine.elapsed
        self.reset_wanted = False
        self.retired = False
        self.was_reset = False
        self._wanted_breakpoints: Sequence[int] = ()
        self._breakpoints: Sequence[int] = ()
        # Tells whether the loads and stores of an instruction halt the core; None when none can.
        self.watchpoints: Optional[Callable[[Sequence[BusAccess]], bool]] = None
        self.on_reset: Sequence[Callable[[], None]] = ()
        # How many of a number of instructions may run before something outside may ask for a halt.
        self.pace: Callable[[int], int] = lambda limit: limit
        # Whether something outside asks for a halt (EDBGRQ).
        self.halt_wanted: Callable[[], bool] = lambda: False
        # Called when it falls asleep.
        self.on_sleep: Callable[[], None] = lambda: None

    def want_reset(self) -> None:
        """Reset after the next instruction."""
        self.reset_wanted = True

    # Debug state.

    def resume(self, step: bool) -> None:
        """Leave Debug state, for one instruction or for good.

        A new PC also ends lockup.
        """
        self.halted = False
        self.locked_up = self.locked_up and self.engine.pc == self.model.lockup_address
        self.stepping = step
        self._listener.debug_exit(self.engine.pc)

    def set_breakpoints(self, addresses: Sequence[int]) -> None:
        """Halt before the instructions at these addresses while halting debug is enabled."""
        self._wanted_breakpoints = addresses
        self.refresh_breakpoints()

    def refresh_breakpoints(self) -> None:
        """Heed that halting debug may have been enabled or disabled."""
        self._breakpoints = self._wanted_breakpoints if self.debug_enabled else ()
        self.engine.set_breakpoints(self._breakpoints)

    def reset(self) -> None:
        """Reset the core and what belongs to the system reset."""
        self.reset_wanted = False
        was_halted, self.halted = self.halted, False
        if not was_halted:
            self._listener.exception(exc.RESET, NO_EXECUTION, ())
        self.stepping = self.sleeping = self.locked_up = self.interrupts_masked = False
        self.was_reset = True
        for reset in self.on_reset:
            reset()
        self.exceptions.reset()
        self.status.reset()
        self.mpu.reset()
        self.engine.floating_point = False
        self.refresh_traps()
        sp, vector = (self._bus.read(self.status.vtor + offset, 4) for offset in (0, 4))
        self._frame.reset(sp, vector)
        if self.debug_enabled and self.demcr & VC_CORERESET:
            self.halted = was_halted
            self.halt(DFSR_VCATCH)
        elif was_halted:
            self._listener.debug_exit(self.engine.pc)

    # Running.

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until halt, sleep or lockup."""
        done = 0
        while done < limit and not (self.halted or self.locked_up):
            if not self._pass_time():
                return
            if self._take_pending():
                if self.stepping:
                    self.halt(DFSR_HALTED)
                continue
            if self.sleeping:
                done += 1
                if not self._wake():
                    return
                continue
            if self._breakpoints and self.engine.pc in self._breakpoints:
                self.halt(DFSR_BKPT)
                return
            done += self._run_some(limit - done)

    def _pass_time(self) -> bool:
        """Let happen what is due; tell whether the core still runs."""
        if self.debug_enabled and self.halt_wanted():
            self.halt(DFSR_EXTERNAL)
            return False
        self.clock.fire()
        return not self.halted

    def is_idle(self) -> bool:
        """Tell whether only the debugger can make anything happen."""
        return self.halted or self.locked_up or (self.sleeping and self.clock.next_due() is None)

    def _run_some(self, limit: int) -> int:
        """Run until the next event and react; return how many instructions ran."""
        due = self.clock.next_due()
        if self.stepping or self.watchpoints is not None:
            run = self.engine.step()
        else:
            run = self.engine.run(self.pace(limit if due is None else min(limit, due - self.clock.now())))
        if not run.executed and run.stop is RunEnd.LIMIT:
            raise WrongPath("nothing runs at 0x%08x" % self.engine.pc)
        self._ran(run)
        self._react(run)
        if self.reset_wanted:
            self.reset()
        elif self.stepping:
            self.halt(DFSR_HALTED)
        elif self.watchpoints is not None and self.debug_enabled and self.watchpoints(run.accesses.get(0, ())):
            self.halt(DFSR_DWTTRAP)
        return len(run.executed)

    def _ran(self, run: RunResult) -> None:
        """Pass on what is complete."""
        if run.executed:
            self.retired = True
            self.clock.advance(len(run.executed))
            self._listener.executed(run.executed, run.accesses, run.failed)

    def _wake(self) -> bool:
        """Look for the end of sleep, skipping time."""
        number = self.exceptions.next(self.interrupts_masked)
        if number is not None and self.exceptions.group_priority(number) < self._priority(ignore_primask=True):
            self.sleeping = False
            return True
        due = self.clock.next_due()
        if due is None:
            return False
        self.clock.advance(due - self.clock.now())
        return True

    # What ended a run.

    def _react(self, run: RunResult) -> None:
        """Do what the end of a run asks for."""
        stop = run.stop
        if stop is RunEnd.LIMIT:
            return
        if stop is RunEnd.WFI:
            # A halting step ends it at once, as any debug event does.
            self.sleeping = not self.stepping
            if self.sleeping:
                self.on_sleep()
        elif stop is RunEnd.BKPT:
            self._breakpoint_instruction()
        elif stop is RunEnd.SVC:
            self._fault(exc.SVCALL, self.engine.pc, 0)
        elif stop is RunEnd.EXC_RETURN:
            self._exc_return_loaded()
        elif stop is RunEnd.WRITE and self.write_buffer.takes(run.address):
            self._ran(self.engine.step_lost(run.address))
            self.write_buffer.failed()
        elif stop in (RunEnd.READ, RunEnd.WRITE):
            self.status.data_bus_fault(run.address)
            self._fault(exc.BUS_FAULT, self.engine.pc, VC_BUSERR)
        elif stop is RunEnd.PROTECTED:
            self.status.data_memory_fault(run.address)
            self._fault(exc.MEM_MANAGE, self.engine.pc, VC_MMERR)
        elif stop in (RunEnd.FETCH, RunEnd.FETCH_DEVICE):
            self._fetch_fault(stop is RunEnd.FETCH_DEVICE)
        else:
            self._usage_fault(stop)
