"""Tables of constants: what loads of the program's memory may give."""

from __future__ import annotations

from typing import Sequence

from gdb_etm.recovery.lift.operations import MASK


class ConstantTable:
    """What there is at addresses that are a constant distance apart.

    :param base: The first address.
    :param step: The distance.
    :param values: What a load gives at each.
    :param is_cut: Whether addresses beyond the program's memory were left out.
    """

    def __init__(self, base: int, step: int, values: Sequence[int], is_cut: bool) -> None:
        self.base = base
        self.step = step
        self.values = values
        self.is_cut = is_cut
        self.addresses = range(base, base + step * len(values), step)
        # The bits that all addresses, and all values, have in common.
        self.alike = alike(self.addresses)
        self.common = alike(values)


def alike(values: Sequence[int]) -> int:
    """Give the bits that all values have in common."""
    first, differ = values[0], 0
    for value in values:
        differ |= value ^ first
    return MASK & ~differ
