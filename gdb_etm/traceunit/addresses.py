"""Ranges of program memory."""

from __future__ import annotations

from typing import NamedTuple


class AddressRange(NamedTuple):
    """Program memory from ``first`` to ``last``, both included."""

    # Address of the first instruction.
    first: int
    # Address of the last byte, or of the last instruction's first byte.
    last: int

    def __str__(self) -> str:
        return "0x%08x-0x%08x" % (self.first, self.last)
