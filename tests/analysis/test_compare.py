"""Worked by hand: executions beside one another."""

from __future__ import annotations

from typing import Dict, Sequence

from gdb_etm.analysis.compare import Execution, Strand, compare
from gdb_etm.analysis.compare_calls import plain_name


def execution(threads: Dict[int, Sequence[int]]) -> Execution:
    """Make an execution that was seen whole, from each thread's tokens."""
    numbers = {thread: range(1, len(tokens) + 1) for thread, tokens in threads.items()}
    strands = {thread: Strand(numbers[thread], numbers[thread], tokens, []) for thread, tokens in threads.items()}
    return Execution(strands, [], True)


def test_the_first_token_that_differs() -> None:
    found = compare(execution({0: [7, 8, 9, 5]}), execution({0: [7, 8, 6, 5]}), False)
    assert found.alike == 2 and found.divergence is not None and not found.doubts
    assert found.divergence[:4] == (2, 2, 3, 3)


def test_what_has_nothing_in_common_is_not_called_alike() -> None:
    for other in ({1: [7, 8]}, {0: []}, {}):
        found = compare(execution({0: [7, 8]}), execution(other), True)
        assert found.doubts == ("no thread ran in both: only handlers could be compared",)
    found = compare(execution({0: [7, 8]}), execution({0: [8, 7]}), True)
    assert found.doubts == ("nothing at their beginning is alike",)
    assert found.alike == 0 and found.divergence is None


def test_names_that_a_function_has_in_every_build() -> None:
    same = ("parse", "parse.constprop.0", "parse.isra.0", "parse.constprop.0.isra.0", "parse.lto_priv.3")
    assert {plain_name(name) for name in same} == {"parse"}
    for name in ("parse.part.0", "parse.cold", "memcpy", "__aeabi_uidiv", "strlen", "puts"):
        assert plain_name(name) is None
    assert (
        plain_name("stream") == "stream" and plain_name("member") == "member" and plain_name("puts_all") == "puts_all"
    )
