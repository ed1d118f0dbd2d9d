"""Index of accesses by the word of RAM that they touch."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Dict, Final, List, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.rules import BIT_BAND
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Where a byte comes from, when it is no access: memory before the segment or after it; or that is not known.
FIRST: Final = -2
LAST: Final = -3
BLOCKED: Final = -4
# Less the number of an access that may not have been there: a byte comes from that, too.
UNSURE: Final = -16
_NOWHERE: Final = -1
# Which one it is of an access or a word; the access that it comes from, which byte of that; and whether it is supposed.
LinkedByte = Tuple[int, int, int, bool]
# Where the bits are that the others are aliases of.
_RAM: Final = 0x20000000


def aliased(address: int) -> int:
    """Give the byte that a bit alias stands for; -1 without one.

    :param address: Of a store, in the bit-band alias region or not.
    """
    return _RAM + ((address - BIT_BAND[0]) >> 5) if BIT_BAND[0] <= address < BIT_BAND[1] else _NOWHERE


def within(address: int, size: int, word: int) -> int:
    """Compute which bytes of a word an access touches, a bit each.

    :param address: Of the access.
    :param size: In bytes.
    :param word: Address of the word.
    """
    above = address - word
    if not -size < above < 4:
        return 0
    all_ = (1 << size) - 1
    return (all_ << above if above >= 0 else all_ >> -above) & 15


class Cells:
    """Accesses whose address is known, by the word that they touch.

    :param ssa: With its accesses.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        # For each word of RAM the accesses that touch it, oldest first.
        self.words: Dict[int, List[int]] = {}
        # For each of them which of its bytes they touch, a bit for each.
        self.touched: Dict[int, int] = {}

    def copy(self) -> "Cells":
        """Copy it, to be changed on its own."""
        made = Cells(self._ssa)
        made.words = {word: list(cell) for word, cell in self.words.items()}
        made.touched = dict(self.touched)
        return made

    def insert(self, word: int, number: int, touched: int) -> int:
        """Insert an access into a word's list; gives the next one's position.

        :param touched: Bytes of the word that it touches, a bit for each.
        """
        self.touched[word] = self.touched.get(word, 0) | touched
        cell = self.words.setdefault(word, [])
        insort(cell, number)
        return bisect_left(cell, number) + 1

    def between(self, older: int, later: int, byte: int) -> Sequence[int]:
        """List the accesses between two others to the word of a byte."""
        cell = self.words.get(byte & ~3, [])
        return cell[bisect_left(cell, older + 1) : bisect_left(cell, later)]

    def touches(self, number: int, byte: int) -> int:
        """Find which byte of an access an address has; -1 for none.

        A store to a bit's alias touches no byte that it is an alias of.
        """
        access = self._ssa.accesses[number]
        distance = byte - self._ssa.domain.bits[access.address]
        return distance if 0 <= distance < access.size else _NOWHERE

    def source(self, number: int, byte: int) -> Tuple[int, int]:
        """Find the last access to a byte before another one.

        :param number: Of the other one; as many as there are for the end.
        :returns: The access, FIRST when there is none, UNSURE less the number of one that is not known to have
            been there; and which of its bytes it is.
        """
        accesses, mask, bits = self._ssa.accesses, self._ssa.domain.mask, self._ssa.domain.bits
        cell = self.words.get(byte & ~3, [])
        for position in range(bisect_left(cell, number) - 1, -1, -1):
            older = cell[position]
            access = accesses[older]
            address = bits[access.address]
            distance = byte - address
            if not 0 <= distance < access.size:
                if aliased(address) == byte:
                    return UNSURE - older, 0
                continue
            if not access.store:
                return older, distance
            condition = access.condition
            if mask[condition] != MASK:
                return UNSURE - older, 0
            if bits[condition]:
                return older, distance
            # It turned out later that it did not run.
        return FIRST, 0

    def whole(self, number: int, address: int, size: int) -> Tuple[int, int]:
        """Find the last access to some bytes, the same for all.

        :param number: Of the other one; as many as there are for the end.
        :returns: The access, which has been there, and which of its bytes the first one is; FIRST when there is none to
            any of them; BLOCKED where each byte is to be looked at.
        """
        if (address & 3) + size > 4:
            return BLOCKED, 0
        cell = self.words.get(address & ~3)
        position = bisect_left(cell, number) - 1 if cell is not None else -1
        if cell is None or position < 0:
            return FIRST, 0
        older, domain = cell[position], self._ssa.domain
        access = self._ssa.accesses[older]
        distance = address - domain.bits[access.address]
        if 0 <= distance and distance + size <= access.size:
            condition = access.condition
            if not access.store or domain.mask[condition] == MASK and domain.bits[condition]:
                return older, distance
        return BLOCKED, 0

    def certain(self, number: int, byte: int, unsure: Set[int]) -> Tuple[int, int]:
        """Find what :meth:`source` does, ignoring stores that may not have run.

        :param unsure: Gets these.
        """
        while True:
            source, distance = self.source(number, byte)
            if source >= FIRST:
                return source, distance
            number = UNSURE - source
            if self.touches(number, byte) < 0:
                return FIRST, 0
            unsure.add(number)

    def target(self, number: int, byte: int) -> Tuple[int, int]:
        """Find the first access from a number on that touches a byte.

        :returns: The access, or LAST when there is none; and which of its bytes it is.
        """
        accesses, bits = self._ssa.accesses, self._ssa.domain.bits
        cell = self.words.get(byte & ~3, [])
        for position in range(bisect_left(cell, number), len(cell)):
            later = cell[position]
            distance = self.touches(later, byte)
            if distance >= 0 or accesses[later].store and aliased(bits[accesses[later].address]) >= 0:
                return later, distance
        return LAST, 0


def goes_on(found: Sequence[LinkedByte], index: int, source: int) -> bool:
    """Check whether supposition links the byte before to the same access."""
    return bool(found) and found[-1][:2] == (index - 1, source) and found[-1][3]


def runs_of(found: List[LinkedByte]) -> List[List[LinkedByte]]:
    """Group neighbouring bytes that come from neighbouring bytes of one access."""
    runs: List[List[LinkedByte]] = []
    for one in found:
        if runs:
            index, source, distance, _ = runs[-1][-1]
            if one[0] == index + 1 and one[1] == source and (one[2] == distance + 1 or source == FIRST):
                runs[-1].append(one)
                continue
        runs.append([one])
    return runs
