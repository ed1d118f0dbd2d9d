"""Worked by hand: steps that follow from each other, as a tree."""

from __future__ import annotations

from typing import List, Optional

from gdb_etm.views.tree import TreeStep, tree_lines


def step(number: int, text: str, parent: Optional[int], aside: bool = False) -> TreeStep:
    """Make a step; those of the same text are a loop's."""
    return TreeStep(number, "<f>", "", text, parent, text, aside)


def lines(steps: List[TreeStep], most: Optional[int] = None) -> List[str]:
    """Write a tree without its columns of places."""
    return [line.replace("  <f>    ", " ") for line in tree_lines(steps, most)[0]]


def test_a_way_without_forks_goes_straight_down() -> None:
    assert lines([step(9, "a", None), step(8, "b", 0), step(7, "c", 1)]) == ["#9 a", "#8 b", "#7 c"]


def test_a_fork_is_indented() -> None:
    steps = [step(9, "sum", None), step(8, "left", 0), step(7, "right", 0), step(6, "below left", 1)]
    assert lines(steps) == ["#9 sum", "#8   left", "#6   below left", "#7   right"]


def test_what_is_aside_leaves_the_way_straight() -> None:
    steps = [step(9, "a", None), step(8, "b", 0), step(7, "its address", 0, True), step(6, "c", 1)]
    assert lines(steps) == ["#9 a", "#7   its address", "#8 b", "#6 c"]


def test_a_loop_is_told_once() -> None:
    # Two instructions, three times round; what came before the loop follows its last step.
    steps = [step(9, "a", None), step(8, "b", 0), step(7, "a", 1), step(6, "b", 2), step(5, "a", 3), step(4, "c", 4)]
    assert tree_lines(steps, None)[0] == [
        "#9  <f>    a",
        "           [2 more like it, to #5]",
        "#8  <f>      b",
        "             [1 more like it, to #6]",
        "#4  <f>      c",
    ]


def test_what_is_alike_side_by_side_is_told_once() -> None:
    steps = [step(1, "stored", None), step(2, "loaded", 0), step(3, "compared", 1), step(4, "loaded", 0)]
    steps += [step(5, "compared", 3), step(6, "loaded", 0)]
    assert tree_lines(steps, None)[0] == [
        "#1  <f>    stored",
        "#2  <f>    loaded",
        "           [2 more like it, to #6]",
        "#3  <f>    compared",
        "           [1 more like it, to #5]",
    ]


def test_those_that_matter_most_are_shown() -> None:
    steps = [step(9, "sum", None), step(8, "left", 0), step(7, "right", 0), step(6, "below left", 1)]
    found, left = tree_lines(steps, 3)
    assert [line.split()[-1] for line in found] == ["sum", "left", "right"] and left == 1
