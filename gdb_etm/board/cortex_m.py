"""The core: instructions, exceptions and debug state put together (Armv8-M, DDI 0553; Armv7-M, DDI 0403).

Simplifications, each of which the architecture allows:

- Interrupts are taken between instructions and never inside an IT block. So there is no late arrival and no ICI state.
- Faults on data are precise.
- Floating-point registers are stacked at exception entry: FPCCR.LSPEN reads as zero, there is no lazy stacking.
- WFE and YIELD do nothing.

And some that it does not: there is no DebugMonitor, VLDR and VLDM at an unaligned address do not fault, unprivileged
code reaches the System Control Space, and MRS CONTROL shows a bit 3.
"""

from __future__ import annotations

from typing import Callable, Optional, Sequence

from unicorn import arm_const

from gdb_etm.board import exceptions as exc
from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.bus import Bus, BusFault
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.engine import XPSR_T, CortexMEngine
from gdb_etm.board.events import (
    DFSR_BKPT,
    DFSR_DWTTRAP,
    DFSR_HALTED,
    DFSR_VCATCH,
    VC_BUSERR,
    VC_CHKERR,
    VC_CORERESET,
    VC_HARDERR,
    VC_INTERR,
    VC_MMERR,
    VC_NOCPERR,
    VC_STATERR,
    Witness,
)
from gdb_etm.board.exceptions import ExceptionStates
from gdb_etm.board.frame import CONTROL, THREAD_MODE, ExceptionStacking
from gdb_etm.board.models import CoreModel
from gdb_etm.board.mpu import EXECUTE, READ, WRITE, Mpu
from gdb_etm.board.path import WrongPath
from gdb_etm.board.status import DIV_0_TRP, Status
from gdb_etm.board.stops import RunEnd, RunResult

NO_EXECUTION = 0xFFFFFFFE

_IPSR = 0x1FF
_PRIMASK = arm_const.UC_ARM_REG_PRIMASK
_BASEPRI = arm_const.UC_ARM_REG_BASEPRI
_FAULTMASK = arm_const.UC_ARM_REG_FAULTMASK


class CortexMCore:
    """A Cortex-M.

    :param model: Which one.
    :param bus: What it reaches.
    :param clock: Virtual time, which it drives.
    :param witness: Who hears what it does.
    """

    def __init__(self, model: CoreModel, bus: Bus, clock: InstructionClock, witness: Witness) -> None:
        self.model = model
        self._bus = bus
        self.clock = clock
        self._witness = witness
        self.engine = CortexMEngine(bus, model)
        self.exceptions = ExceptionStates()
        self.status = Status()
        self.mpu = Mpu(model.has_stack_limits)
        self._frame = ExceptionStacking(self.engine, bus, self.status, model, self._may_access)
        self.engine.guard.refusal = self._refusal
        self.engine.may_execute = lambda address: self._may_access(address, EXECUTE)
        clock.elapsed = self.engine.elapsed
        self.halted = False
        self.stepping = False
        self.sleeping = False
        self.locked_up = False
        self.reset_wanted = False
        self.retired = False
        self.was_reset = False
        self.dfsr = 0
        self.demcr = 0
        self.debug_enabled = False
        self.interrupts_masked = False
        self._wanted_breakpoints: Sequence[int] = ()
        self._breakpoints: Sequence[int] = ()
        # Tells whether the loads and stores of an instruction halt the core; None when none can.
        self.watchpoints: Optional[Callable[[Sequence[BusAccess]], bool]] = None
        self.on_reset: Sequence[Callable[[], None]] = ()

    # Debug state.

    def halt(self, reason: int) -> None:
        """Enter Debug state.

        :param reason: The bits to set in DFSR.
        """
        self.dfsr |= reason
        self.stepping = False
        if not self.halted:
            self.halted = True
            self.sleeping = False
            self._witness.halt(self.engine.pc)

    def resume(self, step: bool) -> None:
        """Leave Debug state, for one instruction or for good; a new PC also ends lockup."""
        self.halted = False
        self.locked_up = self.locked_up and self.engine.pc == self.model.lockup_address
        self.stepping = step
        self._witness.resume(self.engine.pc)

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
            self._witness.exception(exc.RESET, NO_EXECUTION, ())
        self.stepping = self.sleeping = self.locked_up = self.interrupts_masked = False
        self.was_reset = True
        for reset in self.on_reset:
            reset()
        self.exceptions.reset()
        self.status.reset()
        self.mpu.reset()
        self.engine.floating_point = self.engine.traps_division = self.engine.guard.wanted = False
        sp, vector = (self._bus.read(self.status.vtor + offset, 4) for offset in (0, 4))
        self._frame.reset(sp, vector)
        if self.debug_enabled and self.demcr & VC_CORERESET:
            self.halted = was_halted
            self.halt(DFSR_VCATCH)
        elif was_halted:
            self._witness.resume(self.engine.pc)

    # What may be accessed.

    def refresh_traps(self) -> None:
        """Heed that CCR or the memory protection unit may have changed."""
        self.engine.traps_division = bool(self.status.ccr & DIV_0_TRP)
        self.engine.guard.wanted = self.mpu.enabled or self.status.traps_unaligned

    def _may_access(self, address: int, kind: int) -> bool:
        if not self.mpu.enabled:
            return True
        handler = self.engine.xpsr & _IPSR
        privileged = bool(handler) or not self.engine.read(CONTROL) & 1
        return self.mpu.allows(address, kind, privileged, self._priority() < 0)

    def _refusal(self, address: int, size: int, store: bool) -> Optional[RunEnd]:
        if self.status.traps_unaligned and address % min(size, 4):
            return RunEnd.UNALIGNED
        return None if self._may_access(address, WRITE if store else READ) else RunEnd.PROTECTED

    # Running.

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until the core halts, sleeps or locks up."""
        done = 0
        while done < limit and not (self.halted or self.locked_up):
            self.clock.fire()
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

    def is_idle(self) -> bool:
        """Tell whether only the debugger can make anything happen."""
        return self.halted or self.locked_up or (self.sleeping and self.clock.next_due() is None)

    def _run_some(self, limit: int) -> int:
        """Run until the next event, and deal with what ended it; return how many instructions ran."""
        due = self.clock.next_due()
        if self.stepping or self.watchpoints is not None:
            run = self.engine.step()
        else:
            run = self.engine.run(limit if due is None else min(limit, due - self.clock.now()))
        if not run.executed and run.stop is RunEnd.LIMIT:
            raise WrongPath("nothing runs at 0x%08x" % self.engine.pc)
        if run.executed:
            self.retired = True
            self.clock.advance(len(run.executed))
            self._witness.executed(run.executed, run.accesses, run.failed)
        self._react(run)
        if self.reset_wanted:
            self.reset()
        elif self.stepping:
            self.halt(DFSR_HALTED)
        elif self.watchpoints is not None and self.debug_enabled and self.watchpoints(run.accesses.get(0, ())):
            self.halt(DFSR_DWTTRAP)
        return len(run.executed)

    def _wake(self) -> bool:
        """Look for the end of sleep, skipping time; return False when only the debugger can end it."""
        number = self.exceptions.next(self.interrupts_masked)
        if number is not None and self.exceptions.group_priority(number) < self._priority(ignore_primask=True):
            self.sleeping = False
            return True
        due = self.clock.next_due()
        if due is None:
            return False
        self.clock.advance(due - self.clock.now())
        return True

    def _priority(self, ignore_primask: bool = False) -> int:
        masks = (self.engine.read_special(register) for register in (_PRIMASK, _BASEPRI, _FAULTMASK))
        primask, basepri, faultmask = masks
        return self.exceptions.execution_priority(0 if ignore_primask else primask, basepri, faultmask)

    # Exceptions.

    def _take_pending(self) -> bool:
        """Take the pending exception that may be taken now, if there is one."""
        number = self._takeable()
        if number is None:
            return False
        self.sleeping = False
        self._enter(number, self.engine.pc)
        return True

    def _takeable(self) -> Optional[int]:
        """Return the exception to take now; have the engine watch for the end of masking when that keeps one away."""
        number = self.exceptions.next(self.interrupts_masked) if True in self.exceptions.pending else None
        self.engine.watch_masks = False
        if number is None or self.engine.it_state:
            return None
        priority = self.exceptions.group_priority(number)
        if priority < self._priority():
            return number
        self.engine.watch_masks = priority < self.exceptions.active_priority()
        return None

    def _enter(self, number: int, return_address: int) -> None:
        """Take an exception: stack, and go to its handler."""
        exc_return = self._frame.push(return_address)
        catch = 0
        if self.status.stacking_fault:
            catch = VC_INTERR
            derived = self._escalate(self.status.stacking_fault)
            if derived is None:
                self._witness.exception(number, return_address, self._frame.take_accesses())
                self._lock_up(NO_EXECUTION)
                return
            number = self._late_arrival(number, derived)
        self._go_to_handler(number, exc_return, return_address, catch)

    def _late_arrival(self, number: int, derived: int) -> int:
        """Choose between an exception and the fault of its stacking; the other one stays pending (DerivedLateArrival).

        A stacking fault of HardFault is lost in HardFault: its handler runs, though its frame is not there.
        """
        self.exceptions.pending[number] = self.exceptions.pending[derived] = True
        return min(number, derived, key=self.exceptions.rank)

    def _go_to_handler(self, number: int, exc_return: int, return_address: int, catch: int) -> None:
        """Begin a handler; its frame is on the stack."""
        try:
            vector = self._bus.read(self.status.vtor + 4 * number, 4)
        except BusFault:
            self.status.hfsr |= 1 << 1  # VECTTBL
            if number == exc.HARD_FAULT or self._priority() <= -1:
                self._enter_handler(number, self.model.lockup_address | 1, exc_return, return_address)
                self._lock_up(NO_EXECUTION)
                return
            self._go_to_handler(exc.HARD_FAULT, exc_return, return_address, catch | VC_INTERR)
            return
        self._enter_handler(number, vector, exc_return, return_address)
        if number == exc.HARD_FAULT:
            catch |= VC_HARDERR
        if self.debug_enabled and self.demcr & catch:
            self.halt(DFSR_VCATCH)

    def _enter_handler(self, number: int, vector: int, exc_return: int, return_address: int) -> None:
        self.exceptions.activate(number)
        self._frame.enter_handler(number, vector, exc_return)
        self._witness.exception(number, return_address, self._frame.take_accesses())

    def _escalate(self, number: int) -> Optional[int]:
        """Return the fault to take for a synchronous one: itself, HardFault, or None for lockup."""
        priority = self._priority()
        if self.exceptions.enabled[number] and self.exceptions.group_priority(number) < priority:
            return number
        if priority <= -1:
            return None
        self.status.hfsr |= 1 << 30  # FORCED
        return exc.HARD_FAULT

    def _fault(self, number: int, return_address: int, catch: int) -> None:
        """Take a synchronous fault, or lock up."""
        taken = self._escalate(number)
        if taken is None:
            self._lock_up(return_address)
            return
        if self.debug_enabled and self.demcr & catch and taken != exc.HARD_FAULT:
            self._enter(taken, return_address)
            self.halt(DFSR_VCATCH)
            return
        self._enter(taken, return_address)

    def _lock_up(self, address: int) -> None:
        """Stop executing for good."""
        self._witness.lockup(address)
        self.engine.jump(self.model.lockup_address)
        self.locked_up = True
        if self.debug_enabled and self.demcr & VC_HARDERR:
            self.halt(DFSR_VCATCH)

    def _return(self, exc_return: int) -> None:
        """Return from an exception, or go on to the next one."""
        number = self.engine.xpsr & _IPSR
        legal = self._frame.is_legal(exc_return) and self.exceptions.active[number]
        if self.model.counts_nesting:
            legal = legal and bool(exc_return & THREAD_MODE) == (sum(self.exceptions.active) == 1)
        self.exceptions.deactivate(number)
        if number != exc.NMI:
            self.engine.write_special(_FAULTMASK, 0)
        after = self._takeable() if legal else None
        fault: Optional[int] = None
        if not legal:
            self.status.usage_fault("INVPC")
            fault = exc.USAGE_FAULT
        elif after is None:
            fault = self._frame.pop(exc_return)
        self._witness.exception_return(self._frame.take_accesses())
        if fault is not None:
            self._chain_fault(fault, exc_return)
        elif after is not None:
            self._go_to_handler(after, exc_return, NO_EXECUTION, 0)
        elif self.status.sleep_on_exit and not self.engine.xpsr & _IPSR:
            self.sleeping = True

    def _chain_fault(self, number: int, exc_return: int) -> None:
        """Take a fault of an exception return: its frame is still on the stack."""
        taken = self._escalate(number)
        if taken is None:
            self._lock_up(NO_EXECUTION)
        else:
            self._go_to_handler(taken, exc_return, NO_EXECUTION, VC_INTERR)

    # What ended a run.

    def _react(self, run: RunResult) -> None:
        """Do what the end of a run asks for."""
        stop = run.stop
        if stop is RunEnd.LIMIT:
            return
        if stop is RunEnd.WFI:
            # A halting step ends it at once, as any debug event does.
            self.sleeping = not self.stepping
        elif stop is RunEnd.BKPT:
            self._breakpoint_instruction()
        elif stop is RunEnd.SVC:
            self._fault(exc.SVCALL, self.engine.pc, 0)
        elif stop is RunEnd.EXC_RETURN:
            self._exc_return_loaded()
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

    def _usage_fault(self, stop: RunEnd) -> None:
        name, catch = {
            RunEnd.UNDEFINED: ("UNDEFINSTR", VC_STATERR),
            RunEnd.INVALID_STATE: ("INVSTATE", VC_STATERR),
            RunEnd.NO_COPROCESSOR: ("NOCP", VC_NOCPERR),
            RunEnd.STACK_LIMIT: ("STKOF", VC_STATERR),
            RunEnd.UNALIGNED: ("UNALIGNED", VC_CHKERR),
            RunEnd.DIVISION: ("DIVBYZERO", VC_CHKERR),
        }[stop]
        self.status.usage_fault(name)
        self._fault(exc.USAGE_FAULT, self.engine.pc, catch)

    def _breakpoint_instruction(self) -> None:
        """Deal with BKPT: halt, or else HardFault."""
        if self.debug_enabled:
            self.halt(DFSR_BKPT)
            return
        self.status.hfsr |= 1 << 31  # DEBUGEVT
        if self._priority() <= -1:
            self._lock_up(self.engine.pc)
        else:
            self._enter(exc.HARD_FAULT, self.engine.pc)

    def _exc_return_loaded(self) -> None:
        """Return from an exception in Handler mode; in Thread mode the value is an address like any other."""
        xpsr = self.engine.xpsr
        value = self.engine.pc | bool(xpsr & XPSR_T)
        if xpsr & _IPSR and value >> 24 == 0xFF:
            self._return(value)
        else:
            self._fetch_fault(True)

    def _fetch_fault(self, not_executable: bool) -> None:
        """Fault on a fetch: MemManage in regions that the default memory map keeps from execution, else BusFault."""
        pc = self.engine.pc
        if not self.engine.xpsr & XPSR_T:
            self._usage_fault(RunEnd.INVALID_STATE)
        elif not_executable or 0x40000000 <= pc < 0x60000000 or pc >= 0xA0000000:
            self.status.fetch_memory_fault()
            self._fault(exc.MEM_MANAGE, pc, VC_MMERR)
        else:
            self.status.fetch_bus_fault()
            self._fault(exc.BUS_FAULT, pc, VC_BUSERR)
