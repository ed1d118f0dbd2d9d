"""Shared parts of plans for ETMv3 and PTM.

The programming bit, checks, synchronisation, and resources that are not used.

IHI 0014Q, 3.4.3 (use of the programming bit) and 3.5; IHI 0035B, 3.16.
"""

from __future__ import annotations

from typing import Iterator, List, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3, etmv3_comparators
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.actions import Trigger
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan, RegisterChange, RegisterPoll, RegisterWrite, Step, suitable_sync_bytes

_SYNC_LEAST, _SYNC_MOST = 256, 2048  # ETMSYNCFR has 12 bits, and must be more than the FIFO holds
_WRITABLE_STATE = 1  # minor version since which counters and sequencer can be written
_MOST_INVASIVE = 15  # of the levels of stalling
_CONTEXT_ID = 3  # of ETMCR.ContextIDSize: all 32 bits
_NOT_DRAINED = 'the trace it still holds does not drain; check that the trace buffer is clocked, then "etm start" again'
_STAYS_OFF = "check that the chip's trace clock runs and that the processor is not in reset"


def plan_enable() -> Plan:
    """Plan the start of a programmed unit."""
    return Plan(
        (
            _change("Prog", 0, "the trace unit may trace"),
            _poll(0, "its resources are live only when that has taken effect", _STAYS_OFF),
        )
    )


def plan_disable() -> Plan:
    """Plan the stop; afterwards all trace has left the unit."""
    return Plan(
        (
            _change("Prog", 1, "the trace unit may trace no more"),
            _poll(1, "all trace has left it", _NOT_DRAINED),
        )
    )


def disable_steps() -> Tuple[Step, ...]:
    """Return the steps that make any unit accept writes."""
    return (
        _change("PowerDown", 0, "its clocks run"),
        # No other bit may change together with it (3.4.3).
        _change("Prog", 1, "disabled while it is programmed"),
        _poll(1, "registers must not be written before", _NOT_DRAINED),
    )


def write(register: Register, value: int, why: str, capabilities: Armv7Capabilities) -> RegisterWrite:
    """Return the write of a register; old units cannot read many back."""
    return RegisterWrite(register.name, register.offset, value, register.mask if capabilities.are_readable else 0, why)


def check_common(options: TraceOptions, capabilities: Armv7Capabilities) -> None:
    """Refuse what neither the unit nor its likes have.

    :raises UnsupportedError: The options ask for it.
    """
    wanted = (
        (options.cycle_count is not None, "ETMCR.CycleAccurate", "cycle counts"),
        (options.timestamps and not capabilities.has_timestamps, "ETMCCER.Timestamp", "timestamps"),
        (options.context_id, "ETMCR.ContextIDSize", "Context ID"),
        (options.vmid, "ETMCCER.Virtualization", "VMID"),
        (options.branch_broadcast, "ETMCR.BranchBroadcast", "branch broadcast"),
        (options.stall, "ETMCCR.FIFOFULL", "stalling the processor"),
        (options.stall, "ETMSCR.FIFOFULL", "stalling the processor"),
    )
    for asked, field, feature in wanted:
        if asked:
            capabilities.require(field, feature)
    _check_newer(options)
    if options.cycle_count not in (None, 1):
        raise UnsupportedError(
            "cycle count threshold %d: this unit counts every cycle, so it must be 1"
            " (ETMCR.CycleAccurate)" % (options.cycle_count or 0),
            "ETMCR.CycleAccurate",
        )


def _check_newer(options: TraceOptions) -> None:
    # What only an ETMv4 has.
    missing = (
        (options.overflow_prevention, "overflow prevention"),
        (options.q_elements, "Q elements"),
        (options.levels, "exception levels"),
    )
    for asked, feature in missing:
        if asked:
            raise UnsupportedError("%s: not in an ETMv3 or a PTM (ETMIDR.Major)" % feature, "ETMIDR.Major")
    if options.broadcast_ranges:
        raise UnsupportedError(
            "branch broadcast at some addresses: an ETMv3 or a PTM has it at all or none" " (ETMCR.BranchBroadcast)",
            "ETMCR.BranchBroadcast",
        )


def sync_bytes(options: TraceOptions, capabilities: Armv7Capabilities, buffer_bytes: int) -> int:
    """Choose how many bytes of trace lie between two synchronisation points.

    :raises UnsupportedError: The unit cannot do what is asked for.
    """
    fixed, wanted = capabilities.fixed_sync_bytes, options.sync_bytes
    if fixed is not None:
        if wanted not in (None, fixed):
            raise UnsupportedError(
                "synchronisation every %d bytes: this unit's period is fixed at %d bytes (ETMSYNCFR.Frequency)"
                % (wanted or 0, fixed),
                "ETMSYNCFR.Frequency",
            )
        return fixed
    least = max(_SYNC_LEAST, 1 << capabilities.fifo_bytes.bit_length())
    if wanted is None:
        return min(max(suitable_sync_bytes(buffer_bytes), least), _SYNC_MOST)
    if not least <= wanted <= _SYNC_MOST:
        raise UnsupportedError(
            "synchronisation every %d bytes: this unit takes %d to %d (ETMSYNCFR.Frequency)"
            % (wanted, least, _SYNC_MOST),
            "ETMSYNCFR.Frequency",
        )
    return wanted


def control(options: TraceOptions, capabilities: Armv7Capabilities, **more: int) -> RegisterWrite:
    """Write the main control register: options set, still disabled.

    Its other fields stay as they were found.
    """
    register = capabilities.control
    found = capabilities.registers.get(register.name, 0) & ~capabilities.option_bits
    fields = dict(
        more,
        VMID=int(options.vmid),
        Timestamp=int(options.timestamps),
        CycleAccurate=int(options.cycle_count is not None),
        ContextIDSize=_CONTEXT_ID if options.context_id else 0,
        BranchBroadcast=int(options.branch_broadcast),
        Stall=int(options.stall),
        Prog=1,
    )
    for name in ("PowerDown", "DbgRq", "InstrResAC", "SWWriteDisable", "DebugWriteDisable"):
        found &= ~register.fields[name].mask
    # Bits that are not implemented may read as anything.
    mask = register.encode(Prog=1, PowerDown=1)
    mask |= capabilities.registers.get(register.name, 0) & capabilities.option_bits
    words = (
        (options.cycle_count is not None, "cycle counts"),
        (options.timestamps, "timestamps"),
        (options.context_id, "Context ID"),
        (options.vmid, "VMID"),
        (options.branch_broadcast, "branch broadcast"),
        (options.stall, "stalling"),
        (bool(more.get("ReturnStack")), "return stack"),
        (options.data.addresses, "data addresses"),
        (options.data.values, "data values"),
    )
    why = ", ".join(["instruction trace"] + [word for chosen, word in words if chosen])
    return RegisterWrite(register.name, register.offset, found | register.encode(**fields), mask, why)


def common_writes(sync: int, options: TraceOptions, capabilities: Armv7Capabilities) -> Iterator[RegisterWrite]:
    """Write the common registers: trace ID, period, events that never happen."""
    yield write(etmv3.ETMTRACEIDR, etmv3.ETMTRACEIDR.encode(TraceID=options.trace_id), "trace ID", capabilities)
    if capabilities.fixed_sync_bytes is None:
        yield write(etmv3.ETMSYNCFR, sync, "synchronise every %d bytes" % sync, capabilities)
    yield write(etmv3.ETMTRIGGER, etmv3.EVENT_FALSE, "no trigger", capabilities)
    if capabilities.has_timestamps:
        yield write(etmv3.ETMTSEVR, etmv3.EVENT_FALSE, "no timestamps beyond the usual ones", capabilities)
    if capabilities.fifo_bytes:
        # Unpredictable if it is 0 while the processor may be stalled (3.5, ETMFFLR).
        level = capabilities.fifo_bytes // 2
        if options.stall_level is not None:
            level = capabilities.fifo_bytes * options.stall_level // _MOST_INVASIVE
        level = max(level, 1)
        yield write(etmv3.ETMFFLR, level, "the FIFO is nearly full with %d bytes left" % level, capabilities)


def unused_resources(capabilities: Armv7Capabilities, used_contexts: int = 0) -> Iterator[RegisterWrite]:
    """Disable unused counters, sequencer, outputs and context comparators.

    What they hold is unknown after a reset.

    :param used_contexts: How many Context ID comparators have a use; they are the first.
    """
    for register, value, why in _unused(capabilities, used_contexts):
        yield write(register, value, why, capabilities)


def _unused(capabilities: Armv7Capabilities, used_contexts: int) -> Iterator[Tuple[Register, int, str]]:
    writable = capabilities.minor >= _WRITABLE_STATE or capabilities.field("ETMIDR.Major") > 2
    for n in range(1, min(capabilities.field("ETMCCR.Counters"), 4) + 1):
        yield etmv3.ETMCNTRLDVR[n], 0, "counter unused"
        if n in capabilities.counters:
            yield etmv3.ETMCNTENR[n], etmv3.ETMCNTENR[n].encode(Source=1) | etmv3.EVENT_FALSE, "counter unused"
            yield etmv3.ETMCNTRLDEVR[n], etmv3.EVENT_FALSE, "counter unused"
            if writable:
                yield etmv3.ETMCNTVR[n], 0, "counter unused"
    if capabilities.field("ETMCCR.Sequencer"):
        for register in _SEQUENCER:
            yield register, etmv3.EVENT_FALSE, "sequencer unused"
        if writable:
            yield etmv3.ETMSQR, 0, "sequencer unused"
    for n in range(1, min(capabilities.field("ETMCCR.ExtOut"), 4) + 1):
        yield etmv3.ETMEXTOUTEVR[n], etmv3.EVENT_FALSE, "external output unused"
    contexts = capabilities.field("ETMCCR.CIDComps")
    for n in range(used_contexts + 1, contexts + 1):
        yield etmv3_comparators.ETMCIDCVR[n], 0, "Context ID comparator unused"
    if contexts:
        yield etmv3_comparators.ETMCIDCMR, 0, "all bits of Context IDs are compared"
    if capabilities.field("ETMCCER.Virtualization"):
        yield etmv3_comparators.ETMVMIDCVR, 0, "VMID comparator unused"
    if capabilities.field("ETMCCER.ExtInSel"):
        yield etmv3.ETMEXTINSELR, 0, "external inputs unused"


_SEQUENCER: List[Register] = [
    etmv3.ETMSQ12EVR,
    etmv3.ETMSQ21EVR,
    etmv3.ETMSQ23EVR,
    etmv3.ETMSQ31EVR,
    etmv3.ETMSQ32EVR,
    etmv3.ETMSQ13EVR,
]


def notes(capabilities: Armv7Capabilities) -> Iterator[str]:
    """Say what the user should know of any plan for this unit."""
    if capabilities.processors > 1:
        yield (
            "this unit is shared by %d processors; it traces the one that ETMCR.ProcSel selects"
            % capabilities.processors
        )


def _change(field: str, value: int, why: str) -> RegisterChange:
    register = etmv3.ETMCR
    return RegisterChange(
        register.name, register.offset, register.fields[field].mask, register.encode(**{field: value}), why
    )


def _poll(value: int, why: str, hint: str) -> RegisterPoll:
    register = etmv3.ETMSR
    return RegisterPoll(
        register.name, register.offset, register.fields["Prog"].mask, register.encode(Prog=value), why, hint
    )


def marks(options: TraceOptions) -> Tuple[Tuple[int, str], ...]:
    """Name the trigger in the trace, which is event 0."""
    texts = dict.fromkeys(rule.text or str(rule.when) for rule in options.rules if isinstance(rule.do, Trigger))
    return ((0, "trigger at " + " or ".join(texts)),) if texts else ()
