"""Which data synchronisation markers of the two streams are the same ones.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.4.2.

Both streams have the same markers in the same order, but each may have lost some.  A numbered marker of the data
stream finds its partner by its number, of which there are but eight, and by the timestamps around the two; those after
it pair off one by one, until trace is lost in either stream or two that should be the same are not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.data.elements import DataElement
from gdb_etm.protocols.etmv4.log import Item, Lost, Marker, Time

_CANDIDATES = 16
_AHEAD = 32
_NEVER = 1 << 64


class Pair(NamedTuple):
    """The partner of a marker."""

    # Its index in the instruction stream's log.
    position: int
    # Whether nothing else could be its partner.
    certain: bool


class _Mark(NamedTuple):
    position: int
    number: Optional[int]
    # How often trace was lost before it.
    stretch: int
    # The last timestamp before it.
    before: Optional[int]
    # The first timestamp after it.
    after: Optional[int]


def _marks(items: Sequence[Union[Item, DataElement]]) -> List[_Mark]:
    found: List[_Mark] = []
    open_from = 0
    stretch = 0
    time: Optional[int] = None
    for position, item in enumerate(items):
        if isinstance(item, Marker):
            found.append(_Mark(position, item.number, stretch, time, None))
        elif isinstance(item, (Lost, Gap)):
            stretch += 1
        elif isinstance(item, Time) and item.value:  # 0 is a time that is not known
            time = item.value
            for index in range(open_from, len(found)):
                found[index] = found[index]._replace(after=time)
            open_from = len(found)
    return found


def _fits(data: _Mark, partner: _Mark) -> bool:
    if data.number != partner.number:
        return False
    if data.before is not None and partner.after is not None and partner.after < data.before:
        return False
    return data.after is None or partner.before is None or partner.before <= data.after


def _is_bounded(data: _Mark, partner: _Mark) -> bool:
    # Whether any two timestamps could be compared; else another lap of the numbers would do as well.
    return None not in (data.before, partner.after) or None not in (data.after, partner.before)


def _distance(data: _Mark, partner: _Mark) -> int:
    if data.after is not None and partner.after is not None:
        return abs(data.after - partner.after)
    if data.before is not None and partner.before is not None:
        return abs(data.before - partner.before)
    return _NEVER


def align(items: Sequence[Item], elements: Sequence[DataElement], from_start: bool = False) -> Dict[int, Pair]:
    """Find the partners of the data stream's markers.

    :param items: The instruction stream's log.
    :param elements: The data stream's elements.
    :param from_start: Whether both streams were captured from their beginnings on: their first markers are the same.
    :returns: By a marker's index in ``elements``; those without a partner are missing.
    """
    return _Alignment(_marks(items), _marks(elements), from_start).run()


class _Alignment:
    def __init__(self, partners: List[_Mark], marks: List[_Mark], from_start: bool) -> None:
        self._from_start = from_start
        self._partners = partners
        self._marks = marks
        self._by_number: Dict[int, List[int]] = {}
        for index, partner in enumerate(partners):
            if partner.number is not None:
                self._by_number.setdefault(partner.number, []).append(index)
        # The latest time up to each: ascending even where the traced ones are not.
        self._latest: Dict[int, List[int]] = {}
        for number, indices in self._by_number.items():
            times = (_NEVER if partners[index].after is None else partners[index].after or 0 for index in indices)
            self._latest[number] = list(accumulate(times, max))

    def run(self) -> Dict[int, Pair]:
        found: Dict[int, Pair] = {}
        floor = -1
        # Markers that paired off one by one, each with the index of its partner.
        pairs: List[Tuple[_Mark, int]] = []
        for index, mark in enumerate(self._marks):
            if pairs and self._goes_on(*pairs[-1], mark):
                pairs.append((mark, pairs[-1][1] + 1))
                continue
            floor = self._close(pairs, found, floor)
            at = self._find(index, mark, floor)
            pairs = [(mark, at)] if at is not None else []
        self._close(pairs, found, floor)
        return found

    def _goes_on(self, previous: _Mark, at: int, mark: _Mark) -> bool:
        if previous.stretch != mark.stretch or at + 1 >= len(self._partners):
            return False
        return self._partners[at].stretch == self._partners[at + 1].stretch and _fits(mark, self._partners[at + 1])

    def _close(self, pairs: List[Tuple[_Mark, int]], found: Dict[int, Pair], floor: int) -> int:
        # One that is certain makes all certain: the others are counted off from it.  All later ones come after them.
        certain = any(self._is_only(mark, at) for mark, at in pairs)
        for mark, at in pairs:
            found[mark.position] = Pair(self._partners[at].position, certain)
        return pairs[-1][1] if certain else floor

    def _is_only(self, mark: _Mark, at: int) -> bool:
        first = at == 0 and mark is self._marks[0]
        if first and self._from_start and mark.stretch == 0 and self._partners[0].stretch == 0:
            return True
        return _is_bounded(mark, self._partners[at]) and self._candidates(mark, -1) == [at]

    def _find(self, index: int, mark: _Mark, floor: int) -> Optional[int]:
        candidates = self._candidates(mark, floor)
        if len(candidates) > 1:
            # What pairs off after them says more.
            candidates = [at for at in candidates if self._agree(index, at)] or candidates
        return min(candidates, key=lambda at: (_distance(mark, self._partners[at]), at)) if candidates else None

    def _candidates(self, mark: _Mark, floor: int) -> List[int]:
        if mark.number is None or mark.number not in self._by_number:
            return []
        indices = self._by_number[mark.number]
        start = bisect_right(indices, floor)
        if mark.before is not None:
            start = max(start, bisect_left(self._latest[mark.number], mark.before))
        return [at for at in indices[start : start + _CANDIDATES] if _fits(mark, self._partners[at])]

    def _agree(self, index: int, at: int) -> bool:
        first, partner = self._marks[index], self._partners[at]
        ahead = zip(self._marks[index + 1 : index + _AHEAD], self._partners[at + 1 : at + _AHEAD])
        for mark, other in ahead:
            if mark.stretch != first.stretch or other.stretch != partner.stretch:
                return True
            if not _fits(mark, other):
                return False
        return True
