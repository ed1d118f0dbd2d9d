"""Courses: suppositions that are taken together, and what becomes of them.

All links from an access on are supposed at once.  Where something contradicts that, it is begun again in stages: first
links are supposed between which few stores may hit.  What follows shows where other stores went, and so which links
these are in the way of.  After another contradiction some links fall, and it goes on from what was kept before the
first of these was supposed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Callable, Container
from typing import Counter as CounterOf
from typing import Final, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.domain import NONE, Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.access_groups import AccessGroups
from gdb_etm.recovery.memory.cells import FIRST
from gdb_etm.recovery.memory.circles import LINKS, Circle, Circles, Hit
from gdb_etm.recovery.memory.may_alias import SCAN, Pair
from gdb_etm.recovery.memory.supposed_links import SupposedLinks
from gdb_etm.recovery.solve.blame import Blame
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.last_writers import LastWriters
from gdb_etm.recovery.solve.propagation import Propagation, Saved
from gdb_etm.recovery.solve.supposed_places import SupposedPlaces
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# How many stores may hit between accesses that are linked, stage by stage; at first all are linked at once.
_AT_ONCE: Final = (SCAN,)
_STAGES: Final = (1, 4, 16, 64, SCAN)
# Times that it is begun again without what did not come true.
_ROUNDS: Final = 10
_ROUNDS_OF_FEW: Final = 4
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


class _Point(NamedTuple):
    # What was known in a stage.
    stage: int
    saved: Saved

    @property
    def supposed(self) -> int:
        # How many bytes were linked by suppositions.
        return len(self.saved.memory.may_alias.supposed)


class Since:
    """Any pair of accesses from one on."""

    def __init__(self, first: int) -> None:
        self._oldest = first

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and pair[0] >= self._oldest


class Workings(NamedTuple):
    """What is worked with in one segment.

    ``where`` gives the address of an instruction by its number; ``groups`` are what instructions access, as far as it
    was seen.
    """

    ssa: TraceSsa
    propagation: Propagation
    proofs: Justifications
    where: Callable[[int], int]
    groups: Optional[AccessGroups] = None


class _Either:
    # Pairs of two kinds.

    def __init__(self, one: Container[Pair], other: Container[Pair]) -> None:
        self._one, self._other = one, other

    def __contains__(self, pair: object) -> bool:
        return pair in self._one or pair in self._other


class _Without:
    # Pairs of one kind that are not of another.

    def __init__(self, one: Container[Pair], other: Container[Pair]) -> None:
        self._one, self._other = one, other

    def __contains__(self, pair: object) -> bool:
        return pair in self._one and pair not in self._other


class _Instead:
    # Some pairs of accesses, and all of a store with later ones.

    def __init__(self, pairs: Set[Pair], store: int) -> None:
        self._pairs, self._store = pairs, store

    def __contains__(self, pair: object) -> bool:
        return pair in self._pairs or isinstance(pair, tuple) and pair[0] == self._store


class Course:
    """Suppositions one after the other.

    :param workings: Of the segment.
    :param since: Links from this access on are supposed.
    :param writers: Finds which stores have left what was found; None: it is found where pointers lead instead.
    :param fallen: Links that are taken for false.
    """

    def __init__(
        self,
        workings: Workings,
        since: int,
        writers: Optional[LastWriters] = None,
        fallen: Container[Pair] = frozenset(),
    ) -> None:
        self._ssa, self._propagation, self._where = workings.ssa, workings.propagation, workings.where
        self._blame = Blame(workings.ssa, workings.proofs)
        self._groups = workings.groups or AccessGroups(self._ssa, self._where)
        self._places = SupposedPlaces(self._ssa, self._where) if writers is None else None
        self._writers, self._fallen = writers, fallen
        self._since = since
        self._unresolved = self._count_unresolved()
        # What was known before each stage up to the present one, and meanwhile.
        saved = self._propagation.save()
        self._before: List[_Point] = [_Point(0, saved)]
        self._circles = Circles(self._ssa, saved.knowledge, saved.memory, self._rests)
        self._stages: Sequence[int] = _AT_ONCE
        self._in_stages = False
        # Links that are supposed, and others that are not.
        self._pairs: Container[Pair] = Since(since)
        self._forbidden: Set[Pair] = set()
        # Those that came true when the stages came to their end: what is left after another contradiction.
        self._confirmed: Set[Pair] = set()
        self._contradictions = 0
        # Links that speak for each other alone, and still hold.
        self._closed: Set[FrozenSet[Pair]] = set()
        # How many of them have stores of the same instructions, which may have gone to the same addresses.
        self._alike: CounterOf[FrozenSet[Tuple[int, int]]] = Counter()
        self._goes_on = True
        self._rounds = _ROUNDS if writers is None else _ROUNDS_OF_FEW
        # Whether all at once is not what ran, so that it may go on in stages.
        self.is_refuted = False

    def follow(self, in_stages: bool = False, all_until: int = FIRST) -> bool:
        """Suppose until all comes true, or forget it.

        :param in_stages: Whether it goes on in stages, where all at once was refuted.
        :param all_until: It is forgotten if an address of a store before this access does not become known.
        :returns: Whether it came true.
        """
        if in_stages:
            self._stages, self._in_stages = _STAGES, True
        while self._rounds:
            self._rounds -= 1
            # Of fewer links, which another round supposes, less becomes known.
            if not self._run() or self._count_unresolved(all_until):
                break
            if self._is_confirmed():
                return True
        self._undo()
        return False

    def _count_unresolved(self, until: Optional[int] = None) -> int:
        # The stores of unknown address, up to an access or to the end.
        unresolved = self._propagation.memory.may_alias.unresolved
        end = len(unresolved) if until is None else bisect_left(unresolved, until)
        return max(end - bisect_left(unresolved, self._since), 0)

    def _undo(self) -> None:
        del self._before[1:]
        self._propagation.restore(self._before[0].saved)

    def _run(self) -> bool:
        # Goes through the stages; gives whether they came to an end.
        propagation = self._propagation
        while self._goes_on and self.is_refuted == self._in_stages:
            stage = self._before[-1].stage
            memory = propagation.memory
            memory.may_alias.wanted, memory.may_alias.reach = self._pairs, self._stages[stage]
            memory.forbidden = _Either(self._fallen, self._forbidden)
            if not self._is_within_stage():
                memory.look_at_everything(self._since)
            try:
                propagation.run(self._remember)
                look_for_impossible(self._ssa, self._before[0].saved.memory.may_alias.unresolved)
                if stage + 1 == len(self._stages):
                    return self._is_fitting()
                self._before.append(_Point(stage + 1, propagation.save()))
            except Contradiction as contradiction:
                self._goes_on = self._refute(contradiction)
        return False

    def _is_fitting(self) -> bool:
        # Finds where pointers lead, or which stores have left what was found; gives whether something can have.
        if self._places is not None:
            self._places.look(self._propagation, self._forbidden)
        if self._writers is None:
            return True
        conflicts = self._writers.look(_Without(self._pairs, self._forbidden), self._fallen)
        look_for_impossible(self._ssa, self._before[0].saved.memory.may_alias.unresolved)
        self.is_refuted = bool(conflicts)
        return not conflicts

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
        if self._writers is not None:
            self.is_refuted = True
            return False
        blamed = _refuted(self._propagation, self._blame, contradiction)
        if not self._in_stages:
            # Where most of many addresses are not known after all, there is not much to come.
            left = self._count_unresolved()
            self.is_refuted = True
            return left <= _MANY and (5 * left <= 3 * self._unresolved or self._unresolved <= _FEW)
        self._contradictions += 1
        if self._confirmed:
            self._pairs, self._confirmed = self._confirmed, set()
            self._undo()
            return True
        links = SupposedLinks(self._propagation.memory.may_alias)
        fresh = (links.riskiest(blamed, len(self._ssa.accesses)) | links.overwritten()) - self._forbidden
        self._forbid(fresh)
        most = _CONTRADICTIONS if self._unresolved <= _FEW else _CONTRADICTIONS_OF_MANY
        return bool(fresh) and self._contradictions < most

    def _forbid(self, pairs: Set[Pair]) -> None:
        # Goes back to before the first of some links was supposed.
        supposed = self._propagation.memory.may_alias.supposed
        first = next((at for at, one in enumerate(supposed) if (one[0], one[1]) in pairs), len(supposed))
        while self._before[-1].supposed > first:
            self._before.pop()
        self._propagation.restore(self._before[-1].saved)
        self._forbidden = self._forbidden | pairs

    def _is_confirmed(self) -> bool:
        # Whether all came true; prepares another round if not.
        memory = self._propagation.memory
        may_alias = memory.may_alias
        supposed = {(source, number) for source, number, _ in may_alias.supposed}
        if self._count_unresolved():
            self._groups.look()
        links = SupposedLinks(may_alias)
        confirmed, overwritten = links.confirmed(self._groups), links.overwritten()
        refused = self._places.hidden(self._propagation) if self._places is not None else set()
        if supposed == confirmed and not refused:
            if self._is_sound(supposed):
                # The links stay; other stores may hit again.
                may_alias.wanted, may_alias.supposed = None, []
                return True
            return False
        if self._in_stages and isinstance(self._pairs, Since):
            # Without what did not come true, others may be linked.
            self._confirmed = confirmed
            self._forbid(overwritten | refused or supposed - confirmed)
            return False
        self._forbidden = self._forbidden | refused
        is_little = _WORTH * len(confirmed) < len(supposed) and len(supposed) > _MANY
        self._goes_on = not is_little or bool(self._places)
        self.is_refuted = self._in_stages or bool(overwritten)
        if self._in_stages or not overwritten:
            self._pairs = confirmed
            self._undo()
        return False

    def _rests(self, variable: int) -> Set[Pair]:
        # The links that what has become known of a variable rests on.
        return self._blame.recent(variable, self._before[0].saved, LINKS + 1)

    def _is_sound(self, supposed: Set[Pair]) -> bool:
        # Checks links that speak for each other alone; prepares another round if there are any.
        propagation = self._propagation
        circles = self._circles.find(propagation.memory, self._blame.links(self._before[0].saved.constraints))
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
            self._undo()
        return not found

    def _is_possible(self, circle: Circle, hit: Hit, supposed: Set[Pair]) -> bool:
        # Whether a store may have gone to an address that a circle has linked, and left what was found there.
        propagation, ssa = self._propagation, self._ssa
        self._undo()
        memory = propagation.memory
        memory.may_alias.wanted, memory.may_alias.reach = _Instead(supposed - circle.links, hit.store), SCAN
        memory.forbidden = _Either(self._fallen, self._forbidden | circle.links)
        memory.look_at_everything(self._since)
        access = ssa.accesses[hit.store]
        try:
            ssa.number = access.number
            ssa.learn(access.address, MASK, hit.address, Premise.SUPPOSED)
            ssa.learn(access.data, hit.mask, hit.bits, Premise.SUPPOSED)
            propagation.run()
            if self._places is not None:
                self._places.repeat()
                propagation.run()
        except Contradiction:
            return False
        return True


def look_for_impossible(ssa: TraceSsa, stores: Sequence[int]) -> None:
    """Check that no store turned out to be to constants.

    :param stores: Their accesses.
    :raises Contradiction: One did.
    """
    mask, bits = ssa.domain.mask, ssa.domain.bits
    for access in [ssa.accesses[number] for number in stores]:
        address = access.address
        ran = mask[access.condition] == MASK and bits[access.condition]
        if ran and access.size and mask[address] == MASK and ssa.read_constant(bits[address], 1) is not None:
            raise Contradiction(address, NONE)


def _refuted(propagation: Propagation, blame: Blame, first: Contradiction) -> Set[Pair]:
    # The pairs that a contradiction rests on; better those that are refuted alone, by it or by what comes after it.
    blamed = blame.of(first)
    alone = blamed if len(blamed) == 1 else set()
    for _ in range(_FURTHER):
        try:
            propagation.run()
            break
        except Contradiction as contradiction:
            found = blame.of(contradiction)
            alone = alone | found if len(found) == 1 else alone
    return alone or blamed
