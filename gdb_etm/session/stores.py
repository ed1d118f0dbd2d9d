"""The stores to an object, and its loads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Callable, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.runs import Run, runs
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.values import Tier, Value, Write, Written
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.objects import MemoryObject
from gdb_etm.session.scenes import scene_for

# How many more accesses are looked for where copies are put together.
_MORE = 4
_WORD = 4
_LOADS = 3

# Finds accesses, newest first: so many of them.
Find = Callable[[Optional[int]], Written]


class Accesses(NamedTuple):
    """Stores to an object, or its loads."""

    # Newest first.
    runs: Tuple[Run, ...]
    # How many older ones are known beside; None where there may be some.
    more: Optional[int]
    # How many accesses of unknown address ran before the oldest of them.
    unknown_before: int
    # The first instruction that was looked at.
    first: int


def stores(at: Moment, place: MemoryObject, enough: Optional[int], by: str = "") -> Accesses:
    """Find the stores to an object, newest first.

    :param enough: How many will do; a copy counts as one.
    :param by: Only those of this function, or of a library that it has called; empty: all.
    :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
    """
    known = at.known

    def find(wanted: Optional[int]) -> Written:
        return known.writes(place.address, place.size, wanted, at.session.meter)

    return _found(at, find, enough, by, False)


def loads(at: Moment, place: MemoryObject, enough: Optional[int], by: str = "") -> Accesses:
    """Find the loads of an object, newest first.

    :param enough: How many will do; a copy counts as one.
    :param by: Only those of this function, or of a library that it has called; empty: all.
    :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
    """

    def find(wanted: Optional[int]) -> Written:
        with at.known.solved(at.recovery.first(len(at.recovery.history)), at.session.meter):
            return _loads(at, place, wanted)

    return _found(at, find, enough, by, True)


def _found(at: Moment, find: Find, enough: Optional[int], by: str, are_loads: bool) -> Accesses:
    wanted = enough
    while True:
        written = find(wanted)
        with at.known.solved(len(at.decoded.history) + 1, at.session.meter):
            scene = scene_for(at.session, at.decoded, at.known)
            found, skipped = _chosen(scene, runs(scene, written.writes, are_loads), enough, by)
        if wanted is None or len(written.writes) < wanted or enough is not None and len(found) >= enough:
            break
        wanted *= _MORE
    more: Optional[int] = len(written.writes) - sum(len(run.writes) for run in found)
    if by:
        more = None if len(found) == enough else 0
    return Accesses(tuple(found), more, written.unknown_before + skipped, written.first)


def _chosen(scene: Scene, found: Iterable[Run], enough: Optional[int], by: str) -> Tuple[List[Run], int]:
    # Those of a function, and the accesses of unknown address that ran before the last of them.
    chosen: List[Run] = []
    skipped = 0
    for run in found:
        if len(chosen) == enough:
            break
        skipped += run.unknown_after
        if by and by not in functions_of(scene, run):
            continue
        first = run.writes[0]._replace(unknown_after=skipped)
        chosen.append(run._replace(writes=(first, *run.writes[1:])))
        skipped = 0
    return chosen, skipped


def functions_of(scene: Scene, run: Run) -> List[str]:
    """Name an access's function, and that which called it in a library."""
    numbers = [run.number] if run.caller is None else [run.number, run.caller]
    found = [scene.function(number) for number in numbers if not run.is_pushed]
    return [one.name for one in found if one is not None]


def _loads(at: Moment, place: MemoryObject, enough: Optional[int]) -> Written:
    # Back from the end, piece by piece.
    recovery = at.recovery
    number = len(recovery.history)
    found: List[Write] = []
    unknown: List[int] = []
    first = number + 1
    while number > 0 and (enough is None or len(found) < enough):
        touched = recovery.touched(number, _LOADS, place.address, place.size)
        if not touched.is_known:
            break
        unknown[:0] = touched.unknown
        found += _of(at, place, number, frozenset(touched.numbers), touched.first)
        first = touched.first
        number = first - 1
    counted = list(_counted(found, unknown))
    before = bisect_left(unknown, counted[-1].number) if counted else len(unknown)
    return Written(tuple(counted), before, first)


def _of(at: Moment, place: MemoryObject, last: int, numbers: Iterable[int], first: int) -> Iterator[Write]:
    origins = at.recovery.origins(last)
    known = list(origins.known()) if origins is not None else []
    for number, one in reversed(known):
        if one.store or one.address is None or number not in numbers or not first <= number <= last:
            continue
        if one.address < place.address + place.size and place.address < one.address + one.size:
            yield Write(number, one.address, one.size, value_of(at, number, one.address, one.size), True, 0)


def _counted(found: Iterable[Write], unknown: List[int]) -> Iterator[Write]:
    newer: Optional[int] = None
    for one in found:
        end = len(unknown) if newer is None else bisect_left(unknown, newer)
        yield one._replace(unknown_after=max(end - bisect_right(unknown, one.number), 0))
        newer = one.number


class ObjectTouches(NamedTuple):
    """All known accesses to an object."""

    # Oldest first.
    touches: Tuple[Touch, ...]
    # How many stores have addresses that are not known.
    unknown: int
    # The first instruction that was looked at.
    first: int


def touches_of(at: Moment, place: MemoryObject) -> ObjectTouches:
    """Find all known accesses to an object."""
    written = at.recovery.writes(place.address, place.size)
    read = _loads(at, place, None)
    found = [Touch(one.number, True, one.address, one.size) for one in written.writes if one.certain]
    found += [Touch(one.number, False, one.address, one.size) for one in read.writes]
    unknown = written.unknown_before + sum(one.unknown_after for one in written.writes)
    return ObjectTouches(tuple(sorted(found)), unknown, max(written.first, read.first))


def value_of(at: Moment, number: int, address: int, size: int) -> Value:
    """Give a word of memory, or less, before an instruction; little-endian."""
    value, tier = 0, Tier.EXACT
    for index, byte in enumerate(at.recovery.memory(number, address, size)):
        if byte.value is None or size > _WORD:
            return Value(None, Tier.UNKNOWN, byte.reason)
        value, tier = value | byte.value << 8 * index, max(tier, byte.tier)
    return Value(value, tier, "", MASK, value, value, value)
