"""Plan for an ETMv4: options and capabilities to register writes.

IHI 0064: the procedure is 4.3.4 (figure 4-17), what must be written 4.5.  After reset nearly every
register holds an unknown value (table 3-1), so every register that the unit has is written, used or not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator, List, Sequence, Tuple

from gdb_etm.registers import etmv4
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.actions import Output
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.comparators import Allotment, allot, bits, comparator_writes
from gdb_etm.traceunit.etmv4.main_control import check_options, main_control, sync_bytes
from gdb_etm.traceunit.etmv4.resources import plan_resources
from gdb_etm.traceunit.etmv4.unused import unused_comparators, unused_filters, unused_resources
from gdb_etm.traceunit.etmv4.view import view_inst, watched_writes, window_of
from gdb_etm.traceunit.etmv4.watch import lend
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan, RegisterPoll, RegisterWrite, Step

_NOT_IDLE = 'the trace it still holds does not drain; check that the trace buffer is clocked, then "etm start" again'
_STAYS_IDLE = "check that the chip's trace clock runs and that its debug authentication allows tracing"
# Bytes: a block of instructions is rarely longer.
_NEAR = 64
# Of the bits of an address: no processor has wider ones than 52 bits.
_TOP = 12


def plan_program(options: TraceOptions, capabilities: Capabilities, buffer_bytes: int) -> Plan:
    """Plan the programming of a disabled unit.

    :param buffer_bytes: Size of the circular buffer that the trace goes to; decides how often to synchronise.
    :raises UnsupportedError: The unit lacks what the options ask for.
    """
    check_options(options, capabilities)
    lent = lend(options, capabilities)
    options = lent.options
    sync = sync_bytes(options, capabilities, buffer_bytes)
    stack = bool(capabilities.field("TRCIDR0.RETSTACK")) and options.return_stack is not False
    window = window_of(options, capabilities)
    allotment = allot(replace(options, start_at=window.start_at, stop_at=window.stop_at, rules=()), capabilities)
    resources = plan_resources(window.wanted, allotment, capabilities)
    steps: List[Step] = [
        *_disable_steps(),
        *main_control(options, capabilities, sync, stack, bits(allotment.broadcast)),
        *view_inst(options, allotment, capabilities, window, resources.view),
        *_view_data(options, allotment, capabilities),
        *unused_filters(capabilities),
        *unused_resources(capabilities),
        *comparator_writes(allotment, capabilities),
        *unused_comparators(capabilities, allotment.used, len(allotment.contexts)),
    ]
    notes = (*_notes(options, capabilities, stack, sync), *resources.notes)
    steps = _with_uses(steps, (*watched_writes(window), *resources.writes))
    return Plan(
        tuple(steps),
        sync,
        stack,
        (*notes, *lent.notes),
        lent.dwt,
        (*allotment.taken, *resources.taken, *lent.taken),
        resources.marks,
    )


def plan_enable() -> Plan:
    """Plan the start of a programmed unit."""
    return Plan(
        (
            _write(etmv4.TRCPRGCTLR, etmv4.TRCPRGCTLR.encode(EN=1), "enable the trace unit"),
            _poll("IDLE", 0, "its resources are live only when it has left the idle state", _STAYS_IDLE),
        )
    )


def plan_disable() -> Plan:
    """Plan the stop; afterwards all trace has left the unit."""
    return Plan(
        (
            _write(etmv4.TRCPRGCTLR, etmv4.TRCPRGCTLR.encode(EN=0), "disable the trace unit"),
            _poll("PMSTABLE", 1, "its registers are stable", _NOT_IDLE),
            _poll("IDLE", 1, "all trace has left it", _NOT_IDLE),
        )
    )


def _with_uses(steps: Sequence[Step], uses: Sequence[RegisterWrite]) -> List[Step]:
    # What has a use takes the place of the write that would clear it, so that every register is written once.
    used = {write.name: write for write in uses}
    return [used.get(step.name, step) if isinstance(step, RegisterWrite) else step for step in steps]


def _disable_steps() -> Tuple[Step, Step]:
    # The unit may drop writes unless it is disabled and idle (4.3.4).
    return (
        _write(etmv4.TRCPRGCTLR, etmv4.TRCPRGCTLR.encode(EN=0), "disabled while it is programmed"),
        _poll("IDLE", 1, "writes may be dropped until it is idle", _NOT_IDLE),
    )


def _write(register: Register, value: int, why: str) -> RegisterWrite:
    return RegisterWrite(register.name, register.offset, value, register.mask, why)


def _poll(field: str, value: int, why: str, hint: str) -> RegisterPoll:
    register = etmv4.TRCSTATR
    return RegisterPoll(
        register.name, register.offset, register.fields[field].mask, register.encode(**{field: value}), why, hint
    )


def _view_data(options: TraceOptions, allotment: Allotment, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    if not capabilities.field("TRCIDR0.TRCDATA"):
        return
    exceptions = int(bool(options.data) and bool(capabilities.field("TRCIDR0.TRCEXDATA")))
    control = etmv4.TRCVDCTLR.encode(EVENT=etmv4.EVENT_TRUE, TRCEXDATA=exceptions)
    why = "trace the data of every load and store" if options.data else "no data trace"
    yield _write(etmv4.TRCVDCTLR, control, why + (", exceptions' too" if exceptions else ""))
    if capabilities.field("TRCIDR4.NUMACPAIRS"):
        singles = etmv4.TRCVDSACCTLR.encode(
            INCLUDE=bits(allotment.data_points), EXCLUDE=bits(allotment.data_exclude_points)
        )
        yield _write(
            etmv4.TRCVDSACCTLR,
            singles,
            _counts(allotment.data_points, allotment.data_exclude_points, "addresses of loads and stores")
            or "no data address filter by single comparators",
        )
        ranges = etmv4.TRCVDARCCTLR.encode(INCLUDE=bits(allotment.data), EXCLUDE=bits(allotment.data_exclude))
        yield _write(
            etmv4.TRCVDARCCTLR,
            ranges,
            _counts(allotment.data, allotment.data_exclude, "ranges of loads and stores") or "no data address filter",
        )


def _counts(include: Sequence[object], exclude: Sequence[object], what: str) -> str:
    words = ["%s %d" % (verb, len(rows)) for verb, rows in (("include", include), ("exclude", exclude)) if rows]
    return "%s %s" % (", ".join(words), what) if words else ""


def _notes(options: TraceOptions, capabilities: Capabilities, stack: bool, sync: int) -> Iterator[str]:
    # What the user should know where nothing is refused (4.1.2, 4.1.3, 4.2, 7.3).
    if options.branch_broadcast and stack:
        yield "branch broadcast overrides the return stack"
    if capabilities.processors > 1:
        yield (
            "this unit is shared by %d processors; it traces the one that TRCPROCSELR selects" % capabilities.processors
        )
    if not sync:
        yield (
            "this unit does not synchronise by itself (TRCSYNCPR.PERIOD is 0): of a buffer that has wrapped, all may"
            " be undecodable"
        )
    if options.stall and (options.timestamps or options.cycle_count is not None) and options.stall_level != 0:
        yield "while it is stalling, the unit may leave out timestamps and cycle counts (TRCSTALLCTLR.LEVEL)"
    if any(isinstance(rule.do, Output) for rule in options.rules):
        yield "an external output comes before its place in the trace, which only a mark has"
    yield from _points(options.start_at, options.stop_at, capabilities)
    if capabilities.address_bits == 64:
        ends = [end for pair in options.include + options.exclude for end in pair]
        for address in (*ends, *options.start_at, *options.stop_at):
            if address >> 64 - _TOP not in (0, (1 << _TOP) - 1):
                yield (
                    "0x%x: the top bits of an address are all 0 or all 1, or it never matches (TRCACVRn.ADDRESS)"
                    % address
                )


def _points(starts: Sequence[int], stops: Sequence[int], capabilities: Capabilities) -> Iterator[str]:
    close: Tuple[Tuple[int, int], ...] = tuple(
        (stop, start) for stop in stops for start in starts if 0 < start - stop < _NEAR
    )
    for stop, start in close:
        yield (
            "0x%08x stops and 0x%08x, close after it, starts: if no branch lies between, the unit may take the start"
            " first, or not at all" % (stop, start)
        )
    for address in (*starts, *stops):
        if address & 1:
            yield "0x%08x is not where an instruction begins: it may never match" % address
    if (starts or stops) and capabilities.field("TRCIDR0.BF") == 1:
        yield (
            "in a low-overhead loop or at a branch future a start or a stop may be missed (TRCIDR0.BF): take the"
            " instruction before LE, or before where a BF branches"
        )
