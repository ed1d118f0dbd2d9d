"""UART0, a serial port, with a weather sensor at its receiver.

The port has one byte of buffer; the sensor sends for ever.
"""

from __future__ import annotations

from itertools import count, cycle
from typing import Callable, Iterator, Optional

from gdb_etm.board.clock import InstructionClock

_DATA = 0x00
_STATUS = 0x04
_CTRL = 0x08
_PERIOD = 0x0C
_RXNE = 1 << 0
_OVERRUN = 1 << 1
_RXIE = 1 << 0

_SENTENCES = (b"$TMP,21.4\n", b"$HUM,45.2\n", b"$PRS,1013.2\n")
_BURST = b"$TMP,21.4,21.5,21.6,21.7,21.8,21.9,22.0,22.1,22.2,22.3\n"
_BURST_EVERY = 12


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
        """Receive a byte; an unread one before is lost."""
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


def sentences() -> Iterator[bytes]:
    """Yield sentences: temperature, humidity, pressure."""
    for number, sentence in zip(count(1), cycle(_SENTENCES)):
        yield sentence if number % _BURST_EVERY else _BURST


def stream() -> Iterator[int]:
    """Yield the sensor's bytes."""
    for sentence in sentences():
        yield from sentence
