"""Which address comparators of an ETMv4 trace unit do what, and the writes that program them.

IHI 0064, 4.1.2 to 4.1.4: ranges need pairs and take the last ones first; start and stop addresses take single
comparators from the other end.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence, Set, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers.etmv4_comparators import TRCACATR, TRCACVR
from gdb_etm.traceunit.capabilities import Capabilities
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite
from gdb_etm.traceunit.ranges import joined

_LOAD_OR_STORE = 3  # of TRCACATR.TYPE
_Pairs = Tuple[Tuple[int, AddressRange], ...]
_Singles = Tuple[Tuple[int, int], ...]


class Allotment(NamedTuple):
    """Comparators by what they are for: the number of a pair and its range, of a single comparator and its address."""

    include: _Pairs
    exclude: _Pairs
    data: _Pairs
    start: _Singles
    stop: _Singles

    @property
    def used(self) -> Set[int]:
        """Numbers of all single comparators that have a use."""
        pairs = {2 * index + n for index, _ in self.include + self.exclude + self.data for n in (0, 1)}
        return pairs | {n for n, _ in self.start + self.stop}


def allot(options: TraceOptions, capabilities: Capabilities) -> Allotment:
    """Give each range and each address its comparators.

    :raises UnsupportedError: The unit has too few, or cannot compare what is asked for.
    """
    pairs = min(capabilities.field("TRCIDR4.NUMACPAIRS"), 8)
    include, exclude, data = joined(options.include), joined(options.exclude), joined(options.data_include)
    singles = len(options.start_at) + len(options.stop_at)
    needed = len(include) + len(exclude) + len(data) + (singles + 1) // 2
    if needed > pairs:
        raise UnsupportedError(
            "this unit has %d address-range comparator pair%s (TRCIDR4.NUMACPAIRS); the filter needs %d"
            % (pairs, "" if pairs == 1 else "s", needed), "TRCIDR4.NUMACPAIRS")
    if data:
        capabilities.require("TRCIDR4.SUPPDAC", "address ranges of loads and stores")
    _check_width([*include, *exclude, *data], options.start_at + options.stop_at, capabilities)
    numbered = [(pairs - 1 - n, pair) for n, pair in enumerate([*include, *exclude, *data])]
    points = list(enumerate(options.start_at + options.stop_at))
    excluded, starts = len(include) + len(exclude), len(options.start_at)
    return Allotment(tuple(numbered[:len(include)]), tuple(numbered[len(include):excluded]),
                     tuple(numbered[excluded:]), tuple(points[:starts]), tuple(points[starts:]))


def comparator_writes(allotment: Allotment, capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Write the comparators that have a use."""
    for index, pair in allotment.include + allotment.exclude:
        for n, address in ((2 * index, pair.first), (2 * index + 1, pair.last)):
            yield from _comparator(n, address, "range %s" % (pair,), capabilities)
    for index, pair in allotment.data:
        for n, address in ((2 * index, pair.first), (2 * index + 1, pair.last)):
            yield from _comparator(n, address, "loads and stores at %s" % (pair,), capabilities, _LOAD_OR_STORE)
    for points, what in ((allotment.start, "start at"), (allotment.stop, "stop at")):
        for n, address in points:
            yield from _comparator(n, address, "%s 0x%08x" % (what, address), capabilities)


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


def _comparator(
    n: int, address: int, why: str, capabilities: Capabilities, access: int = 0
) -> Iterator[RegisterWrite]:
    value, kind = TRCACVR[n], TRCACATR[n]
    yield RegisterWrite(value.name, value.offset, address & 0xFFFFFFFF, 0xFFFFFFFF, why)
    if capabilities.address_bits == 64:
        # The high word keeps what it held unless it is written as well (4.3.6).
        yield RegisterWrite(value.name + "[63:32]", value.offset + 4, address >> 32, 0xFFFFFFFF, why)
    compared = "addresses of loads and stores" if access else "instruction addresses"
    yield RegisterWrite(kind.name, kind.offset, kind.encode(TYPE=access), kind.mask & 0xFFFFFFFF,
                        compared + ", any context")
