"""Vectors worked by hand from IHI 0064, tables 6-8 and 6-9.

The tables are damaged in the text in ../shared/spec; the rows here follow the packets' own sections (lines given) and
are checked to claim each byte once.
"""

from __future__ import annotations

from typing import Dict, Iterable, Tuple

import pytest

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.headers import build_table, packet_kind
from gdb_etm.protocols.etmv4.packets import ATOMS, Kind
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE
from tests.protocols.etmv4.streams import A_PROFILE

# First byte, last byte, kind, first version that has it, line of its section.
ROWS: Tuple[Tuple[int, int, Kind, int, int], ...] = (
    (0x01, 0x01, Kind.TRACE_INFO, 0, 9090),
    (0x02, 0x03, Kind.TIMESTAMP, 0, 9365),
    (0x04, 0x04, Kind.TRACE_ON, 0, 9221),
    (0x05, 0x05, Kind.FUNCTION_RETURN, 2, 9467),
    (0x06, 0x06, Kind.EXCEPTION, 0, 9515),
    (0x07, 0x07, Kind.EXCEPTION_RETURN, 0, 9711),
    (0x08, 0x08, Kind.RESYNCHRONIZATION, 5, 9335),
    (0x0C, 0x0D, Kind.CYCLE_COUNT_2, 0, 9866),
    (0x0E, 0x0F, Kind.CYCLE_COUNT_1, 0, 9793),
    (0x10, 0x1F, Kind.CYCLE_COUNT_3, 0, 9912),
    (0x20, 0x27, Kind.NUMBERED_SYNC, 0, 9957),
    (0x28, 0x2C, Kind.UNNUMBERED_SYNC, 0, 9979),
    (0x2D, 0x2D, Kind.COMMIT, 0, 10045),
    (0x2E, 0x2F, Kind.CANCEL_1, 0, 10080),
    (0x30, 0x33, Kind.MISPREDICT, 0, 10202),
    (0x34, 0x37, Kind.CANCEL_2, 0, 10123),
    (0x38, 0x3F, Kind.CANCEL_3, 0, 10164),
    (0x40, 0x42, Kind.CONDITIONAL_2, 0, 10376),
    (0x43, 0x43, Kind.CONDITIONAL_FLUSH, 0, 10459),
    (0x44, 0x46, Kind.RESULT_4, 0, 10715),
    (0x48, 0x4A, Kind.RESULT_2, 0, 10641),
    (0x4C, 0x4E, Kind.RESULT_2, 0, 10641),
    (0x50, 0x5F, Kind.RESULT_3, 0, 10679),
    (0x68, 0x6B, Kind.RESULT_1, 0, 10546),
    (0x6C, 0x6C, Kind.CONDITIONAL_1, 0, 10334),
    (0x6D, 0x6D, Kind.CONDITIONAL_3, 0, 10417),
    (0x6E, 0x6F, Kind.RESULT_1, 0, 10546),
    (0x70, 0x70, Kind.IGNORE, 3, 10744),
    (0x71, 0x7F, Kind.EVENT, 0, 10756),
    (0x80, 0x81, Kind.CONTEXT, 0, 11183),
    (0x82, 0x83, Kind.ADDRESS_CONTEXT, 0, 12039),
    (0x85, 0x86, Kind.ADDRESS_CONTEXT, 0, 12039),
    (0x88, 0x88, Kind.TIMESTAMP_MARKER, 6, 9445),
    (0x90, 0x92, Kind.EXACT_MATCH, 0, 11151),
    (0x95, 0x96, Kind.SHORT_ADDRESS, 0, 10957),
    (0x9A, 0x9B, Kind.LONG_ADDRESS, 0, 11034),
    (0x9D, 0x9E, Kind.LONG_ADDRESS, 0, 11034),
    (0xA0, 0xA2, Kind.Q, 0, 12661),
    (0xA5, 0xA6, Kind.Q, 0, 12661),
    (0xAA, 0xAC, Kind.Q, 0, 12661),
    (0xAF, 0xAF, Kind.Q, 0, 12661),
    (0xC0, 0xD4, Kind.ATOM, 0, 12625),
    (0xD5, 0xD7, Kind.ATOM, 0, 12547),
    (0xD8, 0xDB, Kind.ATOM, 0, 12415),
    (0xDC, 0xDF, Kind.ATOM, 0, 12477),
    (0xE0, 0xF4, Kind.ATOM, 0, 12625),
    (0xF5, 0xF5, Kind.ATOM, 0, 12547),
    (0xF6, 0xF7, Kind.ATOM, 0, 12384),
    (0xF8, 0xFF, Kind.ATOM, 0, 12445),
)
# Reserved in every version (L8868 and on).
RESERVED = (
    *range(0x09, 0x0C),
    0x47,
    0x4B,
    0x4F,
    *range(0x60, 0x68),
    0x84,
    0x87,
    *range(0x89, 0x90),
    0x93,
    0x94,
    *range(0x97, 0x9A),
    0x9C,
    0x9F,
    0xA3,
    0xA4,
    *range(0xA7, 0xAA),
    0xAD,
    0xAE,
    *range(0xB0, 0xC0),
)


def configurations() -> Iterable[Etmv4Config]:
    for version in range(7):
        for mode in (0, 1):
            for context_id_bytes, vmid_bytes in ((0, 0), (4, 0), (4, 1), (4, 2), (4, 4), (0, 1)):
                yield A_PROFILE._replace(
                    version=version, commit_mode=mode, context_id_bytes=context_id_bytes, vmid_bytes=vmid_bytes
                )


def expected_kinds(version: int) -> Dict[int, Kind]:
    kinds = {0x00: Kind.ASYNC}
    for first, last, kind, since, _ in ROWS:
        for header in range(first, last + 1):
            assert header not in kinds
            kinds[header] = kind if version >= since else Kind.RESERVED
    for header in RESERVED:
        assert header not in kinds
        kinds[header] = Kind.RESERVED
    return kinds


def test_every_first_byte() -> None:
    for config in configurations():
        kinds = expected_kinds(config.version)
        assert sorted(kinds) == list(range(256))
        table = build_table(config)
        assert {header: table[header].kind for header in range(256)} == kinds, config


@pytest.mark.parametrize("version", range(7))
def test_every_second_byte_of_the_extension_packet(version: int) -> None:
    # L9017, L9026: 00 goes on as an A-Sync, 03, 05, and from 4.5 on 07; all else is reserved.
    known = {0x03: Kind.DISCARD, 0x05: Kind.OVERFLOW}
    if version >= 5:
        known[0x07] = Kind.BRANCH_FUTURE_FLUSH
    config = A_PROFILE._replace(version=version)
    header = build_table(config)[0x00]
    for second in range(1, 256):
        data = bytes((0x00, second)) + bytes(10)
        assert header.length(data, 0, len(data)) == 2
        assert packet_kind(header, data, 0, config) is known.get(second, Kind.RESERVED)


def test_a_sync_is_eleven_zeros_and_80() -> None:
    # L9045.
    config = A_PROFILE
    header = build_table(config)[0x00]
    whole = bytes(11) + b"\x80"
    assert header.length(whole, 0, 12) == 12
    assert packet_kind(header, whole, 0, config) is Kind.ASYNC
    for length in range(1, 12):
        assert header.length(whole, 0, length) == NEED_MORE
    for wrong in (bytes(12), bytes(10) + b"\x80\x80", bytes(5) + b"\x80" + bytes(6), bytes(11) + b"\x81"):
        assert header.length(wrong, 0, 12) == MALFORMED


def lengths(config: Etmv4Config, header: int, rest: str) -> int:
    data = bytes((header,)) + bytes.fromhex(rest)
    return build_table(config)[header].length(data, 0, len(data))


@pytest.mark.parametrize("context_id_bytes, vmid_bytes", [(0, 0), (4, 0), (4, 1), (4, 2), (4, 4), (0, 2)])
def test_sizes_of_a_context(context_id_bytes: int, vmid_bytes: int) -> None:
    # L12185: bit 7 of the information byte tells a Context ID, bit 6 a VMID; the registers tell their sizes.
    config = A_PROFILE._replace(context_id_bytes=context_id_bytes, vmid_bytes=vmid_bytes)
    for info, more in ((0x21, 0), (0xA1, context_id_bytes), (0x61, vmid_bytes), (0xE1, context_id_bytes + vmid_bytes)):
        payload = "%02x" % info + "00" * 20
        assert lengths(config, 0x80, payload) == 1
        assert lengths(config, 0x81, payload) == 2 + more
        assert lengths(config, 0x82, "00" * 4 + payload) == 6 + more
        assert lengths(config, 0x86, "00" * 8 + payload) == 10 + more
        # Within an Exception packet too (L9582).
        assert lengths(config, 0x06, "1d 82" + "00" * 4 + payload) == 8 + more


@pytest.mark.parametrize("mode", [0, 1])
def test_sizes_of_cycle_counts(mode: int) -> None:
    # L9793: COMMIT is there with COMMOPT 0, COUNT with U = 0; COUNT has at most three bytes.
    config = A_PROFILE._replace(commit_mode=mode)
    commit = "" if mode else "81 02"
    size = len(bytes.fromhex(commit))
    assert lengths(config, 0x0F, commit) == 1 + size
    assert lengths(config, 0x0E, commit + "05") == 2 + size
    assert lengths(config, 0x0E, commit + "85 ff ff ff") == 4 + size
    assert lengths(config, 0x0C, "ff") == lengths(config, 0x0D, "80") == 2
    assert lengths(config, 0x10, "") == 1


def test_sizes_of_timestamps() -> None:
    # L9371: nine bytes of timestamp at most, the ninth without a continuation bit; three of count.
    assert lengths(A_PROFILE, 0x02, "ff" * 20) == 10
    assert lengths(A_PROFILE, 0x03, "ff" * 20) == 13
    assert lengths(A_PROFILE, 0x03, "01 01") == 3
    assert lengths(A_PROFILE, 0x02, "81 80 01") == 4


# A continuation-coded field of endless bytes is no field: the largest has 64 bits.
@pytest.mark.parametrize("header", [0x01, 0x2D, 0x2E, 0x6C, 0x6E, 0xA0])
def test_endless_fields_are_malformed(header: int) -> None:
    assert lengths(A_PROFILE, header, "ff" * 64) == MALFORMED


def test_an_exception_holds_an_address_packet() -> None:
    # L9582: Short, Long, Exact Match, or Address with Context, with its header; nothing else.
    table = build_table(A_PROFILE)
    addresses = {header for header in range(256) if "ADDRESS" in table[header].kind.name}
    addresses |= {0x90, 0x91, 0x92}
    for header in range(256):
        found = lengths(A_PROFILE, 0x06, "1d %02x" % header + "00" * 20)
        assert (found > 0) == (header in addresses), "%02x" % header


def test_atoms_are_told_apart() -> None:
    # L12363 and on: 1 to 24 atoms, and no two headers tell the same.
    found = [atoms for atoms in ATOMS if atoms]
    assert sorted({len(atoms) for atoms in found}) == list(range(1, 25))
    assert len(set(found)) == len(found) == 0x100 - 0xC0
