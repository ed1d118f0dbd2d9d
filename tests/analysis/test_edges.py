"""The board's truth: which instruction ran after which.

Capstone says which instructions are conditional branches.
"""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import Tuple

import pytest

from gdb_etm.analysis.edges import EdgeCounts
from gdb_etm.program.isa import Isa
from tests.analysis.programs import PROGRAMS, ran
from tests.analysis.test_counts import conditional_branches


@pytest.mark.parametrize("program", PROGRAMS)
def test_edges_are_what_ran_one_after_the_other(program: str) -> None:
    found = ran(program)
    counts = EdgeCounts()
    counts.add(found.history)
    conditional = conditional_branches(found)
    expected: CounterOf[Tuple[int, int]] = Counter()
    for before, after in zip(found.items, found.items[1:]):
        # Between others something came: an exception, or a return from one.
        if isinstance(before, int) and isinstance(after, int):
            insn = found.history.blocks.instruction(before, Isa.T32)
            assert insn is not None
            if after != before + insn.size or before in conditional:
                expected[before, after] += 1
    assert len(expected) > 10
    assert counts.edges == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_stretches_hold_every_instruction_as_often_as_it_ran(program: str) -> None:
    found = ran(program)
    counts = EdgeCounts()
    counts.add(found.history)
    executed: CounterOf[int] = Counter()
    for stretch, times in counts.stretches.items():
        for address in found.history.blocks.addresses(stretch.first, stretch.last + 1, Isa.T32):
            executed[address] += times
    assert executed == Counter(found.addresses)
