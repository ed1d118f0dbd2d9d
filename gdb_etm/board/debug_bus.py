"""The debug components' own bus, behind an access port of its own."""

from __future__ import annotations

from gdb_etm.board.bus import PAGE, BusDevice, BusFault, DeviceBus
from gdb_etm.board.identity import ComponentDevice, SoftwareLock
from gdb_etm.board.system import AnySystem


class DebugBus:
    """The debug components' own bus, which only the debugger reaches, by words.

    :param system: Whose turn it takes.
    """

    def __init__(self, system: AnySystem) -> None:
        self._system = system
        self._bus = DeviceBus()

    def add_device(self, device: BusDevice) -> None:
        """Put a component on the bus."""
        self._bus.add_device(device)

    def read(self, address: int, size: int) -> int:
        """Read a register.

        :raises BusFault: nothing is at the address.
        """
        _check(address, size)
        with self._system.turn():
            return self._bus.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write a register.

        :raises BusFault: nothing is at the address.
        """
        _check(address, size)
        with self._system.turn():
            self._bus.write(address, size, value)
        self._system.wake()


class WindowPage:
    """A component as software sees it, in memory.

    What a debugger reaches without a software lock has one there (PADDRDBG31 is 0; DDI 0406C, C6.6.1).

    :param device: The component.
    :param base: Where software has it.
    """

    size = PAGE

    def __init__(self, device: BusDevice, base: int) -> None:
        self.base = base
        self._device = device
        self._lock = SoftwareLock() if isinstance(device, ComponentDevice) and not device.has_lock else None

    def read32(self, offset: int) -> int:
        """Read a register."""
        if self._lock is not None and offset == SoftwareLock.LSR:
            return self._lock.status()
        return self._device.read32(offset)

    def write32(self, offset: int, value: int) -> None:
        """Write a register, unless a lock keeps it."""
        if self._lock is not None and offset == SoftwareLock.LAR:
            self._lock.write(value)
        elif self._lock is None or not self._lock.locked:
            self._device.write32(offset, value)


def _check(address: int, size: int) -> None:
    if size != 4:
        raise BusFault(address)
