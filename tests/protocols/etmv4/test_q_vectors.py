"""Vectors worked by hand from IHI 0064 H.a: Q elements.

A Q element tells how many instructions ran, and not which way the branches among them went.
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, Code, program, story

SPECULATING = A_PROFILE._replace(max_speculation=8, commit_mode=0)

# 1000 b 2000 | 2000 mov, ldr, cmp, beq 3000, str, b 4000 | 3000 mov, b 5000 | 4000 bxeq lr, b 1000 | 5000 mov, b 1000
# 6000 subs pc, lr, #4 | 7000 mov, b 7000; T32: 8000 movs, bx lr
FLOW = program(
    Code(0x1000, "fe0300ea"),
    Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000a 001080e5 f90700ea"),
    Code(0x3000, "0100a0e3 fd0700ea"),
    Code(0x4000, "1eff2f01 fdf3ffea"),
    Code(0x5000, "0100a0e3 fdefffea"),
    Code(0x6000, "04f05ee2"),
    Code(0x7000, "0100a0e3 fdffffea"),
    Code(0x8000, "0120 7047"),
)
AT_1000 = ASYNC + "01 00 04 81 21 9a 00 08 00 00 "
BEGIN = ["gap: tracing was off", "EL1 NS"]
FIRST = ["1000-1004 1E"]
NOT_TOLD = "gap: instructions whose path was not traced"
UNCOMMITTED = "gap: not committed when the trace ended"


def run(packets: str) -> List[str]:
    """Decode from 0x1000 on, leaving out the two elements before it."""
    found = story(A_PROFILE, FLOW, AT_1000 + packets)
    assert found[:2] == BEGIN
    return found[2:]


@pytest.mark.parametrize(
    "q",
    [
        "a5 83 10 03",  # Short IS0 of two bytes, then COUNT (L12701)
        "aa 03 10 00 00 03",  # 32-bit Long IS0 (L12706)
        "ac 03 95 83 10",  # the Address in a packet of its own (L12708)
        "ac 83 00 95 83 10",  # COUNT of two bytes (L12720)
    ],
)
def test_a_count_of_plain_instructions(q: str) -> None:
    # L7022: three instructions from 0x2000 on; the Address tells where it goes on, at the BEQ.
    assert run("f7 " + q + " f6") == FIRST + ["2000-200c 3E", "200c-2010 1N"]


@pytest.mark.parametrize("q, taken", [("aa 00 18 00 00 04", True), ("a5 84 10 04", False)])
def test_the_last_one_is_a_branch(q: str, taken: bool) -> None:
    # L7018: the Address is its target, or the instruction after it.
    following = "3000-3008 2E" if taken else "2010-2018 2E"
    assert run("f7 %s f7" % q) == FIRST + ["2000-2010 4E" if taken else "2000-2010 4N", following]


@pytest.mark.parametrize(
    "begin, q",
    [
        # The last three addresses are 0x7000 alone; 0x3000, 0x7000; 0x3000, 0x2000, 0x7000 (L12696).
        ("95 80 38 ", "a0 02"),
        ("95 80 38 95 80 18 ", "a1 06"),
        ("95 80 38 95 80 10 95 80 18 ", "a2 06"),
    ],
)
def test_addresses_by_their_register(begin: str, q: str) -> None:
    # From 0x3000: mov, b 5000, mov, b 1000, b 2000, mov; the addresses do not fit, but that is for the test to see.
    found = run(begin + q + " f7")
    assert found[-1] == "7000-7008 2E"


def test_two_loops_of_branches_that_are_always_taken() -> None:
    # L7022: of B there is no doubt: mov, b 7000, mov, b 7000.
    assert run("95 80 38 a0 04 f7") == ["7000-7008 2E"] * 3


@pytest.mark.parametrize("q", ["a6 81 80 01", "ab 01 80 00 00 01"])
def test_t32_addresses(q: str) -> None:
    # L12702, L12707: the payload of Short and Long IS1 Address packets: 0x8002.
    assert run("9b 00 80 00 00 %s f7" % q) == ["8000-8002 1E", "8002-8004 1E"]


def test_an_unknown_count() -> None:
    # L12714: how many ran is not known, nor where, but for the Address after it.
    assert run("f7 af 95 80 18 f7") == FIRST + [NOT_TOLD, "3000-3008 2E"]


def test_a_branch_among_them() -> None:
    # L7022: whether BEQ was taken is not known; of six instructions the three before it ran for certain.
    found = run("f7 aa 00 20 00 00 06 f6")
    assert found[0] == FIRST[0] and found[-2:] == [NOT_TOLD, "4000-4004 1N"]
    assert found[1:-2] in (["2000-200c 3E"], ["2000-2010 4E"], ["2000-2010 4N"])


def test_an_isb_among_them() -> None:
    # L7026: it goes on with the next instruction whatever it does: mcr, add, isb, sub, and nop comes after the Q.
    code = program(Code(0x1000, "fe0300ea"), Code(0x2000, "300f0dee 010080e2 6ff07ff5 010040e2 00f020e3"))
    found = story(A_PROFILE, code, AT_1000 + "f7 a5 84 10 04 06 1d 95 85 10")[3:]
    assert found[-2:] == ["2010-2014 1E", "IRQ, return 2014"]
    assert found[:-2] in (["2000-2010 4E"], ["2000-200c 3E", "200c-2010 1E"])


def test_an_exception_after_them() -> None:
    # L7024: a Q implies none; the Exception tells that CMP ran besides.
    assert run("f7 a5 82 10 02 06 1d 95 83 10") == FIRST + ["2000-2008 2E", "2008-200c 1E", "IRQ, return 200c"]
    assert run("f7 a5 82 10 02 06 1d 90") == FIRST + ["2000-2008 2E", "IRQ, return 2008"]


def test_an_exception_return_as_the_last() -> None:
    # L7024: then the Exception Return element, which is no P0 element (L7564), and where it went.
    stream = "9a 00 30 00 00 ac 01 07 81 20 9a 00 08 00 00 f7"
    assert run(stream) == ["6000-6004 1E", "exception return", "EL0 NS"] + FIRST


@pytest.mark.parametrize(
    "low, ran",
    [("04", ["400000-400008 2E", "400010-400014 1E"]), ("02", ["400000-400008 2N", "400008-400010 2E"])],
)
def test_a_branch_as_the_last_and_a_64_bit_address(low: str, ran: List[str]) -> None:
    # L12726: a 64-bit address comes in a packet after the Q, and tells which way the branch at its end went.
    # 400000 nop | b.eq 400010 | nop, ret | ret
    code = program(Code(0x400000, "1f2003d5 60000054 1f2003d5 c0035fd6 c0035fd6"))
    stream = ASYNC + "01 00 04 81 31 9d 00 00 40 00 00 00 00 00 ac 02 9d %s 00 40 00 00 00 00 00 f7" % low
    assert story(A_PROFILE, code, stream)[2:] == ran


def test_no_address_after_a_branch() -> None:
    # L7018: it always follows; without one nothing is known of what comes next.
    assert run("f7 ac 04 f7 95 80 18 f7") == FIRST + ["2000-2010 4E", "gap: address unknown", "3000-3008 2E"]
    # Unless the trace ends (L7018), or there was a gap.
    assert run("f7 ac 04") == FIRST + ["2000-2010 4E"]
    assert run("f7 ac 04 04 95 84 10 f7") == FIRST + ["2000-2010 4E", "gap: tracing was off", "2010-2018 2E"]


def test_a_context_before_or_after_the_address() -> None:
    # L7028.
    for q in ("ac 03 81 22 95 83 10", "ac 03 95 83 10 81 22", "a5 83 10 03 81 22"):
        assert run("f7 " + q + " f6") == FIRST + ["2000-200c 3E", "EL2 NS", "200c-2010 1N"]


def test_missing_code_among_them() -> None:
    code = program(Code(0x1000, "fe0300ea"), Code(0x2000, "0100a0e3 001090e5"))
    found = story(A_PROFILE, code, AT_1000 + "f7 a5 84 10 04 f7")
    assert found[2:5] == FIRST + ["2000-2008 2E", "gap: no code 2008"]


# The return stack (L7032, L8178).  1000 bleq 100c | 1004 mov, bleq 2000 | 100c bx lr | 2000 bxeq lr, bx lr
CALLS = program(Code(0x1000, "0100000b 0100a0e3 fc03000b 1eff2fe1"), Code(0x2000, "1eff2f01 1eff2fe1"))


def test_calls_among_them_push_nothing() -> None:
    found = story(A_PROFILE._replace(return_stack=True), CALLS, AT_1000 + "a5 83 08 01 f7 f6")
    assert found[2:] == ["1000-1004 1E", "100c-1010 1E", "gap: address unknown"]


def test_returns_among_them_pop_nothing() -> None:
    # BL pushes 0x1004, BX LR in the Q leaves it there; BL 2000 pushes 0x100c, BXEQ LR and BX LR take both.
    found = story(A_PROFILE._replace(return_stack=True), CALLS, AT_1000 + "f7 a5 81 08 01 f7 f7 f7 f6")
    assert found[2:] == [
        "1000-1004 1E",
        "100c-1010 1E",
        "1004-100c 2E",
        "2000-2004 1E",
        "100c-1010 1E",
        "1004-100c 2N",
    ]


def test_a_branch_before_a_q_takes_its_target_from_the_stack() -> None:
    # L8247: no Address before the next Atom, Q or Exception.
    found = story(A_PROFILE._replace(return_stack=True), CALLS, AT_1000 + "f7 f7 a5 82 08 01 f6")
    assert found[2:] == ["1000-1004 1E", "100c-1010 1E", "1004-1008 1E", "1008-100c 1N"]


# Under speculation it is a P0 element (L7010, L12804).


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("f7 a5 83 10 03 2d 02 f6 2d 01", FIRST + ["2000-200c 3E", "200c-2010 1N"]),
        ("f7 a5 83 10 03 f6 2d 02", FIRST + ["2000-200c 3E", UNCOMMITTED]),
        ("f7 a5 83 10 03 2d 01", FIRST + [UNCOMMITTED]),
        # Cancelled, and the Address with it.
        ("f7 a5 83 10 03 2e 01 f6 2d 02", FIRST + ["2000-2010 4N"]),
        ("f7 a5 83 10 03 f6 2e 02 f6 2d 02", FIRST + ["2000-2010 4N"]),
        # A Mispredict is of the last atom, and a Q is none: it is cancelled first.
        ("f7 f7 af 95 80 28 2f 01 f7 2d 03", FIRST + ["2000-2010 4N", "2010-2018 2E"]),
    ],
)
def test_commit_and_cancel(packets: str, ran: List[str]) -> None:
    assert story(SPECULATING, FLOW, AT_1000 + packets) == BEGIN + ran


def test_it_counts_for_the_depth() -> None:
    found = story(SPECULATING._replace(max_speculation=1), FLOW, AT_1000 + "f7 a5 83 10 03")
    assert found == BEGIN + FIRST + [UNCOMMITTED]


# 9000 nop, isb, beq 9000, nop
BARRIER = program(Code(0x9000, "00bf bff36f8f fbd0 00bf"))
AT_9000 = ASYNC + "01 00 81 21 9b 00 90 00 00 "


@pytest.mark.parametrize(
    "q, expected",
    [
        ("ac 03 96 84 90", ["9000-9008 3N"]),
        ("ac 03 90", ["9000-9008 3E"]),
        # An A-Sync packet in between is no element.
        ("ac 03 %s 90" % ASYNC, ["9000-9008 3E"]),
        # Neither the branch's target nor the instruction after it.
        ("ac 03 96 85 90", ["9000-9008 3E", "gap: trace and program disagree"]),
    ],
)
def test_the_branch_at_the_end_lies_behind_a_barrier(q: str, expected: List[str]) -> None:
    # L7018; an ISB is no reason for the unit to end a Q element when the context stays (L7034).
    assert story(A_PROFILE, BARRIER, AT_9000 + q) == ["EL1 NS"] + expected


def test_a_branch_that_is_always_taken_at_the_end() -> None:
    # BX LR to the instruction after it was taken.
    assert run("9b 00 80 00 00 a6 82 80 02") == ["8000-8004 2E"]
    # 9010 nop, b 9010: that cannot go on at 0x9014.
    loop = program(Code(0x9010, "00bf fde7 00bf"))
    at_9010 = ASYNC + "01 00 81 21 9b 08 90 00 00 "
    assert story(A_PROFILE, loop, at_9010 + "a6 8a 90 02")[1:] == ["9010-9014 2E", "gap: trace and program disagree"]


def test_any_count_takes_bounded_time() -> None:
    # The instruction at 0x7004 goes to 0x7000 for ever.
    at_7000 = ASYNC + "01 00 81 21 9a 00 38 00 00 "
    found = story(A_PROFILE, FLOW, at_7000 + "ac ff ff ff ff 7f")
    assert found[1] == "7000-7008 2E" and found[-1] == NOT_TOLD
