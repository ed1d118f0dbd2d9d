"""Arithmetic on address ranges: comparators are few."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from gdb_etm.traceunit.options import AddressRange


def joined(ranges: Sequence[AddressRange]) -> List[AddressRange]:
    """Join ranges that overlap or touch; lowest first."""
    result: List[AddressRange] = []
    for pair in sorted(ranges):
        if result and pair.first <= result[-1].last + 1:
            result[-1] = AddressRange(result[-1].first, max(result[-1].last, pair.last))
        else:
            result.append(pair)
    return result


def without(ranges: Sequence[AddressRange], holes: Sequence[AddressRange]) -> List[AddressRange]:
    """Return what of the ranges lies outside the holes; lowest first."""
    result = joined(ranges)
    for hole in holes:
        pieces = []
        for pair in result:
            below = AddressRange(pair.first, min(pair.last, hole.first - 1))
            above = AddressRange(max(pair.first, hole.last + 1), pair.last)
            pieces += [piece for piece in (below, above) if piece.first <= piece.last]
        result = joined(pieces)
    return result


def packed(
    ranges: Sequence[AddressRange], holes: Sequence[AddressRange]
) -> Tuple[List[AddressRange], List[AddressRange]]:
    """Return the fewest ranges to include and to exclude.

    :param ranges: What is wanted; empty for everything.
    :param holes: What of that is not.
    :returns: What to include and what to exclude; nothing to include means everything again.
    """
    include, exclude = joined(ranges), joined(holes)
    if not include:
        return include, exclude
    exclude = [hole for hole in exclude if any(hole.first <= pair.last and pair.first <= hole.last for pair in include)]
    cut = without(include, exclude)
    return (cut, []) if len(cut) < len(include) + len(exclude) else (include, exclude)


def blocks(first: int, end: int, largest: int) -> List[AddressRange]:
    """Split a range into the fewest aligned power-of-two blocks.

    :param first: Its first address.
    :param end: The address just past it.
    :param largest: The most bytes in one block, a power of two.
    """
    result = []
    while first < end:
        size = min(first & -first or largest, largest)
        while first + size > end:
            size >>= 1
        result.append(AddressRange(first, first + size - 1))
        first += size
    return result
