"""Exceptions of a segment: what resumes, and what the handler keeps.

Of A-profile's banked registers nothing is said.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.elements import Exception_
from gdb_etm.recovery.execution.exception_semantics import (
    PUSHED,
    PUSHED_FLOATS,
    ExceptionSemantics,
    PushedFrame,
    Resumption,
    is_request,
)
from gdb_etm.recovery.execution.stacking import Stacking
from gdb_etm.recovery.functions.calls import ALIGNED
from gdb_etm.recovery.functions.calls import HANDLER as OF_HANDLER
from gdb_etm.recovery.functions.calls import NO_FRAME, THREAD, WAITING, Assumption, CallMatcher, EntryKey, OpenCall
from gdb_etm.recovery.lift.operations import CONTROL, FPCA, HANDLER, LR, PSP, SP, TEMPORARY, C, N, Op, V, Z
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.ssa.exception_frames import Waiting
from gdb_etm.recovery.ssa.exception_frames import goes_on as after_request
from gdb_etm.recovery.ssa.features import Features
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.saved_contexts import Wait
from gdb_etm.recovery.threads.switching_instructions import SwitchedBy

# What a handler does not change that may leave results in a frame.
_MODE: Final = (HANDLER, FPCA)
# In xPSR: 1 where the frame is 4 bytes further down, to be aligned.
_PADDED: Final = 9


class Suspended(NamedTuple):
    """Code that was left, by an exception or at the end."""

    # Of its last instruction.
    number: int
    activation: int
    # Its open calls.
    stack: List[OpenCall]
    # Variable of SP.
    pointer: int


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
    # Variable of the bit that is 1 if its frame is on PSP; None on A-profile.
    process: Optional[int]


def _suspended(entry: _Entry) -> Suspended:
    # SP is the first of the slots that are kept.
    return Suspended(entry.number, entry.activation, entry.stack, entry.kept[0])


def _may_go_on(entry: _Entry, address: Optional[int]) -> bool:
    # Whether what was left may go on at an address.
    return None in (entry.address, address) or address in after_request(entry.address or 0, not entry.keeps_all)


class _Resumed(NamedTuple):
    # Code that went on: the instruction before, what its frame held of the slots, and whether that was on PSP.
    number: int
    popped: List[int]
    process: Optional[int]


class TraceExceptions:
    """Enters and leaves the handlers of a segment.

    :param ssa: The segment's variables.
    :param calls: The open calls of the same segment.
    :param features: What is known of the core.
    :param m_profile: Whether the core is of M-profile.
    :param is_entry: Checks whether a function begins at an address.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        calls: CallMatcher,
        features: Features,
        m_profile: bool,
        is_entry: Callable[[int], bool],
    ) -> None:
        self._ssa = ssa
        self._calls = calls
        self._semantics = ExceptionSemantics(ssa, features)
        self._m_profile = m_profile
        self._is_entry = is_entry
        self._pushed = PUSHED + PUSHED_FLOATS if features.fpu else PUSHED
        self._open: List[Optional[_Entry]] = []
        # Handlers that run since before the beginning.
        self.outer = 0
        # Whether threads use PSP, unless what has switched between them last shows that they use MSP.
        self._on_process = True
        # Whether each may use either.
        self._has_either = False
        # Instructions with which handlers have set MSP, by number.
        self._changes: List[int] = []
        # Threads that were left, by the index of the exception.
        self._left: Dict[int, Tuple[_Entry, PushedFrame]] = {}
        # Threads that went on though nobody knew which, by the index of the exception return.
        self._resumed: Dict[int, _Resumed] = {}

    @property
    def is_active(self) -> bool:
        """Whether a handler of M-profile runs."""
        return self._m_profile and (bool(self._open) or self.outer > 0)

    def switch(self, by: SwitchedBy, is_either: bool = False) -> None:
        """Note that a handler returns to another thread.

        :param by: What it has set.
        :param is_either: Whether threads may use either stack.
        """
        self._has_either |= is_either
        if by is SwitchedBy.MAIN_STACK:
            self._changes.append(self._ssa.number)
        if None not in self._open or by is SwitchedBy.PROCESS_STACK:
            self._on_process = by is SwitchedBy.PROCESS_STACK
        self._open = [None for _ in self._open]

    def interrupted(self) -> List[Suspended]:
        """List the code that goes on when the active exceptions return."""
        return [_suspended(entry) for entry in self._open if entry is not None]

    def failed(self) -> Optional[Tuple[int, int]]:
        """Give SP's and LR's variables as the active exception found them.

        :returns: None where none is active.
        """
        entry = self._open[-1] if self._open else None
        if entry is None:
            return None
        kept = dict(zip(self._calls.slots + self._pushed, entry.kept))
        return kept[SP], kept[LR]

    def enter(
        self,
        event: Exception_,
        current: List[int],
        index: int,
        interrupted: Optional[Template] = None,
        stacking: Stacking = Stacking(),
    ) -> None:
        """Take an exception.

        :param index: Of the exception among the segment's parts.
        :param interrupted: The instruction that it returns to.
        :param stacking: What is known of its frame.
        """
        ssa = self._ssa
        calls = self._calls
        if self._m_profile:
            calls.align_frame()
        kept = self._values(current)
        now = (calls.stack, calls.frame, calls.activation, calls.function, calls.entries)
        entry = _Entry(ssa.number, event.return_address, not is_request(event), kept, *now, None)
        calls.enter()
        calls.entries = []
        self._open.append(entry)
        calls.stack, calls.frame = [], NO_FRAME
        if interrupted is not None:
            # Of several loads some may be done already (EPSR.ICI; DDI 0553, B3.5; DDI 0403, B1.4.2 and B1.5.10).
            slots = [step[1][0] for step in interrupted.steps if step[0] == Op.LOAD]
            self._semantics.forget(
                current, tuple([slot for slot in slots if slot < TEMPORARY]) if len(slots) > 1 else ()
            )
        if self._m_profile:
            pushed = self._semantics.push(event, current, stacking)
            calls.frame = current[SP]
            self._open[-1] = entry = entry._replace(process=pushed.process)
            self._left[index] = entry, pushed
        else:
            self._semantics.forget(current, (SP, LR))
        self._put_all(current)

    def leave(
        self,
        target: Optional[int],
        current: List[int],
        goes_on: Optional[int] = None,
        left: Optional[int] = None,
        index: Optional[int] = None,
    ) -> Optional[Resumption]:
        """Return from an exception.

        :param index: Of the return among the segment's parts.
        :param target: Variable of EXC_RETURN, if known.
        :param goes_on: Address of the next instruction, if known.
        :param left: Index of the exception that left the thread that goes on, if that is another one.
        :returns: What it loads; None on A-profile.
        """
        ssa = self._ssa
        # A handler that set a stack pointer returns to a thread that uses it.
        switched = bool(self._open) and self._open[-1] is None
        if not self._open:
            self.outer -= 1
        entry, kind = self._open.pop() if self._open else None, OF_HANDLER
        made: Optional[_Entry] = None
        if entry is None and left is not None:
            entry, kind = self._left[left][0], THREAD
        if entry is not None and not _may_go_on(entry, goes_on):
            # Its frame was changed, or it is another one.
            made, entry = entry, None
        resumption = None
        if self._m_profile:
            resumption = self._semantics.pop(target, current)
            if (kind == THREAD or switched) and not self._has_either:
                self._believe(resumption.process, self._process, ssa.number)
            if entry is None or kind == THREAD:
                frame = resumption.frame
                self._calls.assumptions.append(Assumption(ALIGNED, SP, frame, frame, ssa.number, ssa.number, 7))
        else:
            self._semantics.forget(current, (SP, LR, N, Z, C, V))
        calls = self._calls
        calls.stack, calls.frame, calls.entered = [], NO_FRAME, entry is None or kind == THREAD
        calls.enter()
        calls.entries = []
        popped = list(current)
        for slot, variable in resumption.floats.items() if resumption is not None else ():
            # Where the frame has none, they are what the handlers have left.
            popped[slot] = variable
        resumed = _Resumed(ssa.number, popped, None if resumption is None else resumption.process)
        if entry is None and switched and index is not None:
            self._resumed[index] = resumed
        if entry is not None:
            calls.stack, calls.frame = entry.stack, entry.frame
            calls.activation = entry.activation
            calls.function, calls.entries = entry.function, entry.entries
            if kind == THREAD:
                # Nothing but assumptions that fall with the thread's may tie what was before to what comes now.
                calls.stack, calls.frame = [call._replace(frame=NO_FRAME) for call in entry.stack], NO_FRAME
                calls.tie(entry.number, [entry.activation] + [call.activation for call in entry.stack])
            calls.assumptions += self._kept(entry, resumed, kind)
        if made is not None and self._m_profile:
            self._go_elsewhere(made, goes_on, current)
        self._put_all(current)
        return resumption

    def _go_elsewhere(self, entry: _Entry, address: Optional[int], current: List[int]) -> None:
        # The handler has made the code that it interrupted call a function, or has ended such a call.
        calls = self._calls
        calls.stack = list(entry.stack)
        if address is None or calls.returns(address, current):
            return
        if entry.address is not None and (entry.keeps_all or self._is_entry(address)):
            kept = entry.kept[: len(calls.slots)]
            calls.stack.append(OpenCall(entry.address, entry.number, kept, entry.frame, entry.activation, frozenset()))

    def _kept(self, entry: _Entry, resumed: _Resumed, kind: int) -> List[Assumption]:
        # What is in a frame may be changed, but the same stack goes on in the same mode.
        slots = self._calls.slots
        if self._m_profile:
            slots += self._pushed if entry.keeps_all else _MODE
        kept = dict(zip(self._calls.slots + self._pushed, entry.kept))
        pairs = [(slot, kept[slot], resumed.popped[slot]) for slot in slots]
        if resumed.process is not None and entry.process is not None:
            pairs.insert(0, (CONTROL, entry.process, resumed.process))
        until = entry.number, resumed.number
        return [Assumption(kind, slot, before, after, *until) for slot, before, after in pairs if before != after]

    def went_on(self, left: int, index: int) -> Optional[List[Assumption]]:
        """Say what holds if a thread went on at an exception return.

        That is one of those where nobody knew which thread does.

        :param left: Index of the exception that left it.
        :param index: Of the exception return.
        """
        if left not in self._left or index not in self._resumed:
            return None
        return self._kept(self._left[left][0], self._resumed[index], THREAD)

    def waits(self, left: int, frame: Waiting) -> Tuple[Optional[Wait], List[Assumption]]:
        """Say what holds if a thread waits, its frame in memory.

        :param left: Index of the exception that left it.
        """
        if left not in self._left:
            return None, []
        entry, pushed = self._left[left]
        known = [] if self._has_either else [(pushed.process, int(self._on_process))]
        known.append((pushed.frame, frame.address))
        if entry.keeps_all:
            known += zip(pushed.words, frame.words)
        if frame.returns is not None:
            known.append((pushed.returns, frame.returns))
        pairs = [(variable, self._ssa.constant(value)) for variable, value in known]
        until = entry.number, self._ssa.number
        changed: Optional[int] = None
        if not self._on_process:
            changed = next((one for one in self._changes if one > entry.number), self._ssa.number)
        return Wait(entry.number, pushed.frame, frame.address, 0, changed), [
            Assumption(WAITING, PSP, constant, variable, *until) for variable, constant in pairs if variable != constant
        ]

    def is_odd(self, left: Optional[int], frame: Waiting) -> bool:
        """Check whether a thread's frames are at no multiples of 8.

        :param left: Index of the exception that left it; None for the thread that the active handlers have interrupted.
        :param frame: The exception's frame, in memory; xPSR tells by how much it was aligned.
        """
        found = self._left.get(-1 if left is None else left)
        active = self._open[0] if self._open and not self.outer else None
        entry = active if left is None else found[0] if found is not None else None
        if entry is None or entry.frame == NO_FRAME or not frame.words:
            return False
        base, above = self._ssa.base_and_distance(entry.frame)
        other, pointer = self._ssa.base_and_distance(entry.kept[0])
        return base == other and bool(above - pointer + frame.address + (frame.words[-1] >> _PADDED & 1) * 4 & 7)

    @property
    def interrupted_at(self) -> Optional[int]:
        """Where the interrupted thread goes on, unless handlers have switched to another."""
        entry = self._open[0] if self._open and not self.outer else None
        return None if entry is None else entry.address

    def left(self, index: int) -> Suspended:
        """Give where a thread was left.

        :param index: Of the exception that left it.
        """
        return _suspended(self._left[index][0])

    @property
    def _process(self) -> int:
        # The variable of whether threads use PSP.
        return self._ssa.one if self._on_process else self._ssa.constant(0)

    def _believe(self, variable: int, constant: int, number: int) -> None:
        # Assume that a variable is a constant.
        if variable != constant:
            here = self._ssa.number
            self._calls.assumptions.append(Assumption(THREAD, PSP, constant, variable, number, here))

    def _values(self, current: List[int]) -> Tuple[int, ...]:
        return self._calls.values(current) + tuple([current[slot] for slot in self._pushed])

    def chain(self, event: Exception_, target: Optional[int], current: List[int]) -> None:
        """Take an exception where another handler returns (Armv8-M ARM, TailChain).

        The frame stays.

        A fault may be that of the return itself, which had no legal EXC_RETURN (ExceptionReturn, INVPC).

        :param target: Variable of EXC_RETURN, if known.
        """
        self._calls.stack, self._calls.frame = [], NO_FRAME
        self._calls.enter()
        self._calls.entries = []
        if not self._m_profile:
            self._semantics.forget(current, (SP, LR))
        else:
            self._semantics.chain(event, target, current)
            self._calls.frame = current[SP]
        self._put_all(current)

    def _put_all(self, current: List[int]) -> None:
        for slot in range(64):
            self._ssa.put(slot, current[slot])
