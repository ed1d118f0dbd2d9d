"""The self test's program: bytes, path, and what it leaves behind.

``program.s`` and ``program_a.s`` are its sources, from which ``arm-none-eabi-as`` makes the bytes, once for each
architecture profile.  The paths are worked out by hand from the listings, not by what decodes trace.
"""

from __future__ import annotations

import struct
from typing import Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Tuple

# First and last instruction of each stretch without a branch that is taken.
Stretches = Tuple[Tuple[int, int], ...]


class KnownProgram(NamedTuple):
    """What is known of the program as one profile has it.

    Places are offsets in its code.
    """

    code: bytes
    labels: Mapping[str, int]
    # Instructions of 4 bytes; the others have 2.
    wide: FrozenSet[int]
    # What a pass runs.
    once: Stretches
    # The outcome of the conditional instructions of IT blocks, by their offsets.
    outcomes: Mapping[int, bool]
    # Whether its vectors are instructions, as on Armv7-A, and not addresses.
    is_a_profile: bool = False

    @property
    def functions(self) -> Dict[str, Tuple[int, int]]:
        """Its functions: first and last instruction."""
        names = ("sum", "choose", "table", "outer", "middle", "leaf")
        return {name: (self.labels[name], self.labels[name + "_end"]) for name in names}


def _labels(text: str) -> Dict[str, int]:
    words = text.split()
    return {name: int(offset, 16) for name, offset in zip(words[::2], words[1::2])}


# Armv7-M and Armv8-M with the Main Extension.
MAINLINE = KnownProgram(
    bytes.fromhex(
        "044629a7002500f014f800f017f8022000f01df8002000f01af800f025f820496d1816a2013290473d60013c7c60ead1"
        "5ebe05216d180139fcd1704700210cbf07356335b84204bf323509217047dfe800f002040600013502e0643500e00335"
        "002800d00d35704710b500f003f800f005f810bd08b500f001f808bd0b35704708484ff000410160bff34f8fbff36f8f"
        "00bf5ebeba680132ba6070475fbe00bfe803000004ed00e0"
    ),
    _labels(
        "start 0 pass 6 load 1e store 28 last_store 2c done 30 sum 32 again 34 sum_end 3a choose 3c choose_end 4c"
        " table 4e table_end 66 outer 68 outer_end 72 middle 74 middle_end 7a leaf 7c leaf_end 7e"
        " interrupt 80 interrupted 92 handler 94 handler_end 9a trap 9c one_more a0 icsr a4 data a8"
    ),
    frozenset((0x06, 0x0A, 0x10, 0x16, 0x1A, 0x4E, 0x6A, 0x6E, 0x76, 0x82, 0x88, 0x8C)),
    (
        (0x06, 0x06),
        # sum: a loop of five rounds
        (0x32, 0x38),
        (0x34, 0x38),
        (0x34, 0x38),
        (0x34, 0x38),
        (0x34, 0x3A),
        (0x0A, 0x0A),
        # choose
        (0x3C, 0x4C),
        # table: its third case
        (0x0E, 0x10),
        (0x4E, 0x4E),
        (0x5E, 0x66),
        # table: its first case
        (0x14, 0x16),
        (0x4E, 0x4E),
        (0x56, 0x58),
        (0x60, 0x62),
        (0x66, 0x66),
        # outer, middle, leaf
        (0x1A, 0x1A),
        (0x68, 0x6A),
        (0x74, 0x76),
        (0x7C, 0x7E),
        (0x7A, 0x7A),
        (0x6E, 0x6E),
        (0x7C, 0x7E),
        (0x72, 0x72),
        (0x1E, 0x26),
        (0x7C, 0x7E),
        (0x28, 0x2E),
    ),
    {0x40: True, 0x42: False, 0x48: False, 0x4A: False},
)

# Armv6-M and Armv8-M Baseline: branches in place of IT blocks, ADD to the PC in place of TBB.
BASELINE = KnownProgram(
    bytes.fromhex(
        "04462ba7002500f014f800f017f8022000f01ef8002000f01bf800f028f822496d1818a2013290473d60013c7c60ead1"
        "5ebe05216d180139fcd17047002101d1073500e06335b84201d132350921704701a1095c49008f4401030500013502e0"
        "643500e00335002800d00d35704710b500f003f800f006f810bd08b500f002f808bdc0460b35704708480121c9070160"
        "bff34f8fbff36f8fc0465ebeba680132ba6070475fbec046e803000004ed00e0"
    ),
    _labels(
        "start 0 pass 6 load 1e store 28 last_store 2c done 30 sum 32 again 34 sum_end 3a choose 3c choose_end 4e"
        " table 50 table_end 6c outer 6e outer_end 78 middle 7a middle_end 80 leaf 84 leaf_end 86"
        " interrupt 88 interrupted 9a handler 9c handler_end a2 trap a4 one_more a8 icsr ac data b0"
    ),
    frozenset((0x06, 0x0A, 0x10, 0x16, 0x1A, 0x70, 0x74, 0x7C, 0x90, 0x94)),
    (
        (0x06, 0x06),
        # sum: a loop of five rounds
        (0x32, 0x38),
        (0x34, 0x38),
        (0x34, 0x38),
        (0x34, 0x38),
        (0x34, 0x3A),
        (0x0A, 0x0A),
        # choose: a branch that is not taken, and two that are
        (0x3C, 0x42),
        (0x46, 0x48),
        (0x4E, 0x4E),
        # table: its third case
        (0x0E, 0x10),
        (0x50, 0x56),
        (0x64, 0x6C),
        # table: its first case
        (0x14, 0x16),
        (0x50, 0x56),
        (0x5C, 0x5E),
        (0x66, 0x68),
        (0x6C, 0x6C),
        # outer, middle, leaf
        (0x1A, 0x1A),
        (0x6E, 0x70),
        (0x7A, 0x7C),
        (0x84, 0x86),
        (0x80, 0x80),
        (0x74, 0x74),
        (0x84, 0x86),
        (0x78, 0x78),
        (0x1E, 0x26),
        (0x84, 0x86),
        (0x28, 0x2E),
    ),
    {},
)

# Armv7-A and Armv7-R: A32, with T32 for IT blocks and what is called most.
A_PROFILE = KnownProgram(
    bytes.fromhex(
        "0040a0e1f0708fe20050a0e30f0000eb130000fa0200a0e3160000eb0000a0e3140000eb220000ebc8109fe5015085e0"
        "98208fe2012082e232ff2fe1005087e5014054e2044087e5efffff1a7e0520e10510a0e3015085e0011051e2fcffff1a"
        "1eff2fe100210cbf07356335b84204bf32350921704700bf04108fe2001191e701f08fe0080000001000000018000000"
        "015085e2020000ea645085e2000000ea035085e2000050e30000000a0d5085e21eff2fe110402de9010000eb030000fa"
        "1080bde808402de9000000fa0880bde80b35704700f020e35e0000ef00f020e37e0520e1082097e5012082e2082087e5"
        "0ef0b0e17f0520e1e8030000"
    ),
    _labels(
        "start 0 pass c load 28 store 3c last_store 44 done 4c sum 50 again 54 sum_end 60 choose 64 choose_end 74"
        " table 78 table_end b0 outer b4 outer_end c0 middle c4 middle_end cc leaf d0 leaf_end d2"
        " interrupt d4 interrupted e0 handler e4 handler_end f0 trap f4 one_more f8 data fc"
    ),
    frozenset((*range(0, 0x64, 4), *range(0x78, 0x84, 4), *range(0x90, 0xD0, 4), *range(0xD4, 0xF8, 4))),
    (
        (0x0C, 0x0C),
        # sum: a loop of five rounds
        (0x50, 0x5C),
        (0x54, 0x5C),
        (0x54, 0x5C),
        (0x54, 0x5C),
        (0x54, 0x60),
        (0x10, 0x10),
        # choose
        (0x64, 0x74),
        # table: its third case
        (0x14, 0x18),
        (0x78, 0x80),
        (0xA0, 0xB0),
        # table: its first case
        (0x1C, 0x20),
        (0x78, 0x80),
        (0x90, 0x94),
        (0xA4, 0xA8),
        (0xB0, 0xB0),
        # outer, middle, leaf
        (0x24, 0x24),
        (0xB4, 0xB8),
        (0xC4, 0xC8),
        (0xD0, 0xD2),
        (0xCC, 0xCC),
        (0xBC, 0xBC),
        (0xD0, 0xD2),
        (0xC0, 0xC0),
        (0x28, 0x38),
        (0xD0, 0xD2),
        (0x3C, 0x48),
    ),
    {0x68: True, 0x6A: False, 0x70: False, 0x72: False},
    True,
)

# What a pass adds to the checksum: sum 15, choose 7, table 3 + 13 and 1, outer 11 + 11, the literal 1000, leaf 11.
_CHECKSUM = 1072
# Loads and stores that are compared, by the instruction's label: whether it stores, the label of the datum, and how
# many bytes after that it is.
_TRANSFERS = {"load": (False, "one_more", 0), "store": (True, "data", 0), "last_store": (True, "data", 4)}
_DATA_BYTES, _STACK_BYTES, _VECTORS = 16, 160, 16
# A vector of an A-profile core, as in "b trap" (DDI 0406C, A8.8.18), and that of SVC.
_BRANCH, _SVC_VECTOR = 0xEA000000, 8
# A vector table is aligned so (DDI 0403E, B3.2.5: at least 128 bytes; a Cortex-M0+ has bits 31:8 of VTOR).
ALIGNMENT = 256


class Layout(NamedTuple):
    """Where the program is: vectors, code, data and stack, in this order.

    :param base: Its first address, a multiple of :data:`ALIGNMENT`.
    """

    base: int
    program: KnownProgram = MAINLINE

    @property
    def code(self) -> int:
        """Address of the code."""
        return self.base + 4 * _VECTORS

    @property
    def data(self) -> int:
        """Address of the data."""
        return self.at("data")

    @property
    def stack(self) -> int:
        """Address after the stack, which grows down."""
        return self.base + self.size

    @property
    def size(self) -> int:
        """Bytes that the program takes."""
        return 4 * _VECTORS + -(-len(self.program.code) // 16) * 16 + _DATA_BYTES + _STACK_BYTES

    def at(self, label: str) -> int:
        """Give the address of a label."""
        return self.code + self.program.labels[label]

    def image(self) -> bytes:
        """Give the bytes to put at :attr:`base`."""
        data = self.fixed()
        return data + bytes(self.size - len(data))

    def fixed(self) -> bytes:
        """Give those of them that the program does not write."""
        if self.program.is_a_profile:
            vectors = [self._branch(4 * n, "handler" if 4 * n == _SVC_VECTOR else "trap") for n in range(_VECTORS)]
        else:
            vectors = [self.stack, self.at("trap") | 1, self.at("handler") | 1]
            vectors += [self.at("trap") | 1] * (_VECTORS - 3)
        return struct.pack("<%dI" % _VECTORS, *vectors) + self.program.code

    def _branch(self, offset: int, label: str) -> int:
        return _BRANCH | (self.at(label) - (self.base + offset + 8)) >> 2 & 0xFFFFFF

    def path(self, passes: int = 1) -> List[int]:
        """List the addresses of what runs, without the BKPT."""
        first = self._between("start", "pass")
        once = [address for low, high in self.program.once for address in self._addresses(low, high)]
        return first + once * passes

    def interruption(self) -> Tuple[List[int], List[int]]:
        """List what is interrupted, and what its handler runs."""
        vector = [self.base + _SVC_VECTOR] if self.program.is_a_profile else []
        return self._between("interrupt", "interrupted"), vector + self._between("handler", "trap")

    def log(self, passes: int) -> Tuple[int, int]:
        """Give the two words of the program's log after so many passes."""
        return _CHECKSUM * passes & 0xFFFFFFFF, 0

    def transfers(self, passes: int) -> Dict[int, List[Tuple[bool, int, int]]]:
        """List what instructions load and store, pass by pass.

        :returns: By the instruction's address: whether it stores, the address, the value.
        """
        values = {
            "load": [1000] * passes,
            "store": [_CHECKSUM * number & 0xFFFFFFFF for number in range(1, passes + 1)],
            "last_store": [passes - number for number in range(1, passes + 1)],
        }
        return {
            self.at(label): [(store, self.at(datum) + more, value) for value in values[label]]
            for label, (store, datum, more) in _TRANSFERS.items()
        }

    def name(self, address: int) -> str:
        """Name an address of the code: ``"0x20000046 <pass+0>"``."""
        found: Optional[Tuple[int, str]] = None
        for label in _NAMES:
            first = self.program.labels[label]
            if first <= address - self.code < len(self.program.code):
                found = first, label
        if found is None:
            return "0x%08x" % address
        return "0x%08x <%s+%d>" % (address, found[1], address - self.code - found[0])

    def _between(self, first: str, end: str) -> List[int]:
        return list(self._addresses(self.program.labels[first], self.program.labels[end] - 2))

    def _addresses(self, first: int, last: int) -> Iterator[int]:
        offset = first
        while offset <= last:
            yield self.code + offset
            offset += 4 if offset in self.program.wide else 2


_NAMES = ("start", "sum", "choose", "table", "outer", "middle", "leaf", "interrupt", "handler", "trap")
