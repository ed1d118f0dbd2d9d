"""A core's write buffer: its stores fail late, and imprecisely.

The instruction is complete for the core when the buffer has its store.  An error that the bus answers later is an
imprecise BusFault, which is pended like an interrupt: CFSR.IMPRECISERR is set, and BFAR holds no address.

Ref: Armv7-M (DDI 0403E), B1.5.14 and B3.2.15; Armv8-M (DDI 0553), B3.9 and D1.2.13; Cortex-M4 TRM (DDI 0439B), 4.2:
ACTLR.DISDEFWBUF of M3 and M4 makes all faults of stores precise.
"""

from __future__ import annotations

from typing import Optional

from gdb_etm.board import exceptions as exc
from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.exceptions import ExceptionStates
from gdb_etm.board.status import Status

# How many instructions run until the bus has answered.
_LATENCY = 3
# The core's own registers are strongly ordered.
_PRIVATE = range(0xE0000000, 0xE0100000)
_DISDEFWBUF = 1 << 1


class WriteBuffer:
    """Stores on their way to the bus.

    :param clock: The time that the bus takes.
    :param exceptions: Where a BusFault is pended.
    :param status: Where it is noted.
    :param can_be_off: Whether ACTLR has DISDEFWBUF.
    """

    def __init__(self, clock: InstructionClock, exceptions: ExceptionStates, status: Status, can_be_off: bool) -> None:
        self._clock = clock
        self._exceptions = exceptions
        self._status = status
        self._can_be_off = can_be_off
        self.is_there = False
        self.reset()

    def reset(self) -> None:
        """Forget what is on its way."""
        self.actlr = 0
        self._due: Optional[int] = None

    def takes(self, address: int) -> bool:
        """Tell whether a store goes on without the bus's answer."""
        is_off = self._can_be_off and self.actlr & _DISDEFWBUF
        return self.is_there and not is_off and address not in _PRIVATE

    def failed(self) -> None:
        """Take a store that the bus will answer with an error."""
        if self._due is None:
            self._due = self._clock.now() + _LATENCY

    def due(self) -> Optional[int]:
        """Return the time of the bus's answer."""
        return self._due

    def fire(self) -> None:
        """Let the bus answer."""
        self._due = None
        self._status.imprecise_bus_fault()
        if self._exceptions.enabled[exc.BUS_FAULT]:
            self._exceptions.pend(exc.BUS_FAULT)
            return
        self._status.hfsr |= 1 << 30  # FORCED
        self._exceptions.pend(exc.HARD_FAULT)
