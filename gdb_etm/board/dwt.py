"""The Data Watchpoint and Trace unit: a counter, no comparators (DDI 0553, B14)."""

from __future__ import annotations

from typing import Callable, Mapping

from gdb_etm.board.clock import Clock

_CTRL = 0x000
_CYCCNT = 0x004
_CYCCNTENA = 1 << 0
# NUMCOMP 0; no trace packets, external triggers and profiling counters.
_ABSENT = 1 << 27 | 1 << 26 | 1 << 24


class Dwt:
    """The DWT with CYCCNT, which counts executed instructions.

    :param clock: What it counts.
    :param enabled: Tells DEMCR.TRCENA.
    :param identity: Its identification registers by offset.
    """

    base = 0xE0001000
    size = 0x1000

    def __init__(self, clock: Clock, enabled: Callable[[], bool], identity: Mapping[int, int]) -> None:
        self._clock = clock
        self._enabled = enabled
        self._counting = False
        self._offset = 0
        self._identity = identity

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _CTRL:
            return _ABSENT | self._counting
        if offset == _CYCCNT:
            return self._count()
        return self._identity.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; nothing happens while DEMCR.TRCENA is clear."""
        if not self._enabled():
            return
        if offset == _CTRL:
            count = self._count()
            self._counting = bool(value & _CYCCNTENA)
            self._set(count)
        elif offset == _CYCCNT:
            self._set(value)

    def _count(self) -> int:
        return (self._clock.now() - self._offset if self._counting else self._offset) & 0xFFFFFFFF

    def _set(self, count: int) -> None:
        """Store the count: itself while it stands still, else what is missing to it from the time."""
        self._offset = self._clock.now() - count if self._counting else count
