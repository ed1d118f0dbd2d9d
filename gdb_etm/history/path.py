"""Random access to a history: addresses, ranges, searches forward and back.

Few distinct runs make up a long execution, so whether a run comes by an address is found out once for each.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import AbstractSet, Dict, FrozenSet, Iterator, List, NamedTuple, Optional

from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, Gap, Range


class Seam(NamedTuple):
    """A place where the history is not whole."""

    # Number of the instruction before it; 0 when there is none.
    after: int
    gap: Gap


class Path:
    """The way that execution took.

    :param history: The executed instructions.
    """

    def __init__(self, history: ExecutionHistory) -> None:
        self.history = history
        self.length = len(history)
        # Address of the instruction that would have been next, when the trace says it.
        self.halted_at: Optional[int] = None
        self._ranges: Dict[int, List[Range]] = {}
        self._hits: Dict[FrozenSet[int], Dict[int, bool]] = {}
        self._seams = self._find_seams()
        self._afters = [seam.after for seam in self._seams]

    def address(self, number: int) -> Optional[int]:
        """Give an instruction's address.

        Of the one after the last: where the core was halted, or None when that is not known.
        """
        if number > self.length:
            return self.halted_at
        span = next(self.back(number))
        return self.history.addresses(span.range)[number - span.number]

    def onward(self, number: int) -> Iterator[Span]:
        """Go forward through the executed ranges, from instruction ``number``'s on."""
        if number > self.length:
            return
        entry, first = self.history.entry(number)
        order = self.history.order
        while entry < len(order):
            for executed in self._run(order[entry]):
                after = first + executed.instructions
                if after > number:
                    yield Span(first, executed)
                first = after
            entry += 1

    def back(self, number: int) -> Iterator[Span]:
        """Go back through the executed ranges, from instruction ``number``'s on."""
        entry, first = self.history.entry(number)
        order = self.history.order
        after = first + self.history.run(order[entry]).instructions
        while entry >= 0:
            for executed in reversed(self._run(order[entry])):
                after -= executed.instructions
                if after <= number:
                    yield Span(after, executed)
            entry -= 1

    def seam(self, first: int, last: int) -> Optional[Seam]:
        """Find the first gap after instruction ``first`` and before instruction ``last``."""
        at = bisect_left(self._afters, first)
        return self._seams[at] if at < len(self._seams) and self._afters[at] < last else None

    def seam_back(self, first: int, last: int) -> Optional[Seam]:
        """Find the last gap after instruction ``first`` and before instruction ``last``."""
        at = bisect_left(self._afters, last) - 1
        return self._seams[at] if at >= 0 and self._afters[at] >= first else None

    def next_at(self, addresses: AbstractSet[int], first: int, last: int) -> Optional[int]:
        """Find the first instruction from ``first`` to ``last`` at some addresses."""
        return self._search(addresses, first, last, False)

    def last_at(self, addresses: AbstractSet[int], first: int, last: int) -> Optional[int]:
        """Find the last instruction from ``first`` to ``last`` at some addresses."""
        return self._search(addresses, first, last, True)

    def _search(self, addresses: AbstractSet[int], first: int, last: int, backward: bool) -> Optional[int]:
        first, last = max(first, 1), min(last, self.length)
        if not addresses or first > last:
            return None
        wanted = frozenset(addresses)
        entries = range(self.history.entry(first)[0], self.history.entry(last)[0] + 1)
        known = self._hits.setdefault(wanted, {})
        order = self.history.order
        for at in reversed(entries) if backward else entries:
            hit = known.get(order[at])
            if hit is None:
                hit = self._comes_by(wanted, order[at])
            if hit:
                found = self._in_entry(wanted, at, first, last, backward)
                if found is not None:
                    return found
        return None

    def _run(self, number: int) -> List[Range]:
        known = self._ranges.get(number)
        if known is None:
            known = self._ranges[number] = [executed for _, executed in self.history.run(number).ranges()]
        return known

    def _comes_by(self, wanted: FrozenSet[int], number: int) -> bool:
        # Runs share their legs, which are few.
        ranges = (executed for leg in set(self.history.run(number).all_legs()) for executed in leg.ranges)
        hit = any(executed.start <= address < executed.end for executed in ranges for address in wanted)
        self._hits[wanted][number] = hit
        return hit

    def _in_entry(self, wanted: FrozenSet[int], entry: int, first: int, last: int, is_last: bool) -> Optional[int]:
        number = self.history.entry_first(entry)
        found = None
        for executed in self._run(self.history.order[entry]):
            if any(executed.start <= address < executed.end for address in wanted):
                for index, address in enumerate(self.history.addresses(executed)):
                    if address in wanted and first <= number + index <= last:
                        if not is_last:
                            return number + index
                        found = number + index
            number += executed.instructions
        return found

    def _find_seams(self) -> List[Seam]:
        # A halt in between, after which execution goes on where it was, hides nothing.
        seams: List[Seam] = []
        paused = pauses(self.history)
        for after, event in self.history.interruptions():
            if isinstance(event, Gap) and after not in paused:
                seams.append(Seam(after, event))
            if isinstance(event, Exception_) and event.name == DEBUG_HALT and after == self.length:
                self.halted_at = event.return_address
        return seams
