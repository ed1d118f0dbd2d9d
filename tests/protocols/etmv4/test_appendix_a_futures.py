"""Vectors worked by hand from IHI 0064 H.a, A.7.4 to A.7.8.

Lines are those of its text in ../shared/spec.  Units that speculate and units that do not decode the same.
"""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.program.image import Program
from gdb_etm.protocols.etmv4.config import Etmv4Config
from tests.protocols.etmv4.streams import ASYNC, M_PROFILE, Code, program, story

MAINLINE = M_PROFILE._replace(version=5, futures=True)
SPECULATING_MAINLINE = MAINLINE._replace(max_speculation=4)

# Branch futures (A.7.4), T32: 0ffc bf 1010, 3000 | 1000 bf 1010, 2000 | 1004 mov.w | 1008 mov.w | 100c cmp.w |
# 1010 b.w 2000; 2000 and 3000 nop, bx lr.
FUTURE = program(
    Code(0xFFC, "42f401e0 40f3ffe7 4ff00101 4ff00202 b1eb020f 00f0f6bf"),
    Code(0x2000, "00bf 7047"),
    Code(0x3000, "00bf 7047"),
)
# The same with 1010 beq.w 2000, nop, bx lr, as tables have it, and 1004 b.w 100c for the second.
FLUSHED = program(Code(0x1000, "40f3ffe7 4ff00101 4ff00202 b1eb020f 00f0f687 00bf 7047"), Code(0x2000, "00bf 7047"))
AROUND = program(Code(0x1000, "40f3ffe7 00f002b8 aff30080 b1eb020f 00f0f687 00bf 7047"), Code(0x2000, "00bf 7047"))
START = ASYNC + "01 00 04 81 00 "
AT_BF = START + "9b 00 10 00 00 "
BEGIN_M = ["gap: tracing was off", "EL0 S"]

FUTURES: List[Tuple[str, int, Program, str, List[str]]] = [
    # The implicit branch takes the place of the B.W at 0x1010, which does not run.
    ("A-19", 19631, FUTURE, AT_BF + "f7 f7 f7", ["1000-1004 1E", "1004-1010 3E", "2000-2004 2E"]),
    ("A-19 in one packet", 19631, FUTURE, AT_BF + "ff", ["1000-1004 1E", "1004-1010 3E", "2000-2004 2E"]),
    # The BF did nothing, so the B.W runs.
    ("A-20", 19646, FUTURE, AT_BF + "f6 f7 f7", ["1000-1004 1N", "1004-1014 4E", "2000-2004 2E"]),
    # The second BF did nothing, so the first one's target holds.
    (
        "A-21",
        19666,
        FUTURE,
        START + "9b 7e 0f 00 00 f7 f6 f7 f7",
        ["ffc-1000 1E", "1000-1004 1N", "1004-1010 3E", "3000-3004 2E"],
    ),
    # And the other way round: the second replaces the first.
    (
        "A-21 replaced",
        6964,
        FUTURE,
        START + "9b 7e 0f 00 00 f7 f7 f7 f7",
        ["ffc-1000 1E", "1000-1004 1E", "1004-1010 3E", "2000-2004 2E"],
    ),
    # The flush makes the BEQ run: taken, or not.
    ("A-22", 19683, FLUSHED, AT_BF + "f7 00 07 f7 f7", ["1000-1004 1E", "1004-1014 4E", "2000-2004 2E"]),
    ("A-22 not taken", 19688, FLUSHED, AT_BF + "f7 00 07 f6 f7", ["1000-1004 1E", "1004-1014 4N", "1014-1018 2E"]),
    (
        "A-23",
        19699,
        AROUND,
        AT_BF + "f7 f7 00 07 f6 f7",
        ["1000-1004 1E", "1004-1008 1E", "100c-1014 2N", "1014-1018 2E"],
    ),
    # Tracing began after the BF: where the implicit branch is cannot be known.
    ("A-24", 19714, FUTURE, START + "9b 02 10 00 00 08 f7 96 80 20 f7", ["2000-2004 2E"]),
    # With the BF seen, Resynchronization says nothing new.
    (
        "A-25",
        19732,
        FUTURE,
        AT_BF + "f7" + ASYNC + "01 00 08 f7 81 00 9b 00 20 00 00 f7",
        ["1000-1004 1E", "1004-1010 3E", "2000-2004 2E"],
    ),
    (
        "A-26",
        19749,
        FUTURE,
        AT_BF + "f7" + ASYNC + "01 00 81 00 9b 02 10 00 00 08 f7 96 80 20 f7",
        ["1000-1004 1E", "1004-1010 3E", "2000-2004 2E"],
    ),
]


def without_resynchronization(found: List[str]) -> List[str]:
    """Leave out the gaps that say that following was impossible."""
    return [line for line in found if not line.startswith("gap: address unknown")]


@pytest.mark.parametrize("unit", [MAINLINE, SPECULATING_MAINLINE], ids=["committed", "speculating"])
@pytest.mark.parametrize("name, line, code, packets, ran", FUTURES, ids=[table[0] for table in FUTURES])
def test_branch_futures(name: str, line: int, code: Program, packets: str, ran: List[str], unit: Etmv4Config) -> None:
    if unit.max_speculation:
        # The first P0 element is uncommitted where a periodic Trace Info comes after it: SPEC is 1.
        packets = packets[: len(ASYNC)] + packets[len(ASYNC) :].replace(ASYNC + "01 00", ASYNC + "01 04 01")
        packets += " 2d 0%d" % {"A-21": 4, "A-21 replaced": 4, "A-23": 4, "A-24": 2}.get(name, 3)
    found = story(unit, code, packets)
    assert without_resynchronization(found) == BEGIN_M + ran


@pytest.mark.parametrize("name", ["A-25", "A-26"])
def test_analysis_begins_between_a_future_and_its_branch(name: str) -> None:
    # L19725: whoever begins to read at the second A-Sync has not seen the BF, and the Resynchronization says so.
    (packets,) = [table[3] for table in FUTURES if table[0] == name]
    second = packets[packets.index(ASYNC, len(ASYNC)) :]
    assert without_resynchronization(story(MAINLINE, FUTURE, second)) == ["EL0 S", "2000-2004 2E"]


# WLS and LE, and vector instructions that ran partly (A.7.5 to A.7.8), under speculation.
LOOP = program(Code(0xFFC, "4ff00303 43f007c0 d1f80000 c2f80000 0ff007c0 00bf"))
HANDLER = Code(0x3000, "5df804fb")
LOOPED = ["ffc-1004 2N", "1004-1010 3E", "1004-1010 3E", "1004-1010 3N"]


def test_a_27() -> None:
    # L19768.
    packets = START + "9b 7e 0f 00 00 f6 f7 f7 f6 2d 04"
    assert story(SPECULATING_MAINLINE, LOOP, packets) == BEGIN_M + LOOPED
    # A loop that was predicted to go on for one more round: the last atom is flipped.
    packets = START + "9b 7e 0f 00 00 f6 f7 f7 f7 30 2d 04"
    assert story(SPECULATING_MAINLINE, LOOP, packets) == BEGIN_M + LOOPED


def test_a_30() -> None:
    # L19830: VLDR and LE are committed although they ran only in part; both are traced again after the return.  The
    # Exception Return is a P0 element on M-profile (L7570): six of them in all, two commit themselves.
    code = program(Code(0x1000, "20ef5029 00f0fcbf"), Code(0x1040, "90ed001f 0ff025c0"), Code(0x2000, "00bf"), HANDLER)
    packets = START + "9b 20 10 00 00 f7 06 21 96 81 10 81 03 96 80 30 f7 07 81 00 96 a0 10 f7 f7 2d 04"
    assert story(SPECULATING_MAINLINE, code, packets) == BEGIN_M + [
        "1040-1048 2E",
        "1000-1004 1E",
        "IRQ0, return 1002",
        "EL3 S",
        "3000-3004 1E",
        "exception return",
        "EL0 S",
        "1040-1048 2E",
        "1000-1008 2E",
    ]
