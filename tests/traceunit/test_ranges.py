"""Arithmetic on address ranges: property tests against sets of addresses."""

from __future__ import annotations

from typing import Iterable, List, Set

from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.traceunit.options import AddressRange
from gdb_etm.traceunit.ranges import blocks, joined, without

RANGES = st.lists(st.tuples(st.integers(0, 63), st.integers(0, 15)).map(lambda two: AddressRange(two[0], sum(two))))


def addresses(ranges: Iterable[AddressRange]) -> Set[int]:
    return {address for pair in ranges for address in range(pair.first, pair.last + 1)}


def are_apart(ranges: List[AddressRange]) -> bool:
    return all(one.last + 1 < other.first for one, other in zip(ranges, ranges[1:]))


@given(RANGES)
def test_joined(ranges: List[AddressRange]) -> None:
    assert addresses(joined(ranges)) == addresses(ranges) and are_apart(joined(ranges))


@given(RANGES, RANGES)
def test_without(ranges: List[AddressRange], holes: List[AddressRange]) -> None:
    left = without(ranges, holes)
    assert addresses(left) == addresses(ranges) - addresses(holes) and are_apart(left)


@given(st.integers(0, 300), st.integers(1, 300), st.integers(0, 8))
def test_blocks(first: int, length: int, most: int) -> None:
    """Aligned, adjacent, and no two neighbours could be one."""
    parts = blocks(first, first + length, 1 << most)
    assert addresses(parts) == set(range(first, first + length)) and sum(len(addresses([p])) for p in parts) == length
    for part in parts:
        size = part.last - part.first + 1
        assert size & (size - 1) == 0 and part.first % size == 0 and size <= 1 << most
    for one, other in zip(parts, parts[1:]):
        size = one.last - one.first + 1
        assert size == 1 << most or one.first % (2 * size) or other.last < one.first + 2 * size - 1
