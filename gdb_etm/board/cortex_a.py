"""The Cortex-A core: instructions, exceptions and debug state (DDI 0406, B1, C5).

The MMU is off.  Simplifications, each of which the architecture allows: interrupts are taken between instructions, not
inside of IT blocks, and aborts are precise.  BKPT makes the core halt while halting debug is enabled.  There is no FIQ.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Callable, Dict, NamedTuple, Sequence

from unicorn import arm_const

from gdb_etm.board.bus import Bus
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.cortex_a_engine import CPSR_T, SCR, CortexAEngine
from gdb_etm.board.listeners import CortexAListener
from gdb_etm.board.path import WrongPath
from gdb_etm.board.stops import RunEnd, RunResult

# Modes, and bits of CPSR (B1.3).
_SUPERVISOR, _MONITOR, _ABORT, _UNDEFINED, _IRQ = 0x13, 0x16, 0x17, 0x1B, 0x12
_MODE = 0x1F
_F = 1 << 6
_I = 1 << 7
_A = 1 << 8
# What an exception clears: IT state, J, E, T and the mode.
_CLEARED = 0x0700FE00 | CPSR_T | _MODE
_SCTLR, _VBAR, _MVBAR, _CONTEXTIDR = (1, 0, 0, 0), (12, 0, 0, 0), (12, 0, 0, 1), (13, 0, 0, 1)
_DFSR, _IFSR, _DFAR, _IFAR = (5, 0, 0, 0), (5, 0, 0, 1), (6, 0, 0, 0), (6, 0, 0, 2)
# Fault status (table B3-23): a debug event, an alignment fault, a synchronous external abort; DFSR.WnR.
_DEBUG_EVENT, _ALIGNMENT, _EXTERNAL, _WRITE = 0x002, 0x001, 0x008, 1 << 11
# SCTLR.V and SCTLR.TE.
_HIGH_VECTORS = 1 << 13
_THUMB_EXCEPTIONS = 1 << 30
_HIGH_BASE = 0xFFFF0000
# The number by which a trace unit knows a reset (IHI 0035B, 4.5.4).
_TRACED_RESET = 8
# A fault takes the simulation as long as so many instructions: the debugger may have to wait for a slice of them.
_FAULT_COST = 100


class ExceptionEntry(NamedTuple):
    """How one kind of exception is taken (B1.8)."""

    # Offset of its vector.
    vector: int
    mode: int
    masks: int
    # How far LR is after the instruction that would have been next, from A32 code.
    link: int
    link_thumb: int
    # The number by which a trace unit knows it (IHI 0035B, 4.5.4).
    traced: int


SVC = ExceptionEntry(0x08, _SUPERVISOR, _I, 0, 0, 10)
SMC = ExceptionEntry(0x08, _MONITOR, _I | _F | _A, 0, 0, 2)
UNDEFINED = ExceptionEntry(0x04, _UNDEFINED, _I, 4, 2, 9)
PREFETCH_ABORT = ExceptionEntry(0x0C, _ABORT, _I | _A, 4, 4, 11)
DATA_ABORT = ExceptionEntry(0x10, _ABORT, _I | _A, 8, 8, 12)
IRQ = ExceptionEntry(0x18, _IRQ, _I | _A, 4, 4, 14)

_BY_STOP: Dict[RunEnd, ExceptionEntry] = {
    RunEnd.SVC: SVC,
    RunEnd.SMC: SMC,
    RunEnd.UNDEFINED: UNDEFINED,
    RunEnd.NO_COPROCESSOR: UNDEFINED,
    RunEnd.FETCH: PREFETCH_ABORT,
    RunEnd.FETCH_DEVICE: PREFETCH_ABORT,
    RunEnd.READ: DATA_ABORT,
    RunEnd.WRITE: DATA_ABORT,
    RunEnd.UNALIGNED: DATA_ABORT,
}


class DebugEntry(IntEnum):
    """Why the core entered Debug state: DBGDSCR.MOE (C11.11.20)."""

    REQUEST = 0
    BREAKPOINT = 1
    WATCHPOINT = 2
    BKPT = 3
    VECTOR_CATCH = 5


class CortexACore:
    """A Cortex-A.

    :param model: The end of Unicorn's name for it.
    :param bus: What it reaches.
    :param clock: Virtual time, which it drives.
    :param listener: Who hears what it does.
    :param interrupted: Tells whether the interrupt controller asks for an interrupt.
    """

    def __init__(
        self, model: str, bus: Bus, clock: InstructionClock, listener: CortexAListener, interrupted: Callable[[], bool]
    ) -> None:
        self.engine = CortexAEngine(bus, model)
        self._clock = clock
        self._listener = listener
        self._interrupted = interrupted
        # Whether it waits in reset for somebody to let it run.
        self.held = False
        self.halted = False
        self.sleeping = False
        self.locked_up = False
        self.halting_debug = True
        # Why it halted last.
        self.entry = DebugEntry.REQUEST
        # What the debug registers ask for: no interrupts, a look at every instruction, whether the next one is a
        # breakpoint, which exceptions and accesses halt it.
        self.interrupts_disabled = False
        self.steps = False
        self.breaks: Callable[[], bool] = lambda: False
        self.catches: Callable[[ExceptionEntry], bool] = lambda kind: False
        self.watches: Callable[[bool, int, int], bool] = lambda is_store, address, size: False
        # Of the instruction that a watchpoint halted it after, as a PC that it reads (DBGWFAR).
        self.watched_at = 0
        self.on_reset: Sequence[Callable[[], None]] = ()
        self._reset_wanted = False

    @property
    def non_secure(self) -> bool:
        """Whether it is in Non-secure state."""
        return self.engine.non_secure

    @property
    def context_id(self) -> int:
        """CONTEXTIDR."""
        return self.engine.read_system(_CONTEXTIDR, not self.non_secure)

    def reset(self) -> None:
        """Reset the core and what belongs to the system reset."""
        self.halted = self.sleeping = self.locked_up = False
        for reset in self.on_reset:
            reset()
        # Unicorn's core begins in Non-secure state.
        self.engine.write_system(SCR, True, 0)
        self.engine.write(arm_const.UC_ARM_REG_CPSR, _SUPERVISOR | _A | _I | _F)
        self.engine.pc = 0

    def want_reset(self) -> None:
        """Reset after the next instruction."""
        self._reset_wanted = True

    def halt(self, entry: DebugEntry = DebugEntry.REQUEST) -> None:
        """Enter Debug state."""
        if not self.halted:
            self.held = False
            self.halted = True
            self.entry = entry
            self.sleeping = False
            self._listener.debug_entry(self.engine.pc)

    def resume(self) -> None:
        """Leave Debug state."""
        if self.halted:
            self.halted = False
            self._listener.debug_exit(self.engine.pc)

    def is_idle(self) -> bool:
        """Tell whether only the debugger can make anything happen."""
        asleep = self.sleeping and not self._interrupted() and self._clock.next_due() is None
        return self.held or self.halted or self.locked_up or asleep

    def run(self, limit: int) -> None:
        """Run about `limit` instructions, or until only the debugger can act."""
        done = 0
        while done < limit and not (self.held or self.halted or self.locked_up):
            self._clock.fire()
            if self._reset_wanted:
                self._reset_wanted = False
                reached = self.engine.pc
                self.reset()
                self._listener.exception(_TRACED_RESET, reached, self.engine.pc)
            if self._interrupted() and not self.interrupts_disabled:
                self.sleeping = False
                if not self.engine.cpsr & _I and not self.engine.in_it_block:
                    self._enter(IRQ)
            if self.sleeping:
                done += 1
                due = self._clock.next_due()
                if due is None:
                    return
                self._clock.advance(due - self._clock.now())
                continue
            if self.halting_debug and (self.steps or self.engine.is_at_breakpoint) and self.breaks():
                self.halt(DebugEntry.BREAKPOINT)
                continue
            done += self._run_some(limit - done)

    def _run_some(self, limit: int) -> int:
        due = self._clock.next_due()
        pc = self.engine.pc
        if self.halting_debug and (self.steps or self.engine.watch.wanted):
            run = self.engine.step()
        else:
            run = self.engine.run(limit if due is None else max(1, min(limit, due - self._clock.now())))
        if not run.executed and run.stop is RunEnd.LIMIT:
            raise WrongPath("nothing runs at 0x%08x" % self.engine.pc)
        if run.executed:
            self._clock.advance(len(run.executed))
            self._listener.executed(run.executed)
        self._react(run)
        if run.executed and self.halting_debug and any(self.watches(*access) for access in self.engine.watch.found):
            self.watched_at = (pc & ~1) + (4 if pc & 1 else 8)
            self.halt(DebugEntry.WATCHPOINT)
        return len(run.executed) or _FAULT_COST

    def _react(self, run: RunResult) -> None:
        if run.stop is RunEnd.WFI:
            self.sleeping = True
        elif run.stop is RunEnd.RETURNED:
            self._listener.exception_return()
        elif run.stop is RunEnd.BKPT:
            if self.halting_debug:
                self.halt(DebugEntry.BKPT)
            else:
                self.engine.write_system(_IFSR, not self.non_secure, _DEBUG_EVENT)
                self._enter(PREFETCH_ABORT)
        elif run.stop in _BY_STOP:
            self._tell(run)
            self._enter(_BY_STOP[run.stop])

    def _tell(self, run: RunResult) -> None:
        """Write the fault status and address registers (B3.13)."""
        if _BY_STOP[run.stop] is DATA_ABORT:
            status = _ALIGNMENT if run.stop is RunEnd.UNALIGNED else _EXTERNAL
            written = (_DFSR, status | _WRITE * (run.stop is RunEnd.WRITE)), (_DFAR, run.address)
        elif _BY_STOP[run.stop] is PREFETCH_ABORT:
            written = (_IFSR, _EXTERNAL), (_IFAR, self.engine.pc & ~1)
        else:
            return
        for register, value in written:
            self.engine.write_system(register, not self.non_secure, value)

    def _enter(self, kind: ExceptionEntry) -> None:
        """Take an exception (B1.8.3)."""
        engine = self.engine
        reached, cpsr = engine.pc, engine.cpsr
        secure = not self.non_secure
        control = engine.read_system(_SCTLR, secure)
        if kind is SMC:
            base = engine.read_system(_MVBAR, True)
        else:
            base = _HIGH_BASE if control & _HIGH_VECTORS else engine.read_system(_VBAR, secure)
        thumb = CPSR_T if control & _THUMB_EXCEPTIONS else 0
        engine.change_mode(cpsr & ~_CLEARED | kind.masks | kind.mode | thumb)
        engine.write(arm_const.UC_ARM_REG_SPSR, cpsr)
        link = kind.link_thumb if reached & 1 else kind.link
        engine.write(arm_const.UC_ARM_REG_LR, (reached & ~1) + link & 0xFFFFFFFF)
        vector = base + kind.vector | bool(thumb)
        engine.pc = vector
        self._listener.exception(kind.traced, reached, vector)
        if self.halting_debug and self.catches(kind):
            self.halt(DebugEntry.VECTOR_CATCH)
