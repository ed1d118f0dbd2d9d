"""Vectors worked by hand from IHI 0064 H.a, 6.5.5 and 6.5.6.

Every row follows the packets' pseudocode step by step; lines are those of its text in ../shared/spec.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest

from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.etmv4.config import Etmv4Config
from tests.protocols.etmv4.data_streams import UNIT, Plain, decode

# Six keys of P0 elements, and of P1 elements eight normal ones; 8 and higher are special (L13294).
FEW = UNIT._replace(p0_keys=6, p1_keys=8)


def p1(left: int, right: int, index: int = 0, address: Optional[int] = None, big: Optional[bool] = None) -> Plain:
    """Make a P1 element, little-endian by default."""
    return "P1", left, right, index, address, (big or False) if address is not None else None


def p2(value: int, key: int) -> Plain:
    return "P2", value, key


Row = Tuple[int, str, List[Plain]]
KEYS: List[Row] = [
    # P1 format 1, its left key by CODE (L13429): from 0 two and one back, wrapping at six.
    (13431, "70 10", [p1(4, 1, 0, 0x10)]),
    (13432, "71 10", [p1(5, 1, 0, 0x10)]),
    (13433, "72 10 72 10 72 10 72 10 72 10 72 10", [p1(n % 6, n, 0, 0x10) for n in range(1, 7)]),
    (13434, "73 10 73 10 73 10", [p1(2, 1, 0, 0x10), p1(4, 2, 0, 0x10), p1(0, 3, 0, 0x10)]),
    (13435, "74 10 74 10", [p1(3, 1, 0, 0x10), p1(0, 2, 0, 0x10)]),
    (13436, "75 10 76 10 77 10", [p1(1, 1, 0, 0x10), p1(3, 2, 0, 0x10), p1(0, 3, 0, 0x10)]),
    (13439, "78 10 79 10", [p1(1, 1, 0, 0x10), p1(3, 2, 0, 0x10)]),
    # An explicit left key is remembered: +1 from it.
    (13500, "7a 10 04 72 10 72 10", [p1(4, 1, 0, 0x10), p1(5, 2, 0, 0x10), p1(0, 3, 0, 0x10)]),
    (13501, "7b 10 05 72 10", [p1(5, 1, 0, 0x10), p1(0, 2, 0, 0x10)]),
    (13502, "7c 10 03 71 10", [p1(3, 1, 0, 0x10), p1(2, 2, 0, 0x10)]),
    # Right keys wrap at the number of normal keys (L13268).
    (13268, "7d 10 01 07 72 10", [p1(1, 7, 0, 0x10), p1(2, 0, 0, 0x10)]),
    # A special right key is the element's alone; the stored one goes on by one (L13485, L13506).
    (13506, "7d 10 01 09 72 10", [p1(1, 9, 0, 0x10), p1(2, 2, 0, 0x10)]),
    (13515, "7f 10 01 08 00 72 10", [p1(1, 8, 0, 0x10), p1(2, 2, 0, 0x10)]),
    (13506, "7d 10 01 87 01 72 10", [p1(1, 135, 0, 0x10), p1(2, 2, 0, 0x10)]),
    # CODE 1110: left key + 1, index, endianness; only the last stays (L13486, L13511).
    (13508, "7e 10 43 72 10", [p1(1, 1, 3, 0x10, True), p1(2, 2, 0, 0x10, True)]),
    (13508, "7e 10 43 7e 10 1f 84", [p1(1, 1, 3, 0x10, True), p1(2, 2, 31, 0x10), p1(3, 3, 0, 0x04)]),
    # Formats 2, 3 and 4: +1, or +2 with TT 3 (L13583, L13657, L13728); right key + 1, index 0.
    (13583, "80 81 82 83", [p1(1, 1, 0, 0), p1(2, 2, 0, 0), p1(3, 3, 0, 0), p1(5, 4, 0, 0)]),
    (13657, "14 00 15 00 16 00 17 00", [p1(1, 1, 0, 0), p1(2, 2, 0, 0), p1(3, 3, 0, 0), p1(5, 4, 0, 0)]),
    (13728, "60 61 62 63", [p1(1, 1, 0, 2), p1(2, 2, 0, 2), p1(3, 3, 0, 2), p1(5, 4, 0, 2)]),
    # Format 5, L 0: left key stays, index and right key go on; L 1: left key goes on, index 0 (L13768).
    (13785, "7a 10 03 f9", [p1(3, 1, 0, 0x10), p1(3, 2, 1), p1(3, 3, 2)]),
    (13785, "7a 10 03 f8 f8", [p1(3, 1, 0, 0x10), p1(3, 2, 1), p1(3, 3, 2)]),
    (13785, "7a 10 03 fe", [p1(3, 1, 0, 0x10), p1(4, 2, 0), p1(5, 3, 0), p1(0, 4, 0)]),
    (13785, "7e 10 05 f8", [p1(1, 1, 5, 0x10), p1(1, 2, 6)]),
    (13785, "fc f8 f8 fc", [p1(1, 1, 0), p1(1, 2, 1), p1(1, 3, 2), p1(2, 4, 0)]),
    # Format 6 (L13847): as format 5 with one element, and the right key; a special one is not remembered (L13859).
    (13847, "f7 05 f6 06 fc", [p1(1, 5, 0), p1(1, 6, 1), p1(2, 7, 0)]),
    (13859, "f7 08 fc", [p1(1, 8, 0), p1(2, 2, 0)]),
    (13859, "f7 05 f6 09 fc", [p1(1, 5, 0), p1(1, 9, 1), p1(2, 7, 0)]),
]

REGISTERS: List[Row] = [
    # Which of the last addresses CODE and TT build on (L13461, L13570).  0x1000, 0x2000, 0x3000, then each.
    (13461, "72 80 20 72 80 40 72 80 60 72 04", [p1(4, 4, 0, 0x3004)]),
    (13467, "72 80 20 72 80 40 72 80 60 75 04", [p1(4, 4, 0, 0x2004)]),
    (13470, "72 80 20 72 80 40 72 80 60 78 04", [p1(4, 4, 0, 0x1004)]),
    (13473, "72 80 20 72 80 40 72 80 60 7b 04 00", [p1(0, 4, 0, 0x2004)]),
    (13474, "72 80 20 72 80 40 72 80 60 7c 04 00", [p1(0, 4, 0, 0x1004)]),
    (13570, "72 80 20 72 80 40 72 80 60 85", [p1(4, 4, 0, 0x2004)]),
    (13570, "72 80 20 72 80 40 72 80 60 86", [p1(4, 4, 0, 0x1004)]),
    (13570, "72 80 20 72 80 40 72 80 60 87", [p1(5, 4, 0, 0x3004)]),
    (13642, "72 80 20 72 80 40 72 80 60 16 ff", [p1(4, 4, 0, 0x13FC)]),
    (13712, "72 80 20 72 80 40 72 80 60 6d", [p1(4, 4, 0, 0x200E)]),
    # After building on register 2 both others move down (L13283): 0x1004, 0x3000, 0x2000.
    (13283, "72 80 20 72 80 40 72 80 60 78 04 75 08", [p1(5, 5, 0, 0x3008)]),
    (13283, "72 80 20 72 80 40 72 80 60 78 04 78 08", [p1(5, 5, 0, 0x2008)]),
    # After register 1 only the first does (L13286): 0x2004, 0x3000, 0x1000.
    (13286, "72 80 20 72 80 40 72 80 60 75 04 75 08", [p1(5, 5, 0, 0x3008)]),
    (13286, "72 80 20 72 80 40 72 80 60 75 04 78 08", [p1(5, 5, 0, 0x1008)]),
    # After register 0 both do, but within 64 bytes none does (L13289): 0x303f, 0x2000, 0x1000.
    (13289, "72 80 20 72 80 40 72 80 60 72 3f 75 08", [p1(5, 5, 0, 0x2008)]),
    (13289, "72 80 20 72 80 40 72 80 60 72 3f 78 08", [p1(5, 5, 0, 0x1008)]),
    # 0x3040 is in the next 64 bytes: 0x3040, 0x3000, 0x2000.
    (13289, "72 80 20 72 80 40 72 80 60 72 40 75 08", [p1(5, 5, 0, 0x3008)]),
    (13289, "72 80 20 72 80 40 72 80 60 72 40 78 08", [p1(5, 5, 0, 0x2008)]),
    # Also where bits 63:32 alone differ.
    (13289, "72 80 20 72 80 a0 80 80 80 01 00 00 00 75 04", [p1(3, 3, 0, 0x1004)]),
    # The same with formats 2 and 3, which build on register 0 with TT 3 as well.
    (13579, "72 80 20 72 80 40 bf 86", [p1(5, 4, 0, 0x0004)]),
    (13651, "72 80 20 72 80 40 17 ff 85", [p1(5, 4, 0, 0x2004)]),
    # Formats 5 and 6 and P2 format 5 leave them alone (L13776, L13839).
    (13776, "72 80 20 f9 f7 03 72 04", [p1(3, 4, 0, 0x1004)]),
    (14236, "72 80 20 18 00 00 00 00 72 04", [p1(2, 3, 0, 0x1004)]),
    # Format 7 changes the last (L13903) and with it what follows.
    (13903, "72 80 20 f5 a5 72 04", [p1(2, 2, 0, 0xA500000000001004)]),
    # What is not sent comes from the register (L13396): bits 63:32 with five bytes, all above bit 6 with one.
    (13396, "72 80 80 80 80 80 78 56 34 12 72 80 a0 80 80 02", [p1(2, 2, 0, 0x1234567820001000)]),
    (13396, "72 80 80 80 80 80 78 56 34 12 72 05", [p1(2, 2, 0, 0x1234567800000005)]),
]

# Format 7 changes the address of the element that was told last (L13901).
CHANGED: List[Row] = [
    (13901, "72 10 f5 a5", [p1(1, 1, 0, 0xA500000000000010)]),
    (13901, "72 10 72 20 f5 a5", [p1(1, 1, 0, 0x10), p1(2, 2, 0, 0xA500000000000020)]),
    # Bits 63:56 only: the rest of the 64 stays (L13899).
    (13899, "72 80 80 80 80 80 78 56 34 12 f5 a5", [p1(1, 1, 0, 0xA534567800000000)]),
]

VALUES: List[Row] = [
    # P2 keys count through the normal P1 keys, of which there are eight (L13275).
    (13275, "10 " * 9, [p2(1, n % 8) for n in range(1, 10)]),
    (14016, "20 21 05 22 34 12", [p2(0, 1), p2(5, 2), p2(0x1234, 3)]),
    (14016, "23 01 02 03 24 01 02 03 04", [p2(0x030201, 1), p2(0x04030201, 2)]),
    (13976, "25 01 02 03 04 05 06", [p2(0x060504030201, 1)]),
    (13977, "26 01 02 03 04 05 06 07 88", [p2(0x8807060504030201, 1)]),
    # An explicit key is remembered, a special one is not but counts (L14011).
    (14014, "29 05 aa 21 bb", [p2(0xAA, 5), p2(0xBB, 6)]),
    (14012, "29 09 aa 21 bb", [p2(0xAA, 9), p2(0xBB, 2)]),
    (13947, "28 87 01", [p2(0, 135)]),
    # P2 format 2 (L14048).
    (14050, "30 30", [p2(0, 2), p2(0, 4)]),
    (14051, "31 11 32 22 33", [p2(0x11, 2), p2(0x3322, 4)]),
    (14053, "33 34 11 35 22 33", [p2(0, 3), p2(0x11, 6), p2(0x3322, 1)]),
    (14056, "36 11 37 22 33", [p2(0x11, 7), p2(0x3322, 6)]),
    # P2 format 3 (L14120): +2 to +9, -8 to -1, modulo eight.
    (14120, "40 01 00 00 80", [p2(0x80000001, 2)]),
    (14120, "47 00 00 00 00", [p2(0, 1)]),
    (14121, "48 00 00 00 00", [p2(0, 0)]),
    (14121, "4f 00 00 00 00", [p2(0, 7)]),
    (14127, "53 01 02 03 04 05 06 07 08", [p2(0x0807060504030201, 5)]),
    (14127, "5d 01 02 03 04 05 06 07 08", [p2(0x0807060504030201, 5)]),
    # P2 format 4 (L14168).
    (14168, "10 11 12 13", [p2(1, 1), p2(2, 2), p2(3, 3), p2(4, 4)]),
    # P2 format 5 (L14236): CNT + 1 elements and then one value.
    (14236, "18 01 00 00 80", [p1(0, 1, 1), p2(0x80000001, 1)]),
    (
        14236,
        "7a 10 04 1b 01 00 00 80",
        [p1(4, 1, 0, 0x10)] + [p1(4, 1 + n, n) for n in range(1, 5)] + [p2(0x80000001, 1)],
    ),
    (14221, "1d 01 02 03 04 05 06 07 08", [p1(0, 1, 1), p1(0, 2, 2), p2(0x0807060504030201, 1)]),
    # P2 format 6 (L14281).
    (14283, "38 01 00 00 00 02 00 00 80", [p2(1, 1), p2(0x80000002, 2)]),
    (14284, "39 01 00 00 00 02 00 00 00", [p1(0, 1, 1), p2(1, 1), p2(2, 2)]),
    (
        14287,
        "7a 10 05 3c 01 00 00 00 02 00 00 00",
        [p1(5, 1, 0, 0x10)] + [p1(5, 1 + n, n) for n in range(1, 5)] + [p2(1, 1), p2(2, 2)],
    ),
    (14288, "3d 01 00 00 00 02 00 00 00", [p2(1, 2), p2(2, 3)]),
    (14289, "3e 01 00 00 00 02 00 00 00 3e 03 00 00 00 04 00 00 00", [p2(1, 3), p2(2, 4), p2(3, 7), p2(4, 0)]),
    # P1 and P2 keys are stored apart.
    (14017, "72 10 72 10 20", [p1(1, 1, 0, 0x10), p1(2, 2, 0, 0x10), p2(0, 1)]),
]


@pytest.mark.parametrize("line, text, elements", KEYS + CHANGED + VALUES, ids=lambda value: str(value)[:24])
def test_elements(line: int, text: str, elements: List[Plain]) -> None:
    assert decode(text, FEW) == elements


@pytest.mark.parametrize("line, text, elements", REGISTERS, ids=lambda value: str(value)[:40])
def test_the_last_element_of(line: int, text: str, elements: List[Plain]) -> None:
    # With 32 keys of each kind.
    assert decode(text)[-len(elements) :] == elements


@pytest.mark.parametrize("p0_keys, p1_keys", [(1, 1), (2, 4), (32, 28)])
def test_trace_info_begins_again(p0_keys: int, p1_keys: int) -> None:
    # L12973: keys, index, addresses, endianness and timestamp.
    unit: Etmv4Config = UNIT._replace(p0_keys=p0_keys, p1_keys=p1_keys)
    text = "7f 81 20 00 00 41 02 85 01 21 aa 00 01 00 "
    again = "72 10 f8 02 05 21 aa"
    assert decode(text + again, unit)[-4:] == decode(again, unit)
    assert decode(again, unit)[0] == p1(1 % p0_keys, 1 % p1_keys, 0, 0x10)


def test_an_a_sync_alone_changes_nothing() -> None:
    # Table 6-6, L8817.
    assert decode("7e 10 43" + "00" * 11 + "80 72 11") == [p1(1, 1, 3, 0x10, True), p1(2, 2, 0, 0x11, True)]


@pytest.mark.parametrize("text", ["06", "0f", "27", "2f 01", "3f", "c0", "f4", "00 07", "00 09", "00 21", "00 02"])
def test_reserved(text: str) -> None:
    # Nothing is read until the next A-Sync and Trace Info.
    found = decode("10 " + text + " 10 10" + "00" * 11 + "80 00 01 00 10")
    assert found[0] == found[-1] == p2(1, 1)
    assert ("gap", GapReason.BAD_PACKET) in found
    values = [element for element in found if element[0] == "P2"]
    assert values == [p2(1, 1), p2(1, 1)]


def test_ignore_is_reserved_before_4_3() -> None:
    # L14338.
    assert decode("05 10", UNIT._replace(version=3)) == [p2(1, 1)]
    assert decode("05 10", UNIT._replace(version=2))[0] == ("gap", GapReason.BAD_PACKET)
