"""Debug information of an ELF file, read within bounds.

Its parts refer to each other, so a small file can have the same bytes read over and over, or an entry with no end of
attributes that take no bytes: all that is read, and made of it, is counted.
"""

from __future__ import annotations

import io
from typing import Any, Dict, List, Optional, Tuple

from gdb_etm.program.expressions import ByteOrder
from gdb_etm.program.line_programs import LineProgram, LineSections

# What is read over, and more than that.  An entry with the offset of a string has 64 bytes read for 4.
_TIMES, _SPARE = 64, 1 << 20
# What an attribute, and an item of a list, is counted as, in bytes that are read.
_ATTRIBUTE, _ITEM = 16, 16
# Bytes of one number in LEB128, and of the fill of a constant: to read a number takes the square of its bytes.
_MOST_BYTES = 1 << 16


class DebugInformation:
    """Debug information in pyelftools, and how much of it was read.

    :param elf: The file, as pyelftools has it.  It may be closed afterwards.
    """

    def __init__(self, elf: Any) -> None:
        self.dwarf = elf.get_dwarf_info()
        self.order: ByteOrder = "little" if elf.little_endian else "big"
        found = [name for name in vars(self.dwarf) if name.endswith("_sec") and getattr(self.dwarf, name) is not None]
        parts = {name: getattr(self.dwarf, name) for name in found}
        self._work = Work(sum(part.size for part in parts.values()))
        for name, part in parts.items():
            setattr(self.dwarf, name, part._replace(stream=CountedSection(part.stream.getvalue(), self._work)))
        self.dwarf.get_abbrev_table = _AbbreviationTables(self.dwarf.get_abbrev_table, self._work).at
        self._range_lists, self._location_lists = self.dwarf.range_lists(), self.dwarf.location_lists()
        # By where a list is, and its unit.
        self._ranges: Dict[Tuple[int, int], List[Any]] = {}
        self._locations: Dict[Tuple[int, int], List[Any]] = {}
        self._lines: Dict[int, LineProgram] = {}
        lines = self.dwarf.debug_line_sec
        self._line_sections = LineSections(
            lines.stream.getvalue() if lines is not None else b"",
            self.order,
            elf.elfclass // 8,
            self.dwarf.get_string_from_table,
            self.dwarf.get_string_from_linetable,
            self._work.add,
        )

    def count_items(self, count: int) -> None:
        """Count what was made of what was read.

        :raises ValueError: It is more than a file of this size is good for.
        """
        self._work.add(count * _ITEM)

    def ranges(self, offset: int, unit: Any) -> List[Any]:
        """Give a list of address ranges; empty without any lists."""
        if self._range_lists is None:
            return []
        key = offset, unit.cu_offset
        if key not in self._ranges:
            self._ranges[key] = self._range_lists.get_range_list_at_offset(offset, cu=unit)
            self.count_items(len(self._ranges[key]))
        return self._ranges[key]

    def locations(self, offset: int, die: Any) -> List[Any]:
        """Give a list of locations; empty without any lists."""
        if self._location_lists is None:
            return []
        key = offset, die.cu.cu_offset
        if key not in self._locations:
            self._locations[key] = self._location_lists.get_location_list_at_offset(offset, die=die)
            self.count_items(len(self._locations[key]))
        return self._locations[key]

    def line_program(self, unit: Any) -> Optional[LineProgram]:
        """Give a unit's line number program; None without one.

        :raises ValueError: It is damaged.
        """
        place = unit.get_top_DIE().attributes.get("DW_AT_stmt_list")
        if place is None or not self._line_sections.data:
            return None
        if place.value not in self._lines:
            self._lines[place.value] = LineProgram(self._line_sections, place.value)
        return self._lines[place.value]


class CountedSection(io.BytesIO):
    """Section whose readings are counted.

    :param content: What it holds.
    :param work: Counts them.
    """

    def __init__(self, content: bytes, work: Work) -> None:
        super().__init__(content)
        self.etm_work = work
        self.etm_run = 0

    def read(self, size: Optional[int] = -1) -> bytes:
        """Read up to ``size`` bytes; all that is left for -1.

        :raises ValueError: It is read over and over, or holds a number that is too long.
        """
        found = super().read(size)
        self.etm_work.add(len(found) or 1)
        if size != 1 or found < b"\x80":
            self.etm_run = 0
            return found
        self.etm_run += 1
        if self.etm_run > _MOST_BYTES:
            raise ValueError("a number of more than %d bytes" % _MOST_BYTES)
        return found


class Work:
    """How much may still be read of sections.

    :param size: Their size in bytes.
    """

    def __init__(self, size: int) -> None:
        self._left = size * _TIMES + _SPARE

    def add(self, amount: int) -> None:
        """Count bytes that were read.

        :raises ValueError: They are too many.
        """
        self._left -= amount
        if self._left < 0:
            raise ValueError("its parts refer to each other more often than compilers make them")


class _AbbreviationTables:
    # pyelftools' tables, by their offset.

    def __init__(self, read: Any, work: Work) -> None:
        self._read, self._work = read, work

    def at(self, offset: int) -> _AbbreviationTable:
        return _AbbreviationTable(self._read(offset), self._work)


class _AbbreviationTable:
    # Abbreviations of a unit: with each one that is asked for an entry is read.

    def __init__(self, table: Any, work: Work) -> None:
        self._table, self._work = table, work

    def get_abbrev(self, code: int) -> Any:
        found = self._table.get_abbrev(code)
        self._work.add(_ATTRIBUTE * len(found["attr_spec"]))
        return found
