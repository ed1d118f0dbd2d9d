"""Which data synchronisation markers of the two streams are the same ones.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.4.2.

Both streams have the same markers in the same order, but each may have lost some.  A numbered marker of the data
stream finds its partner by its number, of which there are but eight, and by the timestamps around the two; those after
it pair off one by one, until trace is lost in either stream or two that should be the same are not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.data_elements import DataElement
from gdb_etm.protocols.etmv4.log import Item, Lost, Marker, Time

_CANDIDATES = 16
_AHEAD = 32
_NEVER = 1 << 64


class Pair(NamedTuple):
    """The partner of a marker."""

    position: int
    """Its index in the instruction stream's log."""
    certain: bool
    """Whether nothing else could be its partner."""


class _Mark(NamedTuple):
    position: int
    number: Optional[int]
    stretch: int
    """How often trace was lost before it."""
    before: Optional[int]
    """The last timestamp before it."""
    after: Optional[int]
    """The first timestamp after it."""


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


def align(items: Sequence[Item], elements: Sequence[DataElement]) -> Dict[int, Pair]:
    """Find the partners of the data stream's markers.

    :param items: The instruction stream's log.
    :param elements: The data stream's elements.
    :returns: By a marker's index in ``elements``; those without a partner are missing.
    """
    return _Alignment(_marks(items), _marks(elements)).run()


class _Alignment:
    def __init__(self, partners: List[_Mark], marks: List[_Mark]) -> None:
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
        last = floor = -1
        certain = True
        previous: Optional[_Mark] = None
        for index, mark in enumerate(self._marks):
            follows = previous is not None and previous.stretch == mark.stretch and self._goes_on(last, mark)
            if follows:
                last += 1
            elif mark.number is None:
                previous = None
                continue
            else:
                choice = self._find(index, mark, floor)
                if choice is None:
                    previous = None
                    continue
                last = choice.position
                certain = choice.certain
            found[mark.position] = Pair(self._partners[last].position, certain)
            # Where one was certain, all later ones come after it.
            floor = last if certain else floor
            previous = mark
        return found

    def _goes_on(self, last: int, mark: _Mark) -> bool:
        following = last + 1
        if following >= len(self._partners) or self._partners[last].stretch != self._partners[following].stretch:
            return False
        return _fits(mark, self._partners[following])

    def _find(self, index: int, mark: _Mark, floor: int) -> Optional[Pair]:
        # The position of the result is the index of the partner.
        candidates = self._candidates(mark, floor)
        if len(candidates) > 1:
            # What pairs off after them tells more.
            candidates = [at for at in candidates if self._agree(index, at)] or candidates
        if not candidates:
            return None
        best = min(candidates, key=lambda at: (_distance(mark, self._partners[at]), at))
        return Pair(best, len(candidates) == 1 and _is_bounded(mark, self._partners[best]))

    def _candidates(self, mark: _Mark, floor: int) -> List[int]:
        indices = self._by_number.get(mark.number if mark.number is not None else -1)
        if indices is None or mark.number is None:
            return []
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
