"""The target's registers through GDB's own connection, whatever server is at its other end."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import Iterator, List

import gdb

from gdb_etm.errors import AccessError


class GdbMemoryPort:
    """An :class:`~gdb_etm.access.port.AccessPort` made of GDB's memory reads and writes.

    :param inferior: The program whose target is read.
    :param name: The connection, for messages.
    """

    def __init__(self, inferior: gdb.Inferior, name: str) -> None:
        self._inferior = inferior
        self._name = name

    @property
    def name(self) -> str:
        """Short description, such as ``"GDB's connection localhost:3333"``."""
        return self._name

    def read32(self, address: int) -> int:
        """Read one word."""
        return self.read_block(address, 1)[0]

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

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times, one packet to the server each."""
        return [self.read32(address) for _ in range(words)]


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
