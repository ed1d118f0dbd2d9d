"""Line tables of ELF files, by address and by line.

DWARF 5, 6.2.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.analysis.coverage import LinePiece
from gdb_etm.history.lines import LineEntry
from gdb_etm.program.debug_sections import DebugInformation
from gdb_etm.program.elf import open_elf
from gdb_etm.program.line_programs import LineProgram
from gdb_etm.program.loaded import LoadedElf, is_name_of
from gdb_etm.program.names import name_text
from gdb_etm.session.debugger import SourceLine

_SET_ADDRESS = 2
_ASSEMBLER = 0x8001  # DW_LANG_Mips_Assembler


class _Row(NamedTuple):
    address: int
    # None ends a sequence: no line from here on.
    line: Optional[SourceLine]
    # Recommended for breakpoints; GDB prefers such rows where several have one address.
    is_statement: bool


class LineTable:
    """Source lines by address.

    :param rows: Each holds up to the next.
    """

    def __init__(self, rows: Iterable[_Row]) -> None:
        self._rows = sorted(rows, key=lambda row: (row.address, row.line is not None, row.is_statement))
        self._starts = [row.address for row in self._rows]

    def at(self, address: int) -> Optional[SourceLine]:
        """Find the source line of an instruction."""
        index = bisect_right(self._starts, address) - 1
        return self._rows[index].line if index >= 0 else None

    def entry(self, address: int) -> Optional[LineEntry]:
        """Find the entry that holds an address."""
        index = bisect_right(self._starts, address) - 1
        row = self._rows[index] if index >= 0 else None
        if row is None or row.line is None:
            return None
        same = self._rows[bisect_right(self._starts, row.address - 1) : index + 1]
        doubled = sum(one.line is not None and one.line.file == row.line.file for one in same) > 1
        end = self._starts[index + 1] if index + 1 < len(self._rows) else row.address
        return LineEntry(row.line.file, row.line.line, row.address, end, row.is_statement, doubled)

    def ranges(self, file: str, line: int) -> List[Tuple[int, int]]:
        """Find a line's code as address ranges; neighbours are joined.

        :param file: The end of the file's path, such as ``"rx.c"``.
        """
        found: List[Tuple[int, int]] = []
        for row, after in zip(self._rows, self._rows[1:]):
            is_other = row.line is None or row.line.line != line or not _is_file(row.line, file)
            if is_other or after.address == row.address:
                continue
            first = found.pop()[0] if found and found[-1][1] + 1 == row.address else row.address
            found.append((first, after.address - 1))
        return found

    def pieces(self) -> Iterator[LinePiece]:
        """Go through the code of all source lines, by address."""
        for row, after in zip(self._rows, self._rows[1:]):
            if row.line is not None and row.address < after.address:
                yield LinePiece(row.address, after.address, row.line.path, row.line.file, row.line.line)

    def lines_of(self, file: str) -> List[int]:
        """List the lines of a source file that have code."""
        return sorted({row.line.line for row in self._rows if row.line is not None and _is_file(row.line, file)})


def _is_file(line: SourceLine, name: str) -> bool:
    path = line.file.replace(os.sep, "/")
    return path == name or path.endswith("/" + name)


def load_lines(paths: Iterable[str], below: Optional[int] = None) -> LineTable:
    """Read the line tables of ELF files, without code that was dropped.

    Where files fill the same memory, that of the earlier one counts.

    :param below: Only addresses below this one are going to be asked for; None: all.
    :raises ImageError: A file cannot be read.
    """
    rows: List[_Row] = []
    filled: List[Tuple[int, int]] = []
    for path in paths:
        with open_elf(path, "has debug information that cannot be read") as elf:
            loaded = LoadedElf(elf)
            for sequence in _sequences(elf, loaded, below) if elf.has_dwarf_info() else ():
                if not any(start <= sequence[0].address < end for start, end in filled):
                    rows += sequence
            filled += loaded.filled
    return LineTable(rows)


def _sequences(elf: Any, loaded: LoadedElf, below: Optional[int]) -> Iterator[List[_Row]]:
    information = DebugInformation(elf)
    seen: Set[int] = set()
    for unit in information.dwarf.iter_CUs():
        place = unit.get_top_DIE().attributes.get("DW_AT_stmt_list")
        if place is None or place.value in seen:
            continue  # units may share a table
        seen.add(place.value)
        program = information.line_program(unit)
        if program is None or below is not None and not _begins_below(elf, program, below, loaded.has_code_at_zero):
            continue
        for sequence in _unit_sequences(program, _text(unit.get_top_DIE(), "DW_AT_comp_dir")):
            start = sequence[0].address
            if loaded.holds(start) and (start != 0 or _has_code_at_zero(unit, loaded)):
                yield sequence


def _begins_below(elf: Any, program: LineProgram, below: int, with_zero: bool) -> bool:
    # Sequences begin with a DW_LNE_set_address; what else looks like one does no harm.
    size = elf.elfclass // 8
    pattern = re.compile(re.escape(bytes((0, size + 1, _SET_ADDRESS))) + b"(.{%d})" % size, re.DOTALL)
    found = pattern.finditer(program.instructions)
    addresses = (int.from_bytes(one.group(1), "little" if elf.little_endian else "big") for one in found)
    return any(address < below and (address != 0 or with_zero) for address in addresses)


def _unit_sequences(program: LineProgram, directory: str) -> Iterator[List[_Row]]:
    # A sequence that does not end is none.  Of one line whose blocks discriminators tell apart, GDB has one entry.
    names: Dict[int, Tuple[str, str]] = {}
    rows: List[_Row] = []
    before: Optional[SourceLine] = None
    has_blocks = False
    for state in program.rows():
        if state.ends:
            yield rows + [_Row(state.address, None, True)]
            rows, before = [], None
            continue
        if state.file not in names:
            names[state.file] = _file_name(program, state.file, directory)
        shown, full = names[state.file]
        line = SourceLine(shown, state.line, full) if state.line else None
        has_blocks = bool(state.discriminator) or has_blocks and line == before
        if line != before or not has_blocks:
            rows.append(_Row(state.address, line, state.is_statement))
        before = line


def _has_code_at_zero(unit: Any, loaded: LoadedElf) -> bool:
    # Of the units with lines at 0, that of the function which is there; assembler need not describe its functions.
    if not loaded.has_code_at_zero:
        return False
    top = unit.get_top_DIE()
    language = top.attributes.get("DW_AT_language")
    if language is not None and language.value == _ASSEMBLER:
        return True
    begin = (die for die in top.iter_children() if die.tag == "DW_TAG_subprogram" and _begins_at_zero(die))
    return any(is_name_of(symbol, name) for name in map(_name, begin) for symbol in loaded.at_zero)


def _begins_at_zero(function: Any) -> bool:
    low = function.attributes.get("DW_AT_low_pc")
    return low is not None and low.value in (0, 1)  # 1: of an assembler, with the state in it


def _name(function: Any) -> str:
    # What a symbol of it is called; a copy's name is with the original.
    for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
        if attribute in function.attributes:
            return _text(function, attribute)
    for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if attribute in function.attributes:
            return _name(function.get_DIE_from_attribute(attribute))
    return "?"


def _file_name(program: LineProgram, number: int, directory: str) -> Tuple[str, str]:
    # Before DWARF 5 files and folders count from 1, and folder 0 is the compilation's.
    base = 0 if program.version >= 5 else 1
    files = program.files
    if not 0 <= number - base < len(files):
        return "?", ""
    entry = files[number - base]
    folder = ""
    folders = program.directories
    if program.version >= 5 or entry.directory:
        at = entry.directory - base
        folder = name_text(folders[at]) if 0 <= at < len(folders) else ""
    name = name_text(entry.name)
    shown = name if os.path.join(directory, folder) == directory or folder == directory else os.path.join(folder, name)
    return shown, os.path.join(directory, folder, name)


def _text(die: Any, attribute: str) -> str:
    found = die.attributes.get(attribute)
    return name_text(found.value) if found is not None else ""
