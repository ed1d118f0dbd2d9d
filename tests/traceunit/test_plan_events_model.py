"""Differential run: planned events on the board's model of resources."""

from __future__ import annotations

from typing import Dict, List, Sequence, Set, Tuple

from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.board.comparators import AddressComparators
from gdb_etm.board.resources import Counts, ResourceLogic
from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.actions import (
    Action,
    Count,
    Counter,
    FirstState,
    Mark,
    NextState,
    Output,
    Reload,
    Rule,
    Trace,
    Trigger,
)
from gdb_etm.traceunit.addresses import AddressRange
from gdb_etm.traceunit.etmv4.plan import plan_program
from gdb_etm.traceunit.events import (
    ALWAYS,
    NEVER,
    And,
    AtZero,
    Committed,
    Constant,
    Event,
    Executed,
    ExecutedIn,
    InState,
    Not,
    Or,
)
from gdb_etm.traceunit.options import TraceOptions

from . import units

_ADDRESSES = tuple(range(0x100, 0x110, 2))
_places = st.one_of(
    st.sampled_from(_ADDRESSES).map(Executed),
    st.tuples(st.sampled_from(_ADDRESSES), st.sampled_from(_ADDRESSES)).map(
        lambda pair: ExecutedIn(AddressRange(min(pair), max(pair) + 1))
    ),
)
_leaves = st.one_of(
    _places,
    _places,
    st.integers(0, 1).map(AtZero),
    st.integers(0, 3).map(InState),
    st.sampled_from((ALWAYS, NEVER)),
    st.builds(Committed, st.lists(_places, min_size=1, max_size=2).map(tuple), st.booleans()),
)
_events = st.recursive(
    _leaves,
    lambda inner: st.one_of(st.builds(Not, inner), st.builds(And, inner, inner), st.builds(Or, inner, inner)),
    max_leaves=3,
)
_actions: "st.SearchStrategy[Action]" = st.sampled_from(
    (
        Mark(0),
        Mark(1),
        Mark(2),
        Output(3),
        Trigger(),
        Trace(),
        Count(0),
        Count(1),
        Reload(0),
        Reload(1),
        NextState(0, 1),
        NextState(1, 2),
        NextState(2, 3),
        NextState(1, 0),
        NextState(2, 1),
        FirstState(),
    )
)
_counters = st.tuples(
    *(
        st.builds(Counter, st.just(n), st.integers(0, 3), st.none() | st.integers(0, 3), st.booleans(), st.just(False))
        for n in (0, 1)
    ),
    st.booleans(),
)


class Model:
    """The rules, cycle by cycle (IHI 0064, 4.2, tables 4-4 to 4-8)."""

    def __init__(self, rules: Sequence[Rule], counters: Sequence[Counter]) -> None:
        self._rules = rules
        self._counters = counters
        self._left = {each.number: each.value for each in counters}
        self._zero = {each.number: False for each in counters}
        self._state = 0
        self._states: Set[int] = {0}
        self._fired: Set[Event] = set()
        self._now: Dict[Event, bool] = {}

    def step(self, address: int) -> Tuple[Set[int], bool]:
        """Execute an instruction; return active events, and whether it is traced."""
        shots = {shot for rule in self._rules for shot in _shots(rule.when)}
        self._now = {shot: self._shot(shot, address) for shot in shots}
        carried = False
        for counter in self._counters:
            carried = self._count(counter, address, carried)
        self._sequence(address)
        events = {
            n
            for n in range(4)
            for action in (Mark(n), Output(n), *((Trigger(),) if n == 0 else ()))
            if self._any(action, address)
        }
        traces = [rule for rule in self._rules if rule.do == Trace()]
        return events, not traces or self._any(Trace(), address)

    def _any(self, action: Action, address: int) -> bool:
        return any(self._holds(rule.when, address) for rule in self._rules if rule.do == action)

    def _holds(self, event: Event, address: int) -> bool:
        if isinstance(event, Not):
            return not self._holds(event.of, address)
        if isinstance(event, And):
            return self._holds(event.first, address) and self._holds(event.second, address)
        if isinstance(event, Or):
            return self._holds(event.first, address) or self._holds(event.second, address)
        if isinstance(event, AtZero):
            return self._zero[event.counter]
        if isinstance(event, InState):
            return event.state in self._states
        if isinstance(event, Committed):
            return self._now[event]
        return event.value if isinstance(event, Constant) else _matches(event, address)

    def _shot(self, shot: Committed, address: int) -> bool:
        hit = any(_matches(each, address) for each in shot.of) and (shot.again or shot not in self._fired)
        self._fired |= {shot} if hit else set()
        return hit

    def _count(self, counter: Counter, address: int, carried: bool) -> bool:
        n = counter.number
        reload = self._any(Reload(n), address)
        down = self._any(Count(n), address) or counter.is_chained and carried
        at_zero = self._left[n] == 0
        reloaded = reload or counter.is_periodic and down and at_zero
        self._zero[n] = at_zero and (not counter.is_periodic or down and not reload)
        if reloaded:
            self._left[n] = counter.reloaded
        elif down and self._left[n]:
            self._left[n] -= 1
        return reloaded

    def _sequence(self, address: int) -> None:
        if self._any(FirstState(), address):
            self._state, self._states = 0, {0}
            return
        forward = [self._any(NextState(n, n + 1), address) for n in range(3)]
        back = [self._any(NextState(n + 1, n), address) for n in range(3)]
        state, passed = self._state, set()
        while state < 3 and forward[state]:
            state += 1
            passed.add(state)
        if state == self._state:
            while state > 0 and back[state - 1] and not forward[state - 1]:
                state -= 1
                passed.add(state)
        self._state, self._states = state, {state} | passed


def _matches(event: Event, address: int) -> bool:
    if isinstance(event, Executed):
        return address == event.address
    return isinstance(event, ExecutedIn) and event.where.first <= address <= event.where.last


def _shots(event: Event) -> List[Committed]:
    if isinstance(event, Not):
        return _shots(event.of)
    if isinstance(event, (And, Or)):
        return _shots(event.first) + _shots(event.second)
    return [event] if isinstance(event, Committed) else []


@settings(max_examples=150)
@given(
    st.lists(st.tuples(_events, _actions), min_size=1, max_size=6),
    _counters,
    st.lists(st.sampled_from(_ADDRESSES), min_size=20, max_size=60),
)
def test_registers_do_what_the_rules_say(
    pairs: Sequence[Tuple[Event, Action]], counters: Tuple[Counter, Counter, bool], addresses: Sequence[int]
) -> None:
    rules = [Rule(*each) for each in pairs] + [Rule(NEVER, FirstState())]
    first, second, chained = counters
    both = (first, Counter(1, second.value, second.reload, second.is_periodic, chained))
    try:
        plan = plan_program(TraceOptions(rules=tuple(rules), counters=both), units.A53, 4096)
    except UnsupportedError:
        return
    registers = {write.offset: write.value for write in plan.writes}
    numbers = [units.A53.registers[name] for name in ("TRCIDR0", "TRCIDR4", "TRCIDR5")]
    counts = Counts.of(*numbers)
    board = ResourceLogic(lambda offset: registers.get(offset, 0), counts)
    comparators = AddressComparators(lambda offset: registers.get(offset, 0), counts.pairs)
    model = Model(rules, both)
    for address in addresses:
        outcome = board.step(comparators.instruction(address, 0) & board.wanted)
        events, traced = model.step(address)
        assert {n for n in range(4) if outcome.levels >> n & 1} == events
        assert outcome.view is traced
