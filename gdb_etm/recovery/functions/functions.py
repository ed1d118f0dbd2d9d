"""Facts about functions from call frame information and code, at one moment."""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from gdb_etm.program.isa import Isa
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.functions.calls import ARGUMENT, CONSTANT, LINK, NO_FRAME, CallMatcher, Landing, OpenCall
from gdb_etm.recovery.functions.entry_values import EntryValues, Held
from gdb_etm.recovery.functions.escape import Escape, Owner, PrivateAccesses
from gdb_etm.recovery.functions.frames import StackFrames
from gdb_etm.recovery.functions.losses import Losses
from gdb_etm.recovery.functions.main_stack import MainStack
from gdb_etm.recovery.functions.origins import CONSTANT as NOTHING
from gdb_etm.recovery.functions.origins import FIRST_OTHER, Origin
from gdb_etm.recovery.lift.operations import LR, MASK
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa


class Functions:
    """Makes assumptions on the functions of a segment.

    :param ssa: The variables of the segment that is being built.
    :param calls: The open calls of the same segment.
    :param information: Of the program.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    :param frame_of: Gives the beginning of a function whose frame alone an instruction accesses, by its address, if
        others can reach this frame by their arguments alone.
    :param switches: Tells where another thread's stack comes.
    :param resets_link: Whether a reset sets LR to ones.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        calls: CallMatcher,
        information: FrameInformation,
        template: Callable[[int, Template], Optional[Template]],
        frame_of: Callable[[int], Optional[int]],
        switches: Callable[[Template], bool],
        resets_link: bool = False,
    ) -> None:
        self._ssa = ssa
        self._frame_of = frame_of
        self._resets_link = resets_link
        self._calls = calls
        self._information = information
        self._branches = branches = FunctionCode(information, ssa.program)
        self._frames = StackFrames(information, template)
        rules = ssa.rules
        self._main_stack = MainStack(ssa.program, information, rules.ram, self._frames, template, rules.objects)
        self._losses = losses = Losses(information, branches, template)
        self._escape = Escape(information, branches, losses, template)
        self._entry_values = EntryValues(
            *(information, branches, self._escape, losses, template, ssa.read_constant, switches)
        )
        # Accesses to frames that nobody else can reach.
        self.owned = PrivateAccesses(ssa, calls)

    def arrive(self, template: Template, current: Sequence[int]) -> None:
        """Take the facts before an instruction that follows a change of frame.

        SP or a frame pointer has changed.

        :param current: The variable of each slot.
        """
        calls = self._calls
        calls.locate(self._frames.at(template), current)
        calls.place(self._main_stack.frame(template))
        bounds = self._information.function(template.address)
        if calls.entered and bounds is not None:
            calls.function = bounds[0]
            if template.address > bounds[0]:
                self._look_back(template, current)
            self._settle(template, current, self._link(bounds[0], template))
        calls.left = (0, [])
        calls.entered = False

    def _link(self, function: int, like: Template) -> Optional[int]:
        # What LR was where a function began, if a reset or one call alone leads there.
        if self._resets_link and self._main_stack.is_reset(function):
            return MASK
        return self._main_stack.returns_to(function, like)

    def _settle(self, template: Template, current: Sequence[int], link: Optional[int]) -> None:
        # What the function's code shows: how values with one base differ from the first; and LR, as it was at first.
        calls = self._calls
        groups: Dict[int, Tuple[int, int]] = {}
        for held in self._entry_values.at(template):
            variable = self._variable(held, current)
            base, distance = held.origin
            if variable is None:
                continue
            if base in groups:
                one, at = groups[base]
                calls.differ(CONSTANT, held.slot, one, variable, distance - at)
                continue
            if base >= 0:
                groups[base] = variable, distance
            if base == LR and link is not None:
                calls.believe(LINK, held.slot, variable, Origin(NOTHING, (link + distance) & MASK))
            elif base < FIRST_OTHER:
                calls.believe(CONSTANT, held.slot, variable, held.origin)

    def _variable(self, held: Held, current: Sequence[int]) -> Optional[int]:
        # A word of the frame is read, as it were.
        calls, ssa = self._calls, self._ssa
        if not held.distance:
            return current[held.slot]
        if calls.frame == NO_FRAME:
            return None
        first = len(ssa.accesses)
        variable = ssa.load(ssa.offset(calls.frame, held.distance), 4, ssa.one)
        self.owned.note(first, Owner(calls.activation, calls.function, calls.frame))
        return variable

    def _look_back(self, template: Template, current: Sequence[int]) -> None:
        # What a function was called with that has returned to where a function goes on.
        function, entries = self._calls.left
        passed = self._entry_values.passed(template, function) if entries else None
        for variable, register, distance, entered, _, since in entries:
            # One that it went on to by a tail call has other arguments, and the same return address.
            origin = passed.get(register) if passed is not None and entered == function else None
            if register == LR:
                origin = Origin(NOTHING, template.address | int(template.isa is Isa.T32))
            if origin is None:
                continue
            held: Optional[Held] = None
            if passed is not None and origin.base >= 0:
                held = self._entry_values.survivor(template, passed, origin.base, function)
            one = self._variable(held, current) if held is not None else None
            if held is not None and one is not None:
                apart = origin.distance + distance - held.origin.distance
                self._calls.differ(ARGUMENT, register, one, variable, apart, since)
            elif origin.base < FIRST_OTHER:
                origin = Origin(origin.base, (origin.distance + distance) & MASK)
                self._calls.believe(ARGUMENT, register, variable, origin, since)

    def access(self, template: Template, first: int) -> None:
        """Take the accesses of an instruction.

        :param first: Number of the first of them.
        """
        function, is_passed = self._escape.function(template), False
        if function is None:
            function, is_passed = self._frame_of(template.address), True
        if function is not None:
            self.owned.note(first, Owner(self._calls.activation, function, self._calls.frame, is_passed))

    def lost(self, template: Template) -> FrozenSet[int]:
        """List the registers that a call does not keep as it should."""
        return self._losses.of_call(template).lost

    def stays(self, start: int, address: int) -> bool:
        """Check whether a branch leads into the middle of its own function."""
        bounds = self._information.function(address)
        return bounds is not None and bounds[0] < address and bounds[0] <= start < bounds[1]

    def landing(self, start: int, address: int) -> Optional[Landing]:
        """Give what may be a landing pad.

        It is in the middle of another function than the branch.
        """
        bounds = self._information.function(address)
        if bounds is None or not bounds[0] < address or bounds[0] <= start < bounds[1]:
            return None
        return Landing(*bounds, self._branches.is_behind_call(address))

    def running(
        self, at: int, activation: int, stack: Sequence[OpenCall], pointer: int, address: Callable[[int], int]
    ) -> Dict[Tuple[int, int], int]:
        """List a function and its callers, which have not returned yet.

        It is as in :attr:`PrivateAccesses.active`.

        :param at: Number of the last instruction in it.
        :param stack: Its calls.
        :param pointer: Variable of SP as it was left.
        :param address: Gives the address of an instruction by its number.
        """
        running: List[Tuple[int, int]] = [(call.number, call.activation) for call in stack]
        bounds = [(one, self._information.function(address(number))) for number, one in running + [(at, activation)]]
        return {(one, found[0]): pointer for one, found in bounds if found is not None}
