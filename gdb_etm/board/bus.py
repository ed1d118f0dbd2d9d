"""The board's memory map: flash, RAM and pages of device registers.

The core reaches flash and RAM directly (Unicorn maps the same bytes); devices are reached by the core and by the
debugger's AHB-AP through :meth:`Bus.read` and :meth:`Bus.write`.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Protocol, Tuple, runtime_checkable

FLASH_BASE = 0x00000000
FLASH_SIZE = 0x00100000
RAM_BASE = 0x20000000
RAM_SIZE = 0x00080000
PAGE = 0x1000


class BusFault(Exception):
    """The bus answered an access with an error.

    :param address: The address of the access.
    """

    def __init__(self, address: int) -> None:
        super().__init__("bus fault at 0x%08x" % address)
        self.address = address


class BusDevice(Protocol):
    """Pages of 4 KiB of registers, accessed by aligned words."""

    base: int
    size: int

    def read32(self, offset: int) -> int:
        """Read the register at `offset`."""

    def write32(self, offset: int, value: int) -> None:
        """Write the register at `offset`."""


@runtime_checkable
class NarrowDevice(Protocol):
    """A device whose registers can be written in part.

    In any other one, the rest of the register becomes zero.
    """

    def write_part(self, offset: int, value: int, mask: int) -> None:
        """Write the bits of the register at `offset` that are in `mask`."""


class DeviceBus:
    """Devices at their addresses."""

    def __init__(self) -> None:
        self._pages: Dict[int, BusDevice] = {}

    def add_device(self, device: BusDevice) -> None:
        """Put a device's pages on the bus.

        :raises ValueError: its pages are not aligned or not free.
        """
        if device.base % PAGE or device.size % PAGE or device.size <= 0:
            raise ValueError("device at 0x%08x does not fill whole 4 KiB pages" % device.base)
        for page in range(device.base // PAGE, (device.base + device.size) // PAGE):
            if page in self._pages:
                raise ValueError("two devices at 0x%08x" % (page * PAGE))
            self._pages[page] = device

    def devices(self) -> List[BusDevice]:
        """Return every device once, in address order."""
        found: Dict[int, BusDevice] = {device.base: device for device in self._pages.values()}
        return [found[base] for base in sorted(found)]

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes.

        :raises BusFault: nothing is at the address.
        """
        device = self._device(address, size)
        shift = 8 * (address & 3)
        word = device.read32((address & ~3) - device.base)
        return (word >> shift) & ((1 << (8 * size)) - 1)

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes.

        :raises BusFault: nothing is at the address.
        """
        device = self._device(address, size)
        offset = (address & ~3) - device.base
        shift = 8 * (address & 3)
        mask = ((1 << (8 * size)) - 1) << shift
        if size != 4 and isinstance(device, NarrowDevice):
            device.write_part(offset, value << shift & mask, mask)
        else:
            device.write32(offset, value << shift & mask)

    def _device(self, address: int, size: int) -> BusDevice:
        """Return the device at an address.

        :raises BusFault: none is there, or the access crosses a word.
        """
        device = self._pages.get(address // PAGE)
        if device is None or (address & 3) + size > 4:
            raise BusFault(address)
        return device


class Bus(DeviceBus):
    """Flash, RAM and devices at their addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.flash = bytearray(b"\xff" * FLASH_SIZE)
        self.ram = bytearray(RAM_SIZE)

    def memory(self, address: int, length: int) -> Optional[Tuple[bytearray, int]]:
        """Return the memory that holds a whole range, and the offset there."""
        if FLASH_BASE <= address and address + length <= FLASH_BASE + FLASH_SIZE:
            return self.flash, address - FLASH_BASE
        if RAM_BASE <= address and address + length <= RAM_BASE + RAM_SIZE:
            return self.ram, address - RAM_BASE
        return None

    def code(self, address: int, size: int = 4) -> bytes:
        """Read code.

        Up to the end of the memory, or zeros where there is none.
        """
        for base, memory in ((FLASH_BASE, self.flash), (RAM_BASE, self.ram)):
            if base <= address < base + len(memory):
                return bytes(memory[address - base : address - base + size])
        return bytes(size)

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes.

        :raises BusFault: nothing is at the address.
        """
        found = self.memory(address, size)
        if found is None:
            return super().read(address, size)
        memory, offset = found
        return int.from_bytes(memory[offset : offset + size], "little")

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes.

        :raises BusFault: nothing is at the address.
        """
        found = self.memory(address, size)
        if found is None:
            super().write(address, size, value)
            return
        memory, offset = found
        memory[offset : offset + size] = value.to_bytes(size, "little")
