"""Vectors worked by hand from IHI 0064, appendix A: speculation.

The appendix shows elements; the packets here are one way to write each table's, with its Commit, Cancel and Mispredict
elements.  The program is the tables' code.  OpenCSD executes most of them alike (test_vectors_opencsd).
"""

from __future__ import annotations

from typing import Dict, List, Tuple

import pytest

from gdb_etm.program.image import Program
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, Code, lines, program, story
from tests.protocols.histories import decode_pieces

UNIT = A_PROFILE._replace(max_speculation=8, commit_mode=0)
WITH_STACK = UNIT._replace(return_stack=True)

# Trace Info without sections, Trace On, Context NS EL1 AArch32, Long Address IS0 0x1000.
AT_1000 = ASYNC + "01 00 04 81 21 9a 00 08 00 00 "
# The same with cycle counting and a threshold of 16: INFO 1, CYCT 0x10.
COUNTING = ASYNC + "01 09 01 10 04 81 21 9a 00 08 00 00 "
# And with Context ID 0xaa.
IN_AA = ASYNC + "01 00 04 81 a1 aa 00 00 00 9a 00 08 00 00 "
BEGIN = ["gap: tracing was off", "EL1 NS"]
BEGIN_IN_AA = ["gap: tracing was off", "EL1 NS CID aa"]

# 1000 b 2000 | 2000 mov, ldr, cmp, beq 3000, str, b 4000 | 3000 mov, b 5000 | 4000 nop | 5000 nop
FLOW = program(
    Code(0x1000, "fe0300ea"),
    Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000a 001080e5 f90700ea"),
    Code(0x3000, "0100a0e3 fd0700ea"),
    Code(0x4000, "00f020e3"),
    Code(0x5000, "00f020e3"),
)
# The same with 2014 beq 4000, as the tables about filtering have it.
FILTERED = program(
    Code(0x1000, "fe0300ea"), Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000a 001080e5 f907000a 00f020e3")
)
# 1000 bl 2000, mov, b 4000 | 2000 mov, ldr, cmp, bleq 3000, str, bx lr
CALL = program(
    Code(0x1000, "fe0300eb 0100a0e3 fc0b00ea"),
    Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000b 001080e5 1eff2fe1"),
)
# 1000 b 2000 | 2000 mcr CONTEXTIDR, add, isb, sub, nop | 3000 b 4000
CONTEXTS = program(
    Code(0x1000, "fe0300ea"),
    Code(0x2000, "300f0dee 010080e2 6ff07ff5 010040e2 00f020e3"),
    Code(0x3000, "fe0300ea"),
)

CALLED = ["1000-1004 1E", "2000-2010 4N", "2010-2018 2E", "1004-100c 2E"]
FLIPPED = ["1000-1004 1E", "2000-2010 4E", "3000-3008 2E"]

# Name, line, unit, program, packets, what ran.
Table = Tuple[str, int, Etmv4Config, Program, str, List[str]]
TABLES: List[Table] = [
    (
        # Nothing is cancelled; all three P0 elements are committed at the end.
        "A-1",
        19263,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 06 1d 95 85 10 2d 03",
        BEGIN + ["1000-1004 1E", "2000-2010 4N", "2010-2014 1E", "IRQ, return 2014"],
    ),
    (
        # The N atom and the three instructions before its branch are cancelled; nothing ran at 0x2000.
        "A-2",
        19288,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 2e 01 06 1d 95 80 10 2d 02",
        BEGIN + ["1000-1004 1E", "IRQ, return 2000"],
    ),
    (
        # The exception's return address tells again that MOV ran.
        "A-3",
        19306,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 2e 01 06 19 95 81 10 2d 02",
        BEGIN + ["1000-1004 1E", "2000-2004 1E", "Data fault, return 2004"],
    ),
    (
        # An IRQ at the first instruction of the handler: the Address comes before the Exception.
        "A-4",
        19323,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 2e 01 06 19 95 81 10 95 80 20 06 1d 90 2d 03",
        BEGIN + ["1000-1004 1E", "2000-2004 1E", "Data fault, return 2004", "IRQ, return 4000"],
    ),
    (
        # The same with the Address folded into the Exception packet: E1:E0 is 0b10 (L9565).
        "A-4 folded",
        19323,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 2e 01 06 19 95 81 10 06 5c 95 80 20 2d 03",
        BEGIN + ["1000-1004 1E", "2000-2004 1E", "Data fault, return 2004", "IRQ, return 4000"],
    ),
    (
        # Cancel format 1 with its M bit: the branch at 0x200c was taken after all.
        "A-5",
        19346,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 f7 2f 01 f7 2d 03",
        BEGIN + FLIPPED,
    ),
    (
        # The same elements from Cancel format 2 (E atom, Cancel, Mispredict).
        "A-5 in format 2",
        19346,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 35 f7 2d 03",
        BEGIN + FLIPPED,
    ),
    (
        # From a Cancel format 1 without M and a Mispredict packet with the E atom of 0x3004 after it.
        "A-5 in two packets",
        19346,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 f7 2e 01 30 f7 2d 03",
        BEGIN + FLIPPED,
    ),
    (
        # Both branches are cancelled, and the first is traced anew.
        "A-6",
        19362,
        UNIT,
        FLOW,
        AT_1000 + "f7 f6 f7 2e 02 f7 f7 2d 03",
        BEGIN + FLIPPED,
    ),
    (
        # The second Commit has no count of cycles.
        "A-7",
        19390,
        UNIT,
        FLOW,
        COUNTING + "f7 0f 01 f6 2d 01 f7 12",
        BEGIN + ["1000-1004 1E", "cycles unknown", "2000-2010 4N", "2010-2018 2E", "cycles 18"],
    ),
    (
        # The same in the other formats: format 1 commits 1, COUNT 2; format 2 with AAAA 0 commits 1.
        "A-7 in formats 1 and 2",
        19390,
        UNIT,
        FLOW,
        COUNTING + "f7 0f 01 f6 2d 01 f7 0e 01 02 f7 0c 03",
        BEGIN + ["1000-1004 1E", "cycles unknown", "2000-2010 4N", "2010-2018 2E", "cycles 18"]
        # 0x4000 is a NOP and then there is no code.
        + ["4000-4004 1E", "gap: no code 4004", "cycles 19"],
    ),
    (
        # Timestamps have their own cycles, which the sum leaves out.
        "A-8",
        19409,
        UNIT,
        FLOW,
        COUNTING + "f7 0f 01 f6 03 64 06 2d 01 f7 12 03 74 10",
        BEGIN
        + ["1000-1004 1E", "cycles unknown", "2000-2010 4N", "time 100 cycles 6"]
        + ["2010-2018 2E", "cycles 18", "time 116 cycles 16"],
    ),
    (
        # What was cancelled leaves a Trace On and an Address behind that nothing follows.
        "A-9",
        19442,
        UNIT,
        FILTERED,
        AT_1000 + "f7 04 95 84 10 f7 2e 01 2d 01",
        BEGIN + ["1000-1004 1E", "gap: tracing was off"],
    ),
    (
        # The Trace On stays, and the Address before the Exception replaces the one after it.
        "A-11",
        19482,
        UNIT,
        FILTERED,
        AT_1000 + "f7 04 95 84 10 f7 2e 01 95 80 10 06 1d 90 2d 02",
        BEGIN + ["1000-1004 1E", "gap: tracing was off", "IRQ, return 2000"],
    ),
    (
        "A-11 folded",
        19482,
        UNIT,
        FILTERED,
        AT_1000 + "f7 04 95 84 10 f7 2e 01 06 5c 95 80 10 2d 02",
        BEGIN + ["1000-1004 1E", "gap: tracing was off", "IRQ, return 2000"],
    ),
    ("A-12", 19497, UNIT, FILTERED, AT_1000 + "f7 06 1d 95 80 10 2d 02", BEGIN + ["1000-1004 1E", "IRQ, return 2000"]),
    ("A-13", 19512, UNIT, FILTERED, AT_1000 + "f7 2d 01", BEGIN + ["1000-1004 1E"]),
    ("A-14", 19538, UNIT, CALL, AT_1000 + "f7 f6 f7 95 81 08 f7 2d 04", BEGIN + CALLED),
    ("A-15", 19553, WITH_STACK, CALL, AT_1000 + "f7 f6 f7 f7 2d 04", BEGIN + CALLED),
    # Three atoms in one packet, and the commits one by one between the others.
    ("A-15 in pieces", 19553, WITH_STACK, CALL, AT_1000 + "fd 2d 01 f7 2d 02 2d 01", BEGIN + CALLED),
    (
        "A-16",
        19582,
        UNIT,
        CONTEXTS,
        IN_AA + "f7 f7 81 a1 bb 00 00 00 06 1d 95 84 10 81 a1 cc 00 00 00 95 80 18 f7 2d 04",
        BEGIN_IN_AA
        + ["1000-1004 1E", "2000-200c 3E", "EL1 NS CID bb", "200c-2010 1E", "IRQ, return 2010"]
        + ["EL1 NS CID cc", "3000-3004 1E"],
    ),
    (
        "A-17",
        19598,
        UNIT,
        CONTEXTS,
        IN_AA + "f7 f7 81 a1 bb 00 00 00 06 1d 95 83 10 81 a1 cc 00 00 00 95 80 18 f7 2d 04",
        BEGIN_IN_AA
        + ["1000-1004 1E", "2000-200c 3E", "EL1 NS CID bb", "IRQ, return 200c"]
        + ["EL1 NS CID cc", "3000-3004 1E"],
    ),
    (
        # The table leaves out the first Address, which its note asks for.
        "A-18",
        19613,
        UNIT,
        CONTEXTS,
        IN_AA + "f7 06 1d 95 82 10 81 a1 cc 00 00 00 95 80 18 f7 2d 03",
        BEGIN_IN_AA + ["1000-1004 1E", "2000-2008 2E", "IRQ, return 2008", "EL1 NS CID cc", "3000-3004 1E"],
    ),
]


@pytest.mark.parametrize("name, line, unit, code, packets, ran", TABLES, ids=[table[0] for table in TABLES])
def test_table(name: str, line: int, unit: Etmv4Config, code: Program, packets: str, ran: List[str]) -> None:
    assert story(unit, code, packets) == ran


@pytest.mark.parametrize("size", [1, 2, 7])
def test_tables_in_pieces(size: int) -> None:
    # The same decoder for all tables with the same program, so that nothing it has learned misleads it.
    decoders: Dict[Tuple[Etmv4Config, int], Decoder] = {}
    for _, _, unit, code, packets, ran in TABLES:
        data = bytes.fromhex(packets)
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        decoder = decoders.setdefault((unit, id(code)), Decoder(unit, code))
        assert lines(decode_pieces(decoder, pieces)) == ran


UNCOMMITTED = ["gap: not committed when the trace ended"]


@pytest.mark.parametrize(
    "packets, ran",
    [
        # Without the Commit at the end of table A-1.
        ("f7 f6 06 1d 95 85 10", []),
        # The oldest is committed.
        ("f7 f6 06 1d 95 85 10 2d 01", ["1000-1004 1E"]),
        ("f7 f6 06 1d 95 85 10 2d 02", ["1000-1004 1E", "2000-2010 4N"]),
        # In any order with what they commit.
        ("f7 2d 01 f6 06 1d 95 85 10 2d 01", ["1000-1004 1E", "2000-2010 4N"]),
        # What is left after a Cancel.
        ("f7 f6 2e 01", []),
    ],
)
def test_a_1_that_ends_early(packets: str, ran: List[str]) -> None:
    # L6898: execution follows from an Atom only after it has been committed.
    assert story(UNIT, FLOW, AT_1000 + packets) == BEGIN + ran + UNCOMMITTED


def test_a_2_cancelled_to_nothing() -> None:
    # L8019: cancelled elements are not left over; nothing is uncommitted.
    assert story(UNIT, FLOW, AT_1000 + "f7 f6 2e 02") == BEGIN


def test_a_5_without_commitment() -> None:
    # What A-5 finally says is no more than speculation while nothing commits it.
    assert story(UNIT, FLOW, AT_1000 + "f7 f6 f7 2f 01 f7") == BEGIN + UNCOMMITTED
    assert story(UNIT, FLOW, AT_1000 + "f7 f6 f7 2f 01 f7 2d 02") == BEGIN + FLIPPED[:2] + UNCOMMITTED
