"""Which supposed links fall, and which turn out to be true."""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, Final, List, Set

from gdb_etm.recovery.memory.access_groups import AccessGroups
from gdb_etm.recovery.memory.grounds import ground_of
from gdb_etm.recovery.memory.may_alias import MayAlias, Pair

# Of the links that a contradiction rests on, those fall that at least one in so many of the most stores may hit.
_NEAR: Final = 2


class SupposedLinks:
    """The links between which stores of unknown address were supposed to miss.

    :param may_alias: With these links, and with what is known of stores now.
    """

    def __init__(self, may_alias: MayAlias) -> None:
        self._may_alias = may_alias

    def riskiest(self, pairs: Set[Pair], most: int) -> Set[Pair]:
        """Choose those between which most stores may hit.

        One that a store of known address hits is worse than all others.

        :param pairs: Of these.
        :param most: How many stores there are at most.
        """
        if len(pairs) < 2:
            return pairs
        may_alias = self._may_alias
        risks: Dict[Pair, int] = dict.fromkeys(pairs, 0)
        for source, number, byte in may_alias.supposed:
            if (source, number) in risks:
                count = sum([may_alias.may_write(other, byte) for other in self._between(source, number)])
                if may_alias.stores_to(source, number, byte):
                    count = most
                risks[source, number] = max(risks[source, number], count)
        largest = max(risks.values())
        return {pair for pair, count in risks.items() if count * _NEAR >= largest}

    def overwritten(self) -> Set[Pair]:
        """List those that known stores turn out to hide."""
        may_alias = self._may_alias
        return {(one[0], one[1]) for one in may_alias.supposed if may_alias.stores_to(*one)}

    def confirmed(self, groups: AccessGroups) -> Set[Pair]:
        """List those that no store turns out to hide.

        :param groups: What instructions access.
        """
        may_alias = self._may_alias
        found = {(source, number) for source, number, _ in may_alias.supposed}
        for source, number, byte in may_alias.supposed:
            if (source, number) not in found:
                continue
            grounds = may_alias.grounds_between(source, number)
            hits = (
                one
                for one in self._between(source, number)
                if not ground_of(one, byte, grounds) and may_alias.may_write(one, byte) and not groups.misses(one, byte)
            )
            if next(hits, -1) >= 0 or may_alias.stores_to(source, number, byte):
                found.discard((source, number))
        return found

    def _between(self, source: int, number: int) -> List[int]:
        # The stores of unknown address between two accesses.
        unresolved = self._may_alias.unresolved
        return unresolved[bisect_left(unresolved, source + 1) : bisect_left(unresolved, number)]
