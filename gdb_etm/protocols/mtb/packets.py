"""Packets of a Micro Trace Buffer: two words each.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3.1; Armv8-M ARM (DDI 0553), B3.22, for EXC_RETURN.
"""

from __future__ import annotations

from struct import Struct
from typing import Iterator, NamedTuple, Tuple

SIZE = 8
# Bits 31:1 of what the PC shows in lockup on Armv6-M (DDI 0419, B1.5.15) and Armv8-M (DDI 0553, B3.33).
LOCKUP = (0xFFFFFFFE, 0xEFFFFFFE)
_WORDS = Struct("<II")
_EXC_RETURN = 0xFFFFFF00


class MtbPacket(NamedTuple):
    """One packet."""

    # Bit 0 is 0.  Of the branch; if ``atomic``, the preferred return address, or an EXC_RETURN value.
    source: int
    # Bit 0 is 0.  Where the execution went on, or an EXC_RETURN value.
    destination: int
    # The A bit: an exception or a PC update in Debug state, and no instruction.
    atomic: bool
    # The S bit: the first one after tracing started.
    start: bool

    @property
    def completes_return(self) -> bool:
        """Whether it is the second packet of an exception return."""
        return self.atomic and is_exc_return(self.source)


def is_exc_return(address: int) -> bool:
    """Return whether an address is bits 31:1 of an EXC_RETURN value."""
    return address >= _EXC_RETURN and address not in LOCKUP


def read_packet(data: bytes, at: int) -> MtbPacket:
    """Read the packet at an index; all of it must be there."""
    source, destination = _WORDS.unpack_from(data, at)
    return MtbPacket(source & ~1, destination & ~1, bool(source & 1), bool(destination & 1))


def read_packets(data: bytes) -> Iterator[Tuple[int, MtbPacket]]:
    """Iterate over the whole packets, each with its index."""
    for at in range(0, len(data) - SIZE + 1, SIZE):
        yield at, read_packet(data, at)
