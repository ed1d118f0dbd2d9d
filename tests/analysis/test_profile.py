"""The board's truth: profiles, by calls that are followed in what ran.

The calls are followed here by return addresses alone, in another way than the history's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Counter as CounterOf
from typing import Dict, List, Optional

import capstone
import pytest

from gdb_etm.analysis.profile import CallProfile
from gdb_etm.history.frames import Function
from tests.analysis.programs import PROGRAMS, Ran, ran
from tests.history.executed import Returned, Taken


def _profile(found: Ran) -> CallProfile:
    profile = CallProfile("instructions")
    profile.add(found.calls, len(found.history), lambda first, last: last - first + 1, lambda number: "main")
    return profile


class _Open:
    def __init__(self, name: str, returns_to: Optional[int], is_exception: bool = False) -> None:
        self.name, self.returns_to, self.is_exception = name, returns_to, is_exception
        self.cost = 0
        # Of an exception: whether it came between a call and the function, and where that returns to.
        self.interrupted = False, 0


class _Follower:
    # Follows calls by return addresses.

    def __init__(self, found: Ran) -> None:
        self.calls: CounterOf[str] = Counter()
        self.own: CounterOf[str] = Counter()
        # Inclusive costs of the calls that ended.
        self.costs: Dict[str, List[int]] = {}
        self._found = found
        self._decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
        self._stack: List[_Open] = []
        self._is_entry = self._is_call = False
        # The address after the last instruction.
        self._after = 0
        for item in found.items:
            if isinstance(item, Taken):
                self._stack.append(_Open("", None, True))
                self._stack[-1].interrupted = self._is_call, self._after
                self._is_entry, self._is_call = True, False
            elif isinstance(item, Returned):
                self._return()
            elif isinstance(item, int):
                self._execute(item)

    def _return(self) -> None:
        while self._stack and not self._stack[-1].is_exception:
            self._close()
        self._is_call = False
        if self._stack:
            self._is_call, self._after = self._stack.pop().interrupted

    def _close(self) -> None:
        done = self._stack.pop()
        self.costs.setdefault(done.name, []).append(done.cost)
        if self._stack and not self._stack[-1].is_exception:
            self._stack[-1].cost += done.cost

    def _execute(self, address: int) -> None:
        function = self._found.sources.function_at(address)
        assert function is not None
        self._move(address, function)
        self._is_entry = False
        self.own[function.name] += 1
        self._stack[-1].cost += 1
        (insn,) = self._decoder.disasm(self._found.history.program.read(address, 4), address, 1)
        # BL and BLX, in an IT block too, but not BLE, BLT and BLS.
        self._is_call = bool(re.fullmatch(r"blx?(eq|ne)?(\.w)?", insn.mnemonic))
        self._after = address + insn.size

    def _move(self, address: int, function: Function) -> None:
        stack, is_start = self._stack, address == function.start
        if self._is_entry or not stack:
            stack.append(_Open(function.name, None))
            self.calls[function.name] += self._is_entry
        elif self._is_call and is_start:
            stack.append(_Open(function.name, self._after))
            self.calls[function.name] += 1
        elif address != self._after and address in [one.returns_to for one in stack]:
            while stack[-1].returns_to != address:
                self._close()
            self._close()
        elif is_start and stack[-1].name != function.name:
            # A tail call.
            stack.append(_Open(function.name, None))
            self.calls[function.name] += 1


@pytest.mark.parametrize("program", (*PROGRAMS, "ticks"))
def test_calls_and_own_costs_are_those_of_what_ran(program: str) -> None:
    found = ran(program)
    expected = _Follower(found)
    profile = _profile(found)
    assert {one.function.name: one.own for one in profile.functions()} == dict(expected.own)
    assert {one.function.name: one.calls for one in profile.functions() if one.calls} == dict(+expected.calls)
    assert profile.total == profile.instructions == len(found.addresses)


@pytest.mark.parametrize("program", ("sort", "tables", "interrupts"))
def test_whole_calls_cost_what_ran_in_them(program: str) -> None:
    found = ran(program)
    expected = _Follower(found)
    for one in _profile(found).functions():
        costs = sorted(one.costs.elements())
        known = Counter(expected.costs.get(one.function.name, []))
        assert not Counter(costs) - known, one.function.name
        if one.calls and one.function.name in expected.costs:
            assert len(costs) >= one.calls - 1, one.function.name


def test_callers_come_with_their_callees_once_in_a_recursion() -> None:
    found = ran("sort")
    profile = _profile(found)
    for one in profile.functions():
        assert one.own <= one.inclusive <= profile.total


def test_profiles_add_up() -> None:
    profile = _profile(ran("interrupts"))
    twice = CallProfile("instructions")
    twice.merge(profile)
    twice.merge(profile)
    assert twice.total == 2 * profile.total
    assert {one.function: one.calls for one in twice.functions()} == {
        one.function: 2 * one.calls for one in profile.functions()
    }
    assert [one.costs for one in twice.functions()] == [
        Counter({cost: 2 * count for cost, count in one.costs.items()}) for one in profile.functions()
    ]


def test_handlers_are_no_part_of_what_they_interrupt() -> None:
    profile = _profile(ran("interrupts"))
    names = set(profile.root.children) - {("main", -1)}
    assert names == {("SVC", -1), ("PendSV", -1), ("exception", -1)}
    run = next(one for one in profile.functions() if one.function.name == "run")
    handlers = sum(root.inclusive() for (name, _), root in profile.root.children.items() if name != "main")
    assert run.inclusive <= profile.total - handlers
