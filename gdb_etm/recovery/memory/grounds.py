"""Grounds: why a store of unknown address is assumed to miss."""

from __future__ import annotations

from typing import Dict, Final, List, Optional, Sequence

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.memory.dead_stack import DeadStack
from gdb_etm.recovery.memory.misses import Ground
from gdb_etm.recovery.memory.object_bounds import ObjectBounds

# Why a store is still in memory at the end, by the link's kind.
STILL_THERE: Final[Dict[int, int]] = {
    ConstraintKind.LINK: Premise.STORED,
    ConstraintKind.OWNED: Premise.OWNED_STORED,
    ConstraintKind.BELOW: Premise.BELOW_STORED,
    ConstraintKind.OUT_OF_REACH: Premise.OUT_OF_REACH_STORED,
}


class FrameGround(Ground):
    """That only one function writes its frame while it runs.

    :param one: An access to the frame.
    :param owned: The accesses to such frames.
    :param bounds: What stores reach as arguments, if that is known.
    """

    def __init__(self, one: int, owned: PrivateAccesses, bounds: Optional[ObjectBounds]) -> None:
        super().__init__(ConstraintKind.OWNED)
        self._owned = owned
        self._bounds = bounds
        self._frame = owned.frame_of(one)
        # Where the function begins, if others may have an address of its frame.
        self._function = owned.passed(one)

    def misses(self, number: int, byte: int) -> bool:
        """Check whether an access misses the frame."""
        if self._function is None:
            return self._owned.frame_of(number) != self._frame
        if self._bounds is None or self._owned.frame_of(number) == self._frame:
            return False
        return self._bounds.misses_frame(number, self._function)


def grounds_between(
    older: int, later: int, owned: PrivateAccesses, dead_stack: Optional[DeadStack], bounds: Optional[ObjectBounds]
) -> List[Ground]:
    """List the grounds for stores between two accesses to the same bytes.

    :param older: FIRST for the beginning.
    :param later: As many as there are accesses for the end.
    """
    found: List[Ground] = []
    if owned.keeps(older, later):
        found.append(FrameGround(older, owned, bounds))
        if owned.passed(older) is None:
            return found
    if dead_stack is not None and dead_stack.holds:
        found.append(dead_stack)
    if bounds is not None:
        found.append(bounds)
    return found


def ground_of(number: int, byte: int, grounds: Sequence[Ground]) -> int:
    """Give the kind of the first ground that holds, or 0."""
    for ground in grounds:
        if ground.misses(number, byte):
            return ground.kind
    return 0
