"""Data stream packets to elements.

Evidence: vectors worked by hand from the specification; the line of the packet's description stands beside each.
Unless said otherwise there are 32 keys of each kind, and a stream begins with A-Sync and Trace Info.
"""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.etmv4.config import Etmv4Config
from tests.protocols.etmv4.data_streams import START, UNIT, Plain, decode


def p1(address: int, left: int, right: int, transfer: int = 0, big: bool = False) -> Plain:
    return "P1", left, right, transfer, address, big


def bare(left: int, right: int, transfer: int) -> Plain:
    return "P1", left, right, transfer, None, None


def p2(value: int, key: int) -> Plain:
    return "P2", value, key


# The low seven bits of each but the last byte of a full timestamp.
SEVENS = bytes.fromhex("08 19 2A 3B 4C 5D 6E 7F")
Vectors = List[Tuple[str, List[Plain]]]

SYNCHRONISATION: Vectors = [
    # L12878 to L13190: extension packets, and those that are one byte.
    ("00 11", [("marker", 0)]),
    ("00 1B", [("marker", 5)]),
    ("00 1F", [("marker", 7)]),
    ("01", [("marker", None)]),
    ("03", [("suppression",)]),
    ("04", [("event", 0)]),
    ("05", []),
    ("00 03", [("gap", GapReason.DISCARD)]),
    ("00 05", [("gap", GapReason.OVERFLOW)]),
    # L13158: 7 bits a byte, the ninth has 8; what is not sent stays.
    ("02 AA 01", [("time", 170)]),
    ("02 AA 01 02 05", [("time", 170), ("time", 133)]),
    ("02 88 99 AA BB CC DD EE FF 81", [("time", sum(seven << 7 * n for n, seven in enumerate(SEVENS)) | 0x81 << 56)]),
    # L12918: a Trace Info resets the timestamp, the addresses and the keys.
    ("02 AA 01 00 01 00 02 05", [("time", 170), ("time", 5)]),
    ("7D 90 20 05 04 22 34 12 00 01 00 72 10 20", [p1(0x1010, 5, 4), p2(0x1234, 1), p1(0x10, 1, 1), p2(0, 1)]),
]
ADDRESSES: Vectors = [
    # P1 format 1, L13336: addresses of 1, 2, 5 and 9 bytes against the last, whose other bits stay.
    ("72 10", [p1(0x10, 1, 1)]),
    ("72 90 20 72 11", [p1(0x1010, 1, 1), p1(0x1011, 2, 2)]),
    ("72 FF FF 7F", [p1(0x1FFFFF, 1, 1)]),
    ("72 FF FF FF 7F", [p1(0xFFFFFFF, 1, 1)]),
    ("72 80 A0 80 80 02", [p1(0x20001000, 1, 1)]),
    ("72 80 A0 80 80 82 C0 FF FF FF", [p1(0xFFFFFFC020001000, 1, 1)]),
    ("72 80 80 80 80 82 C0 FF FF FF 72 90 20", [p1(0xFFFFFFC020000000, 1, 1), p1(0xFFFFFFC020001010, 2, 2)]),
    # 32 bits are sent: the upper ones stay.
    ("72 80 80 80 80 82 C0 FF FF FF 72 84 80 80 80 01", [p1(0xFFFFFFC020000000, 1, 1), p1(0xFFFFFFC010000004, 2, 2)]),
    # CODE, table 6-24 (L13429): keys; LHKEY, RHKEY and INDEX present.
    ("70 10", [p1(0x10, 30, 1)]),
    ("71 10", [p1(0x10, 31, 1)]),
    ("73 10", [p1(0x10, 2, 1)]),
    ("74 10", [p1(0x10, 3, 1)]),
    ("75 10", [p1(0x10, 1, 1)]),
    ("76 10", [p1(0x10, 2, 1)]),
    ("77 10", [p1(0x10, 3, 1)]),
    ("78 10", [p1(0x10, 1, 1)]),
    ("79 10", [p1(0x10, 2, 1)]),
    ("7A 10 11", [p1(0x10, 17, 1)]),
    ("7B 10 11", [p1(0x10, 17, 1)]),
    ("7C 10 11", [p1(0x10, 17, 1)]),
    ("7D 10 07 04", [p1(0x10, 7, 4)]),
    ("7E 10 43", [p1(0x10, 1, 1, 3, True)]),
    ("7F 90 20 09 08 1F 72 10", [p1(0x1010, 9, 8, 31), p1(0x1010, 10, 9)]),
    ("7F 80 A0 80 80 82 07 04 42 C0 FF FF FF", [p1(0xFFFFFFC020001000, 7, 4, 2, True)]),
    # The endianness stays (L13420).
    ("7E 10 40 72 11 7E 12 00 72 13", [p1(16, 1, 1, 0, True), p1(17, 2, 2, 0, True), p1(18, 3, 3), p1(19, 4, 4)]),
    # The address registers that CODE names: three addresses, then each of them as the base.
    (
        "72 80 20 72 80 40 72 80 60 75 04 72 08",
        [p1(0x1000, 1, 1), p1(0x2000, 2, 2), p1(0x3000, 3, 3), p1(0x2004, 4, 4), p1(0x2008, 5, 5)],
    ),
    ("72 80 20 72 80 40 72 80 60 78 04", [p1(0x1000, 1, 1), p1(0x2000, 2, 2), p1(0x3000, 3, 3), p1(0x1004, 4, 4)]),
    # L13277: against register 0 the queue moves only where bits 63:6 differ: 0x1040 replaces nothing, 0x1044 does.
    (
        "72 80 20 72 40 72 44 75 00 75 3F",
        [p1(0x1000, 1, 1), p1(0x1040, 2, 2), p1(0x1044, 3, 3), p1(0x1000, 4, 4), p1(0x103F, 5, 5)],
    ),
    # Against register 1 the third address stays; against register 2 all move.
    (
        "72 80 20 72 80 40 72 80 60 75 00 78 00 78 00 78 00",
        [
            p1(0x1000, 1, 1),
            p1(0x2000, 2, 2),
            p1(0x3000, 3, 3),
            p1(0x2000, 4, 4),
            p1(0x1000, 5, 5),
            p1(0x3000, 6, 6),
            p1(0x2000, 7, 7),
        ],
    ),
    # P1 format 2, L13527: bits 5:2, and TT.
    ("94", [p1(0x14, 1, 1)]),
    ("BF", [p1(0x3C, 2, 1)]),
    ("72 FF 20 80 BC", [p1(0x107F, 1, 1), p1(0x1040, 2, 2), p1(0x107C, 3, 3)]),
    ("72 80 20 72 80 40 72 80 60 81", [p1(0x1000, 1, 1), p1(0x2000, 2, 2), p1(0x3000, 3, 3), p1(0x2000, 4, 4)]),
    ("72 80 20 72 80 40 72 80 60 86", [p1(0x1000, 1, 1), p1(0x2000, 2, 2), p1(0x3000, 3, 3), p1(0x1004, 4, 4)]),
    # P1 format 3, L13598: bits 9:2.
    ("14 41", [p1(0x104, 1, 1)]),
    ("72 FF 7F 14 00", [p1(0x3FFF, 1, 1), p1(0x3C00, 2, 2)]),
    ("17 FF", [p1(0x3FC, 2, 1)]),
    # P1 format 4, L13670: bits 3:2, and bits 1:0 are 10.
    ("68", [p1(0xA, 1, 1)]),
    ("63", [p1(0x2, 2, 1)]),
    ("72 91 20 60 6C", [p1(0x1011, 1, 1), p1(0x1012, 2, 2), p1(0x101E, 3, 3)]),
    # P1 format 5, L13741: no address; the next transfers of the instruction, or one each of the next instructions.
    ("72 10 FA", [p1(0x10, 1, 1), bare(1, 2, 1), bare(1, 3, 2), bare(1, 4, 3)]),
    ("FF", [bare(1, 1, 0), bare(2, 2, 0), bare(3, 3, 0), bare(4, 4, 0)]),
    ("72 90 20 F8 80", [p1(0x1010, 1, 1), bare(1, 2, 1), p1(0x1000, 2, 3)]),
    # P1 format 6, L13799.
    ("F7 09", [bare(1, 9, 0)]),
    ("72 10 F6 09 72 11", [p1(0x10, 1, 1), bare(1, 9, 1), p1(0x11, 2, 10)]),
    # P1 format 7, L13869: bits 63:56 of the last address, in the register too.
    ("72 10 F5 A5 72 11", [p1(0xA500000000000010, 1, 1), p1(0xA500000000000011, 2, 2)]),
    ("72 10 F8 20 F5 A5", [p1(0xA500000000000010, 1, 1), bare(1, 2, 1), p2(0, 1)]),
    ("F5 A5 72 11", [p1(0xA500000000000011, 1, 1)]),
    # Keys wrap: 31 right keys on from 1, and left keys below 0.
    ("7D 10 1F 1F 72 11", [p1(0x10, 31, 31), p1(0x11, 0, 0)]),
]
VALUES: Vectors = [
    # P2 format 1, L13931: sizes 0, 1, 2, 3, 4, 6 and 8; with and without KEY.
    ("20", [p2(0, 1)]),
    ("21 FF", [p2(0xFF, 1)]),
    ("22 34 12", [p2(0x1234, 1)]),
    ("23 01 02 03", [p2(0x030201, 1)]),
    ("24 01 02 03 04", [p2(0x04030201, 1)]),
    ("25 01 02 03 04 05 06", [p2(0x060504030201, 1)]),
    ("26 01 02 03 04 05 06 07 08", [p2(0x0807060504030201, 1)]),
    ("28 07 20", [p2(0, 7), p2(0, 8)]),
    ("2D 05 01 02 03 04 05 06 21 09", [p2(0x060504030201, 5), p2(9, 6)]),
    ("2E 05 01 02 03 04 05 06 07 08", [p2(0x0807060504030201, 5)]),
    # P2 format 2, table 6-25 (L14060).
    (
        "30 31 AA 32 BB AA 33 34 CC 35 DD CC 36 EE 37 FF EE",
        [p2(0, 2), p2(0xAA, 4), p2(0xAABB, 6), p2(0, 9), p2(0xCC, 12), p2(0xCCDD, 15), p2(0xEE, 14), p2(0xEEFF, 13)],
    ),
    # P2 format 3, L14085: KO + 2 and KO - 8.
    ("40 01 02 03 04", [p2(0x04030201, 2)]),
    ("47 01 02 03 04", [p2(0x04030201, 9)]),
    ("48 01 02 03 04", [p2(0x04030201, 24)]),
    ("57 01 02 03 04 05 06 07 08", [p2(0x0807060504030201, 9)]),
    ("5F 01 02 03 04 05 06 07 08", [p2(0x0807060504030201, 31)]),
    # P2 format 4, L14151.
    ("10 11 12 13", [p2(1, 1), p2(2, 2), p2(3, 3), p2(4, 4)]),
    # P2 format 5, L14181: CNT + 1 transfers, then one value.
    ("72 10 19 01 02 03 04", [p1(0x10, 1, 1), bare(1, 2, 1), bare(1, 3, 2), p2(0x04030201, 1)]),
    (
        "72 10 1B 01 02 03 04",
        [p1(0x10, 1, 1), bare(1, 2, 1), bare(1, 3, 2), bare(1, 4, 3), bare(1, 5, 4), p2(0x04030201, 1)],
    ),
    ("72 10 1C 01 02 03 04 05 06 07 08", [p1(0x10, 1, 1), bare(1, 2, 1), p2(0x0807060504030201, 1)]),
    # P2 format 6, table 6-26 (L14285): transfers, then two values of 32 bits.
    ("38 01 00 00 00 02 00 00 00", [p2(1, 1), p2(2, 2)]),
    ("72 10 3A 01 00 00 00 02 00 00 00", [p1(0x10, 1, 1), bare(1, 2, 1), bare(1, 3, 2), p2(1, 1), p2(2, 2)]),
    (
        "72 10 3C 01 00 00 00 02 00 00 80",
        [p1(0x10, 1, 1), bare(1, 2, 1), bare(1, 3, 2), bare(1, 4, 3), bare(1, 5, 4), p2(1, 1), p2(0x80000002, 2)],
    ),
    ("3D 01 00 00 00 02 00 00 00", [p2(1, 2), p2(2, 3)]),
    ("3E 01 00 00 00 02 00 00 00", [p2(1, 3), p2(2, 4)]),
]


@pytest.mark.parametrize("text, expected", SYNCHRONISATION + ADDRESSES + VALUES, ids=lambda value: str(value)[:40])
def test_vectors(text: str, expected: List[Plain]) -> None:
    assert decode(text) == expected


def test_p0_and_p1_keys_wrap_each_at_their_own_number() -> None:
    # L13251: left keys of P1 wrap at the P0 keys (here 6), right keys and the keys of P2 at the normal P1 keys (4).
    unit = UNIT._replace(p0_keys=6, p1_keys=4)
    assert decode("74 10 74 10 FD", unit) == [p1(0x10, 3, 1), p1(0x10, 0, 2), bare(1, 3, 0), bare(2, 0, 0)]
    assert decode("32 01 02 32 01 02 36 07", unit) == [p2(0x0201, 2), p2(0x0201, 0), p2(7, 3)]


SPECIAL = UNIT._replace(p1_keys=28)


@pytest.mark.parametrize(
    "text, expected",
    [
        # L13503, L13859, L14009: a special key is used for its element, and the count goes on by one.
        ("7D 10 01 1D 72 20", [p1(0x10, 1, 29), p1(0x20, 2, 2)]),
        ("7F 10 01 1D 00 72 20", [p1(0x10, 1, 29), p1(0x20, 2, 2)]),
        ("F7 1C F7 1B FC", [bare(1, 28, 0), bare(2, 27, 0), bare(3, 0, 0)]),
        ("28 1D 20 28 05 20", [p2(0, 29), p2(0, 2), p2(0, 5), p2(0, 6)]),
    ],
)
def test_special_keys(text: str, expected: List[Plain]) -> None:
    assert decode(text, SPECIAL) == expected


def test_without_data_addresses_they_are_unknown_but_compressed_on() -> None:
    # L13249.
    unit = UNIT._replace(data_addresses=False)
    assert decode("72 90 20 F5 A5 94", unit) == [bare(1, 1, 0), bare(2, 2, 0)]


@pytest.mark.parametrize(
    "text",
    # L12852 and the packets' own reserved values: SIZE and CCC of all ones, bits of PLCTL, headers of no packet.
    ["06", "0F", "C0", "F4", "27", "2F", "3F", "00 07", "00 09", "00 21", "00 81", "00 02", "00 01 01", "00 01 80 01"],
)
def test_reserved_encodings_are_gaps(text: str) -> None:
    assert decode("20 " + text + " 20 " + START + " 20") == [
        p2(0, 1),
        ("gap", GapReason.BAD_PACKET),
        ("gap", GapReason.NOT_SYNCHRONISED),
        p2(0, 1),
    ]


@pytest.mark.parametrize("version, reserved", [(2, True), (3, False)])
def test_ignore_is_reserved_before_4_3(version: int, reserved: bool) -> None:
    # L14336.
    unit: Etmv4Config = UNIT._replace(version=version)
    assert (("gap", GapReason.BAD_PACKET) in decode("05", unit)) is reserved
