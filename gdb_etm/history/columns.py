"""Columns of numbers and lists of strings as bytes, and back.

They go to another process on this machine.  On the way back all sizes are checked.

Numbers are in this machine's byte order and sizes; :data:`_MAGIC` shows when the other side's are different.
"""

from __future__ import annotations

from array import array
from typing import Iterable, List, Optional

_MAGIC = 0x6764625F65746D01


class ColumnError(ValueError):
    """Malformed bytes, or bytes with impossible numbers."""


class Writer:
    """Collects columns and strings."""

    def __init__(self) -> None:
        self._parts: List[bytes] = [array("Q", (_MAGIC,)).tobytes()]

    def written(self) -> bytes:
        """Give everything written so far."""
        return b"".join(self._parts)

    def blob(self, data: bytes) -> None:
        """Write bytes."""
        self._parts += [array("Q", (len(data),)).tobytes(), data]

    def column(self, typecode: str, values: Iterable[int]) -> None:
        """Write numbers.

        :param typecode: As of :class:`array.array`.
        :raises OverflowError: A number does not fit.
        """
        made = values if isinstance(values, array) and values.typecode == typecode else array(typecode, values)
        self.blob(made.tobytes())

    def texts(self, texts: Iterable[str]) -> None:
        """Write strings."""
        encoded = [text.encode() for text in texts]
        self.column("Q", [len(one) for one in encoded])
        self.blob(b"".join(encoded))


class ColumnReader:
    """Takes columns and strings in the order in which they were written.

    :param data: What a :class:`Writer` made.
    :raises ColumnError: It is something else; so do the methods.
    """

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0
        if self._number() != _MAGIC:
            raise ColumnError("not a recording of this program on this machine")

    def blob(self) -> bytes:
        """Read bytes."""
        return bytes(self._take(self._number()))

    def column(self, typecode: str, below: Optional[int] = None) -> array[int]:
        """Read numbers.

        :param below: What all of them are less than; None for any.
        """
        column = array(typecode)
        data = self._take(self._number())
        if len(data) % column.itemsize:
            raise ColumnError("a column is cut")
        column.frombytes(data)
        if below is not None and column and max(column) >= below:
            raise ColumnError("a number is out of range")
        return column

    def columns(self, typecodes: str) -> List[array[int]]:
        """Read columns of equal length."""
        found = [self.column(typecode) for typecode in typecodes]
        if len({len(column) for column in found}) > 1:
            raise ColumnError("columns differ in length")
        return found

    def texts(self) -> List[str]:
        """Read strings."""
        sizes = self.column("Q")
        data = self.blob()
        if sum(sizes) != len(data):
            raise ColumnError("strings are cut")
        found, at = [], 0
        for size in sizes:
            found.append(data[at : at + size].decode("utf-8", "replace"))
            at += size
        return found

    def end(self) -> None:
        """Check that nothing is left."""
        if self._at != len(self._data):
            raise ColumnError("bytes are left over")

    def _number(self) -> int:
        number = array("Q")
        number.frombytes(self._take(number.itemsize))
        return number[0]

    def _take(self, size: int) -> memoryview:
        if size > len(self._data) - self._at:
            raise ColumnError("the recording is cut")
        self._at += size
        return self._data[self._at - size : self._at]
