"""ELF files in the place of a debugger: symbols, source lines and text for captures from a folder."""

from __future__ import annotations

import linecache
import os
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.commands.debugger import SourceLine
from gdb_etm.commands.disassembler import Disassembler, symbol_text
from gdb_etm.commands.symbols import SymbolTable, load_symbols, load_variables
from gdb_etm.errors import AccessError, ConnectError
from gdb_etm.history.frames import Function
from gdb_etm.program.elf import open_elf
from gdb_etm.program.isa import Isa

if TYPE_CHECKING:
    from gdb_etm.access.client import Client


class OfflineDebugger:
    """The :class:`~gdb_etm.commands.debugger.Debugger` of the shell: files, and no target.

    :param paths: ELF files with symbols; may be empty.
    :raises ImageError: A file cannot be read.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._paths: List[str] = list(paths)
        self._symbols: SymbolTable = load_symbols(self._paths)
        self._variables: Optional[SymbolTable] = None
        self._lines: Optional[_LineTable] = None
        self._disassembler = Disassembler(self.function_at)

    def function_at(self, address: int) -> Optional[Function]:
        """Find a function in the symbol tables."""
        return self._symbols.at(address)

    def symbol_at(self, address: int) -> str:
        """Find data, or a constant in a function, in the symbol tables."""
        return symbol_text(self._data().at(address) or self._symbols.at(address), address)

    @property
    def variables(self) -> List[Function]:
        """The data objects in the symbol tables, by address."""
        return self._data().functions

    def _data(self) -> SymbolTable:
        if self._variables is None:
            self._variables = load_variables(self._paths)
        return self._variables

    @property
    def functions(self) -> List[Function]:
        """The functions in the symbol tables, by address."""
        return self._symbols.functions

    def line_at(self, address: int) -> Optional[SourceLine]:
        """Find a source line in the DWARF line tables, which are read at the first call."""
        return self._line_table().at(address)

    def line_ranges(self, file: str, line: int) -> List[Tuple[int, int]]:
        """Find the code of a source line, as first and last addresses.

        :param file: The end of the file's path, such as ``"rx.c"``.
        """
        return self._line_table().ranges(file, line)

    def lines_of(self, file: str) -> List[int]:
        """List the lines of a source file that have code."""
        return self._line_table().lines_of(file)

    def source_text(self, line: SourceLine) -> Optional[str]:
        """Read one line of source."""
        return linecache.getline(line.file, line.line).strip() or None

    def disassemble(self, address: int, code: bytes, isa: Isa, before: bytes = b"") -> str:
        """Write an instruction as Capstone does."""
        return self._disassembler.text(address, code, isa, before)

    def program_files(self) -> List[str]:
        """List the ELF files."""
        return list(self._paths)

    def load_files(self, paths: Sequence[str], replace: bool = False) -> None:
        """Take more ELF files."""
        self._paths += [path for path in paths if path not in self._paths]
        self._symbols = load_symbols(self._paths)
        self._variables = None
        self._lines = None

    def _line_table(self) -> _LineTable:
        if self._lines is None:
            self._lines = load_lines(self._paths)
        return self._lines

    def read_memory(self, address: int, size: int) -> bytes:
        """Refuse: there is no target."""
        raise AccessError("no target", address, "lost")

    def registers(self) -> Mapping[str, int]:
        """Say that there is no target."""
        return {}

    def connection(self) -> Optional[str]:
        """Say that there is no target."""
        return None

    def connect(self, client: Client) -> None:
        """Refuse: there is no debugger to connect."""
        raise ConnectError("connecting works inside GDB: source gdb_etm, then etm connect")

    def connect_replay(self, where: str) -> None:
        """Refuse: there is no debugger to connect."""
        raise ConnectError("connecting works inside GDB: source gdb_etm, then etm replay")

    def monitor(self, command: str) -> None:
        """Refuse: there is no debugger to connect."""
        raise ConnectError("no target")

    def refresh(self) -> None:
        """Do nothing: there is no target."""

    def disconnect(self) -> None:
        """Do nothing: there is no target."""

    def access_port(self) -> AccessPort:
        """Refuse: there is no target."""
        raise ConnectError("connecting works inside GDB: source gdb_etm, then etm connect")

    def is_running(self) -> bool:
        """Say that nothing runs."""
        return False

    def location(self) -> str:
        """Say that nothing is halted anywhere."""
        return ""


class _Row(NamedTuple):
    address: int
    line: Optional[SourceLine]
    """None ends a sequence: no line from here on."""
    is_statement: bool
    """Recommended for breakpoints; GDB prefers such rows where several have one address."""


class _LineTable:
    # Rows sorted by address; each holds up to the next.

    def __init__(self, rows: Iterable[_Row]) -> None:
        self._rows = sorted(rows, key=lambda row: (row.address, row.line is not None, row.is_statement))
        self._starts = [row.address for row in self._rows]

    def at(self, address: int) -> Optional[SourceLine]:
        index = bisect_right(self._starts, address) - 1
        return self._rows[index].line if index >= 0 else None

    def ranges(self, file: str, line: int) -> List[Tuple[int, int]]:
        """Find the code of a line, as first and last addresses; neighbours are one range."""
        found: List[Tuple[int, int]] = []
        for row, after in zip(self._rows, self._rows[1:]):
            is_other = row.line is None or row.line.line != line or not _is_file(row.line, file)
            if is_other or after.address == row.address:
                continue
            first = found.pop()[0] if found and found[-1][1] + 1 == row.address else row.address
            found.append((first, after.address - 1))
        return found

    def lines_of(self, file: str) -> List[int]:
        return sorted({row.line.line for row in self._rows if row.line is not None and _is_file(row.line, file)})


def _is_file(line: SourceLine, name: str) -> bool:
    path = line.file.replace(os.sep, "/")
    return path == name or path.endswith("/" + name)


def load_lines(paths: Iterable[str]) -> _LineTable:
    """Read the line tables of ELF files (DWARF 5, 6.2)."""
    rows: List[_Row] = []
    for path in paths:
        with open_elf(path, "has debug information that cannot be read") as elf:
            if elf.has_dwarf_info():
                rows += _rows(elf.get_dwarf_info())
    return _LineTable(rows)


def _rows(dwarf: Any) -> List[_Row]:
    rows: List[_Row] = []
    seen: Set[int] = set()
    for unit in dwarf.iter_CUs():
        top = unit.get_top_DIE()
        place = top.attributes.get("DW_AT_stmt_list")
        # Units may share a table.
        if place is not None and place.value not in seen:
            seen.add(place.value)
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                rows += _unit_rows(program, _text(top, "DW_AT_comp_dir"))
    return rows


def _unit_rows(program: Any, directory: str) -> List[_Row]:
    names: Dict[int, Tuple[str, str]] = {}
    rows: List[_Row] = []
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if state.end_sequence:
            rows.append(_Row(state.address, None, True))
        elif state.line:
            if state.file not in names:
                names[state.file] = _file_name(program.header, state.file, directory)
            shown, full = names[state.file]
            rows.append(_Row(state.address, SourceLine(shown, state.line, full), bool(state.is_stmt)))
    return rows


def _file_name(header: Any, number: int, directory: str) -> Tuple[str, str]:
    # Before DWARF 5 files and folders count from 1, and folder 0 is the compilation's.
    base = 0 if header["version"] >= 5 else 1
    files = header["file_entry"]
    if not 0 <= number - base < len(files):
        return "?", ""
    entry = files[number - base]
    folder = ""
    folders = header["include_directory"]
    if header["version"] >= 5 or entry.dir_index:
        at = entry.dir_index - base
        folder = folders[at].decode("utf-8", "replace") if 0 <= at < len(folders) else ""
    name = entry.name.decode("utf-8", "replace")
    shown = name if os.path.join(directory, folder) == directory or folder == directory else os.path.join(folder, name)
    return shown, os.path.join(directory, folder, name)


def _text(die: Any, attribute: str) -> str:
    found = die.attributes.get(attribute)
    return str(found.value.decode("utf-8", "replace")) if found is not None else ""
