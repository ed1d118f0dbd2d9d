"""The data stream's header table, its packets' lengths, and their listing.

Evidence: vectors worked by hand from the specification (L8690 to L8717, L8950 to L8995, and each packet's figure in
6.5), and for splits and arbitrary bytes property tests.
"""

from __future__ import annotations

from typing import Dict, List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.data.decoder import DataDecoding, decode_data
from gdb_etm.protocols.etmv4.data.headers import build_data_table, data_packet_kind
from gdb_etm.protocols.etmv4.data.listing import list_data_packets
from gdb_etm.protocols.etmv4.packets import Kind
from tests.protocols.etmv4.data_streams import START, UNIT, same

HEADERS: Dict[Kind, List[int]] = {
    Kind.UNNUMBERED_SYNC: [0x01],
    Kind.TIMESTAMP: [0x02],
    Kind.SUPPRESSION: [0x03],
    Kind.EVENT: [0x04],
    Kind.IGNORE: [0x05],
    Kind.RESERVED: [*range(0x06, 0x10), 0x27, 0x2F, 0x3F, *range(0xC0, 0xF5)],
    Kind.P2_4: [0x10, 0x11, 0x12, 0x13],
    Kind.P1_3: [0x14, 0x15, 0x16, 0x17],
    Kind.P2_5: list(range(0x18, 0x20)),
    Kind.P2_1: [*range(0x20, 0x27), *range(0x28, 0x2F)],
    Kind.P2_2: list(range(0x30, 0x38)),
    Kind.P2_6: list(range(0x38, 0x3F)),
    Kind.P2_3: list(range(0x40, 0x60)),
    Kind.P1_4: list(range(0x60, 0x70)),
    Kind.P1_1: list(range(0x70, 0x80)),
    Kind.P1_2: list(range(0x80, 0xC0)),
    Kind.P1_7: [0xF5],
    Kind.P1_6: [0xF6, 0xF7],
    Kind.P1_5: list(range(0xF8, 0x100)),
}
TABLE = build_data_table(UNIT)


def test_every_first_byte() -> None:
    expected = {header: kind for kind, headers in HEADERS.items() for header in headers}
    assert sorted(expected) == list(range(1, 256)) and sum(map(len, HEADERS.values())) == 255
    assert {header: TABLE[header].kind for header in range(1, 256)} == expected


def test_every_second_byte_of_an_extension_packet() -> None:
    # L12852.
    known = {0x01: Kind.TRACE_INFO, 0x03: Kind.DISCARD, 0x05: Kind.OVERFLOW}
    known.update({second: Kind.NUMBERED_SYNC for second in range(0x11, 0x20, 2)})
    for second in range(1, 256):
        data = bytes((0, second, 0))
        size = TABLE[0].length(data, 0, 3)
        kind = data_packet_kind(TABLE[0], data, 0)
        assert kind is known.get(second, Kind.RESERVED), second
        assert size == (3 if second == 1 else 2), second
    whole = bytes(11) + b"\x80"
    assert TABLE[0].length(whole, 0, 12) == 12 and data_packet_kind(TABLE[0], whole, 0) is Kind.ASYNC


@pytest.mark.parametrize(
    "packet, length",
    [
        ("02 80 80 00", 4),
        ("02 80 80 80 80 80 80 80 80 80", 10),
        ("70 00", 2),
        ("72 80 80 80 80 7F", 6),
        ("72 80 80 80 80 80 01 02 03 04", 10),
        # Bit 7 of a shorter address continues it; only in the fifth byte does it announce four more at the end.
        ("72 80 80 80 7F", 5),
        ("7A 80 80 80 80 80 85 01 01 02 03 04", 12),
        ("7D 00 07 04", 4),
        ("7E 00 1F", 3),
        ("7F 80 80 80 80 80 07 04 42 01 02 03 04", 13),
        ("F6 85 01", 3),
        ("20", 1),
        ("28 85 01", 3),
        ("2E 05 01 02 03 04 05 06 07 08", 10),
        ("37 01 02", 3),
        ("5F 01 02 03 04 05 06 07 08", 9),
        ("18 01 02 03 04", 5),
        ("1C 01 02 03 04 05 06 07 08", 9),
        ("3E 01 02 03 04 05 06 07 08", 9),
        ("F5 A5", 2),
        ("14 41", 2),
    ],
)
def test_lengths(packet: str, length: int) -> None:
    data = bytes.fromhex(packet)
    assert len(data) == length
    measure = TABLE[data[0]].length
    assert measure(data + b"\xff" * 4, 0, length + 4) == length
    for cut in range(1, length):
        assert measure(data, 0, cut) == 0, cut


def test_endless_fields_are_malformed() -> None:
    for packet in ("f6" + "ff" * 10, "28" + "ff" * 10, "7a00" + "ff" * 10, "0001" + "ff" * 10):
        data = bytes.fromhex(packet)
        assert TABLE[data[0]].length(data, 0, len(data)) == -1


def test_listing() -> None:
    text = "00 1B 01 02 2A 7E 90 20 43 F8 F7 09 F5 A5 22 34 12 3A 01 00 00 00 02 00 00 00 05 00 05 03 06 ff"
    listed = list(list_data_packets(UNIT, bytes.fromhex("77 " + START + text), same))
    assert [(packet.offset, packet.name, packet.fields) for packet in listed] == [
        (0, "not synchronised", ""),
        (1, "A-Sync", ""),
        (13, "Trace Info", ""),
        (16, "Numbered Data Sync Mark", "5"),
        (18, "Unnumbered Data Sync Mark", ""),
        (19, "Timestamp", "0x2a"),
        (21, "P1 format 1", "0x00001010 big-endian, P0 key 1, P1 key 1, index 3"),
        (25, "P1 format 5", "no address, P0 key 1, P1 key 2, index 4"),
        (26, "P1 format 6", "no address, P0 key 2, P1 key 9"),
        (28, "P1 format 7", "0xa500000000001010 big-endian, P0 key 1, P1 key 1, index 3"),
        (30, "P2 format 1", "value 0x1234, P1 key 1"),
        (
            33,
            "P2 format 6",
            "no address, P0 key 2, P1 key 10, index 1; no address, P0 key 2, P1 key 11, index 2; "
            "value 0x1, P1 key 2; value 0x2, P1 key 3",
        ),
        (42, "Ignore", ""),
        (43, "Overflow", ""),
        (45, "Suppression", ""),
        (46, "reserved", ""),
        (47, "not synchronised", ""),
    ]


STREAMS = st.builds(
    lambda front, middle, back: front + bytes.fromhex(START) + middle + bytes.fromhex(START) + back,
    st.binary(max_size=20),
    st.binary(max_size=60),
    st.binary(max_size=40),
)


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=100), STREAMS))
def test_any_bytes_are_packets_or_gaps(data: bytes) -> None:
    packets = list(list_data_packets(UNIT, data, same))
    assert b"".join(packet.raw for packet in packets) == data
    decode_data(UNIT, data, same)


@settings(max_examples=300)
@given(STREAMS, st.lists(st.integers(0, 150), max_size=8))
def test_any_split_gives_the_same(data: bytes, cuts: List[int]) -> None:
    whole = decode_data(UNIT, data, same)
    pieces = DataDecoding(UNIT, same)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in zip(edges, edges[1:]):
        pieces.feed(data[start:end])
    assert pieces.finish() == whole
    bytewise = DataDecoding(UNIT, same)
    for index in range(len(data)):
        bytewise.feed(data[index : index + 1])
    assert bytewise.finish() == whole


def test_what_is_not_read_is_a_gap() -> None:
    for text, offsets in (("", []), ("20", [0]), (START + " 72", [15]), (START + " 06 20" + START, [15, 29])):
        found = decode_data(UNIT, bytes.fromhex(text), same)
        assert [gap.offset for gap in found if isinstance(gap, Gap)] == offsets, text
