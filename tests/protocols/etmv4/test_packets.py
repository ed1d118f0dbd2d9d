"""Vectors worked by hand from IHI 0064, chapter 6: packets' fields.

Lines are those of its text in ../shared/spec.  Each vector follows an A-Sync and a Trace Info; a bar separates its
packets.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.headers import build_table
from gdb_etm.protocols.etmv4.listing import list_packets
from gdb_etm.protocols.stream import NEED_MORE
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC
from tests.protocols.histories import same

UNIT = A_PROFILE._replace(version=6, commit_mode=0, condition_keys=16)
M_UNIT = UNIT._replace(m_profile=True)
ONE_COMMIT_MODE = UNIT._replace(commit_mode=1)
START = ASYNC + "01 00 "

# Configuration, packets, their names and fields (semicolons between them), line.
Vector = Tuple[Etmv4Config, str, str, int]
VECTORS: List[Vector] = [
    # Synchronisation and discontinuity, 6.4.2.
    (
        UNIT,
        "01 0f 31 03 05 90 1e",
        "Trace Info INFO=0x31, cycle threshold 3856, loads and stores as P0, 5 uncommitted, P0 key 3",
        9090,
    ),
    (UNIT, "01 00", "Trace Info INFO=0x00", 9090),
    (UNIT, "01 81 00 00", "Trace Info INFO=0x00", 9090),
    (UNIT, "04", "Trace On", 9221),
    (UNIT, "00 03", "Discard", 9251),
    (UNIT, "00 05", "Overflow", 9285),
    (UNIT, "00 07", "Branch Future Flush", 12810),
    (UNIT, "08", "Resynchronization", 9335),
    (UNIT, "70", "Ignore", 10744),
    # Time and events, 6.4.3 and 6.4.11.
    (UNIT, "02 2a", "Timestamp 0x2a", 9365),
    (UNIT, "02 aa 01 | 02 05", "Timestamp 0xaa; Timestamp 0x85", 9400),
    (UNIT, "02 88 99 aa bb cc dd ee ff 81", "Timestamp 0x81ffbaecc76a8c88", 9383),
    (UNIT, "03 05 81 01", "Timestamp 0x5, 129 cycles", 9423),
    (UNIT, "88 | 02 09", "Timestamp Marker; Timestamp 0x9", 9445),
    (UNIT, "70 | 79", "Ignore; Event event 0, 3", 10756),
    # Exceptions, 6.4.5.
    (UNIT, "06 1d 9a 00 40 00 80", "Exception IRQ, return address 0x80008000 IS0", 9515),
    (
        UNIT,
        "06 5c 82 00 40 00 80 21",
        "Exception IRQ, return address 0x80008000 IS0, also the target of the branch before, EL1 NS 32-bit",
        9559,
    ),
    (M_UNIT, "06 91 10 9b 00 10 00 20", "Exception IRQ8, return address 0x20001000 IS1", 9613),
    (M_UNIT, "06 87 20 9b 00 10 00 20", "Exception HardFault, return address 0x20001000 IS1, fault pending", 9544),
    (M_UNIT, "06 b5 00 9b 7f ff ff ef", "Exception Lockup, return address 0xeffffffe IS1", 9613),
    (UNIT, "07", "Exception Return", 9711),
    (M_UNIT, "05", "Function Return", 9467),
    # Cycle counts, 6.4.6: a threshold of 16.
    (UNIT, "01 09 01 10 | d8 | 0e 02 83 01", "THRESHOLD; Atom NN; Cycle Count format 1 commit 2, 147 cycles", 9793),
    (UNIT, "01 09 01 10 | f7 | 0f 01", "THRESHOLD; Atom E; Cycle Count format 1 commit 1, count unknown", 9816),
    (ONE_COMMIT_MODE, "01 09 01 10 | 0e 83 01", "THRESHOLD; Cycle Count format 1 147 cycles", 9793),
    (ONE_COMMIT_MODE, "01 09 01 10 | 0f", "THRESHOLD; Cycle Count format 1 count unknown", 9793),
    (UNIT, "01 09 01 10 | d8 | 0c 13", "THRESHOLD; Atom NN; Cycle Count format 2 commit 2, 19 cycles", 9866),
    (UNIT, "01 09 01 10 | d8 | 0d 15", "THRESHOLD; Atom NN; Cycle Count format 2 21 cycles", 9866),
    (UNIT, "01 09 01 10 | d8 | 16", "THRESHOLD; Atom NN; Cycle Count format 3 commit 2, 18 cycles", 9912),
    # Data synchronisation, speculation, conditional instructions: 6.4.7 to 6.4.9.
    (UNIT, "25", "Numbered Data Sync Mark 5", 9957),
    (UNIT, "2b | 28", "Unnumbered Data Sync Mark after EEE; Unnumbered Data Sync Mark", 9979),
    (UNIT, "2d 05 | 2d 81 01", "Commit 5; Commit 129", 10045),
    (UNIT, "fb | 2e 02", "Atom EEN; Cancel format 1 2", 10080),
    (UNIT, "fb | 2f 01", "Atom EEN; Cancel format 1 1, mispredict", 10080),
    (UNIT, "30 | 31 | 32 | 33", "Mispredict; Mispredict after E; Mispredict after EE; Mispredict after N", 10202),
    (
        UNIT,
        "34 | 35 | 36 | 37",
        "Cancel format 2 1, mispredict; Cancel format 2 1, mispredict, after E; "
        "Cancel format 2 1, mispredict, after EE; Cancel format 2 1, mispredict, after N",
        10123,
    ),
    (UNIT, "38 | 3f", "Cancel format 3 2, mispredict; Cancel format 3 5, mispredict, after E", 10164),
    (
        UNIT,
        "40 | 41 | 42",
        "Conditional Instruction format 2 C 1; Conditional Instruction format 2 C 1; "
        "Conditional Instruction format 2 C 2 2",
        10376,
    ),
    (UNIT, "6c 05 | 43", "Conditional Instruction format 1 C 5; Conditional Flush", 10334),
    (UNIT, "6d 07", "Conditional Instruction format 3 C 1 2 3 3", 10417),
    (
        UNIT,
        "6f 31 | 6b 41 50 | 6e 91 01",
        "Conditional Result format 1 C 1 2 3, R 3 passed; "
        "Conditional Result format 1 C 4, R 4 passed, C 5, R 5 failed; Conditional Result format 1 R 9 passed",
        10546,
    ),
    (
        UNIT,
        "6b 91 01 b0 81 00 | 49",
        "Conditional Result format 1 C 1 ... 9 (9), R 9 passed, C 10 11, R 11 failed; "
        "Conditional Result format 2 C 12, R 12 passed",
        10546,
    ),
    (
        UNIT,
        "5f f1 | 45",
        "Conditional Result format 3 C 1, R 1 passed, C 2, R 2 failed; Conditional Result format 4 R 1 passed",
        10679,
    ),
    # Context and addresses, 6.4.12.
    (UNIT, "80", "Context unchanged", 11183),
    (UNIT, "81 f1 01 02 03 04 0a 0b 0c 0d", "Context EL1 NS 64-bit VMID 0x4030201 Context ID 0xd0c0b0a", 12185),
    (UNIT._replace(vmid_bytes=1), "81 62 55", "Context EL2 NS 32-bit VMID 0x55", 12185),
    (
        UNIT,
        "85 10 20 34 12 c0 ff ff ff 31",
        "Address with Context 0xffffffc012344040 IS0, EL1 NS 64-bit",
        12039,
    ),
    (UNIT, "86 10 20 34 12 00 00 00 00 00", "Address with Context 0x12342020 IS1, EL0 S 32-bit", 12039),
    (UNIT, "9e 10 20 34 12 00 00 00 00", "Long Address 0x12342020 IS1", 11034),
    (
        UNIT,
        "9a 00 08 34 12 | 95 7f | 95 81 01",
        "Long Address 0x12341000 IS0; Short Address 0x123411fc IS0; Short Address 0x12340204 IS0",
        10957,
    ),
    (
        UNIT,
        "9b 00 10 34 12 | 96 7f | 96 81 22",
        "Long Address 0x12341000 IS1; Short Address 0x123410fe IS1; Short Address 0x12342202 IS1",
        10957,
    ),
    (
        UNIT,
        "9d 00 00 00 00 c0 ff ff ff | 9a 04 00 00 80",
        "Long Address 0xffffffc000000000 IS0; Long Address 0xffffffc080000010 IS0",
        11100,
    ),
    (
        UNIT,
        "9a 00 08 00 00 | 9a 00 10 00 00 | 9a 00 18 00 00 | 92 | 92 | 90",
        "Long Address 0x00001000 IS0; Long Address 0x00002000 IS0; Long Address 0x00003000 IS0; "
        "Exact Match Address 0x00001000 IS0; Exact Match Address 0x00002000 IS0; Exact Match Address 0x00002000 IS0",
        11151,
    ),
    # Bit 7 of the first two bytes of a Long Address should be zero and is no continuation bit.
    (UNIT, "9a 80 88 34 12 | 9b 80 10 34 12", "Long Address 0x12341000 IS0; Long Address 0x12341000 IS1", 11034),
    # Q, 6.4.14: the address comes before the count.
    (UNIT, "ac 05 | af", "Q 5 instructions; Q unknown count", 12661),
    (UNIT, "9a 00 08 00 00 | a5 81 08 07", "Long Address 0x00001000 IS0; Q 0x00001004 IS0, 7 instructions", 12726),
    (UNIT, "ab 10 20 34 12 82 01", "Q 0x12342020 IS1, 130 instructions", 12661),
    (
        UNIT,
        "9a 00 08 00 00 | 9a 00 10 00 00 | a1 03",
        "Long Address 0x00001000 IS0; Long Address 0x00002000 IS0; Q 0x00001000 IS0, 3 instructions",
        12661,
    ),
    # Atoms, 6.4.13.
    (UNIT, "f6 | f7 | d9 | fe", "Atom N; Atom E; Atom EN; Atom NEE", 12384),
    (UNIT, "dc | dd | de | df", "Atom NEEE; Atom NNNN; Atom NENE; Atom ENEN", 12477),
    (UNIT, "f5 | d5 | d6 | d7", "Atom NEEEE; Atom NNNNN; Atom NENEN; Atom ENENE", 12547),
    (UNIT, "c0 | e0 | d4 | f4", "Atom EEEE; Atom EEEN; Atom %s; Atom %sN" % ("E" * 24, "E" * 23), 12625),
]
THRESHOLD = "Trace Info INFO=0x01, cycle threshold 16"


def expected(text: str) -> List[str]:
    return [line.strip() for line in text.replace("THRESHOLD", THRESHOLD).split(";") if line.strip()]


@pytest.mark.parametrize("config, text, lines, line", VECTORS, ids=["L%d-%s" % (v[3], v[1]) for v in VECTORS])
def test_vector(config: Etmv4Config, text: str, lines: str, line: int) -> None:
    packets = [bytes.fromhex(part) for part in text.split("|")]
    data = bytes.fromhex(START) + b"".join(packets)
    found = list(list_packets(config, data, same))[2:]
    assert [packet.raw for packet in found] == packets
    assert [("%s %s" % (packet.name, packet.fields)).strip() for packet in found] == expected(lines)
    offset = len(bytes.fromhex(START))
    for packet in found:
        assert packet.offset == offset
        offset += len(packet.raw)


def whole_packets() -> List[Tuple[Etmv4Config, bytes]]:
    found = [(config, bytes.fromhex(part)) for config, text, _, _ in VECTORS for part in text.split("|")]
    return found + [(UNIT, bytes.fromhex(ASYNC))]


@pytest.mark.parametrize("config, packet", whole_packets(), ids=[packet.hex(" ") for _, packet in whole_packets()])
def test_a_cut_packet_asks_for_more(config: Etmv4Config, packet: bytes) -> None:
    header = build_table(config)[packet[0]]
    for length in range(1, len(packet)):
        assert header.length(packet, 0, length) == NEED_MORE
        # The bytes after it are of no consequence, nor is where it lies.
        shifted = b"\xff\xff" + packet + b"\xff"
        assert header.length(shifted, 2, 2 + length) == NEED_MORE
        (*_, last) = list_packets(config, bytes.fromhex(START) + packet[:length], same)
        assert last.raw == packet[:length] and "cut" in last.fields
    assert header.length(packet + b"\xff" * 4, 0, len(packet) + 4) == len(packet)


@pytest.mark.parametrize(
    "text, version",
    [
        # L8868, L9017: reserved first and second bytes, some only before a version of the architecture.
        ("09", 6),
        ("47", 6),
        ("60", 6),
        ("84", 6),
        ("93", 6),
        ("a3 01", 6),
        ("b0", 6),
        ("00 01", 6),
        ("00 0f", 6),
        ("00 07", 4),
        ("05", 1),
        ("08", 4),
        ("70", 2),
        ("88", 5),
        # Reserved fields: E1:E0 of an Exception (L9559), PLCTL above bit 3 (L9136); an address packet that is none.
        ("06 1c 9a 00 40 00 80", 6),
        ("06 5d 9a 00 40 00 80", 6),
        ("06 1d 04", 6),
        ("01 10", 6),
        # An A-Sync that is none: no packet begins with fewer zeros.
        ("00 00 01", 6),
    ],
)
def test_reserved_packets(text: str, version: int) -> None:
    config = UNIT._replace(version=version)
    data = bytes.fromhex(START + text + "f7 f7" + START + "f7")
    found = [packet.name for packet in list_packets(config, data, same)]
    assert found[:3] == ["A-Sync", "Trace Info", "reserved"]
    # Nothing is read until the next A-Sync.
    assert found[-4:] == ["not synchronised", "A-Sync", "Trace Info", "Atom"]
    assert set(found[3:-3]) == {"not synchronised"}


def raw_of(text: str, until: Optional[int] = None) -> List[bytes]:
    return [packet.raw for packet in list_packets(UNIT, bytes.fromhex(text)[:until], same)]


def test_bytes_before_synchronisation() -> None:
    found = list(list_packets(UNIT, bytes.fromhex("f7 9a 00" + START), same))
    assert [(packet.offset, packet.name) for packet in found[:2]] == [(0, "not synchronised"), (3, "A-Sync")]
    # A-Sync may follow zeros that belong to a packet: the last eleven are its own (L9045).
    assert raw_of("9a 00 00 00" + START)[:2] == [bytes.fromhex("9a 00 00 00"), bytes.fromhex(ASYNC)]
    assert [packet.name for packet in list_packets(UNIT, bytes(40), same)] == ["not synchronised"] * 3
    assert list(list_packets(UNIT, b"", same)) == []
