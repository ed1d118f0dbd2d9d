"""Address comparators of an ETMv4 for events, beside the filters'.

IHI 0064, 4.2.4 to 4.2.7.  An event that compares an address takes a single comparator, the first that is free; a range
takes a pair, the last that is free; one that compares a value too takes the first pair that can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4_comparators as comparators
from gdb_etm.traceunit.addresses import AddressRange
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.comparators import CONTEXT_ID, VMID, Allotment, address_writes, check_context_values
from gdb_etm.traceunit.events import (
    Accessed,
    AccessType,
    And,
    Committed,
    DataValue,
    Event,
    Executed,
    ExecutedIn,
    InContext,
    InMachine,
    Not,
    Or,
)
from gdb_etm.traceunit.plan import RegisterWrite, Taken

_TYPE = {None: 0, AccessType.LOAD: 1, AccessType.STORE: 2, AccessType.EITHER: 3}  # of TRCACATR.TYPE
_EQUAL, _DIFFERENT = 1, 3  # of TRCACATR.DATAMATCH
_CONTEXT, _MACHINE = 1, 2  # of TRCACATR.CONTEXTTYPE


@dataclass(frozen=True)
class Compared(Event):
    """What an address comparator, or a pair of them, matches."""

    where: AddressRange
    # None: instructions.
    access: Optional[AccessType] = None
    value: Optional[DataValue] = None
    context: Optional[int] = None
    machine: Optional[int] = None

    @property
    def is_range(self) -> bool:
        """Whether it takes a pair."""
        return self.where.first != self.where.last

    def __str__(self) -> str:
        first = self.where.first
        words = str(self.where) if self.is_range else "0x%08x" % first
        kind = "instruction" if self.access is None else self.access.value
        parts = ["%s at %s" % (kind, words)]
        parts += [] if self.value is None else [str(self.value)]
        parts += [] if self.context is None else ["in context 0x%x" % self.context]
        parts += [] if self.machine is None else ["of VMID 0x%x" % self.machine]
        return " ".join(parts)


def compared(event: Event) -> Event:
    """Put the addresses of an expression as comparators have them.

    A comparator of an address can ask for a context too, which is precise, and one resource instead of two.
    """
    if isinstance(event, Executed):
        return Compared(AddressRange(event.address, event.address))
    if isinstance(event, ExecutedIn):
        return Compared(event.where)
    if isinstance(event, Accessed):
        return Compared(event.where, event.access, event.value)
    if isinstance(event, Not):
        return Not(compared(event.of))
    if isinstance(event, Or):
        return Or(compared(event.first), compared(event.second))
    if isinstance(event, Committed):
        return Committed(tuple(compared(each) for each in event.of), event.again)
    if isinstance(event, And):
        return _narrowed([compared(each) for each in _conjuncts(event)])
    return event


def _conjuncts(event: Event) -> List[Event]:
    if isinstance(event, And):
        return _conjuncts(event.first) + _conjuncts(event.second)
    return [event]


def _narrowed(events: List[Event]) -> Event:
    at = next((n for n, each in enumerate(events) if isinstance(each, Compared)), None)
    for each in list(events) if at is not None else ():
        found = events[at or 0]
        assert isinstance(found, Compared)
        if isinstance(each, InContext) and found.context in (None, each.context):
            found = Compared(found.where, found.access, found.value, each.context, found.machine)
        elif isinstance(each, InMachine) and found.machine in (None, each.machine):
            found = Compared(found.where, found.access, found.value, found.context, each.machine)
        else:
            continue
        events[at or 0] = found
        events.remove(each)
        at = events.index(found)
    result = events[0]
    for each in events[1:]:
        result = And(result, each)
    return result


class Matches(NamedTuple):
    """Comparators by number, with what they match."""

    singles: Tuple[Tuple[int, Compared], ...] = ()
    ranges: Tuple[Tuple[int, Compared], ...] = ()
    # Single comparators that start or stop the trace as well.
    shared: Tuple[Tuple[int, Compared], ...] = ()
    # All Context IDs, the filters' first.
    contexts: Tuple[int, ...] = ()
    machines: Tuple[int, ...] = ()

    @property
    def numbers(self) -> Dict[Compared, int]:
        """The number of what each takes: a pair, or a single comparator."""
        return {each: n for rows in (self.singles, self.ranges, self.shared) for n, each in rows}

    @property
    def used(self) -> Tuple[int, ...]:
        """Numbers of the single comparators that are taken, of pairs both."""
        return tuple(n for n, _ in self.singles) + tuple(2 * n + half for n, _ in self.ranges for half in (0, 1))

    @property
    def taken(self) -> Tuple[Taken, ...]:
        """What each is for."""
        rows = [("comparator %d" % n, each) for n, each in self.singles + self.shared]
        rows += [("pair %d" % n, each) for n, each in self.ranges]
        return tuple(Taken("event", each.where, name) for name, each in rows)


def allot_matches(
    wanted: Sequence[Compared],
    contexts: Sequence[int],
    machines: Sequence[int],
    allotment: Allotment,
    capabilities: Capabilities,
) -> Matches:
    """Give each event its comparators.

    :param contexts: Context IDs that events ask for, of :class:`Compared` or not.
    :param machines: VMIDs, likewise.
    :raises UnsupportedError: The unit has too few, or cannot compare what is asked for.
    """
    all_contexts = tuple(dict.fromkeys((*allotment.contexts, *contexts)))
    check_context_values(all_contexts, CONTEXT_ID, capabilities)
    all_machines = tuple(dict.fromkeys(machines))
    check_context_values(all_machines, VMID, capabilities)
    plain = {address: n for n, address in allotment.start + allotment.stop}
    shared = tuple(
        (plain[each.where.first], each)
        for each in wanted
        if each == Compared(each.where) and not each.is_range and each.where.first in plain
    )
    own = [each for each in dict.fromkeys(wanted) if each not in [row[1] for row in shared]]
    for each in own:
        _check(each, capabilities)
    pairs = min(capabilities.field("TRCIDR4.NUMACPAIRS"), 8)
    used = allotment.used
    free = [n for n in range(2 * pairs) if n not in used]
    singles: List[Tuple[int, Compared]] = []
    ranges: List[Tuple[int, Compared]] = []
    # Those that few comparators can serve come first.
    for each in sorted(own, key=lambda one: (one.value is None, not one.is_range)):
        numbers = _place(each, free, capabilities.field("TRCIDR4.NUMDVC"))
        if not numbers:
            raise _shortage(own, used, capabilities)
        free = [n for n in free if n not in numbers]
        (ranges if each.is_range else singles).append((numbers[0] // 2 if each.is_range else numbers[0], each))
    return Matches(tuple(sorted(singles, key=lambda row: row[0])), tuple(ranges), shared, all_contexts, all_machines)


def _place(wanted: Compared, free: Sequence[int], valued: int) -> Sequence[int]:
    # The comparators to take: both of a pair, or one.
    whole = [n // 2 for n in free if n % 2 == 0 and n + 1 in free]
    if wanted.value is not None:
        # Data value comparator k belongs to pair k, and to its first comparator.
        halves = [n for n in (free if not wanted.is_range else [2 * pair for pair in whole]) if n % 2 == 0]
        chosen = next((n for n in halves if n // 2 < valued), None)
        return () if chosen is None else (chosen, chosen + 1) if wanted.is_range else (chosen,)
    if wanted.is_range:
        return (2 * whole[-1], 2 * whole[-1] + 1) if whole else ()
    return free[:1]


def _shortage(own: Sequence[Compared], used: Set[int], capabilities: Capabilities) -> UnsupportedError:
    valued = [each for each in own if each.value is not None]
    there = capabilities.field("TRCIDR4.NUMDVC")
    if len(valued) > there:
        return capabilities.shortage("TRCIDR4.NUMDVC", "data value comparator", there, len(valued))
    pairs = capabilities.field("TRCIDR4.NUMACPAIRS")
    ranges = [each for each in own if each.is_range]
    half = len([n for n in used if n ^ 1 not in used])
    singles = len(own) - len(ranges) + half
    needed = (len(used) - half) // 2 + len(ranges) + (singles + 1) // 2
    return capabilities.shortage(
        "TRCIDR4.NUMACPAIRS", "address comparator pair", pairs, max(needed, pairs + 1), "the filters and events"
    )


def _check(wanted: Compared, capabilities: Capabilities) -> None:
    first, last = wanted.where
    if not 0 <= first <= last:
        raise UnsupportedError(
            "address range %s ends before it starts (TRCACVRn.ADDRESS)" % (wanted.where,), "TRCACVRn.ADDRESS"
        )
    if last >> capabilities.address_bits:
        raise UnsupportedError(
            "address 0x%x: this unit compares %d bits (TRCIDR2.IASIZE)" % (last, capabilities.address_bits),
            "TRCIDR2.IASIZE",
        )
    if wanted.access is not None:
        capabilities.require("TRCIDR4.NUMACPAIRS", "events of loads and stores")
        capabilities.require("TRCIDR4.SUPPDAC", "events of loads and stores")
    if wanted.value is not None:
        _check_value(wanted, wanted.value, capabilities)


def _check_value(wanted: Compared, value: DataValue, capabilities: Capabilities) -> None:
    capabilities.require("TRCIDR4.NUMDVC", "values of loads and stores")
    widest = capabilities.field("TRCIDR2.DVSIZE")
    if value.size not in (1, 2, 4, 8) or value.size > max(widest, 4):
        raise UnsupportedError(
            "a value of %d bytes: this unit compares 1, 2, 4%s (TRCIDR2.DVSIZE)"
            % (value.size, " or 8" if widest == 8 else ""),
            "TRCIDR2.DVSIZE",
        )
    if not 0 <= value.value < 1 << 8 * value.size or not 0 <= value.ignored < 1 << 8 * value.size:
        raise UnsupportedError(
            "the value 0x%x does not fit into %d bytes (TRCACATRn.DATASIZE)"
            % (max(value.value, value.ignored), value.size),
            "TRCACATRn.DATASIZE",
        )
    first, last = wanted.where
    # Otherwise it might never match (4.2.5).
    if first % value.size or wanted.is_range and (last + 1) % value.size:
        raise UnsupportedError(
            "%s: values of %d bytes need addresses that are multiples of %d (TRCACATRn.DATASIZE)"
            % (wanted, value.size, value.size),
            "TRCACATRn.DATASIZE",
        )


def match_writes(matches: Matches, known_contexts: int, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Write the comparators that events take.

    :param known_contexts: How many Context ID comparators the filters write.
    """
    for pair, wanted in matches.ranges:
        for n, address in ((2 * pair, wanted.where.first), (2 * pair + 1, wanted.where.last)):
            yield from _comparator(n, address, wanted, matches, capabilities)
        yield from _value(pair, wanted, capabilities)
    for n, wanted in matches.singles:
        yield from _comparator(n, wanted.where.first, wanted, matches, capabilities)
        yield from _value(n // 2, wanted, capabilities)
    for n, context in enumerate(matches.contexts):
        if n >= known_contexts:
            register = comparators.TRCCIDCVR[n]
            yield RegisterWrite(register.name, register.offset, context, 0xFFFFFFFF, "Context ID 0x%x" % context)
    for n, machine in enumerate(matches.machines):
        register = comparators.TRCVMIDCVR[n]
        yield RegisterWrite(register.name, register.offset, machine, 0xFFFFFFFF, "VMID 0x%x" % machine)


def _comparator(
    n: int, address: int, wanted: Compared, matches: Matches, capabilities: Capabilities
) -> Iterator[RegisterWrite]:
    kind, why = comparators.TRCACATR[n], str(wanted)
    yield from address_writes(n, address, why, capabilities)
    fields = {"TYPE": _TYPE[wanted.access]}
    context = -1 if wanted.context is None else matches.contexts.index(wanted.context)
    machine = -1 if wanted.machine is None else matches.machines.index(wanted.machine)
    if context >= 0 and machine >= 0 and context != machine:
        raise UnsupportedError(
            "%s: a comparator asks for a Context ID and a VMID by comparators of one number"
            " (TRCACATRn.CONTEXT)" % why,
            "TRCACATRn.CONTEXT",
        )
    fields["CONTEXTTYPE"] = (_CONTEXT if context >= 0 else 0) | (_MACHINE if machine >= 0 else 0)
    fields["CONTEXT"] = max(context, machine, 0)
    if wanted.value is not None and n % 2 == 0:
        fields["DATAMATCH"] = _DIFFERENT if wanted.value.differs else _EQUAL
        fields["DATASIZE"] = wanted.value.size.bit_length() - 1
        fields["DATARANGE"] = int(wanted.is_range)
    yield RegisterWrite(kind.name, kind.offset, kind.encode(**fields), kind.mask & 0xFFFFFFFF, why)


def _value(pair: int, wanted: Compared, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    if wanted.value is None:
        return
    wide = capabilities.field("TRCIDR2.DVSIZE") == 8
    value, size, ignored, _ = wanted.value
    # Repeated over the whole register, or it might never match; what is ignored must be 0 (4.2.5).
    times = (8 if wide else 4) // size
    whole = [sum(number << 8 * size * n for n in range(times)) for number in (value & ~ignored, ignored)]
    for register, number in zip((comparators.TRCDVCVR[pair], comparators.TRCDVCMR[pair]), whole):
        yield RegisterWrite(register.name, register.offset, number & 0xFFFFFFFF, 0xFFFFFFFF, str(wanted))
        if wide:
            yield RegisterWrite(register.name + "[63:32]", register.offset + 4, number >> 32, 0xFFFFFFFF, str(wanted))
