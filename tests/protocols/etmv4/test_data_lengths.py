"""Vectors worked by hand: first bytes of the data stream.

The lines are those of the packets' sections in the text of IHI 0064 H.a in ../shared/spec; tables 6-2, 6-9 and 6-22
(L8692, L8946, L12850) are damaged there and are not used.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple

import pytest

from gdb_etm.protocols.etmv4.data.headers import build_data_table
from gdb_etm.protocols.etmv4.data.listing import list_data_packets
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC
from tests.protocols.histories import same

# Each field that may go on ends with its first byte, or has two.
SHORT = bytes.fromhex("01" * 24)
LONG = bytes.fromhex("c101" * 12)


class Row(NamedTuple):
    """The packets that a stretch of first bytes opens."""

    first: int
    last: int
    name: str
    # Size before ``SHORT``; 0 where the second byte decides.
    short: int
    # Size before ``LONG``.
    long: int
    line: int


ROWS: Tuple[Row, ...] = (
    Row(0x00, 0x00, "A-Sync", 0, 0, 12850),
    Row(0x01, 0x01, "Unnumbered Data Sync Mark", 1, 1, 13138),
    Row(0x02, 0x02, "Timestamp", 2, 3, 13171),
    Row(0x03, 0x03, "Suppression", 1, 1, 13054),  # the figure prints 0x01 (L13072), which is taken
    Row(0x04, 0x04, "Event", 1, 1, 14357),
    Row(0x05, 0x05, "Ignore", 1, 1, 14338),
    Row(0x06, 0x0F, "reserved", 1, 1, 8970),
    Row(0x10, 0x13, "P2 format 4", 1, 1, 14160),
    Row(0x14, 0x17, "P1 format 3", 2, 2, 13614),
    Row(0x18, 0x1B, "P2 format 5", 5, 5, 14218),
    Row(0x1C, 0x1F, "P2 format 5", 9, 9, 14218),
    # SIZE is 0, 1, 2, 3, 4, 6 or 8 bytes (L13971); with K a key before them.
    Row(0x20, 0x20, "P2 format 1", 1, 1, 13971),
    Row(0x21, 0x21, "P2 format 1", 2, 2, 13972),
    Row(0x22, 0x22, "P2 format 1", 3, 3, 13973),
    Row(0x23, 0x23, "P2 format 1", 4, 4, 13974),
    Row(0x24, 0x24, "P2 format 1", 5, 5, 13975),
    Row(0x25, 0x25, "P2 format 1", 7, 7, 13976),
    Row(0x26, 0x26, "P2 format 1", 9, 9, 13977),
    Row(0x27, 0x27, "reserved", 1, 1, 13979),
    Row(0x28, 0x28, "P2 format 1", 2, 3, 13985),
    Row(0x29, 0x29, "P2 format 1", 3, 4, 13985),
    Row(0x2A, 0x2A, "P2 format 1", 4, 5, 13985),
    Row(0x2B, 0x2B, "P2 format 1", 5, 6, 13985),
    Row(0x2C, 0x2C, "P2 format 1", 6, 7, 13985),
    Row(0x2D, 0x2D, "P2 format 1", 8, 9, 13985),
    Row(0x2E, 0x2E, "P2 format 1", 10, 11, 13985),
    Row(0x2F, 0x2F, "reserved", 1, 1, 13979),
    # CODE (L14048): 0, 1, 2, 0, 1, 2, 1 and 2 bytes.
    Row(0x30, 0x30, "P2 format 2", 1, 1, 14050),
    Row(0x31, 0x31, "P2 format 2", 2, 2, 14051),
    Row(0x32, 0x32, "P2 format 2", 3, 3, 14052),
    Row(0x33, 0x33, "P2 format 2", 1, 1, 14053),
    Row(0x34, 0x34, "P2 format 2", 2, 2, 14054),
    Row(0x35, 0x35, "P2 format 2", 3, 3, 14055),
    Row(0x36, 0x36, "P2 format 2", 2, 2, 14056),
    Row(0x37, 0x37, "P2 format 2", 3, 3, 14057),
    Row(0x38, 0x3E, "P2 format 6", 9, 9, 14261),
    Row(0x3F, 0x3F, "reserved", 1, 1, 14290),
    Row(0x40, 0x4F, "P2 format 3", 5, 5, 14125),
    Row(0x50, 0x5F, "P2 format 3", 9, 9, 14127),
    Row(0x60, 0x6F, "P1 format 4", 1, 1, 13686),
    # CODE (L13429): the address; LHKEY from 10 to 12; LHKEY, RHKEY; INDEX; all three.
    Row(0x70, 0x79, "P1 format 1", 2, 3, 13431),
    Row(0x7A, 0x7C, "P1 format 1", 3, 5, 13441),
    Row(0x7D, 0x7D, "P1 format 1", 4, 7, 13444),
    Row(0x7E, 0x7E, "P1 format 1", 3, 5, 13445),
    Row(0x7F, 0x7F, "P1 format 1", 5, 9, 13446),
    Row(0x80, 0xBF, "P1 format 2", 1, 1, 13543),
    Row(0xC0, 0xF4, "reserved", 1, 1, 8986),
    Row(0xF5, 0xF5, "P1 format 7", 2, 2, 13881),
    Row(0xF6, 0xF7, "P1 format 6", 2, 3, 13816),
    Row(0xF8, 0xFF, "P1 format 5", 1, 1, 13758),
)


@pytest.mark.parametrize("version", range(7))
def test_every_first_byte(version: int) -> None:
    # No layout depends on a register; Ignore came with version 4.3 (L14338).
    unit = A_PROFILE._replace(version=version)
    for config in (unit, unit._replace(commit_mode=0, vmid_bytes=1), unit._replace(p0_keys=4, data_addresses=True)):
        table = build_data_table(config)
        expected: Dict[int, Tuple[str, int, int]] = {}
        for row in ROWS:
            for header in range(row.first, row.last + 1):
                assert header not in expected
                expected[header] = row.name, row.short, row.long
        if version < 3:
            expected[0x05] = "reserved", 1, 1
        assert sorted(expected) == list(range(256))
        for header, (name, short, long) in expected.items():
            assert table[header].kind.value == name, hex(header)
            for payload, size in ((SHORT, short), (LONG, long)):
                data = b"\x55" + bytes((header,)) + payload
                if size:
                    assert table[header].length(data, 1, len(data)) == size, hex(header)
                    for cut in range(1, size):
                        assert table[header].length(data, 1, 1 + cut) == NEED_MORE, (hex(header), cut)


def length(text: str) -> int:
    data = bytes.fromhex(text)
    return build_data_table(A_PROFILE)[data[0]].length(data, 0, len(data))


def test_addresses_of_five_and_nine_bytes() -> None:
    # L13361: bit 7 of the fifth byte is B, and with it bits 63:32 are the last four bytes of the packet (L13373).
    assert length("72 81 81 81 81 01 05 05 05 05 05") == 6
    assert length("72 81 81 81 81 81 05 05 05 05 05") == 10
    assert length("72 81 81 81 01 05 05 05 05 05") == 5
    # With keys and index between (L13346).
    assert length("7a 81 81 81 81 81 05 01 02 03 04 05") == 11
    assert length("7a 81 81 81 81 81 85 05 01 02 03 04 05") == 12
    assert length("7d 81 81 81 81 81 05 05 01 02 03 04 05") == 12
    assert length("7e 81 81 81 81 81 45 01 02 03 04 05") == 11
    assert length("7f 81 81 81 81 81 05 05 45 01 02 03 04 05") == 13
    assert length("7f 81 81 81 81 81 05 05 45 01 02 03") == NEED_MORE


def test_nine_bytes_of_timestamp() -> None:
    # L13199.
    assert length("02" + "ff" * 20) == 10


def test_extension_packets() -> None:
    # L12850, with 03 for Discard (L13004): Trace Info, Discard, Overflow, Numbered Data Sync Marks; all else reserved.
    names = {0x01: "Trace Info", 0x03: "Discard", 0x05: "Overflow"}
    names.update({second: "Numbered Data Sync Mark" for second in range(0x11, 0x20, 2)})
    for second in range(1, 256):
        data = bytes.fromhex(ASYNC) + bytes((0, second, 0))
        packet = list(list_data_packets(A_PROFILE, data, same))[1]
        assert packet.name == names.get(second, "reserved"), hex(second)
        assert len(packet.raw) == (3 if second == 0x01 else 2)


@pytest.mark.parametrize("payload, size", [("00", 3), ("80 00", 4), ("01", MALFORMED), ("80 01", MALFORMED)])
def test_trace_info(payload: str, size: int) -> None:
    # L12961: every bit of PLCTL is reserved, and sections that nobody knows have no known length.
    assert length("00 01 " + payload + " 00 00") == size
