"""Accesses to watched memory, found part by part as a run proceeds."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Protocol

from gdb_etm.recovery.values import Touched

# Kinds of watchpoints, by their packets' numbers.
STORES, LOADS, BOTH = 2, 3, 4


class HistoryMemory(Protocol):
    """The memory of a history."""

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Find what accessed a piece of it about when an instruction ran."""

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give memory before an instruction; None when a byte is unknown."""


class Missed(NamedTuple):
    """What a run may have gone past."""

    # Of the watched memory.
    address: int
    # How many accesses to addresses that are not known.
    unknown: int
    # How many instructions with unknown accesses.
    unseen: int


class Watchpoint:
    """A watchpoint.

    :param memory: What is watched.
    :param kind: 2 for stores, 3 for loads, 4 for both.
    :param address: Of the first byte.
    :param size: In bytes.
    """

    def __init__(self, memory: HistoryMemory, kind: int, address: int, size: int) -> None:
        self.kind = kind
        self.address = address
        self._size = size
        self._memory = memory
        self._parts: List[Touched] = []

    def part(self, number: int) -> Touched:
        """Give what is known of the instructions about one."""
        for part in self._parts:
            if part.first <= number <= part.last:
                return part
        found = self._memory.touched(number, self.kind, self.address, self._size)
        self._parts.append(found)
        return found

    def hit(self, low: int, high: int, backward: bool) -> Optional[int]:
        """Find the instruction at which a run over some stops.

        That is the first access; or the first store to an unknown address at which it gets lost what is in the memory,
        so that it may be the one.
        """
        best: Optional[int] = None
        for part in self._between(low, high):
            known = [number for number in part.numbers if low <= number <= high]
            if known:
                one = known[-1] if backward else known[0]
                best = one if best is None else max(best, one) if backward else min(best, one)
        bounds = (low if best is None else best, high) if backward else (low, high if best is None else best)
        lost = self._lost(*bounds, backward)
        return best if lost is None else lost

    def _between(self, low: int, high: int) -> Iterator[Touched]:
        number = low
        while number <= high:
            part = self.part(number)
            yield part
            number = part.last + 1

    def _lost(self, low: int, high: int, backward: bool) -> Optional[int]:
        # The first store at which known memory is not known any more, or another.
        if self.kind == LOADS:
            return None
        found = [one for part in self._between(low, high) for one in part.unknown if low <= one <= high]
        for number in reversed(found) if backward else found:
            near = self._memory.memory(number + backward, self.address, self._size)
            if near is not None and near != self._memory.memory(number + (not backward), self.address, self._size):
                return number
        return None

    def missed(self, low: int, high: int) -> Missed:
        """Count what a run over some instructions may have gone past."""
        unknown = unseen = 0
        for part in self._between(low, high):
            unknown += sum(low <= number <= high for number in part.unknown)
            unseen += 0 if part.is_known else min(high, part.last) - max(low, part.first) + 1
        return Missed(self.address, unknown, unseen)
