"""Vectors worked by hand from IHI 0064 H.a: speculation, midstream.

Lines are those of its text in ../shared/spec.  SPEC P0 elements before the Trace Info are uncommitted (L9171).
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv4.streams import ASYNC, story
from tests.protocols.etmv4.test_speculation_vectors import FIRST, FLOW, THERE, UNCOMMITTED, UNIT


def middle(packets: str, uncommitted: int, max_speculation: int = 8) -> List[str]:
    """Decode from a periodic Trace Info on."""
    return story(UNIT._replace(max_speculation=max_speculation), FLOW, ASYNC + "01 04 %02x " % uncommitted + packets)


@pytest.mark.parametrize(
    "packets, ran",
    [
        ("f7 f6 2d 01", []),  # the Context comes after one that may still be cancelled
        ("f7 f6 2d 02", ["EL1 NS"]),
        ("f7 f6 2d 03", ["EL1 NS"] + FIRST),
        ("f7 2d 01 f6 2d 01 2d 01", ["EL1 NS"] + FIRST),
    ],
)
def test_the_first_commits_are_of_what_was_before(packets: str, ran: List[str]) -> None:
    assert middle(THERE + packets, 2) == ran + UNCOMMITTED


def test_they_count_for_the_depth() -> None:
    # L9207: with a depth of two the third P0 element commits the one before the Trace Info.
    assert middle(THERE + "f7 f6", 1, max_speculation=2) == ["EL1 NS"] + UNCOMMITTED
    assert middle(THERE + "f7 f6 f7", 1, max_speculation=2) == ["EL1 NS"] + FIRST + UNCOMMITTED


def test_cancelling_what_was_before() -> None:
    # L6752: Context and Address go, so a new Address is needed; the Commit is of one from before and the N atom.
    again = "81 21 9a 00 10 00 00 "
    assert middle(THERE + "f7 2e 02 " + again + "f6 2d 02", 2) == ["EL1 NS", "2000-2010 4N"]
    # L6779: until then nothing can be said, though the address registers know an address.
    assert middle(THERE + "f7 2e 02 f7 f6 2d 03", 2) == []
    assert middle(THERE + "f7 2e 02 f7 2d 02 81 21 90 f7 2d 01", 2) == ["EL1 NS"] + FIRST


def test_cancelling_all_that_was_after() -> None:
    # L6768: Context and Address came before the atom and stay, or after it and go.
    assert middle(THERE + "f7 2e 01 f7 2d 03", 2) == ["EL1 NS"] + FIRST
    assert middle("f7 " + THERE + "2e 01 f7 2d 03", 2) == []


def test_atoms_before_the_address_are_counted() -> None:
    # L6770: they are P0 elements that commit although where they ran is unknown.
    assert middle("f6 " + THERE + "f7 2d 01", 0) == ["EL1 NS"] + UNCOMMITTED
    assert middle("f6 " + THERE + "f7 2d 02", 0) == ["EL1 NS"] + FIRST


def test_a_mispredict_for_an_atom_from_before() -> None:
    # L8009: it may have been committed; the Address since then is void (L8090), and the next one holds.
    for uncommitted in (0, 1):
        assert middle(THERE + "30 f7 2d %02x" % (1 + uncommitted), uncommitted) == ["EL1 NS"]
        corrected = middle(THERE + "30 95 80 10 f6 2d %02x" % (1 + uncommitted), uncommitted)
        assert corrected == ["EL1 NS", "2000-2010 4N"]


def test_more_than_any_unit_has() -> None:
    # TRCIDR8 and SPEC may say anything; there are no billions of elements to keep.
    packets = ASYNC + "01 04 ff ff ff ff 0f " + THERE + "f7 2d 01"
    assert story(UNIT._replace(max_speculation=0xFFFFFFFF), FLOW, packets) == UNCOMMITTED
