"""Vectors worked by hand from IHI 0064: commit, cancel, Mispredict.

Lines are those of its text in ../shared/spec.  The unit can speculate on eight P0 elements unless a test says
otherwise.
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, Code, program, story

UNIT = A_PROFILE._replace(max_speculation=8, commit_mode=0)

# 1000 b 2000 | 2000 mov, ldr, cmp, beq 3000, str, b 4000 | 3000 mov, b 5000 | 4000 bxeq lr, b 1000 | 5000 mov, b 1000
# 6000 subs pc, lr, #4
FLOW = program(
    Code(0x1000, "fe0300ea"),
    Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000a 001080e5 f90700ea"),
    Code(0x3000, "0100a0e3 fd0700ea"),
    Code(0x4000, "1eff2f01 fdf3ffea"),
    Code(0x5000, "0100a0e3 fdefffea"),
    Code(0x6000, "04f05ee2"),
)
THERE = "81 21 9a 00 08 00 00 "
AT_1000 = ASYNC + "01 00 04 " + THERE
COUNTING = ASYNC + "01 09 01 10 04 " + THERE
BEGIN = ["gap: tracing was off", "EL1 NS"]
UNCOMMITTED = ["gap: not committed when the trace ended"]
FIRST = ["1000-1004 1E"]
TAKEN = FIRST + ["2000-2010 4E"]
NOT_TAKEN = FIRST + ["2000-2010 4N"]


def run(packets: str, max_speculation: int = 8) -> List[str]:
    """Decode from 0x1000 on, leaving out the two elements before it."""
    found = story(UNIT._replace(max_speculation=max_speculation), FLOW, AT_1000 + packets)
    assert found[:2] == BEGIN
    return found[2:]


# The speculation depth, and the commits that it implies (L12345, L12379).


@pytest.mark.parametrize(
    "depth, packets, ran",
    [
        (2, "f7 f6", []),
        (2, "f7 f6 f7", FIRST),
        (2, "fd", FIRST),  # E, N, E in one packet
        (1, "f7 f6", FIRST),
        (1, "f7 f6 f7", NOT_TAKEN),
        # An explicit Commit makes room: the third atom does not go beyond the depth.
        (2, "f7 f6 2d 01 f7", FIRST),
        (2, "f7 2d 01 f6 f7", FIRST),
        (2, "f7 2d 01 f6 f7 f7", NOT_TAKEN),
        # So does a Cancel: the E atom in place of the cancelled N is the second.
        (2, "f7 f6 2e 01 f7", []),
        (2, "f7 f6 2e 01 f7 f7", FIRST),
        # Exceptions count (L9702).
        (1, "f7 06 1d 95 80 10", FIRST),
        # Atoms in Mispredict (L10232) and Cancel packets (L10149): first the commit, then what follows.
        (1, "f7 33", FIRST),
        (1, "f7 32", FIRST + ["2000-2010 4E"]),
        (2, "f7 f6 35", FIRST),
    ],
)
def test_implied_commits(depth: int, packets: str, ran: List[str]) -> None:
    # What is left over is uncommitted when the trace ends.
    assert run(packets, max_speculation=depth) == ran + UNCOMMITTED


def test_a_depth_of_zero_commits_everything_at_once() -> None:
    # L2364.
    assert run("f7 f6 06 1d 95 85 10", max_speculation=0) == NOT_TAKEN + ["2010-2014 1E", "IRQ, return 2014"]


def test_discard_and_overflow_begin_again_with_no_depth() -> None:
    # L9282, L9332: the two uncommitted atoms are gone, so two more fit without a commit.
    for packet, gap in (
        ("00 03", "gap: the trace unit discarded what it had not output yet"),
        ("00 05", "gap: the trace unit's FIFO overflowed"),
    ):
        again = ASYNC + "01 00 04 " + THERE
        found = run("f7 f6 " + packet + again + "f7 f6", max_speculation=2)
        assert found == [gap, "gap: tracing was off"] + UNCOMMITTED
        found = run("f7 f6 " + packet + again + "f7 f6 f7", max_speculation=2)
        assert found == [gap, "gap: tracing was off"] + FIRST + UNCOMMITTED


# Commit (5.2.18, L7998).


def test_commits_may_come_late_and_together() -> None:
    # L8011.
    assert run("f7 f6 f7 2d 03") == run("f7 2d 01 f6 2d 01 f7 2d 01") == NOT_TAKEN + ["2010-2018 2E"]


@pytest.mark.parametrize("packet", ["2d 02", "0e 02 00", "0f 02", "0c 10", "0d 90", "14"])
def test_what_commits_two(packet: str) -> None:
    # L10045; Cycle Count format 1 (L9857), format 2 with F 0: AAAA + 1, with F 1: 8 + AAAA - 15 (L9887), format 3.
    found = story(UNIT, FLOW, COUNTING + "f7 f6 f7 " + packet)
    assert [line for line in found[2:] if not line.startswith("cycles")] == NOT_TAKEN + UNCOMMITTED


@pytest.mark.parametrize("packet", ["0e 00 00", "0f 00", "0d 70"])
def test_what_commits_none(packet: str) -> None:
    # L9824: zero or more; L9893: 8 + 7 - 15 is zero.
    found = story(UNIT, FLOW, COUNTING + "f7 f6 f7 " + packet)
    assert [line for line in found[2:] if not line.startswith("cycles")] == UNCOMMITTED


@pytest.mark.parametrize("packet, count", [("0e 02", "cycles 18"), ("0f", "cycles unknown"), ("12", "cycles 18")])
def test_cycle_counts_that_never_commit(packet: str, count: str) -> None:
    # L9826, L9928: with COMMOPT 1 formats 1 and 3 are no commits.
    found = story(UNIT._replace(commit_mode=1), FLOW, COUNTING + "f7 f6 2d 02 " + packet + " f7")
    assert found[2:] == NOT_TAKEN + [count] + UNCOMMITTED


def test_format_3_counts_all_its_commits() -> None:
    # AA of 3 commits four; the count is 16 + 1.
    assert story(UNIT, FLOW, COUNTING + "f7 f6 f7 f6 1d")[2:] == NOT_TAKEN + [
        "2010-2018 2E",
        "4000-4004 1N",
        "cycles 17",
    ]


# Cancel (5.2.19, L8019).


@pytest.mark.parametrize(
    "packets",
    [
        "f7 f7 f7 2e 02 f6",  # format 1: the two youngest
        "f7 f7 f7 2e 01 2e 01 f6",  # one after the other
        "f7 f7 f7 2e 82 00 f6",  # CANCEL of two bytes (L10102)
        "f7 f7 f7 2f 01",  # format 1 and a Mispredict, which turns E at 0x200c to N
        "f7 f7 f7 34",  # format 2, no atom (L10135)
        "f7 f7 35",  # one E atom, which is cancelled
        "f7 36",  # two E atoms, of which the younger is cancelled
        "f7 f7 37",  # one N atom
        "f7 f7 f7 f7 38",  # format 3: no atom, two cancelled (L10182)
        "f7 f7 f7 39",  # one E atom first
        "f7 f7 f7 f7 f7 3a",  # three
        "f7 f7 f7 f7 f7 f7 3c",  # four
        "f7 f7 f7 f7 f7 f7 f7 3e",  # five
        "f7 f7 f7 f7 f7 f7 3f",
    ],
)
def test_every_format(packets: str) -> None:
    # All of them come to E at 0x1000 and N at 0x200c; then the B at 0x2014 is taken.
    assert run(packets + " f7 2d 03") == NOT_TAKEN + ["2010-2018 2E"]


def test_the_youngest_uncommitted_are_cancelled() -> None:
    # The commit is of the oldest, wherever it stands.
    assert run("f7 f7 f7 2d 01 2e 02 f6 2d 01") == NOT_TAKEN
    assert run("f7 f7 2d 02 f7 2e 01") == TAKEN


def test_a_commit_in_what_is_cancelled_holds() -> None:
    # Table 5-9, L8061.
    assert run("f7 f6 2d 01 2e 01") == FIRST


def test_an_event_in_what_is_cancelled_stays() -> None:
    # Table 5-9, L8072.
    assert run("f7 f6 75 2e 01 2d 01") == FIRST + ["event 0", "event 2"]


def test_a_cycle_count_in_what_is_cancelled_stays() -> None:
    # Table 5-9, L8066: no Commit of its own, so it belongs to the most recent one (L9767).
    assert story(UNIT, FLOW, COUNTING + "f7 2d 01 f6 0e 00 02 2e 01")[2:] == FIRST + ["cycles 18"]


def test_a_timestamp_in_what_is_cancelled_may_stay() -> None:
    # Table 5-9, L8063: either way the rest is the same.
    found = run("f7 f6 02 05 2e 01 f7 2d 02")
    assert [line for line in found if line != "time 5"] == TAKEN


@pytest.mark.parametrize(
    "between",
    [
        "04 95 84 10 ",  # a Trace On (L8050) and an Address (L8052)
        "81 22 ",  # a Context (L8051)
        "06 1d 95 84 10 95 80 20 ",  # an Exception (L8054): two P0 elements, so the Cancel is of two
        "30 ",  # a Mispredict (L8062), which must not flip the atom before
        "43 ",  # a Conditional Flush (L8070)
    ],
)
def test_what_goes_with_a_cancelled_atom(between: str) -> None:
    cancelled = 2 if between.startswith("06") else 1
    assert run("f7 f6 %s 2e 0%d f7 2d 02" % (between, cancelled)) == TAKEN


def test_a_mispredict_before_what_is_cancelled_stays() -> None:
    # It belongs to the atom before it (L8082).
    assert run("f7 f6 30 f7 2e 01 2d 02") == TAKEN


def test_what_comes_before_the_oldest_cancelled_element_stays() -> None:
    # L8038: back to and including that element, not beyond.
    assert run("f7 04 95 84 10 81 22 f7 2e 01 2d 01") == FIRST + ["gap: tracing was off", "EL2 NS"]


def test_the_address_registers_keep_what_was_cancelled() -> None:
    # Table 6-4, L8782: packets update them, no element does.  0x2004 was cancelled; the Exact Match 90 is 0x2004, and
    # Short Addresses build on it.
    expected = FIRST + ["2000-2004 1E", "IRQ, return 2004"]
    assert run("f7 f6 95 81 10 2e 01 06 1d 90 2d 02") == expected
    assert run("f7 f6 95 88 10 2e 01 06 1d 95 01 2d 02") == expected


def test_the_context_registers_keep_what_was_cancelled() -> None:
    # Table 6-4, L8783: the Context without a Context ID has the one of the cancelled Context.
    in_aa = ASYNC + "01 00 04 81 a1 aa 00 00 00 9a 00 08 00 00 "
    found = story(UNIT, FLOW, in_aa + "f7 f6 81 a1 bb 00 00 00 2e 01 81 21 f6 2d 02")
    assert found[1:] == ["EL1 NS CID aa"] + FIRST + ["EL1 NS CID bb", "2000-2010 4N"]
    # Without another Context it is still 0xaa that the code runs in.
    found = story(UNIT, FLOW, in_aa + "f7 f6 81 a1 bb 00 00 00 2e 01 f6 2d 02")
    assert found[1:] == ["EL1 NS CID aa"] + NOT_TAKEN


def test_timestamps_build_on_what_was_cancelled() -> None:
    # L9412: 0x80 from the cancelled one, and 5.
    assert run("f7 f6 02 80 01 2e 01 f6 02 05 2d 02")[-1] == "time 133"


def test_an_exception_return_goes_with_its_atom() -> None:
    # L7564, A-profile: it is no P0 element; cancelled and committed with the atom before it.
    there = "9a 00 30 00 00 "  # 0x6000, before anything was executed
    back = "81 20 9a 00 08 00 00 f7 "
    assert run(there + "f7 07 2e 01") == []
    assert (
        run(there + "f7 07 2e 01 f7 07 " + back + "2d 02")
        == [
            "6000-6004 1E",
            "exception return",
            "EL0 NS",
        ]
        + FIRST
    )
    # Committed before the Exception Return comes, and not cancelled with what follows.
    assert run(there + "f7 2d 01 07 " + back + "2e 01") == ["6000-6004 1E", "exception return", "EL0 NS"]


def test_cancelling_across_a_trace_info() -> None:
    # L6752: the Trace Info, Context and Address after it go, but the analysis goes on from what was not cancelled.
    sync = ASYNC + "01 04 02 81 21 9a 00 18 00 00 "
    assert run("f7 f7 " + sync + "f7 2e 02 f6 2d 02") == NOT_TAKEN
    # As the unit has to: with a new Context and Address (L6759), which say where the last element went that was left.
    assert run("f7 f7 " + sync + "f7 2e 02 81 21 95 80 10 f6 2d 02") == NOT_TAKEN


# Mispredict (5.2.20, L8082).


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("f7 f6 30 2d 02", TAKEN),
        ("f7 f7 30 2d 02", NOT_TAKEN),
        ("f7 31 2d 02", NOT_TAKEN),  # one E atom (L10216)
        ("f7 33 2d 02", TAKEN),  # one N atom (L10220)
        ("32 2d 02", NOT_TAKEN),  # two E atoms (L10218); the last is flipped
        # L8084: several for the same atom.
        ("f7 f6 30 30 2d 02", NOT_TAKEN),
        ("f7 f6 30 30 30 2d 02", TAKEN),
        # L8009: after its atom has been committed.
        ("f7 f6 2d 02 30", TAKEN),
        ("f7 f6 2d 01 30 2d 01", TAKEN),
        ("f7 f6 2d 02 30 30", NOT_TAKEN),
        # After others that have been cancelled since.
        ("f7 f6 2d 02 f7 2f 01", TAKEN),
        ("f7 f6 2d 02 f7 2e 01 30", TAKEN),
        ("f7 f6 2d 02 35", TAKEN),
        # With what is no atom in between.
        ("f7 f6 71 30 2d 02", FIRST + ["2000-2010 4E", "event 0"]),
        ("f7 f6 81 22 30 2d 02", FIRST + ["2000-2010 4E", "EL2 NS"]),
        # The first atom of all; the Address before it stays.
        ("f6 30 f7 2d 02", TAKEN),
    ],
)
def test_mispredictions(packets: str, ran: List[str]) -> None:
    assert run(packets) == ran


def test_execution_goes_on_from_the_corrected_branch() -> None:
    # L8086: first the Mispredict, then the target.
    assert run("f7 f6 30 f7 2d 03") == TAKEN + ["3000-3008 2E"]
    assert run("f7 f6 2d 02 30 f7 2d 01") == TAKEN + ["3000-3008 2E"]
    assert run("f7 f7 30 f7 2d 03") == NOT_TAKEN + ["2010-2018 2E"]
    # An exception there: 0x3000 ran.
    assert run("f7 f6 30 06 1d 95 81 18 2d 03") == TAKEN + ["3000-3004 1E", "IRQ, return 3004"]


def test_a_mispredict_voids_the_addresses_since_its_atom() -> None:
    # L8090: BXEQ was not taken, so execution goes on with B 1000 and not at 0x5000.
    before = NOT_TAKEN + ["2010-2018 2E"]
    there = "95 80 28 "
    assert run("fd f7 " + there + "30 f7 2d 05") == before + ["4000-4004 1N", "4004-4008 1E"]
    # Committed before.
    assert run("fd f7 " + there + "2d 04 30 f7 2d 01") == before + ["4000-4004 1N", "4004-4008 1E"]
    # An Address after it holds; the one between the two Mispredicts does not.
    assert run("fd f6 30 " + there + "f7 2d 05") == before + ["4000-4004 1E", "5000-5008 2E"]
    assert run("fd f7 95 80 18 30 95 82 20 30 " + there + "f7 2d 05") == before + ["4000-4004 1E", "5000-5008 2E"]


def test_a_wrong_target_alone_is_corrected_by_an_address() -> None:
    # L8088.
    assert run("fd f7 95 80 18 95 80 28 f7 2d 05") == NOT_TAKEN + ["2010-2018 2E", "4000-4004 1E", "5000-5008 2E"]


# The end of the trace, and other things that end a stretch of speculation.


@pytest.mark.parametrize("packet", ["09", "00 01"])
def test_what_is_uncommitted_at_a_bad_packet_is_not_told(packet: str) -> None:
    found = run("f7 f6 2d 01 " + packet)
    assert found[:1] == FIRST
    assert not [line for line in found if line.startswith("2000")]
    assert "gap: bad packet" in found


def test_what_was_committed_is_told_when_the_rest_is_discarded() -> None:
    # L8009: a Mispredict might have come for it, but there is none.
    for packet in ("00 03", "00 05"):
        assert run("f7 f6 2d 01 " + packet)[:-1] == FIRST
        assert run("f7 f6 2d 02 " + packet)[:-1] == NOT_TAKEN


@pytest.mark.parametrize("bad", ["2d 03", "2e 03", "2d 00", "2e 00", "0d 00", "09"])
def test_the_next_trace_info_begins_again(bad: str) -> None:
    # L9207: the depth is what SPEC says, whatever came between what could not be and the Trace Info.
    again = " f7 f6 " + ASYNC + "01 04 01 " + THERE + "f7 "
    assert run("f7 f6 2d 01 " + bad + again + "2d 01")[-2:] == ["EL1 NS"] + UNCOMMITTED
    assert run("f7 f6 2d 01 " + bad + again + "2d 02")[-2:] == ["EL1 NS"] + FIRST
    found = run("f7 f6 2d 01 " + bad + again + "2d 02")
    assert found[:2] == FIRST + ["gap: bad packet"] and found.count(FIRST[0]) == 2


def test_events_stay_where_elements_are_discarded() -> None:
    # L6809: the P0 elements go.
    assert run("f7 71 00 03") == ["event 0", "gap: the trace unit discarded what it had not output yet"]


def test_nothing_is_uncommitted_when_nothing_executed() -> None:
    assert run("") == []
    assert run("f7 2d 01 95 80 10 81 22") == FIRST + ["EL2 NS"]
    assert run("f7 2e 01") == []
