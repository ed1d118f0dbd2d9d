"""Vectors worked by hand: packet lengths by first byte and layout.

The lines are those of the packets' sections in the text of IHI 0064 H.a in ../shared/spec; tables 6-8 and 6-10 (L8856,
L9017) are damaged there and are not used.  Every first byte is read with two payloads: in one each field ends with its
first byte, in the other each field that may go on has two bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Dict, Iterator, List, NamedTuple, Tuple

import pytest

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.headers import build_table, packet_kind
from gdb_etm.protocols.etmv4.packets import Kind
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE
from tests.protocols.etmv4.streams import A_PROFILE

# Every continuation bit is clear; as the information byte of a context, neither VMID nor Context ID follows.
SHORT = bytes.fromhex("01" * 24)
# Every continued field has two bytes; as the information byte of a context, VMID and Context ID follow.
LONG = bytes.fromhex("c101" * 12)


class Row(NamedTuple):
    """The sizes of the packets that a stretch of first bytes opens."""

    first: int
    last: int
    # Size before ``SHORT``, with the first byte; 0 where the payload decides otherwise (tests of their own).
    short: int
    # Size before ``LONG``, VMID and Context ID apart.
    long: int
    # The first version that has them; before it they are reserved.
    since: int
    line: int


ROWS: Tuple[Row, ...] = (
    Row(0x00, 0x00, 0, 0, 0, 9017),  # the second byte decides
    Row(0x01, 0x01, 3, 0, 0, 9090),  # PLCTL 1, INFO; and a PLCTL of more than four bits is reserved (L9150)
    Row(0x02, 0x02, 2, 3, 0, 9371),
    Row(0x03, 0x03, 3, 5, 0, 9373),
    Row(0x04, 0x04, 1, 1, 0, 9231),
    Row(0x05, 0x05, 1, 1, 2, 9479),
    Row(0x06, 0x06, 0, 0, 0, 9543),  # an address packet follows
    Row(0x07, 0x07, 1, 1, 0, 9723),
    Row(0x08, 0x08, 1, 1, 5, 9339),
    Row(0x0C, 0x0D, 2, 2, 0, 9872),
    Row(0x0E, 0x0E, 0, 0, 0, 9799),  # COMMOPT decides
    Row(0x0F, 0x0F, 0, 0, 0, 9826),
    Row(0x10, 0x1F, 1, 1, 0, 9918),
    Row(0x20, 0x27, 1, 1, 0, 9961),
    Row(0x28, 0x2C, 1, 1, 0, 9985),
    Row(0x2D, 0x2D, 2, 3, 0, 10051),
    Row(0x2E, 0x2F, 2, 3, 0, 10086),
    Row(0x30, 0x33, 1, 1, 0, 10204),
    Row(0x34, 0x37, 1, 1, 0, 10125),
    Row(0x38, 0x3F, 1, 1, 0, 10166),
    Row(0x40, 0x42, 1, 1, 0, 10378),
    Row(0x43, 0x43, 1, 1, 0, 10461),
    Row(0x44, 0x46, 1, 1, 0, 10719),
    Row(0x48, 0x4A, 1, 1, 0, 10643),
    Row(0x4C, 0x4E, 1, 1, 0, 10643),
    Row(0x50, 0x5F, 2, 2, 0, 10681),
    Row(0x68, 0x6B, 3, 5, 0, 10573),
    Row(0x6C, 0x6C, 2, 3, 0, 10336),
    Row(0x6D, 0x6D, 2, 2, 0, 10423),  # bit 7 of its payload should be zero, it is no continuation bit
    Row(0x6E, 0x6F, 2, 3, 0, 10562),
    Row(0x70, 0x70, 1, 1, 3, 10746),
    Row(0x71, 0x7F, 1, 1, 0, 10758),
    Row(0x80, 0x80, 1, 1, 0, 11195),
    Row(0x81, 0x81, 2, 2, 0, 11195),
    Row(0x82, 0x83, 6, 6, 0, 12055),
    Row(0x85, 0x86, 10, 10, 0, 12112),
    Row(0x88, 0x88, 1, 1, 6, 9449),
    Row(0x90, 0x92, 1, 1, 0, 11155),
    Row(0x95, 0x96, 2, 3, 0, 10959),
    Row(0x9A, 0x9B, 5, 5, 0, 11036),  # bit 7 of the first two bytes should be zero, it is no continuation bit
    Row(0x9D, 0x9E, 9, 9, 0, 11036),
    Row(0xA0, 0xA2, 2, 3, 0, 12696),
    Row(0xA5, 0xA6, 3, 5, 0, 12701),
    Row(0xAA, 0xAB, 6, 7, 0, 12706),
    Row(0xAC, 0xAC, 2, 3, 0, 12708),
    Row(0xAF, 0xAF, 1, 1, 0, 12714),
    Row(0xC0, 0xD4, 1, 1, 0, 12363),
    Row(0xD5, 0xDF, 1, 1, 0, 12356),
    Row(0xE0, 0xF4, 1, 1, 0, 12363),
    Row(0xF5, 0xFF, 1, 1, 0, 12356),
)

table_of = lru_cache(maxsize=None)(build_table)


def configurations() -> Iterator[Etmv4Config]:
    for version in range(7):
        for mode in (0, 1):
            for context_id_bytes, vmid_bytes in ((0, 0), (4, 0), (0, 1), (4, 1), (4, 2), (4, 4)):
                yield A_PROFILE._replace(
                    version=version,
                    commit_mode=mode,
                    context_id_bytes=context_id_bytes,
                    vmid_bytes=vmid_bytes,
                    futures=bool(vmid_bytes),
                    marked_timestamps=bool(context_id_bytes),
                    max_speculation=8 * mode,
                )


def sizes(config: Etmv4Config, long: bool) -> Dict[int, int]:
    """Return the expected size for each first byte.

    Reserved ones are one byte; those decided otherwise are left out.
    """
    found = {header: 1 for header in range(256)}
    for row in ROWS:
        size = row.long if long else row.short
        if long and row.first in (0x81, 0x82, 0x85):
            size += config.context_id_bytes + config.vmid_bytes  # L12185
        for header in range(row.first, row.last + 1):
            if config.version < row.since:
                found[header] = 1
            elif size:
                found[header] = size
            else:
                del found[header]
    # COMMIT is only there with COMMOPT 0, COUNT only with U 0 (L9822, L9826).
    field = 2 if long else 1
    found[0x0E] = 1 + field * (1 if config.commit_mode else 2)
    found[0x0F] = 1 + field * (0 if config.commit_mode else 1)
    return found


def size_of(config: Etmv4Config, header: int, payload: bytes) -> int:
    data = b"\x55" + bytes((header,)) + payload
    return table_of(config)[header].length(data, 1, len(data))


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_sizes_of_all_first_bytes(long: bool) -> None:
    payload = LONG if long else SHORT
    for config in configurations():
        expected = sizes(config, long)
        found = {header: size_of(config, header, payload) for header in expected}
        assert found == expected, config


def test_rows_claim_each_byte_once() -> None:
    claimed: List[int] = [header for row in ROWS for header in range(row.first, row.last + 1)]
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize("version", range(7))
def test_extension_packets(version: int) -> None:
    # L9017; 07 came with version 4.5 (L22386).
    known = {0x03: Kind.DISCARD, 0x05: Kind.OVERFLOW}
    if version >= 5:
        known[0x07] = Kind.BRANCH_FUTURE_FLUSH
    for futures in (False, True):
        config = A_PROFILE._replace(version=version, futures=futures)
        header = table_of(config)[0]
        for second in range(1, 256):
            data = bytes((0, second)) + SHORT
            assert header.length(data, 0, len(data)) == 2
            assert packet_kind(header, data, 0, config) is known.get(second, Kind.RESERVED), second


@pytest.mark.parametrize("sections", range(16))
def test_trace_info_sections(sections: int) -> None:
    # L9104: INFO, KEY, SPEC and CYCT, each only with its bit of PLCTL, each continued by bit 7.
    count = bin(sections).count("1")
    assert size_of(A_PROFILE, 0x01, bytes((sections,)) + SHORT) == 2 + count
    assert size_of(A_PROFILE, 0x01, bytes((sections,)) + LONG) == 2 + 2 * count
    # PLCTL itself may go on with bits that are zero (L9152).
    assert size_of(A_PROFILE, 0x01, bytes((0x80 | sections, 0)) + SHORT) == 3 + count


@pytest.mark.parametrize("bit", range(4, 8))
def test_reserved_trace_info_sections(bit: int) -> None:
    # L9150.
    payload = bytes((1 << bit,)) if bit < 7 else b"\x80\x01"
    assert size_of(A_PROFILE, 0x01, payload + SHORT) == MALFORMED


# The address packets that an Exception packet may hold (L9580), with their sizes before a payload of short fields.
HELD = {0x90: 1, 0x91: 1, 0x92: 1, 0x95: 2, 0x96: 2, 0x9A: 5, 0x9B: 5, 0x9D: 9, 0x9E: 9}
HELD.update({0x82: 6, 0x83: 6, 0x85: 10, 0x86: 10})


@pytest.mark.parametrize("info", ["1d", "5c", "9d 00", "dc 20", "9d ff"])
def test_exceptions(info: str) -> None:
    # L9543: one or two information bytes (bit 7 of the first; bit 7 of the second is no continuation bit), an address.
    begin = bytes.fromhex(info)
    for header in range(256):
        found = size_of(A_PROFILE, 0x06, begin + bytes((header,)) + SHORT)
        assert found == (1 + len(begin) + HELD[header] if header in HELD else MALFORMED), hex(header)


def test_exceptions_with_a_context() -> None:
    # L9529: the same sizes as outside of it.
    for config in configurations():
        more = config.context_id_bytes + config.vmid_bytes
        for header, size in ((0x82, 6), (0x83, 6), (0x85, 10), (0x86, 10)):
            assert size_of(config, 0x06, b"\x5c" + bytes((header,)) + LONG) == 2 + size + more


@pytest.mark.parametrize("info", ["00", "1c", "41", "5d", "9c 00", "dd 00"])
def test_reserved_exceptions(info: str) -> None:
    # L9563: E1:E0 of 0b00 is reserved, and 0b11 is not listed.
    assert size_of(A_PROFILE, 0x06, bytes.fromhex(info) + b"\x90") == MALFORMED


def test_nine_bytes_of_timestamp() -> None:
    # L13199: the ninth byte has eight bits of the value and nothing goes on after it.
    assert size_of(A_PROFILE, 0x02, b"\xff" * 30) == 10
    # The count has three bytes at most, and its third ends it whatever bit 7 is (L9398).
    assert size_of(A_PROFILE, 0x03, b"\xff" * 30) == 13
    assert size_of(A_PROFILE, 0x03, b"\x01" + b"\xff" * 30) == 5
    assert size_of(A_PROFILE, 0x03, b"\xff" * 8 + b"\x00\x05") == 11


@pytest.mark.parametrize("commit_mode", [0, 1])
def test_three_bytes_of_cycle_count(commit_mode: int) -> None:
    # L9809.
    config = A_PROFILE._replace(commit_mode=commit_mode)
    commit = b"" if commit_mode else b"\x81\x81\x01"
    assert size_of(config, 0x0E, commit + b"\xff" * 30) == 1 + len(commit) + 3
    assert size_of(config, 0x0F, commit + b"\xff" * 30) == 1 + len(commit)


def test_keys_that_go_on() -> None:
    # L10563: KEY[2:0] in the first byte, then seven bits a byte; each of the two sets by itself (L10573).
    assert size_of(A_PROFILE, 0x6E, bytes.fromhex("f1 ff 01 05")) == 4
    assert size_of(A_PROFILE, 0x68, bytes.fromhex("f1 ff 01 05 05")) == 5
    assert size_of(A_PROFILE, 0x6B, bytes.fromhex("05 f1 ff 01 05")) == 5


def test_whole_packets_only() -> None:
    # A packet that the data cut anywhere is not whole.
    for config in (A_PROFILE, A_PROFILE._replace(version=6, commit_mode=0)):
        for payload in (SHORT, LONG):
            for header, size in sizes(config, payload is LONG).items():
                data = bytes((header,)) + payload
                for cut in range(1, size):
                    assert table_of(config)[header].length(data, 0, cut) == NEED_MORE, (hex(header), cut)
