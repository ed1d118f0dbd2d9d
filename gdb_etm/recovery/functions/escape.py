"""Escape analysis: frames whose function makes no address of anything in them.

A compiler that has no room in registers keeps values on the stack, and relies on finding them there as much as on the
registers that calls keep: nobody else knows where they are.  So a store to an unknown address is assumed to miss what
a function has left in such a frame while it runs.  Code is followed from a function's beginning along all branches; if
it copies the stack pointer or a frame pointer to any other register or to memory, or if not all of it is found,
nothing is assumed of its frames.  A function without call frame information, as of a kernel's handler in assembly, may
read MSP and PSP: there it finds what the exception has pushed.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, FrozenSet, Mapping, NamedTuple, Optional, Set, Tuple

from gdb_etm.recovery.functions.branches import LONG, FunctionCode
from gdb_etm.recovery.functions.calls import NO_FRAME, PRIVATE, Assumption, CallMatcher
from gdb_etm.recovery.functions.losses import Losses
from gdb_etm.recovery.lift.operations import MASK, MSP, PSP, SP, TEMPORARY, C, N, Op, V, Z
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

_FLAGS: Final = (N, Z, C, V)


class Escape:
    """Finds instructions that access private frames, by address.

    :param information: Of the program.
    :param branches: Of the same.
    :param losses: Tells which functions write their caller's frame.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    """

    def __init__(
        self,
        information: FrameInformation,
        branches: FunctionCode,
        losses: Losses,
        template: Callable[[int, Template], Optional[Template]],
    ) -> None:
        self._information = information
        self._branches = branches
        self._losses = losses
        self._template = template
        self._known: Dict[int, Optional[FrozenSet[int]]] = {}

    def function(self, template: Template) -> Optional[int]:
        """Give the entry of a function whose frame is private.

        None if the instruction accesses anything but its function's frame, or if others can reach that frame.
        """
        bounds = self._information.function(template.address)
        if bounds is None or bounds[1] - bounds[0] > LONG:
            return None
        found = self._known[bounds[0]] if self.keeps(bounds, template) else None
        return bounds[0] if found is not None and template.address in found else None

    def keeps(self, bounds: Tuple[int, int], like: Template) -> bool:
        """Check whether a function makes no address of its frame.

        :param bounds: Where it begins and ends.
        :param like: An instruction of it.
        """
        if bounds[0] not in self._known:
            self._known[bounds[0]] = self._follow(bounds, like)
        return self._known[bounds[0]] is not None

    def _follow(self, bounds: Tuple[int, int], like: Template) -> Optional[FrozenSet[int]]:
        # The instructions that access the frame; None when an address of it may be made.
        found: Set[int] = set()
        seen: Set[int] = set()
        todo = [bounds[0]]
        while todo:
            at = todo.pop()
            if at in seen or not bounds[0] <= at < bounds[1]:
                continue
            seen.add(at)
            template = self._template(at, like)
            after = self._branches.after(template, bounds) if template is not None else None
            own = self._accesses(template) if template is not None else None
            if template is None or after is None or own is None or SP in self._losses.of_call(template).used:
                return None
            if own:
                found.add(at)
            todo += after
        return frozenset(found)

    def _accesses(self, template: Template) -> Optional[bool]:
        # Whether an instruction accesses the frame and nothing else; None when it may copy an address of it.
        row = self._information.row(template.address)
        after = self._information.row(template.address + template.size)
        pointers = {SP} if row is None else {SP, row.register}
        # MSP and PSP are SP's banks.
        allowed = {SP, MSP, PSP} if after is None else {SP, MSP, PSP, after.register}
        if row is None and _finds_frame(template):
            return False
        own = other = False
        for op, outputs, inputs, _ in template.steps:
            points = not pointers.isdisjoint(inputs)
            if op in (Op.LOAD, Op.STORE):
                own, other = own or inputs[0] in pointers, other or inputs[0] not in pointers
                if op == Op.STORE and inputs[1] in pointers:
                    return None
                points = False
            other |= op == Op.CLOBBER
            pointers = pointers.union(outputs) if points else pointers.difference(outputs)
        copied = {slot for slot in pointers.intersection(template.writes) if slot < TEMPORARY}
        return None if copied.difference(allowed, _FLAGS) else own and not other


def _finds_frame(template: Template) -> bool:
    # Whether it is MRS of MSP or PSP.  A handler finds so what the exception has pushed, above its own frame.
    selects = [inputs for op, _, inputs, _ in template.steps if op == Op.SELECT]
    return len(template.writes) == 1 and any([SP in one and (MSP in one or PSP in one) for one in selects])


class Owner(NamedTuple):
    """Which frame an access is to, if it is one of these."""

    # Of the function.
    activation: int
    # Where it begins.
    function: int
    # Variable of the canonical frame address, below which the frame is.
    frame: int
    # Whether functions that it calls may have an address of the frame as an argument.
    is_passed: bool = False


class PrivateAccesses:
    """Accesses to private frames, which only their own function can reach.

    :param ssa: With its accesses.
    :param calls: The open calls of the same segment.
    """

    def __init__(self, ssa: TraceSsa, calls: Optional[CallMatcher] = None) -> None:
        self._ssa = ssa
        self._ties = {} if calls is None else calls.ties
        # Threads that are taken to be others than those that were left; as in :attr:`CallMatcher.ties`.
        self.others: Set[Tuple[int, int]] = set()
        self._owners: Dict[int, Owner] = {}
        self._frame_of: Dict[int, Tuple[int, int]] = {}
        # Functions that do not keep their frames to themselves.
        self.strange: Set[int] = set()
        # Activations that have not returned at the end, and the functions that run in them; the variable of SP then,
        # below which nothing is theirs any more.
        self.active: Dict[Tuple[int, int], int] = {}
        # Variables of all that, once somebody has asked.
        self._frames: Optional[Set[int]] = None

    def finish(self, active: Mapping[Tuple[int, int], int]) -> None:
        """Take it that functions have not returned at the end.

        :param active: As in :attr:`active`.
        """
        self.active.update(active)
        self._frames = None

    def note(self, first: int, owner: Owner) -> None:
        """Take it that all accesses from one on are to a frame."""
        if owner.frame != NO_FRAME:
            frame = owner.activation, owner.function
            for number in range(first, len(self._ssa.accesses)):
                self._owners[number] = owner
                self._frame_of[number] = frame

    def located(self) -> int:
        """Count the variables known that say where frames are."""
        if self._frames is None:
            self._frames = {owner.frame for owner in self._owners.values()}.union(self.active.values())
        mask = self._ssa.domain.mask
        return len([frame for frame in self._frames if mask[frame] == MASK])

    def keeps(self, older: int, later: int) -> bool:
        """Check whether only the function itself can have written between two accesses.

        :param later: As many as there are accesses for the end.
        """
        one, other = self._owners.get(older), self._owners.get(later)
        if one is None or one.function in self.strange or not self._is_below(older, one.frame):
            return False
        if self.others and not self._is_thread(one.activation, older, later):
            return False
        if later == len(self._ssa.accesses):
            lowest = self.active.get((one.activation, one.function))
            return lowest is not None and self._is_above(older, lowest)
        return other is not None and one[:2] == other[:2] and self._is_below(later, other.frame)

    def _is_thread(self, activation: int, older: int, later: int) -> bool:
        # Whether all threads that went on between two accesses are what they are taken to be.
        ties = self._ties.get(activation, [])
        return not any(older < at <= later and thread in self.others for at, thread in ties)

    def passed(self, number: int) -> Optional[int]:
        """Give where the function begins to whose frame an access is.

        None unless others may have an address of this frame as an argument.
        """
        owner = self._owners.get(number)
        return owner.function if owner is not None and owner.is_passed else None

    def frame_of(self, number: int) -> Optional[Tuple[int, int]]:
        """Give the activation and the function whose frame an access is to."""
        return self._frame_of.get(number)

    def disown(self, number: int) -> Optional[Assumption]:
        """Take a function's frames as shared; gives the assumption that falls.

        :param number: Of an access to such a frame.
        """
        owner, ssa = self._owners[number], self._ssa
        if owner.function in self.strange:
            return None
        self.strange.add(owner.function)
        at = ssa.accesses[number].number
        return Assumption(PRIVATE, SP, owner.frame, owner.frame, at, at, owner.function)

    def _is_above(self, number: int, lowest: int) -> bool:
        domain, access = self._ssa.domain, self._ssa.accesses[number]
        return domain.mask[lowest] == MASK and domain.bits[access.address] >= domain.bits[lowest]

    def _is_below(self, number: int, frame: int) -> bool:
        domain, access = self._ssa.domain, self._ssa.accesses[number]
        if domain.mask[frame] & domain.mask[access.address] != MASK:
            return False
        return domain.bits[access.address] + access.size <= domain.bits[frame]
