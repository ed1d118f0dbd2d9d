"""Stacking of an exception: whether its frame is complete; its T bit.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), PushStack, CFSR; Armv7-M (DDI 0403), B1.5.6 and B3.2.15.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Optional

from gdb_etm.recovery.values import CoreState

# The Configurable Fault Status Register as a register of a state.
CFSR = "cfsr"
_MSTKERR: Final = 1 << 4
_STKERR: Final = 1 << 12
_STKOF: Final = 1 << 20


class Stacking(NamedTuple):
    """What is known of one exception's frame."""

    # Whether all of it was stored.
    stored: bool = True
    # Variable of what SP may have been set to because the frame was below it: the stack limit.
    limit: Optional[int] = None
    # Variable of the T bit, one bit; None when that is 1.
    thumb: Optional[int] = None


class Failures(NamedTuple):
    """Which frames may be incomplete; flags stay set until software clears them."""

    # Whether the stacking of an exception has failed, or may have.
    stacking: bool
    # Whether a stack limit was met.
    limit: bool


def failures(state: Optional[CoreState]) -> Failures:
    """Read from the end's CFSR whether stacking failed.

    Without CFSR all frames are taken to be complete.
    """
    flags = 0 if state is None else state.registers.get(CFSR, 0)
    return Failures(bool(flags & (_MSTKERR | _STKERR | _STKOF)), bool(flags & _STKOF))
