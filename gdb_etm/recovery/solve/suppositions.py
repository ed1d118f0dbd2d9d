"""Suppositions: what follows if stores of unknown address miss.

If all of them turn out to miss then, by the addresses that are known then, and nothing contradicts it, that is what
ran: another course would have to lead to the same halt.
"""

from __future__ import annotations

from typing import Container, Final, List, Set

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.place_search import Placed, PlaceSearch
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.propagation import Propagation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Times that it is begun again without what did not come true, and those of them after contradictions; some more of
# these where nearly all addresses are known by then: one in so many is not.
_ROUNDS: Final = 8
_CONTRADICTIONS: Final = 4
_MORE: Final = 2
_FEW: Final = 10
# It is given up where fewer than one of many links in so many comes true.
_WORTH: Final = 3
# Links, and stores of unknown address, from which on it costs much to begin again.
_MANY: Final = 650
# Contradictions that are looked at after one of them.
_FURTHER: Final = 40
# Times that places are looked for in one of them.
_PLACES: Final = 4
_PREMISES: Final = (Premise.SUPPOSED, Premise.SUPPOSED_STORED, Premise.SUPPOSED_LOADED, Premise.PLACE)


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
    contradictions, unresolved = 0, len(propagation.memory.may_alias.unresolved)
    for _ in range(_ROUNDS):
        memory = propagation.memory
        memory.may_alias.wanted = pairs
        memory.forbidden = forbidden
        memory.look_at_everything()
        try:
            propagation.run()
            placed = _place(ssa, propagation, search, forbidden)
        except Contradiction as contradiction:
            blamed = _refuted(propagation, proofs, contradiction)
            # Where most of many addresses are not known after all, there is not much to come.
            left = len(propagation.memory.may_alias.unresolved)
            is_worth = 3 * left <= 2 * max(unresolved, _MANY)
            most = _CONTRADICTIONS
            if _FEW * left <= max(unresolved, _FEW):
                # Where few are not known, it is worth more, and tells which links are to blame.
                blamed, most = propagation.memory.may_alias.riskiest(blamed), _CONTRADICTIONS + _MORE
            fresh = blamed - forbidden
            propagation.restore(saved)
            contradictions += 1
            if not fresh or contradictions >= most or not is_worth:
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
        if _WORTH * len(confirmed) < len(supposed) and len(supposed) > _MANY and not placed:
            return
        pairs = confirmed
    propagation.restore(saved)


def _refuted(propagation: Propagation, proofs: Justifications, first: Contradiction) -> Set[Pair]:
    # The pairs that a contradiction rests on; better those that are refuted alone, by it or by what comes after it.
    blamed = _blamed(propagation.ssa, proofs, first)
    alone = blamed if len(blamed) == 1 else set()
    for _ in range(_FURTHER):
        try:
            propagation.run()
            break
        except Contradiction as contradiction:
            found = _blamed(propagation.ssa, proofs, contradiction)
            alone = alone | found if len(found) == 1 else alone
    return alone or blamed


def _blamed(ssa: TraceSsa, proofs: Justifications, contradiction: Contradiction) -> Set[Pair]:
    constraints = [ssa.constraints[number] for number in proofs.blamed(contradiction, _is_supposed)]
    return {(one[-2], one[-1]) for one in constraints}


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
