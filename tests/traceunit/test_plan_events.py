"""Property test, and worked by hand: events in ETMv4 plans.

Selectors mean their expressions; refusals are from the specification (lines of IHI 0064's text; V-nn: programming map,
3.6).
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Set, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4
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
    StartTracing,
    StopTracing,
    Timestamp,
    Trace,
    Trigger,
)
from gdb_etm.traceunit.addresses import AddressRange
from gdb_etm.traceunit.armv7 import etmv3 as plan_etmv3
from gdb_etm.traceunit.armv7 import ptm as plan_ptm
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_program
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
    members,
)
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan

from . import units

KIB = 1024
Rules = Sequence[Tuple[Event, Action]]


def planned(unit: Capabilities, rules: Rules, **options: Any) -> Plan:
    return plan_program(TraceOptions(rules=tuple(Rule(*each) for each in rules), **options), unit, 4 * KIB)


def values(unit: Capabilities, rules: Rules, **options: Any) -> Dict[str, int]:
    return {write.name: write.value for write in planned(unit, rules, **options).writes}


def refused(unit: Capabilities, message: str, rules: Rules, **options: Any) -> None:
    with pytest.raises(UnsupportedError, match=message) as error:
        planned(unit, rules, **options)
    assert error.value.register in str(error.value)


# Each is another resource, some of them of one group.
_LEAVES: Tuple[Event, ...] = (
    Executed(0x1000),
    Executed(0x2000),
    Input(2),
    Input(3),
    AtZero(0),
    AtZero(1),
    InContext(7),
    ALWAYS,
    NEVER,
)
_MEMBERS = {(4, 0): 0, (4, 1): 1, (0, 0): 2, (0, 1): 3, (2, 0): 4, (2, 1): 5, (6, 0): 6}
_COUNTERS = (Counter(0, 1), Counter(1, 1))
_expressions = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.one_of(st.builds(Not, inner), st.builds(And, inner, inner), st.builds(Or, inner, inner)),
    max_leaves=5,
)


def holds(event: Event, active: Set[int]) -> bool:
    if isinstance(event, Not):
        return not holds(event.of, active)
    if isinstance(event, And):
        return holds(event.first, active) and holds(event.second, active)
    if isinstance(event, Or):
        return holds(event.first, active) or holds(event.second, active)
    return event.value if isinstance(event, Constant) else _LEAVES.index(event) in active


def selected(field: int, registers: Dict[str, int], order: Dict[Tuple[int, int], int], active: Set[int]) -> bool:
    """Evaluate an event field as 4.4.2 and table 4-14 say."""
    if not field & 0x80 and field < 2:
        return bool(field)
    numbers = (2 * (field & 0x1F), 2 * (field & 0x1F) + 1) if field & 0x80 else (field & 0x1F,)
    controls = [etmv4.TRCRSCTLR[n].decode(registers["TRCRSCTLR%d" % n]) for n in numbers]
    if field & 0x80:
        assert (controls[0]["INV"], controls[1]["INV"], controls[0]["PAIRINV"]) not in ((0, 1, 0), (1, 0, 1))
    assert not controls[-1]["PAIRINV"] or len(controls) == 1
    result = all(
        bool(control["INV"])
        is not any(order[control["GROUP"], n] in active for n in range(16) if control["SELECT"] >> n & 1)
        for control in controls
    )
    return result is not (len(controls) == 2 and bool(controls[0]["PAIRINV"]))


@given(_expressions)
def test_selectors_say_what_the_expression_says(event: Event) -> None:
    """AT-18, L6370-L6381: no reserved codes; others mean the expression."""
    leaves = [each for each in members(event) if not isinstance(each, Constant)]
    try:
        got = values(units.A53, [(event, Mark(1))], counters=_COUNTERS)
    except UnsupportedError as error:
        # Only an expression of three resources and more can be too much.
        assert error.register == "TRCRSCTLRn.GROUP" and len(leaves) > 2
        return
    # Which member of a group each is: comparators and inputs are numbered as they come.
    order = dict(_MEMBERS)
    if got["TRCACVR0"] == 0x2000:
        order[4, 0], order[4, 1] = 1, 0
    if got["TRCEXTINSELR"] & 0xFF == 3:
        order[0, 0], order[0, 1] = 3, 2
    field = etmv4.TRCEVENTCTL0R.get(got["TRCEVENTCTL0R"], "EVENT1")
    # A comparator that asks for a context too stands for both.
    narrowed = any(got["TRCACATR%d" % n] & 0x0C for n in range(8))
    used = sorted({_LEAVES.index(each) for each in leaves})
    for bits in range(1 << len(used)):
        active = {n for at, n in enumerate(used) if bits >> at & 1}
        if not narrowed:
            assert selected(field, got, order, active) is holds(event, active)


@given(
    st.lists(
        st.tuples(
            _expressions,
            st.sampled_from(
                (
                    Trigger(),
                    Mark(),
                    Mark(1),
                    Output(3),
                    Count(0),
                    Reload(1),
                    Trace(),
                    NextState(0, 1),
                    FirstState(),
                    StartTracing(),
                    StopTracing(),
                )
            ),
        ),
        max_size=4,
    )
)
def test_every_register_is_written_once(rules: Rules) -> None:
    """Table 3-1: each register of the unit is written, no other."""
    everything = [write.name for write in plan_program(TraceOptions(), units.DATA, 4 * KIB).writes]
    try:
        plan = planned(units.DATA, rules, counters=_COUNTERS)
    except (UnsupportedError, ValueError):
        return
    assert [write.name for write in plan.writes] == everything


def test_context_of_an_address_is_the_comparators() -> None:
    """4.2.4: an address and a context are one resource."""
    got = values(units.A53, [(Executed(0x1000) & AtZero(0) & InContext(0x42), Mark())], counters=(Counter(0, 5),))
    assert (got["TRCACATR0"], got["TRCCIDCVR0"], got["TRCEVENTCTL0R"]) == (0x4, 0x42, 0x81)
    machine = values(units.A53, [(ExecutedIn(AddressRange(0x1000, 0x10FF)) & InMachine(3), Mark())])
    assert (machine["TRCACATR6"], machine["TRCACATR7"], machine["TRCVMIDCVR0"]) == (0x8, 0x8, 3)


def test_start_and_stop() -> None:
    """L4239: addresses and processor comparators use the precise start/stop block."""
    got = values(units.A53, [(Executed(0x1000) | Executed(0x1800), StartTracing()), (Executed(0x2000), StopTracing())])
    assert (got["TRCVISSCTLR"], got["TRCVICTLR"], got["TRCRSCTLR2"]) == (0x40003, 0x1, 0)
    got = values(units.M33, [(Watched(0), StartTracing()), (Watched(1), StopTracing())])
    assert (got["TRCVIPCSSCTLR"], got["TRCVICTLR"]) == (0x20001, 0x1)
    assert values(units.M33, [(Watched(1), StopTracing())])["TRCVICTLR"] == 0x201


def test_start_and_stop_by_other_events() -> None:
    """L5173: state 1 while tracing, or a counter at zero (4-6)."""
    rules: Rules = [(Input(3), StartTracing()), (Executed(0x2000), StopTracing())]
    got = values(units.A53, rules)
    assert (got["TRCSEQEVR0"], got["TRCSEQSTR"]) == (0x0302, 0)
    assert (got["TRCRSCTLR4"], got["TRCVICTLR"], got["TRCVISSCTLR"]) == (0x20020, 0x204, 0)
    got = values(units.A53, [*rules, (Input(4), NextState(1, 2))])
    assert (got["TRCCNTCTLR0"] & 0xFFFF, got["TRCCNTVR0"], got["TRCCNTRLDVR0"]) == (0x0403, 1, 1)
    assert (got["TRCRSCTLR5"], got["TRCVICTLR"]) == (0x20001, 0x205)
    plan = planned(units.A53, [(Input(3), StopTracing())])
    assert plan.value("TRCVICTLR") == 0x203 and plan.value("TRCRSCTLR3") == 0x20010
    assert plan.notes == (
        "an event switches the trace: a few instructions more or less are traced where it does (4.1.2)",
    )
    refused(units.M33, "need the sequencer or a counter", [(Input(3), StartTracing())])
    refused(units.A53, "need the sequencer or a counter", [*rules, (ALWAYS, FirstState())], counters=_COUNTERS)


def test_one_address_may_start_and_stop_under_other_conditions() -> None:
    """A switch: the same call turns the trace on and off again."""
    rules: Rules = [
        (Executed(0x1000) & InState(0), StartTracing()),
        (Executed(0x1000) & InState(1), StopTracing()),
        (Executed(0x2000), NextState(0, 1)),
        (Executed(0x3000), NextState(1, 0)),
    ]
    got = values(units.A53, rules)
    assert (got["TRCCNTCTLR0"], got["TRCCNTVR0"], got["TRCVICTLR"], got["TRCVISSCTLR"]) == (0x8382, 1, 0x208, 0)


def test_filters_and_events_share_a_comparator() -> None:
    got = planned(units.A53, [(Executed(0x1000), Mark())], start_at=(0x1000,))
    assert got.value("TRCRSCTLR2") == 0x40001 and got.value("TRCACVR1") == 0
    assert [(each.use, each.name) for each in got.taken] == [("start", "comparator 0"), ("event", "comparator 0")]


def test_marks() -> None:
    """L15879: the trigger is event 0, traced; other marks follow."""
    rules: Rules = [(Executed(0x1000), Mark()), (Executed(0x2000), Trigger()), (Executed(0x2000), Mark())]
    plan = planned(units.A53, rules)
    assert plan.value("TRCEVENTCTL1R") == 0x803 and plan.value("TRCEVENTCTL0R") == 0x0302
    assert plan.marks == ((0, "trigger at exec *0x00002000"), (1, "exec *0x00001000"))
    refused(units.A53, "event 0 is taken: trigger at", [*rules, (Executed(0x3000), Mark(0))])
    refused(units.M33, r"this unit has 2 events \(TRCIDR0.NUMEVENT\).* need 3", [(Input(n), Mark(n)) for n in range(3)])
    refused(units.MINIMAL, r"no resource selectors \(TRCIDR4.NUMRSPAIR", [(ALWAYS, Mark())])
    refused(units.A53, "TRCIDR0.TRCDATA is 0", [(ALWAYS, Mark(in_data=True))])
    assert values(units.DATA, [(ALWAYS, Mark(in_data=True))])["TRCEVENTCTL1R"] == 0x11
    refused(units.DATA, "TRCEVENTCTL1R.DATAEN", [(ALWAYS, Mark(1, in_data=True))])
    refused(Capabilities({**units.A53.registers, "TRCIDR5": 0x2887081E}), "TRCIDR5.ATBTRIG is 0", [(ALWAYS, Trigger())])


def test_what_may_miss_each_other_is_told() -> None:
    """L6429: two events of one cycle need not meet."""

    def notes(event: Event, *counters: Counter) -> Tuple[str, ...]:
        return planned(units.A53, [(event, Mark())], counters=counters).notes

    told = "each is so for one cycle, and they may miss each other"
    assert told in notes(Executed(0x1000) & Committed((Executed(0x2000),)))[0]
    assert told in notes(Executed(0x1000) & AtZero(0), Counter(0, 5, is_periodic=True))[0]
    for event in (
        Executed(0x1000) & AtZero(0),
        Executed(0x1000) & Input(3),
        Executed(0x1000) | Executed(0x2000),
        ~Executed(0x1000) & ~Input(1),
    ):
        assert notes(event, Counter(0, 5)) == ()


def test_too_few() -> None:
    """V-17, V-18, V-36, V-37, V-39: refused with field and number."""
    refused(
        units.A53,
        r"this unit has 2 counters \(TRCIDR5.NUMCNTR\); the events need 3",
        [(ALWAYS, Count(2))],
        counters=(Counter(2, 1),),
    )
    refused(
        units.A53,
        r"has 4 address comparator pairs \(TRCIDR4.NUMACPAIRS\); the filters and events need 5",
        [(Executed(4 * n), Mark(0)) for n in range(9)],
    )
    refused(
        units.A53,
        "the filters and events need 5",
        [(ExecutedIn(AddressRange(0, 9)), Mark()), (Executed(8), Mark())],
        include=tuple(AddressRange(0x100 * n, 0x100 * n + 9) for n in (1, 2, 3)),
    )
    refused(
        units.M33,
        r"this unit has 2 pairs of resource selectors, the first of them fixed \(TRCIDR4.NUMRSPAIR\);"
        " the events need 3",
        [(Input(0) & Watched(1), Mark()), (Input(1), Mark())],
    )
    refused(units.A53, r"1 Context ID comparator \(TRCIDR4.NUMCIDC\)", [(InContext(1) | InContext(2), Mark())])
    refused(units.A53, r"1 VMID comparator \(TRCIDR4.NUMVMIDC\)", [(InMachine(1) | InMachine(2), Mark())])
    refused(units.A53, "VMID 0x100: this unit's have 8 bits", [(InMachine(0x100), Mark())])
    refused(
        units.A53,
        r"1 single-shot control \(TRCIDR4.NUMSSCC\); the events need 2",
        [(Committed((Executed(0),)), Mark()), (Committed((Executed(4),)), Mark())],
    )
    refused(units.M33, "TRCSSCSR0.INST is 0|TRCIDR4.NUMACPAIRS", [(Committed((Executed(0),)), Mark())])
    refused(units.A53, "TRCSSCSR0.PC is 0|TRCIDR4.NUMPC", [(Committed((Watched(0),)), Mark())])
    refused(units.M33, r"dwt 4: this unit has 4 inputs", [(Watched(4), Mark())])
    refused(units.A53, r"input 30: this unit has 30 external inputs \(TRCIDR5.NUMEXTIN\)", [(Input(30), Mark())])
    refused(
        units.A53,
        r"takes 4 of its external inputs at a time \(TRCIDR5.NUMEXTINSEL\); the events need 5",
        [(Input(n), Mark(0)) for n in range(5)],
    )
    refused(units.M33, "sequencer: not in this trace unit .TRCIDR5.NUMSEQSTATE is 0", [(ALWAYS, NextState(0, 1))])
    refused(units.A53, "sequencer goes to the next state or the one before", [(ALWAYS, NextState(0, 2))])
    refused(
        units.A53,
        "joins more than an event can",
        [(Executed(0) & AtZero(0) & Input(1), Mark())],
        counters=(Counter(0, 1),),
    )
    refused(units.A53, "this unit compares 64 bits", [(Executed(1 << 64), Mark())])


def test_reduced_function_counter() -> None:
    """L5151: it counts cycles, reloads itself, has a reload value only."""
    periodic = (Counter(0, 99, None, True),)
    got = values(units.M33, [(ALWAYS, Count(0)), (AtZero(0), Mark())], counters=periodic)
    assert got["TRCCNTRLDVR0"] == 99 and "TRCCNTCTLR0" not in got
    refused(units.M33, "counts cycles and nothing else", [(Watched(0), Count(0))], counters=periodic)
    refused(units.M33, "it is periodic", [(AtZero(0), Mark())], counters=(Counter(0, 99),))
    refused(
        units.A53, "only counters 1 and 3 go on", [(AtZero(0), Mark())], counters=(Counter(0, 99, is_chained=True),)
    )


def test_data_values() -> None:
    """V-22 to V-26: what the comparators of data need."""
    here, word = AddressRange(0x20000000, 0x20000000), DataValue(5)
    refused(units.A53, "TRCIDR4.SUPPDAC is 0", [(Accessed(here), Mark())])
    refused(
        units.DATA,
        "a value of 8 bytes: this unit compares 1, 2, 4 .TRCIDR2.DVSIZE",
        [(Accessed(here, value=DataValue(5, 8)), Mark())],
    )
    refused(units.DATA, "does not fit into 1 bytes", [(Accessed(here, value=DataValue(0x100, 1)), Mark())])
    for first, last in ((0x20000002, 0x20000002), (0x1000, 0x100E), (0x1001, 0x1010)):
        refused(
            units.DATA,
            "need addresses that are multiples of 4",
            [(Accessed(AddressRange(first, last), value=word), Mark())],
        )
    three = [(Accessed(AddressRange(at, at), AccessType.STORE, word), Mark(0)) for at in (0, 4, 8)]
    refused(units.DATA, r"this unit has 2 data value comparators \(TRCIDR4.NUMDVC\); the events need 3", three)
    got = values(units.DATA, [*three[:2], (Executed(0x100), Mark(0))])
    assert (got["TRCACVR0"], got["TRCACVR2"], got["TRCACVR1"]) == (0, 4, 0x100)
    other = values(units.DATA, [(Accessed(here, value=DataValue(0x1234, 2, differs=True)), Mark())])
    assert (other["TRCACATR0"], other["TRCDVCVR0"]) == (0x70003, 0x12341234)


def test_words_make_sense() -> None:
    """What no unit could do is refused before a unit is asked."""
    table: Sequence[Tuple[str, Rules, Dict[str, Any]]] = (
        ("counter 0 is used but not set", [(ALWAYS, Count(0))], {}),
        ("counter 0 is declared twice", [], {"counters": (Counter(0, 1), Counter(0, 2))}),
        ("state 4: a sequencer has states 0 to 3", [(ALWAYS, NextState(3, 4))], {}),
        ("from state 1 to itself", [(ALWAYS, NextState(1, 1))], {}),
        ("nothing takes the sequencer there", [(InState(1), Mark())], {}),
        (
            "0x00001000 both starts and stops",
            [(Executed(0x1000), StartTracing()), (Executed(0x1000), StopTracing())],
            {},
        ),
        ("0x00001000 both starts and stops", [(Executed(0x1000), StopTracing())], {"start_at": (0x1000,)}),
        ("dwt 1 both starts and stops", [(Watched(1) | Watched(2), StartTracing()), (Watched(1), StopTracing())], {}),
        ("timestamps are off", [(ALWAYS, Timestamp())], {}),
        ("trigger position 101", [], {"trigger_position": 101}),
    )
    for message, rules, options in table:
        with pytest.raises(ValueError, match=message):
            TraceOptions(rules=tuple(Rule(*each) for each in rules), **options)
    with pytest.raises(ValueError, match="65536 does not fit"):
        Counter(0, 65536)


def test_what_the_trigger_of_an_older_unit_means() -> None:
    """IHI 0014Q, 7.3: the trigger has no number; here event 0."""
    rules = tuple(Rule(Executed(at), Trigger(), text) for at, text in ((0x1000, "exec f"), (0x2000, "exec g")))
    older = plan_etmv3.plan_program(TraceOptions(rules=rules), units.FULL, 4 * KIB)
    assert older.marks == ((0, "trigger at exec f or exec g"),)
    assert plan_ptm.plan_program(TraceOptions(rules=rules[:1]), units.A15, 4 * KIB).marks == ((0, "trigger at exec f"),)
