"""Worked by hand, property test: events of ETMv3 and PTM.

From the programming map, 6.1 (IHI 0014Q, 3.5); the property is of every function of two resources.
"""

from __future__ import annotations

from typing import Any, Callable, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.actions import (
    Count,
    Counter,
    FirstState,
    Mark,
    NextState,
    Output,
    Reload,
    Rule,
    StartTracing,
    StopTracing,
    Timestamp,
    Trace,
    Trigger,
)
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities, EtmV3Capabilities
from gdb_etm.traceunit.armv7.etmv3 import plan_program as plan_etmv3
from gdb_etm.traceunit.armv7.ptm import plan_program as plan_ptm
from gdb_etm.traceunit.armv7.terms import event_value
from gdb_etm.traceunit.events import (
    ALWAYS,
    NEVER,
    Accessed,
    AccessType,
    And,
    AtZero,
    Committed,
    Constant,
    DataValue,
    Event,
    Executed,
    ExecutedIn,
    InContext,
    InMachine,
    Input,
    InState,
    Not,
    Or,
    Watched,
)
from gdb_etm.traceunit.identification import Identification
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import Plan

from . import units

KIB = 1024
TRUE, FALSE = 0x6F, 0x406F
AT, OTHER, CODE = Executed(0x1000), Executed(0x2000), ExecutedIn(AddressRange(0x3000, 0x30FF))
# Data can be compared, with values; contexts and virtual machines are known.
WIDE = EtmV3Capabilities({**units.FULL.registers, "ETMCCER": 0x3C400800 | 1 << 26})
NO_DATA = EtmV3Capabilities({**units.FULL.registers, "ETMCCER": 0x3C400800 | 1 << 12})


def plan(unit: Identification, *rules: Rule, **options: Any) -> Plan:
    planner: Callable[..., Plan] = plan_ptm if unit in units.PTM else plan_etmv3
    return planner(TraceOptions(rules=rules, **options), unit, 4 * KIB)


def refused(message: str, unit: Identification, *rules: Rule, **options: Any) -> None:
    with pytest.raises(UnsupportedError, match=message) as error:
        plan(unit, *rules, **options)
    assert error.value.register in str(error.value)


@pytest.mark.parametrize(
    "event, value",
    [
        (AT, 0x00000),  # single comparator 1 is resource 0, function A
        (Not(AT), 0x04000),  # not A
        (CODE, 0x00013),  # the last of 4 pairs
        (And(AT, InContext(7)), 0x08000 | 0x58 << 7),
        (And(AT, Not(InContext(7))), 0x0C058),  # not A and B: the context is A, comparator 1 is B
        (Not(Or(AT, OTHER)), 0x10000 | 1 << 7),
        (Or(AT, OTHER), 0x14000 | 1 << 7),
        (Or(AT, Not(OTHER)), 0x18001),  # not A or B: comparator 2 is A
        (Not(And(AT, OTHER)), 0x1C000 | 1 << 7),
        (Input(3), 0x00063),
        (ALWAYS, TRUE),
        (NEVER, FALSE),
        (Or(AT, Not(AT)), TRUE),
        (And(AT, AT), 0x00000),
    ],
)
def test_trigger(event: Event, value: int) -> None:
    """Map 6.1: A is 6:0, B 13:7, the function 16:14; ETMTRIGGER."""
    for unit in (units.A9, units.A7):
        assert plan(unit, Rule(event, Trigger())).value("ETMTRIGGER") == value
    assert plan(units.A9).value("ETMTRIGGER") == FALSE


def test_comparators_of_events() -> None:
    """Ranges take the last pairs, single addresses the first free comparators."""
    found = plan(units.A9, Rule(Or(AT, CODE), Trigger()), include=(AddressRange(0x8000, 0x80FF),), start_at=(0x4000,))
    assert (found.value("ETMTECR1"), found.value("ETMTSSCR"), found.value("ETMTRIGGER")) == (
        0x02000008,
        0x00000002,
        0x14000 | 0x12 << 7,
    )
    assert [found.value("ETMACVR%d" % n) for n in (1, 2, 5, 6, 7, 8)] == [
        0x1000,
        0x4000,
        0x3000,
        0x3100,
        0x8000,
        0x8100,
    ]
    assert ("event", (0x1000, 0x1000), "comparator 1") in found.taken
    assert ("event", (0x3000, 0x30FF), "pair 3") in found.taken


def test_loads_and_stores() -> None:
    """ETMACTR: types 4 to 6, size 3, values; ETMDCVR and ETMDCMR."""
    store = Accessed(AddressRange(0x20000010, 0x20000013), AccessType.STORE, DataValue(0x5A, ignored=0x7))
    load = Accessed(AddressRange(0x20000100, 0x200001FF), AccessType.LOAD)
    found = plan(WIDE, Rule(Or(store, load), Trigger()))
    assert (found.value("ETMACVR1"), found.value("ETMACTR1")) == (0x20000010, 6 | 3 << 3 | 1 << 5)
    assert (found.value("ETMDCVR1"), found.value("ETMDCMR1")) == (0x58, 0x7)
    assert [found.value("ETMACVR%d" % n) for n in (7, 8)] == [0x20000100, 0x20000200]
    assert found.value("ETMACTR7") == found.value("ETMACTR8") == 5
    differs = Accessed(AddressRange(8, 11), value=DataValue(1, differs=True))
    assert plan(WIDE, Rule(differs, Trigger())).value("ETMACTR1") == 4 | 3 << 3 | 3 << 5


def test_outputs_and_timestamps() -> None:
    found = plan(units.A15, Rule(AT, Output(1)), Rule(OTHER, Timestamp()), timestamps=True)
    assert (found.value("ETMEXTOUTEVR1"), found.value("ETMEXTOUTEVR2"), found.value("ETMTSEVR")) == (FALSE, 0, 1)


def test_counters() -> None:
    """ETMCNTENR bit 17 is the source; our counters begin with 0."""
    found = plan(
        units.A9,
        Rule(AT, Count(0)),
        Rule(OTHER, Reload(0)),
        Rule(AtZero(0), Trigger()),
        counters=(Counter(0, 100, 50),),
    )
    assert [found.value(name + "1") for name in ("ETMCNTRLDVR", "ETMCNTENR", "ETMCNTRLDEVR", "ETMCNTVR")] == [
        50,
        1 << 17,
        1,
        100,
    ]
    assert found.value("ETMTRIGGER") == 0x40 and found.value("ETMCNTENR2") == 1 << 17 | FALSE
    periodic = plan(
        units.A9,
        Rule(ALWAYS, Count(0)),
        Rule(AtZero(1), Trigger()),
        Rule(NEVER, Count(1)),
        counters=(Counter(0, 9, is_periodic=True), Counter(1, 3, is_chained=True)),
    )
    assert (periodic.value("ETMCNTENR1"), periodic.value("ETMCNTRLDEVR1")) == (1 << 17 | TRUE, 0x40)
    assert (periodic.value("ETMCNTENR2"), periodic.value("ETMCNTRLDEVR2")) == (1 << 17 | 0x40, FALSE)


def test_sequencer() -> None:
    """Three states, and from each to each: ETMSQ12EVR and so on."""
    found = plan(
        units.A9,
        Rule(AT, NextState(0, 1)),
        Rule(OTHER, NextState(1, 2)),
        Rule(Input(0), FirstState()),
        Rule(InState(2), Trigger()),
        first_state=1,
    )
    names = ("ETMSQ12EVR", "ETMSQ21EVR", "ETMSQ23EVR", "ETMSQ31EVR", "ETMSQ32EVR", "ETMSQ13EVR", "ETMSQR")
    assert [found.value(name) for name in names] == [0, 0x60, 1, 0x60, FALSE, FALSE, 1]
    assert found.value("ETMTRIGGER") == 0x52
    assert plan(units.A9, Rule(AT, NextState(0, 2)), Rule(AT, NextState(2, 1))).value("ETMSQ13EVR") == 0


def test_starts_and_stops() -> None:
    """Addresses by ETMTSSCR, others by two sequencer states or a counter."""
    exact = plan(units.A9, Rule(AT, StartTracing()), Rule(OTHER, StopTracing()))
    assert (exact.value("ETMTSSCR"), exact.value("ETMTECR1"), exact.value("ETMTEEVR")) == (0x20001, 0x03000000, TRUE)
    by_state = plan(units.A9, Rule(Input(1), StartTracing()), Rule(AT, StopTracing()))
    assert (by_state.value("ETMSQ12EVR"), by_state.value("ETMSQ21EVR"), by_state.value("ETMTEEVR")) == (0x61, 0, 0x51)
    assert by_state.notes[-1].startswith("an event switches the trace")
    by_count = plan(units.A9, Rule(Input(1), StartTracing()), Rule(AT, StopTracing()), Rule(OTHER, NextState(0, 1)))
    assert (by_count.value("ETMCNTENR1"), by_count.value("ETMCNTRLDEVR1"), by_count.value("ETMTEEVR")) == (
        1 << 17 | 0x61,
        1,
        0x40,
    )  # the other rule's address has comparator 1
    assert plan(units.A9, Rule(CODE, Trace())).value("ETMTEEVR") == 0x13


def test_dwt_of_an_etm_m4() -> None:
    """Map 6.1: inputs 0x20 to 0x23, and ETMTESSEICR."""
    found = plan(units.M4, Rule(AT, Trigger()))
    assert found.value("ETMTRIGGER") == 0x23
    assert [(write.name, write.value) for write in found.dwt] == [
        ("DWT_FUNCTION3", 0),
        ("DWT_COMP3", 0x1000),
        ("DWT_MASK3", 0),
        ("DWT_FUNCTION3", 8),
    ]
    stores = plan(units.M4, Rule(Accessed(AddressRange(0x20000000, 0x2000000F), AccessType.STORE), Trigger()))
    assert [write.value for write in stores.dwt] == [0, 0x20000000, 4, 0xA]
    users = plan(units.M4, Rule(Watched(0), StartTracing()), Rule(OTHER, StopTracing()))
    assert users.value("ETMTESSEICR") == 0x00080001
    assert plan(units.M4, Rule(Watched(1), Trigger())).dwt == ()


@pytest.mark.parametrize(
    "message, unit, rules, options",
    [
        (r"mark: .* no event packets \(ETMIDR.Major\)", units.A9, [Rule(AT, Mark())], {}),
        (r"once, each: .* \(ETMIDR.Major\)", units.A9, [Rule(Committed((AT,)), Trigger())], {}),
        (
            r"has 2 counters \(ETMCCR.Counters\); the events need 3",
            units.A9,
            [Rule(AtZero(2), Trigger())],
            dict(counters=(Counter(2, 1),)),
        ),
        (r"sequencer: not in this trace unit \(ETMCCR.Sequencer is 0\)", units.M4, [Rule(AT, NextState(0, 1))], {}),
        (r"state 3: .* states 0 to 2 \(ETMSQR.State\)", units.A9, [Rule(AT, NextState(2, 3))], {}),
        (r"output 2: this unit has 2 external outputs \(ETMCCR.ExtOut\)", units.A9, [Rule(AT, Output(2))], {}),
        (r"input 0: this unit has 0 external inputs \(ETMCCR.ExtIn\)", units.M4, [Rule(Input(0), Trigger())], {}),
        (
            r"dwt 4: this unit has 4 watchpoint inputs \(ETMCCER.WatchInputs\)",
            units.M4,
            [Rule(Watched(4), Trigger())],
            {},
        ),
        (
            r"joins 3 resources; an event of this unit has 2 \(ETMTRIGGER.A\)",
            units.A9,
            [Rule(Or(Or(AT, OTHER), CODE), Trigger())],
            {},
        ),
        (
            r"has 4 pairs of address comparators \(ETMCCR.AddrPairs\); the filters need 5",
            units.A9,
            [Rule(ExecutedIn(AddressRange(n << 12, (n << 12) + 9)), Output(0)) for n in range(2)]
            + [Rule(ExecutedIn(AddressRange(n << 12, (n << 12) + 9)), Trigger()) for n in (4, 5)],
            dict(include=(AddressRange(0, 3),)),
        ),
        (
            r"loads and stores: a PTM does not see them \(ETMIDR.Major\)",
            units.A9,
            [Rule(Accessed(AddressRange(0, 3)), Trigger())],
            {},
        ),
        (
            r"a word at one address with a value \(ETMDCVR1.Value\)",
            WIDE,
            [Rule(Accessed(AddressRange(0, 0), value=DataValue(1, 1)), Trigger())],
            {},
        ),
        (
            r"cannot compare them \(ETMCCER.NoDataComp is 1\)",
            NO_DATA,
            [Rule(Accessed(AddressRange(0, 3)), Trigger())],
            {},
        ),
        (
            r"has 1 Context ID comparator \(ETMCCR.CIDComps\); the filters need 2",
            units.A9,
            [Rule(InContext(1), Trigger()), Rule(InContext(2), Output(0))],
            {},
        ),
        (
            r"VMID: not in this trace unit \(ETMCCER.Virtualization is 0\)",
            units.A9,
            [Rule(InMachine(1), Trigger())],
            {},
        ),
        (
            r"it is periodic, without events of its own \(ETMCCER.ReducedCounter is 1\)",
            units.M4,
            [Rule(AT, Count(0))],
            dict(counters=(Counter(0, 5),)),
        ),
        (
            r"counter 0, must be periodic \(ETMCNTENR2.A\)",
            units.A9,
            [Rule(AtZero(1), Trigger())],
            dict(counters=(Counter(0, 5), Counter(1, 5, is_chained=True))),
        ),
        (r"there is one event for both \(ETMTEEVR.A\)", units.A9, [Rule(Input(0), Trace())], dict(contexts=(1,))),
        (
            r"timestamps at an event: .* \(ETMCCER.Timestamp is 0\)",
            units.A9,
            [Rule(AT, Timestamp())],
            dict(timestamps=True),
        ),
        (
            r"need the sequencer or a counter .* \(ETMCCR.Sequencer is 0\)",
            units.M4,
            [Rule(Not(AT), StartTracing())],
            {},
        ),
        (
            r"one aligned power of two of at most 32768 bytes: this is 2 of these \(ETMCCR.AddrPairs\)",
            units.M4,
            [Rule(ExecutedIn(AddressRange(0x100, 0x18F)), Trigger())],
            {},
        ),
    ],
)
def test_what_a_unit_lacks(message: str, unit: Identification, rules: List[Rule], options: Any) -> None:
    refused(message, unit, *rules, **options)


def _events(depth: int) -> st.SearchStrategy[Event]:
    leaf = st.sampled_from([Input(0), Input(1), ALWAYS, NEVER])
    if not depth:
        return leaf
    inner = _events(depth - 1)
    return st.one_of(leaf, st.builds(And, inner, inner), st.builds(Or, inner, inner), st.builds(Not, inner))


def _holds(event: Event, active: List[bool]) -> bool:
    if isinstance(event, And):
        return _holds(event.first, active) and _holds(event.second, active)
    if isinstance(event, Or):
        return _holds(event.first, active) or _holds(event.second, active)
    if isinstance(event, Not):
        return not _holds(event.of, active)
    if isinstance(event, Constant):
        return event.value
    assert isinstance(event, Input)
    return active[event.number]


@given(_events(3))
def test_every_function_of_two_resources_is_encoded_or_refused(event: Event) -> None:
    """Property test against the functions' table of IHI 0014Q, 3.5."""
    try:
        value = event_value(event, lambda each: 0x60 + getattr(each, "number"), "ETMTRIGGER")
    except UnsupportedError:
        # Only "exactly one of both" and its opposite have no code.
        table = [_holds(event, [a, b]) for a in (False, True) for b in (False, True)]
        assert table in ([False, True, True, False], [True, False, False, True])
        return
    functions: List[Callable[[bool, bool], bool]] = [
        lambda a, b: a,
        lambda a, b: not a,
        lambda a, b: a and b,
        lambda a, b: not a and b,
        lambda a, b: not a and not b,
        lambda a, b: a or b,
        lambda a, b: not a or b,
        lambda a, b: not a or not b,
    ]
    for active in ([False, False], [False, True], [True, False], [True, True]):
        resources = {0x60: active[0], 0x61: active[1], 0x6F: True, 0: False}
        got = functions[value >> 14](resources[value & 0x7F], resources[value >> 7 & 0x7F])
        assert got == _holds(event, active), event


@pytest.mark.parametrize("unit", [*units.ETMV3, *units.PTM])
def test_every_unit_takes_the_simplest_trigger_or_says_why_not(unit: Armv7Capabilities) -> None:
    assert plan(unit, Rule(ALWAYS, Trigger())).value("ETMTRIGGER") == TRUE
