"""Steps for comparators, counters, the sequencer, single-shot controls and inputs.

Each is made to fire by instructions whose number of executions is known.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.protocols.elements import TraceEvent
from gdb_etm.registers import etmv3, etmv4, mtb
from gdb_etm.registers.page import Register
from gdb_etm.selftest.basic import dwt_comparators, plain
from gdb_etm.selftest.compare import TracedPath, check_end, check_gaps
from gdb_etm.selftest.findings import StepFailure, StepSkipped
from gdb_etm.selftest.rig import Rig, TracedRun
from gdb_etm.traceunit.actions import Count, Counter, Mark, NextState, Output, Rule
from gdb_etm.traceunit.apply import apply
from gdb_etm.traceunit.dwt_match import MatchTarget
from gdb_etm.traceunit.events import Committed, Event, Executed, Input, Watched
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.views.text import plural

_PASSES = 2
# Of the rest of the program, this share may be traced beside a range: a unit may be late by a few instructions.
_BESIDE = 4
# Instructions by which a start may be early or late.
_NEAR = 4
# Cores that fetch ahead of what they execute: their comparators may match more often.
_AHEAD = ("Cortex-M7", "Cortex-M55", "Cortex-M85")
_COUNT = 4
_MOST = 16


def comparators(rig: Rig, kind: str) -> List[int]:
    """List the comparators of a kind, ``"range"`` or ``"start"``."""
    found = []
    for number in range(_MOST):
        try:
            rig.trace.plan_start(_options(rig, kind, number))
        except UnsupportedError:
            break
        found.append(number)
    return found


def check_kind(rig: Rig, kind: str) -> str:
    """Refuse a kind of which the unit has none.

    :raises UnsupportedError: It has none.
    """
    rig.trace.plan_start(_options(rig, kind, 0))
    return ""


def comparator_name(rig: Rig, kind: str, number: int) -> str:
    """Name the comparator that a step is about: ``"pair 3"``."""
    wanted = _wanted(rig, kind, number)
    plan, _ = rig.trace.plan_start(_options(rig, kind, number))
    if rig.is_mtb:
        # The one that is allotted last has the lowest number.
        starts = plan.value(mtb.TSTART.name)
        return "DWT comparator %d" % ((starts & -starts).bit_length() - 1)
    names = [taken.name for taken in plan.taken if wanted.first <= taken.where.first <= wanted.last]
    if len(names) > 1:
        kinds, numbers = zip(*(name.rsplit(" ", 1) for name in names))
        return "%ss %s" % (kinds[0], ", ".join(numbers))
    return names[0] if names else "%s %d" % (kind, number)


def _options(rig: Rig, kind: str, number: int) -> TraceOptions:
    # The comparators before this one wait for what never runs.
    if kind == "range":
        others = tuple(AddressRange(at, at + 1) for at in _elsewhere(rig, number))
        return replace(plain(rig), include=(*others, _wanted(rig, kind, number)))
    return replace(plain(rig), start_at=(*_elsewhere(rig, number), rig.layout.at("leaf")))


def _elsewhere(rig: Rig, count: int) -> List[int]:
    # Below the program, apart from one another: ranges that touch are joined, and the lowest is allotted first.
    return [rig.layout.base - 0x400 + 0x10 * n for n in range(count)]


def _wanted(rig: Rig, kind: str, number: int) -> AddressRange:
    if kind != "range":
        return AddressRange(rig.layout.at("leaf"), rig.layout.at("leaf"))
    # First the one that is an aligned block, for which one comparator of a DWT does.
    first, last = _turn(rig, number)
    return AddressRange(rig.layout.code + first, rig.layout.code + last + 1)


def _turn(rig: Rig, number: int) -> Tuple[int, int]:
    functions = list(reversed(rig.layout.program.functions.values()))
    return functions[number % len(functions)]


def comparator(rig: Rig, kind: str, number: int) -> str:
    """Trace by one comparator, or by one pair."""
    run = rig.run(_options(rig, kind, number))
    return _check_range(rig, run, number) if kind == "range" else _check_start(rig, run)


def _check_range(rig: Rig, run: TracedRun, number: int) -> str:
    where = _wanted(rig, "range", number)
    path = rig.layout.path(1)
    inside = [address for address in path if where.first <= address <= where.last]
    found = TracedPath([], [], []) if run.history is None else run.executed
    check_gaps(found, filtered=True)
    got = [address for address in found.addresses if where.first <= address <= where.last]
    beside = len(found.addresses) - len(got)
    if beside > (len(path) - len(inside)) // _BESIDE:
        raise StepFailure(
            "it matches elsewhere too: %s beside %s (%s)" % (plural(beside, "instruction"), where, _registers(run))
        )
    if not got:
        raise StepFailure("it never matches: nothing of %s is in the trace (%s)" % (where, _registers(run)))
    if got != inside:
        raise StepFailure(
            "%d of the %s in %s are in the trace (%s)"
            % (len(got), plural(len(inside), "instruction"), where, _registers(run))
        )
    return "%s in %s, and %d beside" % (plural(len(got), "instruction"), where, beside)


def _check_start(rig: Rig, run: TracedRun) -> str:
    path, at = rig.layout.path(1), rig.layout.at("leaf")
    if run.history is None or not len(run.history):
        raise StepFailure("it never matches: nothing is traced from 0x%08x on (%s)" % (at, _registers(run)))
    wanted = len(path) - path.index(at)
    number = check_end(run.executed, path, rig.layout)
    if abs(number - wanted) > _NEAR:
        raise StepFailure(
            "the trace begins %s: %d instructions, %d from 0x%08x on (%s)"
            % ("too early" if number > wanted else "too late", number, wanted, at, _registers(run))
        )
    return "the trace begins at 0x%08x" % path[len(path) - number]


def _registers(run: TracedRun) -> str:
    # What names the comparator, for a failure.
    used = run.plan.taken[-1:] if run.plan.taken else ()
    if run.capture.sources[0].protocol == "mtb":
        return "%s is 0x%x" % (mtb.TSTART.name, run.plan.value(mtb.TSTART.name))
    return ", ".join("%s takes %s" % (taken.name, taken.where) for taken in used) or "no comparator"


def events(rig: Rig) -> Iterator[int]:
    """List the numbers of events that can be in the trace."""
    for number in range(_COUNT):
        try:
            rig.trace.plan_start(_marking(rig, Executed(rig.layout.at("leaf")), number))
        except UnsupportedError:
            if not number:
                raise
            return
        yield number


def event(rig: Rig, number: int) -> str:
    """Mark each execution of an instruction in the trace."""
    return _check_marks(rig, _marking(rig, Executed(rig.layout.at("leaf")), number), number, 3 * _PASSES)


def _marking(rig: Rig, when: Event, number: int) -> TraceOptions:
    return replace(plain(rig), rules=(Rule(when, Mark(number)),))


def _check_marks(
    rig: Rig, options: TraceOptions, number: int, wanted: int, before_run: Optional[Callable[[], None]] = None
) -> str:
    run = rig.run(options, _PASSES, before_run)
    marks = [event for event in run.decoded().events if isinstance(event, TraceEvent) and event.number == number]
    check_gaps(run.executed)
    if not _is_count(rig, len(marks), wanted):
        raise StepFailure("event %d is %d times in the trace, %d were awaited" % (number, len(marks), wanted))
    return "%s in the trace, as awaited" % plural(len(marks), "event packet")


def _is_count(rig: Rig, found: int, wanted: int) -> bool:
    if rig.trace.core.type in _AHEAD:
        return wanted <= found <= 2 * wanted
    return found == wanted


def watch_input(rig: Rig, number: int) -> str:
    """Have a comparator of the DWT drive an input."""
    component = rig.trace.path.dwt
    if component is None:
        raise StepSkipped("the processor has no DWT")
    writes = tuple(
        dwt_comparators(rig).writes(number, MatchTarget(rig.layout.at("leaf"), 1, "the self test's function"))
    )
    before = {write.offset: component.port.read32(component.address + write.offset) for write in writes}
    try:
        options = _marking(rig, Watched(number), 0)
        # Programming the unit puts the comparators back that it borrowed before.
        before_run = partial(apply, Plan(writes), component.port, component.address, rig.deadline)
        return _check_marks(rig, options, 0, 3 * _PASSES, before_run)
    finally:
        for offset, value in before.items():
            component.port.write32(component.address + offset, value)


def counters(rig: Rig) -> List[int]:
    """List the counters that can count executions.

    :raises UnsupportedError: There are none.
    """
    found: List[int] = []
    refused: List[UnsupportedError] = []
    # The first may be a reduced one, which counts cycles alone; those after it are whole.
    for number in range(_COUNT):
        try:
            rig.trace.plan_start(_counting(rig, number, False))
            found.append(number)
        except UnsupportedError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def _counting(rig: Rig, number: int, reloads: bool) -> TraceOptions:
    counter = Counter(number, _COUNT if reloads else 100, is_periodic=reloads)
    return replace(plain(rig), rules=(Rule(Executed(rig.layout.at("leaf")), Count(number)),), counters=(counter,))


def counter(rig: Rig, number: int) -> str:
    """Count executions down, without and with reloads, and read the counter."""
    ran = 3 * _PASSES
    rig.run(_counting(rig, number, False), _PASSES)
    register = _counter_register(rig, number)
    value = rig.read_unit(register)
    if not _is_count(rig, 100 - value, ran):
        raise StepFailure("%s is %d after %d counts from 100" % (register.name, value, ran))
    rig.run(_counting(rig, number, True), _PASSES)
    again = rig.read_unit(register)
    if rig.trace.core.type in _AHEAD:
        if not again:
            raise StepFailure("%s is 0 after %d counts from %d: it does not reload" % (register.name, ran, _COUNT))
    # At zero after four; an ETMv4's reloads at the count after that, an ETMv3's in the next cycle (IHI 0064, 4.2.1).
    elif again not in ((_COUNT - 1,) if rig.trace.unit.protocol == "etmv4" else (_COUNT - 1, _COUNT - 2)):
        raise StepFailure("%s is %d after %d counts from %d with reloads" % (register.name, again, ran, _COUNT))
    return "%s: %d after %d counts from 100; %d after as many from %d with reloads" % (
        register.name,
        value,
        ran,
        again,
        _COUNT,
    )


def _counter_register(rig: Rig, number: int) -> Register:
    return etmv4.TRCCNTVR[number] if rig.trace.unit.protocol == "etmv4" else etmv3.ETMCNTVR[number + 1]


def sequencer(rig: Rig) -> str:
    """Take the sequencer through its states by instructions."""
    v4 = rig.trace.unit.protocol == "etmv4"
    places: Sequence[Tuple[str, int, int]] = (("sum", 0, 1), ("choose", 1, 2), ("table", 2, 3))[: 3 if v4 else 2]
    rules = tuple(Rule(Executed(rig.layout.at(at)), NextState(one, other)) for at, one, other in places)
    register = etmv4.TRCSEQSTR if v4 else etmv3.ETMSQR
    states = []
    for count in range(1, len(rules) + 1):
        rig.run(replace(plain(rig), rules=rules[:count]))
        state = rig.read_unit(register) & 3
        if state != count:
            raise StepFailure("%s is %d after %s from state 0" % (register.name, state, plural(count, "step")))
        states.append(state)
    return "%s: 0, %s" % (register.name, ", ".join(map(str, states)))


def single_shots(rig: Rig) -> List[int]:
    """List the single-shot controls that can be tried.

    :raises UnsupportedError: There are none.
    """
    found = []
    for number in range(_COUNT):
        try:
            rig.trace.plan_start(_shot(rig, number, False))
        except UnsupportedError:
            if not number:
                raise
            break
        found.append(number)
    return found


def _shot(rig: Rig, number: int, again: bool) -> TraceOptions:
    others = [Rule(Committed((Executed(at),)), Mark(0)) for at in _elsewhere(rig, number)]
    last = Rule(Committed((Executed(rig.layout.at("leaf")),), again), Mark(0))
    return replace(plain(rig), rules=(*others, last))


def single_shot(rig: Rig, number: int) -> str:
    """Have a single-shot control fire once, and each time."""
    once = _check_marks(rig, _shot(rig, number, False), 0, 1)
    run = rig.run(_shot(rig, number, True), _PASSES)
    each = sum(isinstance(one, TraceEvent) for one in run.decoded().events)
    # It is about what was executed, not what was fetched.
    if each != 3 * _PASSES:
        raise StepFailure("set to fire each time, it fired %d times, %d were awaited" % (each, 3 * _PASSES))
    return "%s; then each time, %d times" % (once.partition(" in")[0], each)


def external_input(rig: Rig) -> str:
    """Drive an input by an output, where the chip connects them."""
    options = replace(
        plain(rig),
        rules=(Rule(Executed(rig.layout.at("leaf")), Output(0)), Rule(Input(0), Mark(1))),
    )
    run = rig.run(options, _PASSES)
    marks = [one for one in run.decoded().events if isinstance(one, TraceEvent) and one.number == 1]
    if not marks:
        raise StepSkipped("nothing here drives them: no output is connected to input 0")
    return "output 0 drives input 0: %s" % plural(len(marks), "event packet")
