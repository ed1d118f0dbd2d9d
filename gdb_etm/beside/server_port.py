"""A target's registers through the memory packets of its GDB server, whatever server that is."""

from __future__ import annotations

import struct
from typing import List

from gdb_etm.access.memory_port import MemoryPort
from gdb_etm.errors import AccessError
from gdb_etm.replay.halted import Server, read_memory

_MOST_WORDS = 256


class ServerPort(MemoryPort):
    """An :class:`~gdb_etm.access.port.AccessPort` made of ``m`` and ``M`` packets.

    :param server: The server of a halted target.
    :param name: Short description for messages.
    """

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(name)
        self._server = server

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        reply = self._server.ask(b"M%x,4:%s" % (address, struct.pack("<I", value).hex().encode("ascii")))
        if reply != b"OK":
            raise AccessError("write of 0x%08x failed: %s" % (address, reply.decode("latin-1") or "refused"), address)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        result: List[int] = []
        while len(result) < words:
            count = min(_MOST_WORDS, words - len(result))
            at = address + 4 * len(result)
            data = read_memory(self._server, at, 4 * count)
            if data is None:
                raise AccessError("read of 0x%08x failed" % at, at)
            result += struct.unpack("<%dI" % count, data)
        return result
