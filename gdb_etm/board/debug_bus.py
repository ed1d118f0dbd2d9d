"""The debug components' own bus, behind an access port of its own."""

from __future__ import annotations

from gdb_etm.board.bus import BusDevice, BusFault, DeviceBus
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


def _check(address: int, size: int) -> None:
    if size != 4:
        raise BusFault(address)
