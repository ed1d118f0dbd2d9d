"""Worked by hand: what proofs rest on."""

from __future__ import annotations

from typing import Optional

import pytest

from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import INPUT, Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.propagation import Propagation
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from tests.recovery.small import RAM

POINTER, OBJECT = RAM + 0x40, RAM + 0x80


def is_given(constraint: Constraint) -> bool:
    return constraint[0] == ConstraintKind.FACT and constraint[2] == Premise.GIVEN


@pytest.mark.parametrize("at_end", [False, True])
def test_what_memory_tells_rests_on_how_its_address_became_known(at_end: bool) -> None:
    # A given address leads to a pointer in memory, that to a word.
    ssa = TraceSsa(Rules(), Program([]))
    start = ssa.new(INPUT)
    found = ssa.load(ssa.load(start, 4, ssa.one), 4, ssa.one)
    memory = {POINTER: OBJECT, OBJECT: 7}

    def read(word: int) -> Optional[int]:
        return memory.get(word)

    propagation = Propagation(ssa, StoreForwarding(ssa, None if at_end else read, read if at_end else None))
    propagation.begin()
    ssa.learn(start, MASK, POINTER, Premise.GIVEN)
    propagation.run()
    assert ssa.domain.bits[found] == 7
    with pytest.raises(Contradiction) as caught:
        ssa.learn(found, MASK, 8, Premise.DATA)
    proofs = Justifications(ssa)
    (blamed,) = proofs.blamed(caught.value, is_given)
    assert ssa.constraints[blamed][1] == start
