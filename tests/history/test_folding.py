"""Worked by hand: calls folded around a position."""

from __future__ import annotations

from typing import AbstractSet, List, Tuple, Union

from gdb_etm.history.calls import Interrupt, Segment
from gdb_etm.history.folding import Fold, Unfolded, folded
from tests.history.paths import BL, BX_LR, Path

FUNCTIONS = {
    "main": (0x100, 0x200),
    "first": (0x200, 0x300),
    "second": (0x300, 0x400),
    "leaf": (0x400, 0x500),
    "handler": (0x700, 0x800),
}


def looked_at(
    path: Path, instruction: int, opened: AbstractSet[int] = frozenset()
) -> List[Union[Tuple[int, int], str]]:
    """Give numbers of instructions that are listed, and names of folds."""
    entries = path.entries()
    at = next(index for index, one in enumerate(entries) if isinstance(one, Segment) and one.last >= instruction)
    found = folded(entries, at, opened)
    return [(one.first, one.last) if isinstance(one, Unfolded) else _fold(one) for one in found]


def _fold(fold: Fold) -> str:
    name = "?"
    if isinstance(fold.entry, Interrupt):
        name = "<%s>" % fold.entry.event.name
    elif fold.entry.function is not None:
        name = fold.entry.function.name
    return "%d-%d %s" % (fold.first, fold.last, name)


def calling() -> Path:
    """Main calls the first, which calls the leaf twice; then the second."""
    p = Path(FUNCTIONS).run(0x100, 0, BL).run(0x200, 1, BL).run(0x400, 1, BX_LR).run(0x206, 0, BL)
    p.run(0x400, 1, BX_LR).run(0x20A, 0, BX_LR).run(0x104, 0, BL).run(0x300, 2, BX_LR)
    return p.run(0x108, 2)


def test_calls_of_the_function_at_the_position_are_folds() -> None:
    assert looked_at(calling(), 1) == [(1, 1), "2-9 first", (10, 10), "11-13 second", (14, 15)]
    assert looked_at(calling(), 15) == looked_at(calling(), 1)


def test_callers_are_open_and_their_other_calls_are_folds() -> None:
    at_first = [(1, 3), "4-5 leaf", (6, 6), "7-8 leaf", (9, 10), "11-13 second", (14, 15)]
    assert looked_at(calling(), 2) == looked_at(calling(), 9) == at_first
    # The leaf's other call is a fold.
    assert looked_at(calling(), 4) == [(1, 6), "7-8 leaf", (9, 10), "11-13 second", (14, 15)]
    assert looked_at(calling(), 12) == [(1, 1), "2-9 first", (10, 15)]


def test_a_fold_that_is_opened_has_folds_of_its_own() -> None:
    opened = looked_at(calling(), 15, {2})
    assert opened == [(1, 3), "4-5 leaf", (6, 6), "7-8 leaf", (9, 10), "11-13 second", (14, 15)]
    assert looked_at(calling(), 15, {2, 7}) == [(1, 3), "4-5 leaf", (6, 10), "11-13 second", (14, 15)]


def test_an_exception_is_a_fold_with_its_handler() -> None:
    p = Path(FUNCTIONS).run(0x100, 1).take("SysTick", 15, 0x102).run(0x700, 1, BX_LR).run(0x102, 1)
    assert looked_at(p, 1) == [(1, 1), "2-3 <SysTick>", (4, 4)]
    assert looked_at(p, 3) == [(1, 4)]


def test_an_exception_whose_handler_has_not_begun_is_no_fold() -> None:
    assert looked_at(Path(FUNCTIONS).run(0x100, 1).take("HardFault", 3, 0x102), 1) == [(1, 1)]


def test_both_threads_are_open_around_a_switch_and_its_handler_is_a_fold() -> None:
    # The first was called by main; the second runs on another stack.
    p = Path(FUNCTIONS).run(0x100, 0, BL).run(0x200, 1).switch(0x202, 0x300).run(0x302, 0, BL).run(0x400, 1)
    assert "1 to 2" in p.outline()
    assert looked_at(p, 2) == [(1, 2), "3-6 <PendSV>", (7, 8), "9-9 leaf"]
    assert looked_at(p, 9) == [(1, 2), "3-6 <PendSV>", (7, 9)]
