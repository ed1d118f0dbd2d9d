"""Functions that the linker dropped, in programs with memory at 0.

Ref: DWARF Debugging Information Format, version 5, 6.2.4 (the header of a line-number program) and 6.2.5 (its opcodes);
System V ABI, chapter 4 (section headers).
"""

from __future__ import annotations

from typing import Any, Final, Iterator, NamedTuple, Optional, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.elf import open_elf
from gdb_etm.program.loaded import LoadedElf

_SET_ADDRESS: Final = 2
_END_SEQUENCE: Final = 1
_ADVANCE_PC: Final = 2
_CONST_ADD_PC: Final = 8
_FIXED_ADVANCE_PC: Final = 9
# Of the standard opcodes from 1 on, as every version has them.
_OPERANDS: Final = (0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
_WORD: Final = 4


class _Unit(NamedTuple):
    # Of its first opcode.
    start: int
    end: int
    # Bytes of the smallest instruction.
    smallest: int
    line_range: int
    opcode_base: int


def dropped_end(elf: Any) -> int:
    """Give the address below which line numbers are of dropped functions.

    Lines are not read for it: only the sequences that begin at 0 are followed, each to its end.

    :param elf: The file, as pyelftools has it.
    :returns: 0 when no memory of the file is at 0, or nothing was dropped.
    """
    section, loaded = elf.get_section_by_name(".debug_line"), LoadedElf(elf)
    if section is None or not elf.little_endian or not loaded.holds(0):
        return 0
    data, size = section.data(), elf.elfclass // 8
    pattern = bytes((0, size + 1, _SET_ADDRESS)) + bytes(size)
    ends = []
    for unit in _units(data):
        at = data.find(pattern, unit.start, unit.end)
        while at >= 0:
            length, at = _sequence(data, at + len(pattern), unit)
            ends.append(length)
            at = data.find(pattern, at, unit.end)
    # The only one, where there is code at 0, is of that.
    return 0 if len(ends) <= int(loaded.has_code_at_zero) else max(ends)


def without_dropped(path: str) -> Optional[bytes]:
    """Copy an ELF file without the debug information of dropped functions.

    To GDB the address 0 is that of a dropped function unless a section is loaded there; in the copy it begins later.

    :returns: None when the file serves as it is: nothing hides its code, or it has code at 0, or it cannot be read.
    """
    try:
        with open_elf(path) as elf:
            if not dropped_end(elf) or LoadedElf(elf).has_code_at_zero:
                return None
            elf.stream.seek(0)
            return _from_later(elf, elf.stream.read())
    except ImageError:
        return None


def _from_later(elf: Any, data: bytes) -> bytes:
    from elftools.elf.constants import SH_FLAGS

    copy = bytearray(data)
    width, fields = (4, (12, 16, 20)) if elf.elfclass == 32 else (8, (16, 24, 32))
    for index, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_addr"] == 0:
            header = elf["e_shoff"] + index * elf["e_shentsize"]
            less = min(_WORD, section["sh_size"])
            values = _WORD, section["sh_offset"] + less, section["sh_size"] - less
            for field, value in zip(fields, values):
                copy[header + field : header + field + width] = value.to_bytes(width, "little")
    return bytes(copy)


def _units(data: bytes) -> Iterator[_Unit]:
    at = 0
    while at + 4 <= len(data):
        width = 4
        length = _number(data, at, 4)
        if length == 0xFFFFFFFF:
            width, length = 8, _number(data, at + 4, 8)
        at += 4 if width == 4 else 12
        end = min(at + length, len(data))
        version = _number(data, at, 2)
        header = at + (4 if version >= 5 else 2)
        fields = header + width
        start = fields + _number(data, header, width)
        # From version 4 on the operations of an instruction are counted too.
        following = fields + (2 if version >= 4 else 1)
        if following + 4 <= start <= end and data[following + 2]:
            yield _Unit(start, end, data[fields], data[following + 2], data[following + 3])
        at = end


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _sequence(data: bytes, at: int, unit: _Unit) -> Tuple[int, int]:
    # Where a sequence ends that begins at 0, and the offset after it.
    address, end = 0, unit.end
    base, line_range, smallest = unit.opcode_base, unit.line_range, unit.smallest
    while at < end:
        opcode = data[at]
        at += 1
        if opcode >= base:
            address += (opcode - base) // line_range * smallest
        elif opcode == 0:
            size, at = _uleb(data, at)
            if data[at : at + 1] == bytes((_END_SEQUENCE,)):
                return address, at + size
            at += size
        elif opcode == _FIXED_ADVANCE_PC:
            address += _number(data, at, 2)
            at += 2
        elif opcode == _CONST_ADD_PC:
            address += (255 - base) // line_range * smallest
        else:
            for _ in range(_OPERANDS[opcode - 1] if opcode <= len(_OPERANDS) else 0):
                operand, at = _uleb(data, at)
            address += operand * smallest if opcode == _ADVANCE_PC else 0
    return address, end


def _uleb(data: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, at
