"""Worked by hand: the content of runs, kept for a listing."""

from __future__ import annotations

from typing import Iterator, List, Tuple, Union

import pytest

from gdb_etm.history.placed import PlacedItems
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Event, Gap, GapReason, Range
from gdb_etm.protocols.recorder import Foreseen, Leg, Run

EXECUTED = [Range(at, at + 4, 1, Isa.A64, True) for at in (0x1000, 0x2000, 0x3000)]
GAP = Gap(0, GapReason.NO_CODE, "", 0x4000)


@pytest.mark.pure
def test_content_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: List[str] = []
    items = Run.items

    def counted(self: Run) -> Iterator[Tuple[int, Union[Range, Event]]]:
        asked.append("items")
        return items(self)

    def offset_of(position: int) -> int:
        asked.append("offset")
        return 10 * position

    monkeypatch.setattr(Run, "items", counted)
    # Two ranges of one packet, a gap after them, and one more packet.
    run = Run(3, (0, 2), (Leg(tuple(EXECUTED[:2])), Leg((EXECUTED[2],))), (Foreseen(1, 0, GAP),))
    placed = PlacedItems(offset_of)
    for begin in (100, 200, 300, 400):
        assert list(placed.at(run, begin)) == [
            (10 * begin, EXECUTED[0]),
            (10 * begin, EXECUTED[1]),
            (10 * begin, GAP._replace(offset=10 * begin)),
            (10 * begin + 20, EXECUTED[2]),
        ]
    # Once for what may come once only, and once to keep it.
    assert asked.count("items") == 2
    # One for each packet.
    assert asked.count("offset") == 8


def test_what_lies_before_the_run() -> None:
    # The rest of an Atom packet belongs to the run after it.
    run = Run(1, (-1, 0), (Leg((EXECUTED[0],)), Leg((EXECUTED[1],))))
    assert list(PlacedItems(abs).at(run, 9)) == [(8, EXECUTED[0]), (9, EXECUTED[1])]


def test_memory_is_bounded() -> None:
    placed = PlacedItems(abs)
    runs = [Run(1, (0,), (Leg((EXECUTED[0],)),)) for _ in range(3000)]
    for run in runs + runs:
        assert list(placed.at(run, 7)) == [(7, EXECUTED[0])]
    assert len(placed._kept) <= 1024
