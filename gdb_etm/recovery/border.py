"""The border between two pieces of a history: the newer one's knowledge.

To the older piece it is the state at its end.

A border stands for itself: the newer piece that it was taken from need not be kept.
"""

from __future__ import annotations

from typing import Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.isa import Isa
from gdb_etm.recovery.distrust import Distrust
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.threads.residences import LaterThreads
from gdb_etm.recovery.values import Tier

# A byte of memory and what it rests on; None when it is not known.
Byte = Optional[Tuple[int, Tier]]
# Gives the byte at an address.
Reader = Callable[[int], Byte]
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
    :param later: Memory where the newer piece ends.
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
        later: Reader,
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

    def byte(self, address: int) -> Byte:
        """Give a byte of RAM."""
        word = self._words.get(address & ~3)
        if word is not None:
            return word[address & 3]
        if self._stores is None or any(store.may_hit(address) for store in self._stores):
            return None
        found = self._later(address)
        return None if found is None else (found[0], max(found[1], self._missed))

    def word(self, limit: Tier) -> Word:
        """Make a reader of aligned words.

        :param limit: The worst tier that it gives.
        """

        def read(address: int) -> Optional[int]:
            if address not in known:
                found = [self.byte(address + index) for index in range(4)]
                values = [one[0] for one in found if one is not None and one[1] <= limit]
                known[address] = int.from_bytes(bytes(values), "little") if len(values) == 4 else None
            return known[address]

        known: Dict[int, Optional[int]] = {}
        return read
