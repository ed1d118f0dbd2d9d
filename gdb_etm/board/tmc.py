"""The trace buffer: a Trace Memory Controller configured as ETF, with its own RAM (CoreSight TMC TRM, DDI 0461).

It captures in circular buffer mode, formatted or, with FFCR.EnFt clear, the bytes of the one source as they come.  In
the two FIFO modes it passes trace on to a next component; there is none on this board, so that trace is lost.
"""

from __future__ import annotations

from enum import Enum
from typing import Callable, Dict

from gdb_etm.board.formatter import Formatter
from gdb_etm.board.identity import SoftwareLock, identification

_PART_TMC_ETF = 0x961

_RSZ = 0x004
_STS = 0x00C
_RRD = 0x010
_RRP = 0x014
_RWP = 0x018
_TRG = 0x01C
_CTL = 0x020
_RWD = 0x024
_MODE = 0x028
_LBUFLEVEL = 0x02C
_CBUFLEVEL = 0x030
_BUFWM = 0x034
_FFSR = 0x300
_FFCR = 0x304
_PSCR = 0x308

_FULL = 1 << 0
_READY = 1 << 2
_FORMATTER_EMPTY = 1 << 3
_EMPTY = 1 << 4
_STOPPED = 1 << 1
_ENABLE_FORMATTER = 1 << 0
_FLUSH_MANUALLY = 1 << 6
_STOP_ON_FLUSH = 1 << 12
_FFCR_MASK = 0x7773
_NOTHING = 0xFFFFFFFF


class _State(Enum):
    DISABLED = 0
    RUNNING = 1
    STOPPED = 2


class TraceBuffer:
    """An ETF with circular buffer.

    :param base: Address of its registers.
    :param size: Size of its RAM in bytes, a multiple of 16.
    :raises ValueError: the size is not one that an ETF can have.
    """

    size = 0x1000

    def __init__(self, base: int, size: int) -> None:
        if size % 16 or not 512 <= size <= 1 << 24:
            raise ValueError("a trace buffer of %d bytes: give a multiple of 16 from 512 to 16 MiB" % size)
        self.base = base
        self.words_read = 0
        self.flush: Callable[[], None] = lambda: None
        self.request_sync: Callable[[], None] = lambda: None
        self._ram = bytearray(size)
        self._lock = SoftwareLock()
        self._state = _State.DISABLED
        self._formatter = Formatter(self._store)
        self._raw = bytearray()
        self._full = False
        self._unread = 0
        self._read = 0
        self._write = 0
        # Where the next capture begins, and how much this one has stored.
        self._begin = 0
        self._stored = 0
        self._since_sync = 0
        # A manual flush shows in one read of FFCR before it is over.
        self._flushing = False
        self.stuck_flush = 0
        """The flush of this number does not end; 0: none is so."""
        self._stuck = False
        self._plain: Dict[int, int] = {_TRG: 0, _MODE: 0, _BUFWM: 0, _FFCR: 0, _PSCR: 0xA}
        words = size // 4 - 1
        self._masks: Dict[int, int] = {_TRG: words, _MODE: 3, _BUFWM: words, _PSCR: 0x1F}
        self._identity = identification(_PART_TMC_ETF, devtype=0x32, devid=0x2 << 6 | 0x2 << 8)

    def take(self, trace_id: int, data: bytes) -> None:
        """Capture trace; nothing happens unless capturing is on."""
        if self._state != _State.RUNNING or self._plain[_MODE] != 0:
            return
        if self._plain[_FFCR] & _ENABLE_FORMATTER:
            self._formatter.write(trace_id, data)
        else:
            self._raw += data
            whole = len(self._raw) & ~3
            self._store(bytes(self._raw[:whole]))
            del self._raw[:whole]
        self._count_to_sync(len(data))

    def read32(self, offset: int) -> int:
        """Read a register; reading RRD takes a word out of the buffer."""
        if offset == _RRD:
            return self._take_word()
        if offset == _FFCR:
            value = self._plain[_FFCR] | (_FLUSH_MANUALLY if self._flushing else 0)
            self._flushing = self._stuck
            return value
        live = self._live()
        if offset in live:
            return live[offset]
        if offset in self._plain:
            return self._plain[offset]
        return self._identity.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; only the lock while it is locked."""
        if offset == SoftwareLock.LAR:
            self._lock.write(value)
            return
        if self._lock.locked:
            return
        disabled = self._state == _State.DISABLED
        if offset == _CTL:
            self._control(value & 1)
        elif offset == _FFCR:
            self._set_formatter(value)
        elif offset in self._plain and (disabled or offset == _PSCR):
            self._plain[offset] = value & self._masks[offset]
        elif disabled and offset == _RRP:
            self._read = value % len(self._ram) & ~3
        elif disabled and offset == _RWP:
            self._write = self._begin = value % len(self._ram) & ~3
        elif disabled and offset == _STS:
            self._full = bool(value & _FULL)
        elif disabled and offset == _RWD:
            self._put(value.to_bytes(4, "little"))

    def _live(self) -> Dict[int, int]:
        # Registers that show the state of things.
        running = self._state == _State.RUNNING
        level = min(self._stored, len(self._ram)) if running else self._unread
        status = self._full * _FULL | (level == 0) * _EMPTY
        if not running:
            status |= _READY | _FORMATTER_EMPTY
        return {
            _RSZ: len(self._ram) // 4,
            _STS: status,
            _RRP: self._read,
            _RWP: self._write,
            _CTL: int(self._state != _State.DISABLED),
            _LBUFLEVEL: level // 4,
            _CBUFLEVEL: level // 4,
            _FFSR: (0 if running else _STOPPED) | self._stuck,
            SoftwareLock.LSR: self._lock.status(),
        }

    def _control(self, enable: int) -> None:
        if enable and self._state == _State.DISABLED:
            self._state = _State.RUNNING
            # The pointers are managed by the hardware unless they are written (2.4.3).
            self._write, self._begin = self._begin, 0
            self._full = False
            self._stored = self._unread = self._since_sync = 0
            self._formatter = Formatter(self._store)
            self._raw.clear()
        elif not enable and self._state != _State.DISABLED:
            if self._state == _State.RUNNING:
                self._stop()
            self._state = _State.DISABLED
            self._stuck = self._flushing = False

    def _set_formatter(self, value: int) -> None:
        self._plain[_FFCR] = value & _FFCR_MASK & ~_FLUSH_MANUALLY
        if value & _FLUSH_MANUALLY and self._state == _State.RUNNING:
            self.flush()
            self._flushing = True
            self.stuck_flush -= 1
            self._stuck = self.stuck_flush == 0
            if value & _STOP_ON_FLUSH and not self._stuck:
                self._stop()

    def _stop(self) -> None:
        # The formatter fills its frame up; the raw stream ends in a one and zeros, to the next word (2.3.1).
        if self._plain[_FFCR] & _ENABLE_FORMATTER:
            self._formatter.stop()
        elif self._plain[_MODE] == 0:
            self._raw += b"\x01"
            self._store(bytes(self._raw) + bytes(-len(self._raw) % 4))
            self._raw.clear()
        self._state = _State.STOPPED
        # Reading begins with the oldest word.
        self._unread = min(self._stored, len(self._ram))
        self._read = (self._write - self._unread) % len(self._ram)

    def _store(self, data: bytes) -> None:
        for start in range(0, len(data), 4):
            self._put(data[start : start + 4])
            self._stored += 4

    def _put(self, word: bytes) -> None:
        self._ram[self._write : self._write + 4] = word
        self._write += 4
        if self._write == len(self._ram):
            self._write = 0
            self._full = True

    def _take_word(self) -> int:
        empty = self._state == _State.STOPPED and self._unread == 0
        if self._lock.locked or self._state == _State.RUNNING or empty:
            return _NOTHING
        self.words_read += 1
        word = int.from_bytes(self._ram[self._read : self._read + 4], "little")
        self._read = (self._read + 4) % len(self._ram)
        self._unread = max(0, self._unread - 4)
        return word

    def _count_to_sync(self, count: int) -> None:
        # PSCR: the buffer asks the sources for a synchronisation point every 2**PSCount bytes.
        period = self._plain[_PSCR]
        self._since_sync += count
        if 7 <= period <= 27 and self._since_sync >= 1 << period:
            self._since_sync = 0
            self.request_sync()
