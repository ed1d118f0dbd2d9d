"""UART0: a serial port with one byte of buffer, and the sensor at its receiver."""

from __future__ import annotations

from typing import Callable, Optional

from gdb_etm.board.clock import InstructionClock
from gdb_etm.board.sensor import stream

_DATA = 0x00
_STATUS = 0x04
_CTRL = 0x08
_PERIOD = 0x0C
_RXNE = 1 << 0
_OVERRUN = 1 << 1
_RXIE = 1 << 0


class Uart:
    """The registers DATA, STATUS, CTRL and PERIOD.

    :param clock: The time that PERIOD counts in.
    :param line: Drives the interrupt.
    """

    base = 0x40004000
    size = 0x1000

    def __init__(self, clock: InstructionClock, line: Callable[[bool], None]) -> None:
        self._clock = clock
        self._line = line
        self.reset()

    def reset(self) -> None:
        """Stop, and let the sensor begin anew."""
        self._sensor = stream()
        self._data = 0
        self._status = 0
        self._ctrl = 0
        self._period = 0
        self._next: Optional[int] = None

    def read32(self, offset: int) -> int:
        """Read a register; reading DATA takes the byte out of the buffer."""
        if offset == _DATA:
            self._status &= ~_RXNE
            self._update()
            return self._data
        return {_STATUS: self._status, _CTRL: self._ctrl, _PERIOD: self._period}.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; what is written to DATA goes nowhere."""
        if offset == _STATUS:
            self._status &= ~(value & _OVERRUN)
        elif offset == _CTRL:
            self._ctrl = value & _RXIE
            self._update()
        elif offset == _PERIOD:
            self._period = value
            self._next = self._clock.now() + value if value else None

    def due(self) -> Optional[int]:
        """Return the time of the next byte."""
        return self._next

    def fire(self) -> None:
        """Receive a byte; it is lost when the one before has not been read."""
        assert self._next is not None
        byte = next(self._sensor)
        if self._status & _RXNE:
            self._status |= _OVERRUN
        else:
            self._data = byte
            self._status |= _RXNE
        self._next += self._period
        self._update()

    def _update(self) -> None:
        self._line(bool(self._status & _RXNE and self._ctrl & _RXIE))
