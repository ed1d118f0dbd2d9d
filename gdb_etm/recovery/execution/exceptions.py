"""What the core does by itself when it takes an exception and when it returns from one.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), PushStack, ExceptionTaken, PopStack and ExceptionReturn; Armv7-M
(DDI 0403), B1.5.6 to B1.5.8.  Of A-profile's banked registers nothing is said.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.elements import Exception_
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import INPUT, OPEN, UNMODELLED, Premise
from gdb_etm.recovery.execution.stacking import Stacking
from gdb_etm.recovery.functions.calls import ALIGNED
from gdb_etm.recovery.functions.calls import HANDLER as OF_HANDLER
from gdb_etm.recovery.functions.calls import NO_FRAME, THREAD, WAITING, Assumption, CallMatcher, EntryKey, OpenCall
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
    TEMPORARY,
    C,
    N,
    Op,
    V,
    Z,
)
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.ssa.exception_frames import Waiting
from gdb_etm.recovery.ssa.features import Features
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.saved_contexts import ThreadMatch, Wait

_BIT = 0xFFFFFFFE
_FLAGS = ((31, N), (30, Z), (29, C), (28, V))
_BASIC, _EXTENDED = 0x20, 0x68
_SPSEL = 1
# EXC_RETURN: bit 4 is 0 with an extended frame, bit 3 is 1 for Thread mode, bit 2 for PSP (DDI 0553, D1.2.95).
_FTYPE, _MODE, _STACK = 4, 3, 2
# Bits of EXC_RETURN that are the same always (1 is 0, the others 1), and those that depend on the security state alone.
_FIXED, _OF_STATE = 0xFFFFFF82, 0x61


_PUSHED = (0, 1, 2, 3, 12, LR, N, Z, C, V, HANDLER, CONTROL, FPCA)
_PUSHED_FLOATS = (FPSCR, FP_MODE) + tuple(range(S0, S0 + 16))
_NO_MODE = 0xFFFFFFE0
# PendSV; SysTick.
_FIRST_ASYNCHRONOUS, _FIRST_UNASKED = 14, 15


def is_asynchronous(event: Exception_) -> bool:
    """Tell whether an exception is none that an instruction makes: PendSV, SysTick or an interrupt."""
    return event.vector is not None and event.vector >= _FIRST_ASYNCHRONOUS


def is_request(event: Exception_) -> bool:
    """Tell whether code may have asked for an exception, so that the handler may leave results in its frame.

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
    # By slot, variables of the floating-point registers that are in the frame, if it has any.
    floats: Dict[int, int]


class _Entry(NamedTuple):
    number: int
    # Where the interrupted code goes on, if known.
    address: Optional[int]
    # Whether what it pushes is popped again as it was.
    keeps_all: bool
    kept: Tuple[int, ...]
    stack: List[OpenCall]
    frame: int
    activation: int
    function: int
    entries: List[EntryKey]


def _rest(entry: _Entry) -> Tuple[int, int, List[OpenCall], int]:
    # SP is the first of the slots that are kept.
    return entry.number, entry.activation, entry.stack, entry.kept[0]


class _Pushed(NamedTuple):
    # What is told of a thread that was left.
    entry: _Entry
    # Variable of the frame's address.
    frame: int
    # Variables of its words, the return address left out.
    words: Tuple[int, ...]
    # Variable of EXC_RETURN.
    returns: int
    # Variable of the bit that tells whether it is on PSP.
    process: int


class TraceExceptions:
    """Exceptions of one line.

    :param ssa: The line that is being made.
    :param calls: Of the same line.
    :param features: What is known of the core.
    """

    def __init__(self, ssa: TraceSsa, calls: CallMatcher, features: Features) -> None:
        self._ssa = ssa
        self._calls = calls
        self._features = features
        self._fpu = fpu = features.fpu
        self._psp = features.psp
        self._pushed = _PUSHED + _PUSHED_FLOATS if fpu else _PUSHED
        self._security: Optional[int] = None
        self._open: List[Optional[_Entry]] = []
        # Threads that were left, by the index of the exception.
        self._left: Dict[int, _Pushed] = {}

    def switch(self) -> None:
        """Note that PSP was written: a handler that does so may return to another thread."""
        self._open = [None for _ in self._open]

    def interrupted(self) -> List[Tuple[int, int, List[OpenCall], int]]:
        """List what goes on when the active exceptions return: of each last instruction, activation, calls, and SP."""
        return [_rest(entry) for entry in self._open if entry is not None]

    def enter(
        self,
        event: Exception_,
        current: List[int],
        m_profile: bool,
        index: int,
        interrupted: Optional[Template] = None,
        stacking: Stacking = Stacking(),
    ) -> None:
        """Take an exception.

        :param index: By which it is told when threads go on.
        :param interrupted: The instruction that it returns to.
        :param stacking: What is known of its frame.
        """
        ssa = self._ssa
        calls = self._calls
        if m_profile:
            calls.align_frame()
        kept = self._values(current)
        now = (calls.stack, calls.frame, calls.activation, calls.function, calls.entries)
        entry = _Entry(ssa.number, event.return_address, not is_request(event), kept, *now)
        calls.enter()
        calls.entries = []
        self._open.append(entry)
        calls.stack, calls.frame = [], NO_FRAME
        if interrupted is not None:
            # Of several loads some may be done already (EPSR.ICI; DDI 0553, B3.5; DDI 0403, B1.4.2 and B1.5.10).
            slots = [step[1][0] for step in interrupted.steps if step[0] == Op.LOAD]
            self._forget(current, tuple([slot for slot in slots if slot < TEMPORARY]) if len(slots) > 1 else ())
        if m_profile:
            self._left[index] = self._push(event, current, entry, stacking)
        else:
            self._forget(current, (SP, LR))
        for slot in range(64):
            ssa.put(slot, current[slot])

    def leave(
        self,
        target: Optional[int],
        current: List[int],
        m_profile: bool,
        goes_on: Optional[int] = None,
        left: Optional[int] = None,
    ) -> Optional[Resumption]:
        """Return from an exception.

        :param target: Variable of EXC_RETURN, if known.
        :param goes_on: Address of the next instruction, if known.
        :param left: Index of the exception that left the thread that goes on, if that is another one.
        :returns: What it loads; None on A-profile.
        """
        ssa = self._ssa
        entry, kind = self._open.pop() if self._open else None, OF_HANDLER
        if entry is None and left is not None:
            entry, kind = self._left[left].entry, THREAD
        if entry is not None and None not in (entry.address, goes_on) and entry.address != goes_on:
            # Its frame was changed, or it is another one.
            entry = None
        resumption = None
        if m_profile:
            resumption = self._pop(target, current, kind == THREAD, entry is None or kind == THREAD)
        else:
            self._forget(current, (SP, LR, N, Z, C, V))
        calls = self._calls
        calls.stack, calls.frame, calls.entered = [], NO_FRAME, entry is None or kind == THREAD
        calls.enter()
        calls.entries = []
        if entry is not None:
            calls.stack, calls.frame = entry.stack, entry.frame
            calls.activation = entry.activation
            calls.function, calls.entries = entry.function, entry.entries
            if kind == THREAD:
                # Nothing but assumptions that fall with the thread's may tie what was before to what comes now.
                calls.stack, calls.frame = [call._replace(frame=NO_FRAME) for call in entry.stack], NO_FRAME
                calls.tie(entry.number, [entry.activation] + [call.activation for call in entry.stack])
            slots = calls.slots + self._pushed if entry.keeps_all and m_profile else calls.slots
            popped = list(current)
            for slot, variable in resumption.floats.items() if resumption is not None else ():
                # Where the frame has none, they are what the handlers have left.
                popped[slot] = variable
            calls.assume(entry.number, slots, entry.kept, popped, kind)
        for slot in range(64):
            ssa.put(slot, current[slot])
        return resumption

    def match(self, left: int, slots: Tuple[int, ...]) -> ThreadMatch:
        """Tell of a thread that went on where memory has frames that fit it."""
        pushed = self._left[left]
        return ThreadMatch(pushed.entry.number, pushed.entry.kept[0], slots)

    def wait(self, left: int, frame: Waiting) -> Optional[Wait]:
        """Assume that a thread waits at the end with a frame that is in memory then.

        :param left: Index of the exception that left it.
        """
        pushed = self._left.get(left)
        if pushed is None:
            return None
        known = [(pushed.process, 1), (pushed.frame, frame.address)]
        if pushed.entry.keeps_all:
            known += zip(pushed.words, frame.words)
        if frame.returns is not None:
            known.append((pushed.returns, frame.returns))
        for variable, value in known:
            self._believe(variable, self._ssa.constant(value), pushed.entry.number, WAITING)
        return Wait(pushed.entry.number, pushed.frame, frame.address)

    def left(self, index: int) -> Tuple[int, int, List[OpenCall], int]:
        """Tell of a thread that was left, as :meth:`interrupted` does.

        :param index: Of the exception that left it.
        """
        return _rest(self._left[index].entry)

    def _believe(self, variable: int, constant: int, number: int, kind: int = THREAD) -> None:
        # Assume that a variable is a constant.
        if variable != constant:
            here = self._ssa.number
            self._calls.assumptions.append(Assumption(kind, PSP, constant, variable, number, here))

    def _values(self, current: List[int]) -> Tuple[int, ...]:
        return self._calls.values(current) + tuple([current[slot] for slot in self._pushed])

    def chain(self, event: Exception_, target: Optional[int], current: List[int], m_profile: bool) -> None:
        """Take an exception where another one's handler returns (Armv8-M ARM, TailChain): the frame stays.

        A fault may be that of the return itself, which had no legal EXC_RETURN (ExceptionReturn, INVPC).

        :param target: Variable of EXC_RETURN, if known.
        """
        ssa = self._ssa
        self._calls.stack, self._calls.frame = [], NO_FRAME
        self._calls.enter()
        self._calls.entries = []
        if not m_profile:
            self._forget(current, (SP, LR))
        else:
            self._forget(current, (0, 1, 2, 3, 12, N, Z, C, V, GE))
            current[CONTROL] = self._op(Op.BITS, ssa.constant(0), current[CONTROL], detail=(1, 0, 1))
            current[FPCA] = ssa.constant(0)
            value = ssa.new(INPUT) if target is None else target
            if is_asynchronous(event):
                self._returns_with(value)
                current[LR] = self._exc_return(*[self._bit(value, slot) for slot in (_FTYPE, _MODE, _STACK)])
            else:
                current[LR] = ssa.new(INPUT)
                ssa.relate((ConstraintKind.FIELD, current[LR], value, _STACK, _STACK, _FTYPE - _STACK + 1))
        for slot in range(64):
            ssa.put(slot, current[slot])

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

    def _forget(self, current: List[int], slots: Tuple[int, ...]) -> None:
        for slot in slots:
            current[slot] = self._ssa.new(OPEN, _BIT if N <= slot <= V else 0)

    def _op(self, op: Op, *inputs: int, detail: Tuple[int, ...] = ()) -> int:
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

    def _push(self, event: Exception_, current: List[int], entry: _Entry, stacking: Stacking) -> _Pushed:
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
        for index, variable in enumerate(words + (returns, xpsr)):
            stored = variable if stacking.stored else ssa.new(UNMODELLED)
            ssa.store(ssa.offset(frame, 4 * index), stored, 4, ssa.one)
        if self._fpu:
            self._push_floats(frame, basic)
        pointer = frame if stacking.limit is None else ssa.select(self._fresh_bit(), stacking.limit, frame)
        current[MSP] = ssa.select(process, current[MSP], pointer)
        current[PSP] = ssa.select(process, pointer, current[PSP])
        current[SP] = current[MSP]
        self._forget(current, (0, 1, 2, 3, 12, N, Z, C, V, GE))
        current[LR] = self._exc_return(basic, thread, process)
        current[HANDLER] = ssa.one
        current[CONTROL] = self._op(Op.BITS, zero, current[CONTROL], detail=(1, 0, 1))
        current[FPCA] = zero
        return _Pushed(entry, frame, words + (xpsr,), current[LR], process)

    def _fresh_bit(self) -> int:
        return self._ssa.new(INPUT, _BIT)

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

    def _pop(self, target: Optional[int], current: List[int], is_thread: bool, is_other: bool) -> Resumption:
        # With another frame than that of the exception; with one of a thread.
        ssa = self._ssa
        value = ssa.new(INPUT) if target is None else target
        self._returns_with(value)
        thread = self._bit(value, _MODE)
        process = self._op(Op.AND, self._bit(value, _STACK), thread) if self._psp else ssa.constant(0)
        basic = self._bit(value, _FTYPE) if self._fpu else ssa.one
        frame = ssa.select(process, current[PSP], current[SP])
        if is_thread:
            self._believe(process, ssa.one, ssa.number)
        if is_other:
            self._calls.assumptions.append(Assumption(ALIGNED, SP, frame, frame, ssa.number, ssa.number, 7))
        loaded = [ssa.load(ssa.offset(frame, 4 * index), 4, ssa.one) for index in range(8)]
        for slot, variable in zip((0, 1, 2, 3, 12, LR), loaded):
            current[slot] = variable
        for slot, flag in _FLAGS:
            current[flag] = self._bit(loaded[7], slot)
        self._forget(current, (GE, FAULTMASK))
        raised = ssa.select(basic, ssa.offset(frame, _BASIC), ssa.offset(frame, _EXTENDED))
        current[MSP] = current[SP]
        padding = self._op(Op.BITS, loaded[7], ssa.constant(0), detail=(2, 9, 1))
        current[SP] = self._op(Op.OR, raised, padding)
        current[HANDLER] = ssa.invert(thread)
        current[CONTROL] = self._op(Op.BITS, process, current[CONTROL], detail=(1, 0, 1))
        current[FPCA] = ssa.invert(basic)
        floats: Dict[int, int] = {}
        for slot in _PUSHED_FLOATS if self._fpu else ():
            floats[slot] = ssa.new(UNMODELLED, _NO_MODE if slot == FP_MODE else 0)
            current[slot] = ssa.select(basic, current[slot], floats[slot])
        return Resumption(loaded[6], self._bit(loaded[7], 24), frame, floats)
