"""Place search: which constants a pointer leads to, by what was loaded.

Addresses that differ by constants are a class; its base decides all of them.  If what was loaded is at one place in the
program's constants alone, and was nowhere in RAM, the class leads there.  What was in RAM is known from RAM at the end,
and from accesses to known addresses.  A later store to an unknown address may hide a place, so there must be none in
the end; until then such stores are supposed to miss.
"""

from __future__ import annotations

from collections import Counter
from struct import pack
from typing import AbstractSet, Dict, Final, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Bytes of a class that must be evidence, and how many different ones.
_FEWEST: Final = 8
_DIFFERENT: Final = 4
# Bytes of RAM that are searched.
_MOST: Final = 1 << 20


class Placed(NamedTuple):
    """A class of addresses that leads to one place alone."""

    # The newest access, its address, and where that is.
    number: int
    variable: int
    value: int
    # Of each byte that was loaded: its distance from the value, the load, and the byte; the most telling first.
    evidence: Tuple[Tuple[int, int, int], ...]


class _Had:
    # What RAM had when accesses ran, by those to known addresses.
    def __init__(self, ssa: TraceSsa, memory: StoreForwarding, unknown: Set[int]) -> None:
        self._ssa = ssa
        self._cells = memory.cells
        self._unknown = unknown
        # Those that may have been other than they are at the end.
        self.words = unknown.union(memory.cells.words)

    def at(self, number: int, byte: int, last: int) -> Tuple[int, int]:
        # Which bits are known of a byte, and their values; it has ``last`` at the end.
        if byte & ~3 not in self.words:
            return 0xFF, last
        source, index = self._cells.source(number, byte)
        known, bits = self._loaded(source, index) if source >= 0 else (0, 0)
        if known == 0xFF:
            return known, bits
        target, index = self._cells.target(number, byte)
        if target < 0:
            return (known, bits) if byte & ~3 in self._unknown else (0xFF, last)
        more, others = (0, 0) if self._ssa.accesses[target].store else self._loaded(target, index)
        return known | more, bits | others

    def _loaded(self, number: int, index: int) -> Tuple[int, int]:
        domain, data = self._ssa.domain, self._ssa.accesses[number].data
        known = domain.mask[data] >> 8 * index & 0xFF
        return known, domain.bits[data] >> 8 * index & known


class PlaceSearch:
    """Finds out which constants classes of addresses lead to.

    :param ssa: With its accesses.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
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
            values = [value for piece in self._constants for value in _fitting(piece, evidence, None)]
            if len(values) == 1:
                found.append(Placed(newest, address, values[0], evidence))
        return found

    def is_hidden(self, one: Placed, memory: StoreForwarding) -> bool:
        """Check whether the place may be another one, in RAM."""
        unresolved = memory.may_alias.unresolved
        if unresolved and unresolved[-1] > min([number for _, number, _ in one.evidence]):
            return True
        pieces, had = self._read(memory), _Had(self._ssa, memory, self._unknown)
        return not pieces or any([_fitting(piece, one.evidence, had) for piece in pieces])

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
                if known >> 8 * index & 0xFF == 0xFF:
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


def _fitting(piece: Tuple[int, bytes], evidence: Sequence[Tuple[int, int, int]], had: Optional[_Had]) -> List[int]:
    # The values with which all evidence is in a piece of memory; at most two.
    start, data = piece
    distance, _, byte = evidence[0]
    low, high = min(evidence)[0], max(evidence)[0]
    places: List[int] = []
    at = data.find(byte)
    while at >= 0:
        places.append(at)
        at = data.find(byte, at + 1)
    if had is not None:
        places += [word + at - start for word in had.words for at in range(4) if 0 <= word - start < len(data)]
    found = []
    for place in places:
        first = place - distance
        if first + low < 0 or first + high >= len(data):
            continue
        for distance_, number, byte in evidence:
            at = first + distance_
            known, bits = (0xFF, data[at]) if had is None else had.at(number, start + at, data[at])
            if (bits ^ byte) & known:
                break
        else:
            found.append((start + first) & MASK)
            if len(found) > 1:
                break
    return found
