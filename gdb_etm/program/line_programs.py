"""Line number programs of debug information, row by row.

Nothing of a program is kept but what is asked for, so that memory does not grow with what a file says of itself.

Ref: DWARF Debugging Information Format, version 5, 6.2 (line tables), 7.22 (codes).
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.program.expressions import ByteOrder, leb

_IN_64_BITS = 0xFFFFFFFF
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _NEGATE_STMT = range(1, 7)
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
# Extended ones.
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE, _SET_DISCRIMINATOR = range(1, 5)
# What is stated of a file (7.22: DW_LNCT), and forms of it (7.5.6).
_PATH, _DIRECTORY = 1, 2
_STRING, _STRP, _LINE_STRP, _BLOCK, _UDATA = 0x08, 0x0E, 0x1F, 0x09, 0x0F
_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
# What a row, or a file, is counted as, in bytes that are read.
_COST = 16


class LineFile(NamedTuple):
    """A file of a line table."""

    name: bytes
    # The index of its folder.
    directory: int


class LineRow(NamedTuple):
    """A row of a line table."""

    address: int
    # An index of :attr:`LineProgram.files`.
    file: int
    line: int
    is_statement: bool
    discriminator: int
    # Whether it is the address behind a sequence.
    ends: bool


class LineSections(NamedTuple):
    """What line number programs are made of."""

    # .debug_line.
    data: bytes
    order: ByteOrder
    # Of an address.
    address_size: int
    # Strings in .debug_str and .debug_line_str, by offset.
    string: Callable[[int], Optional[bytes]]
    line_string: Callable[[int], Optional[bytes]]
    # Is given how many bytes were read, or as much work.
    add: Callable[[int], None]


class LineProgram:
    """A line number program.

    :param sections: What it is in.
    :param offset: Where it begins in .debug_line.
    :raises ValueError: It does not begin so, or its files have no content.
    """

    def __init__(self, sections: LineSections, offset: int) -> None:
        self._sections = sections
        reader = _Reader(sections, offset)
        length = reader.number(4)
        self._offset_size = 8 if length == _IN_64_BITS else 4
        length = reader.number(8) if length == _IN_64_BITS else length
        if reader.at + length > len(sections.data):
            raise ValueError("a line table ends behind the section")
        # Where it ends.
        self.end = reader.at + length
        self.version = reader.number(2)
        if not 2 <= self.version <= 5:
            raise ValueError("a line table of version %d" % self.version)
        if self.version >= 5:
            self._address_size = reader.number(1)
            reader.number(1)
        else:
            self._address_size = sections.address_size
        header_length = reader.number(self._offset_size)
        # Where its instructions begin.
        self.start = min(reader.at + header_length, self.end)
        self._smallest = reader.number(1)
        self._operations = reader.number(1) or 1 if self.version >= 4 else 1
        self._is_statement = bool(reader.number(1))
        self._line_base = int.from_bytes(reader.take(1), sections.order, signed=True)
        self._line_range = reader.number(1)
        self._opcode_base = reader.number(1)
        self._lengths = reader.take(max(0, self._opcode_base - 1))
        self.directories: List[bytes] = []
        # Before version 5 they count from 1.
        self.files: List[LineFile] = []
        if self.version >= 5:
            self.directories = [one.name for one in self._entries(reader)]
            self.files = list(self._entries(reader))
        else:
            self.directories = list(iter(reader.text, b""))
            self.files = list(self._old_files(reader))

    @property
    def instructions(self) -> bytes:
        """Its instructions."""
        return self._sections.data[self.start : self.end]

    def _entries(self, reader: _Reader) -> Iterator[LineFile]:
        # Folders or files: what is stated of each, and in which form; how many there are; and each.
        stated = [(reader.unsigned(), reader.unsigned()) for _ in range(reader.number(1))]
        count = reader.unsigned()
        if count and not stated:
            raise ValueError("files of a line table without names")
        for _ in range(count):
            self._sections.add(_COST)
            name, directory = b"", 0
            for what, form in stated:
                value = self._value(reader, form)
                if what == _PATH and isinstance(value, bytes):
                    name = value
                elif what == _DIRECTORY and isinstance(value, int):
                    directory = value
            yield LineFile(name, directory)

    def _value(self, reader: _Reader, form: int) -> Any:
        if form == _STRING:
            return reader.text()
        if form in (_STRP, _LINE_STRP):
            offset = reader.number(self._offset_size)
            found = self._sections.string(offset) if form == _STRP else self._sections.line_string(offset)
            return found or b""
        if form == _UDATA:
            return reader.unsigned()
        if form == _BLOCK:
            return reader.take(reader.unsigned()) and None
        if form not in _SIZES:
            raise ValueError("form 0x%x in a line table" % form)
        return reader.number(_SIZES[form])

    def _old_files(self, reader: _Reader) -> Iterator[LineFile]:
        for name in iter(reader.text, b""):
            yield self._old_file(name, reader)

    def _old_file(self, name: bytes, reader: _Reader) -> LineFile:
        self._sections.add(_COST)
        directory, _, _ = reader.unsigned(), reader.unsigned(), reader.unsigned()
        return LineFile(name, directory)

    def rows(self) -> Iterator[LineRow]:
        """Run it.

        :raises ValueError: It is damaged from here on.
        """
        reader = _Reader(self._sections, self.start)
        fresh = LineRow(0, 1, 1, self._is_statement, 0, False)
        state, operation = fresh, 0
        while reader.at < self.end:
            code = reader.number(1)
            if code >= self._opcode_base:
                step = code - self._opcode_base
                if not self._line_range:
                    raise ValueError("a line table without a range of lines")
                address, operation = self._advanced(state.address, operation, step // self._line_range)
                line = state.line + self._line_base + step % self._line_range
                state = state._replace(address=address, line=line)
                yield self._counted(state)
                state = state._replace(discriminator=0)
            elif code == 0:
                length = reader.unsigned()
                end = reader.at + length
                kind = reader.number(1)
                if kind == _END_SEQUENCE:
                    yield self._counted(state._replace(ends=True))
                    state, operation = fresh, 0
                elif kind == _SET_ADDRESS:
                    state, operation = state._replace(address=reader.number(self._address_size)), 0
                elif kind == _DEFINE_FILE:
                    self.files.append(self._old_file(reader.text(), reader))
                elif kind == _SET_DISCRIMINATOR:
                    state = state._replace(discriminator=reader.unsigned())
                reader.at = max(reader.at, end)
            elif code == _COPY:
                yield self._counted(state)
                state = state._replace(discriminator=0)
            else:
                state, operation = self._standard(state, operation, code, reader)

    def _standard(self, state: LineRow, operation: int, code: int, reader: _Reader) -> Tuple[LineRow, int]:
        if code == _ADVANCE_PC:
            address, operation = self._advanced(state.address, operation, reader.unsigned())
            return state._replace(address=address), operation
        if code == _ADVANCE_LINE:
            return state._replace(line=state.line + reader.signed()), operation
        if code == _SET_FILE:
            return state._replace(file=reader.unsigned()), operation
        if code == _NEGATE_STMT:
            return state._replace(is_statement=not state.is_statement), operation
        if code == _CONST_ADD_PC:
            step = (255 - self._opcode_base) // self._line_range if self._line_range else 0
            address, operation = self._advanced(state.address, operation, step)
            return state._replace(address=address), operation
        if code == _FIXED_ADVANCE_PC:
            return state._replace(address=state.address + reader.number(2)), 0
        for _ in range(self._lengths[code - 1]):
            reader.unsigned()
        return state, operation

    def _advanced(self, address: int, operation: int, steps: int) -> Tuple[int, int]:
        total = operation + steps
        return address + self._smallest * (total // self._operations), total % self._operations

    def _counted(self, row: LineRow) -> LineRow:
        self._sections.add(_COST)
        return row


class _Reader:
    # Reads numbers and names of .debug_line, from an offset on.

    def __init__(self, sections: LineSections, at: int) -> None:
        self._sections, self.at = sections, at

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._sections.data):
            raise ValueError("a line table ends too early")
        found, self.at = self._sections.data[self.at : end], end
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), self._sections.order)

    def unsigned(self) -> int:
        value, self.at = leb(self._sections.data, self.at, False)
        return value

    def signed(self) -> int:
        value, self.at = leb(self._sections.data, self.at, True)
        return value

    def text(self) -> bytes:
        end = self._sections.data.find(b"\0", self.at)
        if end < 0:
            raise ValueError("a name in a line table has no end")
        found, self.at = self._sections.data[self.at : end], end + 1
        self._sections.add(len(found))
        return found
