"""Place search: which of the program's constants a pointer leads to, by what was loaded.

Addresses that differ by constants are a class; its base decides all of them.  If what was loaded is at one place in the
program's constants alone, and was nowhere in RAM, the class leads there.  What was in RAM is known from RAM at the end,
and from accesses to known addresses.  A later store to an unknown address may hide a place, so there must be none in
the end; until then such stores are supposed to miss.
"""

from __future__ import annotations

from typing import AbstractSet, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Bytes of a class that must be evidence, and how many different ones.
_FEWEST, _DIFFERENT = 8, 4
# Bytes of RAM that are searched.
_MOST = 1 << 20


class Placed(NamedTuple):
    """A class of addresses that leads to one place alone."""

    # The newest access, its address, and where that is.
    number: int
    variable: int
    value: int
    # The oldest access that is evidence.
    since: int


# By offset: the newest load there, and the byte.
_Evidence = Dict[int, Tuple[int, int]]


class PlaceSearch:
    """Finds out which constants classes of addresses lead to.

    :param ssa: With its accesses.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        self._constants = [piece for piece in ssa.program.pieces if not ssa.is_ram(piece[0], len(piece[1]))]
        # None until it is needed; nothing where not all of it is known.
        self._ram: Optional[List[Tuple[int, bytes]]] = None

    def look(self, memory: StoreForwarding, stacks: AbstractSet[int], refused: AbstractSet[Pair]) -> List[Placed]:
        """List the classes that lead to one place alone.

        :param memory: The links of the same segment.
        :param stacks: The classes that stack pointers are in.
        :param refused: The newest accesses, twice, of classes that are not to be placed.
        """
        found = []
        for root, numbers in self._classes().items() if not self._ssa.rules.bit_band else ():
            newest = numbers[-1]
            if root in stacks or (newest, newest) in refused:
                continue
            evidence = self._evidence(numbers)
            if len(evidence) < _FEWEST or len({byte for _, byte in evidence.values()}) < _DIFFERENT:
                continue
            base = self._base(root, evidence, memory)
            if base is not None:
                address = self._ssa.accesses[newest].address
                value = (base + self._ssa.domain.offset[address]) & MASK
                found.append(Placed(newest, address, value, min([number for number, _ in evidence.values()])))
        return found

    def _classes(self) -> Dict[int, List[int]]:
        domain = self._ssa.domain
        found: Dict[int, List[int]] = {}
        for number, access in enumerate(self._ssa.accesses):
            ran = domain.mask[access.condition] == MASK and domain.bits[access.condition]
            if access.size and ran and domain.mask[access.address] != MASK:
                found.setdefault(domain.root[access.address], []).append(number)
        return found

    def _evidence(self, numbers: Sequence[int]) -> _Evidence:
        # What was loaded at each offset, where that is known; nothing if there are stores.
        domain, accesses = self._ssa.domain, self._ssa.accesses
        found: _Evidence = {}
        for number in numbers:
            access = accesses[number]
            if access.store:
                return {}
            known, bits = domain.mask[access.data], domain.bits[access.data]
            offset = domain.offset[access.address]
            offset -= offset >> 31 << 32
            for index in range(access.size):
                if known >> 8 * index & 0xFF == 0xFF:
                    found[offset + index] = number, bits >> 8 * index & 0xFF
        return found

    def _base(self, root: int, evidence: _Evidence, memory: StoreForwarding) -> Optional[int]:
        order = self._order(evidence)
        found: List[int] = []
        for piece in self._constants:
            found += self._fitting(root, piece, order, None)
        if len(found) != 1 or not self._read(memory):
            return None
        rivals = any(self._fitting(root, piece, order, memory) for piece in self._read(memory))
        return None if rivals else found[0]

    @staticmethod
    def _order(evidence: _Evidence) -> List[Tuple[int, int, int]]:
        # The most telling bytes first.
        count: Dict[int, int] = {}
        for _, byte in evidence.values():
            count[byte] = count.get(byte, 0) + 1
        listed = [(offset, number, byte) for offset, (number, byte) in evidence.items()]
        return sorted(listed, key=lambda one: (one[2] in (0, 0xFF), count[one[2]]))

    def _fitting(
        self,
        root: int,
        piece: Tuple[int, bytes],
        order: Sequence[Tuple[int, int, int]],
        memory: Optional[StoreForwarding],
    ) -> List[int]:
        # The bases in a piece of memory that all evidence agrees with; at most two.
        start, data = piece
        offset, _, byte = order[0]
        low, high = min(order)[0], max(order)[0]
        places: List[int] = []
        at = data.find(byte)
        while at >= 0:
            places.append(at)
            at = data.find(byte, at + 1)
        cells = memory.cells.words if memory is not None else {}
        for word in cells:
            if 0 <= word - start < len(data):
                places += [at for at in range(word - start, word - start + 4) if data[at] != byte]
        domain, found = self._ssa.domain, []
        mask, bits = domain.mask[root], domain.bits[root]
        for place in places:
            first = place - offset
            if first + low < 0 or first + high >= len(data) or (start + first ^ bits) & mask:
                continue
            for distance, number, byte in order:
                at = first + distance
                if memory is not None and start + at & ~3 in cells:
                    if self._had(memory, number, start + at, data[at]) not in (None, byte):
                        break
                elif data[at] != byte:
                    break
            else:
                found.append((start + first) & MASK)
                if len(found) > 1:
                    break
        return found

    def _had(self, memory: StoreForwarding, number: int, byte: int, last: int) -> Optional[int]:
        # What a byte was when an access ran, by those to known addresses; None if that is not known.
        source, distance = memory.cells.source(number, byte)
        found = self._byte(source, distance) if source >= 0 else None
        if found is None:
            target, distance = memory.cells.target(number, byte)
            if target < 0:
                return last
            found = None if self._ssa.accesses[target].store else self._byte(target, distance)
        return found

    def _byte(self, number: int, index: int) -> Optional[int]:
        domain, data = self._ssa.domain, self._ssa.accesses[number].data
        return domain.bits[data] >> 8 * index & 0xFF if domain.mask[data] >> 8 * index & 0xFF == 0xFF else None

    def _read(self, memory: StoreForwarding) -> List[Tuple[int, bytes]]:
        # RAM at the end: from where the program has any, and from the stack that was used last.
        if self._ram is None:
            self._ram = []
            domain, stack = self._ssa.domain, self._ssa.held[SP][-1]
            writable = [low for low, _ in self._ssa.rules.stacks]
            for start in (min(writable), domain.bits[stack]) if writable and domain.mask[stack] == MASK else ():
                if not any(low <= start < low + len(data) for low, data in self._ram):
                    self._ram.append(_contents(memory, start & ~3))
            if not all([data for _, data in self._ram]):
                self._ram = []
        return self._ram


def _contents(memory: StoreForwarding, start: int) -> Tuple[int, bytes]:
    # What can be read from an address on; nothing if not all of it is known, or it is too much.
    words: List[int] = []
    word = memory.final_word(start)
    while word is not None and len(words) < _MOST // 4:
        words.append(word)
        word = memory.final_word(start + 4 * len(words))
    if word is not None or memory.is_readable(start + 4 * len(words)):
        return start, b""
    return start, b"".join([one.to_bytes(4, "little") for one in words])
