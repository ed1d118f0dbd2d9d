"""The self test's program: bytes, path, and what it leaves behind.

``program.s`` is its source, from which ``arm-none-eabi-as`` makes :data:`CODE`.  The path is worked out by hand from
the listing, not by what decodes trace.
"""

from __future__ import annotations

import struct
from typing import Dict, List, NamedTuple, Optional, Tuple

CODE = bytes.fromhex(
    "044629a7002500f014f800f017f8022000f01df8002000f01af800f025f820496d1816a2013290473d60013c7c60ead1"
    "5ebe05216d180139fcd1704700210cbf07356335b84204bf323509217047dfe800f002040600013502e0643500e00335"
    "002800d00d35704710b500f003f800f005f810bd08b500f001f808bd0b35704708484ff000410160bff34f8fbff36f8f"
    "00bf5ebeba680132ba6070475fbe00bfe803000004ed00e0"
)

# Offsets of its labels.
START, PASS, DONE = 0x00, 0x06, 0x30
SUM, AGAIN, SUM_END = 0x32, 0x34, 0x3A
CHOOSE, CHOOSE_END = 0x3C, 0x4C
TABLE, TABLE_END = 0x4E, 0x66
OUTER, OUTER_END = 0x68, 0x72
MIDDLE, MIDDLE_END = 0x74, 0x7A
LEAF, LEAF_END = 0x7C, 0x7E
INTERRUPT, INTERRUPTED, HANDLER, HANDLER_END, TRAP = 0x80, 0x92, 0x94, 0x9A, 0x9C
ONE_MORE, DATA = 0xA0, 0xA8

# Its functions: first and last instruction.
FUNCTIONS: Dict[str, Tuple[int, int]] = {
    "sum": (SUM, SUM_END),
    "choose": (CHOOSE, CHOOSE_END),
    "table": (TABLE, TABLE_END),
    "outer": (OUTER, OUTER_END),
    "middle": (MIDDLE, MIDDLE_END),
    "leaf": (LEAF, LEAF_END),
}
# Instructions of 4 bytes; the others have 2.
_WIDE = frozenset((0x06, 0x0A, 0x10, 0x16, 0x1A, 0x4E, 0x6A, 0x6E, 0x76, 0x82, 0x88, 0x8C))
# What runs: first and last instruction of each stretch without a branch that is taken.
_ENTRY = ((START, 0x04),)
_PASS = (
    (PASS, PASS),
    # sum: a loop of five rounds
    (SUM, 0x38),
    (AGAIN, 0x38),
    (AGAIN, 0x38),
    (AGAIN, 0x38),
    (AGAIN, SUM_END),
    (0x0A, 0x0A),
    (CHOOSE, CHOOSE_END),
    # table: its third case
    (0x0E, 0x10),
    (TABLE, TABLE),
    (0x5E, TABLE_END),
    # table: its first case
    (0x14, 0x16),
    (TABLE, TABLE),
    (0x56, 0x58),
    (0x60, 0x62),
    (TABLE_END, TABLE_END),
    (0x1A, 0x1A),
    (OUTER, 0x6A),
    (MIDDLE, 0x76),
    (LEAF, LEAF_END),
    (MIDDLE_END, MIDDLE_END),
    (0x6E, 0x6E),
    (LEAF, LEAF_END),
    (OUTER_END, OUTER_END),
    (0x1E, 0x26),
    (LEAF, LEAF_END),
    (0x28, 0x2E),
)
_INTERRUPT = ((INTERRUPT, 0x90),)
_HANDLER = ((HANDLER, HANDLER_END),)
# What a pass adds to the checksum: sum 15, choose 7, table 3 + 13 and 1, outer 11 + 11, the literal 1000, leaf 11.
_CHECKSUM = 1072
# The outcome of the conditional instructions of IT blocks, by their offsets.
OUTCOMES: Dict[int, bool] = {0x40: True, 0x42: False, 0x48: False, 0x4A: False}
# Loads and stores that are compared, by the instruction's offset: whether it stores, and to which offset.
TRANSFERS: Dict[int, Tuple[bool, int]] = {0x1E: (False, ONE_MORE), 0x28: (True, DATA), 0x2C: (True, DATA + 4)}
_DATA_BYTES, _STACK_BYTES, _VECTORS = 16, 160, 16
# A vector table is aligned so (DDI 0403E, B3.2.5: at least 128 bytes).
ALIGNMENT = 128


class Layout(NamedTuple):
    """Where the program is: vectors, code, data and stack, in this order.

    :param base: Its first address, a multiple of :data:`ALIGNMENT`.
    """

    base: int

    @property
    def code(self) -> int:
        """Address of the code."""
        return self.base + 4 * _VECTORS

    @property
    def data(self) -> int:
        """Address of the data."""
        return self.code + DATA

    @property
    def stack(self) -> int:
        """Address after the stack, which grows down."""
        return self.base + SIZE

    def at(self, offset: int) -> int:
        """Give the address of an offset in the code."""
        return self.code + offset

    def image(self) -> bytes:
        """Give the bytes to put at :attr:`base`."""
        vectors = [self.stack, self.at(TRAP) | 1, self.at(HANDLER) | 1] + [self.at(TRAP) | 1] * (_VECTORS - 3)
        return struct.pack("<%dI" % _VECTORS, *vectors) + CODE + bytes(_DATA_BYTES + _STACK_BYTES)

    def path(self, passes: int = 1) -> List[int]:
        """List the addresses of what runs, without the BKPT."""
        once = self._addresses(_PASS)
        return self._addresses(_ENTRY) + once * passes

    def interruption(self) -> Tuple[List[int], List[int]]:
        """List what is interrupted, and what its handler runs."""
        return self._addresses(_INTERRUPT), self._addresses(_HANDLER)

    def log(self, passes: int) -> Tuple[int, int]:
        """Give the two words of the program's log after so many passes."""
        return _CHECKSUM * passes & 0xFFFFFFFF, 0

    def transfer(self, offset: int, number: int, passes: int) -> Tuple[bool, int, int]:
        """Say what an instruction of :data:`TRANSFERS` loads or stores.

        :param number: In which pass, from 1.
        :returns: Whether it stores, the address, the value.
        """
        store, where = TRANSFERS[offset]
        values = {0x1E: 1000, 0x28: _CHECKSUM * number & 0xFFFFFFFF, 0x2C: passes - number}
        return store, self.at(where), values[offset]

    def name(self, address: int) -> str:
        """Name an address of the code: ``"0x20000046 <pass+0>"``."""
        found: Optional[Tuple[int, str]] = None
        for label, first in _NAMES:
            if first <= address - self.code < len(CODE):
                found = first, label
        if found is None:
            return "0x%08x" % address
        return "0x%08x <%s+%d>" % (address, found[1], address - self.code - found[0])

    def _addresses(self, stretches: Tuple[Tuple[int, int], ...]) -> List[int]:
        found = []
        for first, last in stretches:
            offset = first
            while offset <= last:
                found.append(self.code + offset)
                offset += 4 if offset in _WIDE else 2
        return found


_NAMES = (
    ("start", START),
    *((name, first) for name, (first, _) in FUNCTIONS.items()),
    ("interrupt", INTERRUPT),
    ("handler", HANDLER),
    ("trap", TRAP),
)
# Bytes that the program takes.
SIZE = 4 * _VECTORS + len(CODE) + _DATA_BYTES + _STACK_BYTES
