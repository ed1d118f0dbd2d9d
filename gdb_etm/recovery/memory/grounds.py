"""Grounds: why a store of unknown address is assumed to miss."""

from __future__ import annotations

from typing import Callable, Dict, Final, List, Optional, Sequence, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.memory.dead_stack import DeadStack
from gdb_etm.recovery.memory.object_bounds import ObjectBounds

# Whether a store, by its number, misses a byte.
Misses = Callable[[int, int], bool]
# The kind of the constraint that a link is, and which stores miss for that reason.
Ground = Tuple[int, Misses]

# Why a store is still in memory at the end, by the link's kind.
STILL_THERE: Final[Dict[int, int]] = {
    ConstraintKind.LINK: Premise.STORED,
    ConstraintKind.OWNED: Premise.OWNED_STORED,
    ConstraintKind.BELOW: Premise.BELOW_STORED,
    ConstraintKind.OUT_OF_REACH: Premise.OUT_OF_REACH_STORED,
}


def grounds_between(
    older: int, later: int, owned: PrivateAccesses, dead_stack: Optional[DeadStack], bounds: Optional[ObjectBounds]
) -> List[Ground]:
    """List the grounds for stores between two accesses to the same bytes.

    :param older: FIRST for the beginning.
    :param later: As many as there are accesses for the end.
    """
    found: List[Ground] = []
    if owned.keeps(older, later):
        found.append((ConstraintKind.OWNED, misses_frame_of(older, owned, bounds)))
        if owned.passed(older) is None:
            return found
    if dead_stack is not None and dead_stack.holds:
        found.append((ConstraintKind.BELOW, dead_stack.misses))
    if bounds is not None:
        found.append((ConstraintKind.OUT_OF_REACH, bounds.misses))
    return found


def misses_frame_of(one: int, owned: PrivateAccesses, bounds: Optional[ObjectBounds]) -> Misses:
    """Give which accesses miss the frame that one of them is to."""
    frame, function = owned.frame_of(one), owned.passed(one)
    if function is None:
        return lambda number, byte: owned.frame_of(number) != frame
    if bounds is None:
        return lambda number, byte: False
    misses, passed = bounds.misses_frame, function
    return lambda number, byte: owned.frame_of(number) != frame and misses(number, passed)


def ground_of(number: int, byte: int, grounds: Sequence[Ground]) -> int:
    """Give the kind of the first ground that holds, or 0."""
    for kind, misses in grounds:
        if misses(number, byte):
            return kind
    return 0
