"""The calling convention as assumptions: SP and r4 to r11 are preserved.

Calls and returns are matched by a stack of return addresses of our own (AAPCS32, 6.1.1 and 6.3).
"""

from __future__ import annotations

from typing import Dict, Final, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.recovery.functions.frames import SavedRegister
from gdb_etm.recovery.functions.origins import FRAME as OF_FRAME
from gdb_etm.recovery.functions.origins import Origin
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

NO_FRAME: Final = -1
# Calls that one return may leave at once, by tail calls that look like calls.
_DEEP: Final = 4


# What assumptions are about.
CALL: Final = 0
HANDLER: Final = 1
ALIGNED: Final = 2
FRAME: Final = 3
CONSTANT: Final = 4
ARGUMENT: Final = 5
LINK: Final = 6
THREAD: Final = 7
WAITING: Final = 8
PRIVATE: Final = 9
BLOCK: Final = 10


class Assumption(NamedTuple):
    """An assumption: mostly that a register is preserved by a call."""

    # CALL; HANDLER for an exception; ALIGNED: the bits in ``distance`` of ``before``, what SP is set to or a canonical
    # frame address, are 0; FRAME: ``after`` is the canonical frame address, ``before``, plus the distance;
    # CONSTANT: ``after`` is what the function sets the register to, ``before`` plus the distance; ARGUMENT: the same of
    # what it was called with; LINK: the same of LR where the function began; PRIVATE: the function at ``distance``
    # alone writes its frames; BLOCK: ``after`` is where a handler has saved PSP or loaded it from.
    kind: int
    slot: int
    # Variable.
    before: int
    # Variable.
    after: int
    # The call's, or that of the instruction before the exception; of an ARGUMENT, that before which it was found.
    number: int
    # The first instruction after it.
    returned: int
    distance: int = 0

    @property
    def is_of_stack(self) -> bool:
        """Whether it is that a stack is aligned to 8 bytes."""
        return self.kind == ALIGNED and self.distance == 7


class OpenCall(NamedTuple):
    """A call that has not returned."""

    returns_to: int
    number: int
    kept: Tuple[int, ...]
    # Variable of the caller's canonical frame address, or NO_FRAME.
    frame: int
    # The caller's.
    activation: int
    # Slots that are not kept, other than the calling convention says.
    lost: FrozenSet[int]
    # Whether SP has been that of one stack since.
    is_on_one_stack: bool = True


class Landing(NamedTuple):
    """Where execution may go on after an exception of C++."""

    # The function that it is in the middle of.
    start: int
    end: int
    # Whether a call may be right before it.
    is_behind_call: bool


class EntryKey(NamedTuple):
    """A fact of a function in terms of an entry register."""

    variable: int
    register: int
    # From what the register held.
    distance: int
    # Where the function begins.
    function: int
    # The function's.
    activation: int
    # Of the instruction before which it is known.
    number: int


class CallMatcher:
    """Matches calls with returns.

    :param ssa: The variables of the segment that is being built.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        self._slots = (SP,) + ssa.rules.calls_keep
        # Variable of the canonical frame address of the function that runs.
        self.frame = NO_FRAME
        # The last one whose address was assumed.
        self._placed = NO_FRAME
        # A number of its own for each time that a function is called, as far as calls and returns are matched.
        self.activation = 0
        self._activations = 0
        # Entry of the last function that went on without having been seen before.
        self.function = 0
        # Whether the running function has not been seen before.
        self.entered = True
        # Calls that have not returned.
        self.stack: List[OpenCall] = []
        # For activations how many accesses there were when their thread went on, and of what assumption that is: the
        # instructions before it was left and before it went on.
        self.ties: Dict[int, List[Tuple[int, Tuple[int, int]]]] = {}
        # What is known by the entry of the function that runs, if its beginning was not seen.
        self.entries: List[EntryKey] = []
        # Entry of the last function that was left and whose beginning was not seen, and its facts.
        self.left: Tuple[int, List[EntryKey]] = (0, [])
        self.assumptions: List[Assumption] = []

    @property
    def slots(self) -> Tuple[int, ...]:
        """The slots that a call keeps."""
        return self._slots

    def values(self, current: Sequence[int]) -> Tuple[int, ...]:
        """Give the variables of the slots that a call keeps."""
        return tuple([current[slot] for slot in self._slots])

    def call(self, number: int, returns_to: int, current: Sequence[int], lost: FrozenSet[int]) -> None:
        """Note a call.

        :param lost: Slots that are not kept, other than the calling convention says.
        """
        self.stack.append(OpenCall(returns_to, number, self.values(current), self.frame, self.activation, lost))
        self.frame = current[SP]
        self.enter()

    def enter(self) -> None:
        """Start an activation: code with its own frame, or an unknown one."""
        self._activations += 1
        self.activation = self._activations

    def change_stack(self) -> None:
        """Go over to another thread's stack, of which nothing is known."""
        self.stack, self.entries, self.left = [], [], (0, [])
        self.frame = NO_FRAME
        self.entered = True
        self.enter()

    def lose_frames(self) -> None:
        """Note that SP may be another stack's from here on."""
        self.stack = [call._replace(frame=NO_FRAME, is_on_one_stack=False) for call in self.stack]
        self.frame = NO_FRAME

    def tie(self, number: int, activations: Sequence[int]) -> None:
        """Tie activations to a thread: they hold only if it goes on.

        :param number: Of the instruction before it was left.
        """
        for activation in activations:
            self.ties.setdefault(activation, []).append((len(self._ssa.accesses), (number, self._ssa.number)))

    def arrive(
        self, number: int, address: int, within: bool, current: Sequence[int], pad: Optional[Landing] = None
    ) -> None:
        """Take an indirect branch other than a call; possibly a return.

        :param within: Whether it stays in a function.
        :param pad: What may be a landing pad there.
        """
        if self.returns(address, current):
            return
        stack = self.stack
        inside = [] if pad is None else [at for at, call in enumerate(stack) if pad.start < call.returns_to <= pad.end]
        if pad is not None and len(inside) == 1 and (not pad.is_behind_call or stack[inside[0]].returns_to == address):
            # The registers are restored that the functions in between had saved (EHABI32, unwinding phase 2).
            self._leave(inside[0], current)
        elif not within:
            own = [one for one in self.entries if one.activation == self.activation and not stack]
            self.left = (own[0].function if own else 0, own)
            self.entries = []
            self.frame = NO_FRAME
            self.entered = True
            self.enter()

    def returns(self, address: int, current: Sequence[int]) -> bool:
        """End a call that returns to an address, if there is one."""
        stack = self.stack
        for deep in range(1, min(len(stack), _DEEP) + 1):
            if stack[-deep].returns_to == address:
                self._leave(len(stack) - deep, current)
                return True
        return False

    def _leave(self, at: int, current: Sequence[int]) -> None:
        # One of the calls has ended, and those that were made in it.
        call = self.stack[at]
        del self.stack[at:]
        self.frame, self.activation = call.frame, call.activation
        lost = call.lost.difference((SP,)) if call.is_on_one_stack else call.lost.union((SP,))
        kept = [(slot, before) for slot, before in zip(self._slots, call.kept) if slot not in lost]
        self.assume(call.number, [slot for slot, _ in kept], [before for _, before in kept], current, CALL)

    def believe(self, kind: int, slot: int, variable: int, origin: Origin, since: Optional[int] = None) -> None:
        """Assume what a register or a frame word holds.

        Or note what it holds in terms of the function's entry.

        :param kind: CONSTANT, ARGUMENT or LINK.
        :param since: As for :meth:`differ`.
        """
        ssa = self._ssa
        if origin.base >= 0:
            number = ssa.number if since is None else since
            known = (self.function, self.activation, number)
            self.entries.append(EntryKey(variable, origin.base, origin.distance, *known))
            return
        base, distance = ssa.constant(origin.distance), 0
        if origin.base == OF_FRAME:
            if self.frame == NO_FRAME:
                return
            base, distance = self.frame, origin.distance
        self.differ(kind, slot, base, variable, distance, since)

    def differ(self, kind: int, slot: int, one: int, other: int, distance: int, since: Optional[int] = None) -> None:
        """Assume that ``other = one + distance``, where that is not known.

        :param kind: CONSTANT, ARGUMENT or LINK.
        :param since: The instruction before which ``other`` was found; None for the one that comes now.
        """
        number = self._ssa.number
        if self._ssa.offset(one, distance) != other:
            since = number if since is None else since
            self.assumptions.append(Assumption(kind, slot, one, other, since, number, distance & MASK))

    def locate(self, slots: Sequence[SavedRegister], current: Sequence[int]) -> None:
        """Take the call frame information before an instruction."""
        ssa = self._ssa
        for register, distance in slots:
            variable = current[register]
            if self.frame == NO_FRAME:
                self.frame = ssa.offset(variable, -distance)
            elif self._may_be(variable, distance):
                known = Assumption(FRAME, register, self.frame, variable, ssa.number, ssa.number, distance & MASK)
                self.assumptions.append(known)

    def _may_be(self, variable: int, distance: int) -> bool:
        # Whether it is open that a register is that far from the frame: assembly may have wrong information.
        ssa = self._ssa
        one = ssa.offset(self.frame, distance)
        return ssa.base(one) != ssa.base(variable) and not (ssa.fixed[one] and ssa.fixed[variable])

    def place(self, address: Optional[int]) -> None:
        """Assume where the running function's frame is, once for each.

        :param address: Its canonical frame address; None if that is not known.
        """
        ssa = self._ssa
        if address is not None and self.frame not in (NO_FRAME, self._placed):
            self._placed = self.frame
            before = ssa.constant(address)
            self.assumptions.append(Assumption(FRAME, SP, before, self.frame, ssa.number, ssa.number))

    def assume(self, number: int, slots: Sequence[int], kept: Sequence[int], current: Sequence[int], kind: int) -> None:
        """Assume that registers have the values that they had.

        :param kept: The variables of the slots then.
        """
        for slot, before in zip(slots, kept):
            after = current[slot]
            if before != after:
                self.assumptions.append(Assumption(kind, slot, before, after, number, self._ssa.number))

    def align(self, variable: int) -> None:
        """Assume that SP is set to a multiple of 4.

        The core ignores the other bits (Armv8-M ARM, B3.8).
        """
        number = self._ssa.number
        self.assumptions.append(Assumption(ALIGNED, SP, variable, variable, number, number, 3))

    def align_frame(self) -> None:
        """Assume that the canonical frame address is a multiple of 8.

        So SP is at each call (AAPCS32, 6.2.1.2), but not within libraries in assembly; there the caller has pushed an
        odd number of words.
        """
        if self.frame == NO_FRAME:
            return
        outer = self.stack[-1].frame if self.stack else NO_FRAME
        if outer != NO_FRAME:
            base, distance = self._ssa.base_and_distance(outer)
            own, below = self._ssa.base_and_distance(self.frame)
            if own == base and (distance - below) & 7:
                return
        number = self._ssa.number
        self.assumptions.append(Assumption(ALIGNED, SP, self.frame, self.frame, number, number, 7))
