"""Traces of one address class in memory: what it stored and found.

Addresses that differ by constants are a class.  Its base is the value of its root variable.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, Final, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa


class Byte(NamedTuple):
    """What is known of a byte of a variable, or of all."""

    mask: int
    bits: int
    # How far the variable is to be shifted down, where ``bits`` is what it is above the class's base; -1 elsewhere.
    far: int

    def at(self, base: int) -> Tuple[int, int]:
        """Give a byte's known bits and their values for a possible base."""
        return self.mask, self.bits if self.far < 0 else ((base + self.bits) & MASK) >> self.far & 0xFF


_NOTHING: Final = Byte(0, 0, -1)


class ByteTrace(NamedTuple):
    """A byte at an offset, between two accesses of the class."""

    # The older one; -1 for the beginning.
    since: int
    # The later one; as many as there are for the end.
    until: int
    offset: int
    # After the older one.
    before: Byte
    # As the later one found it; None when that is a store, or it is the end.
    after: Optional[Byte]


class Store(NamedTuple):
    """A store to an unknown address of another class."""

    size: int
    # That class.
    root: int
    offset: int
    # Mask of the bits of the address that are known.
    known: int
    bits: int
    low: int
    span: int
    # Of the whole word.
    data: Byte


class Traces:
    """What is known of the accesses of one class.

    :param ssa: With its accesses.
    :param numbers: Of those of the class, oldest first.
    :param unresolved: Numbers of the stores to unknown addresses.
    """

    def __init__(self, ssa: TraceSsa, numbers: Sequence[int], unresolved: Sequence[int]) -> None:
        self._ssa = ssa
        self._domain = ssa.domain
        # The newest of them.
        self.newest = numbers[-1]
        self.root = self._domain.root[ssa.accesses[self.newest].address]
        # By offset: the access, whether it is a store, and what it has there.
        self._events: Dict[int, List[Tuple[int, bool, Byte]]] = {}
        for number in numbers:
            self._note(number, ssa.accesses[number])
        self.lowest = min(self._events, default=0)
        self.highest = max(self._events, default=0)
        # Stores to unknown addresses of other classes, oldest first.
        self.numbers: List[int] = []
        # The same; None for what may change any memory.
        self.stores: List[Optional[Store]] = []
        for number in unresolved:
            access = ssa.accesses[number]
            if not access.size or self._domain.root[access.address] != self.root:
                self.numbers.append(number)
                self.stores.append(self._store(access) if access.size else None)

    def _note(self, number: int, access: MemoryAccess) -> None:
        domain = self._domain
        sure = domain.mask[access.condition] == MASK
        if not (domain.bits[access.condition] if sure else access.store):
            return
        first = self.distance(number)
        for index in range(access.size):
            what = self._byte(access.data, 8 * index) if sure else _NOTHING
            self._events.setdefault(first + index, []).append((number, access.store, what))

    def distance(self, number: int) -> int:
        """Give the offset of an access, signed."""
        offset = self._domain.offset[self._ssa.accesses[number].address]
        return offset - (offset >> 31 << 32)

    def _byte(self, variable: int, far: int) -> Byte:
        domain = self._domain
        known = domain.mask[variable]
        if known != MASK and domain.root[variable] == self.root and far < 32:
            return Byte(0xFF, domain.offset[variable], far)
        return Byte(known >> far & 0xFF, domain.bits[variable] >> far & 0xFF, -1)

    def _store(self, access: MemoryAccess) -> Store:
        domain, address = self._domain, access.address
        known, data = domain.mask[access.data], access.data
        word = Byte(known, domain.bits[data], -1)
        if known != MASK and domain.root[data] == self.root:
            word = Byte(MASK, domain.offset[data], 0)
        low, span = domain.interval(address)
        position = (domain.root[address], domain.offset[address])
        return Store(access.size, *position, domain.mask[address], domain.bits[address], low, span, word)

    def all(self) -> Tuple[List[ByteTrace], List[ByteTrace]]:
        """List the changes, those that discriminate most first, and all others."""
        most: List[ByteTrace] = []
        rest: List[ByteTrace] = []
        end = len(self._ssa.accesses)
        for offset, events in self._events.items():
            if not events[0][1] and events[0][2].mask:
                rest.append(ByteTrace(-1, events[0][0], offset, _NOTHING, events[0][2]))
            for (since, _, before), (until, store, after) in zip(events, events[1:] + [(end, False, _NOTHING)]):
                found = None if store or until == end else after
                one = ByteTrace(since, until, offset, before, found)
                if before.mask and (until == end or found is not None and _may_differ(before, found)):
                    most.append(one)
                elif before.mask or found is not None and found.mask:
                    rest.append(one)
        return sorted(most, key=self._others), rest

    def _others(self, one: ByteTrace) -> int:
        return bisect_left(self.numbers, one.until) - bisect_left(self.numbers, one.since)


def _may_differ(one: Byte, other: Byte) -> bool:
    if one.far >= 0 or other.far >= 0:
        return one != other and bool(one.mask & other.mask)
    return bool((one.bits ^ other.bits) & one.mask & other.mask)
