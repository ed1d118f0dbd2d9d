"""Exception frames: pushing and popping (DDI 0553, B3.19 to B3.23)."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence

from unicorn import arm_const

from gdb_etm.board.accesses import BusAccess, frame_transfers
from gdb_etm.board.bus import Bus, BusFault
from gdb_etm.board.engine import XPSR_T, CortexMEngine
from gdb_etm.board.exceptions import BUS_FAULT, HARD_FAULT, MEM_MANAGE, USAGE_FAULT
from gdb_etm.board.models import CoreModel
from gdb_etm.board.mpu import READ, WRITE
from gdb_etm.board.status import Status

R = [arm_const.UC_ARM_REG_R0 + number for number in range(13)]
SP = arm_const.UC_ARM_REG_SP
LR = arm_const.UC_ARM_REG_LR
MSP = arm_const.UC_ARM_REG_MSP
PSP = arm_const.UC_ARM_REG_PSP
CONTROL = arm_const.UC_ARM_REG_CONTROL
FPSCR = arm_const.UC_ARM_REG_FPSCR
D = [arm_const.UC_ARM_REG_D0 + number for number in range(16)]
_MASKS = (arm_const.UC_ARM_REG_PRIMASK, arm_const.UC_ARM_REG_BASEPRI, arm_const.UC_ARM_REG_FAULTMASK)

_IPSR = 0x1FF
_IT_BITS = 0x0600FC00
_NPRIV = 1
_SPSEL = 2
_FPCA = 4
_SPREALIGN = 1 << 9
_BASIC = 0x20
_EXTENDED = 0x68

# EXC_RETURN (D1.2.95).
_EXC_NO_FLOATING_POINT = 1 << 4
# In EXC_RETURN: the return is to Thread mode.
THREAD_MODE = 1 << 3
_EXC_PROCESS_STACK = 1 << 2


class ExceptionStacking:
    """Pushes and pops exception frames.

    :param engine: The core's registers.
    :param bus: The memory that the stacks are in.
    :param status: Takes the faults.
    :param model: Which core it is.
    :param may_access: Tells by address and kind whether memory may be accessed.
    """

    def __init__(
        self, engine: CortexMEngine, bus: Bus, status: Status, model: CoreModel, may_access: Callable[[int, int], bool]
    ) -> None:
        self._engine = engine
        self._bus = bus
        self._status = status
        self._model = model
        self._may_access = may_access
        self._accesses: Sequence[BusAccess] = ()

    def reset(self, sp: int, vector: int) -> None:
        """Give the registers their values after reset.

        :param sp: First word of the vector table.
        :param vector: Second word of the vector table.
        """
        engine = self._engine
        engine.xpsr = XPSR_T | HARD_FAULT
        for register in (CONTROL, *_MASKS, PSP, FPSCR, *R, *D):
            engine.write_special(register, 0)
        engine.set_stack_limit(False, 0)
        engine.set_stack_limit(True, 0)
        engine.write_special(MSP, sp & ~3)
        engine.write(LR, 0xFFFFFFFF)
        engine.xpsr = XPSR_T if vector & 1 else 0
        engine.jump(vector)
        engine.refresh_privilege()

    def push(self, return_address: int) -> int:
        """Push a frame; return its EXC_RETURN.

        A failure is left in the status.
        """
        engine = self._engine
        xpsr, control, sp = engine.xpsr, engine.read(CONTROL), engine.read(SP)
        thread = not xpsr & _IPSR
        process = thread and bool(control & _SPSEL)
        extended = bool(control & _FPCA)
        frame = (sp - (_EXTENDED if extended else _BASIC)) & 0xFFFFFFF8
        self._status.stacking_fault = 0
        self._accesses = ()
        words = [engine.read(register) for register in (*R[:4], R[12], LR)]
        words += [return_address, (xpsr & ~_SPREALIGN) | (_SPREALIGN if sp & 4 else 0)]
        if extended:
            words += self._floating_point() + [engine.read(FPSCR), 0]
        if frame < engine.stack_limit(process):
            self._status.stacking_limit()
            frame = engine.stack_limit(process)
        else:
            self._store(frame, words)
        engine.write(SP, frame)
        value = self._model.exc_return
        value |= 0 if extended else _EXC_NO_FLOATING_POINT
        value |= THREAD_MODE if thread else 0
        value |= _EXC_PROCESS_STACK if process else 0
        return value

    def _floating_point(self) -> List[int]:
        """Return S0 to S15."""
        words: List[int] = []
        for register in D[:8]:
            value = self._engine.read(register)
            words += [value & 0xFFFFFFFF, value >> 32]
        return words

    def _store(self, frame: int, words: List[int]) -> None:
        if not self._may_all(frame, len(words), WRITE):
            self._status.stacking_memory_fault()
            return
        memory = self._bus.memory(frame, 4 * len(words))
        if memory is None or memory[0] is self._bus.flash:
            self._status.stacking_bus_fault()
            return
        data = b"".join(word.to_bytes(4, "little") for word in words)
        memory[0][memory[1] : memory[1] + len(data)] = data
        self._accesses = frame_transfers(frame, words, True)

    def _may_all(self, frame: int, words: int, kind: int) -> bool:
        return all(self._may_access((frame + 4 * index) & 0xFFFFFFFF, kind) for index in range(words))

    def take_accesses(self) -> Sequence[BusAccess]:
        """Return, once, what the last push stored or the last pop loaded."""
        accesses, self._accesses = self._accesses, ()
        return accesses

    def enter_handler(self, number: int, vector: int, exc_return: int) -> None:
        """Go to Handler mode and to a handler."""
        engine = self._engine
        unprivileged = engine.read(CONTROL) & _NPRIV
        engine.xpsr = (engine.xpsr & ~(_IT_BITS | _IPSR | XPSR_T)) | number | (XPSR_T if vector & 1 else 0)
        engine.write(CONTROL, unprivileged)
        engine.write(LR, exc_return)
        engine.jump(vector)
        if unprivileged:
            engine.refresh_privilege()

    def is_legal(self, exc_return: int) -> bool:
        """Tell whether a value is an EXC_RETURN of this core."""
        return exc_return in self._model.exc_returns

    def pop(self, exc_return: int) -> Optional[int]:
        """Pop a frame and go where it leads; return a fault's number."""
        engine = self._engine
        thread = bool(exc_return & THREAD_MODE)
        process = thread and bool(exc_return & _EXC_PROCESS_STACK)
        extended = not exc_return & _EXC_NO_FLOATING_POINT
        frame = engine.read(PSP if process else MSP)
        self._accesses = ()
        count = 26 if extended else 8
        if not self._may_all(frame, count, READ):
            self._status.unstacking_memory_fault()
            return MEM_MANAGE
        try:
            words = [self._bus.read(frame + 4 * index, 4) for index in range(count)]
        except BusFault:
            self._status.unstacking_bus_fault()
            return BUS_FAULT
        self._accesses = frame_transfers(frame, words, False)
        xpsr = words[7]
        if thread != (xpsr & _IPSR == 0):
            self._status.usage_fault("INVPC")
            return USAGE_FAULT
        for register, value in zip((*R[:4], R[12], LR), words):
            engine.write(register, value)
        if extended:
            self._restore_floating_point(words[8:])
        unprivileged = engine.read(CONTROL) & _NPRIV
        context = self._model.floating_point_context if extended else 0
        engine.write(CONTROL, unprivileged | context | (_SPSEL if process else 0))
        sp = (frame + (_EXTENDED if extended else _BASIC)) | (4 if xpsr & _SPREALIGN else 0)
        engine.write(PSP if process else MSP, sp)
        engine.xpsr = xpsr & ~_SPREALIGN
        engine.jump(words[6])
        if unprivileged:
            engine.refresh_privilege()
        return None

    def _restore_floating_point(self, words: List[int]) -> None:
        for index, register in enumerate(D[:8]):
            self._engine.write(register, words[2 * index] | words[2 * index + 1] << 32)
        self._engine.write(FPSCR, words[16])
