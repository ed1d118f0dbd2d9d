"""Worked by hand: lines of GDB's backtrace."""

from __future__ import annotations

from typing import Tuple

import pytest

from gdb_etm.recovery.values import Tier
from gdb_etm.session.evaluation import Marked, arguments_of

# As GDB 13 writes them, and the function and its arguments there.
LINES: Tuple[Tuple[str, str, str], ...] = (
    ("#0  main () at a.c:3", "main", ""),
    (
        "#6  0x000023e0 in std::function<int (int)>::operator()(int) const (__args#0=3, this=0x2000131c) at f.h:590",
        "std::function<int (int)>::operator()(int) const",
        "__args#0=3, this=0x2000131c",
    ),
    ("#1  0x12 in operator<< (a=..., b=3) at x.cpp:3", "operator<<", "a=..., b=3"),
    ("#1  0x12 in X::operator-> (this=0x3 <f(int)+2>) at x.cpp:3", "X::operator->", "this=0x3 <f(int)+2>"),
    ('#3  f<(kind)3> (s=0x4 "a (b) c") from lib.so', "f<(kind)3>", 's=0x4 "a (b) c"'),
)


@pytest.mark.parametrize("line, function, text", LINES)
def test_parentheses_in_a_name_begin_no_arguments(line: str, function: str, text: str) -> None:
    found = arguments_of(Marked(line, Tier.EXACT))
    assert found is not None and (found.function, found.text) == (function, text)


@pytest.mark.parametrize("word", ["operator-", "operator<->", "operator<x>->", "a<b<c> "])
def test_a_hostile_name_does_not_hold_up(word: str) -> None:
    # Where each word could be read in two ways, this would not end.
    assert arguments_of(Marked("#1  " + word * 64 + " x", Tier.EXACT)) is None


def test_other_lines_have_no_arguments() -> None:
    assert arguments_of(Marked("(More stack frames follow...)", Tier.EXACT)) is None
