"""A Cortex-A9 MPCore's interrupt controller and private timer.

They are its private memory region (DDI 0407, chapters 3 and 4).

Of the interrupts there are the software-generated ones and the private ones; all have the same priority, and none is
taken while another is active.
"""

from __future__ import annotations

from typing import Optional

from gdb_etm.board.clock import InstructionClock

_ICCICR, _ICCIAR, _ICCEOIR = 0x100, 0x10C, 0x110
_LOAD, _COUNTER, _CONTROL, _STATUS = 0x600, 0x604, 0x608, 0x60C
_ICDDCR, _ICDISER, _ICDICER, _ICDISPR, _ICDICPR, _ICDSGIR = 0x1000, 0x1100, 0x1180, 0x1200, 0x1280, 0x1F00

_TIMER_INTERRUPT = 29
_SPURIOUS = 1023
_SOFTWARE = 0xFFFF
_ENABLE, _AUTO_RELOAD, _INTERRUPT = 1, 2, 4


class PrivateRegion:
    """The registers, and the timer as the clock sees it.

    :param base: Their address (PERIPHBASE).
    :param clock: Virtual time: one tick an instruction.
    """

    size = 0x2000

    def __init__(self, base: int, clock: InstructionClock) -> None:
        self.base = base
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Take a system reset."""
        self._interface = self._distributor = 0
        self._enabled, self._pending = _SOFTWARE, 0
        self._active: Optional[int] = None
        self._load = self._control = self._status = 0
        # When the timer gets to zero; None while it stands.
        self._zero_at: Optional[int] = None

    def interrupted(self) -> bool:
        """Tell whether the core is asked to take an interrupt."""
        is_on = self._interface & self._distributor & 1
        return bool(is_on and self._active is None and self._pending & self._enabled)

    def due(self) -> Optional[int]:
        """Return the time of the timer's next event."""
        return self._zero_at

    def fire(self) -> None:
        """Let the timer get to zero."""
        if self._zero_at is None:
            return
        self._status = 1
        if self._control & _INTERRUPT:
            self._pending |= 1 << _TIMER_INTERRUPT
        self._zero_at = self._zero_at + self._period if self._control & _AUTO_RELOAD else None

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _ICCIAR:
            return self._acknowledge()
        if offset == _COUNTER:
            return 0 if self._zero_at is None else max(0, self._zero_at - self._clock.now()) // self._prescale
        values = {
            _ICCICR: self._interface,
            _LOAD: self._load,
            _CONTROL: self._control,
            _STATUS: self._status,
            _ICDDCR: self._distributor,
            _ICDISER: self._enabled,
            _ICDICER: self._enabled,
            _ICDISPR: self._pending,
            _ICDICPR: self._pending,
        }
        return values.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        if offset == _ICCICR:
            self._interface = value & 1
        elif offset == _ICCEOIR:
            self._active = None
        elif offset == _ICDDCR:
            self._distributor = value & 1
        elif offset == _ICDISER:
            self._enabled |= value
        elif offset == _ICDICER:
            self._enabled &= ~value | _SOFTWARE
        elif offset == _ICDICPR:
            self._pending &= ~value
        elif offset == _ICDSGIR:
            # There is one core, which any filter but an empty list means.
            self._pending |= 1 << (value & 0xF)
        else:
            self._write_timer(offset, value)

    @property
    def _prescale(self) -> int:
        return (self._control >> 8 & 0xFF) + 1

    @property
    def _period(self) -> int:
        return (self._load + 1) * self._prescale

    def _write_timer(self, offset: int, value: int) -> None:
        if offset == _LOAD:
            self._load = value
        elif offset == _CONTROL:
            self._control = value & 0xFF07
        elif offset == _STATUS:
            self._status &= ~value
            return
        else:
            return
        self._zero_at = self._clock.now() + self._period if self._control & _ENABLE else None

    def _acknowledge(self) -> int:
        found = self._pending & self._enabled
        if not found or self._active is not None:
            return _SPURIOUS
        self._active = (found & -found).bit_length() - 1
        self._pending &= ~(1 << self._active)
        return self._active
