"""Vectors worked by hand from IHI 0064, chapter 6: reserved fields.

Lines are those of its text in ../shared/spec.
"""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.listing import list_packets
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, Code, decode, lines, program
from tests.protocols.histories import same

UNIT = A_PROFILE._replace(version=6, commit_mode=0, max_speculation=4, conditional=7, condition_keys=8)
FLAGS = UNIT._replace(condition_flags=True)
# A32: a branch to itself.
PROGRAM = program(Code(0x1000, "fe ff ff ea"))
PLACE = "81 20 9a 00 08 00 00 "
START = ASYNC + "01 01 0e 04 " + PLACE

# Configuration, packet, the reserved field, line.  After each of them nothing is certain.
RESERVED = [
    (UNIT, "2d 00", "COMMIT=0", 10063),
    (UNIT, "2d 80 00", "COMMIT=0", 10063),
    (UNIT, "2e 00", "CANCEL=0", 10101),
    (UNIT, "2f 00", "CANCEL=0", 10101),
    (UNIT, "0d a5", "commits -1", 9892),
    (UNIT, "a0 00", "COUNT=0", 12708),
    (UNIT, "a5 01 00", "COUNT=0", 12708),
    (UNIT, "a6 81 01 00", "COUNT=0", 12708),
    (UNIT, "aa 01 02 03 04 80 00", "COUNT=0", 12708),
    (UNIT, "ac 00", "COUNT=0", 12708),
    (UNIT, "83 00 10 00 00 30", "IS1 with SF=1", 10887),
    (UNIT, "86 00 10 00 00 00 00 00 00 10", "IS1 with SF=1", 10887),
    (UNIT, "06 5c 83 00 10 00 00 30", "IS1 with SF=1", 10887),
]
# After these only the results of conditional instructions are not.
CONDITIONAL = [
    (UNIT, "6d 00", "NUM=0, Z=0", 10441),
    (UNIT, "6d 80", "NUM=0, Z=0", 10441),
    (UNIT, "6f 81 01", "special key 8 with CI=1", 10594),
    (UNIT, "6a 11 81 01", "special key 8 with CI=1", 10594),
    (UNIT, "4a", "T=2", 10540),
    (UNIT, "46", "T=2", 10540),
    (UNIT, "50 02", "TOKEN=0x002", 10540),
    (FLAGS, "6d 00", "NUM=0, Z=0", 10441),
]
# And these are Trace Infos all the same.
INFOS = [
    (UNIT, "01 01 08", "INFO=0x08", 9182),
    (UNIT, "01 01 0a", "INFO=0x0a", 9182),
    (UNIT, "01 01 0c", "INFO=0x0c", 9182),
    (UNIT, "01 01 4e", "INFO=0x4e", 9139),
]


def story(config: Etmv4Config, text: str) -> List[str]:
    return lines(decode(config, PROGRAM, bytes.fromhex(text)))


def gaps(config: Etmv4Config, text: str) -> List[str]:
    found = [element for _, element in decode(config, PROGRAM, bytes.fromhex(text)) if isinstance(element, Gap)]
    return [gap.detail for gap in found if gap.reason.name == "BAD_PACKET"]


@pytest.mark.parametrize("config, packet, field, line", RESERVED + CONDITIONAL + INFOS)
def test_listed(config: Etmv4Config, packet: str, field: str, line: int) -> None:
    found = list(list_packets(config, bytes.fromhex(START + packet + "f7"), same))
    assert [found[-2].raw, found[-1].raw] == [bytes.fromhex(packet), b"\xf7"]
    assert "reserved: %s" % field in found[-2].fields


@pytest.mark.parametrize("config, packet, field, line", RESERVED)
def test_nothing_until_the_next_trace_info(config: Etmv4Config, packet: str, field: str, line: int) -> None:
    text = START + "f7 2d 01 " + packet + " f7 2d 01 " + "01 01 0e " + PLACE + "f7 2d 01"
    found = story(config, text)
    assert gaps(config, text) == [
        "reserved %s in %s" % (field, list(list_packets(config, bytes.fromhex(START + packet), same))[-1].name)
    ]
    assert found.count("1000-1004 1E") == 2
    assert "gap: waiting for synchronisation" in found


@pytest.mark.parametrize("config, packet, field, line", CONDITIONAL + INFOS)
def test_execution_goes_on(config: Etmv4Config, packet: str, field: str, line: int) -> None:
    text = START + "f7 2d 01 " + packet + " f7 2d 01"
    assert story(config, text).count("1000-1004 1E") == 2
    assert len(gaps(config, text)) == 1


@pytest.mark.parametrize(
    "packet",
    [
        # 0b11 in the upper two bits of a token field is padding in either mode (L10536); SBZ bits are not reserved.
        "5f ff",
        "5c 40",
        "6d 81",
        "6f 1f",
        "f7 f7 f7 f7 0d f5",
    ],
)
def test_not_reserved(packet: str) -> None:
    for config in (UNIT, FLAGS):
        text = START + "f7 2d 01 " + packet
        assert gaps(config, text) == []


def test_a_unit_that_does_not_speculate_commits_nothing() -> None:
    # Its commits are implied (L2366), so it is of no consequence what the field says.
    config = UNIT._replace(max_speculation=0)
    text = START + "f7 0d 05 0c f5 f7"
    assert gaps(config, text) == []
    assert story(config, text).count("1000-1004 1E") == 2
