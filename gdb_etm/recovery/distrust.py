"""Distrust: assumptions about a program that failed in a newer piece.

Pieces that are worked out later do not make them again.
"""

from __future__ import annotations

from typing import Callable, FrozenSet, Iterable, NamedTuple, Set, Tuple

from gdb_etm.recovery.functions.calls import ALIGNED, ARGUMENT, CALL, CONSTANT, FRAME, LINK, PRIVATE, Assumption
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.solve.assumptions import Assumptions, Fallen

# Kinds of assumptions that say something of the code, whenever that runs.
_ABOUT_CODE = (CALL, ARGUMENT, CONSTANT, LINK, FRAME, ALIGNED)

# A kind of assumption, the register that it is about, and an address: where the function begins that a call enters,
# or of an instruction.
Claim = Tuple[int, int, int]

# That stacks are aligned to 8 bytes, in all of the program: a kernel may begin each thread's 4 bytes beside.
EVEN_STACKS: Claim = (ALIGNED, SP, 1)


class Distrust(NamedTuple):
    """What is not assumed any more."""

    claims: FrozenSet[Claim] = frozenset()
    # Where functions begin whose frames others write.
    strange: FrozenSet[int] = frozenset()


class Claims:
    """Facts about the program that assumptions claim.

    :param assumptions: About the segment.
    :param entered: Gives the address of the function that a call enters, by the call's number; 0 if unknown.
    :param address: Gives the address of an instruction; 0 if it is not in the segment.
    """

    def __init__(self, assumptions: Assumptions, entered: Callable[[int], int], address: Callable[[int], int]) -> None:
        self._assumptions = assumptions
        self._entered = entered
        self._address = address

    def doubted(self, distrust: Distrust) -> Set[int]:
        """Give the numbers of the assumptions that are not to be made."""
        made = enumerate(self._assumptions.made)
        return {number for number, one in made if self._claim(one) in distrust.claims}

    def found(self, fallen: Iterable[Fallen], distrust: Distrust) -> Distrust:
        """Add what is known for certain not to have held.

        :param fallen: What was dropped.
        """
        refuted = self._assumptions.is_refuted
        groups = [group.assumptions for group in fallen]
        sure = [one for group in groups for one in group if len(group) == 1 or refuted(one)]
        claims = [self._claim(one) for one in sure if one.kind in _ABOUT_CODE]
        strange = [one.distance for one in sure if one.kind == PRIVATE]
        return Distrust(distrust.claims.union([claim for claim in claims if claim[2]]), distrust.strange.union(strange))

    def _claim(self, one: Assumption) -> Claim:
        if one.kind == CALL:
            # A function that does not keep one register may keep none, but the stack pointer is another matter.
            return (CALL, SP if one.slot == SP else 0, self._entered(one.number))
        if one.is_of_stack:
            return EVEN_STACKS
        return (one.kind, one.slot, self._address(one.returned if one.kind == ARGUMENT else one.number))
