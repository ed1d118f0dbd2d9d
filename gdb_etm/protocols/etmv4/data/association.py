"""Data transfers and the P0 elements that they belong to.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.2.3 and 2.4.

A P1 element names its parent by one of few keys; which of the P0 elements with that key it is follows from where the
last one was found and from the markers in both streams.  Three places where the text does not agree with itself:

- A search forwards that comes to the end of the trace finds nothing, and the transfer is dropped (the prose of 2.4.1;
  the pseudocode would search backwards then).  The end is what a user looks at after a halt, so what the pseudocode
  finds is recorded here, as not certain: a P0 element after the end could have the same key.
- Backwards, an Overflow or a Discard ends the search even after the last match is known (the prose; the pseudocode
  tests for it the wrong way round), and the last match never moves back, not even to the start of the trace (the
  pseudocode and the last sentence of 2.4.1; the prose of the search would move it).
- After an Overflow the search begins again at the next marker that has a partner.  The prose says numbered marker,
  because the numbered ones find theirs by themselves; here each paired marker was found from a numbered one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import DefaultDict, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.data.alignment import Pair, align
from gdb_etm.protocols.etmv4.data.elements import P1, P2, DataElement, Suppression
from gdb_etm.protocols.etmv4.log import Cancelled, Item, Lost, Marker, Parent


class Match:
    """A transfer whose parent was found."""

    __slots__ = ("transfer", "parent", "value", "certain")

    def __init__(self, transfer: P1, parent: Parent, certain: bool) -> None:
        self.transfer = transfer
        self.parent = parent
        # None when no P2 element came for it.
        self.value: Optional[int] = None
        # Whether the markers left no doubt about the parent.
        self.certain = certain


class Missing(NamedTuple):
    """A position in the data stream where transfers or parents are missing."""

    # How many matches are before it.
    after: int
    gap: Gap


class Association(NamedTuple):
    """Result of matching a data stream to the instruction stream."""

    # In the order of the data stream.
    matches: List[Match]
    missing: List[Missing]


def associate(
    items: Sequence[Item], elements: Sequence[DataElement], p0_keys: int, from_start: bool = False
) -> Association:
    """Find every transfer's P0 element and value.

    :param items: The instruction stream's log.
    :param elements: The data stream's elements.
    :param p0_keys: How many keys P0 elements count through.
    :param from_start: Whether both streams were captured from their beginnings on.
    """
    return _Associating(items, elements, align(items, elements, from_start), p0_keys).run()


class _Positions:
    # Where items of one kind are in the log.

    def __init__(self) -> None:
        self._positions: List[int] = []
        self.add = self._positions.append

    def before(self, position: int) -> int:
        # The last one before; -1 when there is none.
        at = bisect_left(self._positions, position)
        return self._positions[at - 1] if at else -1

    def at_or_after(self, position: int) -> Optional[int]:
        at = bisect_left(self._positions, position)
        return self._positions[at] if at < len(self._positions) else None


class _Associating:
    def __init__(
        self, items: Sequence[Item], elements: Sequence[DataElement], pairs: Mapping[int, Pair], p0_keys: int
    ) -> None:
        self._items = items
        self._elements = elements
        self._pairs = pairs
        self._p0_keys = p0_keys
        # By key; a register may say that there are billions of them.
        self._keys: DefaultDict[int, _Positions] = defaultdict(_Positions)
        self._cancels = _Positions()
        self._lost = _Positions()
        for position, item in enumerate(items):
            if isinstance(item, Parent):
                self._keys[item.key].add(position)
            elif isinstance(item, Cancelled):
                self._cancels.add(position)
            elif isinstance(item, Lost):
                self._lost.add(position)
        # The last marker's position in the log while no transfer came after it; the last matched element, LME in the
        # specification: its position in the log and its key.  Neither is known to begin with.
        self._marker: Optional[int] = None
        self._last: Optional[Tuple[int, int]] = None
        self._certain = False
        # Whether the last search came to the end of the trace.
        self._ended = False
        self._open: Dict[int, Optional[Match]] = {}
        self._matches: List[Match] = []
        self._missing: List[Missing] = []
        self._unplaced: List[P1] = []

    def run(self) -> Association:
        for index, element in enumerate(self._elements):
            if isinstance(element, P1):
                self._take(element)
            elif isinstance(element, P2):
                match = self._open.pop(element.key, None)
                if match is not None:
                    match.value = element.value
            elif isinstance(element, Marker):
                self._mark(index)
            elif isinstance(element, Gap):
                self._open.clear()
                self._marker = self._last = None
                self._miss(element)
            elif isinstance(element, Suppression):
                self._miss(Gap(element.offset, GapReason.SUPPRESSED, ""))
        self._tell_unplaced()
        return Association(self._matches, self._missing)

    def _mark(self, index: int) -> None:
        pair = self._pairs.get(index)
        if pair is None:
            self._marker = self._last = None
            return
        self._marker = pair.position
        self._certain = pair.certain

    def _take(self, element: P1) -> None:
        position = self._search(element.left) if element.left < self._p0_keys else None
        parent = self._items[position] if position is not None else None
        if not isinstance(parent, Parent):
            self._unplaced.append(element)
            self._open[element.right] = None
            return
        self._tell_unplaced()
        match = Match(element, parent, self._certain and not self._ended)
        self._matches.append(match)
        self._open[element.right] = match

    def _search(self, key: int) -> Optional[int]:
        # The position of the parent in the log.
        self._ended = False
        if self._marker is not None:
            marker, self._marker = self._marker, None
            found = self._backwards(marker, key)
            if found is not None and (self._last is None or found > self._last[0]):
                self._last = found, key
            return found
        if self._last is None:
            return None
        return self._forwards(self._last, key)

    def _forwards(self, last: Tuple[int, int], key: int) -> Optional[int]:
        start, last_key = last
        end_key = (last_key + self._p0_keys // 2) % self._p0_keys
        found = self._keys[key].at_or_after(start)
        lost = self._lost.at_or_after(start)
        ends = [self._keys[end_key].at_or_after(start), self._cancels.at_or_after(start)]
        stops = [position for position in ends if position is not None]
        nearest = min(stops) if stops else None
        if found is not None and (nearest is None or found <= nearest) and (lost is None or found < lost):
            self._last = found, key
            return found
        if lost is not None and (nearest is None or lost < nearest):
            return None
        self._ended = nearest is None
        return self._backwards(start, key)

    def _backwards(self, start: int, key: int) -> Optional[int]:
        found = self._keys[key].before(start)
        if self._lost.before(start) > found:
            self._last = None
            return None
        if found < 0:
            self._last = self._last or (0, key)
            return None
        return found

    def _tell_unplaced(self) -> None:
        if self._unplaced:
            count = len(self._unplaced)
            gap = Gap(self._unplaced[0].offset, GapReason.UNPLACED, "%d transfer%s" % (count, "s" * (count > 1)))
            self._missing.append(Missing(len(self._matches), gap))
            self._unplaced = []

    def _miss(self, gap: Gap) -> None:
        self._tell_unplaced()
        self._missing.append(Missing(len(self._matches), gap))
