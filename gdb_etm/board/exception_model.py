"""Exception model of a Cortex-M: entries, returns, escalation, faults, lockup.

Ref: Armv8-M (DDI 0553), B3; Armv7-M (DDI 0403), B1.5.
"""

from __future__ import annotations

from typing import Optional

from unicorn import arm_const

from gdb_etm.board import exceptions as exc
from gdb_etm.board.bus import Bus, BusFault
from gdb_etm.board.engine import XPSR_T, CortexMEngine
from gdb_etm.board.exceptions import ExceptionStates
from gdb_etm.board.frame import CONTROL, THREAD_MODE, ExceptionStacking
from gdb_etm.board.listeners import CortexMListener
from gdb_etm.board.models import CoreModel
from gdb_etm.board.mpu import EXECUTE, READ, WRITE, Mpu
from gdb_etm.board.status import (
    DFSR_BKPT,
    DFSR_VCATCH,
    DIV_0_TRP,
    VC_BUSERR,
    VC_CHKERR,
    VC_HARDERR,
    VC_INTERR,
    VC_MMERR,
    VC_NOCPERR,
    VC_STATERR,
    Status,
)
from gdb_etm.board.stops import RunEnd

NO_EXECUTION = 0xFFFFFFFE

_IPSR = 0x1FF
_PRIMASK = arm_const.UC_ARM_REG_PRIMASK
_BASEPRI = arm_const.UC_ARM_REG_BASEPRI
_FAULTMASK = arm_const.UC_ARM_REG_FAULTMASK


class CortexMExceptionModel:
    """A Cortex-M's state that exceptions change, with their entries and returns.

    :param model: Which core.
    :param bus: What it reaches.
    :param listener: Who hears what it does.
    """

    def __init__(self, model: CoreModel, bus: Bus, listener: CortexMListener) -> None:
        self.model = model
        self._bus = bus
        self._listener = listener
        self.engine = CortexMEngine(bus, model)
        self.exceptions = ExceptionStates()
        self.status = Status(model.traps_unaligned)
        self.mpu = Mpu(model.has_stack_limits)
        self._frame = ExceptionStacking(self.engine, bus, self.status, model, self._may_access)
        self.engine.guard.refusal = self._refusal
        self.engine.may_execute = lambda address: self._may_access(address, EXECUTE)
        self.halted = False
        self.stepping = False
        self.sleeping = False
        self.locked_up = False
        self.dfsr = 0
        self.demcr = 0
        self.debug_enabled = False
        self.interrupts_masked = False

    def halt(self, reason: int) -> None:
        """Enter Debug state.

        :param reason: The bits to set in DFSR.
        """
        self.dfsr |= reason
        self.stepping = False
        if not self.halted:
            self.halted = True
            self.sleeping = False
            self._listener.debug_entry(self.engine.pc)

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

    def _priority(self, ignore_primask: bool = False) -> int:
        masks = (self.engine.read_special(register) for register in (_PRIMASK, _BASEPRI, _FAULTMASK))
        primask, basepri, faultmask = masks
        return self.exceptions.execution_priority(0 if ignore_primask else primask, basepri, faultmask)

    # Exceptions.

    def _take_pending(self) -> bool:
        """Take the pending exception that is takeable, if there is one."""
        number = self._takeable()
        if number is None:
            return False
        self.sleeping = False
        self._enter(number, self.engine.pc)
        return True

    def _takeable(self) -> Optional[int]:
        """Return the exception to take; None without one.

        When masking keeps one away, the engine watches for its end.
        """
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
                self._listener.exception(number, return_address, self._frame.take_accesses())
                self._lock_up(NO_EXECUTION)
                return
            number = self._late_arrival(number, derived)
        self._go_to_handler(number, exc_return, return_address, catch)

    def _late_arrival(self, number: int, derived: int) -> int:
        """Choose between an exception and its stacking fault (DerivedLateArrival).

        The other one stays pending.

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
        self._listener.exception(number, return_address, self._frame.take_accesses())

    def _escalate(self, number: int) -> Optional[int]:
        """Return the fault to take: itself, HardFault, or None for lockup."""
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
        self._listener.lockup(address)
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
        self._listener.exception_return(self._frame.take_accesses())
        if fault is not None:
            self._chain_fault(fault, exc_return)
        elif after is not None:
            self._go_to_handler(after, exc_return, NO_EXECUTION, 0)
        elif self.status.sleep_on_exit and not self.engine.xpsr & _IPSR:
            self.sleeping = True

    def _chain_fault(self, number: int, exc_return: int) -> None:
        """Take an exception return's fault: its frame is still stacked."""
        taken = self._escalate(number)
        if taken is None:
            self._lock_up(NO_EXECUTION)
        else:
            self._go_to_handler(taken, exc_return, NO_EXECUTION, VC_INTERR)

    # Faults that ended a run.

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
        """Return from an exception in Handler mode.

        In Thread mode the value is an address like any other.
        """
        xpsr = self.engine.xpsr
        value = self.engine.pc | bool(xpsr & XPSR_T)
        if xpsr & _IPSR and value >> 24 == 0xFF:
            self._return(value)
        else:
            self._fetch_fault(True)

    def _fetch_fault(self, not_executable: bool) -> None:
        """Fault on a fetch: MemManage or BusFault.

        MemManage in regions that the default memory map keeps from execution.
        """
        pc = self.engine.pc
        if not self.engine.xpsr & XPSR_T:
            self._usage_fault(RunEnd.INVALID_STATE)
        elif not_executable or 0x40000000 <= pc < 0x60000000 or pc >= 0xA0000000:
            self.status.fetch_memory_fault()
            self._fault(exc.MEM_MANAGE, pc, VC_MMERR)
        else:
            self.status.fetch_bus_fault()
            self._fault(exc.BUS_FAULT, pc, VC_BUSERR)
