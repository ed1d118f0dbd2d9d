"""Options and capabilities of an ETMv4 trace unit -> the register writes that program it.

IHI 0064: the procedure is 4.3.4 (figure 4-17), what must be written 4.5.  After reset nearly every
register holds an unknown value (table 3-1), so every register that the unit has is written, used or not.
"""

from __future__ import annotations

from typing import Iterator, List, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.capabilities import Capabilities
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan, RegisterPoll, RegisterWrite, Step, suitable_sync_bytes
from gdb_etm.traceunit.plan_etmv4_comparators import Allotment, allot, bits, comparator_writes
from gdb_etm.traceunit.plan_etmv4_unused import unused_comparators, unused_filters, unused_resources
from gdb_etm.traceunit.plan_etmv4_view import view_inst

_SYNC_SMALLEST, _SYNC_LARGEST = 1 << 8, 1 << 20  # TRCSYNCPR.PERIOD is 8 to 20, or 0 for none (7.3.71)
_OWN_DATA_ID = (4, 5)  # since then the data stream's trace ID can be chosen (TRCTRACEIDR.TRACEDATAID)
_MOST_INVASIVE = 15  # of TRCSTALLCTLR.LEVEL
_LOADS_AND_STORES = 3  # of TRCCONFIGR.INSTP0
_NOT_IDLE = 'the trace it still holds does not drain; check that the trace buffer is clocked, then "etm start" again'
_STAYS_IDLE = "check that the chip's trace clock runs and that its debug authentication allows tracing"


def plan_program(options: TraceOptions, capabilities: Capabilities, buffer_bytes: int) -> Plan:
    """Plan the programming of a disabled unit.

    :param buffer_bytes: Size of the circular buffer that the trace goes to; decides how often to synchronise.
    :raises UnsupportedError: The unit lacks what the options ask for.
    """
    _check(options, capabilities)
    sync = _sync_bytes(options, capabilities, buffer_bytes)
    stack = bool(capabilities.field("TRCIDR0.RETSTACK")) and options.return_stack is not False
    allotment = allot(options, capabilities)
    steps: List[Step] = [
        *_disable_steps(),
        *_main_control(options, capabilities, sync, stack),
        *view_inst(options, allotment, capabilities),
        *_view_data(options, allotment, capabilities),
        *unused_filters(capabilities),
        *unused_resources(capabilities),
        *comparator_writes(allotment, capabilities),
        *unused_comparators(capabilities, allotment.used, len(allotment.contexts)),
    ]
    notes = tuple(_notes(options, capabilities, stack))
    return Plan(tuple(steps), sync, stack, notes, taken=allotment.taken)


def plan_enable() -> Plan:
    """Plan the start of a programmed unit."""
    return Plan((
        _write(etmv4.TRCPRGCTLR, etmv4.TRCPRGCTLR.encode(EN=1), "enable the trace unit"),
        _poll("IDLE", 0, "its resources are live only when it has left the idle state", _STAYS_IDLE),
    ))


def plan_disable() -> Plan:
    """Plan the stop of a unit; when it is carried out, all trace has left the unit."""
    return Plan((
        _write(etmv4.TRCPRGCTLR, etmv4.TRCPRGCTLR.encode(EN=0), "disable the trace unit"),
        _poll("PMSTABLE", 1, "its registers are stable", _NOT_IDLE),
        _poll("IDLE", 1, "all trace has left it", _NOT_IDLE),
    ))


def _disable_steps() -> Tuple[Step, Step]:
    # The unit may drop writes unless it is disabled and idle (4.3.4).
    return (_write(etmv4.TRCPRGCTLR, etmv4.TRCPRGCTLR.encode(EN=0), "disabled while it is programmed"),
            _poll("IDLE", 1, "writes may be dropped until it is idle", _NOT_IDLE))


def _write(register: Register, value: int, why: str) -> RegisterWrite:
    return RegisterWrite(register.name, register.offset, value, register.mask, why)


def _poll(field: str, value: int, why: str, hint: str) -> RegisterPoll:
    register = etmv4.TRCSTATR
    return RegisterPoll(register.name, register.offset, register.fields[field].mask,
                        register.encode(**{field: value}), why, hint)


def _check(options: TraceOptions, capabilities: Capabilities) -> None:
    wanted = (
        (options.return_stack, "TRCIDR0.RETSTACK", "return stack"),
        (options.cycle_count is not None, "TRCIDR0.TRCCCI", "cycle counts"),
        (options.timestamps, "TRCIDR0.TSSIZE", "timestamps"),
        (options.data, "TRCIDR0.TRCDATA", "data trace"),
        (options.data, "TRCIDR0.INSTP0", "data trace"),
        (options.data, "TRCIDR0.TSSIZE", "data trace, which needs timestamps"),
        (options.context_id, "TRCIDR2.CIDSIZE", "Context ID"),
        (options.vmid, "TRCIDR2.VMIDSIZE", "VMID"),
        (options.branch_broadcast, "TRCIDR0.TRCBB", "branch broadcast"),
        (options.stall, "TRCIDR3.STALLCTL", "stalling the processor"),
        (options.stall, "TRCIDR3.SYSSTALL", "stalling the processor"),
    )
    for asked, field, feature in wanted:
        if asked:
            capabilities.require(field, feature)
    least = capabilities.field("TRCIDR3.CCITMIN")
    if options.cycle_count is not None and not least <= options.cycle_count <= 0xFFF:
        raise UnsupportedError("cycle count threshold %d: this unit takes %d (TRCIDR3.CCITMIN) to 4095"
                               % (options.cycle_count, least), "TRCIDR3.CCITMIN")
    if options.data and capabilities.version < _OWN_DATA_ID and options.trace_id & 1:
        raise UnsupportedError("trace ID 0x%02x: with data trace this unit needs an even one (TRCTRACEIDR.TRACEID)"
                               % options.trace_id, "TRCTRACEIDR.TRACEID")


def _sync_bytes(options: TraceOptions, capabilities: Capabilities, buffer_bytes: int) -> int:
    fixed = capabilities.fixed_sync_bytes
    wanted = options.sync_bytes
    if fixed:
        if wanted not in (None, fixed):
            raise UnsupportedError(
                "synchronisation every %d bytes: this unit's period is fixed at %d bytes (TRCIDR3.SYNCPR)"
                % (wanted or 0, fixed), "TRCIDR3.SYNCPR")
        return fixed
    if wanted is None:
        return min(max(suitable_sync_bytes(buffer_bytes), _SYNC_SMALLEST), _SYNC_LARGEST)
    if not _SYNC_SMALLEST <= wanted <= _SYNC_LARGEST:
        raise UnsupportedError("synchronisation every %d bytes: a trace unit takes %d to %d (TRCSYNCPR.PERIOD)"
                               % (wanted, _SYNC_SMALLEST, _SYNC_LARGEST), "TRCSYNCPR.PERIOD")
    return wanted


def _main_control(options: TraceOptions, capabilities: Capabilities, sync: int, stack: bool) -> Iterator[RegisterWrite]:
    timestamps = options.timestamps or bool(options.data)
    configuration = etmv4.TRCCONFIGR.encode(
        DV=int(options.data.values), DA=int(options.data.addresses), INSTP0=_LOADS_AND_STORES if options.data else 0,
        RS=int(stack), TS=int(timestamps), VMID=int(options.vmid), CID=int(options.context_id),
        CCI=int(options.cycle_count is not None), BB=int(options.branch_broadcast),
        VMIDOPT=int(capabilities.field("TRCIDR2.VMIDOPT") == 2))
    yield _write(etmv4.TRCCONFIGR, configuration, _configuration(options, stack))
    if capabilities.events or capabilities.version < (4, 3):
        yield _write(etmv4.TRCEVENTCTL0R, 0, "no events")
    yield _write(etmv4.TRCEVENTCTL1R, 0, "no events in the trace")
    if capabilities.field("TRCIDR3.STALLCTL"):
        yield _stall_control(options)
    if capabilities.field("TRCIDR0.TSSIZE"):
        yield _write(etmv4.TRCTSCTLR, 0, "no timestamps beyond the usual ones")
    if not capabilities.fixed_sync_bytes:
        period = etmv4.TRCSYNCPR.encode(PERIOD=sync.bit_length() - 1)
        yield _write(etmv4.TRCSYNCPR, period, "synchronise every %d bytes" % sync)
    if capabilities.field("TRCIDR0.TRCCCI"):
        threshold = options.cycle_count or max(capabilities.field("TRCIDR3.CCITMIN"), 1)
        yield _write(etmv4.TRCCCCTLR, etmv4.TRCCCCTLR.encode(THRESHOLD=threshold), "cycle count threshold")
    if capabilities.field("TRCIDR0.TRCBB") and capabilities.field("TRCIDR4.NUMACPAIRS"):
        yield _write(etmv4.TRCBBCTLR, 0, "branch broadcast, if on, is on everywhere")
    yield _trace_id(options, capabilities)
    if capabilities.field("TRCIDR0.QFILT"):
        yield _write(etmv4.TRCQCTLR, 0, "no Q elements")


def _stall_control(options: TraceOptions) -> RegisterWrite:
    if not options.stall:
        return _write(etmv4.TRCSTALLCTLR, 0, "never stall the processor")
    register = etmv4.TRCSTALLCTLR
    value = register.encode(ISTALL=1, DSTALL=int(bool(options.data)), LEVEL=_MOST_INVASIVE)
    # The level's lowest bits may be missing (7.3, TRCSTALLCTLR).
    mask = register.mask & ~register.encode(LEVEL=0b0011)
    return RegisterWrite(register.name, register.offset, value, mask, "stall the processor rather than lose trace")


def _trace_id(options: TraceOptions, capabilities: Capabilities) -> RegisterWrite:
    # Before 4.5 the data stream's is the next one, and not written (7.3.72).
    own = capabilities.version >= _OWN_DATA_ID and bool(options.data)
    data = options.trace_id + 1 if own else 0
    why = "trace ID; data has 0x%02x" % (options.trace_id + 1) if options.data else "trace ID"
    return _write(etmv4.TRCTRACEIDR, etmv4.TRCTRACEIDR.encode(TRACEID=options.trace_id, TRACEDATAID=data), why)


def _view_data(options: TraceOptions, allotment: Allotment, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    if not capabilities.field("TRCIDR0.TRCDATA"):
        return
    exceptions = int(bool(options.data) and bool(capabilities.field("TRCIDR0.TRCEXDATA")))
    control = etmv4.TRCVDCTLR.encode(EVENT=etmv4.EVENT_TRUE, TRCEXDATA=exceptions)
    why = "trace the data of every load and store" if options.data else "no data trace"
    yield _write(etmv4.TRCVDCTLR, control, why + (", exceptions' too" if exceptions else ""))
    if capabilities.field("TRCIDR4.NUMACPAIRS"):
        yield _write(etmv4.TRCVDSACCTLR, 0, "no data address filter by single comparators")
        ranges = etmv4.TRCVDARCCTLR.encode(INCLUDE=bits(allotment.data))
        yield _write(etmv4.TRCVDARCCTLR, ranges, "include %d ranges of loads and stores" % len(allotment.data)
                     if allotment.data else "no data address filter")


def _configuration(options: TraceOptions, stack: bool) -> str:
    parts = ["instruction trace"]
    timestamps = options.timestamps or bool(options.data)
    choices = ((bool(options.data), "loads and stores"), (options.data.addresses, "data addresses"),
               (options.data.values, "data values"), (stack, "return stack"),
               (options.cycle_count is not None, "cycle counts"), (timestamps, "timestamps"),
               (options.context_id, "Context ID"), (options.vmid, "VMID"),
               (options.branch_broadcast, "branch broadcast"))
    return ", ".join(parts + [name for chosen, name in choices if chosen])


def _notes(options: TraceOptions, capabilities: Capabilities, stack: bool) -> Iterator[str]:
    if options.branch_broadcast and stack:
        yield "branch broadcast overrides the return stack"
    if capabilities.processors > 1:
        yield ("this unit is shared by %d processors; it traces the one that TRCPROCSELR selects"
               % capabilities.processors)
