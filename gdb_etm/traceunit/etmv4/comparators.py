"""Address comparators of an ETMv4: allotment to filters, and their writes.

IHI 0064, 4.1.2 to 4.1.4: ranges need pairs and take the last ones first; start and stop addresses take single
comparators from the other end.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, TypeVar

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers.etmv4_comparators import TRCACATR, TRCACVR, TRCCIDCVR
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, Taken
from gdb_etm.traceunit.ranges import joined, packed, without

_LOAD_OR_STORE = 3  # of TRCACATR.TYPE
_CONTEXT_ID = 1  # of TRCACATR.CONTEXTTYPE
_Pairs = Tuple[Tuple[int, AddressRange], ...]
_Singles = Tuple[Tuple[int, int], ...]
_T = TypeVar("_T")


class Allotment(NamedTuple):
    """Allotment of comparators to the filters.

    By purpose: the number of a pair and its range, of a single comparator and its address.
    """

    include: _Pairs
    exclude: _Pairs
    data: _Pairs
    start: _Singles
    stop: _Singles
    # Context IDs; the first has the first Context ID comparator.
    contexts: Tuple[int, ...] = ()
    # Pairs that match in one context only, by the number of its comparator.
    restricted: Tuple[Tuple[int, int], ...] = ()
    data_exclude: _Pairs = ()
    # Loads and stores of one address each.
    data_points: _Singles = ()
    data_exclude_points: _Singles = ()
    # Where branch broadcast is on.
    broadcast: _Pairs = ()

    @property
    def pairs(self) -> Tuple[Tuple[str, _Pairs], ...]:
        """Pairs by what they are for."""
        return (
            ("include", self.include),
            ("exclude", self.exclude),
            ("data", self.data),
            ("data-exclude", self.data_exclude),
            ("branch-broadcast", self.broadcast),
        )

    @property
    def points(self) -> Tuple[Tuple[str, _Singles], ...]:
        """Single comparators by what they are for."""
        return (
            ("start", self.start),
            ("stop", self.stop),
            ("data", self.data_points),
            ("data-exclude", self.data_exclude_points),
        )

    @property
    def used(self) -> Set[int]:
        """Numbers of all single comparators that have a use."""
        pairs = {2 * index + n for _, rows in self.pairs for index, _ in rows for n in (0, 1)}
        return pairs | {n for _, rows in self.points for n, _ in rows}

    @property
    def taken(self) -> Tuple[Taken, ...]:
        """What each of them is for."""
        found = [Taken(use, where, "pair %d" % n) for use, rows in self.pairs for n, where in rows]
        found += [Taken(use, AddressRange(at, at), "comparator %d" % n) for use, rows in self.points for n, at in rows]
        found += [
            Taken("context", AddressRange(each, each), "Context ID comparator %d" % n)
            for n, each in enumerate(self.contexts)
        ]
        return tuple(found)


def allot(options: TraceOptions, capabilities: Capabilities) -> Allotment:
    """Give each range and each address its comparators.

    :raises UnsupportedError: The unit has too few, or cannot compare what is asked for.
    """
    pairs = min(capabilities.field("TRCIDR4.NUMACPAIRS"), 8)
    contexts = tuple(dict.fromkeys(options.contexts))
    check_context_values(contexts, CONTEXT_ID, capabilities)
    included, exclude = _included(options, contexts, capabilities)
    broadcast = joined(options.broadcast_ranges)
    data, data_points = _split(options.data_include)
    data_exclude, data_exclude_points = _split(options.data_exclude)
    starts, stops = list(dict.fromkeys(options.start_at)), list(dict.fromkeys(options.stop_at))
    ranges = [[pair for pair, _ in included], exclude, data, data_exclude, broadcast]
    points = [starts, stops, data_points, data_exclude_points]
    needed = sum(map(len, ranges)) + (sum(map(len, points)) + 1) // 2
    if needed > pairs:
        raise capabilities.shortage("TRCIDR4.NUMACPAIRS", "address comparator pair", pairs, needed, "the filters")
    if options.data_include or options.data_exclude:
        capabilities.require("TRCIDR4.SUPPDAC", "address ranges of loads and stores")
    for pair in options.data_include + options.data_exclude:
        check_tag(pair.last)
    _check_width([pair for rows in ranges for pair in rows], [point for rows in points for point in rows], capabilities)
    own, *others = _numbered(ranges, range(pairs - 1, -1, -1))
    singles = _numbered(points, range(2 * pairs))
    restricted = tuple((n, context) for (n, _), (_, context) in zip(own, included)) if contexts else ()
    return Allotment(
        own,
        others[0],
        others[1],
        singles[0],
        singles[1],
        contexts,
        restricted,
        others[2],
        singles[2],
        singles[3],
        others[3],
    )


def _included(
    options: TraceOptions, contexts: Sequence[int], capabilities: Capabilities
) -> Tuple[List[Tuple[AddressRange, int]], List[AddressRange]]:
    # What to include, each with the number of a context, and what to exclude.
    include, exclude = packed(options.include, options.exclude)
    if options.include and not without(include, exclude):
        raise UnsupportedError(
            "nothing is left to trace: what is included is excluded as well (TRCVIIECTLR.EXCLUDE)",
            "TRCVIIECTLR.EXCLUDE",
        )
    if contexts and not include:
        # A comparator's context is precise, which an event would not be (4.1.2).
        include = [AddressRange(0, (1 << capabilities.address_bits) - 1)]
    # A pair compares one context.
    return [(pair, context) for pair in include for context in range(max(len(contexts), 1))], exclude


def _split(ranges: Sequence[AddressRange]) -> Tuple[List[AddressRange], List[int]]:
    # A single address needs half a pair.
    found = joined(ranges)
    return [pair for pair in found if pair.first < pair.last], [pair.first for pair in found if pair.first == pair.last]


def _numbered(lists: Sequence[Sequence[_T]], numbers: Sequence[int]) -> List[Tuple[Tuple[int, _T], ...]]:
    left = iter(numbers)
    return [tuple((next(left), each) for each in one) for one in lists]


def comparator_writes(allotment: Allotment, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Write the comparators that have a use."""
    contexts = dict(allotment.restricted)
    for index, pair in allotment.include + allotment.exclude + allotment.broadcast:
        for n, address in ((2 * index, pair.first), (2 * index + 1, pair.last)):
            yield from _comparator(n, address, "range %s" % (pair,), capabilities, context=contexts.get(index))
    for index, pair in allotment.data + allotment.data_exclude:
        for n, address in ((2 * index, pair.first), (2 * index + 1, pair.last)):
            yield from _comparator(n, address, "loads and stores at %s" % (pair,), capabilities, _LOAD_OR_STORE)
    for points, what in ((allotment.start, "start at"), (allotment.stop, "stop at")):
        for n, address in points:
            yield from _comparator(n, address, "%s 0x%08x" % (what, address), capabilities)
    for n, address in allotment.data_points + allotment.data_exclude_points:
        yield from _comparator(n, address, "loads and stores at 0x%08x" % address, capabilities, _LOAD_OR_STORE)
    for n, context in enumerate(allotment.contexts):
        value = TRCCIDCVR[n]
        yield RegisterWrite(value.name, value.offset, context, 0xFFFFFFFF, "Context ID 0x%x" % context)


def bits(numbered: Sequence[Tuple[int, object]]) -> int:
    """Return a mask with a bit for each number."""
    return sum(1 << number for number, _ in numbered)


def check_tag(address: int) -> None:
    """Refuse a data address with a tag, which comparators ignore.

    :raises UnsupportedError: It has one.
    """
    if address >> 56:
        raise UnsupportedError(
            "0x%x: bits 63:56 of an address of loads and stores are not compared, and must be 0"
            " (TRCACATRn.DTBM)" % address,
            "TRCACATRn.DTBM",
        )


def _check_width(ranges: Sequence[AddressRange], points: Sequence[int], capabilities: Capabilities) -> None:
    width = capabilities.address_bits
    for pair in ranges:
        if pair.last >> width:
            raise UnsupportedError(
                "address range %s: this unit compares %d bits (TRCIDR2.IASIZE)" % (pair, width), "TRCIDR2.IASIZE"
            )
    for address in points:
        if address >> width:
            raise UnsupportedError(
                "address 0x%x: this unit compares %d bits (TRCIDR2.IASIZE)" % (address, width), "TRCIDR2.IASIZE"
            )


class ContextKind(NamedTuple):
    """A kind of comparators of contexts."""

    noun: str
    # The identification field with their number.
    number: str
    # The identification field with the bytes of a value.
    size: str
    # What needs them, in a refusal.
    user: str


CONTEXT_ID = ContextKind("Context ID", "TRCIDR4.NUMCIDC", "TRCIDR2.CIDSIZE", "the filters")
VMID = ContextKind("VMID", "TRCIDR4.NUMVMIDC", "TRCIDR2.VMIDSIZE", "the events")


def check_context_values(values: Sequence[int], kind: ContextKind, capabilities: Capabilities) -> None:
    """Refuse Context IDs or VMIDs that the unit cannot compare with.

    :raises UnsupportedError: There are too many, or one is too large.
    """
    if not values:
        return
    capabilities.require(kind.size, kind.noun)
    there = min(capabilities.field(kind.number), 8)
    if len(values) > there:
        raise capabilities.shortage(kind.number, kind.noun + " comparator", there, len(values), kind.user)
    bits_there = 8 * capabilities.field(kind.size)
    for value in values:
        if value < 0 or value >> bits_there:
            raise UnsupportedError(
                "%s 0x%x: this unit's have %d bits (%s)" % (kind.noun, value, bits_there, kind.size), kind.size
            )


def address_writes(n: int, address: int, why: str, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Write the address of comparator ``n``, in one word or two."""
    value = TRCACVR[n]
    yield RegisterWrite(value.name, value.offset, address & 0xFFFFFFFF, 0xFFFFFFFF, why)
    if capabilities.address_bits == 64:
        # The high word keeps what it held unless it is written as well (4.3.6).
        yield RegisterWrite(value.name + "[63:32]", value.offset + 4, address >> 32, 0xFFFFFFFF, why)


def _comparator(
    n: int, address: int, why: str, capabilities: Capabilities, access: int = 0, context: Optional[int] = None
) -> Iterator[RegisterWrite]:
    kind = TRCACATR[n]
    yield from address_writes(n, address, why, capabilities)
    compared = "addresses of loads and stores" if access else "instruction addresses"
    fields = {} if context is None else {"CONTEXTTYPE": _CONTEXT_ID, "CONTEXT": context}
    where = "any context" if context is None else "by Context ID comparator %d" % context
    yield RegisterWrite(
        kind.name, kind.offset, kind.encode(TYPE=access, **fields), kind.mask & 0xFFFFFFFF, compared + ", " + where
    )
