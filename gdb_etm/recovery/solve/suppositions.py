"""Suppositions: what follows if stores of unknown address miss.

If none of them turns out to hit then, by the addresses that are known then, and nothing contradicts it, that is what
ran: another course would have to lead to the same halt.

Where something contradicts it, it is begun again in stages: first links are supposed between which few stores may hit.
What follows shows where other stores went, and so which links these are in the way of.  After another contradiction
some links fall, and it goes on from what was kept before the first of these was supposed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Callable, Container
from typing import Counter as CounterOf
from typing import Final, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.constraints import LINKS as OF_ACCESSES
from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import NONE, Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.access_groups import AccessGroups
from gdb_etm.recovery.memory.cells import FIRST
from gdb_etm.recovery.memory.circles import LINKS, Circle, Circles, Hit
from gdb_etm.recovery.memory.may_alias import SCAN, Pair
from gdb_etm.recovery.memory.supposed_links import SupposedLinks
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.propagation import Propagation, Saved
from gdb_etm.recovery.solve.supposed_places import SupposedPlaces
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Instructions, from the end back, between whose accesses links are supposed first; then as many more.
_AT_A_TIME: Final = 10000
# How many stores may hit between accesses that are linked, stage by stage; at first all are linked at once.
_AT_ONCE: Final = (SCAN,)
_STAGES: Final = (1, 4, 16, 64, SCAN)
# Times that it is begun again without what did not come true.
_ROUNDS: Final = 10
# Contradictions in stages: where few addresses are not known, and else.
_CONTRADICTIONS: Final = 24
_CONTRADICTIONS_OF_MANY: Final = 8
# Bytes that are linked in a stage until what is known is kept.
_FAR: Final = 250
# It is given up where fewer than one of many links in so many comes true.
_WORTH: Final = 3
# Links, and stores of unknown address, from which on it costs much to begin again; and such stores of which all may be.
_MANY: Final = 650
_FEW: Final = 350
# Contradictions that are looked at after one of them.
_FURTHER: Final = 40
# Times that another course is tried; and how many that contradict something are enough, if others are alike.
_TRIES: Final = 24
_ALIKE: Final = 3
# Parts of a fact that is of no accesses.
_FACT: Final = 3
_PREMISES: Final = (Premise.SUPPOSED, Premise.SUPPOSED_STORED, Premise.SUPPOSED_LOADED, Premise.PLACE, Premise.LOCATED)


class _Point(NamedTuple):
    # What was known in a stage.
    stage: int
    saved: Saved

    @property
    def supposed(self) -> int:
        # How many bytes were linked by suppositions.
        return len(self.saved.memory.may_alias.supposed)


class _Since(Container[Pair]):
    # Any pair of accesses from one on.

    def __init__(self, first: int) -> None:
        self.__oldest = first

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and pair[0] >= self.__oldest


class _Instead(Container[Pair]):
    # Some pairs of accesses, and all of a store with later ones.

    def __init__(self, pairs: Set[Pair], store: int) -> None:
        self.__pairs, self.__store = pairs, store

    def __contains__(self, pair: object) -> bool:
        return pair in self.__pairs or isinstance(pair, tuple) and pair[0] == self.__store


def _is_supposed(constraint: Constraint) -> bool:
    return constraint[0] == ConstraintKind.SUPPOSED or (
        constraint[0] == ConstraintKind.FACT and constraint[2] in _PREMISES
    )


def _is_link(constraint: Constraint) -> bool:
    return constraint[0] in OF_ACCESSES or constraint[0] == ConstraintKind.FACT and len(constraint) > _FACT


def _pair(constraint: Constraint) -> Pair:
    return constraint[-2], constraint[-1]


def suppose(ssa: TraceSsa, propagation: Propagation, proofs: Justifications, where: Callable[[int], int]) -> None:
    """Link accesses between which all stores turn out to miss.

    :param ssa: Of the segment.
    :param propagation: With all that follows without suppositions.
    :param proofs: Finds what a contradiction comes from.
    :param where: Gives the address of an instruction by its number.
    """
    if not ssa.accesses:
        return
    first, last = ssa.accesses[0].number, ssa.accesses[-1].number
    numbers = range(last - _AT_A_TIME, first + _AT_A_TIME // 2, -_AT_A_TIME)
    for since in [*map(ssa.first_access, numbers), FIRST]:
        _follow(_Course(ssa, propagation, proofs, where, since))


def _follow(course: _Course) -> None:
    for _ in range(_ROUNDS):
        if not course.run():
            break
        if course.is_confirmed():
            return
    course.undo()


class _Course:
    # Suppositions one after the other.

    def __init__(
        self,
        ssa: TraceSsa,
        propagation: Propagation,
        proofs: Justifications,
        where: Callable[[int], int],
        since: int,
    ) -> None:
        self._ssa = ssa
        self._propagation = propagation
        self._proofs = proofs
        self._groups = AccessGroups(ssa, where)
        self._places = SupposedPlaces(ssa, where)
        self._since = since
        self._where = where
        self._unresolved = self._count_unresolved()
        # What was known before each stage up to the present one, and meanwhile.
        saved = propagation.save()
        self._before: List[_Point] = [_Point(0, saved)]
        self._circles = Circles(ssa, saved.knowledge, saved.memory, self._rests)
        self._stages: Sequence[int] = _AT_ONCE
        self._in_stages = False
        # Links that are supposed, and others that are not.
        self._pairs: Container[Pair] = _Since(since)
        self._forbidden: Set[Pair] = set()
        # Those that came true when the stages came to their end: what is left after another contradiction.
        self._confirmed: Set[Pair] = set()
        self._contradictions = 0
        # Links that speak for each other alone, and still hold.
        self._closed: Set[FrozenSet[Pair]] = set()
        # How many of them have stores of the same instructions, which may have gone to the same addresses.
        self._alike: CounterOf[FrozenSet[Tuple[int, int]]] = Counter()
        self.goes_on = True

    def _count_unresolved(self) -> int:
        unresolved = self._propagation.memory.may_alias.unresolved
        return len(unresolved) - bisect_left(unresolved, self._since)

    def undo(self) -> None:
        """Forget all of it."""
        del self._before[1:]
        self._propagation.restore(self._before[0].saved)

    def run(self) -> bool:
        """Go through the stages; gives whether they came to an end."""
        propagation = self._propagation
        while self.goes_on:
            stage = self._before[-1].stage
            memory = propagation.memory
            memory.may_alias.wanted, memory.may_alias.reach = self._pairs, self._stages[stage]
            memory.forbidden = self._forbidden
            if not self._is_within_stage():
                memory.look_at_everything()
            try:
                propagation.run(self._remember)
                _look_for_impossible(self._ssa, self._before[0].saved.memory.may_alias.unresolved)
                if stage + 1 == len(self._stages):
                    self._places.look(propagation, self._forbidden)
                    return True
                self._before.append(_Point(stage + 1, propagation.save()))
            except Contradiction as contradiction:
                self.goes_on = self._refute(contradiction)
        return False

    def _is_within_stage(self) -> bool:
        # Whether it goes on in the middle of a stage, where all that waits has been looked at.
        return len(self._before) > 1 and self._before[-2].stage == self._before[-1].stage

    def _remember(self) -> None:
        # Keeps what is known in the middle of a stage, where it may be gone back to.
        point = self._before[-1]
        if self._in_stages and point.supposed + _FAR < len(self._propagation.memory.may_alias.supposed):
            self._before.append(_Point(point.stage, self._propagation.save()))

    def _refute(self, contradiction: Contradiction) -> bool:
        # Lets links fall; gives whether it is worth to go on.
        blamed = _refuted(self._propagation, self._proofs, contradiction)
        if not self._in_stages:
            # Where most of many addresses are not known after all, there is not much to come.
            left = self._count_unresolved()
            self._begin_in_stages()
            return left <= _MANY and (5 * left <= 3 * self._unresolved or self._unresolved <= _FEW)
        self._contradictions += 1
        if self._confirmed:
            self._pairs, self._confirmed = self._confirmed, set()
            self.undo()
            return True
        links = SupposedLinks(self._propagation.memory.may_alias)
        fresh = (links.riskiest(blamed, len(self._ssa.accesses)) | links.overwritten()) - self._forbidden
        self._forbid(fresh)
        most = _CONTRADICTIONS if self._unresolved <= _FEW else _CONTRADICTIONS_OF_MANY
        return bool(fresh) and self._contradictions < most

    def _begin_in_stages(self) -> None:
        self._stages, self._in_stages = _STAGES, True
        self.undo()

    def _forbid(self, pairs: Set[Pair]) -> None:
        # Goes back to before the first of some links was supposed.
        supposed = self._propagation.memory.may_alias.supposed
        first = next((at for at, one in enumerate(supposed) if (one[0], one[1]) in pairs), len(supposed))
        while self._before[-1].supposed > first:
            self._before.pop()
        self._propagation.restore(self._before[-1].saved)
        self._forbidden = self._forbidden | pairs

    def is_confirmed(self) -> bool:
        """Check whether all came true; prepares another round if not."""
        memory = self._propagation.memory
        may_alias = memory.may_alias
        supposed = {(source, number) for source, number, _ in may_alias.supposed}
        self._groups.look()
        links = SupposedLinks(may_alias)
        confirmed, overwritten = links.confirmed(self._groups), links.overwritten()
        refused = self._places.hidden(self._propagation)
        if supposed == confirmed and not refused:
            if self._is_sound(supposed):
                # The links stay; other stores may hit again.
                may_alias.wanted, may_alias.supposed = None, []
                return True
            return False
        if self._in_stages and isinstance(self._pairs, _Since):
            # Without what did not come true, others may be linked.
            self._confirmed = confirmed
            self._forbid(overwritten | refused or supposed - confirmed)
            return False
        self._forbidden = self._forbidden | refused
        is_little = _WORTH * len(confirmed) < len(supposed) and len(supposed) > _MANY
        self.goes_on = not is_little or bool(self._places)
        if not self._in_stages and overwritten:
            self._begin_in_stages()
        else:
            self._pairs = confirmed
            self.undo()
        return False

    def _rests(self, variable: int) -> Set[Pair]:
        # The links that what has become known of a variable rests on.
        saved = self._before[0].saved
        since = saved.knowledge.entries, saved.constraints
        found = self._proofs.recent(variable, since, _is_link, LINKS + 1)
        return {_pair(self._ssa.constraints[number]) for number in found}

    def _is_sound(self, supposed: Set[Pair]) -> bool:
        # Checks links that speak for each other alone; prepares another round if there are any.
        propagation = self._propagation
        recent = self._ssa.constraints[self._before[0].saved.constraints :]
        circles = self._circles.find(propagation.memory, {_pair(one) for one in recent if _is_link(one)})
        found = [one for one in circles if one.links not in self._closed]
        tries = _TRIES
        for circle in found:
            kind = frozenset([(self._where(self._ssa.accesses[hit.store].number), hit.address) for hit in circle.hits])
            is_known = self._alike[kind] >= _ALIKE
            tries -= 0 if is_known else len(circle.hits)
            if tries < 0 or not is_known and any([self._is_possible(circle, hit, supposed) for hit in circle.hits]):
                self._forbidden = self._forbidden | circle.links
            else:
                self._closed.add(circle.links)
                self._alike[kind] += 1
        if found:
            self.undo()
        return not found

    def _is_possible(self, circle: Circle, hit: Hit, supposed: Set[Pair]) -> bool:
        # Whether a store may have gone to an address that a circle has linked, and left what was found there.
        propagation, ssa = self._propagation, self._ssa
        self.undo()
        memory = propagation.memory
        memory.may_alias.wanted, memory.may_alias.reach = _Instead(supposed - circle.links, hit.store), SCAN
        memory.forbidden = self._forbidden | circle.links
        memory.look_at_everything()
        access = ssa.accesses[hit.store]
        try:
            ssa.number = access.number
            ssa.learn(access.address, MASK, hit.address, Premise.SUPPOSED)
            ssa.learn(access.data, hit.mask, hit.bits, Premise.SUPPOSED)
            propagation.run()
            self._places.repeat()
            propagation.run()
        except Contradiction:
            return False
        return True


def _look_for_impossible(ssa: TraceSsa, stores: Sequence[int]) -> None:
    # No store turns out to be to constants.
    mask, bits = ssa.domain.mask, ssa.domain.bits
    for access in [ssa.accesses[number] for number in stores]:
        address = access.address
        ran = mask[access.condition] == MASK and bits[access.condition]
        if ran and access.size and mask[address] == MASK and ssa.read_constant(bits[address], 1) is not None:
            raise Contradiction(address, NONE)


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
    return {_pair(ssa.constraints[number]) for number in proofs.blamed(contradiction, _is_supposed)}
