"""DMA0, which copies memory without the core.

It is no real chip's: a channel that copies COUNT bytes from SRC to DST, 16 bytes in as many instructions' time.
"""

from __future__ import annotations

from typing import Callable, Optional

from gdb_etm.board.bus import Bus, BusFault
from gdb_etm.board.clock import InstructionClock

_SRC = 0x00
_DST = 0x04
_COUNT = 0x08
_CTRL = 0x0C
_STATUS = 0x10
_ENABLE = 1 << 0
_IRQ_ENABLE = 1 << 1
_SRC_FIXED = 1 << 2
_DST_FIXED = 1 << 3
_KEPT = _IRQ_ENABLE | _SRC_FIXED | _DST_FIXED
_DONE = 1 << 0
_ERROR = 1 << 1
# Bytes of a burst, and the instructions that it takes.
_BURST = 16
_MASK = 0xFFFFFFFF


class Dma:
    """The registers SRC, DST, COUNT, CTRL and STATUS.

    SRC, DST and COUNT go on with the transfer.

    :param bus: What it copies from and to.
    :param clock: The time that it takes.
    :param line: Drives the interrupt.
    :param written: Called when memory has been written.
    """

    base = 0x40020000
    size = 0x1000

    def __init__(
        self, bus: Bus, clock: InstructionClock, line: Callable[[bool], None], written: Callable[[], None]
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._line = line
        self._written = written
        self.reset()

    def reset(self) -> None:
        """Stop."""
        self._source = self._target = self._count = self._ctrl = self._status = 0
        self._due: Optional[int] = None

    def read32(self, offset: int) -> int:
        """Read a register."""
        values = {_SRC: self._source, _DST: self._target, _COUNT: self._count, _CTRL: self._ctrl, _STATUS: self._status}
        return values.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register.

        While a transfer runs all but STATUS and ENABLE are left as they are.
        """
        if offset == _STATUS:
            self._status &= ~value
            self._update()
        elif offset == _CTRL and not value & _ENABLE:
            self._ctrl, self._due = value & _KEPT, None
            self._update()
        elif self._due is not None:
            return
        elif offset == _SRC:
            self._source = value
        elif offset == _DST:
            self._target = value
        elif offset == _COUNT:
            self._count = value & 0xFFFF
        elif offset == _CTRL:
            self._ctrl = value & (_KEPT | _ENABLE)
            self._due = self._clock.now() + _BURST

    def due(self) -> Optional[int]:
        """Return the time of the next burst's end."""
        return self._due

    def fire(self) -> None:
        """Copy a burst."""
        assert self._due is not None
        is_error = False
        for _ in range(min(self._count, _BURST)):
            try:
                self._bus.write(self._target, 1, self._bus.read(self._source, 1))
            except BusFault:
                is_error = True
                break
            self._source = (self._source + (not self._ctrl & _SRC_FIXED)) & _MASK
            self._target = (self._target + (not self._ctrl & _DST_FIXED)) & _MASK
            self._count -= 1
        self._written()
        if self._count and not is_error:
            self._due += _BURST
            return
        self._due = None
        self._ctrl &= ~_ENABLE
        self._status |= _ERROR if is_error else _DONE
        self._update()

    def _update(self) -> None:
        self._line(bool(self._status and self._ctrl & _IRQ_ENABLE))
