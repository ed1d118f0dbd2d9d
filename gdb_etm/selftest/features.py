"""Steps for a unit's options, each of which must show."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.protocols.elements import Cycles, Timestamp
from gdb_etm.registers import dwt
from gdb_etm.registers.page import Register
from gdb_etm.selftest.basic import plain
from gdb_etm.selftest.compare import check_end, check_whole
from gdb_etm.selftest.findings import StepFailure, StepSkipped
from gdb_etm.selftest.rig import Rig, TracedRun
from gdb_etm.traceunit.options import Conditionals, DataTrace, TraceOptions
from gdb_etm.views.text import plural

_PASSES = 6
# Cycles by which the trace and CYCCNT may differ: what runs before the first count and after the last.
_SLACK = 24
# Synchronisation periods that a trace of conditions has.
_SYNCS = 3


def return_stack(rig: Rig) -> str:
    """Leave out the addresses of returns."""
    if rig.trace.unit.protocol == "etmv3":
        raise StepSkipped("an ETMv3 has none (ETMIDR.Major)")
    without, run = _both(rig, TraceOptions(return_stack=True))
    if run.size >= without.size:
        raise StepFailure(
            "%d bytes with it, %d without: the addresses of the returns are in the trace all the same"
            % (run.size, without.size)
        )
    return "%d bytes, %d without: the addresses of the returns are left out" % (run.size, without.size)


def branch_broadcast(rig: Rig) -> str:
    """Trace the address of every branch that is taken."""
    without, run = _both(rig, TraceOptions(branch_broadcast=True, return_stack=plain(rig).return_stack))
    if run.size <= without.size:
        raise StepFailure(
            "%d bytes with it, %d without: the addresses of taken branches are not in the trace"
            % (run.size, without.size)
        )
    return "%d bytes, %d without: the address of every taken branch is there" % (run.size, without.size)


def _both(rig: Rig, options: TraceOptions) -> Tuple[TracedRun, TracedRun]:
    run = _whole(rig, options)
    return _whole(rig, plain(rig)), run


def _whole(rig: Rig, options: TraceOptions, passes: int = _PASSES) -> TracedRun:
    # A run, all of whose instructions are right.
    run = rig.run(options, passes)
    if run.sink.wrapped:
        raise StepSkipped("its trace of %d passes does not fit into %d bytes" % (passes, rig.trace.sink.size))
    check_whole(run.executed, rig.layout.path(passes), rig.layout)
    return run


def cycle_counts(rig: Rig) -> str:
    """Count cycles, and compare their sum with the DWT's."""
    least = 1
    if rig.trace.unit.protocol == "etmv4":
        least = max(rig.trace.unit.capabilities.field("TRCIDR3.CCITMIN"), 1)
    options = TraceOptions(cycle_count=least, return_stack=plain(rig).return_stack)
    counter = _CycleCounter(rig)
    try:
        counter.start()
        run = _whole(rig, options)
        passed = counter.passed()
    finally:
        counter.restore()
    counts = [event.cycles for event in run.decoded().events if isinstance(event, Cycles) and event.cycles is not None]
    total, ran = sum(counts), len(run.decoded())
    if not counts:
        raise StepFailure("no cycle counts in the trace of %s" % plural(ran, "instruction"))
    words = "%s add up to %d" % (plural(len(counts), "cycle count"), total)
    if rig.trace.unit.protocol == "etmv4" and passed is not None:
        # Each count may be short of nothing: they go on where the one before ended.
        if not passed - _SLACK <= total <= passed + _SLACK:
            raise StepFailure("%s, DWT_CYCCNT to %d" % (words, passed))
        return "%s, DWT_CYCCNT to %d" % (words, passed)
    if total < ran // 2:
        raise StepFailure("%s, for %s" % (words, plural(ran, "instruction")))
    return "%s, for %s" % (words, plural(ran, "instruction"))


class _CycleCounter:
    # DWT_CYCCNT, put back afterwards.

    def __init__(self, rig: Rig) -> None:
        self._component = rig.trace.path.dwt
        self._control = self._count = self._begin = 0

    @property
    def is_there(self) -> bool:
        return self._component is not None and not dwt.DWT_CTRL.get(self._read(dwt.DWT_CTRL), "NOCYCCNT")

    def start(self) -> None:
        if not self.is_there:
            return
        self._control, self._count = self._read(dwt.DWT_CTRL), self._read(dwt.DWT_CYCCNT)
        self._write(dwt.DWT_CTRL, self._control | dwt.DWT_CTRL.encode(CYCCNTENA=1))
        self._begin = self._read(dwt.DWT_CYCCNT)

    def passed(self) -> Optional[int]:
        return (self._read(dwt.DWT_CYCCNT) - self._begin) & 0xFFFFFFFF if self.is_there else None

    def restore(self) -> None:
        if self.is_there:
            self._write(dwt.DWT_CTRL, self._control)
            self._write(dwt.DWT_CYCCNT, self._count)

    def _read(self, register: Register) -> int:
        assert self._component is not None
        return self._component.port.read32(self._component.address + register.offset)

    def _write(self, register: Register, value: int) -> None:
        assert self._component is not None
        self._component.port.write32(self._component.address + register.offset, value)


def timestamps(rig: Rig) -> str:
    """Trace the time: it must go on."""
    options = TraceOptions(timestamps=True, return_stack=plain(rig).return_stack)
    found: List[int] = []
    for _ in range(2):
        run = _whole(rig, options)
        times = [event.value for event in run.decoded().events if isinstance(event, Timestamp)]
        if not times:
            raise StepFailure("no timestamp in %d bytes of trace" % run.size)
        found += times
    if found != sorted(found):
        raise StepFailure("timestamps go back: %s" % _times(found))
    if found[0] == found[-1]:
        raise StepFailure("the time stands still at 0x%x: is the chip's timestamp generator on?" % found[0])
    return "%s from the first timestamp of two runs to the last" % plural(found[-1] - found[0], "tick")


def _times(found: List[int]) -> str:
    return ", ".join("0x%x" % one for one in found[:6])


def stall(rig: Rig) -> str:
    """Let the unit stall the core rather than lose trace."""
    run = _whole(rig, TraceOptions(stall=True, return_stack=plain(rig).return_stack))
    return "%s, none lost" % plural(len(run.decoded()), "instruction")


def conditions(rig: Rig) -> str:
    """Trace whether conditional instructions passed their condition."""
    # An ETMv3 says of each instruction that its condition failed, an ETMv4 when asked, and surely between two flushes.
    says_failures = rig.trace.unit.protocol == "etmv3"
    kind = Conditionals.OFF if says_failures else Conditionals.ALL
    passes = 1 if says_failures else int(_SYNCS * rig.trace.sync_bytes / rig.pass_bytes) + 1
    run = rig.run(TraceOptions(conditional=kind, return_stack=plain(rig).return_stack), passes)
    check_end(run.executed, rig.layout.path(passes), rig.layout)
    history = run.decoded()
    outcomes = history.outcomes(1, len(history))
    known = rig.layout.program.outcomes
    told: Dict[int, int] = dict.fromkeys(known, 0)
    for number, address in enumerate(run.executed.addresses, 1):
        offset = address - rig.layout.code
        if offset not in known or not (says_failures or number in outcomes):
            continue
        told[offset] += 1
        if outcomes.get(number, True) != known[offset]:
            raise StepFailure(
                "the trace says that the condition of %s %s"
                % (rig.layout.name(address), "did not hold" if known[offset] else "held")
            )
    for offset, count in told.items():
        if not count:
            raise StepFailure("the trace does not say whether %s ran" % rig.layout.name(rig.layout.code + offset))
    return "%s of %d instructions, as the core had them" % (plural(sum(told.values()), "outcome"), len(told))


def data(rig: Rig, kind: DataTrace) -> str:
    """Trace loads and stores, and compare them with the program's."""
    passes = 2
    run = _whole(rig, TraceOptions(data=kind, return_stack=plain(rig).return_stack), passes)
    history = run.decoded()
    wanted_of = rig.layout.transfers(passes)
    seen = dict.fromkeys(wanted_of, 0)
    for number in range(1, len(history) + 1):
        at = history.instruction(number).address
        if at not in wanted_of:
            continue
        store, address, value = wanted_of[at][seen[at]]
        seen[at] += 1
        found = history.transfers(number)
        name = rig.layout.name(at)
        if not found:
            raise StepFailure("no load or store of %s in the trace" % name)
        one = found[0]
        wanted = (address if kind.addresses else one.address, value if kind.values else None)
        if (one.address, one.value) != wanted or one.store not in (store, None):
            raise StepFailure(
                "%s: the trace says %s, it was %s" % (name, _access(one.address, one.value), _access(*wanted))
            )
    return "%d loads and stores with their %s" % (
        sum(seen.values()),
        {DataTrace.ADDRESSES: "addresses", DataTrace.VALUES: "values"}.get(kind, "addresses and values"),
    )


def _access(address: Optional[int], value: Optional[int]) -> str:
    words = ["no address" if address is None else "0x%08x" % address]
    words += [] if value is None else ["value 0x%x" % value]
    return ", ".join(words)


def context(rig: Rig) -> str:
    """Trace the Context ID."""
    run = _whole(rig, TraceOptions(context_id=True, return_stack=plain(rig).return_stack))
    return "in %d bytes of trace" % run.size
