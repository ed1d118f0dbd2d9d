"""The board's truth: costs in long histories.

The profile of the whole is held against the board in test_profile.py.
"""

from __future__ import annotations

import pytest

from gdb_etm.analysis.long_calls import call_sums
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.history.call_groups import CallGroups
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.calls import call_history
from gdb_etm.history.exits import Exits
from tests.analysis.programs import PROGRAMS, ran
from tests.history.executed import history_of


@pytest.mark.parametrize("begin", [0.0, 0.13, 0.31, 0.5, 0.77, 0.9])
@pytest.mark.parametrize("program", PROGRAMS)
def test_costs_are_those_of_the_profile(program: str, begin: float) -> None:
    found = ran(program)
    # What begins in the middle has callers, and handlers, whose beginning was not seen.
    history = history_of(found.path, found.items[int(len(found.items) * begin) :])
    resolve, exits = found.sources.function_at, Exits(history.program)
    profile = CallProfile("instructions")
    calls = call_history(history, resolve, exits)
    profile.add(calls, len(history), lambda first, last: last - first + 1, lambda number: "%d" % number)
    expected = sorted((one.function, one.calls, one.own, one.inclusive) for one in profile.functions())
    assert expected
    index = CallGroups(history, StepMemory(resolve, exits), frozenset())
    assert sorted(map(tuple, call_sums(index).costs(index))) == expected
