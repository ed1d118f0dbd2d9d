"""Suppositions: what follows if stores of unknown address miss.

If all of them turn out to miss then, by the addresses that are known then, and nothing contradicts it, that is what
ran: another course would have to lead to the same halt.
"""

from __future__ import annotations

from typing import Container, List, Set

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.place_search import Placed, PlaceSearch
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.propagation import Propagation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Times that it is begun again without what did not come true, and those of them after contradictions.
_ROUNDS, _CONTRADICTIONS = 8, 4
# Times that places are looked for in one of them.
_PLACES = 4
_PREMISES = (Premise.SUPPOSED, Premise.SUPPOSED_STORED, Premise.SUPPOSED_LOADED, Premise.PLACE)


class _All(Container[Pair]):
    # Any pair of accesses.

    def __contains__(self, pair: object) -> bool:
        return True


def _is_supposed(constraint: Constraint) -> bool:
    return constraint[0] == ConstraintKind.SUPPOSED or (
        constraint[0] == ConstraintKind.FACT and constraint[2] in _PREMISES
    )


def suppose(ssa: TraceSsa, propagation: Propagation, proofs: Justifications) -> None:
    """Link accesses between which all stores turn out to miss.

    :param ssa: Of the segment.
    :param propagation: With all that follows without suppositions.
    :param proofs: Finds what a contradiction comes from.
    """
    saved = propagation.save()
    pairs: Container[Pair] = _All()
    forbidden: Set[Pair] = set()
    search = PlaceSearch(ssa)
    contradictions = 0
    for _ in range(_ROUNDS):
        memory = propagation.memory
        memory.may_alias.wanted = pairs
        memory.forbidden = forbidden
        memory.look_at_everything()
        try:
            propagation.run()
            placed = _place(ssa, propagation, search, forbidden)
        except Contradiction as contradiction:
            constraints = [ssa.constraints[number] for number in proofs.blamed(contradiction, _is_supposed)]
            fresh = {(one[-2], one[-1]) for one in constraints} - forbidden
            propagation.restore(saved)
            contradictions += 1
            if not fresh or contradictions == _CONTRADICTIONS:
                return
            forbidden = forbidden | fresh
            continue
        supposed = {(source, number) for source, number, _ in memory.may_alias.supposed}
        confirmed = memory.may_alias.confirmed()
        refused = {(one.number, one.number) for one in placed if search.is_hidden(one, memory)}
        forbidden = forbidden | refused
        if supposed == confirmed and not refused:
            # The links stay; other stores may hit again.
            may_alias = memory.may_alias
            may_alias.wanted, may_alias.supposed = None, []
            return
        propagation.restore(saved)
        if not confirmed and not placed:
            return
        pairs = confirmed
    propagation.restore(saved)


def _place(ssa: TraceSsa, propagation: Propagation, search: PlaceSearch, refused: Set[Pair]) -> List[Placed]:
    # Finds out where pointers lead, with what follows from that.
    found: List[Placed] = []
    for _ in range(_PLACES):
        fresh = search.look(propagation.symbolic.stacks(), refused)
        for one in fresh:
            ssa.number = ssa.accesses[one.number].number
            ssa.learn(one.variable, MASK, one.value, Premise.PLACE, (one.number, one.number))
        if not fresh:
            break
        found += fresh
        propagation.run()
    return found
