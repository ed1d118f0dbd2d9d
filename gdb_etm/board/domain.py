"""Obstacles before trace hardware: clock gate, power domain, OS Lock, authentication.

A trace unit's registers are in two halves (IHI 0064, 7.1 and table 7-4): those that need its power and its OS Lock
open, and management registers, which answer in any case.  On a board they all answer unless a fault asks for more.
"""

from __future__ import annotations

from typing import Callable, Protocol

from gdb_etm.board.bus import BusDevice, BusFault
from gdb_etm.board.faults import Faults

_OSLAR, _OSLSR, _PDCR, _PDSR = 0x300, 0x304, 0x310, 0x314
_FIRST_MANAGEMENT, _AUTHSTATUS = 0xFA8, 0xFB8
_PU, _POWER, _STICKY = 1 << 3, 1, 1 << 1
# {OSLM} or {Model} of a unit that has the lock, and the lock.
_OS_LOCK, _OS_LOCKED = 1 << 3, 1 << 1
_OS_LOCK_KEY = 0xC5ACCE55
# The lower bits of SNID and NSNID: enabled, and not only implemented.
_ENABLED = 0x44


class Powered(Protocol):
    """A trace unit that can lose its power."""

    base: int
    size: int

    def read32(self, offset: int) -> int:
        """Read the register at `offset`."""

    def write32(self, offset: int, value: int) -> None:
        """Write the register at `offset`."""

    power_lost: Callable[[], None]

    def lose_power(self) -> None:
        """Stop, and forget what was programmed."""


class UnitDomain:
    """A trace unit as its chip lets a debugger see it.

    :param unit: The unit.
    :param faults: Whether it has a power domain of its own, an OS Lock, and leave to trace.
    :param takes_key: Whether the OS Lock is locked by a key, as an ETMv3's and a PTM's, and not by a 1.
    """

    def __init__(self, unit: Powered, faults: Faults, takes_key: bool) -> None:
        self.base, self.size = unit.base, unit.size
        self._unit = unit
        self._faults = faults
        self._takes_key = takes_key
        self._requested = not faults.power_domain
        self._lost = faults.power_domain
        self._locked = faults.os_lock
        unit.power_lost = self._note_loss

    def read32(self, offset: int) -> int:
        """Read a register.

        :raises BusFault: it needs power, or the OS Lock open.
        """
        if offset == _PDCR and self._faults.power_domain:
            return _PU * self._requested
        if offset == _PDSR and self._faults.power_domain:
            return self._power()
        self._check(offset)
        if offset == _OSLSR and self._faults.os_lock:
            return _OS_LOCK | _OS_LOCKED * self._locked
        value = self._unit.read32(offset)
        return value & ~_ENABLED if offset == _AUTHSTATUS and self._faults.no_authentication else value

    def write32(self, offset: int, value: int) -> None:
        """Write a register.

        :raises BusFault: it needs power, or the OS Lock open.
        """
        if offset == _PDCR and self._faults.power_domain:
            self._request(bool(value & _PU))
            return
        self._check(offset)
        if offset == _OSLAR and self._faults.os_lock:
            self._locked = value == _OS_LOCK_KEY if self._takes_key else bool(value & 1)
            return
        self._unit.write32(offset, value)

    def _check(self, offset: int) -> None:
        is_trace = offset < _FIRST_MANAGEMENT and offset not in (_PDCR, _PDSR)
        locked = self._locked and offset not in (_OSLAR, _OSLSR)
        if is_trace and (locked or not self._requested):
            raise BusFault(self.base + offset)

    def _power(self) -> int:
        value = _POWER * self._requested | _STICKY * self._lost
        # Reading clears the sticky bit, while there is power.
        self._lost = self._lost and not self._requested
        return value

    def _request(self, on: bool) -> None:
        if self._requested and not on:
            self._unit.lose_power()
        self._requested = on

    def _note_loss(self) -> None:
        # The OS Lock is locked by the reset that follows (IHI 0064, 3.5.4).
        self._lost = True
        self._locked = self._faults.os_lock


class TraceClock:
    """A chip's clock gate of the trace hardware, off at power-up."""

    base = 0xE0044000
    size = 0x1000
    CONTROL = 0x004
    ENABLE = 1 << 5

    def __init__(self) -> None:
        self._value = 0

    @property
    def runs(self) -> bool:
        """Whether the clock is on."""
        return bool(self._value & self.ENABLE)

    def read32(self, offset: int) -> int:
        """Read a register."""
        return self._value if offset == self.CONTROL else 0

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        if offset == self.CONTROL:
            self._value = value & 0xFF


class Chatter:
    """Another trace source, an ITM by its control register.

    :param rate: Bytes for each byte of the trace unit's; 0 for none.
    """

    base = 0xE0000000
    size = 0x1000
    TRACE_ID = 0x01
    _TCR, _ITMENA = 0xE80, 1

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._control = self.TRACE_ID << 16 | self._ITMENA

    def said(self, count: int) -> bytes:
        """Return what it sends while the trace unit sends so many bytes."""
        return bytes(count * self._rate) if self._control & self._ITMENA else b""

    def read32(self, offset: int) -> int:
        """Read a register."""
        return self._control if offset == self._TCR else 0

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        if offset == self._TCR:
            self._control = value


class Running(Protocol):
    """A clock, or another thing that components need."""

    @property
    def runs(self) -> bool:
        """Whether it is on."""


class Clocked:
    """A component that answers only while its clock runs.

    :param device: The component.
    :param clock: Its clock.
    """

    def __init__(self, device: BusDevice, clock: Running) -> None:
        self.base, self.size = device.base, device.size
        self._device = device
        self._clock = clock

    def read32(self, offset: int) -> int:
        """Read a register.

        :raises BusFault: the clock is off.
        """
        self._check(offset)
        return self._device.read32(offset)

    def write32(self, offset: int, value: int) -> None:
        """Write a register.

        :raises BusFault: the clock is off.
        """
        self._check(offset)
        self._device.write32(offset, value)

    def _check(self, offset: int) -> None:
        if not self._clock.runs:
            raise BusFault(self.base + offset)
