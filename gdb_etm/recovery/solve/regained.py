"""Withheld facts as assumptions: the most trusted first, if they agree."""

from __future__ import annotations

from typing import Callable, Final, List, NamedTuple, Sequence, Set

from gdb_etm.recovery.constraints.graph import Premise, Withheld
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.memory.store_forwarding import Reader
from gdb_etm.recovery.solve.doubts import Doubts, Pair
from gdb_etm.recovery.solve.dropped import Dropped
from gdb_etm.recovery.solve.propagation import Propagation

# How far facts are trusted: what was traced and the architecture; stack pointers, and that nobody else writes memory;
# what was read or given; what was found by trying.
_SEEN: Final = 0
_STACK: Final = 1
_READ: Final = 2
_INFERRED: Final = 3
_TRUST = {
    **dict.fromkeys((Premise.HALT, Premise.BEGIN, Premise.GIVEN), _READ),
    **dict.fromkeys((Premise.MEMORY, Premise.BASE), _INFERRED),
}


class _Offer(NamedTuple):
    take: Callable[[], None]
    # Notes that it was not taken.
    drop: Callable[[], None]


class Regained:
    """Offers the withheld facts of a segment as assumptions.

    :param propagation: All that is exact is worked out.
    :param doubts: What was withheld.
    :param word: Reads all memory at the end; None when nothing is known of it.
    """

    def __init__(self, propagation: Propagation, doubts: Doubts, word: Reader) -> None:
        self._propagation = propagation
        self._ssa = propagation.ssa
        self._doubts = doubts
        self._word = word
        # Those that are taken to be known.
        self._words: Set[int] = set()
        self.dropped = Dropped([], [], [])

    def offer(self) -> None:
        """Take what goes with what is known."""
        levels: List[List[_Offer]] = [[], [], [], []]
        stack = set(self._ssa.held[SP])
        for fact in dict.fromkeys(self._ssa.withheld):
            trust = _TRUST.get(fact.why, _SEEN)
            levels[_STACK if trust == _READ and fact.variable in stack else trust].append(self._fact(fact))
        levels[_STACK] += [self._link(pair) for pair in sorted(self._doubts.links)]
        levels[_READ] += [self._read(word) for word in sorted(self._doubts.words)]
        for level in levels:
            self._try(level)

    def _try(self, offers: Sequence[_Offer]) -> None:
        # All of them; or those that go with what is known, if they go with each other.
        tried = self._propagation.tried
        if not offers or tried([one.take for one in offers]):
            return
        fit = [one for one in offers if len(offers) > 1 and tried([one.take], False)]
        taken = bool(fit) and tried([one.take for one in fit])
        for one in offers:
            if not taken or one not in fit:
                one.drop()

    def _fact(self, fact: Withheld) -> _Offer:
        return _Offer(lambda: self._ssa.accept(fact), lambda: self.dropped.facts.append(fact))

    def _link(self, pair: Pair) -> _Offer:
        def take() -> None:
            self._ssa.unlinked.discard(pair)
            self._propagation.relink(pair[1])

        def drop() -> None:
            self._ssa.unlinked.add(pair)
            self.dropped.links.append(pair)

        return _Offer(take, drop)

    def _read(self, address: int) -> _Offer:
        def take() -> None:
            self._words.add(address)
            known = frozenset(self._words)
            self._propagation.memory.reveal(lambda word: self._word(word) if self._is_known(word, known) else None)

        def drop() -> None:
            self._words.discard(address)
            self.dropped.words.append(address)

        return _Offer(take, drop)

    def _is_known(self, word: int, known: "frozenset[int]") -> bool:
        return word in known or word not in self._doubts.words
