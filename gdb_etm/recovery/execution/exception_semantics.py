"""Exception entry and return: what the core does with registers and stack.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), PushStack, ExceptionTaken, PopStack and ExceptionReturn; Armv7-M
(DDI 0403), B1.5.6 to B1.5.8.
"""

from __future__ import annotations

from typing import Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.elements import Exception_
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import INPUT, OPEN, UNMODELLED, Premise
from gdb_etm.recovery.execution.stacking import Stacking
from gdb_etm.recovery.lift.operations import (
    CONTROL,
    FAULTMASK,
    FP_MODE,
    FPCA,
    FPSCR,
    GE,
    HANDLER,
    LR,
    MSP,
    PSP,
    S0,
    SP,
    C,
    N,
    Op,
    V,
    Z,
)
from gdb_etm.recovery.ssa.features import Features
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

_BIT: Final = 0xFFFFFFFE
_FLAGS = ((31, N), (30, Z), (29, C), (28, V))
_BASIC: Final = 0x20
_EXTENDED: Final = 0x68
_SPSEL: Final = 1
# EXC_RETURN: bit 4 is 0 with an extended frame, bit 3 is 1 for Thread mode, bit 2 for PSP (DDI 0553, D1.2.95).
_FTYPE: Final = 4
_MODE: Final = 3
_STACK: Final = 2
# Bits of EXC_RETURN that are the same always (1 is 0, the others 1), and those that depend on the security state alone.
_FIXED: Final = 0xFFFFFF82
_OF_STATE: Final = 0x61
PUSHED: Final = (0, 1, 2, 3, 12, LR, N, Z, C, V, HANDLER, CONTROL, FPCA)
PUSHED_FLOATS = (FPSCR, FP_MODE) + tuple(range(S0, S0 + 16))
_NO_MODE: Final = 0xFFFFFFE0
# PendSV; SysTick.
_FIRST_ASYNCHRONOUS: Final = 14
_FIRST_UNASKED: Final = 15


def is_asynchronous(event: Exception_) -> bool:
    """Check whether an exception is asynchronous: PendSV, SysTick or an interrupt."""
    return event.vector is not None and event.vector >= _FIRST_ASYNCHRONOUS


def is_request(event: Exception_) -> bool:
    """Check whether code may have asked for an exception.

    Its handler may leave results in the frame.

    That is SVC, and PendSV: one that an interrupt's handler asks for follows that without a return in between.
    """
    return event.vector is None or event.vector < _FIRST_UNASKED


class Resumption(NamedTuple):
    """What an exception return loads."""

    # Variable of the next instruction's address.
    address: int
    # Variable of the T bit.
    thumb: int
    # Variable of the frame's address.
    frame: int
    # Variable of the bit that is 1 if it was on PSP.
    process: int
    # By slot, variables of the floating-point registers that are in the frame, if it has any.
    floats: Dict[int, int]


class PushedFrame(NamedTuple):
    """A frame that an exception has pushed."""

    # Variable of its address.
    frame: int
    # Variables of its words, the return address left out.
    words: Tuple[int, ...]
    # Variable of EXC_RETURN.
    returns: int
    # Variable of the bit that is 1 if it is on PSP.
    process: int


class ExceptionSemantics:
    """The exception model of an M-profile core, as operations on variables.

    :param ssa: The segment's variables.
    :param features: What is known of the core.
    """

    def __init__(self, ssa: TraceSsa, features: Features) -> None:
        self._ssa = ssa
        self._features = features
        self._fpu = features.fpu
        self._psp = features.psp
        self._security: Optional[int] = None

    def push(self, event: Exception_, current: List[int], stacking: Stacking) -> PushedFrame:
        """Push a frame and enter the handler (PushStack, ExceptionTaken).

        :param current: The variable of each slot; is changed.
        :param stacking: What is known of the frame.
        """
        ssa = self._ssa
        zero = ssa.constant(0)
        before = current[SP]
        process = self._process(current)
        thread = ssa.invert(current[HANDLER])
        basic = ssa.invert(current[FPCA]) if self._fpu else ssa.one
        lowered = ssa.select(basic, ssa.offset(before, -_BASIC), ssa.offset(before, -_EXTENDED))
        frame = self._op(Op.BITS, zero, lowered, detail=(2, 0, 1))
        ssa.learn(frame, 7, 0, Premise.MODE)
        xpsr = self._status(current, before, stacking.thumb)
        address = event.return_address
        returns = ssa.new(INPUT) if address is None else ssa.constant(address)
        words = tuple([current[slot] for slot in (0, 1, 2, 3, 12, LR)])
        first = len(ssa.accesses)
        for index, variable in enumerate(words + (returns, xpsr)):
            stored = variable if stacking.stored else ssa.new(UNMODELLED)
            ssa.store(ssa.offset(frame, 4 * index), stored, 4, ssa.one)
        if self._fpu:
            self._push_floats(frame, basic)
        ssa.stacked.update(range(first, len(ssa.accesses)))
        pointer = frame if stacking.limit is None else ssa.select(ssa.new(INPUT, _BIT), stacking.limit, frame)
        current[MSP] = ssa.select(process, current[MSP], pointer)
        current[PSP] = ssa.select(process, pointer, current[PSP])
        current[SP] = current[MSP]
        self.forget(current, (0, 1, 2, 3, 12, N, Z, C, V, GE))
        current[LR] = self._exc_return(basic, thread, process)
        current[HANDLER] = ssa.one
        current[CONTROL] = self._op(Op.BITS, zero, current[CONTROL], detail=(1, 0, 1))
        current[FPCA] = zero
        return PushedFrame(frame, words + (xpsr,), current[LR], process)

    def pop(self, target: Optional[int], current: List[int]) -> Resumption:
        """Pop a frame (ExceptionReturn, PopStack).

        :param target: Variable of EXC_RETURN, if known.
        :param current: The variable of each slot; is changed.
        """
        ssa = self._ssa
        value = ssa.new(INPUT) if target is None else target
        self._returns_with(value)
        thread = self._bit(value, _MODE)
        process = self._op(Op.AND, self._bit(value, _STACK), thread) if self._psp else ssa.constant(0)
        basic = self._bit(value, _FTYPE) if self._fpu else ssa.one
        frame = ssa.select(process, current[PSP], current[SP])
        loaded = [ssa.load(ssa.offset(frame, 4 * index), 4, ssa.one) for index in range(8)]
        for slot, variable in zip((0, 1, 2, 3, 12, LR), loaded):
            current[slot] = variable
        for slot, flag in _FLAGS:
            current[flag] = self._bit(loaded[7], slot)
        self.forget(current, (GE, FAULTMASK))
        raised = ssa.select(basic, ssa.offset(frame, _BASIC), ssa.offset(frame, _EXTENDED))
        current[MSP] = current[SP]
        padding = self._op(Op.BITS, loaded[7], ssa.constant(0), detail=(2, 9, 1))
        current[SP] = self._op(Op.OR, raised, padding)
        current[HANDLER] = ssa.invert(thread)
        current[CONTROL] = self._op(Op.BITS, process, current[CONTROL], detail=(1, 0, 1))
        current[FPCA] = ssa.invert(basic)
        floats: Dict[int, int] = {}
        for slot in PUSHED_FLOATS if self._fpu else ():
            floats[slot] = ssa.new(UNMODELLED, _NO_MODE if slot == FP_MODE else 0)
            current[slot] = ssa.select(basic, current[slot], floats[slot])
        return Resumption(loaded[6], self._bit(loaded[7], 24), frame, process, floats)

    def chain(self, event: Exception_, target: Optional[int], current: List[int]) -> None:
        """Enter a handler where another one returns (TailChain): the frame stays.

        :param target: Variable of EXC_RETURN, if known.
        :param current: The variable of each slot; is changed.
        """
        ssa = self._ssa
        self.forget(current, (0, 1, 2, 3, 12, N, Z, C, V, GE))
        current[CONTROL] = self._op(Op.BITS, ssa.constant(0), current[CONTROL], detail=(1, 0, 1))
        current[FPCA] = ssa.constant(0)
        value = ssa.new(INPUT) if target is None else target
        if is_asynchronous(event):
            self._returns_with(value)
            current[LR] = self._exc_return(*[self._bit(value, slot) for slot in (_FTYPE, _MODE, _STACK)])
        else:
            current[LR] = ssa.new(INPUT)
            ssa.relate((ConstraintKind.FIELD, current[LR], value, _STACK, _STACK, _FTYPE - _STACK + 1))

    def forget(self, current: List[int], slots: Tuple[int, ...]) -> None:
        """Give slots variables that nothing is known of."""
        for slot in slots:
            current[slot] = self._ssa.new(OPEN, _BIT if N <= slot <= V else 0)

    def _returns_with(self, value: int) -> None:
        # What every EXC_RETURN has in common.
        ssa = self._ssa
        ssa.learn(value, 0xFFFFFF80, 0xFFFFFF80, Premise.MODE)
        if not self._psp:
            ssa.learn(value, 1 << _STACK, 0, Premise.MODE)
        security = self._security_bits()
        if security is not None:
            for slot in (0, 5, 6):
                ssa.relate((ConstraintKind.FIELD, value, security, slot, slot, 1))

    def _security_bits(self) -> Optional[int]:
        # One variable for the bits that are the same all the time, if the security state is.
        if not self._features.one_state:
            return None
        if self._security is None:
            self._security = self._ssa.new(INPUT)
            if self._features.security is not None:
                self._ssa.learn(self._security, _OF_STATE, self._features.security, Premise.MODE)
        return self._security

    def _op(self, op: int, *inputs: int, detail: Tuple[int, ...] = ()) -> int:
        # Compute something as an instruction would.
        slot = [0] * 4
        for index, variable in enumerate(inputs):
            slot[index] = variable
        self._ssa.run(((int(op), (3,), tuple(range(len(inputs))), detail),), slot, self._ssa.one)
        return slot[3]

    def _bit(self, variable: int, number: int) -> int:
        return self._op(Op.BIT, variable, detail=(number,))

    def _process(self, current: List[int]) -> int:
        # Whether r13 is PSP.
        ssa = self._ssa
        if not self._psp:
            return ssa.constant(0)
        return self._op(Op.AND, self._bit(current[CONTROL], _SPSEL), ssa.invert(current[HANDLER]))

    def _status(self, current: List[int], before: int, thumb: Optional[int]) -> int:
        # The xPSR that is pushed: flags, T, and in bit 9 whether the frame was aligned.
        ssa = self._ssa
        xpsr = ssa.new(INPUT)
        if thumb is None:
            ssa.learn(xpsr, 1 << 24, 1 << 24, Premise.MODE)
        else:
            ssa.relate((ConstraintKind.FIELD, xpsr, thumb, 24, 0, 1))
        for slot, flag in _FLAGS:
            ssa.relate((ConstraintKind.FIELD, xpsr, current[flag], slot, 0, 1))
        ssa.relate((ConstraintKind.FIELD, xpsr, before, 9, 2, 1))
        return xpsr

    def _push_floats(self, frame: int, basic: int) -> None:
        # Lazily or not at all (DDI 0553, B3.22): what is there afterwards is not known.
        ssa = self._ssa
        extended = ssa.invert(basic)
        if ssa.fixed[extended] and not ssa.domain.bits[extended]:
            return
        for index in range(8, 26):
            ssa.store(ssa.offset(frame, 4 * index), ssa.new(UNMODELLED), 4, extended)

    def _exc_return(self, basic: int, thread: int, process: int) -> int:
        ssa = self._ssa
        security = self._security_bits()
        value = ssa.new(INPUT)
        ssa.learn(value, _FIXED, _FIXED & ~2, Premise.MODE)
        for slot, bit in ((_FTYPE, basic), (_MODE, thread), (_STACK, process)):
            ssa.relate((ConstraintKind.FIELD, value, bit, slot, 0, 1))
        if security is not None:
            for slot in (0, 5, 6):
                ssa.relate((ConstraintKind.FIELD, value, security, slot, slot, 1))
        return value
