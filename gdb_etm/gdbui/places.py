"""GDB's line tables, breakpoints and convenience variables, for walking through a history."""

from __future__ import annotations

import os
import re
from typing import AbstractSet, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import gdb

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.gdbui.charset import ask, text_of
from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.gdbui.extents import Extents, completions
from gdb_etm.gdbui.symbol_files import gdb_command, symbol_files
from gdb_etm.gdbui.version import VERSION
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Function
from gdb_etm.history.lines import Inlined, InlinedKey, LineEntry
from gdb_etm.session.numbers import count
from gdb_etm.session.past import VARIABLES, walk
from gdb_etm.session.places import SymbolFile
from gdb_etm.session.session import DebugSession
from gdb_etm.session.source_files import read_source

_CALLS = (Entered.CALL, Entered.TAIL_CALL, Entered.EXCEPTION)
# Columns of "maint info line-table": GDB 13 and older have one for the address; from GDB 14 on the relocated address
# stands before the file's own.
_ADDRESSES = ("ADDRESS", "REL-ADDRESS")
# "  `/there' -> `/here'.": of a rule of "set substitute-path".
_SUBSTITUTE = re.compile(r"' -> `(.*)'\.$", re.MULTILINE)


class _LineTableRow(NamedTuple):
    # One entry.

    address: int
    line: int
    is_statement: bool


class GdbPlaces:
    """The :class:`~gdb_etm.session.places.ReplayPlaces` that GDB is.

    What is learnt from symbols is kept until :meth:`forget` is called.

    :param debugger: Finds functions.
    """

    def __init__(self, debugger: GdbDebugger) -> None:
        self._debugger = debugger
        self._extents = Extents(debugger)
        self._lines: Dict[int, Optional[LineEntry]] = {}
        self._inlined: Dict[int, Sequence[Inlined]] = {}
        self._rows: Dict[Tuple[str, int], List[_LineTableRow]] = {}
        self._shown: Dict[str, str] = {}

    @property
    def version(self) -> int:
        """Of the GDB that this is."""
        return VERSION[0]

    def forget(self) -> None:
        """Drop what was learnt from symbols: GDB read others."""
        self._lines.clear()
        self._inlined.clear()
        self._rows.clear()

    def line_at(self, address: int) -> Optional[LineEntry]:
        """Find a line-table entry by ``gdb.find_pc_line``."""
        if address not in self._lines:
            self._lines[address] = self._find_line(address)
        return self._lines[address]

    def function_at(self, address: int) -> Optional[Function]:
        """Find a function."""
        return self._debugger.function_at(address)

    def inlined_at(self, address: int) -> Sequence[Inlined]:
        """List the inlined functions around an address, outermost first."""
        if address not in self._inlined:
            before = {_key(block) for block in self._debugger.there.blocks(address - 1)[:-1]}
            blocks = self._debugger.there.blocks(address)[:-1]
            found = [self._instance(block, address, before) for block in blocks]
            self._inlined[address] = found[::-1]
        return self._inlined[address]

    def locate(self, text: str) -> Sequence[int]:
        """Resolve a location as ``break`` does."""
        return [int(place.pc) for place in self._extents.places(text)]

    def code(self, text: str) -> Sequence[Tuple[int, int]]:
        """Find all the code of a location."""
        return self._extents.code(text)

    def data(self, text: str) -> Sequence[Tuple[int, int]]:
        """Find where an object is, by GDB's expressions."""
        if text.startswith("*") and text[1:].strip().isalnum() and text[1:].strip()[0].isdigit():
            address = count(text[1:].strip())
            return [(address, address)]
        try:
            value = gdb.parse_and_eval(text)
            address, size = value.address, value.type.sizeof
        except (gdb.error, gdb.MemoryError) as error:
            raise CommandError(str(error))
        if address is None:
            raise CommandError("%s is in no memory; variables, *ADDRESS and FIRST-LAST are" % text)
        return [(int(address), int(address) + max(size, 1) - 1)]

    def entries(self, text: str) -> Sequence[int]:
        """Find where a location begins."""
        return self._extents.entries(text)

    def completions(self, text: str) -> List[str]:
        """List what GDB offers for ``break``."""
        return completions(text)

    def breakpoints(self) -> Dict[int, int]:
        """List where enabled breakpoints are."""
        found: Dict[int, int] = {}
        for breakpoint_ in gdb.breakpoints() or ():
            kinds = (gdb.BP_BREAKPOINT, getattr(gdb, "BP_HARDWARE_BREAKPOINT", gdb.BP_BREAKPOINT))
            if breakpoint_.enabled and breakpoint_.type in kinds:
                for address in self._addresses(breakpoint_):
                    found.setdefault(address, breakpoint_.number)
        return found

    def shown(self, file: str) -> str:
        """Name a file as ``set filename-display`` says."""
        style = gdb.parameter("filename-display")
        if style == "basename":
            return os.path.basename(file)
        return file if style == "absolute" else self._shown.get(file, file)

    def text(self, file: str, line: int) -> Optional[str]:
        """Read a source line."""
        text = read_source(file, line)
        return text.rstrip("\n") if text else None

    def source_folders(self) -> List[str]:
        """List those of ``directory`` and ``set substitute-path``."""
        found = _SUBSTITUTE.findall(gdb.execute("show substitute-path", False, True))
        named = [one for one in (gdb.parameter("directories") or "").split(os.pathsep) if not one.startswith("$")]
        return [os.path.expanduser(folder) for folder in [*named, *found] if os.path.isabs(os.path.expanduser(folder))]

    def has_arguments(self, address: int, name: str) -> bool:
        """Look for arguments among the symbols of a function's block."""
        for block in self._debugger.there.blocks(address):
            if text_of(lambda: block.function.print_name) == name:
                return any(symbol.is_argument for symbol in block)
        return False

    def publish(self, values: Mapping[str, Optional[int]]) -> None:
        """Set convenience variables."""
        for name, value in values.items():
            gdb.set_convenience_variable(name, value)

    def gdb_command(self) -> Sequence[str]:
        """Give the command that starts this GDB."""
        return gdb_command()

    def expressions(self, text: str) -> List[str]:
        """List what GDB offers for ``print``."""
        return completions(text, "print") if text else []

    def symbol_files(self) -> Sequence[SymbolFile]:
        """List GDB's object files."""
        return symbol_files()

    def _addresses(self, breakpoint_: gdb.Breakpoint) -> Sequence[int]:
        locations = getattr(breakpoint_, "locations", None)  # new in GDB 13
        if locations is not None:
            return [int(location.address) for location in locations if location.enabled]
        try:
            return self.locate(breakpoint_.location or "")
        except CommandError:
            return []

    def _find_line(self, address: int) -> Optional[LineEntry]:
        if self._debugger.there.hides(address):
            return self._hidden_line(address)
        found = gdb.find_pc_line(address)
        if found.symtab is None or not found.line or found.last is None:
            return None
        file = text_of(found.symtab.fullname)
        self._shown[file] = text_of(lambda: found.symtab.filename)
        base = os.path.basename(file)
        rows = self._entries(base, found.pc)
        is_statement = any(row.line == found.line and row.is_statement for row in rows) or not rows
        return LineEntry(file, found.line, found.pc, found.last + 1, is_statement, len(rows) > 1)

    def _entries(self, base: str, address: int) -> List[_LineTableRow]:
        # A header's entries come unit by unit, as GDB reads what included it.
        if (base, address) not in self._rows:
            found: Dict[Tuple[str, int], List[_LineTableRow]] = {(base, address): []}
            for row in _line_table(base):
                found.setdefault((base, row.address), []).append(row)
            self._rows.update(found)
        return self._rows[base, address]

    def _hidden_line(self, address: int) -> Optional[LineEntry]:
        entry, line = self._debugger.there.entry(address), self._debugger.there.line(address)
        if entry is None or line is None:
            return None
        table = self._debugger.there.table(entry.file, entry.line)
        file = text_of(table.fullname) if table is not None else os.path.normpath(entry.file)
        self._shown[file] = text_of(lambda: table.filename) if table is not None else line.path
        return entry._replace(file=file)

    def _instance(self, block: gdb.Block, address: int, before: AbstractSet[InlinedKey]) -> Inlined:
        function, key = block.function, _key(block)
        call = (
            (text_of(function.symtab.fullname), function.line)
            if function.symtab is not None and function.line
            else None
        )
        return Inlined(key, text_of(lambda: function.print_name), call, key not in before or key.entry == address)


def count_calls(session: DebugSession, name: str) -> int:
    """Count the calls of a function in the history.

    :raises EtmError: There is no history.
    """
    calls = session.shown().calls(session.debugger.function_at)
    found = 0
    for one in calls.activations():
        found += one.frame.function is not None and one.frame.function.name == name and one.entered in _CALLS
    return found


def publish(session: DebugSession) -> None:
    """Set the convenience variables after a halt.

    They are void until the capture is decoded.
    """
    record = session.current
    try:
        if record is not None and record.is_decoded and session.settings.get("drain") != "lazy":
            walk(session).publish()
            return
    except EtmError:
        pass  # nothing was captured, which the line after the halt has said
    if session.places is not None:
        session.places.publish({"etm_pc": None, "etm_index": None, "etm_count": None, **VARIABLES})


def _key(block: gdb.Block) -> InlinedKey:
    start, address = int(block.start), block.function.value().address
    # GDB 15 and older take the first part's beginning for it, newer ones what DW_AT_entry_pc says.
    entry = int(address) & ~1 if address is not None else start
    return InlinedKey(start, int(block.end), text_of(lambda: block.function.print_name), entry)


def _line_table(base: str) -> List[_LineTableRow]:
    # The entries of all source files of a name, which is without folders.  GDB's Python does not say which are
    # statements; "maint info line-table" does.
    try:
        text = ask("maint info line-table %s$" % re.escape(base))
    except (gdb.error, CommandError):
        return []
    return list(_line_table_rows(text))


def _line_table_rows(text: str) -> Iterator[_LineTableRow]:
    # A cell may be empty, so what belongs to which column is known by where it begins.
    columns: Optional[Dict[str, Tuple[int, Optional[int]]]] = None
    for line in text.splitlines():
        if line.startswith("INDEX"):
            columns = _columns(line)
        elif columns is not None and line[:1].isdigit():
            row = _row({name: line[slice(*place)].strip() for name, place in columns.items()})
            if row is not None:
                yield row


def _columns(header: str) -> Dict[str, Tuple[int, Optional[int]]]:
    found = list(re.finditer(r"\S+", header))
    ends = [after.start() for after in found[1:]] + [None]
    return {name.group(): (name.start(), end) for name, end in zip(found, ends)}


def _row(cells: Dict[str, str]) -> Optional[_LineTableRow]:
    address = next((cells[name] for name in _ADDRESSES if name in cells), "")
    if not cells.get("LINE", "").isdigit() or not address.startswith("0x"):
        return None  # the end of a sequence has no line
    # GDB 9 and older have no column for it; there every entry is a statement.
    return _LineTableRow(int(address, 16), int(cells["LINE"]), cells.get("IS-STMT", "Y") == "Y")
