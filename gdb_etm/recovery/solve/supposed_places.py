"""Where pointers turn out to lead while stores are supposed to miss."""

from __future__ import annotations

from functools import partial
from typing import Callable, Final, List, NamedTuple, Sequence, Set

from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.base_search import BaseSearch
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.place_search import Placed, PlaceSearch
from gdb_etm.recovery.solve.propagation import Propagation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Times that it is looked for places in one course, and bases of a class that are tried.
_TIMES: Final = 4
_TRIES: Final = 24


class _Lead(NamedTuple):
    # A class of addresses by its newest access, and what the address of that is.
    access: int
    value: int
    premise: int


class SupposedPlaces:
    """Finds them, and takes it that pointers lead there.

    :param ssa: With its accesses.
    :param where: Gives the address of an instruction by its number.
    """

    def __init__(self, ssa: TraceSsa, where: Callable[[int], int]) -> None:
        self._ssa = ssa
        self._search = PlaceSearch(ssa, where)
        self._leads: List[_Lead] = []
        # Those to the program's constants.
        self._placed: List[Placed] = []

    def __bool__(self) -> bool:
        return bool(self._leads)

    def look(self, propagation: Propagation, refused: Set[Pair]) -> None:
        """Find all of them, with what follows from that.

        :param refused: The newest accesses, twice, of classes that nothing is to be said of.
        :raises Contradiction: They contradict something.
        """
        self._leads, self._placed = [], []
        bases = BaseSearch(self._ssa)
        for _ in range(_TIMES):
            placed = self._search.look(propagation.symbolic.stacks(), refused)
            leads = [_Lead(one.number, one.value, Premise.PLACE) for one in placed]
            leads = leads or self._locate(propagation, bases, refused)
            if not leads:
                break
            self._placed += placed
            self._leads += leads
            self._learn(leads)
            propagation.run()

    def _locate(self, propagation: Propagation, bases: BaseSearch, refused: Set[Pair]) -> List[_Lead]:
        # The next class that may be at one base alone, as all others contradict something; nothing without one.
        options = bases.options(propagation.memory, propagation.symbolic.stacks())
        while options is not None:
            if (options.access, options.access) not in refused and len(options.values) <= _TRIES:
                lead = _Lead(options.access, 0, Premise.LOCATED)
                values = propagation.possible(options.values, partial(self._try, lead))
                if len(values) == 1:
                    return [lead._replace(value=values[0])]
            options = bases.options(propagation.memory, propagation.symbolic.stacks())
        return []

    def _try(self, lead: _Lead, value: int) -> None:
        self._learn([lead._replace(value=value)])

    def _learn(self, leads: Sequence[_Lead]) -> None:
        ssa = self._ssa
        for one in leads:
            access = ssa.accesses[one.access]
            ssa.number = access.number
            ssa.learn(access.address, MASK, one.value, one.premise, (one.access, one.access))

    def repeat(self) -> None:
        """Take it once more that pointers lead there."""
        self._learn(self._leads)

    def hidden(self, propagation: Propagation) -> Set[Pair]:
        """List those to constants that may as well lead to RAM.

        :returns: Their newest accesses, twice.
        """
        return {(one.number, one.number) for one in self._search.hidden(self._placed, propagation.memory)}
