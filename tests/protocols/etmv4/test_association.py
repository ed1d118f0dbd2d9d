"""Worked by hand and property test: transfers and their P0 elements.

Evidence: the specification's five worked examples (L1701 to L2100, figures 2-8 to 2-12), and vectors worked by hand
from its rules (the line stands beside each); a model of the trace unit's rules against the analyser's.

Streams are written as words.  Instruction stream: a digit is a P0 element with that key, ``@`` a timestamp, ``N``
and ``U`` markers, ``C`` a Cancel, ``L`` trace that was lost.  Data stream: a digit is a P1 element with that left
key, ``=`` a P2 element with the value, ``O``, ``D`` and ``S`` are Overflow, Discard and Suppression.
"""

from __future__ import annotations

import random
from typing import List, Optional, Sequence, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.data.association import Association, associate
from gdb_etm.protocols.etmv4.data.elements import P1, P2, DataElement, Suppression
from gdb_etm.protocols.etmv4.log import Cancelled, Item, Lost, Marker, Parent, Time

# Number of P0 keys in all the specification's examples (L1705).
KEYS = 6


def common(word: str) -> Optional[Item]:
    if word[0] == "N":
        return Marker(int(word[1:]))
    if word == "U":
        return Marker(None)
    return Time(int(word[1:])) if word[0] == "@" else None


def log(text: str) -> List[Item]:
    items: List[Item] = []
    for word in text.split():
        item = common(word)
        if item is None:
            item = Lost() if word == "L" else Cancelled(int(word[1:])) if word[0] == "C" else Parent(int(word))
        items.append(item)
    return items


def data(text: str) -> List[DataElement]:
    """Make a data stream; offsets are indices, right keys from 1."""
    elements: List[DataElement] = []
    right = 0
    for offset, word in enumerate(text.split()):
        element = common(word)
        if isinstance(element, (Marker, Time)):
            elements.append(element)
        elif word[0] == "=":
            elements.append(P2(offset, right, int(word[1:])))
        elif word in "OD":
            elements.append(Gap(offset, GapReason.OVERFLOW if word == "O" else GapReason.DISCARD, ""))
        elif word == "S":
            elements.append(Suppression(offset))
        else:
            right += 1
            elements.append(P1(offset, int(word), right, 0, None, None))
    return elements


def parents(items: Sequence[Item], found: Association) -> List[Tuple[int, int]]:
    """Return each match's P1 key and P0 number, from 1."""
    order = [id(item) for item in items if isinstance(item, Parent)]
    return [(match.transfer.right, order.index(id(match.parent)) + 1) for match in found.matches]


def matched(instructions: str, transfers: str) -> List[Tuple[int, int]]:
    items = log(instructions)
    return parents(items, associate(items, data(transfers), KEYS))


@pytest.mark.parametrize(
    "instructions, transfers, expected",
    [
        # Example 1, basic alignment and matching: L1712, figure 2-8.
        ("0 @10 1 2 3 N0 4 5 0 @30 1 2 3", "N0 @20 1 2 4", [(1, 2), (2, 3), (3, 5)]),
        # Example 2, a substantial time lapse: L1781, figure 2-9.
        ("0 @10 1 2 3 N0 4 5 0 @30 1 U 2 3", "N0 @20 1 U 5 0", [(1, 2), (2, 6), (3, 7)]),
        # Example 3, out of order: L1879, figure 2-10.  The second is found backwards and does not move the last match.
        ("0 @10 1 2 3 N0 4 5 0 U @30 1 2 3", "N0 @20 1 0 U 5", [(1, 2), (2, 1), (3, 6)]),
        # Example 4, misspeculation: L1968, figure 2-11.  The cancelled 3 and 4 come first.
        ("0 @10 1 2 3 N0 4 C2 3 4 U 5 0 @30 1", "N0 @20 1 2 U 4", [(1, 2), (2, 3), (3, 7)]),
        # Example 5, misspeculation: L2050, figure 2-12.  The second belongs to a cancelled P0 element.
        ("0 @10 1 N0 2 3 4 C2 3 U 4 5 0 @30 1", "N0 @20 1 3 U 3", [(1, 2), (2, 4), (3, 6)]),
    ],
    ids=["basic", "time lapse", "out of order", "misspeculation 1", "misspeculation 2"],
)
def test_the_specifications_examples(instructions: str, transfers: str, expected: List[Tuple[int, int]]) -> None:
    items = log(instructions)
    found = associate(items, data(transfers), KEYS)
    assert parents(items, found) == expected
    assert all(match.certain for match in found.matches) and not found.missing


@pytest.mark.parametrize(
    "instructions, transfers, expected",
    [
        # Several transfers of one element: the search forwards begins at the last match itself (L1253).
        ("@1 0 1 N0 2 3", "N0 @1 1 1 1 2", [(1, 2), (2, 2), (3, 2), (4, 3)]),
        # A Cancel ends the search forwards (L1256), and backwards there is a 5.
        ("@1 5 0 N0 1 C1 1 2 3 4 5", "N0 @1 0 5", [(1, 2), (2, 1)]),
        # An Overflow or a Discard ends it, and nothing is found (L1260).
        ("@1 5 0 N0 1 L 2 3 N1 @2", "N0 @1 0 2 1 N1 3", [(1, 2), (3, 3), (4, 5)]),
        # At the end of the trace the search goes on backwards, where there is a 5; but that is not certain (see below).
        ("@1 5 0 N0 1", "N0 @1 0 5 1", [(1, 2), (2, 1), (3, 3)]),
        # Backwards from a marker an Overflow ends the search (L1283); the next marker is needed for what follows.
        ("@1 0 L 1 N0 2 3 U 4", "N0 @1 0 2 U 3", [(3, 4)]),
        # Backwards to the start of the trace (L1287): it is the last match, and 2 is found from there.
        ("@1 0 1 N0 2 3", "N0 @1 5 0 2", [(2, 1), (3, 3)]),
        # No transfer before the first marker can be placed (L1300), nor one with a key that there is not.
        ("@1 0 1 N0 2 3", "0 @1 N0 1 7 2", [(2, 2), (4, 3)]),
        # The first marker without a partner: transfers wait for one that has (L1346).
        ("@1 0 1 N4 2 3", "N3 @1 0 1 N4 1 2", [(3, 2), (4, 3)]),
        # With one key (L16858) every transfer has its marker.
        ("@1 0 0 N0 0 0 U 0", "N0 @1 0 U 0", [(1, 2), (2, 4)]),
    ],
)
def test_the_search(instructions: str, transfers: str, expected: List[Tuple[int, int]]) -> None:
    keys = 1 if not set(instructions.replace("@1", "").replace("N0", "")) & set("123456") else KEYS
    items = log(instructions)
    assert parents(items, associate(items, data(transfers), keys)) == expected


def test_what_is_found_from_the_end_of_the_trace_is_not_certain() -> None:
    # L1262: a P0 element after the end may be the one that is meant; of the transfers before there is no doubt.
    found = associate(log("@1 5 0 N0 1"), data("N0 @1 0 5 1"), KEYS, True).matches
    assert [match.certain for match in found] == [True, False, True]


@pytest.mark.parametrize(
    "instructions, transfers, expected",
    [
        # Two markers with the number: the timestamps tell (L1322 to L1340).
        ("0 @10 N3 1 @20 0 N3 1 @30", "@22 N3 @28 0", [(1, 3)]),
        ("0 @10 N3 1 @20 0 N3 1 @30", "@12 N3 @18 0", [(1, 1)]),
        # Only one bound: before, and after.
        ("0 @10 N3 1 @20 0 N3 1 @30", "@22 N3 0", [(1, 3)]),
        ("0 @10 N3 1 @20 0 N3 1 @30", "N3 @12 0", [(1, 1)]),
        # The next ones pair off in order, numbered or not (L1343).
        ("@10 0 N3 1 U 2 N4 3 U", "N3 @10 0 U 1 N4 2 U 3", [(1, 1), (2, 2), (3, 3), (4, 4)]),
        # An Overflow in the instruction stream: from its next numbered marker (L1351).
        ("@10 0 N3 1 L 2 U 3 N4 @20", "N3 @11 0 U 2 N4 @20 3", [(1, 1), (3, 4)]),
        # An Overflow in the data stream: markers of the instruction stream are left over (L1349).
        ("@10 0 N3 1 U 2 U 3 N4 @20", "N3 @11 0 O N4 @20 3", [(1, 1), (2, 4)]),
        # Markers that should be the same and are not: aligned anew.
        ("@10 0 N3 1 U 2 U 3 N4 4 @20", "N3 @11 0 N4 @20 3 4", [(1, 1), (2, 4), (3, 5)]),
        # A timestamp of 0 is not known (L7898).
        ("0 @10 N3 1 @20 0 N3 1 @30", "@22 @0 N3 @0 0", [(1, 3)]),
    ],
)
def test_alignment(instructions: str, transfers: str, expected: List[Tuple[int, int]]) -> None:
    items = log(instructions)
    found = associate(items, data(transfers), KEYS)
    assert parents(items, found) == expected
    assert all(match.certain for match in found.matches)


@pytest.mark.parametrize(
    "instructions, transfers, expected",
    [
        # No timestamps at all (L1332): paired, for there is but one, and not certain.
        ("0 1 N3 2", "N3 1 2", [(1, 2), (2, 3)]),
        # Two that fit: what follows tells them apart, but a doubt remains where it does not (L1366).
        ("@10 0 N3 1 U 2 @20", "@10 N3 @20 0 U 1", [(1, 1), (2, 2)]),
        ("@10 0 N3 1 @11 1 N3 2 @20", "@10 N3 @12 0", [(1, 1)]),
    ],
)
def test_doubtful_alignment(instructions: str, transfers: str, expected: List[Tuple[int, int]]) -> None:
    items = log(instructions)
    found = associate(items, data(transfers), KEYS)
    assert parents(items, found) == expected
    certain = instructions.count("N3") == 1 and "@" in transfers
    assert {match.certain for match in found.matches} == {certain}


def test_one_certain_marker_makes_all_certain() -> None:
    # The first has no timestamps around it in either stream; the second has, and the first is counted back from it.
    items = log("0 N3 1 @20 2 N4 @30")
    found = associate(items, data("N3 0 1 @20 N4 @30 2"), KEYS)
    assert parents(items, found) == [(1, 1), (2, 2), (3, 3)]
    assert all(match.certain for match in found.matches)


def test_the_first_markers_of_whole_streams_are_the_same() -> None:
    items = log("0 N3 1 @20 2")
    for from_start in (False, True):
        found = associate(items, data("N3 @20 0 1"), KEYS, from_start)
        assert parents(items, found) == [(1, 1), (2, 2)]
        assert {match.certain for match in found.matches} == {from_start}
    # Not after a loss: the first marker may have been in what was lost.
    assert not any(match.certain for match in associate(log("0 L 0 N3 1"), data("N3 0 1"), KEYS, True).matches)


def test_what_follows_chooses_between_two() -> None:
    # L1366: the later numbered marker has one partner, and counting back from it gives the first its own.
    items = log("@10 0 N3 1 U 2 3 N3 4 N4 5 @20")
    found = associate(items, data("@10 N3 @20 3 N4 4"), KEYS)
    assert parents(items, found) == [(1, 4), (2, 5)]


def test_values() -> None:
    # A P2 element belongs to the last open P1 element with its key (L1190); lost trace leaves none open (L8311).
    items = log("@1 0 1 2 N0")
    found = associate(
        items,
        [
            Marker(0),
            Time(1),
            P1(0, 0, 7, 0, None, None),
            P1(1, 1, 8, 0, None, None),
            P2(2, 8, 0x88),
            P2(3, 8, 0x99),
            P2(4, 7, 0x77),
            P1(5, 2, 7, 0, None, None),
            Gap(6, GapReason.DISCARD, ""),
            P2(7, 7, 0x66),
        ],
        KEYS,
    )
    assert [match.value for match in found.matches] == [0x77, 0x88, None]


def test_what_is_missing_is_told() -> None:
    items = log("@1 0 1 2 N0 3 U")
    found = associate(items, data("4 4 N0 @1 2 S O 3 N5 3"), KEYS)
    assert [(missing.after, missing.gap) for missing in found.missing] == [
        (0, Gap(0, GapReason.UNPLACED, "2 transfers")),
        (1, Gap(5, GapReason.SUPPRESSED, "")),
        (1, Gap(6, GapReason.OVERFLOW, "")),
        (1, Gap(7, GapReason.UNPLACED, "2 transfers")),
    ]


WORDS = st.sampled_from(["0", "1", "2", "3", "4", "5", "N0", "N1", "U", "@5", "@9", "@0"])


@settings(max_examples=300)
@given(
    st.lists(WORDS | st.sampled_from(["L", "C1", "C2"]), max_size=40),
    st.lists(WORDS | st.sampled_from(["O", "D", "S", "=1", "9"]), max_size=40),
)
def test_any_streams(instructions: List[str], transfers: List[str]) -> None:
    """Each transfer has one parent with its key, or is missing."""
    items = log(" ".join(instructions))
    elements = data(" ".join(transfers))
    found = associate(items, elements, KEYS)
    assert all(match.transfer.left == match.parent.key for match in found.matches)
    details = [missing.gap.detail for missing in found.missing if missing.gap.reason is GapReason.UNPLACED]
    unplaced = sum(int(detail.split()[0]) for detail in details)
    assert len(found.matches) + unplaced == sum(isinstance(element, P1) for element in elements)


class _Unit:
    """A trace unit's markers for parents outside the search space (2.4.4)."""

    def __init__(self, choose: random.Random, keys: int) -> None:
        self.choose = choose
        self.keys = keys
        self.parents: List[Parent] = []
        self.items: List[Item] = [Time(1)]
        self.elements: List[DataElement] = []
        self.truth: List[Parent] = []
        self.last = -1
        self.number = choose.randrange(8)

    def execute(self) -> None:
        self.parents.append(Parent(len(self.parents) % self.keys))
        self.items.append(self.parents[-1])

    def transfer(self, place: int) -> None:
        end, ahead = self.keys // 2, place - self.last
        if self.last < 0 or not end - self.keys < ahead <= end:
            number = None
            if not self.truth or not self.choose.randrange(4):
                number = self.number = (self.number + 1) % 8
            self.items.append(Marker(number))
            self.elements.append(Marker(number))
            if number is not None:
                self.items.append(Time(len(self.items)))
                self.elements.append(Time(len(self.items) - 1))
        self.last = max(self.last, place)
        self.elements.append(P1(len(self.truth), place % self.keys, 0, 0, None, None))
        self.truth.append(self.parents[place])


@pytest.mark.parametrize("keys", [1, 2, 3, 6, 8, 31])
def test_what_a_trace_unit_marks_is_found(keys: int) -> None:
    """Transfers late and out of order find their elements."""
    for seed in range(60):
        choose = random.Random(seed)
        unit = _Unit(choose, keys)
        waiting: List[int] = []
        for place in range(80):
            # A key is used again only when all that belongs to it is out (L1213).
            for old in [old for old in waiting if place - old >= keys]:
                waiting.remove(old)
                unit.transfer(old)
            unit.execute()
            waiting += [place] * choose.choice((0, 0, 1, 2))
            for _ in range(choose.randrange(4)):
                if waiting:
                    unit.transfer(waiting.pop(choose.randrange(len(waiting))))
        for _ in range(keys):
            # What ends a search is in the trace; at its end nothing could be found (L1262).
            unit.execute()
        found = associate(unit.items, unit.elements, keys)
        assert [match.parent for match in found.matches] == unit.truth, seed
        assert all(match.certain for match in found.matches) and not found.missing, seed
