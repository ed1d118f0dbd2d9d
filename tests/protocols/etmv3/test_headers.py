"""Vectors worked by hand from IHI 0014Q, table 7.1: first bytes."""

from __future__ import annotations

from typing import Dict, Set

import pytest

from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.headers import build_table
from gdb_etm.protocols.etmv3.packets import Kind
from tests.protocols.etmv3.streams import A_PROFILE, CYCLES, DATA

# Table 7.1 with its letters: 0 and 1 are fixed, every other letter is a field.
TABLE: Dict[str, Kind] = {
    "Cxxxxxx1": Kind.BRANCH,
    "00000000": Kind.ASYNC,
    "00000100": Kind.CYCLE_COUNT,
    "00001000": Kind.ISYNC,
    "00001100": Kind.TRIGGER,
    "01010000": Kind.STORE_FAILED,
    "01110000": Kind.ISYNC_CYCLES,
    "00111100": Kind.VMID,
    "00A0SS10": Kind.NORMAL_DATA,
    "01000x10": Kind.TIMESTAMP,
    "01100010": Kind.DATA_SUPPRESSED,
    "01100110": Kind.IGNORE,
    "011A1010": Kind.NOT_TRACED,
    "01101110": Kind.CONTEXT_ID,
    "01110110": Kind.EXCEPTION_EXIT,
    "01111110": Kind.EXCEPTION_ENTRY,
}
# The same with a tag that is not zero.
TAGGED = {"0TT0SS00": Kind.OUT_OF_ORDER_DATA, "01A1TT00": Kind.PLACEHOLDER}
# Table 7.2 and the formats of cycle-accurate P-headers.
P_HEADERS = ("1NEEEE00", "1000FF10")
CYCLE_P_HEADERS = ("10000000", "1N0EEE00", "1000FF10", "1E1WWW00", "10010F10")
RESERVED = ("00x1xx10", "0001xx00", "00110x00", "0011x000", "0101xx10", "010x1x10", "01110010")

ALL = DATA._replace(version=5, context_id_bytes=4)
DATA_KINDS = {Kind.NORMAL_DATA, Kind.OUT_OF_ORDER_DATA, Kind.PLACEHOLDER, Kind.NOT_TRACED, Kind.DATA_SUPPRESSED}


def matching(pattern: str) -> Set[int]:
    """List the bytes that a pattern stands for."""
    bits = [(7 - at, int(letter)) for at, letter in enumerate(pattern) if letter in "01"]
    return {byte for byte in range(256) if all(byte >> bit & 1 == value for bit, value in bits)}


def tagged(pattern: str) -> Set[int]:
    """List the bytes of a pattern with a tag; 0 is none."""
    first = 7 - pattern.index("T")
    return {byte for byte in matching(pattern) if byte >> first - 1 & 3}


def expected(p_headers: Set[int]) -> Dict[int, Kind]:
    """List what each byte opens when a unit traces everything."""
    found: Dict[int, Kind] = {}
    rows = [(matching(pattern), kind) for pattern, kind in TABLE.items()]
    rows += [(tagged(pattern), kind) for pattern, kind in TAGGED.items()] + [(p_headers, Kind.P_HEADER)]
    for bytes_, kind in rows:
        assert not bytes_ & set(found), "claimed twice"
        found.update(dict.fromkeys(bytes_, kind))
    for pattern in RESERVED:
        assert not matching(pattern) & set(found)
    return found


@pytest.mark.parametrize("config, patterns", [(ALL, P_HEADERS), (ALL._replace(cycle_accurate=True), CYCLE_P_HEADERS)])
def test_every_first_byte(config: Etmv3Config, patterns: "tuple[str, ...]") -> None:
    p_headers = {byte for pattern in patterns for byte in matching(pattern)}
    kinds = expected(p_headers)
    for byte, header in enumerate(build_table(config)):
        assert header.kind is kinds.get(byte, Kind.RESERVED), "0x%02x" % byte


def kinds(config: Etmv3Config) -> Set[Kind]:
    return {header.kind for header in build_table(config)}


def test_what_a_unit_does_not_trace_is_reserved() -> None:
    assert kinds(ALL) == set(Kind)
    assert set(Kind) - kinds(A_PROFILE) == DATA_KINDS | {Kind.STORE_FAILED, Kind.CONTEXT_ID}
    assert set(Kind) - kinds(ALL._replace(data_values=False)) == {Kind.OUT_OF_ORDER_DATA, Kind.STORE_FAILED}
    assert DATA_KINDS < kinds(ALL._replace(data_addresses=False))
    assert Kind.P_HEADER not in kinds(ALL._replace(data_only=True))


def test_what_later_versions_brought() -> None:
    assert kinds(CYCLES) - kinds(CYCLES._replace(version=4)) == {Kind.VMID, Kind.TIMESTAMP}
    later = kinds(CYCLES._replace(version=4)) - kinds(CYCLES._replace(version=3))
    assert later == {Kind.EXCEPTION_ENTRY, Kind.EXCEPTION_EXIT}
