"""Corrections of what GDB says of functions that the linker dropped.

Where a program has memory at address 0, GDB takes the functions that the linker dropped (at 0 in the debug information)
to lie there, one over the other and over those that do.  Their blocks begin at 0; their lines reach as far as the
longest of them, and up to there the program's files are read instead.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, TypeVar

import gdb

from gdb_etm.errors import EtmError
from gdb_etm.gdbui.charset import ask, text_of
from gdb_etm.history.lines import LineEntry
from gdb_etm.offline.lines import LineTable, load_lines
from gdb_etm.offline.symbols import without_hashes
from gdb_etm.program.dropped import dropped_end
from gdb_etm.program.elf import open_elf
from gdb_etm.program.loaded import LoadedElf, is_name_of
from gdb_etm.program.names import one_line
from gdb_etm.session.debugger import SourceLine

_Answer = TypeVar("_Answer")
# What "info symbol" says: it goes by the symbol table alone.
_ADA = re.compile(r"[.\[]")
_MINIMAL = re.compile(r"(.+?)(?: \+ (\d+))? in section ")


class There:
    """Filter of GDB's answers: only code that is there.

    What is learnt from symbols is kept until :meth:`forget` is called.

    :param files: Lists the files that GDB has symbols of.
    """

    def __init__(self, files: Callable[[], List[str]]) -> None:
        self._files = files
        self._at_zero: Optional[Set[str]] = None
        self._end: Optional[int] = None
        self._lines: Optional[LineTable] = None
        self._tables: Dict[str, Optional[gdb.Symtab]] = {}

    def forget(self) -> None:
        """Drop what was learnt from symbols: GDB read others."""
        self._at_zero = self._end = self._lines = None
        self._tables.clear()

    def blocks(self, address: int) -> List[gdb.Block]:
        """List the function blocks around an address, innermost first.

        The last one is not inlined.

        :returns: Nothing where GDB knows of no function but one that was dropped.
        """
        found = []
        block = _block_at(address)
        while block is not None and not block.is_global and not block.is_static:
            if block.function is not None:
                found.append(block)
            block = block.superblock
        return found if found and self._is_there(found[-1]) else []

    def hides(self, address: int) -> bool:
        """Check whether lines of dropped functions may lie over an address."""
        if self._end is None:
            self._end = max([0] + [_of_elf(path, dropped_end, 0) for path in self._files()])
            if self._end:
                # Where they end, GDB has the line end that is there.
                self._lines = self._read_lines(self._end + 1)
                last = self._lines.entry(self._end)
                self._end = last.end if last is not None else self._end
        return address < self._end

    @property
    def is_hiding(self) -> bool:
        """Whether GDB takes dropped functions to lie over others."""
        return self.hides(0)

    def misnames(self, address: int) -> bool:
        """Check whether GDB may write a wrong symbol for an address."""
        if self.is_hiding:
            return True
        blocks = self.blocks(address)
        return bool(blocks) and bool(blocks[-1].start & 1)  # an assembler's, with the T32 state in it

    def entry(self, address: int) -> Optional[LineEntry]:
        """Find the line-table entry of an address for which :meth:`hides` holds."""
        return self._lines.entry(address) if self._lines is not None else None

    def line(self, address: int) -> Optional[SourceLine]:
        """Find the source line of an address for which :meth:`hides` holds."""
        return self._lines.at(address) if self._lines is not None else None

    def _read_lines(self, below: int) -> LineTable:
        try:
            return load_lines(self._files(), below)
        except EtmError:
            return LineTable([])  # GDB could read it; no line is better than a false one

    def table(self, file: str, line: int) -> Optional[gdb.Symtab]:
        """Find GDB's symbol table of a source file, if any.

        :param line: One of its lines that has code.
        """
        if "'" in file or '"' in file:
            return None  # GDB cannot be asked: at a quote that it does not understand it crashes
        if file not in self._tables:
            try:
                _, found = gdb.decode_line('"%s":%d' % (file, line))
                self._tables[file] = found[0].symtab if found else None
            except gdb.error:
                self._tables[file] = None
        return self._tables[file]

    def _is_there(self, block: gdb.Block) -> bool:
        if block.start > 1:
            return True
        if self._at_zero is None:
            names: List[Set[str]] = [_of_elf(path, _names_at_zero, set()) for path in self._files()]
            self._at_zero = set().union(*names)
        return any(is_name_of(name, text_of(lambda: block.function.linkage_name)) for name in self._at_zero)


def minimal_symbol(address: int) -> Optional[Tuple[str, int]]:
    """Look a symbol up in GDB's symbol table, without debug information.

    :returns: Its name, and the distance of the address from it in bytes.
    """
    command = "info symbol %d" % address
    found = _MINIMAL.match(_said(command))
    if found is not None and _ADA.search(found.group(1)):
        # GDB takes a__b for a name of Ada's, and writes a.b; and Zig's a.bC, and writes a[bC].
        plain = _MINIMAL.match(_said("with print demangle off -- " + command))
        found = plain if plain is not None and not plain.group(1).startswith(("_Z", "_R")) else found
    return (without_hashes(found.group(1)), int(found.group(2) or 0)) if found is not None else None


def _said(command: str) -> str:
    return one_line(ask(command))


def _block_at(address: int) -> Optional[gdb.Block]:
    if address < 0:
        return None  # before a function at 0 there is none
    try:
        return gdb.block_for_pc(address)
    except RuntimeError:
        return None  # GDB 10 raises where later ones give None


def _names_at_zero(elf: Any) -> Set[str]:
    return set(LoadedElf(elf).at_zero)


def _of_elf(path: str, ask: Callable[[Any], _Answer], otherwise: _Answer) -> _Answer:
    try:
        with open_elf(path) as elf:
            return ask(elf)
    except EtmError:
        return otherwise  # GDB could read it
