"""Values of a function in terms of its entry."""

from __future__ import annotations

from typing import NamedTuple

CONSTANT, FRAME = -1, -2
"""Bases besides the registers of a function's entry: none, and the canonical frame address."""


FIRST_OTHER = 64
"""The least of bases that are values of their own."""


class Origin(NamedTuple):
    """A value: something of the function's entry plus a distance."""

    base: int
    """CONSTANT, FRAME, a register, or from FIRST_OTHER on some other value."""
    distance: int
    """32 bits, unsigned."""
