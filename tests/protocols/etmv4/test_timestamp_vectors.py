"""Vectors worked by hand from IHI 0064, 5.2.14 and 5.2.15: timestamps.

Lines are those of its text in ../shared/spec.
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, story
from tests.protocols.etmv4.test_appendix_a_speculation import AT_1000, FLOW

UNIT = A_PROFILE._replace(version=6, marked_timestamps=True)
FIRST = ["1000-1004 1E"]
SECOND = ["2000-2010 4N"]
DISCARDED = "gap: the trace unit discarded what it had not output yet"


def run(packets: str, max_speculation: int = 0) -> List[str]:
    """Decode from 0x1000 on, leaving out the two elements before it."""
    return story(UNIT._replace(max_speculation=max_speculation, commit_mode=0), FLOW, AT_1000 + packets)[2:]


@pytest.mark.parametrize(
    "packets, ran",
    [
        # Without a marker: of the last Atom, Exception, Event (L7831).
        ("f7 02 05 f6", FIRST + ["time 5"] + SECOND),
        # With one: of the last before the marker (L7840), however late the value comes.
        ("f7 88 02 05 f6", FIRST + ["time 5"] + SECOND),
        ("f7 88 f6 02 05", FIRST + ["time 5"] + SECOND),
        ("f7 88 f6 03 05 07", FIRST + ["time 5 cycles 7"] + SECOND),
        ("f7 71 88 f6 02 05", FIRST + ["event 0", "time 5"] + SECOND),
        ("f7 88 71 f6 02 05", FIRST + ["time 5", "event 0"] + SECOND),
        ("f7 88 72 71 02 05 f6", FIRST + ["time 5", "event 1", "event 0"] + SECOND),
        ("f7 88 f6 06 1d 95 84 10 02 05", FIRST + ["time 5"] + SECOND + ["IRQ, return 2010"]),
        ("f7 f6 06 1d 95 84 10 88 95 80 20 71 02 05", FIRST + SECOND + ["IRQ, return 2010", "time 5", "event 0"]),
        # Of two markers the older is ignored (L7950).
        ("f7 88 f6 88 02 05", FIRST + SECOND + ["time 5"]),
        # Each of its own.
        ("f7 88 02 05 f6 88 02 07", FIRST + ["time 5"] + SECOND + ["time 7"]),
        ("f7 88 f6 02 05 88 02 07", FIRST + ["time 5"] + SECOND + ["time 7"]),
    ],
)
def test_what_a_timestamp_is_of(packets: str, ran: List[str]) -> None:
    assert run(packets) == ran
    assert run("f7 88 f6 02 05 f7") == FIRST + ["time 5"] + SECOND + ["2010-2018 2E"]


@pytest.mark.parametrize("packet", ["00 03", "00 05"])
def test_a_marker_before_trace_was_lost_is_ignored(packet: str) -> None:
    # L7952: the timestamp then has none, and stands where it comes.
    found = run("f7 88 f6 " + packet + AT_1000 + "f7 02 05")
    assert found[-3:] == ["gap: tracing was off"] + FIRST + ["time 5"]


def test_a_timestamp_for_before_the_trace() -> None:
    # L7851: its marker came before the Trace Info that analysis begins at.
    assert story(UNIT, FLOW, ASYNC + "01 00 02 05 81 21 9a 00 08 00 00 f7") == ["time 5", "EL1 NS"] + FIRST


def test_a_value_of_many_bytes() -> None:
    # Table 6-4, L8781: the compression is that of the packets, whatever they are of.
    assert run("f7 88 f6 02 80 01 88 02 05") == FIRST + ["time 128"] + SECOND + ["time 133"]


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("f7 88 f6 2d 02 02 05", FIRST + ["time 5"] + SECOND),
        ("f7 88 f6 02 05 2d 02", FIRST + ["time 5"] + SECOND),
        ("f7 f6 88 2d 02 02 05", FIRST + SECOND + ["time 5"]),
        # L7944, L7948: a Cancel leaves it; its element is gone, so it is of about the one before.
        ("f7 f6 88 2e 01 f6 02 05 2d 02", FIRST + ["time 5"] + SECOND),
        ("f7 88 f6 2e 01 f6 02 05 2d 02", FIRST + ["time 5"] + SECOND),
    ],
)
def test_speculation(packets: str, ran: List[str]) -> None:
    assert run(packets, 8) == ran
