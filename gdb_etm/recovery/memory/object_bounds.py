"""Object bounds: what stores cannot reach, as no pointer leads there.

Only code that makes an object's address reaches it, unless that address was stored or passed on; and what is made from
the address of an object stays within it.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, List, Set

from gdb_etm.program.objects import NO_OBJECT
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.misses import Ground
from gdb_etm.recovery.pointers.points_to import PointsTo
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Where an address is made: from SP, or nobody knows.
_FROM_SP: Final = -1
_ANYWHERE: Final = -2


class ObjectBounds(Ground):
    """Finds bytes that a store of a segment cannot reach.

    :param ssa: With its variables of SP.
    :param points_to: Of the program.
    :param first: Number of the first instruction of the segment.
    :param last: Number of the last.
    :param where: Gives the address of an instruction by its number.
    """

    def __init__(self, ssa: TraceSsa, points_to: PointsTo, first: int, last: int, where: Callable[[int], int]) -> None:
        super().__init__(ConstraintKind.OUT_OF_REACH)
        self._ssa = ssa
        self._points_to = points_to
        self._where = where
        # Objects that others reach all the same.
        self.strange: Set[int] = set()
        # Objects that a stack lies in.
        self._stacks: Set[int] = set()
        # Number of the first instruction after those that copy or clear sections.
        self._since = self._find_since(first, last)
        # Of each access the address of its instruction, _FROM_SP or _ANYWHERE.
        self._origins: List[int] = self._find_origins()
        # By object: whether what is made there misses it.
        self._missed: Dict[int, Dict[int, bool]] = {}
        # The object of each byte that was asked for.
        self._object_of: Dict[int, int] = {}

    def _find_since(self, first: int, last: int) -> int:
        known: Dict[int, bool] = {}
        for number in range(last, first - 1, -1):
            address = self._where(number)
            if address not in known:
                known[address] = self._points_to.is_initialiser(address)
            if known[address]:
                return number + 1
        return first

    def _find_origins(self) -> List[int]:
        ssa, since = self._ssa, self._since
        return [
            (
                _ANYWHERE
                if access.number < since or not access.size
                else _FROM_SP if is_stack else self._where(access.number)
            )
            for access, is_stack in zip(ssa.accesses, ssa.through_stack())
        ]

    def look(self) -> None:
        """Find the objects that stacks lie in, by SP."""
        ssa, objects = self._ssa, self._points_to.objects
        mask, bits = ssa.domain.mask, ssa.domain.bits
        for variable in ssa.held[SP]:
            if mask[variable] == MASK:
                self._stacks.add(objects.at(bits[variable]))

    @property
    def stacked(self) -> int:
        """How many objects are known to have stacks in them."""
        return len(self._stacks)

    def object_at(self, byte: int) -> int:
        """Give the number of a byte's object, or NO_OBJECT."""
        return self._points_to.objects.at(byte)

    def misses(self, number: int, byte: int) -> bool:
        """Check whether a store cannot reach a byte.

        :param number: Of the access.
        """
        wanted = self._object_of.get(byte)
        if wanted is None:
            wanted = self._object_of[byte] = self._points_to.objects.at(byte)
            self._missed.setdefault(wanted, {})
        if wanted in self.strange or wanted in self._stacks:
            return False
        origin, missed = self._origins[number], self._missed[wanted]
        found = missed.get(origin)
        if found is None:
            found = missed[origin] = self._misses_object(origin, wanted)
        return found

    def _misses_object(self, origin: int, wanted: int) -> bool:
        if origin == _ANYWHERE:
            return False
        if origin == _FROM_SP:
            return wanted != NO_OBJECT and wanted not in self._points_to.escaped
        return not self._points_to.may_reach(origin, wanted)

    def misses_frame(self, number: int, function: int) -> bool:
        """Check whether a store cannot reach a frame that is an argument.

        :param number: Of the access.
        :param function: Where the function begins.
        """
        access = self._ssa.accesses[number]
        return bool(access.size) and not self._points_to.may_reach_frame(self._where(access.number), function)
