"""The border between two pieces of a history: the newer one's knowledge.

To the older piece it is the state at its end.

A border stands for itself: the newer piece that it was taken from need not be kept.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.program.isa import Isa
from gdb_etm.program.ram import Piece, joined
from gdb_etm.recovery.distrust import Distrust
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.threads.residences import LaterThreads
from gdb_etm.recovery.values import Tier

# A byte of memory and what it rests on; None when it is not known.
Byte = Optional[Tuple[int, Tier]]
# Gives the four bytes of the word at an aligned address, if known.
Reader = Callable[[int], Optional[bytes]]
# Gives the word at an aligned address, if known.
Word = Callable[[int], Optional[int]]


class Known(NamedTuple):
    """What is known of a register."""

    # Bits that are known.
    mask: int
    # Their values.
    bits: int
    tier: Tier


class UnresolvedStore(NamedTuple):
    """A store of the newer piece whose address is unknown."""

    # In bytes; 0 for what may have written anywhere.
    size: int
    low: int
    # The address is at least ``low``, and at most so much more.
    span: int
    mask: int
    # Bits of the address that are known, and their values.
    bits: int

    def may_hit(self, byte: int) -> bool:
        """Check whether it may have written a byte."""
        if not self.size:
            return True
        if self.span + self.size <= MASK and (byte - self.low) & MASK >= self.span + self.size:
            return False
        return any(not (start ^ self.bits) & self.mask for start in range(byte - self.size + 1, byte + 1))

    @property
    def reach(self) -> Piece:
        """The memory that it may have written: start and end."""
        end = self.low + self.span + self.size
        return (self.low, end) if self.size and end <= MASK else (0, MASK + 1)


class Border:
    """What is known before an instruction.

    :param number: The instruction's.
    :param address: Its address.
    :param isa: Its instruction set.
    :param distrust: What newer pieces have found out.
    :param slots: What is known of each slot.
    :param words: The bytes of each word that the newer piece accesses.
    :param stores: Stores that may have written other words since; None when there are too many.
    :param missed: What it rests on that no others did.
    :param later: The border where the newer piece ends; None where that is the end of the history.
    :param rest: Memory at that end.
    :param readable: Tells whether there is memory at an aligned address.
    :param threads: Those that have run since.
    """

    def __init__(
        self,
        number: int,
        address: int,
        isa: Isa,
        distrust: Distrust,
        slots: Mapping[int, Known],
        words: Mapping[int, Tuple[Byte, ...]],
        stores: Optional[Sequence[UnresolvedStore]],
        missed: Tier,
        later: Optional[Border],
        rest: Reader,
        readable: Callable[[int], bool],
        threads: Optional[LaterThreads],
    ) -> None:
        self.number = number
        self.address = address
        self.isa = isa
        self.distrust = distrust
        self.slots = slots
        self.readable = readable
        self.threads = threads
        self._words = words
        self._stores = stores
        self._missed = missed
        self._later = later
        self.rest = rest
        # The words that it or a later border has, and where stores may have written since; else all is as at the end.
        self._named: Set[int] = {*words} if later is None else later._named.union(words)
        reached = [(0, MASK + 1)] if stores is None else [store.reach for store in stores]
        self._reached: List[Piece] = joined(reached if later is None else reached + later._reached)
        self._starts = [start for start, _ in self._reached]
        self._rests_on: Tier = missed if later is None else max(missed, later._rests_on)

    def byte(self, address: int) -> Byte:
        """Give a byte of RAM."""
        word = self._words.get(address & ~3)
        if word is not None:
            return word[address & 3]
        if self._stores is None or any(store.may_hit(address) for store in self._stores):
            return None
        if self._later is None:
            data = self.rest(address & ~3)
            found = None if data is None else (data[address & 3], Tier.EXACT)
        else:
            found = self._later.byte(address)
        return None if found is None else (found[0], max(found[1], self._missed))

    def _is_as_at_rest(self, word: int) -> bool:
        # Whether nothing has written a word since.
        at = bisect_right(self._starts, word + 3) - 1
        return word not in self._named and (at < 0 or self._reached[at][1] <= word)

    def word(self, limit: Tier) -> Word:
        """Make a reader of aligned words.

        :param limit: The worst tier that it gives.
        """

        def read(address: int) -> Optional[int]:
            if self._is_as_at_rest(address):
                data = self.rest(address) if self._rests_on <= limit else None
                return None if data is None else int.from_bytes(data, "little")
            if address not in known:
                found = [self.byte(address + index) for index in range(4)]
                values = [one[0] for one in found if one is not None and one[1] <= limit]
                known[address] = int.from_bytes(bytes(values), "little") if len(values) == 4 else None
            return known[address]

        known: Dict[int, Optional[int]] = {}
        return read
