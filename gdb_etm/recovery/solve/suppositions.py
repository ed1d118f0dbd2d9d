"""Suppositions: what follows if stores of unknown address miss.

If none of them turns out to hit then, by the addresses that are known then, and nothing contradicts it, that is what
ran: another course would have to lead to the same halt.
"""

from __future__ import annotations

from typing import Final

from gdb_etm.recovery.memory.cells import FIRST
from gdb_etm.recovery.solve.courses import Course, Workings
from gdb_etm.recovery.solve.newest_first import NewestFirst

# Instructions, from the end back, between whose accesses links are supposed first; then as many more.
_AT_A_TIME: Final = 10000


def suppose(workings: Workings) -> None:
    """Link accesses between which all stores turn out to miss.

    :param workings: Of a segment, with all that follows without suppositions.
    """
    ssa = workings.ssa
    if not ssa.accesses:
        return
    first, last = ssa.accesses[0].number, ssa.accesses[-1].number
    numbers = range(last - _AT_A_TIME, first + _AT_A_TIME // 2, -_AT_A_TIME)
    for since in [*map(ssa.first_access, numbers), FIRST]:
        if not _is_all_true(workings, since):
            NewestFirst(workings, since).look()


def _is_all_true(workings: Workings, since: int) -> bool:
    # Supposes all at once or, where that is not what ran, in stages; gives whether all at once came true.
    course = Course(workings, since)
    if course.follow() or not course.is_refuted:
        return True
    course.follow(True)
    return False
