"""Newest first: suppositions for a few stores at a time.

Code that moves the nodes of a list stores through pointers that it has loaded from the list.  Such stores hit what was
loaded, so that not all links are true.  But where all that is newer is known, the stores of one operation show which of
them are false.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, List, Sequence

from gdb_etm.recovery.memory.access_groups import AccessGroups
from gdb_etm.recovery.memory.cells import FIRST
from gdb_etm.recovery.solve.blame import Blame
from gdb_etm.recovery.solve.courses import Course, Workings
from gdb_etm.recovery.solve.fallen_links import FallenLinks, LinkSearch
from gdb_etm.recovery.solve.last_writers import LastWriters

# Instructions between the stores of two operations, and those that a few operations have together.
_APART: Final = 16
_TOGETHER: Final = 150
# Accesses that are looked at for all of them: each course looks at those of the whole segment.
_WORK: Final = 400000
# Courses that are tried for one.
_MOST: Final = 40
# Operations in a row that are not told, where it is given up.
_UNEXPLAINED: Final = 4


class NewestFirst:
    """Works out one operation after the other.

    The stores of one have little time between them.

    :param workings: Of the segment.
    :param since: The access where it ends.
    """

    def __init__(self, workings: Workings, since: int) -> None:
        self._workings = workings._replace(groups=AccessGroups(workings.ssa, workings.where))
        self._ssa, self._propagation = workings.ssa, workings.propagation
        self._since = since
        # Courses that may still be tried.
        self._courses = _WORK // max(len(self._ssa.accesses), 1)
        # Operations in a row whose stores stay unknown.
        self._unexplained = 0
        # Links that turned out to be false.
        self._fallen = FallenLinks(workings)

    def look(self) -> None:
        """Go on until it cannot be told what ran."""
        until = len(self._ssa.accesses)
        self._propagation.follows_stacks = False
        while until > max(self._since, 0) and self._courses > 0:
            since = self._begin(until)
            if not self._is_explained(since, until):
                break
            until = since
        self._propagation.follows_stacks = True

    def _stores(self, since: int, until: int) -> List[int]:
        # The stores of unknown address between two accesses.
        unresolved = self._propagation.memory.may_alias.unresolved
        return unresolved[bisect_left(unresolved, max(since, 0)) : bisect_left(unresolved, until)]

    def _begin(self, until: int) -> int:
        # Where a few operations before an access begin: behind the store before them.
        stores = self._stores(self._since, until)
        times = [self._ssa.accesses[one].number for one in stores]
        for at in range(len(stores) - 1, 0, -1):
            if times[at] - times[at - 1] >= _APART and times[-1] - times[at - 1] > _TOGETHER:
                return stores[at - 1] + 1
        return self._since

    def _is_explained(self, since: int, until: int) -> bool:
        # Works out what is between two accesses: all of it at once or, where that is not what ran, in two parts.
        at = self._middle(self._stores(since, until))
        if at == FIRST:
            return self._is_found(since, until)
        return self._is_all_known(since, until) or self._is_explained(at, until) and self._is_explained(since, at)

    def _middle(self, stores: Sequence[int]) -> int:
        # Between which two operations to part them: behind the store before the longest time; FIRST if there is one.
        times = [self._ssa.accesses[one].number for one in stores]
        gaps = [(later - older, store + 1) for store, older, later in zip(stores, times, times[1:])]
        gap, at = max(gaps, default=(0, FIRST))
        return at if gap >= _APART else FIRST

    def _is_all_known(self, since: int, until: int) -> bool:
        if self._course(self._writers(since, until)).follow(all_until=until):
            self._unexplained = 0
            return True
        return False

    def _course(self, writers: LastWriters) -> Course:
        self._courses -= 1
        return Course(self._workings, writers.since, writers, self._fallen)

    def _writers(self, since: int, until: int) -> LastWriters:
        blame = Blame(self._ssa, self._workings.proofs)
        return LastWriters(self._propagation, blame, since, until)

    def _is_found(self, since: int, until: int) -> bool:
        # Works out one operation, with links that have fallen where not all can be true.
        writers = self._writers(since, until)
        course = self._course(writers)
        if course.follow():
            self._unexplained += bool(self._stores(since, until))
            return self._unexplained < _UNEXPLAINED
        if not course.is_refuted:
            return False
        attempts = min(self._courses, _MOST)
        search = LinkSearch(self._workings, writers, since, until, attempts)
        found = search.look(self._fallen)
        self._courses -= attempts - search.attempts
        if found is None:
            return False
        before, self._fallen, self._unexplained = self._fallen, found, 0
        if self._course(writers).follow():
            return True
        self._fallen = before
        return False
