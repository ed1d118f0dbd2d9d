"""Where pointers turn out to lead while stores are supposed to miss."""

from __future__ import annotations

from typing import Callable, Final, List, NamedTuple, Optional, Set

from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.base_search import BaseSearch, Options
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.place_search import Placed, PlaceSearch
from gdb_etm.recovery.solve.propagation import Propagation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Times that places are looked for in one course, and bases that are tried.
_TIMES: Final = 4
_TRIES: Final = 24


class _Based(NamedTuple):
    # A class of addresses that may be at one base alone.
    options: Options
    value: int


class SupposedPlaces:
    """Finds them, and takes it that pointers lead there.

    :param ssa: With its accesses.
    :param where: Gives the address of an instruction by its number.
    """

    def __init__(self, ssa: TraceSsa, where: Callable[[int], int]) -> None:
        self._ssa = ssa
        self._search = PlaceSearch(ssa, where)
        # In the program's constants; and in RAM.
        self._placed: List[Placed] = []
        self._based: List[_Based] = []

    def __bool__(self) -> bool:
        return bool(self._placed or self._based)

    def look(self, propagation: Propagation, refused: Set[Pair]) -> None:
        """Find all of them, with what follows from that.

        :param refused: The newest accesses, twice, of classes that nothing is to be said of.
        :raises Contradiction: They contradict something.
        """
        self._placed, self._based = [], []
        bases, tries = BaseSearch(self._ssa), _TRIES
        for _ in range(_TIMES):
            fresh = self._search.look(propagation.symbolic.stacks(), refused)
            based = None if fresh else self._locate(propagation, bases, tries, refused)
            if not fresh and based is None:
                break
            self._placed += fresh
            self._based += [] if based is None else [based]
            self._learn(fresh, self._based[-1:] if based is not None else [])
            propagation.run()

    def _locate(self, propagation: Propagation, bases: BaseSearch, tries: int, refused: Set[Pair]) -> Optional[_Based]:
        # The next class that may be at one base alone, as all others contradict something.
        options = bases.options(propagation.memory, propagation.symbolic.stacks())
        while options is not None:
            if (options.access, options.access) not in refused and len(options.values) <= tries:
                values = self._possible(propagation, options)
                if len(values) == 1:
                    return _Based(options, values[0])
            options = bases.options(propagation.memory, propagation.symbolic.stacks())
        return None

    def _possible(self, propagation: Propagation, options: Options) -> List[int]:
        # The bases that contradict nothing soon; at most two of them.
        saved = propagation.save()
        found: List[int] = []
        for value in options.values:
            try:
                self._learn([], [_Based(options, value)])
                propagation.settle()
                found.append(value)
            except Contradiction:
                pass
            propagation.restore(saved)
            if len(found) > 1:
                break
        return found

    def _learn(self, placed: List[Placed], based: List[_Based]) -> None:
        ssa = self._ssa
        for one in placed:
            ssa.number = ssa.accesses[one.number].number
            ssa.learn(one.variable, MASK, one.value, Premise.PLACE, (one.number, one.number))
        for options, value in based:
            ssa.number = options.number
            ssa.learn(options.variable, MASK, value, Premise.LOCATED, (options.access, options.access))

    def repeat(self) -> None:
        """Take it once more that pointers lead there."""
        self._learn(self._placed, self._based)

    def hidden(self, propagation: Propagation) -> Set[Pair]:
        """List those in constants that may as well be in RAM.

        :returns: Their newest accesses, twice.
        """
        return {(one.number, one.number) for one in self._search.hidden(self._placed, propagation.memory)}
