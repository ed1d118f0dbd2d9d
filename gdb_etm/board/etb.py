"""The trace buffer of older chips: an Embedded Trace Buffer with its own RAM (CoreSight Components TRM, DDI 0314H, 9).

Its pointers count words.  It captures formatted or, with FFCR.EnFTC clear, the bytes of the one source as they come.
It cannot ask the sources for synchronisation points, and knows triggers by its input alone.
"""

from __future__ import annotations

from gdb_etm.board.identity import SoftwareLock, identification
from gdb_etm.board.trace_ram import FFCR, FFSR, TRG, TraceRam

_PART_ETB = 0x907

_RDP = 0x004
_STS = 0x00C
_RRD = 0x010
_RRP = 0x014
_RWP = 0x018
_CTL = 0x020
_RWD = 0x024

_FULL = 1 << 0
_TRIGGERED = 1 << 1
_ACQUIRED = 1 << 2
_FORMATTER_EMPTY = 1 << 3
_FFCR_MASK = 0x3773


class EtbDevice(TraceRam):
    """An ETB.

    :param base: Address of its registers.
    :param size: Size of its RAM in bytes, a multiple of 16.
    :raises ValueError: the size is not one that an ETB can have.
    """

    def __init__(self, base: int, size: int) -> None:
        super().__init__(base, size, _FFCR_MASK)
        self._enabled = False
        # Whether the formatter has stopped, which it can do while capture is still enabled.
        self._stopped = True
        self._identity = identification(_PART_ETB, devtype=0x21)

    @property
    def is_capturing(self) -> bool:
        """Whether trace is stored."""
        return not self._stopped

    def read32(self, offset: int) -> int:
        """Read a register; reading RRD moves RRP on."""
        if offset == _RRD:
            return 0 if self._lock.locked or self._enabled else self._next_word()
        if offset == FFCR:
            return self._read_control()
        acquired = _ACQUIRED | _FORMATTER_EMPTY if self._stopped else 0
        live = {
            _RDP: len(self._ram) // 4,
            _STS: acquired | self._full * _FULL | self._seen * _TRIGGERED,
            _RRP: self._read // 4,
            _RWP: self._write // 4,
            _CTL: int(self._enabled),
            FFSR: self._formatter_status(),
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
        elif offset == FFCR:
            self._set_control(value)
        elif self._enabled:
            return
        elif offset == TRG:
            self._plain[TRG] = value & (len(self._ram) // 4 - 1)
        elif offset == _RRP:
            self._read = 4 * value % len(self._ram)
        elif offset == _RWP:
            self._write = 4 * value % len(self._ram)
        elif offset == _RWD:
            self._put(value.to_bytes(4, "little"))

    def _control(self, enable: int) -> None:
        if enable and not self._enabled:
            self._clear()
            self._stopped = False
        elif not enable and not self._stopped:
            self._stuck = self._flushing = False
            self._stop()
        self._enabled = bool(enable)

    def _stop(self) -> None:
        self._fill_up()
        self._stopped = True
