"""Worked by hand: what stores of unknown address may hit."""

from __future__ import annotations

from typing import List, Tuple

import pytest

from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.cells import FIRST, Cells
from gdb_etm.recovery.memory.dead_stack import DeadStack
from gdb_etm.recovery.memory.may_alias import MayAlias
from gdb_etm.recovery.memory.symbolic_alias import SymbolicAlias
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from tests.recovery.small import RAM

_COUNT = 40


def test_what_was_passed_over_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # Words are loaded, once all stores in their way have turned out to miss them, one after another.
    ssa = TraceSsa(Rules(), Program([]))
    odd = [ssa.new(-1, known=1, bits=1) for _ in range(_COUNT)]
    pointers = [ssa.new(-1) for _ in range(_COUNT)]
    for pointer in odd + pointers:
        ssa.store(pointer, ssa.new(-1), 1, ssa.one)
    may_alias = MayAlias(ssa, Cells(ssa))
    may_alias.dead_stack = DeadStack(ssa)
    looks: List[int] = []
    may_hit = MayAlias.may_write
    monkeypatch.setattr(MayAlias, "may_write", lambda *given: looks.append(given[1]) or may_hit(*given))
    # Addresses become known in the order of the accesses, and the last one is waited for first.
    for number, pointer in reversed(list(enumerate(pointers, _COUNT))):
        assert may_alias.first_of_link(FIRST, 2 * _COUNT, RAM, [may_alias.dead_stack]) == (number, False)
        ssa.learn(pointer, MASK, RAM + 4, Premise.GIVEN)
        may_alias.remove(number)
    assert may_alias.first_of_link(FIRST, 2 * _COUNT, RAM, [may_alias.dead_stack]) == (-1, False)
    assert len(looks) < 6 * _COUNT


def test_a_store_hits_where_both_its_interval_and_its_known_bits_allow_it() -> None:
    # A word at a multiple of 4 in an interval whose last addresses are none.
    ssa = TraceSsa(Rules(), Program([]))
    pointer = ssa.new(-1, known=3)
    ssa.domain.narrow(pointer, RAM, 0x11)
    ssa.store(pointer, ssa.new(-1), 4, ssa.one)
    may_alias = MayAlias(ssa, Cells(ssa))
    assert may_alias.may_hit(0, RAM + 0x13, 1)
    assert not may_alias.may_hit(0, RAM + 0x14, 1)


def test_a_store_that_is_known_to_hit_is_not_supposed_to_miss() -> None:
    # Its address has just become known, and nobody has placed it yet.
    ssa = TraceSsa(Rules(), Program([]))
    pointers = [ssa.new(-1), ssa.new(-1)]
    for pointer in pointers:
        ssa.store(pointer, ssa.new(-1), 4, ssa.one)
    may_alias = MayAlias(ssa, Cells(ssa))
    may_alias.wanted = {(FIRST, 2)}
    assert may_alias.first(FIRST, 2, RAM) == (-1, True)
    ssa.learn(pointers[1], MASK, RAM, Premise.GIVEN)
    assert may_alias.first(FIRST, 2, RAM) == (1, False)
    assert may_alias.first(FIRST, 2, RAM + 4) == (-1, True)


def test_a_load_whose_source_is_behind_a_barrier_does_not_look_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    # The same word of a stack is loaded again and again; where the stack is, nobody knows.
    ssa = TraceSsa(Rules(), Program([]))
    top = ssa.new(-1)
    ssa.put(SP, top)
    ssa.domain.narrow(top, RAM, 0x1000)
    for _ in range(_COUNT):
        ssa.load(top, 4, ssa.one)
        ssa.store(ssa.new(-1), ssa.new(-1), 4, ssa.one)
    ssa.load(top, 4, ssa.one)
    ssa.load(top, 4, ssa.one)
    alias = SymbolicAlias(ssa)
    looks: List[Tuple[int, int]] = []
    is_clear = SymbolicAlias._is_clear
    monkeypatch.setattr(SymbolicAlias, "_is_clear", lambda *given: looks.append(given[1:]) or is_clear(*given))
    last = 2 * _COUNT
    assert alias.find() == [(last + 1, last, 0, 0, 32)]
    assert len(looks) <= _COUNT
