"""The Embedded Trace Buffer of older chips (DDI 0314H, 9).

Its pointers count words.  It captures formatted or, with FFCR.EnFTC clear, the bytes of the one source as they come.
It cannot ask the sources for synchronisation points, and knows triggers by its input alone.
"""

from __future__ import annotations

from typing import Dict

from gdb_etm.board.identity import identification
from gdb_etm.board.trace_ram import TraceRam

_PART_ETB = 0x907

_STS = 0x00C

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
        super().__init__(base, size, identification(_PART_ETB, devtype=0x21), _FFCR_MASK, pointer_unit=4)
        self._enabled = False
        # Whether the formatter has stopped, which it can do while capture is still enabled.
        self._stopped = True

    @property
    def is_capturing(self) -> bool:
        """Whether trace is stored."""
        return not self._stopped

    @property
    def is_enabled(self) -> bool:
        """Whether capture is enabled, though it may have stopped."""
        return self._enabled

    def _status(self) -> Dict[int, int]:
        acquired = _ACQUIRED | _FORMATTER_EMPTY if self._stopped else 0
        return {_STS: acquired | self._full * _FULL | self._seen * _TRIGGERED}

    def _take_word(self) -> int:
        return 0 if self._lock.locked or self._enabled else self._next_word()

    def _enable(self, enable: int) -> None:
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
