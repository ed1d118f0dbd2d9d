"""The board's truth, and real captures: costs in long histories.

The profile of the whole is held against the board in test_profile.py.
"""

from __future__ import annotations

from typing import FrozenSet, Optional

import pytest

from gdb_etm.analysis.long_calls import call_sums
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.history.build import build
from gdb_etm.history.call_groups import CallGroups
from gdb_etm.history.call_steps import StepMemory, Unrepeatable
from gdb_etm.history.calls import call_history
from gdb_etm.history.entries import Resolver
from gdb_etm.history.exits import Exits
from gdb_etm.history.frames import Function
from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.snapshot.reader import read_snapshot
from tests.analysis.programs import PROGRAMS, ran
from tests.history.executed import history_of
from tests.shared import capture_folder

CAPTURES = ("Snowball", "TC2", "armv8_1m_branches", "trace_cov_a15")


def agree(history: ExecutionHistory, resolve: Resolver, paused: FrozenSet[int] = frozenset()) -> None:
    """Hold the sums against the profile."""
    exits = Exits(history.program)
    profile = CallProfile("instructions")
    calls = call_history(history, resolve, exits, paused=paused)
    profile.add(calls, len(history), lambda first, last: last - first + 1, lambda number: "%d" % number, paused)
    expected = sorted((one.function, one.calls, one.own, one.inclusive) for one in profile.functions())
    assert expected
    if next(calls.switches(1, len(history)), None) is not None:
        # Threads have no index.
        with pytest.raises(Unrepeatable):
            CallGroups(history, StepMemory(resolve, exits), paused)
        return
    index = CallGroups(history, StepMemory(resolve, exits), paused)
    assert sorted(map(tuple, call_sums(index).costs(index))) == expected


@pytest.mark.parametrize("begin", [0.0, 0.13, 0.31, 0.5, 0.77, 0.9])
@pytest.mark.parametrize("program", PROGRAMS)
def test_costs_are_those_of_the_profile(program: str, begin: float) -> None:
    found = ran(program)
    # What begins in the middle has callers, and handlers, whose beginning was not seen.
    agree(history_of(found.path, found.items[int(len(found.items) * begin) :]), found.sources.function_at)


@pytest.mark.parametrize("size", [64, 4096])
@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures(name: str, size: int) -> None:
    """Functions are made up.

    Code runs from one into another, and returns to where no one called.
    """

    def resolve(address: int) -> Optional[Function]:
        start = address // size * size
        return Function("f%x" % start, start, start + size) if start // size % 7 else None

    for capture in read_snapshot(capture_folder(name)):
        for history in build(capture).values():
            if len(history):
                agree(history, resolve, frozenset(pauses(history)))
