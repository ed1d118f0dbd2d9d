"""The whole board as one object: bus, devices, core and the thread that runs it."""

from __future__ import annotations

import threading
from typing import Optional, Protocol, Sequence

from gdb_etm.board.bus import Bus, Device
from gdb_etm.board.options import BoardOptions


class ExecutionListener(Protocol):
    """What a trace unit hears from the core, in execution order.

    The machine's lock is held during each call.
    """

    def executed(self, addresses: Sequence[int]) -> None:
        """Take completed instructions in order, those of an IT block whose condition failed included."""

    def exception(self, number: int, return_address: int) -> None:
        """Take an exception entry.

        :param number: The architectural exception number (IPSR).
        :param return_address: The preferred return address; 0xFFFFFFFE when nothing ran since the exception return before it.
        """

    def exception_return(self) -> None:
        """Take an exception return; the instruction that loaded EXC_RETURN was the last one executed."""

    def debug_entry(self, pc: int) -> None:
        """Take a halt: `pc` is the next instruction to execute."""

    def debug_exit(self, pc: int) -> None:
        """Take the end of a halt: `pc` is the next instruction to execute."""


class Machine:
    """The simulated board `m33`.

    :param options: What the user chose.
    """

    def __init__(self, options: BoardOptions) -> None:
        self.options = options
        self.bus = Bus()
        self.trace: Optional[ExecutionListener] = None
        self._lock = threading.RLock()

    def add_device(self, device: Device) -> None:
        """Put a device on the bus; before :meth:`start`."""
        self.bus.add_device(device)

    def read(self, address: int, size: int) -> int:
        """Read 1, 2 or 4 bytes as the debugger does through the AHB-AP.

        :raises BusFault: nothing is at the address.
        """
        with self._lock:
            return self.bus.read(address, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes as the debugger does through the AHB-AP.

        :raises BusFault: nothing is at the address.
        """
        with self._lock:
            self.bus.write(address, size, value)

    def read_block(self, address: int, length: int) -> bytes:
        """Read bytes of flash or RAM at once, or of device registers word by word.

        :raises BusFault: part of the range is not there.
        """
        with self._lock:
            place = self.bus.memory(address, length)
            if place is not None:
                memory, offset = place
                return bytes(memory[offset : offset + length])
            return bytes(self.bus.read(address + index, 1) for index in range(length))
