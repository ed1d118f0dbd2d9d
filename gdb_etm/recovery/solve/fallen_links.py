"""Fallen links: which supposed link is false, where one must be.

Each link that a conflict rests on falls by itself, and what follows then is looked at.  If all courses but one lead to
a conflict again, that one is what ran.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, Final, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.memory.may_alias import SCAN, Pair
from gdb_etm.recovery.solve.blame import Blame
from gdb_etm.recovery.solve.courses import Since, Workings, look_for_impossible
from gdb_etm.recovery.solve.last_writers import LastWriters

# Links that fall together, and those of a conflict that are tried: all of them, or none.
_DEEP: Final = 4
_TRIED: Final = 12
# Conflicts that are looked at: contradictions, and others.
_CONTRADICTIONS: Final = 7
_OTHERS: Final = 6
# Instructions behind a link's older access, by which it is told from others of the same instructions.
_PATH: Final = 32
# Links that an address rests on are all of interest.
_ALL: Final = 1000
# Which instructions a link is of, and what ran behind the older one.
Kind = Tuple[int, ...]


class FallenLinks:
    """Links that are taken for false, and all like some of them.

    :param workings: Of the segment.
    :param pairs: These.
    :param kinds: The kinds of which all are taken for false.
    """

    def __init__(
        self, workings: Workings, pairs: FrozenSet[Pair] = frozenset(), kinds: FrozenSet[Kind] = frozenset()
    ) -> None:
        self._workings = workings
        self.kinds = kinds
        self.pairs = pairs
        self._sites = {kind[:2] for kind in kinds}

    def __contains__(self, pair: object) -> bool:
        if pair in self.pairs or not self.kinds or not isinstance(pair, tuple):
            return pair in self.pairs
        return self._is_inside(pair) and self._sites_of(pair) in self._sites and self._kind(pair) in self.kinds

    def add(self, pair: Pair) -> FallenLinks:
        """Let one more fall."""
        kinds = self.kinds | {self._kind(pair)} if self._is_inside(pair) else self.kinds
        return FallenLinks(self._workings, self.pairs | {pair}, kinds)

    def _is_inside(self, pair: Pair) -> bool:
        # Whether it is between two accesses.
        return pair[0] >= 0 and pair[1] < len(self._workings.ssa.accesses)

    def _sites_of(self, pair: Pair) -> Tuple[int, int]:
        accesses, where = self._workings.ssa.accesses, self._workings.where
        return where(accesses[pair[0]].number), where(accesses[pair[1]].number)

    def _kind(self, pair: Pair) -> Kind:
        accesses, where = self._workings.ssa.accesses, self._workings.where
        first = accesses[pair[0]].number
        path = range(first, min(first + _PATH, accesses[-1].number))
        return self._sites_of(pair) + tuple([where(number) for number in path])


class _Outcome(NamedTuple):
    # Links that cannot all be true, several times; and how many stores are not known then.
    conflicts: List[Set[Pair]]
    stores: int


class LinkSearch:
    """Lets links fall.

    :param workings: Of the segment, before anything is supposed.
    :param writers: Finds which stores have left what was found.
    :param since: Links from this access on are supposed.
    :param until: Accesses before this one are to be explained.
    :param attempts: How many courses are tried.
    """

    def __init__(self, workings: Workings, writers: LastWriters, since: int, until: int, attempts: int) -> None:
        self._workings = workings
        self._ssa, self._propagation = workings.ssa, workings.propagation
        self._blame = Blame(workings.ssa, workings.proofs)
        self._writers = writers
        self._part = max(since, 0), min(until, len(workings.ssa.accesses))
        self._before = workings.propagation.save()
        # The stores whose address was not known.
        self._unresolved = self._before.memory.may_alias.unresolved
        self.attempts = attempts
        self._seen: Set[FrozenSet[Pair]] = set()
        # The courses without a conflict.
        self._found: List[Tuple[_Outcome, FallenLinks]] = []

    def look(self, fallen: FallenLinks) -> Optional[FallenLinks]:
        """Find which links have fallen.

        :param fallen: Those that have already.
        :returns: None where several courses are possible, or the only one does not tell where all stores went.
        """
        courses = [(fallen, self._attempt(fallen))]
        for _ in range(_DEEP):
            courses = [further for course in courses for further in self._others(*course)]
            if self._found:
                break
        self._propagation.restore(self._before)
        # What another course fits as well is not known.
        is_told = len(self._found) == 1 and not self._found[0][0].stores and self.attempts > 0
        return self._found[0][1] if is_told else None

    def _others(self, fallen: FallenLinks, outcome: _Outcome) -> List[Tuple[FallenLinks, _Outcome]]:
        # Lets each link of a conflict fall; gives the courses that lead to another conflict, and notes the others.
        found = []
        for pair in self._suspects(fallen, outcome.conflicts):
            option = fallen.add(pair)
            if self.attempts <= 0 or option.pairs in self._seen:
                continue
            self._seen.add(option.pairs)
            following = self._attempt(option)
            if following.conflicts:
                found.append((option, following))
            else:
                self._found.append((following, option))
        return found

    def _suspects(self, fallen: FallenLinks, conflicts: List[Set[Pair]]) -> List[Pair]:
        # The links of the smallest conflict; none where there are too many.
        supposed = [{pair for pair in one if pair[0] != pair[1] and pair not in fallen.pairs} for one in conflicts]
        smallest: Set[Pair] = min(filter(None, supposed), key=len, default=set())
        found = sorted(filter(self._has_stores, smallest))
        return found if len(found) <= _TRIED else []

    def _has_stores(self, pair: Pair) -> bool:
        # Whether any were of unknown address between two accesses.
        at = bisect_left(self._unresolved, pair[0] + 1)
        return at < len(self._unresolved) and self._unresolved[at] < pair[1]

    def _attempt(self, fallen: FallenLinks) -> _Outcome:
        self.attempts -= 1
        propagation, supposed = self._propagation, Since(self._part[0])
        propagation.restore(self._before)
        memory = propagation.memory
        memory.may_alias.wanted, memory.may_alias.reach, memory.forbidden = supposed, SCAN, fallen
        memory.look_at_everything(self._part[0])
        try:
            propagation.run()
            conflicts = self._writers.look(supposed, fallen)
            look_for_impossible(self._ssa, self._unresolved)
        except Contradiction as contradiction:
            return _Outcome(self._contradictions(contradiction), 0)
        return _Outcome(self._overwritten() + conflicts, self._left())

    def _contradictions(self, first: Contradiction) -> List[Set[Pair]]:
        found = [self._blame.of(first, True)]
        while len(found) < _CONTRADICTIONS:
            try:
                self._propagation.run()
                break
            except Contradiction as contradiction:
                found.append(self._blame.of(contradiction, True))
        return found

    def _overwritten(self) -> List[Set[Pair]]:
        # Links that stores turned out to hide, with what their addresses rest on.
        may_alias = self._propagation.memory.may_alias
        hits: Dict[Pair, int] = {}
        for source, number, byte in may_alias.supposed:
            hits.setdefault((source, number), max(may_alias.stores_to(source, number, byte), default=-1))
        pairs = [(store, pair) for pair, store in hits.items() if store >= 0]
        accesses = self._ssa.accesses
        return [
            {pair} | self._blame.recent(accesses[store].address, self._before, _ALL)
            for store, pair in sorted(pairs, reverse=True)[:_OTHERS]
        ]

    def _left(self) -> int:
        # How many stores' addresses are not known.
        since, until = self._part
        unresolved = self._propagation.memory.may_alias.unresolved
        return bisect_left(unresolved, until) - bisect_left(unresolved, since)
