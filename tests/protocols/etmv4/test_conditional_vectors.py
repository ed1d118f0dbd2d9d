"""Vectors worked by hand from IHI 0064 H.a, 6.4.9: conditions.

Every row follows the packets' pseudocode step by step; lines are those of its text in ../shared/spec.  There are eight
normal keys, 0 to 7 (L10301); 8 and higher are special.  Both stored keys are 0 at first (L9209).
"""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.listing import list_packets
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC
from tests.protocols.histories import same

PASS_FAIL = A_PROFILE._replace(version=6, conditional=7, condition_keys=8)
FLAGS = PASS_FAIL._replace(condition_flags=True)
START = ASYNC + "01 00 "
ALL_ROUND = "C 4 5 6 7 0 1 2 3"
ALL_ROUND_FROM_ONE = "C 2 3 4 5 6 7 0 1"

Row = Tuple[int, str, List[str]]
INSTRUCTIONS: List[Row] = [
    (10370, "6c 05 | 40", ["C 5", "C 6"]),
    (10370, "6c 07 | 40", ["C 7", "C 0"]),
    (10370, "6c 85 00 | 41", ["C 5", "C 5"]),
    # A special key is the element's alone; the stored one goes on by one (L10364).
    (10368, "6c 08 | 40", ["C 8", "C 2"]),
    (10368, "6c 88 01 | 41", ["C 136", "C 1"]),
    (10410, "41 | 41", ["C 0", "C 0"]),
    (10412, "42 | 42 | 40", ["C 1 1", "C 2 2", "C 3"]),
    # Format 3: NUM elements, and one more with the last key (L10451).
    (10452, "6d 06 | 41", ["C 1 2 3", "C 3"]),
    (10455, "6d 07 | 40", ["C 1 2 3 3", "C 4"]),
    (10456, "40 | 6d 01 | 40", ["C 1", "C 1", "C 2"]),
    (10453, "6c 05 | 6d 08", ["C 5", "C 6 7 0 1"]),
    (10428, "6d 86", ["C 1 2 3"]),  # bit 7 should be zero, that is all
    (10419, "6d 7f | 41", ["C 1 ... 7 (64)", "C 7"]),
]
RESULTS: List[Row] = [
    # Format 1: an R element alone, or with the C elements up to its key (L10631).
    (10636, "6e 31 | 6e 30", ["R 3 passed", "R 3 failed"]),
    (10631, "6f 31 | 6f 50", ["C 1 2 3, R 3 passed", "C 4 5, R 5 failed"]),
    (10633, "6c 06 | 6f 11", ["C 6", "C 7 0 1, R 1 passed"]),
    # Until they are equal, so all the way round where they are from the start (L10635).
    (10635, "6c 03 | 6f 31", ["C 3", ALL_ROUND + ", R 3 passed"]),
    # Two sets, oldest first; CI0 is bit 0 of the header, CI1 bit 1 (L10572).
    (10621, "68 11 30", ["R 1 passed, R 3 failed"]),
    (10621, "69 11 30", ["C 1, R 1 passed, R 3 failed"]),
    (10621, "6a 11 30", ["R 1 passed, C 1 2 3, R 3 failed"]),
    (10621, "6b 11 30", ["C 1, R 1 passed, C 2 3, R 3 failed"]),
    # KEY[2:0], then seven bits a byte (L10563): key 8 is special and counts as one step (L10626).
    (10627, "6e 81 01 | 48", ["R 8 passed", "C 1 2, R 2 failed"]),
    (10564, "6e f1 80 01", ["R 1031 passed"]),
    (10621, "68 81 01 b0 00", ["R 8 passed, R 3 failed"]),
    # Format 2: one or two keys on, and always C elements (L10667).
    (10667, "48 | 49", ["C 1, R 1 failed", "C 2, R 2 passed"]),
    (10667, "4c | 4d", ["C 1 2, R 2 failed", "C 3 4, R 4 passed"]),
    (10667, "6e 70 | 6c 07 | 4c", ["R 7 failed", "C 7", "C 0 1, R 1 failed"]),
    # After results without C elements these catch up.
    (10672, "6e 30 | 48", ["R 3 failed", "C 1 2 3 4, R 4 failed"]),
    # Format 4: one key back, and no C elements (L10739).
    (10739, "6f 31 | 45 | 44", ["C 1 2 3, R 3 passed", "R 2 passed", "R 1 failed"]),
    (10739, "44", ["R 7 failed"]),
    (10739, "6f 31 | 45 | 41", ["C 1 2 3, R 3 passed", "R 2 passed", "C 3"]),
    # A Flush changes no key (L10475).
    (10475, "6f 31 | 43 | 49", ["C 1 2 3, R 3 passed", "", "C 4, R 4 passed"]),
]
# Format 3: twelve bits of tokens, the oldest in the lowest (L10511).
TOKENS: List[Row] = [
    # 01, 00, 01, 01, 00, 00: 0x051.
    (
        10709,
        "50 51",
        ["C 1, R 1 passed, C 2, R 2 failed, C 3, R 3 passed, C 4, R 4 passed, C 5, R 5 failed, C 6, R 6 failed"],
    ),
    # Null tokens anywhere (L10692): 11, 01, 11, 11, 11, 00: 0x3f7.
    (10692, "53 f7", ["C 1, R 1 passed, C 2, R 2 failed"]),
    (10692, "5f fd | 5f f3 | 5c ff", ["C 1, R 1 passed", "C 2, R 2 failed", "C 3, R 3 failed"]),
    (10692, "5f ff | 48", ["", "C 1, R 1 failed"]),
    # Tokens catch up with C elements that were left out before.
    (10707, "6e 30 | 5f f1", ["R 3 failed", "C 1 2 3 4, R 4 passed, C 5, R 5 failed"]),
]
FLAG_RESULTS: List[Row] = [
    # N, Z, C, V in bits 3 to 0 (L10598); a set flag in a capital.
    (10598, "6e 38 | 6e 34 | 6e 32 | 6e 31", ["R 3 Nzcv", "R 3 nZcv", "R 3 nzCv", "R 3 nzcV"]),
    # Tokens of two bits (L10526): C; N; Z and C.
    (10526, "48 | 49 | 4a", ["C 1, R 1 nzCv", "C 2, R 2 Nzcv", "C 3, R 3 nZCv"]),
    (10526, "44 | 45 | 46", ["R 7 nzCv", "R 6 Nzcv", "R 5 nZCv"]),
    # 00, 01, 10, 0111 (none), 11 as padding (L10536): 0xde4.
    (10532, "5d e4", ["C 1, R 1 nzCv, C 2, R 2 Nzcv, C 3, R 3 nZCv, C 4, R 4 nzcv"]),
    # 0011 (N and C), 1011 (Z), 1111 (null): 0xfb3; and with the null first: 0xb3f.
    (10531, "5f b3", ["C 1, R 1 NzCv, C 2, R 2 nZcv"]),
    (10534, "5b 3f", ["C 1, R 1 NzCv, C 2, R 2 nZcv"]),
    # 01, 0111, 1111, 00: four-bit tokens at any even place: 0x3dd.
    (10511, "53 dd", ["C 1, R 1 Nzcv, C 2, R 2 nzcv, C 3, R 3 nzCv"]),
    (10534, "5f ff", [""]),
]


def fields(config: Etmv4Config, text: str) -> List[str]:
    """List the fields of packets after a Trace Info."""
    packets = [bytes.fromhex(part) for part in text.split("|")]
    found = list(list_packets(config, bytes.fromhex(START) + b"".join(packets), same))[2:]
    assert [packet.raw for packet in found] == packets
    return [packet.fields for packet in found]


@pytest.mark.parametrize("line, text, expected", INSTRUCTIONS + RESULTS + TOKENS, ids=lambda value: str(value)[:30])
def test_pass_or_fail(line: int, text: str, expected: List[str]) -> None:
    assert fields(PASS_FAIL, text) == expected


@pytest.mark.parametrize("line, text, expected", INSTRUCTIONS + FLAG_RESULTS, ids=lambda value: str(value)[:30])
def test_flags(line: int, text: str, expected: List[str]) -> None:
    assert fields(FLAGS, text) == expected


def test_trace_info_begins_again() -> None:
    # L9209.
    assert fields(PASS_FAIL, "6c 05 | 6e 61 | 01 00 | 40 | 48")[-2:] == ["C 1", ALL_ROUND_FROM_ONE + ", R 1 failed"]


@pytest.mark.parametrize(
    "config, text",
    [
        (PASS_FAIL, "6d 00"),  # L10441
        (FLAGS, "6d 80"),
        (PASS_FAIL, "6f 81 01"),  # a special key with C elements (L10594)
        (PASS_FAIL, "6a 31 81 01"),
        (PASS_FAIL, "4a"),  # token 0b10 in pass/fail mode (table 6-17, L10540)
        (PASS_FAIL, "4e"),
        (PASS_FAIL, "46"),
        (PASS_FAIL, "5f fe"),
        (PASS_FAIL, "5b ff"),
    ],
)
def test_reserved_values(config: Etmv4Config, text: str) -> None:
    # The packet's size is known, so the next one is found; what it meant is not.
    data = bytes.fromhex(START + text + " f7")
    found = list(list_packets(config, data, same))[2:]
    assert [packet.raw for packet in found] == [bytes.fromhex(text), b"\xf7"]
    assert "reserved" in found[0].fields
