"""Assumptions of a segment, and which of them fall together.

Of assumptions that contradict the facts one does not hold.

What is less sure falls first: that a thread goes on, before what calls and handlers keep; registers, before SP.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Callable, Final, List, NamedTuple, Set, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.functions.calls import ALIGNED, ARGUMENT, BLOCK, CALL, FRAME, HANDLER, THREAD, WAITING, Assumption
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Kinds that may tie what was before a thread was left to what comes when it has gone on.
_ACROSS: Final = (CALL, ARGUMENT)


class Fallen(NamedTuple):
    """Assumptions that were dropped together, because one of them does not hold."""

    assumptions: Tuple[Assumption, ...]


class Assumptions:
    """The assumptions on a segment, by their numbers.

    :param ssa: The variables of the segment.
    :param made: The assumptions; others may be added while it is worked out.
    :param entered: Gives the address of the function that a call enters, by the call's number.
    :param address: Gives the address of an instruction.
    """

    def __init__(
        self, ssa: TraceSsa, made: List[Assumption], entered: Callable[[int], int], address: Callable[[int], int]
    ) -> None:
        self._domain = ssa.domain
        self._fixed = ssa.fixed
        # All of them.
        self.made = made
        self._entered = entered
        self._address = address
        # Threads whose block alone shows what they did afterwards, by the numbers of the
        # instructions before they were left.
        self.by_block: Set[int] = set()
        # Threads of which another course would contradict what is known, by the same.
        self.by_elimination: Set[int] = set()

    def constraint(self, number: int) -> Constraint:
        """Give what an assumption says."""
        one = self.made[number]
        if one.kind == ALIGNED:
            return (ConstraintKind.ALIGNED, one.before, one.distance, number)
        return (ConstraintKind.KEPT, one.before, one.after, one.distance, number)

    def fallen(self, numbers: Set[int]) -> Fallen:
        """Say that some were dropped together."""
        return Fallen(tuple([self.made[number] for number in sorted(numbers)]))

    def others(self, dropped: Set[int]) -> Set[int]:
        """Give those that have not been dropped."""
        return set(range(len(self.made))) - dropped

    def is_refuted(self, assumption: Assumption) -> bool:
        """Check whether an assumption is known to be false."""
        domain, one, other = self._domain, assumption.before, assumption.after
        if assumption.kind == ALIGNED:
            return bool(domain.bits[one] & domain.mask[one] & assumption.distance)
        if assumption.kind > HANDLER:
            return False
        return bool((domain.bits[one] ^ domain.bits[other]) & domain.mask[one] & domain.mask[other])

    def placed(self) -> Set[int]:
        """List those that say at which address a frame is."""
        return {number for number, one in enumerate(self.made) if self.is_placed(one)}

    def is_placed(self, assumption: Assumption) -> bool:
        """Check whether an assumption says at which address a frame is."""
        return assumption.kind == FRAME and bool(self._fixed[assumption.before])

    def refuted(self, numbers: Set[int]) -> Set[int]:
        """List the assumptions that are known to be false."""
        return {number for number in numbers if self.is_refuted(self.made[number])}

    def least_sure(self, blamed: Set[int]) -> Set[int]:
        """Choose which of the blamed assumptions fall; those on SP last."""
        if any(self.is_placed(self.made[number]) for number in blamed):
            return self.placed()
        switched = {number for number in blamed if self.made[number].kind >= THREAD} or self._below(blamed)
        if switched:
            rests = any(self._rests_on_blocks(self.made[number]) for number in switched)
            return self.of_switches(switched) | (self.of_blocks(self.made[-1].returned) if rests else set())
        unsure = {one for one in blamed if self.made[one].kind <= HANDLER and self.made[one].slot != SP}
        return unsure or blamed

    def _below(self, blamed: Set[int]) -> Set[int]:
        # Threads that went on between calls and their returns.
        calls = [self.made[number] for number in blamed if self.made[number].kind in _ACROSS]
        return {
            number
            for number, one in enumerate(self.made)
            if one.kind == THREAD and any(_is_across(call, one) for call in calls)
        }

    def of_blocks(self, until: int) -> Set[int]:
        """Give all that rests on which blocks the scheduler keeps threads in.

        What a thread has loaded before it was left counts from where it did.

        :param until: The last instruction before which threads were left.
        """
        made = enumerate(self.made)
        return self.of_switches(
            {n for n, one in made if min(one.number, one.returned) <= until and self._rests_on_blocks(one)}
        )

    def _rests_on_blocks(self, one: Assumption) -> bool:
        return one.kind == BLOCK or one.kind in (THREAD, WAITING) and one.number in self.by_block

    def of_switches(self, blamed: Set[int]) -> Set[int]:
        """List the assumptions on the same thread switches.

        Those on calls that other threads returned from are among them.
        """
        fallen = [self.made[number] for number in blamed]
        same = {(one.kind, one.number, one.returned) for one in fallen}
        threads = sorted({(one.number, one.returned) for one in fallen if one.kind == THREAD})
        return blamed | {
            number
            for number, one in enumerate(self.made)
            if (one.kind, one.number, one.returned) in same or one.kind in _ACROSS and _is_across_any(one, threads)
        }

    def of_functions(self, refuted: Set[int]) -> Set[int]:
        """List the assumptions that say the same of the code.

        That a function keeps registers, but for SP, and call frame information at one address; and that stacks are
        aligned to 8 bytes.
        """
        fallen = [self.made[number] for number in refuted]
        entered = {self._entered(one.number) for one in fallen if one.kind == CALL and one.slot != SP}
        told = {self._address(one.number) for one in fallen if one.kind == FRAME}
        odd = any(one.is_of_stack for one in fallen)
        return {
            number
            for number, one in enumerate(self.made)
            if one.kind == CALL
            and one.slot != SP
            and self._entered(one.number) in entered
            or one.kind == FRAME
            and self._address(one.number) in told
            or odd
            and one.is_of_stack
        }

    def of_kinds(self, blamed: Set[int]) -> Set[int]:
        """List the assumptions of the same kinds; those on SP count apart."""
        kinds = {(one.kind, one.slot == SP) for one in [self.made[number] for number in blamed]}
        return {number for number, one in enumerate(self.made) if (one.kind, one.slot == SP) in kinds}


def _is_across(call: Assumption, switch: Assumption) -> bool:
    # Whether a call returned in a thread that went on after it.
    return call.number <= switch.number and switch.returned < call.returned


def _is_across_any(call: Assumption, switches: List[Tuple[int, int]]) -> bool:
    # The same of several threads: the instructions before they were left and before they went on, in order.
    return any(returned < call.returned for _, returned in switches[bisect_left(switches, (call.number, 0)) :])
