"""SysTick, counting executed instructions (DDI 0553, B14)."""

from __future__ import annotations

from typing import Callable, Optional

from gdb_etm.board.clock import InstructionClock

_ENABLE = 1 << 0
_TICKINT = 1 << 1
_COUNTFLAG = 1 << 16
_MAXIMUM = 0xFFFFFF


class SysTick:
    """The system timer.

    :param clock: The time it counts in; CLKSOURCE is accepted and makes no difference.
    :param interrupt: Makes SysTick pending.
    """

    def __init__(self, clock: InstructionClock, interrupt: Callable[[], None]) -> None:
        self._clock = clock
        self._interrupt = interrupt
        self.reset()

    def reset(self) -> None:
        """Stop, with all registers zero."""
        self._control = 0
        self._reload = 0
        self._held = 0
        self._zero_at: Optional[int] = None

    def read(self, offset: int) -> int:
        """Read CSR (0x0), RVR (0x4), CVR (0x8) or CALIB (0xC)."""
        if offset == 0:
            value = self._control
            self._control &= ~_COUNTFLAG
            return value
        if offset == 4:
            return self._reload
        if offset == 8:
            return self._current()
        return 1 << 31  # CALIB.NOREF: there is no other clock.

    def write(self, offset: int, value: int) -> None:
        """Write CSR, RVR or CVR."""
        if offset == 0:
            self._held = self._current()
            self._control = (self._control & _COUNTFLAG) | (value & 7)
            self._start()
        elif offset == 4:
            self._reload = value & _MAXIMUM
        elif offset == 8:
            self._held = 0
            self._control &= ~_COUNTFLAG
            self._start()

    def _current(self) -> int:
        if self._zero_at is None:
            return self._held
        return max(0, self._zero_at - self._clock.now())

    def _start(self) -> None:
        """Count down from the current value.

        From 0 the next tick loads the reload value.
        """
        self._zero_at = None
        if self._control & _ENABLE:
            if self._held:
                self._zero_at = self._clock.now() + self._held
            elif self._reload:
                self._zero_at = self._clock.now() + self._reload + 1

    def due(self) -> Optional[int]:
        """Return the time at which the counter reaches zero."""
        return self._zero_at

    def fire(self) -> None:
        """Reach zero, and begin again."""
        assert self._zero_at is not None
        self._control |= _COUNTFLAG
        if self._control & _TICKINT:
            self._interrupt()
        self._held = 0
        self._zero_at = self._zero_at + self._reload + 1 if self._reload else None
