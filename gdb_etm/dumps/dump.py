"""A dump as a value, and the bounded reading of its bytes."""

from __future__ import annotations

import struct
from typing import List, Mapping, NamedTuple, NoReturn, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.errors import ImageError, plain

# The largest file, and the most memory, that is read.
MOST_BYTES = 1 << 28
# Pieces of memory: of dumps of some hundred threads.
MOST_PIECES = 1 << 12
_SPACE = 1 << 32


class Dump(NamedTuple):
    """Memory and registers of a core, as a file has them."""

    # What it is, for people, such as ``"an ELF core file"``.
    kind: str
    images: Tuple[MemoryImage, ...]
    # Of the core, lower-case names; those that it had before the fault, where the format has these.
    registers: Mapping[str, int]
    # What to know of it, one line each.
    notes: Tuple[str, ...] = ()


class Bytes:
    """The bytes of a dump, read from front to back.

    :param path: The file, for messages.
    :param data: Its content.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data
        self._at = 0
        self._pieces: List[MemoryImage] = []

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def peek(self, size: int) -> bytes:
        """Give what comes next, or less."""
        return self._data[self._at : self._at + size]

    def take(self, size: int, what: str) -> bytes:
        """Read bytes.

        :param what: What they are, for messages.
        :raises ImageError: So many are not there.
        """
        if size > self.left:
            words = "is cut short: %s at byte 0x%x: %d bytes, of which %d are left"
            self.refuse(words % (plain(what), self._at, size, self.left))
        self._at += size
        return self._data[self._at - size : self._at]

    def words(self, count: int, what: str) -> Tuple[int, ...]:
        """Read little-endian words of 32 bits."""
        return struct.unpack("<%dI" % count, self.take(4 * count, what))

    def unpack(self, layout: str, what: str) -> Tuple[int, ...]:
        """Read little-endian fields as :mod:`struct` lays them out."""
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout), what))

    def memory(self, start: int, end: int) -> None:
        """Read the bytes of a piece of memory, whose addresses came before."""
        if not start <= end <= _SPACE:
            self.refuse("at byte 0x%x memory ends at 0x%x, before its start 0x%x" % (self._at, end, start))
        if len(self._pieces) == MOST_PIECES:
            self.refuse("at byte 0x%x are more than %d pieces of memory" % (self._at, MOST_PIECES))
        data = self.take(end - start, "the memory from 0x%08x to 0x%08x" % (start, end))
        self._pieces.append(MemoryImage(start, data, self._path))

    @property
    def pieces(self) -> Tuple[MemoryImage, ...]:
        """The memory so far."""
        return tuple(self._pieces)

    def refuse(self, words: str) -> NoReturn:
        """Raise the error that names the file."""
        raise ImageError("%s %s" % (self._path, words))
