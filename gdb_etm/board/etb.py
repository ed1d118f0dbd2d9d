"""The trace buffer of older chips: an Embedded Trace Buffer with its own RAM (CoreSight Components TRM, DDI 0314H, 9).

Its pointers count words.  It captures formatted or, with FFCR.EnFTC clear, the bytes of the one source as they come.
Nothing drives its trigger input, and it cannot ask the sources for synchronisation points.
"""

from __future__ import annotations

from typing import Callable, Dict

from gdb_etm.board.formatter import Formatter
from gdb_etm.board.identity import SoftwareLock, identification

_PART_ETB = 0x907

_RDP = 0x004
_STS = 0x00C
_RRD = 0x010
_RRP = 0x014
_RWP = 0x018
_TRG = 0x01C
_CTL = 0x020
_RWD = 0x024
_FFSR = 0x300
_FFCR = 0x304

_FULL = 1 << 0
_ACQUIRED = 1 << 2
_FORMATTER_EMPTY = 1 << 3
_STOPPED = 1 << 1
_ENABLE_FORMATTER = 1 << 0
_FLUSH_MANUALLY = 1 << 6
_STOP_ON_FLUSH = 1 << 12
_FFCR_MASK = 0x3773


class EmbeddedTraceBuffer:
    """An ETB.

    :param base: Address of its registers.
    :param size: Size of its RAM in bytes, a multiple of 16.
    :raises ValueError: the size is not one that an ETB can have.
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
        self._capturing = False
        # Whether the formatter has stopped, which it can do while capture is still on.
        self._stopped = True
        self._formatter = Formatter(self._store)
        self._raw = bytearray()
        self._full = False
        self._read = 0
        self._write = 0
        # A manual flush shows in one read of FFCR before it is over.
        self._flushing = False
        self.stuck_flush = 0
        """The flush of this number does not end; 0: none is so."""
        self._stuck = False
        self._plain: Dict[int, int] = {_TRG: 0, _FFCR: 0}
        self._identity = identification(_PART_ETB, devtype=0x21)

    def take(self, trace_id: int, data: bytes) -> None:
        """Capture trace; nothing happens unless capturing is on."""
        if self._stopped:
            return
        if self._plain[_FFCR] & _ENABLE_FORMATTER:
            self._formatter.write(trace_id, data)
            return
        self._raw += data
        whole = len(self._raw) & ~3
        self._store(bytes(self._raw[:whole]))
        del self._raw[:whole]

    def read32(self, offset: int) -> int:
        """Read a register; reading RRD moves RRP on."""
        if offset == _RRD:
            return self._take_word()
        if offset == _FFCR:
            value = self._plain[_FFCR] | (_FLUSH_MANUALLY if self._flushing else 0)
            self._flushing = self._stuck
            return value
        acquired = _ACQUIRED | _FORMATTER_EMPTY if self._stopped else 0
        live = {
            _RDP: len(self._ram) // 4,
            _STS: acquired | self._full * _FULL,
            _RRP: self._read // 4,
            _RWP: self._write // 4,
            _CTL: int(self._capturing),
            _FFSR: (_STOPPED if self._stopped else 0) | self._stuck,
            SoftwareLock.LSR: self._lock.status(),
        }
        if offset in live:
            return live[offset]
        return self._plain.get(offset, self._identity.get(offset, 0))

    def write32(self, offset: int, value: int) -> None:
        """Write a register; only the lock while it is locked, and the pointers only while capture is off (9.3)."""
        if offset == SoftwareLock.LAR:
            self._lock.write(value)
        elif self._lock.locked:
            return
        elif offset == _CTL:
            self._control(value & 1)
        elif offset == _FFCR:
            self._set_formatter(value)
        elif self._capturing:
            return
        elif offset == _TRG:
            self._plain[_TRG] = value & (len(self._ram) // 4 - 1)
        elif offset == _RRP:
            self._read = 4 * value % len(self._ram)
        elif offset == _RWP:
            self._write = 4 * value % len(self._ram)
        elif offset == _RWD:
            self._put(value.to_bytes(4, "little"))

    def _control(self, enable: int) -> None:
        if enable and not self._capturing:
            self._full = False
            self._formatter = Formatter(self._store)
            self._raw.clear()
            self._stopped = False
        elif not enable and not self._stopped:
            self._stuck = self._flushing = False
            self._stop()
        self._capturing = bool(enable)

    def _set_formatter(self, value: int) -> None:
        self._plain[_FFCR] = value & _FFCR_MASK & ~_FLUSH_MANUALLY
        if value & _FLUSH_MANUALLY and not self._stopped:
            self.flush()
            self._flushing = True
            self.stuck_flush -= 1
            self._stuck = self.stuck_flush == 0
            if value & _STOP_ON_FLUSH and not self._stuck:
                self._stop()

    def _stop(self) -> None:
        # The formatter fills its frame up; the raw stream ends in a one and zeros, to the next word.
        if self._plain[_FFCR] & _ENABLE_FORMATTER:
            self._formatter.stop()
        else:
            self._raw += b"\x01"
            self._store(bytes(self._raw) + bytes(-len(self._raw) % 4))
            self._raw.clear()
        self._stopped = True

    def _store(self, data: bytes) -> None:
        for start in range(0, len(data), 4):
            self._put(data[start : start + 4])

    def _put(self, word: bytes) -> None:
        self._ram[self._write : self._write + 4] = word
        self._write += 4
        if self._write == len(self._ram):
            self._write = 0
            self._full = True

    def _take_word(self) -> int:
        if self._lock.locked or self._capturing:
            return 0
        self.words_read += 1
        word = int.from_bytes(self._ram[self._read : self._read + 4], "little")
        self._read = (self._read + 4) % len(self._ram)
        return word
