"""Place search: which constants a pointer leads to, by what was loaded.

Addresses that differ by constants are a class; its base decides all of them.  If what was loaded is at one place in the
program's constants alone, and was nowhere in RAM, the class leads there.  What was in RAM is known from RAM at the end,
and from accesses to known addresses.  A later store to an unknown address may hide a place, so there must be none in
the end; until then such stores are supposed to miss.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import islice
from struct import pack
from typing import AbstractSet, Callable, Dict, Final, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.cells import FIRST
from gdb_etm.recovery.memory.grounds import ground_of
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Bytes of a class that must be evidence, and how many different ones.
_FEWEST: Final = 8
_DIFFERENT: Final = 4
# Instructions that must have loaded them, for others of them to be taken to have done the same: no loop that copies.
_READERS: Final = 3
# Bytes of RAM that are searched.
_MOST: Final = 1 << 20
# Bytes that one store writes at most.
_WIDTH: Final = 4
_BYTE: Final = 0xFF
# Of each byte that was loaded: its distance, the load, and the byte.
Evidence = Sequence[Tuple[int, int, int]]


class Placed(NamedTuple):
    """A class of addresses that leads to one place alone."""

    # The newest access, and where its address is.
    number: int
    value: int
    # Of each byte that was loaded: its distance from the value, the load, and the byte; the most telling first.
    evidence: Tuple[Tuple[int, int, int], ...]


class _Had:
    # What RAM had when accesses ran, by those to known addresses.
    def __init__(self, ssa: TraceSsa, memory: StoreForwarding, unknown: Set[int]) -> None:
        self._ssa = ssa
        self._cells = memory.cells
        self._may_alias = memory.may_alias
        self._unknown = unknown
        # Whether it only matters if there is a store.
        self.one_will_do = False
        # Those that may have been other than they are at the end.
        self.words = unknown.union(memory.cells.words)

    def hiders(self, number: int, byte: int, wanted: int, last: int) -> Optional[List[int]]:
        """List stores of unknown address that a byte may be of.

        None if it may have been that without any.

        :param number: Of the access that loaded the value.
        :param last: What it is at the end.
        """
        if byte & ~3 not in self.words:
            return None if wanted == last else self._leaving(number, len(self._ssa.accesses), byte, (_BYTE, last))
        source, index = self._cells.source(number, byte)
        known, bits = self._loaded(source, index) if source >= 0 else (0, 0)
        if (bits ^ wanted) & known:
            return self._leaving(source, number, byte, (_BYTE, wanted))
        target, index = self._cells.target(number, byte)
        later = target if target >= 0 else len(self._ssa.accesses)
        if source >= FIRST and ground_of(number, byte, self._may_alias.grounds_between(source, later)):
            # Loads do not reach it either.
            return []
        if target >= 0:
            known, bits = (0, 0) if self._ssa.accesses[target].store else self._loaded(target, index)
        elif byte & ~3 not in self._unknown:
            target, known, bits = len(self._ssa.accesses), _BYTE, last
        if not (bits ^ wanted) & known:
            return None
        return self._leaving(number, target, byte, (known, bits))

    def _leaving(self, older: int, later: int, byte: int, found: Tuple[int, int]) -> List[int]:
        # The stores of unknown address between two accesses that may have left in a byte what was found there.
        unresolved = self._may_alias.unresolved
        between = unresolved[bisect_left(unresolved, older + 1) : bisect_left(unresolved, later)]
        leaving = (one for one in between if self._may_alias.may_hit(one, byte, 1) and self._may_leave(one, found))
        return list(islice(leaving, 1)) if self.one_will_do else list(leaving)

    def _may_leave(self, number: int, found: Tuple[int, int]) -> bool:
        # Whether any byte of a store's data is what was found.
        access, domain = self._ssa.accesses[number], self._ssa.domain
        known, bits = domain.mask[access.data], domain.bits[access.data]
        shifts = range(0, 8 * access.size, 8)
        return not shifts or any([not (bits >> far ^ found[1]) & known >> far & found[0] for far in shifts])

    def _loaded(self, number: int, index: int) -> Tuple[int, int]:
        domain, data = self._ssa.domain, self._ssa.accesses[number].data
        known = domain.mask[data] >> 8 * index & _BYTE
        return known, domain.bits[data] >> 8 * index & known


class PlaceSearch:
    """Finds out which constants classes of addresses lead to.

    :param ssa: With its accesses.
    :param where: Gives the address of an instruction by its number.
    """

    def __init__(self, ssa: TraceSsa, where: Callable[[int], int]) -> None:
        self._ssa = ssa
        self._where = where
        self._constants = [piece for piece in ssa.program.pieces if not ssa.is_ram(piece[0], len(piece[1]))]
        # None until it is needed; nothing where not all of it can be looked at.
        self._ram: Optional[List[Tuple[int, bytes]]] = None
        # Its words that are not known.
        self._unknown: Set[int] = set()

    def look(self, stacks: AbstractSet[int], refused: AbstractSet[Pair]) -> List[Placed]:
        """List the classes that lead to one place alone.

        :param stacks: The classes that stack pointers are in.
        :param refused: The newest accesses, twice, of classes that are not to be placed.
        """
        found = []
        for root, numbers in self._classes().items() if not self._ssa.rules.bit_band else ():
            newest = numbers[-1]
            if root in stacks or (newest, newest) in refused:
                continue
            address = self._ssa.accesses[newest].address
            evidence = self._evidence(numbers, self._ssa.domain.offset[address])
            if len(evidence) < _FEWEST or len({byte for _, _, byte in evidence}) < _DIFFERENT:
                continue
            values = [value for piece in self._constants for value in _fitting(piece, evidence)]
            if len(values) == 1:
                found.append(Placed(newest, values[0], evidence))
        return found

    def hidden(self, placed: Sequence[Placed], memory: StoreForwarding) -> List[Placed]:
        """List those whose place may be another one, in RAM.

        What several instructions read from there at another time, when it was nowhere in RAM, they read from there.
        """
        found: List[Placed] = []
        read: Set[Tuple[int, int]] = set()
        for one in sorted(placed, reverse=True):
            if self._is_read_again(one, read):
                continue
            if self._is_hidden(one, memory):
                found.append(one)
            else:
                read |= self._readers(one)
        return [one for one in found if not self._is_read_again(one, read)]

    def _readers(self, one: Placed) -> Set[Tuple[int, int]]:
        # The instructions that loaded the bytes, and where these are.
        accesses = self._ssa.accesses
        return {(self._where(accesses[number].number), one.value + distance) for distance, number, _ in one.evidence}

    def _is_read_again(self, one: Placed, read: Set[Tuple[int, int]]) -> bool:
        own = self._readers(one)
        again = own & read
        return len({where for where, _ in again}) >= _READERS and 2 * len(again) >= len(own)

    def _is_hidden(self, one: Placed, memory: StoreForwarding) -> bool:
        evidence, unresolved = one.evidence, memory.may_alias.unresolved
        pieces, had = self._read(memory), _Had(self._ssa, memory, self._unknown)
        most = len(unresolved) - bisect_left(unresolved, min([number for _, number, _ in evidence]))
        apart = _apart(evidence)
        if not pieces or len(apart) <= most or not all([self._ssa.accesses[number].size for number in unresolved]):
            return True
        return any([_may_fit(piece, evidence, apart[: most + 1], had) for piece in pieces])

    def _classes(self) -> Dict[int, List[int]]:
        domain = self._ssa.domain
        found: Dict[int, List[int]] = {}
        for number, access in enumerate(self._ssa.accesses):
            ran = domain.mask[access.condition] == MASK and domain.bits[access.condition]
            if access.size and ran and domain.mask[access.address] != MASK:
                found.setdefault(domain.root[access.address], []).append(number)
        return found

    def _evidence(self, numbers: Sequence[int], origin: int) -> Tuple[Tuple[int, int, int], ...]:
        # What was loaded last at each distance, where that is known; nothing if there are stores.
        domain, accesses = self._ssa.domain, self._ssa.accesses
        found: Dict[int, Tuple[int, int]] = {}
        for number in numbers:
            access = accesses[number]
            if access.store:
                return ()
            known, bits = domain.mask[access.data], domain.bits[access.data]
            distance = domain.offset[access.address] - origin & MASK
            distance -= distance >> 31 << 32
            for index in range(access.size):
                if known >> 8 * index & _BYTE == _BYTE:
                    found[distance + index] = number, bits >> 8 * index & 0xFF
        often = Counter(byte for _, byte in found.values())
        listed = [(distance, number, byte) for distance, (number, byte) in found.items()]
        return tuple(sorted(listed, key=lambda one: (one[2] in (0, 0xFF), often[one[2]])))

    def _read(self, memory: StoreForwarding) -> List[Tuple[int, bytes]]:
        # RAM at the end: from where the program has any, and from the stack that was used last.
        if self._ram is None:
            self._ram = []
            domain, stack = self._ssa.domain, self._ssa.held[SP][-1]
            writable = [low for low, _ in self._ssa.rules.stacks]
            for start in (min(writable), domain.bits[stack]) if writable and domain.mask[stack] == MASK else ():
                if not any(low <= start < low + len(data) for low, data in self._ram):
                    self._ram.append((start & ~3, self._contents(memory, start & ~3)))
            if not all([data for _, data in self._ram]):
                self._ram = []
        return self._ram

    def _contents(self, memory: StoreForwarding, start: int) -> bytes:
        # What can be read from an address on; nothing if that is too much.
        words: List[int] = []
        ssa = self._ssa
        for at in range(start, start + _MOST + 4, 4):
            word = memory.final_word(at)
            if word is None and not memory.is_readable(at):
                return pack("<%dI" % len(words), *words)
            if word is None or ssa.rules.volatile and ssa.is_volatile(at, 4):
                self._unknown.add(at)
            words.append(word or 0)
        return b""


def _fitting(piece: Tuple[int, bytes], evidence: Evidence) -> List[int]:
    # The values with which all evidence is in a piece of constant memory; at most two.
    start, data = piece
    low, high = min(evidence)[0], max(evidence)[0]
    distance, _, byte = evidence[0]
    found = []
    for place in _places(data, byte):
        first = place - distance
        if 0 <= first + low and first + high < len(data):
            if all([data[first + further] == other for further, _, other in evidence]):
                found.append((start + first) & MASK)
                if len(found) > 1:
                    break
    return found


def _places(data: bytes, byte: int) -> Iterator[int]:
    at = data.find(byte)
    while at >= 0:
        yield at
        at = data.find(byte, at + 1)


def _apart(evidence: Evidence) -> List[Tuple[int, int, int]]:
    # Bytes of which no store can hide two, the most telling first.
    found: List[Tuple[int, int, int]] = []
    for one in evidence:
        if all([abs(one[0] - other[0]) >= _WIDTH for other in found]):
            found.append(one)
    return found


def _may_fit(piece: Tuple[int, bytes], evidence: Evidence, apart: Evidence, had: _Had) -> bool:
    # Whether all evidence may have been in a piece of RAM, where one of the bytes that are apart is not hidden.
    start, data = piece
    low, high = min(evidence)[0], max(evidence)[0]
    changed = [word + at - start for word in had.words for at in range(4) if 0 <= word - start < len(data)]
    firsts = {place - distance for distance, _, byte in apart for place in (*_places(data, byte), *changed)}
    return any(
        [
            _may_have_had(evidence, start + first, data, first, had)
            for first in firsts
            if 0 <= first + low and first + high < len(data)
        ]
    )


def _may_have_had(evidence: Evidence, base: int, data: bytes, first: int, had: _Had) -> bool:
    # Whether there are as many stores of unknown address as it takes to hide a place.
    stores: Set[int] = set()
    hidden: List[int] = []
    for distance, number, byte in evidence:
        had.one_will_do = len(stores) >= len(evidence)
        found = had.hiders(number, base + distance, byte, data[first + distance])
        if found is not None:
            stores.update(found)
            hidden.append(distance)
            if not found:
                return False
    end, count = min(hidden, default=0), 0
    for distance in sorted(hidden):
        if distance >= end:
            end, count = distance + _WIDTH, count + 1
    return count <= len(stores)
