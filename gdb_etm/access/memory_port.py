"""Access port through a debugger's reads and writes of memory.

Nothing is pipelined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import List


class MemoryPort(ABC):
    """An :class:`~gdb_etm.access.port.AccessPort` made of reads and writes of memory.

    :param name: Short description for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Short description, such as ``"the server at localhost:3333"``."""
        return self._name

    def read32(self, address: int) -> int:
        """Read one word."""
        return self.read_block(address, 1)[0]

    @abstractmethod
    def write32(self, address: int, value: int) -> None:
        """Write one word."""

    @abstractmethod
    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times, one packet each."""
        return [self.read32(address) for _ in range(words)]
