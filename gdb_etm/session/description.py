"""The target's trace hardware in words."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence

from gdb_etm.coresight.components import PRODUCTS
from gdb_etm.coresight.romtable import Discovery
from gdb_etm.traceunit.actions import StartTracing, StopTracing, Trace
from gdb_etm.traceunit.features import features
from gdb_etm.traceunit.full_halt import FullHaltState
from gdb_etm.traceunit.options import AddressRange, Conditionals, DataTrace, ExceptionTrace, TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.traceunit.status import SessionStatus
from gdb_etm.views.text import align, bytes_text, plural

_CORTEX_M: Dict[int, str] = {
    0xC20: "Cortex-M0",
    0xC21: "Cortex-M1",
    0xC23: "Cortex-M3",
    0xC24: "Cortex-M4",
    0xC27: "Cortex-M7",
    0xC60: "Cortex-M0+",
    0xD20: "Cortex-M23",
    0xD21: "Cortex-M33",
    0xD22: "Cortex-M55",
    0xD23: "Cortex-M85",
    0xD24: "Cortex-M52",
    0xD31: "Cortex-M35P",
}

# Of parts that have no name here, by the upper eight bits.
_PROFILES = {0xC0: "A", 0xC1: "R"}

_CONDITIONAL = {
    Conditionals.LOADS: "loads",
    Conditionals.STORES: "stores",
    Conditionals.BOTH: "loads and stores",
    Conditionals.ALL: "all instructions",
}
_DATA = {DataTrace.ADDRESSES: "addresses", DataTrace.VALUES: "values", DataTrace.BOTH: "addresses and values"}


def core_type(cpuid: int) -> str:
    """Name a processor by its CPUID register, or MIDR.

    Armv8-M ARM, "CPUID, CPUID Base Register"; Armv7-A ARM, "MIDR, Main ID Register".
    """
    part = cpuid >> 4 & 0xFFF
    profile = _PROFILES.get(part >> 4, "M")
    return _CORTEX_M.get(part) or PRODUCTS.get(part) or "Cortex-%s (part 0x%03x)" % (profile, part)


def path_line(trace: TraceSession) -> str:
    """Describe a trace path in a line.

    Such as ``Trace: ETMv4.2 at 0xe0041000 -> funnel ... -> ETF at 0xe0043000, 4 KiB``.
    """
    steps = ["%s at 0x%08x" % (trace.unit.title, trace.path.source.address)]
    if trace.path.sink is trace.path.source:
        return "Trace: %s, into the program's RAM" % steps[0]
    steps += [str(link) for link in trace.path.links]
    steps.append("%s at 0x%08x, %s" % (trace.path.sink.name, trace.path.sink.address, bytes_text(trace.sink.size)))
    return "Trace: " + " -> ".join(steps)


def start_line(options: TraceOptions, plan: Plan, trace: TraceSession) -> str:
    """Describe how tracing was started, in a line."""
    if options.buffer is not None:
        until = "" if options.stop_after is None else ", until %s are filled" % bytes_text(options.stop_after)
        where = "%s %sat %s%s" % (bytes_text(options.buffer.size), "" if until else "circular ", options.buffer, until)
        return "Tracing %s: %s." % (_traced(options), where)
    words = ["return stack on" if plan.return_stack else "return stack off"]
    if options.data:
        where = " at " + _listed(options.data_include) if options.data_include else ""
        where += " but " + _listed(options.data_exclude) if options.data_exclude else ""
        words.append("data " + _DATA[options.data] + where)
    if trace.sync_bytes:
        words.append("a sync every %s" % plural(trace.sync_bytes, "byte"))
    if options.cycle_count is not None:
        words.append("cycle counts of %d and more" % options.cycle_count)
    broadcast = "branch broadcast" + (" at " + _listed(options.broadcast_ranges) if options.broadcast_ranges else "")
    level = "" if options.stall_level is None else " at level %d of 15" % options.stall_level
    chosen = (
        (options.timestamps, "timestamps"),
        (options.branch_broadcast, broadcast),
        (options.context_id, "Context IDs"),
        (options.vmid, "VMIDs"),
        (options.stall, "stalling" + level),
        (options.overflow_prevention, "overflow prevention"),
        (options.conditional, "conditions of %s" % _CONDITIONAL.get(options.conditional, "")),
        (options.q_elements, "Q elements"),
    )
    words += [word for asked, word in chosen if asked]
    words.append("%s %s" % (bytes_text(trace.sink.size), _until(options)))
    return "Tracing %s: %s." % (_traced(options), ", ".join(words))


def _until(options: TraceOptions) -> str:
    if not options.triggers:
        return "circular"
    return "circular until %d%% are filled after a trigger" % options.trigger_position


def _traced(options: TraceOptions) -> str:
    what = "only " + _listed(options.include) if options.include else "everything"
    if options.exclude:
        what += " but " + _listed(options.exclude)
    for verb, addresses in (("from", options.start_at), ("until", options.stop_at)):
        if addresses:
            what += " %s %s" % (verb, " or ".join("0x%08x" % address for address in addresses))
    if options.contexts:
        what += " with Context ID " + " or ".join("0x%x" % context for context in options.contexts)
    states = (
        (bool(options.levels), "at exception level %s" % " or ".join(map(str, options.levels))),
        (not options.secure, "in Non-secure state"),
        (not options.nonsecure, "in Secure state"),
        (options.exceptions is ExceptionTrace.OFF, "outside handlers"),
        (options.exceptions is ExceptionTrace.ONLY, "in handlers"),
        (options.exceptions is ExceptionTrace.ON, "and every reset and system error"),
        (any(isinstance(rule.do, (StartTracing, StopTracing, Trace)) for rule in options.rules), "when events say so"),
    )
    return " ".join([what, *(words for chosen, words in states if chosen)])


def _listed(ranges: Sequence[AddressRange]) -> str:
    return ", ".join(str(pair) for pair in ranges)


def status_lines(status: SessionStatus) -> Iterator[str]:
    """Describe the state of trace unit and buffer."""
    unit = status.unit
    words = [
        "on" if unit.enabled else "off",
        "idle" if unit.idle else "busy",
        "powered" if unit.powered else "not powered",
        {None: "no OS Lock", False: "OS Lock open", True: "OS Lock locked"}[unit.os_locked],
        "claimed by us" if unit.claimed else "not claimed",
    ]
    yield "trace unit: " + ", ".join(words)
    sink = status.sink
    filled = "wrapped" if sink.wrapped else "%s of %s filled" % (plural(sink.filled, "byte"), bytes_text(status.size))
    trigger = ", a trigger came" if sink.triggered else ""
    yield "trace buffer: %s, %s%s" % ("capturing" if sink.capturing else "stopped", filled, trigger)
    if status.trace_enabled is False:
        yield "DEMCR.TRCENA is 0: trace is disabled in the processor"


def info_lines(discovery: Discovery, trace: Optional[TraceSession], in_full: bool = False) -> Iterator[str]:
    """Describe the chip's components and the path in use.

    :param in_full: Whether each thing that the unit has comes with the identification fields that say so.
    """
    if trace is not None:
        yield path_line(trace)
        yield "The trace unit has: " + ", ".join(trace.unit.abilities)
        yield from _feature_lines(trace, in_full)
        yield halt_line(trace)
        for note in trace.unit.notes:
            yield "note: " + note
    rows: List[List[str]] = []
    for component in discovery.components:
        rows.append(["  0x%08x" % component.address, component.name, component.port.name])
    if rows:
        yield "Components:"
        yield from align(rows)
    for note in discovery.notes:
        yield "note: " + note


def halt_line(trace: TraceSession) -> str:
    """Say what halts the core in a recording."""
    full, by_time = trace.full_halt, "this computer's clock" if trace.path.dwt is None else "the DWT's cycle counter"
    if trace.unit.protocol == "mtb":
        return 'What halts the core for "etm record": the MTB, at a watermark'
    words = by_time
    if full is not None and full.state is FullHaltState.UNTRIED:
        words += ', until "etm record" knows whether a full buffer does so by a CTI'
    elif full is not None and full.state is FullHaltState.ABSENT:
        words += ": of the buffer no CTI hears that leads to the core"
    elif full is not None and full.route is not None:
        words = "the full buffer: input %d of %s leads to %s" % (
            full.route.number,
            full.route.interface.component,
            full.core,
        )
    return 'What halts the core for "etm record": %s' % words


def _feature_lines(trace: TraceSession, in_full: bool) -> Iterator[str]:
    unit = trace.unit.capabilities
    found = [feature for feature in features(unit) if in_full or feature.topic != "options"]
    asks = ", can ask for synchronisation" if trace.sink.requests_sync else ""
    rows = [["  " + feature.topic, feature.words] for feature in found]
    where = "%s circular%s" % (bytes_text(trace.sink.size), asks)
    rows.append(["  buffer", where if trace.sink.size else '"etm start" says where'])
    for n, line in enumerate(align(rows)):
        yield line
        if in_full and n < len(found):
            yield "    " + " ".join("%s=%d" % (name, unit.field(name)) for name in found[n].fields)
