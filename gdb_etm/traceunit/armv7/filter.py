"""Filters and event resources of an ETMv3 or PTM.

Addresses take the unit's own comparators, or those of the processor's DWT.

IHI 0014Q, 2.7 (address comparators) and 3.5; IHI 0035B, 3.4.3.  What is traced (TraceEnable) is decided by an event,
a list of address ranges, to include or to exclude, and a start/stop block.  A Cortex-M's unit has no comparators, so
there the event is that a comparator of the DWT matches.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.armv7.comparators import AddressMatches, Allotted, by_comparators
from gdb_etm.traceunit.armv7.condition import TraceCondition, condition_of, context_writes
from gdb_etm.traceunit.armv7.plan import write
from gdb_etm.traceunit.armv7.resources import Armv7Resources, leaves_of, window_of
from gdb_etm.traceunit.armv7.watch import by_watchpoints
from gdb_etm.traceunit.events import ALWAYS, Accessed, Executed, ExecutedIn, InContext
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, Taken
from gdb_etm.traceunit.ranges import joined, without
from gdb_etm.traceunit.window import Window


class FilterWrites(NamedTuple):
    """Register writes for the filters and for the events' actions."""

    writes: Tuple[RegisterWrite, ...]
    # Numbers of the pairs of comparators, from 0, whose loads and stores are traced.
    data: Tuple[int, ...]
    dwt: Tuple[RegisterWrite, ...] = ()
    notes: Tuple[str, ...] = ()
    # How many Context ID comparators have a use.
    contexts: int = 0
    taken: Tuple[Taken, ...] = ()
    # Numbers of the pairs whose loads and stores are not.
    data_exclude: Tuple[int, ...] = ()
    # Writes for events; each replaces one that would disable the resource.
    uses: Tuple[RegisterWrite, ...] = ()


def plan_filter(options: TraceOptions, capabilities: Armv7Capabilities) -> FilterWrites:
    """Plan which instructions are traced, what events do, and by which comparators.

    :raises UnsupportedError: The unit has too few comparators or resources, or cannot compare what is asked for.
    """
    window = window_of(options, capabilities)
    leaves = leaves_of(window.wanted)
    condition = condition_of(options, capabilities, [leaf.context for leaf in leaves if isinstance(leaf, InContext)])
    asked = _asked(options, window)
    _check(asked, window, capabilities)
    compares = asked.ranges or asked.start or asked.stop or asked.events
    watched = not (capabilities.pairs or asked.data or asked.data_exclude) and bool(capabilities.watchpoints)
    found = by_watchpoints(asked, capabilities) if watched and compares else by_comparators(asked, capabilities)
    resources = Armv7Resources(window.wanted, found.numbers, condition.contexts, capabilities)
    event, when = _enabling_event(asked, window, condition, found, resources)
    writes = [
        *_trace_enable(event, when, asked, found, window.is_used, capabilities),
        *_start_stop(window, found, bool(found.dwt), capabilities),
        *found.writes,
        *context_writes(condition, capabilities),
    ]
    uses = tuple(resources.writes())
    notes = (*condition.notes, *found.notes, *resources.notes)
    return FilterWrites(
        tuple(writes),
        found.data,
        found.dwt,
        notes,
        len(condition.contexts),
        (*found.taken, *condition.taken),
        found.data_exclude,
        uses,
    )


def _asked(options: TraceOptions, window: Window) -> AddressMatches:
    # One list can be included or excluded, not both: so what is excluded is cut out of what is included.
    ranges = without(options.include, options.exclude) if options.include else joined(options.exclude)
    if options.include and not ranges:
        raise UnsupportedError(
            "nothing is left to trace: what is included is excluded as well (ETMTECR1.Exclude)", "ETMTECR1.Exclude"
        )
    events = tuple(leaf for leaf in leaves_of(window.wanted) if isinstance(leaf, (Executed, ExecutedIn, Accessed)))
    starts, stops = tuple(dict.fromkeys(window.start_at)), tuple(dict.fromkeys(window.stop_at))
    return AddressMatches(
        ranges, not options.include, joined(options.data_include), joined(options.data_exclude), starts, stops, events
    )


def _check(asked: AddressMatches, window: Window, capabilities: Armv7Capabilities) -> None:
    lasts = [pair.last for pair in (*asked.ranges, *asked.data, *asked.data_exclude)]
    for event in asked.events:
        lasts.append(event.address if isinstance(event, Executed) else getattr(event, "where").last)
    for address in lasts + [*asked.start, *asked.stop]:
        if address >> 32:
            raise UnsupportedError(
                "address 0x%x: this unit compares 32 bits (ETMACVR1.Address)" % address, "ETMACVR1.Address"
            )
    if window.is_used:
        capabilities.require("ETMCCR.StartStop", "start and stop addresses")
    if window.watched_start + window.watched_stop:
        capabilities.require("ETMCCER.WatchStartStop", "start and stop by comparators of the DWT")


def _enabling_event(
    asked: AddressMatches, window: Window, condition: TraceCondition, found: Allotted, resources: Armv7Resources
) -> Tuple[int, str]:
    view = window.wanted.view
    watches = bool(found.watching)
    if watches + (view != ALWAYS) + (condition.event != etmv3.EVENT_TRUE) > 1:
        if watches and view == ALWAYS:
            raise UnsupportedError(
                "addresses and contexts or security states at once: this unit has no address comparators"
                " (ETMCCR.AddrPairs), and the DWT's take the event (ETMTEEVR)",
                "ETMCCR.AddrPairs",
            )
        raise UnsupportedError(
            "events that start, stop or enable the trace beside %s: there is one event for both"
            " (ETMTEEVR.A)" % ("ranges" if watches else "contexts or security states"),
            "ETMTEEVR.A",
        )
    if watches:
        return _watch_event(found.watching, asked.excludes)
    if view != ALWAYS:
        return resources.value(view, etmv3.ETMTEEVR), "while %s" % view
    return condition.event, condition.when


def _trace_enable(
    event: int, when: str, asked: AddressMatches, found: Allotted, is_gated: bool, capabilities: Armv7Capabilities
) -> Iterator[RegisterWrite]:
    yield write(etmv3.ETMTEEVR, event, "trace " + when, capabilities)
    register = capabilities.page.by_name["ETMTECR1"]
    # With nothing excluded, everything is traced.
    excludes = asked.excludes or not found.pairs
    value = register.encode(Exclude=int(excludes), Ranges=found.pairs, StartStop=int(is_gated))
    count = bin(found.pairs).count("1")
    why = "%s %d ranges" % ("exclude" if excludes else "include", count) if found.pairs else "at all addresses"
    control = write(register, value, why + (", between start and stop" if is_gated else ""), capabilities)
    if not capabilities.pairs:
        # An ETM-M4 has nothing but this bit of it.
        yield control._replace(mask=control.mask & register.fields["StartStop"].mask)
        return
    yield control
    if "ETMTECR2" in capabilities.page.by_name:
        yield write(etmv3.ETMTECR2, 0, "no single addresses", capabilities)


def _start_stop(
    window: Window, found: Allotted, by_dwt: bool, capabilities: Armv7Capabilities
) -> Iterator[RegisterWrite]:
    if not capabilities.field("ETMCCR.StartStop"):
        return
    own, watched = (found.start, found.stop), (_mask(window.watched_start), _mask(window.watched_stop))
    if by_dwt:
        own, watched = (0, 0), (watched[0] | found.start, watched[1] | found.stop)
    if capabilities.pairs:
        yield _points(etmv3.ETMTSSCR, *own, capabilities)
    if capabilities.field("ETMCCER.WatchStartStop"):
        yield _points(etmv3.ETMTESSEICR, *watched, capabilities)
    if window.is_used:
        # Unless it is written the block begins with tracing off when the programming bit is cleared (3.4.4); what an
        # earlier run left in it must not count either way.
        value = etmv3.ETMSR.encode(StartStop=int(not window.waits))
        why = "trace from a start address on" if window.waits else "trace until the first stop address"
        yield RegisterWrite(etmv3.ETMSR.name, etmv3.ETMSR.offset, value, 0, why)


def _points(register: Register, start: int, stop: int, capabilities: Armv7Capabilities) -> RegisterWrite:
    value = register.encode(Start=start, Stop=stop)
    return write(register, value, "start and stop addresses" if value else "no start or stop addresses", capabilities)


def _mask(numbers: Sequence[int]) -> int:
    return sum(1 << n for n in set(numbers))


def _watch_event(used: Sequence[int], excludes: bool) -> Tuple[int, str]:
    first, second = (etmv3.RESOURCE_WATCHPOINT + number for number in (used[0], used[-1]))
    when = "%s comparator %s of the DWT matches" % (
        "unless" if excludes else "while",
        " or ".join(str(number) for number in used),
    )
    if len(used) == 1:
        function = etmv3.FUNCTION_NOT_A if excludes else etmv3.FUNCTION_A
        return etmv3.ETMTEEVR.encode(A=first, Function=function), when
    function = etmv3.FUNCTION_NEITHER if excludes else etmv3.FUNCTION_A_OR_B
    return etmv3.ETMTEEVR.encode(A=first, B=second, Function=function), when
