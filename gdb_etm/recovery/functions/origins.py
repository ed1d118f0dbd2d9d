"""Values of a function in terms of its entry."""

from __future__ import annotations

from typing import Final, NamedTuple

# Bases besides the registers of a function's entry: none, and the canonical frame address.
CONSTANT: Final = -1
FRAME: Final = -2


# The least of bases that are values of their own.
FIRST_OTHER: Final = 64


class Origin(NamedTuple):
    """A value: something of the function's entry plus a distance."""

    # CONSTANT, FRAME, a register, or from FIRST_OTHER on some other value.
    base: int
    # 32 bits, unsigned.
    distance: int
