"""Vectors worked by hand: rules V-01 to V-50 in one table.

Of the programming map, 3.6, with lines of IHI 0064's text.

A rule is a refusal, whose message names the field; or a note; or it holds of every plan, which is tried on plans of
every kind.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import pytest

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.program.comparator_limits import doubt_of
from gdb_etm.registers import etmv4
from gdb_etm.registers.etmv4_comparators import TRCACATR
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.traceunit.actions import (
    Count,
    Counter,
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
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_program
from gdb_etm.traceunit.etmv4.unit import EtmV4Unit
from gdb_etm.traceunit.events import (
    ALWAYS,
    Accessed,
    AccessType,
    AtZero,
    Committed,
    DataValue,
    Event,
    Executed,
    ExecutedIn,
    InContext,
    Input,
    InState,
    Watched,
)
from gdb_etm.traceunit.options import (
    AddressRange,
    Conditionals,
    DataTrace,
    ExceptionLevel,
    ExceptionTrace,
    QElements,
    TraceOptions,
)
from gdb_etm.traceunit.plan import Plan, RegisterPoll, RegisterWrite

from . import units

KIB = 1024
CODE, DATA = AddressRange(0x1000, 0x10FF), AddressRange(0x20000000, 0x200000FF)
AT, OTHER = Executed(0x1000), Executed(0x2000)


def changed(unit: Capabilities, **registers: int) -> Capabilities:
    return Capabilities({**unit.registers, **registers})


ALL_OF_IT = changed(units.A53, TRCIDR0=0x28000EA1 | 3 << 15 | 1 << 14 | 1 << 6, TRCIDR3=0x8D7B0004)
LOOPS = changed(units.A53, TRCIDR0=0x28000EA1 | 1 << 18, TRCIDR1=0x4100F453)
SHARED = changed(units.A53, TRCIDR3=0x1D7B0004)
NEVER_IN_STEP = changed(units.M33, TRCSYNCPR=0)
FORBIDDEN = changed(units.A53, TRCAUTHSTATUS=0x8C)
NO_TRIGGER = changed(units.A53, TRCIDR5=0x28C7081E & ~(1 << 22))


def rules(*pairs: Tuple[Event, Any]) -> Dict[str, Any]:
    return {"rules": tuple(Rule(*pair) for pair in pairs)}


class Refusal(NamedTuple):
    """What must not be planned."""

    rule: str
    unit: Capabilities
    options: Dict[str, Any]
    # The field that the message names.
    field: str


REFUSALS: Sequence[Refusal] = (
    Refusal("V-02", units.M33, dict(context_id=True), "TRCIDR2.CIDSIZE"),
    Refusal("V-02", units.M33, dict(vmid=True), "TRCIDR2.VMIDSIZE"),
    Refusal("V-02", units.MINIMAL, dict(branch_broadcast=True), "TRCIDR0.TRCBB"),
    Refusal("V-02", changed(units.A53, TRCIDR0=0x00000EA1), dict(timestamps=True), "TRCIDR0.TSSIZE"),
    Refusal("V-02", changed(units.A53, TRCIDR0=0x28000CA1), dict(return_stack=True), "TRCIDR0.RETSTACK"),
    Refusal("V-03", ALL_OF_IT, dict(q_elements=QElements.ON, branch_broadcast=True), "TRCCONFIGR.QE"),
    Refusal("V-03", ALL_OF_IT, dict(q_elements=QElements.ON, conditional=Conditionals.ALL), "TRCCONFIGR.QE"),
    Refusal("V-03", units.M33, dict(q_elements=QElements.ON), "TRCIDR0.QSUPP"),
    Refusal("V-04", changed(units.DATA, TRCIDR0=0x28021EFF & ~6), dict(data=DataTrace.BOTH), "TRCIDR0.INSTP0"),
    Refusal("V-05", units.A53, dict(conditional=Conditionals.ALL), "TRCIDR0.TRCCOND"),
    Refusal("V-05", units.A53, dict(data=DataTrace.BOTH), "TRCIDR0.TRCDATA"),
    Refusal("V-06", units.M33, dict(cycle_count=3), "TRCIDR3.CCITMIN"),
    Refusal("V-06", units.M33, dict(cycle_count=4096), "TRCIDR3.CCITMIN"),
    Refusal("V-07", units.M33, dict(branch_broadcast=True, broadcast_ranges=(CODE,)), "TRCIDR4.NUMACPAIRS"),
    Refusal("V-10", units.A53, dict(sync_bytes=128), "TRCSYNCPR.PERIOD"),
    Refusal("V-10", units.M33, dict(sync_bytes=512), "TRCIDR3.SYNCPR"),
    Refusal("V-13", units.DATA, dict(data=DataTrace.BOTH, trace_id=0x11), "TRCTRACEIDR.TRACEID"),
    Refusal("V-14", changed(units.A53, TRCIDR3=0x0D7B0004 & ~(1 << 27)), dict(stall=True), "TRCIDR3.SYSSTALL"),
    Refusal("V-15", units.A53, dict(overflow_prevention=True), "TRCIDR3.NOOVERFLOW"),
    Refusal("V-17", units.MINIMAL, rules((ALWAYS, Mark())), "TRCIDR4.NUMRSPAIR"),
    Refusal("V-17", units.MINIMAL, rules((Input(0), Trace())), "TRCIDR4.NUMRSPAIR"),
    Refusal("V-18", units.M33, rules((Input(0) & Watched(1), Mark()), (Input(1), Mark())), "TRCIDR4.NUMRSPAIR"),
    Refusal("V-22", units.A53, rules((Accessed(DATA), Mark())), "TRCIDR4.SUPPDAC"),
    Refusal(
        "V-22",
        changed(units.DATA, TRCIDR4=0x11170024),
        dict(data=DataTrace.BOTH, data_include=(DATA,)),
        "TRCIDR4.SUPPDAC",
    ),
    Refusal("V-23", units.DATA, rules((Accessed(AddressRange(0, 0), value=DataValue(1, 8)), Mark())), "TRCIDR2.DVSIZE"),
    Refusal(
        "V-24",
        units.DATA,
        rules(*((Accessed(AddressRange(n, n), value=DataValue(1)), Mark(0)) for n in (0, 4, 8))),
        "TRCIDR4.NUMDVC",
    ),
    Refusal("V-26", units.DATA, rules((Accessed(AddressRange(2, 2), value=DataValue(1)), Mark())), "TRCACATR"),
    Refusal(
        "V-27",
        changed(units.DATA, TRCIDR2=0x00440488),
        dict(data=DataTrace.BOTH, data_include=(AddressRange(0xFF00000000000000, 0xFF000000000000FF),)),
        "TRCACATRn.DTBM",
    ),
    Refusal("V-30", units.A53, dict(contexts=(1, 2)), "TRCIDR4.NUMCIDC"),
    Refusal("V-30", units.A53, rules((InContext(1) | InContext(2), Mark())), "TRCIDR4.NUMCIDC"),
    Refusal("V-35", units.A53, dict(levels=(ExceptionLevel(2),)), "TRCIDR3.EXLEVEL_S"),
    Refusal("V-35", units.M33, dict(nonsecure=False), "TRCIDR3.EXLEVEL_NS"),
    Refusal(
        "V-35", units.M33, dict(levels=(ExceptionLevel(0),), exceptions=ExceptionTrace.ONLY), "TRCVICTLR.EXLEVEL_S"
    ),
    Refusal("V-36", changed(units.A53, TRCSSCSR0=0), rules((Committed((AT,)), Mark())), "TRCSSCSR0.INST"),
    Refusal("V-36", units.A53, rules((Committed((AT,)), Mark()), (Committed((OTHER,)), Mark())), "TRCIDR4.NUMSSCC"),
    Refusal(
        "V-37",
        units.M33,
        dict(counters=(Counter(0, 9, is_periodic=True),), **rules((Watched(0), Count(0)))),
        "TRCIDR5.REDFUNCNTR",
    ),
    Refusal("V-37", units.A53, dict(counters=(Counter(2, 1),), **rules((ALWAYS, Count(2)))), "TRCIDR5.NUMCNTR"),
    Refusal(
        "V-37",
        units.A53,
        dict(counters=(Counter(0, 1, is_chained=True),), **rules((AtZero(0), Mark()))),
        "TRCCNTCTLRn.CNTCHAIN",
    ),
    Refusal("V-38", units.M33, rules((ALWAYS, NextState(0, 1))), "TRCIDR5.NUMSEQSTATE"),
    Refusal("V-39", units.A53, rules((Input(30), Mark())), "TRCIDR5.NUMEXTIN"),
    Refusal("V-39", units.M33, rules((Input(4), Mark())), "TRCIDR5.NUMEXTIN"),
    Refusal("V-39", units.A53, rules(*((Input(n), Mark(0)) for n in range(5))), "TRCIDR5.NUMEXTINSEL"),
    Refusal("V-40", FORBIDDEN, dict(nonsecure=False), "TRCAUTHSTATUS.SNID"),
    Refusal("V-41", NO_TRIGGER, rules((AT, Trigger())), "TRCIDR5.ATBTRIG"),
    Refusal(
        "V-49",
        units.A53,
        dict(include=tuple(AddressRange(n << 12, (n << 12) + 9) for n in range(4)), start_at=(0x8000,)),
        "TRCIDR4.NUMACPAIRS",
    ),
)


@pytest.mark.parametrize("row", REFUSALS, ids=["%s %s" % (row.rule, row.field) for row in REFUSALS])
def test_refused_before_anything_is_written(row: Refusal) -> None:
    with pytest.raises(UnsupportedError) as error:
        plan_program(TraceOptions(**row.options), row.unit, 4 * KIB)
    assert row.field in str(error.value) and error.value.register in str(error.value), str(error.value)


SENSELESS: Sequence[Tuple[str, Dict[str, Any], str]] = (
    ("V-12", dict(trace_id=0), "must be from 0x01 to 0x6f"),
    ("V-12", dict(trace_id=0x7D), "must be from 0x01 to 0x6f"),
    ("V-13", dict(trace_id=0x6F, data=DataTrace.BOTH), "needs the next one"),
    ("V-20", dict(include=(AddressRange(8, 4),)), "ends before it starts"),
    ("V-32", dict(start_at=(8,), stop_at=(8,)), "both starts and stops"),
    ("V-32", dict(start_at=(0x1000,), **rules((AT, StopTracing()))), "both starts and stops"),
    ("V-35", dict(secure=False, nonsecure=False), "nothing is left"),
    ("V-37", rules((ALWAYS, Count(0))), "used but not set"),
)


@pytest.mark.parametrize("rule, options, message", SENSELESS, ids=[row[0] for row in SENSELESS])
def test_what_no_unit_could_do(rule: str, options: Dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TraceOptions(**options)


NOTES: Sequence[Tuple[str, Capabilities, Dict[str, Any], str]] = (
    ("V-09", units.A53, dict(branch_broadcast=True), "branch broadcast overrides the return stack"),
    ("V-11", NEVER_IN_STEP, {}, "does not synchronise by itself (TRCSYNCPR.PERIOD is 0)"),
    ("V-14", units.A53, dict(stall=True, cycle_count=16), "may leave out timestamps and cycle counts"),
    ("V-28", units.A53, dict(include=(AddressRange(0x00F0 << 48, (0x00F0 << 48) + 9),)), "top bits of an address"),
    ("V-33", units.A53, dict(stop_at=(0x1000,), start_at=(0x1008,)), "the unit may take the start first"),
    ("V-33", units.A53, dict(start_at=(0x1001,)), "is not where an instruction begins"),
    ("V-33", LOOPS, dict(start_at=(0x1000,)), "(TRCIDR0.BF)"),
    ("V-43", SHARED, {}, "the one that TRCPROCSELR selects"),
    ("V-45", units.A53, rules((Input(0), Trace())), "an event switches the trace"),
    ("V-48", units.A53, rules((AT, Output(0))), "an external output comes before its place in the trace"),
)


@pytest.mark.parametrize("rule, unit, options, words", NOTES, ids=[row[0] for row in NOTES])
def test_told(rule: str, unit: Capabilities, options: Dict[str, Any], words: str) -> None:
    assert any(words in note for note in plan_program(TraceOptions(**options), unit, 4 * KIB).notes)


# Plans of every kind, on which what must hold of every plan is tried.
_KINDS: Sequence[Tuple[Capabilities, Dict[str, Any]]] = (
    (units.A53, {}),
    (units.M33, {}),
    (units.DATA, {}),
    (units.MINIMAL, {}),
    (units.ONE_PAIR, {}),
    (ALL_OF_IT, {}),
    (units.A53, dict(include=(CODE,), exclude=(AddressRange(0x1040, 0x107F),), start_at=(8,), stop_at=(16,))),
    (units.A53, dict(include=(CODE,), contexts=(7,), cycle_count=16, stall=True)),
    (units.A53, dict(branch_broadcast=True, broadcast_ranges=(CODE, AddressRange(0, 3)))),
    (ALL_OF_IT, dict(q_elements=QElements.ON)),
    (
        units.DATA,
        dict(
            data=DataTrace.BOTH,
            data_include=(DATA,),
            data_exclude=(AddressRange(0, 0),),
            conditional=Conditionals.ALL,
            include=(CODE,),
        ),
    ),
    (
        units.DATA,
        dict(
            data=DataTrace.VALUES,
            **rules(
                (Accessed(DATA, AccessType.STORE, DataValue(5)), Mark()),
                (Accessed(AddressRange(4, 4), value=DataValue(6, 1, 1)), Mark(0)),
            ),
        ),
    ),
    (
        units.A53,
        dict(
            timestamps=True,
            counters=(Counter(0, 9, None, True), Counter(1, 3, is_chained=True)),
            **rules(
                (AT, Count(0)),
                (OTHER, Reload(0)),
                (AtZero(1), Timestamp()),
                (Input(8), NextState(0, 1)),
                (InState(1) & ~Input(9), Trigger()),
            ),
        ),
    ),
    (
        units.A53,
        rules(
            (Committed((AT, ExecutedIn(CODE))), Mark()), (AT & InContext(3), StartTracing()), (Input(1), StopTracing())
        ),
    ),
    (
        units.M33,
        rules((Committed((Watched(0),), True), Mark()), (Watched(1), StartTracing()), (Watched(2), StopTracing())),
    ),
)


def plans() -> Iterator[Tuple[Capabilities, TraceOptions, Plan]]:
    for unit, options in _KINDS:
        wanted = TraceOptions(**options)
        yield unit, wanted, plan_program(wanted, unit, 4 * KIB)


def value(plan: Plan, name: str) -> int:
    try:
        return plan.value(name)
    except KeyError:
        return 0


def ranges_in_use(plan: Plan) -> List[int]:
    """List the pairs that are used as ranges, whatever for."""
    filters = value(plan, "TRCVIIECTLR")
    data = value(plan, "TRCVDARCCTLR")
    mask = filters | filters >> 16 | data | data >> 16 | value(plan, "TRCBBCTLR") | value(plan, "TRCQCTLR")
    mask |= sum(value(plan, "TRCSSCCR%d" % n) >> 16 & 0xFF for n in range(8))
    for n in range(2, 32):
        control = value(plan, "TRCRSCTLR%d" % n)
        mask |= control & 0xFF if control >> 16 & 0xF == 5 else 0
    return [n for n in range(8) if mask >> n & 1]


def order_of_writes(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-01: disabled and idle first, and nothing enables it."""
    first, second = plan.steps[:2]
    assert isinstance(first, RegisterWrite) and (first.name, first.value) == ("TRCPRGCTLR", 0)
    assert isinstance(second, RegisterPoll) and (second.name, second.value & 1) == ("TRCSTATR", 1)
    assert all(step.name != "TRCPRGCTLR" for step in plan.steps[2:])


def implemented_bits(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-02: no reserved bits, and no register that is missing."""
    for write in plan.writes:
        register, shift = PAGE.at(write.offset)
        reserved = ~(register.mask | register.encode()) >> shift & 0xFFFFFFFF
        assert not write.value & reserved, write.name
        assert write.name != "TRCEVENTCTL0R" or unit.selector_pairs


def configuration(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-03 to V-06, V-10, V-12, V-13, V-15: TRCCONFIGR, TRCCCCTLR, TRCSYNCPR, TRCTRACEIDR, TRCSTALLCTLR."""
    found = etmv4.TRCCONFIGR.decode(plan.value("TRCCONFIGR"))
    assert found["QE"] in (0, 1, 3) and found["COND"] in (0, 1, 2, 3, 7)
    assert not found["QE"] or not (found["INSTP0"] or found["COND"] or found["BB"])
    assert not (found["DA"] or found["DV"]) or found["INSTP0"] == 3 and unit.field("TRCIDR0.TRCDATA") == 3
    if unit.field("TRCIDR0.TRCCCI"):
        assert max(unit.field("TRCIDR3.CCITMIN"), 1) <= plan.value("TRCCCCTLR") <= 0xFFF
    assert value(plan, "TRCSYNCPR") in (0, *range(8, 21))
    trace_id = etmv4.TRCTRACEIDR.decode(plan.value("TRCTRACEIDR"))
    assert 1 <= trace_id["TRACEID"] <= 0x6F and trace_id["TRACEDATAID"] != trace_id["TRACEID"]
    stall = etmv4.TRCSTALLCTLR.decode(value(plan, "TRCSTALLCTLR"))
    data = stall["DATADISCARD"] or stall["INSTPRIORITY"] or stall["DSTALL"]
    assert not data or unit.field("TRCIDR0.TRCDATA")
    assert not stall["NOOVERFLOW"] or unit.field("TRCIDR3.NOOVERFLOW")


def broadcast(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-07 to V-09: include mode, instruction ranges only, without Q elements."""
    control = etmv4.TRCBBCTLR.decode(value(plan, "TRCBBCTLR"))
    assert bool(control["MODE"]) == bool(control["RANGE"])
    for n in range(8):
        if control["RANGE"] >> n & 1:
            assert not plan.value("TRCACATR%d" % (2 * n)) & 3
    assert value(plan, "TRCQCTLR") == 0


def selectors(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-16, V-18, V-19: existing selectors and members; no reserved codes."""
    fields = [value(plan, "TRCEVENTCTL0R") >> 8 * n & 0xFF for n in range(4)]
    fields += [value(plan, name) & 0xFF for name in ("TRCTSCTLR", "TRCVICTLR", "TRCVDCTLR", "TRCSEQRSTEVR")]
    fields += [value(plan, "TRCSEQEVR%d" % n) >> shift & 0xFF for n in range(3) for shift in (0, 8)]
    fields += [value(plan, "TRCCNTCTLR%d" % n) >> shift & 0xFF for n in range(4) for shift in (0, 8)]
    for field in fields:
        number = field & 0x1F
        assert not field & 0x60
        assert 1 <= number < unit.selector_pairs if field >> 7 else number < max(2 * unit.selector_pairs, 2)
    there = {
        0: unit.field("TRCIDR5.NUMEXTINSEL") or unit.field("TRCIDR5.NUMEXTIN"),
        1: unit.field("TRCIDR4.NUMPC"),
        3: unit.field("TRCIDR4.NUMSSCC"),
        4: 2 * unit.field("TRCIDR4.NUMACPAIRS"),
        5: unit.field("TRCIDR4.NUMACPAIRS"),
        6: unit.field("TRCIDR4.NUMCIDC"),
        7: unit.field("TRCIDR4.NUMVMIDC"),
    }
    members = {group: (1 << min(count, 16)) - 1 for group, count in there.items()}
    members[2] = (1 << unit.field("TRCIDR5.NUMCNTR")) - 1 | (0xF0 if unit.field("TRCIDR5.NUMSEQSTATE") else 0)
    for n in range(2, 32):
        control = etmv4.TRCRSCTLR[n].decode(value(plan, "TRCRSCTLR%d" % n))
        assert control["GROUP"] <= 7 and not control["SELECT"] & ~members[control["GROUP"]]
        assert not (n % 2 and control["PAIRINV"])
        if n % 2 == 0:
            other = etmv4.TRCRSCTLR[n + 1].decode(value(plan, "TRCRSCTLR%d" % (n + 1)))
            code = control["INV"], other["INV"], control["PAIRINV"]
            assert 0x80 | n // 2 not in fields or code not in ((0, 1, 0), (1, 0, 1))


def comparators(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-20 to V-26, V-29 to V-31, V-42: uses of comparators."""
    for n in ranges_in_use(plan):
        low, high = ("TRCACVR%d" % (2 * n + half) for half in (0, 1))
        ends = [plan.value(name) | value(plan, name + "[63:32]") << 32 for name in (low, high)]
        kinds = [TRCACATR[2 * n + half].decode(plan.value("TRCACATR%d" % (2 * n + half))) for half in (0, 1)]
        same = ("TYPE", "CONTEXTTYPE", "CONTEXT", "EXLEVEL_S", "EXLEVEL_NS", "DTBM")
        assert ends[0] <= ends[1] and all(kinds[0][name] == kinds[1][name] for name in same)
    for n in range(2 * unit.field("TRCIDR4.NUMACPAIRS")):
        kind = TRCACATR[n].decode(value(plan, "TRCACATR%d" % n))
        assert not kind["TYPE"] or unit.field("TRCIDR4.SUPPDAC")
        assert kind["DATAMATCH"] != 2 and not (kind["DATAMATCH"] and (not kind["TYPE"] or n % 2))
        assert not kind["DATAMATCH"] or n // 2 < unit.field("TRCIDR4.NUMDVC")
        assert kind["DATASIZE"] != 3 or unit.field("TRCIDR2.DVSIZE") == 8
        assert not kind["CONTEXTTYPE"] or kind["CONTEXT"] < unit.field("TRCIDR4.NUMCIDC")
        # A value takes the whole pair or one half of it, and never both (V-24).
        assert not kind["DATAMATCH"] or bool(kind["DATARANGE"]) == (n // 2 in ranges_in_use(plan))
    view = value(plan, "TRCVIIECTLR") | value(plan, "TRCVIIECTLR") >> 16
    points = value(plan, "TRCVISSCTLR") | value(plan, "TRCVISSCTLR") >> 16
    data = value(plan, "TRCVDSACCTLR") | value(plan, "TRCVDSACCTLR") >> 16
    for n in range(16):
        kind = TRCACATR[n].decode(value(plan, "TRCACATR%d" % n))
        assert not (points >> n & 1 or view >> n // 2 & 1) or kind["TYPE"] == 0
        assert not data >> n & 1 or kind["TYPE"] and not kind["DATAMATCH"]
    for n in range(unit.field("TRCIDR4.NUMDVC")):
        assert not value(plan, "TRCDVCVR%d" % n) & value(plan, "TRCDVCMR%d" % n)
    # Every byte of a context is compared, so that no byte of its value must be 0.
    assert all(value(plan, name) == 0 for name in ("TRCCIDCCTLR0", "TRCCIDCCTLR1", "TRCVMIDCCTLR0", "TRCVMIDCCTLR1"))
    for n in range(unit.field("TRCIDR4.NUMCIDC")):
        assert value(plan, "TRCCIDCVR%d" % n) == 0 or any(step.name == "TRCCIDCCTLR0" for step in plan.steps)


def start_and_stop(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-32, V-34: no address starts and stops; the state is chosen."""
    for name in ("TRCVISSCTLR", "TRCVIPCSSCTLR"):
        found = value(plan, name)
        assert not found & 0xFFFF & found >> 16
    waits = (value(plan, "TRCVISSCTLR") | value(plan, "TRCVIPCSSCTLR")) & 0xFFFF
    assert plan.value("TRCVICTLR") >> 9 & 1 == (not waits)


def levels(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-35, V-41: existing levels, never all; TRCERR where it exists."""
    found = etmv4.TRCVICTLR.decode(plan.value("TRCVICTLR"))
    there = unit.field("TRCIDR3.EXLEVEL_S"), unit.field("TRCIDR3.EXLEVEL_NS")
    off = found["EXLEVEL_S"], found["EXLEVEL_NS"]
    assert not off[0] & ~there[0] and not off[1] & ~there[1] and off != there
    assert not found["TRCERR"] or unit.field("TRCIDR3.TRCERR")


def derived(unit: Capabilities, options: TraceOptions, plan: Plan) -> None:
    """V-36 to V-39: used resources are written completely."""
    names = {step.name for step in plan.steps}
    for n in range(unit.field("TRCIDR4.NUMSSCC")):
        assert plan.value("TRCSSCSR%d" % n) >> 31 == 0
    if unit.field("TRCIDR5.NUMSEQSTATE"):
        assert {"TRCSEQEVR0", "TRCSEQEVR1", "TRCSEQEVR2", "TRCSEQRSTEVR", "TRCSEQSTR"} <= names
    for n in range(unit.field("TRCIDR5.NUMCNTR")):
        full = n > 0 or not unit.field("TRCIDR5.REDFUNCNTR")
        assert {"TRCCNTRLDVR%d" % n, *(("TRCCNTCTLR%d" % n, "TRCCNTVR%d" % n) if full else ())} <= names
    inputs = value(plan, "TRCEXTINSELR")
    assert all(inputs >> 8 * n & 0xFF < max(unit.field("TRCIDR5.NUMEXTIN"), 1) for n in range(4))


HOLDS: Dict[Callable[[Capabilities, TraceOptions, Plan], None], Sequence[str]] = {
    order_of_writes: ("V-01",),
    implemented_bits: ("V-02",),
    configuration: ("V-03", "V-04", "V-05", "V-06", "V-10", "V-12", "V-13", "V-15"),
    broadcast: ("V-07", "V-08", "V-09"),
    selectors: ("V-16", "V-18", "V-19"),
    comparators: ("V-20", "V-21", "V-22", "V-23", "V-24", "V-25", "V-29", "V-30", "V-31", "V-42"),
    start_and_stop: ("V-32", "V-34"),
    levels: ("V-35", "V-41"),
    derived: ("V-36", "V-37", "V-38", "V-39"),
}


@pytest.mark.parametrize("check", list(HOLDS), ids=[" ".join(rules) for rules in HOLDS.values()])
def test_holds_of_every_plan(check: Callable[[Capabilities, TraceOptions, Plan], None]) -> None:
    for unit, options, plan in plans():
        check(unit, options, plan)


class Registers(AccessPort):
    """Words of a trace unit in an unusable state."""

    name = "registers"

    def __init__(self, words: Dict[int, int]) -> None:
        self.words = words
        self.written: List[int] = []

    def read32(self, address: int) -> int:
        """Read a word."""
        return self.words.get(address, 0)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read words."""
        return [self.read32(address + 4 * n) for n in range(words)]

    def write32(self, address: int, value: int) -> None:
        """Write a word."""
        self.written.append(address)


_UNIT = {0x304: 0, 0x314: 1, 0xFBC: 0x47724A13, 0x1E4: 0x4100F421, 0x310: 8, 0xFA0: 0xF}


@pytest.mark.parametrize(
    "rule, words, message", [("V-40", {0xFB8: 0x88}, "TRCAUTHSTATUS is 0x88"), ("V-44", {0xF00: 1}, "TRCITCTRL.IME")]
)
def test_a_unit_that_must_not_be_used(rule: str, words: Dict[int, int], message: str) -> None:
    """V-40: tracing is not allowed; V-44: integration mode."""
    port = Registers({**_UNIT, **words})
    with pytest.raises(CaptureError, match=message):
        EtmV4Unit(port, 0, Deadline(0.0)).attach()
    assert 0x010 not in port.written and 0x004 not in port.written


def test_what_the_program_tells() -> None:
    """V-33: the shadow of IT; V-50: SG."""
    assert "SG" in doubt_of(lambda address, size: b"\x7f\xe9\x7f\xe9"[:size], 0x100)
    assert "IT" in doubt_of(lambda address, size: b"\x08\xbf\x00\xbf"[address - 0x100 :][:size], 0x102, 0x100)


def test_what_help_tells() -> None:
    """V-46: timestamps of 0; V-47: exceptions need instructions before them."""
    from gdb_etm.commands.filter import FILTER
    from gdb_etm.commands.options import OPTION_SETTINGS

    (timestamps,) = [setting for setting in OPTION_SETTINGS if setting.name == "timestamps"]
    assert "all are 0 if that is off" in timestamps.details
    assert "An exception is reported if the\ncode just before it was traced." in FILTER.details


def test_no_rule_is_forgotten() -> None:
    elsewhere = {"V-33", "V-40", "V-44", "V-46", "V-47", "V-50"}
    found = {row.rule for row in REFUSALS} | {row[0] for row in SENSELESS} | {row[0] for row in NOTES} | elsewhere
    found |= {rule for names in HOLDS.values() for rule in names}
    assert found == {"V-%02d" % n for n in range(1, 51)}
