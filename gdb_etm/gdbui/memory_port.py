"""The target's registers through GDB's own connection, whatever server is at its other end."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import Iterator, List

import gdb

from gdb_etm.access.memory_port import MemoryPort
from gdb_etm.errors import AccessError


class GdbMemoryPort(MemoryPort):
    """An :class:`~gdb_etm.access.port.AccessPort` made of GDB's memory reads and writes.

    :param inferior: The program whose target is read.
    :param name: The connection, for messages.
    """

    def __init__(self, inferior: gdb.Inferior, name: str) -> None:
        super().__init__(name)
        self._inferior = inferior

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        try:
            with _whole_memory():
                self._inferior.write_memory(address, struct.pack("<I", value))
        except gdb.error as error:
            raise AccessError("write of 0x%08x failed: %s" % (address, error), address)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        try:
            with _whole_memory():
                data = self._inferior.read_memory(address, 4 * words)
        except gdb.error as error:
            raise AccessError("read of 0x%08x failed: %s" % (address, error), address)
        return list(struct.unpack("<%dI" % words, bytes(data)))


@contextmanager
def _whole_memory() -> Iterator[None]:
    # A server's memory map often lists flash and RAM only; by default GDB then refuses the debug registers.
    if not gdb.parameter("mem inaccessible-by-default"):
        yield
        return
    gdb.execute("set mem inaccessible-by-default off")
    try:
        yield
    finally:
        gdb.execute("set mem inaccessible-by-default on")
