"""The ETF trace buffer, a Trace Memory Controller with RAM (DDI 0461).

It captures in circular buffer mode, formatted or, with FFCR.EnFt clear, the bytes of the one source as they come.  In
the two FIFO modes it passes trace on to a next component; there is none on this board, so that trace is lost.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict

from gdb_etm.board.identity import identification
from gdb_etm.board.trace_ram import TRIGGER_ID, TraceRam

_PART_TMC_ETF = 0x961

_STS = 0x00C
_RWP = 0x018
_MODE = 0x028
_LBUFLEVEL = 0x02C
_CBUFLEVEL = 0x030
_BUFWM = 0x034
_PSCR = 0x308

_FULL = 1 << 0
_TRIGGERED = 1 << 1
_READY = 1 << 2
_FORMATTER_EMPTY = 1 << 3
_EMPTY = 1 << 4
_FFCR_MASK = 0x7773
_NOTHING = 0xFFFFFFFF


class _State(Enum):
    DISABLED = 0
    RUNNING = 1
    STOPPED = 2


class TraceBuffer(TraceRam):
    """An ETF with circular buffer.

    :param base: Address of its registers.
    :param size: Size of its RAM in bytes, a multiple of 16.
    :raises ValueError: the size is not one that an ETF can have.
    """

    def __init__(self, base: int, size: int) -> None:
        identity = identification(_PART_TMC_ETF, devtype=0x32, devid=0x2 << 6 | 0x2 << 8)
        super().__init__(base, size, identity, _FFCR_MASK, pointer_unit=1)
        self._state = _State.DISABLED
        self._unread = 0
        # Where the next capture begins.
        self._begin = 0
        self._since_sync = 0
        self._plain.update({_MODE: 0, _BUFWM: 0, _PSCR: 0xA})
        self._masks.update({_MODE: 3, _BUFWM: size // 4 - 1, _PSCR: 0x1F})

    @property
    def is_capturing(self) -> bool:
        """Whether trace is stored."""
        return self._state == _State.RUNNING

    def take(self, trace_id: int, data: bytes) -> None:
        """Capture trace; a trigger on the trace bus is one (3.3.7)."""
        if self._plain[_MODE] != 0:
            return
        super().take(trace_id, data)
        if trace_id == TRIGGER_ID:
            self.trigger()
        elif self.is_capturing:
            self._count_to_sync(len(data))

    @property
    def is_enabled(self) -> bool:
        """Whether capture is enabled, though it may have stopped."""
        return self._state != _State.DISABLED

    def _write(self, offset: int, value: int) -> None:
        if offset == _PSCR:
            self._plain[_PSCR] = value & self._masks[_PSCR]
        else:
            super()._write(offset, value)

    def _write_disabled(self, offset: int, value: int) -> None:
        super()._write_disabled(offset, value)
        if offset == _RWP:
            self._begin = self._next_write
        elif offset == _STS:
            self._full = bool(value & _FULL)

    def _status(self) -> Dict[int, int]:
        level = min(self._stored, len(self._ram)) if self.is_capturing else self._unread
        status = self._full * _FULL | self._event * _TRIGGERED | (level == 0) * _EMPTY
        if not self.is_capturing:
            status |= _READY | _FORMATTER_EMPTY
        return {_STS: status, _LBUFLEVEL: level // 4, _CBUFLEVEL: level // 4}

    def _enable(self, enable: int) -> None:
        if enable and self._state == _State.DISABLED:
            self._state = _State.RUNNING
            # The pointers are managed by the hardware unless they are written (2.4.3).
            self._next_write, self._begin = self._begin, 0
            self._unread = self._since_sync = 0
            self._clear()
        elif not enable and self._state != _State.DISABLED:
            if self.is_capturing:
                self._stop()
            self._state = _State.DISABLED
            self._stuck = self._flushing = False

    def _stop(self) -> None:
        if self._plain[_MODE] == 0:
            self._fill_up()
        self._state = _State.STOPPED
        # Reading begins with the oldest word.
        self._unread = len(self._ram) if self._full else self._stored
        self._next_read = (self._next_write - self._unread) % len(self._ram)

    def _take_word(self) -> int:
        empty = self._state == _State.STOPPED and self._unread == 0
        if self._lock.locked or self.is_capturing or empty:
            return _NOTHING
        self._unread = max(0, self._unread - 4)
        return self._next_word()

    def _count_to_sync(self, count: int) -> None:
        # PSCR: the buffer asks the sources for a synchronisation point every 2**PSCount bytes.
        period = self._plain[_PSCR]
        self._since_sync += count
        if 7 <= period <= 27 and self._since_sync >= 1 << period:
            self._since_sync = 0
            self.request_sync()
