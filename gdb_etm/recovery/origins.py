"""Values of a function in terms of its entry."""

from __future__ import annotations

from typing import NamedTuple

CONSTANT, FRAME = -1, -2
"""Bases besides the registers of a function's entry: none, and the canonical frame address."""


class Origin(NamedTuple):
    """A value: something of the function's entry plus a distance."""

    base: int
    """CONSTANT, FRAME, or a register."""
    distance: int
    """32 bits, unsigned."""
