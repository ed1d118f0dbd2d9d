"""Which address comparators of an ETMv4 trace unit do what, and the writes that program them.

IHI 0064, 4.1.2 to 4.1.4: ranges need pairs and take the last ones first; start and stop addresses take single
comparators from the other end.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers.etmv4_comparators import TRCACATR, TRCACVR, TRCCIDCVR
from gdb_etm.traceunit.capabilities import Capabilities
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, Taken
from gdb_etm.traceunit.ranges import joined, packed, without

_LOAD_OR_STORE = 3  # of TRCACATR.TYPE
_CONTEXT_ID = 1  # of TRCACATR.CONTEXTTYPE
_Pairs = Tuple[Tuple[int, AddressRange], ...]
_Singles = Tuple[Tuple[int, int], ...]


class Allotment(NamedTuple):
    """Comparators by what they are for: the number of a pair and its range, of a single comparator and its address."""

    include: _Pairs
    exclude: _Pairs
    data: _Pairs
    start: _Singles
    stop: _Singles
    contexts: Tuple[int, ...] = ()
    """Context IDs; the first has the first Context ID comparator."""
    restricted: Tuple[Tuple[int, int], ...] = ()
    """Pairs that match in one context only, by the number of its comparator."""

    @property
    def used(self) -> Set[int]:
        """Numbers of all single comparators that have a use."""
        pairs = {2 * index + n for index, _ in self.include + self.exclude + self.data for n in (0, 1)}
        return pairs | {n for n, _ in self.start + self.stop}

    @property
    def taken(self) -> Tuple[Taken, ...]:
        """What each of them is for."""
        ranges = (("include", self.include), ("exclude", self.exclude), ("data", self.data))
        points = (("start", self.start), ("stop", self.stop))
        found = [Taken(use, where, "pair %d" % n) for use, rows in ranges for n, where in rows]
        found += [Taken(use, AddressRange(at, at), "comparator %d" % n) for use, rows in points for n, at in rows]
        found += [Taken("context", AddressRange(each, each), "Context ID comparator %d" % n)
                  for n, each in enumerate(self.contexts)]
        return tuple(found)


def allot(options: TraceOptions, capabilities: Capabilities) -> Allotment:
    """Give each range and each address its comparators.

    :raises UnsupportedError: The unit has too few, or cannot compare what is asked for.
    """
    pairs = min(capabilities.field("TRCIDR4.NUMACPAIRS"), 8)
    data, contexts = joined(options.data_include), _contexts(options, capabilities)
    include, exclude = packed(options.include, options.exclude)
    if options.include and not without(include, exclude):
        raise UnsupportedError("nothing is left to trace: what is included is excluded as well (TRCVIIECTLR.EXCLUDE)",
                               "TRCVIIECTLR.EXCLUDE")
    if contexts and not include:
        # A comparator's context is precise, which an event would not be (4.1.2).
        include = [AddressRange(0, (1 << capabilities.address_bits) - 1)]
    # A pair compares one context.
    included = [(pair, context) for pair in include for context in range(max(len(contexts), 1))]
    points = list(dict.fromkeys(options.start_at)), list(dict.fromkeys(options.stop_at))
    needed = len(included) + len(exclude) + len(data) + (len(points[0]) + len(points[1]) + 1) // 2
    if needed > pairs:
        raise UnsupportedError(
            "this unit has %d address comparator pair%s (TRCIDR4.NUMACPAIRS); the filters need %d"
            % (pairs, "" if pairs == 1 else "s", needed), "TRCIDR4.NUMACPAIRS")
    if data:
        capabilities.require("TRCIDR4.SUPPDAC", "address ranges of loads and stores")
    _check_width([*include, *exclude, *data], [*points[0], *points[1]], capabilities)
    last = pairs - 1
    own = tuple((last - n, pair) for n, (pair, _) in enumerate(included))
    others = tuple((last - n, pair) for n, pair in enumerate([*exclude, *data], len(own)))
    restricted = tuple((last - n, context) for n, (_, context) in enumerate(included)) if contexts else ()
    singles = tuple(enumerate(points[0] + points[1]))
    return Allotment(own, others[:len(exclude)], others[len(exclude):], singles[:len(points[0])],
                     singles[len(points[0]):], contexts, restricted)


def comparator_writes(allotment: Allotment, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Write the comparators that have a use."""
    contexts = dict(allotment.restricted)
    for index, pair in allotment.include + allotment.exclude:
        for n, address in ((2 * index, pair.first), (2 * index + 1, pair.last)):
            yield from _comparator(n, address, "range %s" % (pair,), capabilities, context=contexts.get(index))
    for index, pair in allotment.data:
        for n, address in ((2 * index, pair.first), (2 * index + 1, pair.last)):
            yield from _comparator(n, address, "loads and stores at %s" % (pair,), capabilities, _LOAD_OR_STORE)
    for points, what in ((allotment.start, "start at"), (allotment.stop, "stop at")):
        for n, address in points:
            yield from _comparator(n, address, "%s 0x%08x" % (what, address), capabilities)
    for n, context in enumerate(allotment.contexts):
        value = TRCCIDCVR[n]
        yield RegisterWrite(value.name, value.offset, context, 0xFFFFFFFF, "Context ID 0x%x" % context)


def bits(numbered: Sequence[Tuple[int, object]]) -> int:
    """Return a mask with a bit for each number."""
    return sum(1 << number for number, _ in numbered)


def _check_width(ranges: Sequence[AddressRange], points: Sequence[int], capabilities: Capabilities) -> None:
    width = capabilities.address_bits
    for pair in ranges:
        if pair.last >> width:
            raise UnsupportedError("address range %s: this unit compares %d bits (TRCIDR2.IASIZE)" % (pair, width),
                                   "TRCIDR2.IASIZE")
    for address in points:
        if address >> width:
            raise UnsupportedError("address 0x%x: this unit compares %d bits (TRCIDR2.IASIZE)" % (address, width),
                                   "TRCIDR2.IASIZE")


def _contexts(options: TraceOptions, capabilities: Capabilities) -> Tuple[int, ...]:
    contexts = tuple(dict.fromkeys(options.contexts))
    if not contexts:
        return ()
    capabilities.require("TRCIDR2.CIDSIZE", "Context ID")
    there = min(capabilities.field("TRCIDR4.NUMCIDC"), 8)
    if len(contexts) > there:
        raise UnsupportedError(
            "this unit has %d Context ID comparator%s (TRCIDR4.NUMCIDC); the filters need %d"
            % (there, "" if there == 1 else "s", len(contexts)), "TRCIDR4.NUMCIDC")
    for context in contexts:
        if context >> 8 * capabilities.field("TRCIDR2.CIDSIZE"):
            raise UnsupportedError("Context ID 0x%x: this unit's have %d bits (TRCIDR2.CIDSIZE)"
                                   % (context, 8 * capabilities.field("TRCIDR2.CIDSIZE")), "TRCIDR2.CIDSIZE")
    return contexts


def _comparator(
    n: int, address: int, why: str, capabilities: Capabilities, access: int = 0, context: Optional[int] = None
) -> Iterator[RegisterWrite]:
    value, kind = TRCACVR[n], TRCACATR[n]
    yield RegisterWrite(value.name, value.offset, address & 0xFFFFFFFF, 0xFFFFFFFF, why)
    if capabilities.address_bits == 64:
        # The high word keeps what it held unless it is written as well (4.3.6).
        yield RegisterWrite(value.name + "[63:32]", value.offset + 4, address >> 32, 0xFFFFFFFF, why)
    compared = "addresses of loads and stores" if access else "instruction addresses"
    fields = {} if context is None else {"CONTEXTTYPE": _CONTEXT_ID, "CONTEXT": context}
    where = "any context" if context is None else "by Context ID comparator %d" % context
    yield RegisterWrite(kind.name, kind.offset, kind.encode(TYPE=access, **fields), kind.mask & 0xFFFFFFFF,
                        compared + ", " + where)
