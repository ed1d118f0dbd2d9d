"""Main control of an ETMv4: trace content, synchronisation and trace ID.

IHI 0064, 4.5 and 7.3.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.options import Conditionals, QElements, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, suitable_sync_bytes

_SYNC_SMALLEST, _SYNC_LARGEST = 1 << 8, 1 << 20  # TRCSYNCPR.PERIOD is 8 to 20, or 0 for none (7.3.71)
_OWN_DATA_ID = (4, 5)  # since then the data stream's trace ID can be chosen (TRCTRACEIDR.TRACEDATAID)
_MOST_INVASIVE = 15  # of TRCSTALLCTLR.LEVEL
_LOADS_AND_STORES = 3  # of TRCCONFIGR.INSTP0
_FORBIDDEN = 2  # of a field of TRCAUTHSTATUS
_Q_COUNTED, _Q_UNCOUNTED = 1, 2  # of TRCIDR0.QSUPP
_QE_COUNTED, _QE_ALL = 1, 3  # of TRCCONFIGR.QE
_COND = {Conditionals.OFF: 0, Conditionals.LOADS: 1, Conditionals.STORES: 2, Conditionals.BOTH: 3, Conditionals.ALL: 7}


def check_options(options: TraceOptions, capabilities: Capabilities) -> None:
    """Refuse options that the unit lacks.

    :raises UnsupportedError: It lacks one of them.
    """
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
        (options.overflow_prevention, "TRCIDR3.STALLCTL", "overflow prevention"),
        (options.overflow_prevention, "TRCIDR3.NOOVERFLOW", "overflow prevention"),
        (options.conditional, "TRCIDR0.TRCCOND", "conditional instructions"),
        (options.q_elements, "TRCIDR0.QSUPP", "Q elements"),
    )
    for asked, field, feature in wanted:
        if asked:
            capabilities.require(field, feature)
    _check_q_elements(options, capabilities)
    _check_authentication(options, capabilities)
    least = capabilities.field("TRCIDR3.CCITMIN")
    if options.cycle_count is not None and not least <= options.cycle_count <= 0xFFF:
        raise UnsupportedError(
            "cycle count threshold %d: this unit takes %d (TRCIDR3.CCITMIN) to 4095" % (options.cycle_count, least),
            "TRCIDR3.CCITMIN",
        )
    if options.data and capabilities.version < _OWN_DATA_ID and options.trace_id & 1:
        raise UnsupportedError(
            "trace ID 0x%02x: with data trace this unit needs an even one (TRCTRACEIDR.TRACEID)" % options.trace_id,
            "TRCTRACEIDR.TRACEID",
        )


def _check_authentication(options: TraceOptions, capabilities: Capabilities) -> None:
    # Without these there is no trace of the state at all (7.3.3, TRCAUTHSTATUS).
    for only, field, state in (
        (options.secure and not options.nonsecure, "SNID", "Secure"),
        (options.nonsecure and not options.secure, "NSNID", "Non-secure"),
    ):
        if only and capabilities.field("TRCAUTHSTATUS.%s" % field) == _FORBIDDEN:
            raise UnsupportedError(
                "%s code: the chip's debug authentication forbids to trace it (TRCAUTHSTATUS.%s)" % (state, field),
                "TRCAUTHSTATUS.%s" % field,
            )


def _check_q_elements(options: TraceOptions, capabilities: Capabilities) -> None:
    # 7.3.8, TRCCONFIGR.QE; TRCIDR0.QSUPP has a bit for either sort.
    if not options.q_elements:
        return
    others = (
        (options.data, "data trace"),
        (options.conditional, "conditional instructions"),
        (options.branch_broadcast, "branch broadcast"),
    )
    for asked, feature in others:
        if asked:
            raise UnsupportedError(
                "Q elements and %s: no trace unit can do both (TRCCONFIGR.QE)" % feature, "TRCCONFIGR.QE"
            )
    supported = capabilities.field("TRCIDR0.QSUPP")
    if options.q_elements is QElements.COUNTS and not supported & _Q_COUNTED:
        raise UnsupportedError(
            "Q elements with counts: this unit has those without (TRCIDR0.QSUPP is %d)" % supported, "TRCIDR0.QSUPP"
        )


def _q_elements(options: TraceOptions, capabilities: Capabilities) -> int:
    if not options.q_elements:
        return 0
    all_sorts = options.q_elements is QElements.ON and capabilities.field("TRCIDR0.QSUPP") & _Q_UNCOUNTED
    return _QE_ALL if all_sorts else _QE_COUNTED


def sync_bytes(options: TraceOptions, capabilities: Capabilities, buffer_bytes: int) -> int:
    """Choose how many bytes of trace lie between two synchronisation points.

    :raises UnsupportedError: The unit cannot do what is asked for.
    """
    fixed = capabilities.fixed_sync_bytes
    wanted = options.sync_bytes
    if fixed is not None:
        if wanted not in (None, fixed):
            raise UnsupportedError(
                "synchronisation every %d bytes: this unit's period is fixed at %d bytes (TRCIDR3.SYNCPR)"
                % (wanted or 0, fixed),
                "TRCIDR3.SYNCPR",
            )
        return fixed
    if wanted is None:
        return min(max(suitable_sync_bytes(buffer_bytes), _SYNC_SMALLEST), _SYNC_LARGEST)
    if not _SYNC_SMALLEST <= wanted <= _SYNC_LARGEST:
        raise UnsupportedError(
            "synchronisation every %d bytes: a trace unit takes %d to %d (TRCSYNCPR.PERIOD)"
            % (wanted, _SYNC_SMALLEST, _SYNC_LARGEST),
            "TRCSYNCPR.PERIOD",
        )
    return wanted


def main_control(
    options: TraceOptions, capabilities: Capabilities, sync: int, stack: bool, broadcast: int = 0
) -> Iterator[RegisterWrite]:
    """Write the options, the trace ID and how often to synchronise.

    :param broadcast: Mask of the pairs of comparators that say where branch broadcast is on; 0: everywhere.
    """
    timestamps = options.timestamps or bool(options.data)
    configuration = etmv4.TRCCONFIGR.encode(
        DV=int(options.data.values),
        DA=int(options.data.addresses),
        INSTP0=_LOADS_AND_STORES if options.data else 0,
        RS=int(stack),
        TS=int(timestamps),
        VMID=int(options.vmid),
        CID=int(options.context_id),
        CCI=int(options.cycle_count is not None),
        BB=int(options.branch_broadcast),
        COND=_COND[options.conditional],
        QE=_q_elements(options, capabilities),
        VMIDOPT=int(capabilities.field("TRCIDR2.VMIDOPT") == 2),
    )
    yield _write(etmv4.TRCCONFIGR, configuration, _configuration(options, stack))
    if capabilities.events or capabilities.version < (4, 3):
        yield _write(etmv4.TRCEVENTCTL0R, 0, "no events")
    yield _write(etmv4.TRCEVENTCTL1R, 0, "no events in the trace")
    if capabilities.field("TRCIDR3.STALLCTL"):
        yield _stall_control(options)
    if capabilities.field("TRCIDR0.TSSIZE"):
        yield _write(etmv4.TRCTSCTLR, 0, "no timestamps beyond the usual ones")
    if capabilities.fixed_sync_bytes is None:
        period = etmv4.TRCSYNCPR.encode(PERIOD=sync.bit_length() - 1)
        yield _write(etmv4.TRCSYNCPR, period, "synchronise every %d bytes" % sync)
    if capabilities.field("TRCIDR0.TRCCCI"):
        threshold = options.cycle_count or max(capabilities.field("TRCIDR3.CCITMIN"), 1)
        yield _write(etmv4.TRCCCCTLR, etmv4.TRCCCCTLR.encode(THRESHOLD=threshold), "cycle count threshold")
    if capabilities.field("TRCIDR0.TRCBB") and capabilities.field("TRCIDR4.NUMACPAIRS"):
        yield _broadcast(broadcast)
    yield _trace_id(options, capabilities)
    if capabilities.field("TRCIDR0.QFILT"):
        yield _write(etmv4.TRCQCTLR, 0, "no Q elements")


def _broadcast(pairs: int) -> RegisterWrite:
    # To include nothing is unpredictable, to exclude nothing is not (7.3.5).
    value = etmv4.TRCBBCTLR.encode(MODE=int(bool(pairs)), RANGE=pairs)
    return _write(
        etmv4.TRCBBCTLR,
        value,
        "branch broadcast, if on, is on %s" % ("in %d ranges" % bin(pairs).count("1") if pairs else "everywhere"),
    )


def _stall_control(options: TraceOptions) -> RegisterWrite:
    register, prevents = etmv4.TRCSTALLCTLR, int(options.overflow_prevention)
    more = ", prevent overflow" if prevents else ""
    if not options.stall:
        return _write(register, register.encode(NOOVERFLOW=prevents), "never stall the processor" + more)
    level = _MOST_INVASIVE if options.stall_level is None else options.stall_level
    value = register.encode(ISTALL=1, DSTALL=int(bool(options.data)), LEVEL=level, NOOVERFLOW=prevents)
    # The level's lowest bits may be missing (7.3, TRCSTALLCTLR).
    mask = register.mask & ~register.encode(LEVEL=0b0011)
    why = "stall the processor rather than lose trace, level %d of 15%s" % (level, more)
    return RegisterWrite(register.name, register.offset, value, mask, why)


def _trace_id(options: TraceOptions, capabilities: Capabilities) -> RegisterWrite:
    # Before 4.5 the data stream's is the next one, and not written (7.3.72).
    own = capabilities.version >= _OWN_DATA_ID and bool(options.data)
    data = options.trace_id + 1 if own else 0
    why = "trace ID; data has 0x%02x" % (options.trace_id + 1) if options.data else "trace ID"
    return _write(etmv4.TRCTRACEIDR, etmv4.TRCTRACEIDR.encode(TRACEID=options.trace_id, TRACEDATAID=data), why)


def _configuration(options: TraceOptions, stack: bool) -> str:
    parts = ["instruction trace"]
    timestamps = options.timestamps or bool(options.data)
    choices = (
        (bool(options.data), "loads and stores"),
        (options.data.addresses, "data addresses"),
        (options.data.values, "data values"),
        (stack, "return stack"),
        (options.cycle_count is not None, "cycle counts"),
        (timestamps, "timestamps"),
        (options.context_id, "Context ID"),
        (options.vmid, "VMID"),
        (options.branch_broadcast, "branch broadcast"),
        (bool(options.conditional), "conditional instructions"),
        (bool(options.q_elements), "Q elements"),
    )
    return ", ".join(parts + [name for chosen, name in choices if chosen])


def _write(register: Register, value: int, why: str) -> RegisterWrite:
    return RegisterWrite(register.name, register.offset, value, register.mask, why)
