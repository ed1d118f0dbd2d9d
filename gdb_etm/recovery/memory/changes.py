"""What has become known of accesses since somebody looked, by the log.

A load that waits for stores of unknown address is looked at again only if one of them can have come to miss it.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Set

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa


class FreshAccesses(NamedTuple):
    """Accesses of which more is known than before, by their numbers."""

    # More is known of the address.
    moved: Set[int]
    # More is known of a store's data or condition, or of a load's data.
    told: Set[int]
    # Whether there is anything new at all.
    grew: bool


class AccessNews:
    """Finds the accesses that the log's new entries are about.

    :param ssa: With its accesses.
    :param other: Is copied.
    """

    def __init__(self, ssa: TraceSsa, other: Optional["AccessNews"] = None) -> None:
        self._ssa = ssa
        # Entries of the log, and classes joined, that were looked at.
        self._entries = self._merged = 0
        self._of_address: Dict[int, List[int]] = {}
        self._of_data: Dict[int, List[int]] = {}
        if other is not None:
            self._of_address, self._of_data = other._of_address, other._of_data
            self._entries, self._merged = other._entries, other._merged
            return
        for number, access in enumerate(ssa.accesses):
            if access.store:
                self._of_address.setdefault(access.address, []).append(number)
                self._of_data.setdefault(access.condition, []).append(number)
            self._of_data.setdefault(access.data, []).append(number)

    def copy(self) -> "AccessNews":
        """Copy it, to be changed on its own."""
        return AccessNews(self._ssa, self)

    def look(self) -> FreshAccesses:
        """Give what has changed since the last look."""
        domain = self._ssa.domain
        log, mask, root = domain.log, domain.mask, domain.root
        grew = (self._entries, self._merged) != (len(log.variable), len(log.merged))
        learnt = set(log.variable[self._entries :])
        # An interval is that of a whole class.
        classes = {root[variable] for variable in learnt if mask[variable] != MASK}
        classes.update([root[one] for one, _, _, _ in log.merged[self._merged :]])
        self._entries, self._merged = len(log.variable), len(log.merged)
        narrower = learnt.union(*[domain.members.get(one, ()) for one in classes])
        return FreshAccesses(_accesses(self._of_address, narrower), _accesses(self._of_data, learnt), grew)


def _accesses(of: Dict[int, List[int]], variables: Set[int]) -> Set[int]:
    found: Set[int] = set()
    for variable in variables:
        if variable in of:
            found.update(of[variable])
    return found
