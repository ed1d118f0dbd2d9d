"""Worked by hand: how often operations on pointers are looked at."""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.program.objects import Objects
from gdb_etm.recovery.lift.operations import Op
from gdb_etm.recovery.pointers import arithmetic
from gdb_etm.recovery.pointers.arithmetic import Results
from gdb_etm.recovery.pointers.provenance import INDEXED, UNKNOWN, Lattice, Provenance
from tests.recovery.small import RAM

ADD = (Op.ADD, (0,), (1, 2, ~0), ())


@pytest.mark.pure
def test_a_result_is_worked_out_once_for_the_same_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: List[object] = []
    result_of = arithmetic._result_of
    monkeypatch.setattr(arithmetic, "_result_of", lambda *given: looks.append(given) or result_of(*given))
    lattice = Lattice(Objects([(RAM, RAM + 8)], [], []))
    results = Results(lattice)
    base, four, nothing = [lattice.constant(one) for one in (RAM, 4, 0)]
    for _ in range(3):
        assert results.of(ADD, (base, four, nothing)) == (lattice.constant(RAM + 4), (RAM + 4,))
        assert results.of(ADD, (base, UNKNOWN, nothing)) == (Provenance(frozenset((RAM,)), INDEXED), ())
    assert lattice.constant(4) is four
    assert len(looks) == 2
