"""Vectors worked by hand from IHI 0064 H.a: branch futures.

5.2.5 "Analyzing Atom elements with branch future support implemented", 5.2.11, 5.2.12 and 5.3.1.
"""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.program.image import Program
from tests.protocols.etmv4.streams import ASYNC, M_PROFILE, Code, program, story

UNIT = M_PROFILE._replace(version=5, futures=True)
SPECULATING = UNIT._replace(max_speculation=8)
BEGIN = ["gap: tracing was off", "EL0 S"]

# 1000 bf 1010, 2000 | 1004 mov.w | 1008 mov.w | 100c cmp.w | 1010 b.w 2000; 2000 and 3000 nop, bx lr
FUTURE = program(
    Code(0x1000, "40f3ffe7 4ff00101 4ff00202 b1eb020f 00f0f6bf"),
    Code(0x2000, "00bf 7047"),
    Code(0x3000, "00bf 7047"),
)
# 1000 bf 1010, 2000 | 1004 b.w 1010 | 1008 nop.w, nop.w | 1010 beq.w 2000 | 1014 nop, bx lr
TO_THE_END = program(Code(0x1000, "40f3ffe7 00f004b8 aff30080 aff30080 00f0f687 00bf 7047"), Code(0x2000, "00bf 7047"))
# 1000 bf 1010, 2000 | 1004 beq.w 2000 | 1008 isb | 100c wfi, nop | 1010 beq.w 2000
BETWEEN = program(Code(0x1000, "40f3ffe7 00f0fc87 bff36f8f 30bf 00bf 00f0f687"), Code(0x2000, "00bf 7047"))
# 1000 bfl 1006, 2000 | 1004 nop | 1006 bl 2000 | 100a b 100a
# 1100 bflx 1106, r3 | 1104 nop | 1106 blx r3 | 1108 b 1108
# 1200 bfx 1206, r3 | 1204 nop | 1206 bx r3 | 1208 b 1208
# 1300 bfcsel 1306, 2000, 130a, eq | 1304 nop | 1306 beq.w 2000 | 130a b 130a
# 1400 bfcsel 1406, 2000, 1408, eq | 1404 nop | 1406 beq 1410 | 1408 b 1408
FORMS = program(
    Code(0x1000, "80f0ffc7 00bf 00f0fbff fee7"),
    Code(0x1100, "f3f001e0 00bf 9847 fee7"),
    Code(0x1200, "e3f001e0 00bf 1847 fee7"),
    Code(0x1300, "82f07fe6 00bf 00f07b86 fee7"),
    Code(0x1400, "80f0ffe5 00bf 03d0 fee7 00000000 00bf"),
    Code(0x2000, "00bf 7047"),
)


def run(
    code: Program, packets: str, speculating: bool = False, return_stack: bool = False, start: int = 0x10
) -> List[str]:
    """Decode from 256 times ``start``, without the two first elements."""
    unit = SPECULATING if speculating else UNIT
    begin = ASYNC + "01 00 04 81 00 9b 00 %02x 00 00 " % start
    found = story(unit._replace(return_stack=return_stack), code, begin + packets)
    assert found[:2] == BEGIN
    return found[2:]


SEEN = ["1000-1004 1E"]
REPLACED = SEEN + ["1004-1010 3E", "2000-2004 2E"]
AS_WRITTEN = SEEN + ["1004-1014 4E", "2000-2004 2E"]


def test_support_of_the_unit_decides() -> None:
    # L7002: without it a BF is an instruction like others.
    without = story(UNIT._replace(futures=False), FUTURE, ASYNC + "01 00 04 81 00 9b 00 10 00 00 f7 f7")
    assert without == BEGIN + ["1000-1014 5E", "2000-2004 2E"]


def test_the_branch_happens_once() -> None:
    # L6993: D_BRANCH_INFO is not valid any more; the second time round the B.W itself runs.
    assert run(FUTURE, "f7 f7 f7 96 82 10 f7 f7") == REPLACED + ["1004-1014 4E", "2000-2004 2E"]
    # And the other way round, at the same addresses.
    assert run(FUTURE, "96 82 10 f7 f7 96 80 10 f7 f7 f7") == ["1004-1014 4E", "2000-2004 2E"] + REPLACED
    # In one packet after the other, so that what is remembered of a place has to tell them apart.
    again = "96 80 10 " + "ff 96 82 10 db 96 80 10 " * 3
    assert run(FUTURE, again) == (REPLACED + ["1004-1014 4E", "2000-2004 2E"]) * 3


def test_other_branches_before_it() -> None:
    # L6974: an N atom, an ISB and a WFI (E atoms both, L6862) change nothing about what is announced.
    ran = SEEN + ["1004-1008 1N", "1008-100c 1E"]
    assert run(BETWEEN, "f7 f6 f7 f7 f7") == ran + ["100c-1010 2E", "2000-2004 2E"]
    waiting = story(UNIT._replace(waits=True), BETWEEN, ASYNC + "01 00 04 81 00 9b 00 10 00 00 fd f7 f7 f7")
    assert waiting == BEGIN + ran + ["100c-100e 1E", "100e-1010 1E", "2000-2004 2E"]


def test_a_branch_to_the_branch_point() -> None:
    # L7751: a taken branch clears what was announced, and the unit says so before the next atom (L7764).
    assert run(TO_THE_END, "f7 f7 00 07 f7 f7") == SEEN + ["1004-1008 1E", "1010-1014 1E", "2000-2004 2E"]
    assert run(TO_THE_END, "f7 f7 00 07 f6 f7") == SEEN + ["1004-1008 1E", "1010-1014 1N", "1014-1018 2E"]


def test_link_pushes_the_address_after_what_it_replaces() -> None:
    # L8221: BFL replaces a BL of 32 bits: 0x100a.  BX LR at 0x2002 has no Address.
    assert run(FORMS, "f7 f7 f7 f7", return_stack=True) == [
        "1000-1004 1E",
        "1004-1006 1E",
        "2000-2004 2E",
        "100a-100c 1E",
    ]
    # BFLX replaces a BLX of 16 bits: 0x1108.  Its target comes from a register, so it is told (L6926).
    assert run(FORMS, "f7 f7 96 80 20 f7 f7", return_stack=True, start=0x11) == [
        "1100-1104 1E",
        "1104-1106 1E",
        "2000-2004 2E",
        "1108-110a 1E",
    ]


def test_a_branch_to_a_register_may_match_the_return_stack() -> None:
    # L8228: BFL, to 0x2000, whose BX LR is told to go to 0x1200; BFX from there to the 0x100a that BFL has pushed.
    assert run(FORMS, "f7 f7 f7 96 80 12 f7 f7 f7", return_stack=True) == [
        "1000-1004 1E",
        "1004-1006 1E",
        "2000-2004 2E",
        "1200-1204 1E",
        "1204-1206 1E",
        "100a-100c 1E",
    ]
    # Without the return stack the target is told.
    assert run(FORMS, "f7 f7 96 80 20 f7", start=0x12) == ["1200-1204 1E", "1204-1206 1E", "2000-2004 2E"]
    assert run(FORMS, "f7 f7 f7", start=0x12) == ["1200-1204 1E", "1204-1206 1E", "gap: address unknown"]


@pytest.mark.parametrize("start, following", [(0x13, "130a-130c 1E"), (0x14, "1408-140a 1E")])
def test_a_selection_that_falls_through(start: int, following: str) -> None:
    # L6991: past the replaced instruction, of 32 or of 16 bits.
    seen = ["%x00-%x04 1E" % (start, start)]
    assert run(FORMS, "f7 f6 f7", start=start) == seen + ["%x04-%x06 1N" % (start, start), following]
    assert run(FORMS, "f7 f7 f7", start=start) == seen + ["%x04-%x06 1E" % (start, start), "2000-2004 2E"]


# What flushes it (5.2.11).


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("00 07 ", []),
        ("00 07 00 07 ", []),
        ("04 96 82 10 ", ["gap: tracing was off"]),  # Trace On (L9247)
        (
            # An exception (L9705), and its return (L9760).
            "06 21 96 82 10 81 03 96 80 30 f7 07 81 00 96 82 10 ",
            ["IRQ0, return 1004", "EL3 S", "3000-3004 2E", "exception return", "EL0 S"],
        ),
    ],
)
def test_flushed(packets: str, ran: List[str]) -> None:
    assert run(FUTURE, "f7 " + packets + "f7 f7") == SEEN + ran + AS_WRITTEN[1:]


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("06 33 96 82 10 ", ["Lazy FP push, return 1004"]),
        ("06 81 01 96 82 10 ", ["exception type 0x20, return 1004"]),
        ("02 05 ", ["time 5"]),
        ("71 ", ["event 0"]),
        ("81 03 ", ["EL3 S"]),
        ("96 82 10 ", []),  # an Address that agrees (L7655)
    ],
)
def test_not_flushed(packets: str, ran: List[str]) -> None:
    # L9705: not by implementation defined exceptions, nor by the push of floating-point state.
    assert run(FUTURE, "f7 " + packets + "f7 f7") == SEEN + ran + REPLACED[1:]


def test_periodic_synchronisation_does_not_flush() -> None:
    # L6785: the analysis goes on as it was.
    sync = ASYNC + "01 00 81 00 9b 02 10 00 00 "
    assert run(FUTURE, "f7 " + sync + "f7 f7") == REPLACED


def test_exceptions_before_the_branch() -> None:
    # L7054: up to the return address, which may be the branch point.
    handled = ["IRQ0, return 100c", "EL3 S", "3000-3004 2E"]
    assert run(FUTURE, "f7 06 21 96 86 10 81 03 96 80 30 f7") == SEEN + ["1004-100c 2E"] + handled
    handled = ["IRQ0, return 1010", "EL3 S", "3000-3004 2E"]
    assert run(FUTURE, "f7 06 21 96 88 10 81 03 96 80 30 f7") == SEEN + ["1004-1010 3E"] + handled
    # At its target (L7300: where it was executed in part).
    assert run(FUTURE, "f7 f7 06 21 96 80 20") == SEEN + ["1004-1010 3E", "IRQ0, return 2000"]
    # Beyond the branch point without its atom: that cannot be.
    found = run(FUTURE, "f7 06 21 96 8a 10 81 03 96 80 30 f7")
    assert found == SEEN + ["gap: trace and program disagree", "IRQ0, return 1014", "EL3 S", "3000-3004 2E"]


# Under speculation.


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("f7 f7 f7 2d 03", REPLACED),
        # L7006: the BF is mispredicted like other branches.
        ("f7 30 f7 f7 2d 03", ["1000-1004 1N"] + AS_WRITTEN[1:]),
        ("f6 30 f7 f7 2d 03", REPLACED),
        ("f7 2d 01 30 f7 f7 2d 02", ["1000-1004 1N"] + AS_WRITTEN[1:]),
        # L7004: and cancelled.
        ("f7 2e 01 f6 f7 f7 2d 03", ["1000-1004 1N"] + AS_WRITTEN[1:]),
        ("f7 f7 2e 01 f7 f7 2d 03", REPLACED),
        # L7774: a flush that is cancelled has not happened; one before what is cancelled has.
        ("f7 f7 00 07 2e 01 f7 f7 2d 03", REPLACED),
        ("f7 00 07 f7 2e 01 f7 f7 2d 03", AS_WRITTEN),
        # A cancelled exception flushes nothing.
        ("f7 06 21 96 82 10 2e 01 f7 f7 2d 03", REPLACED),
        ("f7 04 96 82 10 f7 2e 01 f7 f7 2d 03", SEEN + ["gap: tracing was off"] + AS_WRITTEN[1:]),
    ],
)
def test_speculation(packets: str, ran: List[str]) -> None:
    assert run(FUTURE, packets, speculating=True) == ran


# Resynchronization (5.2.12).


@pytest.mark.parametrize(
    "packets",
    [
        "96 82 10 08 f7 96 80 20 f7",
        "96 82 10 08 f6 f7 96 80 20 f7",  # other atoms in between (L7791)
        "96 82 10 08 02 05 f7 71 96 80 20 f7",
        "96 82 10 08 f7 81 00 96 80 20 f7",
        "08 f7 96 80 20 f7",  # at once
    ],
)
def test_the_analysis_is_abandoned(packets: str) -> None:
    # L7805: up to the next Address nothing is told.
    found = run(FUTURE, packets)
    assert [line for line in found if line[0].isdigit()] == ["2000-2004 2E"]
    assert found[0].startswith("gap: ")


def test_it_is_ignored_while_a_future_is_known() -> None:
    # L7805.
    assert run(FUTURE, "f7 08 f7 96 80 20 f7") == REPLACED
    # Not when that has been flushed.
    found = run(FUTURE, "f7 00 07 08 f7 96 80 20 f7")
    assert [line for line in found if line[0].isdigit()] == SEEN + ["2000-2004 2E"]


def test_it_is_cancelled() -> None:
    # L7807: it goes with the BX LR before it, and that is traced anew, to 0x1004.
    there = "96 82 10 "
    assert run(FUTURE, there + "f7 f7 08 2e 01 f7 " + there + "f7 2d 03", speculating=True) == [
        "1004-1014 4E",
        "2000-2004 2E",
        "1004-1014 4E",
    ]
