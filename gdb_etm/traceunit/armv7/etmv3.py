"""Plan for an ETMv3: options and capabilities to register writes.

IHI 0014Q: the procedure is 3.4.3, the registers 3.5.  After reset most registers hold an unknown value, so every
register that the unit has is written, used or not.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.registers import etmv3_comparators as comparators
from gdb_etm.traceunit.armv7.capabilities import EtmV3Capabilities
from gdb_etm.traceunit.armv7.filter import FilterWrites, plan_filter
from gdb_etm.traceunit.armv7.plan import (
    check_common,
    common_writes,
    control,
    disable_steps,
    marks,
    notes,
    sync_bytes,
    unused_resources,
    write,
)
from gdb_etm.traceunit.armv7.resources import with_uses
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan, RegisterWrite


def plan_program(options: TraceOptions, capabilities: EtmV3Capabilities, buffer_bytes: int) -> Plan:
    """Plan the programming of a unit.

    :param buffer_bytes: Size of the circular buffer that the trace goes to; decides how often to synchronise.
    :raises UnsupportedError: The unit lacks what the options ask for.
    """
    _check(options, capabilities)
    sync = sync_bytes(options, capabilities, buffer_bytes)
    chosen = plan_filter(options, capabilities)
    more = dict(ETMEN=1, DataAddress=int(options.data.addresses), DataValue=int(options.data.values))
    settings = (
        control(options, capabilities, **more),
        *common_writes(sync, options, capabilities),
        *chosen.writes,
        *_fifo_full(capabilities),
        *_view_data(options, chosen, capabilities),
        *unused_resources(capabilities, chosen.contexts),
    )
    steps = (*disable_steps(), *with_uses(settings, chosen.uses))
    all_notes = (*notes(capabilities), *_own_notes(options), *chosen.notes)
    return Plan(steps, sync, False, all_notes, chosen.dwt, chosen.taken, marks(options))


def _check(options: TraceOptions, capabilities: EtmV3Capabilities) -> None:
    check_common(options, capabilities)
    if options.return_stack:
        raise UnsupportedError("return stack: an ETMv3 has none (ETMIDR.Major)", "ETMIDR.Major")
    if options.data.addresses:
        capabilities.require("ETMCR.DataAddress", "data addresses")
    if options.data.values:
        capabilities.require("ETMCR.DataValue", "data values")
    if (options.data_include or options.data_exclude) and capabilities.field("ETMCCER.NoDataComp"):
        raise UnsupportedError(
            "address ranges of loads and stores: this unit cannot compare their addresses" " (ETMCCER.NoDataComp is 1)",
            "ETMCCER.NoDataComp",
        )


def _own_notes(options: TraceOptions) -> Iterator[str]:
    if options.conditional:
        yield "an ETMv3 always traces whether the condition of each instruction held"


def _fifo_full(capabilities: EtmV3Capabilities) -> Iterator[RegisterWrite]:
    # A unit without comparators has no region either: an ETM-M4 does not list the register.
    if capabilities.field("ETMCCR.FIFOFULL") and capabilities.pairs:
        value = etmv3.ETMFFRR.encode(Exclude=1)
        yield write(etmv3.ETMFFRR, value, "the processor may be stalled at all addresses", capabilities)


def _view_data(options: TraceOptions, chosen: FilterWrites, capabilities: EtmV3Capabilities) -> Iterator[RegisterWrite]:
    if not (capabilities.field("ETMCR.DataAddress") or capabilities.field("ETMCR.DataValue")):
        return
    event = etmv3.EVENT_TRUE if options.data else etmv3.EVENT_FALSE
    yield write(etmv3.ETMVDEVR, event, "trace loads and stores" if options.data else "no data trace", capabilities)
    yield write(etmv3.ETMVDCR1, 0, "no single addresses", capabilities)
    yield write(etmv3.ETMVDCR2, 0, "no memory map decoders", capabilities)
    include, exclude = (sum(1 << index for index in pairs) for pairs in (chosen.data, chosen.data_exclude))
    value = etmv3.ETMVDCR3.encode(Include=include, Exclude=exclude, ExcludeOnly=int(not include))
    yield write(
        etmv3.ETMVDCR3,
        value,
        (
            "include %d, exclude %d ranges of loads and stores" % (len(chosen.data), len(chosen.data_exclude))
            if include | exclude
            else "loads and stores at all addresses"
        ),
        capabilities,
    )
    for n in range(1, min(capabilities.field("ETMCCR.DataComps"), 8) + 1):
        yield write(comparators.ETMDCVR[n], 0, "data value comparator unused", capabilities)
        yield write(comparators.ETMDCMR[n], 0, "data value comparator unused", capabilities)
