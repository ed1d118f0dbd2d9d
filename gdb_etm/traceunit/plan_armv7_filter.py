"""What an ETMv3 or a PTM traces, by its own address comparators or by those of the processor's DWT.

IHI 0014Q, 2.7 (address comparators) and 3.5; IHI 0035B, 3.4.3.  What is traced (TraceEnable) is decided by an event, a
list of address ranges, to include or to exclude, and a start/stop block.  A range ends before its second comparator's
address.  A Cortex-M's unit has no comparators, so there the event is that a comparator of the DWT matches.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import dwt, etmv3
from gdb_etm.registers import etmv3_comparators as comparators
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.capabilities_armv7 import Armv7Capabilities
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, Taken
from gdb_etm.traceunit.plan_armv7 import write
from gdb_etm.traceunit.plan_armv7_condition import Condition, condition_of, context_writes
from gdb_etm.traceunit.ranges import blocks, joined, without

_ALL_BITS = 0xFFFFFFFF
_MOST_IN_EVENT = 2  # resources in an event


class Filter(NamedTuple):
    """The writes that make a unit trace what is asked for."""

    writes: Tuple[RegisterWrite, ...]
    data: Tuple[int, ...]
    """Numbers of the pairs of comparators, from 0, whose loads and stores are traced."""
    dwt: Tuple[RegisterWrite, ...] = ()
    notes: Tuple[str, ...] = ()
    contexts: int = 0
    """How many Context ID comparators have a use."""
    taken: Tuple[Taken, ...] = ()
    data_exclude: Tuple[int, ...] = ()
    """Numbers of the pairs whose loads and stores are not."""


class _Wanted(NamedTuple):
    ranges: Sequence[AddressRange]
    excludes: bool
    data: Sequence[AddressRange]
    points: Tuple[Tuple[int, ...], Tuple[int, ...]]
    # Start and stop addresses.
    condition: Condition
    data_exclude: Sequence[AddressRange]


def plan_filter(options: TraceOptions, capabilities: Armv7Capabilities) -> Filter:
    """Plan which instructions are traced, and by which comparators.

    :raises UnsupportedError: The unit has too few comparators, or cannot compare what is asked for.
    """
    wanted = _wanted(options, condition_of(options, capabilities))
    ranges = (*wanted.ranges, *wanted.data, *wanted.data_exclude)
    for address in [pair.last for pair in ranges] + [*wanted.points[0], *wanted.points[1]]:
        if address >> 32:
            raise UnsupportedError("address 0x%x: this unit compares 32 bits (ETMACVR1.Address)" % address,
                                   "ETMACVR1.Address")
    if any(wanted.points):
        capabilities.require("ETMCCR.StartStop", "start and stop addresses")
    watched = not (capabilities.pairs or wanted.data or wanted.data_exclude) and bool(capabilities.watchpoints)
    if watched and (wanted.ranges or any(wanted.points)):
        return _by_watchpoints(wanted, capabilities)
    return _by_comparators(wanted, capabilities)


def _wanted(options: TraceOptions, condition: Condition) -> _Wanted:
    # One list can be included or excluded, not both: so what is excluded is cut out of what is included.
    ranges = without(options.include, options.exclude) if options.include else joined(options.exclude)
    if options.include and not ranges:
        raise UnsupportedError("nothing is left to trace: what is included is excluded as well (ETMTECR1.Exclude)",
                               "ETMTECR1.Exclude")
    points = tuple(dict.fromkeys(options.start_at)), tuple(dict.fromkeys(options.stop_at))
    return _Wanted(ranges, not options.include, joined(options.data_include), points, condition,
                   joined(options.data_exclude))


def _by_comparators(wanted: _Wanted, capabilities: Armv7Capabilities) -> Filter:
    pairs = capabilities.pairs
    starts, stops = wanted.points
    of_data = [*wanted.data, *wanted.data_exclude]
    needed = len(wanted.ranges) + len(of_data) + (len(starts) + len(stops) + 1) // 2
    if needed > pairs:
        raise UnsupportedError("this unit has %d pair%s of address comparators (ETMCCR.AddrPairs); the filters need %d"
                               % (pairs, "" if pairs == 1 else "s", needed), "ETMCCR.AddrPairs")
    # Ranges take the last pairs; start and stop addresses take single comparators from the other end.
    own = [pairs - 1 - n for n in range(len(wanted.ranges))]
    data = [pairs - 1 - len(own) - n for n in range(len(of_data))]
    table = {n: (0, comparators.TYPE_EXECUTE, 0, "address comparator unused") for n in range(1, 2 * pairs + 1)}
    for index, pair in zip(own, wanted.ranges):
        ends = (pair.first, _past(pair))
        size = comparators.SIZE_HALFWORD if (ends[0] | ends[1]) & 3 else comparators.SIZE_WORD
        for n, address in enumerate(ends, 2 * index + 1):
            table[n] = (address, comparators.TYPE_EXECUTE, size, "range %s" % (pair,))
    for index, pair in zip(data, of_data):
        for n, address in enumerate((pair.first, min(pair.last + 1, _ALL_BITS)), 2 * index + 1):
            table[n] = (address, comparators.TYPE_TRANSFER, comparators.SIZE_BYTE, "loads and stores at %s" % (pair,))
    for n, address in enumerate(starts + stops, 1):
        size = comparators.SIZE_HALFWORD if address & 3 else comparators.SIZE_WORD
        table[n] = (address, comparators.TYPE_EXECUTE, size, "%s 0x%08x" % (_verb(n <= len(starts)), address))
    start_mask, stop_mask = (1 << len(starts)) - 1, ((1 << len(stops)) - 1) << len(starts)
    writes = [
        *_trace_enable(wanted.condition.event, wanted.condition.when, wanted, sum(1 << n for n in own), capabilities),
        *_start_stop(etmv3.ETMTSSCR, start_mask, stop_mask, capabilities),
        *(entry for n, row in table.items() for entry in _comparator(n, *row, capabilities)),
        *context_writes(wanted.condition, capabilities),
    ]
    use = "exclude" if wanted.excludes else "include"
    taken = [Taken(use, where, "pair %d" % (n + 1)) for n, where in zip(own, wanted.ranges)]
    uses = ["data"] * len(wanted.data) + ["data-exclude"] * len(wanted.data_exclude)
    taken += [Taken(what, where, "pair %d" % (n + 1)) for what, n, where in zip(uses, data, of_data)]
    taken += [_point(n < len(starts), address, "comparator %d" % (n + 1)) for n, address in enumerate(starts + stops)]
    condition = wanted.condition
    count = len(wanted.data)
    return Filter(tuple(writes), tuple(data[:count]), (), condition.notes, len(condition.contexts),
                  (*taken, *condition.taken), tuple(data[count:]))


def _by_watchpoints(wanted: _Wanted, capabilities: Armv7Capabilities) -> Filter:
    starts, stops = wanted.points
    if starts or stops:
        capabilities.require("ETMCCER.WatchStartStop", "start and stop addresses")
    if wanted.condition.event != etmv3.EVENT_TRUE:
        raise UnsupportedError("addresses and contexts or security states at once: this unit has no address comparators"
                               " (ETMCCR.AddrPairs), and the DWT's take the event (ETMTEEVR)", "ETMCCR.AddrPairs")
    free = list(reversed(capabilities.watchpoints))  # a debugger takes the first ones
    largest = min(capabilities.watched_bytes(n) for n in free)
    parts = [part for pair in wanted.ranges for part in blocks(pair.first, _past(pair), largest)]
    needed = len(parts) + len(starts) + len(stops)
    if len(parts) > _MOST_IN_EVENT or needed > len(free):
        raise UnsupportedError(_too_many(parts, needed, len(free), largest), "ETMCCR.AddrPairs")
    rows = [(part.first, (part.last - part.first + 1).bit_length() - 1, "range %s" % (part,)) for part in parts]
    rows += [(address, 0, "%s 0x%08x" % (_verb(n < len(starts)), address)) for n, address in enumerate(starts + stops)]
    used = free[:len(rows)]
    masks = [1 << number for number in used]
    start_mask = sum(masks[len(parts):len(parts) + len(starts)])
    stop_mask = sum(masks[len(parts) + len(starts):])
    event, when = _watch_event(used[:len(parts)], wanted.excludes)
    writes = [
        *_trace_enable(event, when, wanted, 0, capabilities),
        *_start_stop(etmv3.ETMTESSEICR, start_mask, stop_mask, capabilities),
    ]
    note = "the filter takes comparators of the DWT (%s), which watchpoints cannot have meanwhile" % ", ".join(
        str(number) for number in used)
    watch = tuple(entry for number, row in zip(used, rows) for entry in _watchpoint(number, *row))
    use = "exclude" if wanted.excludes else "include"
    names = ["DWT comparator %d" % number for number in used]
    taken = [Taken(use, part, name) for part, name in zip(parts, names)]
    taken += [_point(n < len(starts), address, name)
              for n, (address, name) in enumerate(zip(starts + stops, names[len(parts):]))]
    return Filter(tuple(writes), (), watch, (note,), taken=tuple(taken))


def _too_many(parts: Sequence[AddressRange], needed: int, free: int, largest: int) -> str:
    if len(parts) > _MOST_IN_EVENT:
        return ("this unit has no address comparators (ETMCCR.AddrPairs), and the DWT's match aligned powers of two of"
                " at most %d bytes: the filters need %d of these, an event has 2" % (largest, len(parts)))
    return ("this unit has no address comparators (ETMCCR.AddrPairs), and of the DWT's %d are free:"
            " the filters need %d; watchpoints take them too" % (free, needed))


def _trace_enable(
    event: int, when: str, wanted: _Wanted, pairs: int, capabilities: Armv7Capabilities
) -> Iterator[RegisterWrite]:
    yield write(etmv3.ETMTEEVR, event, "trace " + when, capabilities)
    register = capabilities.page.by_name["ETMTECR1"]
    # With nothing excluded, everything is traced.
    excludes = wanted.excludes or not pairs
    value = register.encode(Exclude=int(excludes), Ranges=pairs, StartStop=int(any(wanted.points)))
    count = bin(pairs).count("1")
    why = "%s %d ranges" % ("exclude" if excludes else "include", count) if pairs else "at all addresses"
    control = write(register, value, why + (", between start and stop" if any(wanted.points) else ""), capabilities)
    if not capabilities.pairs:
        # An ETM-M4 has nothing but this bit of it.
        yield control._replace(mask=control.mask & register.fields["StartStop"].mask)
        return
    yield control
    if "ETMTECR2" in capabilities.page.by_name:
        yield write(etmv3.ETMTECR2, 0, "no single addresses", capabilities)


def _start_stop(register: Register, start: int, stop: int, capabilities: Armv7Capabilities) -> Iterator[RegisterWrite]:
    if not capabilities.field("ETMCCR.StartStop"):
        return
    present = ((etmv3.ETMTSSCR, capabilities.pairs),
               (etmv3.ETMTESSEICR, capabilities.field("ETMCCER.WatchStartStop")))
    for each, there in present:
        if there:
            value = each.encode(Start=start, Stop=stop) if each is register else 0
            why = "start and stop addresses" if value else "no start or stop addresses"
            yield write(each, value, why, capabilities)
    if stop and not start:
        # Otherwise the block begins with tracing off whenever the programming bit is cleared (3.4.4).
        yield RegisterWrite(etmv3.ETMSR.name, etmv3.ETMSR.offset, etmv3.ETMSR.encode(StartStop=1), 0,
                            "trace until the first stop address")


def _comparator(
    n: int, address: int, access: int, size: int, why: str, capabilities: Armv7Capabilities
) -> Iterator[RegisterWrite]:
    yield write(comparators.ETMACVR[n], address, why, capabilities)
    register = capabilities.page.by_name["ETMACTR%d" % n]
    sized = {"Size": size} if "Size" in register.fields else {}
    what = "loads and stores" if access == comparators.TYPE_TRANSFER else "instructions that ran"
    yield write(register, register.encode(Type=access, **sized), what, capabilities)


def _watch_event(used: List[int], excludes: bool) -> Tuple[int, str]:
    if not used:
        return etmv3.EVENT_TRUE, "at any time"
    first, second = (etmv3.RESOURCE_WATCHPOINT + number for number in (used[0], used[-1]))
    when = "%s comparator %s of the DWT matches" % (
        "unless" if excludes else "while", " or ".join(str(number) for number in used))
    if len(used) == 1:
        function = etmv3.FUNCTION_NOT_A if excludes else etmv3.FUNCTION_A
        return etmv3.ETMTEEVR.encode(A=first, Function=function), when
    function = etmv3.FUNCTION_NEITHER if excludes else etmv3.FUNCTION_A_OR_B
    return etmv3.ETMTEEVR.encode(A=first, B=second, Function=function), when


def _watchpoint(number: int, address: int, ignored: int, why: str) -> Iterator[RegisterWrite]:
    rows = (
        (dwt.DWT_FUNCTION[number], 0, "not used while it is programmed"),
        (dwt.DWT_COMP[number], address, why),
        (dwt.DWT_MASK[number], ignored, why),
        (dwt.DWT_FUNCTION[number], dwt.FUNCTION_INSTRUCTION, "tell the trace unit of instructions there"),
    )
    for register, value, reason in rows:
        mask = register.fields["FUNCTION"].mask if "FUNCTION" in register.fields else register.mask
        yield RegisterWrite(register.name, register.offset, value, mask, reason)


def _past(pair: AddressRange) -> int:
    """Return the address just past a range, whose last address may be an instruction's first byte."""
    return min((pair.last | 1) + 1, _ALL_BITS)


def _point(starts: bool, address: int, name: str) -> Taken:
    return Taken("start" if starts else "stop", AddressRange(address, address), name)


def _verb(starts: bool) -> str:
    return "start at" if starts else "stop at"
