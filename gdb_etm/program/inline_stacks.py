"""Lines of instructions in their functions, through those that were inlined.

Compilers find code again by this: by the function's name, and by lines from where it is declared, so that a change
above the function moves nothing.  Ref: DWARF Debugging Information Format, version 5, 3.3.8 (inlined functions) and
6.2.2 (line tables, with discriminators).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.code_entries import CodeEntries
from gdb_etm.program.dies import DebugTree, attribute, name_of, number_of
from gdb_etm.program.elf import open_elf, readable
from gdb_etm.program.loaded import LoadedElf
from gdb_etm.program.names import name_text

_UNREADABLE = "has debug information that cannot be read"
_FUNCTIONS = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")


class RelativeLine(NamedTuple):
    """A line of a function."""

    # Its name for the linker; that of C++ is mangled.
    function: str
    # Lines below the line where the function is declared; may be negative.
    offset: int
    # Tells apart basic blocks of a line.
    discriminator: int


class _Row(NamedTuple):
    address: int
    # None: no line from here on.
    line: Optional[int]
    discriminator: int


class InlineStacks:
    """The lines of instructions, of ELF files.

    :param paths: The files; where some fill the same memory, that of the earlier one counts.
    :raises ImageError: One of them cannot be read.  Damaged debug information is as none.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._files = [file for file in map(_load, paths) if file is not None]

    def at(self, address: int) -> Sequence[RelativeLine]:
        """Give an instruction's line, and those of inlined calls around it.

        :returns: The outermost first; empty where that is not known.
        """
        return next(filter(None, (file.at(address) for file in self._files)), ())


def _load(path: str) -> Optional[_File]:
    with open_elf(path) as elf:
        loaded = LoadedElf(elf)
        try:
            with readable(path, _UNREADABLE):
                if elf.has_dwarf_info():
                    entries = CodeEntries(DebugTree(elf), loaded, elf["e_machine"] == "EM_ARM")
                    return _File(path, entries, loaded)
        except ImageError:
            pass  # nothing is known
        return None


class _File:
    def __init__(self, path: str, code: CodeEntries, loaded: LoadedElf) -> None:
        self._path, self._code, self._loaded = path, code, loaded
        # By the offset of a unit.
        self._rows: Dict[int, Tuple[List[int], List[_Row]]] = {}

    def at(self, address: int) -> Sequence[RelativeLine]:
        try:
            with readable(self._path, _UNREADABLE):
                return self._at(address)
        except ImageError:
            return ()

    def _at(self, address: int) -> Sequence[RelativeLine]:
        function = self._code.function(address)
        row = self._row(function.cu, address) if function is not None else None
        if function is None or row is None or row.line is None:
            return ()
        scopes = [one for one in self._code.inside(function, address) if one.tag in _FUNCTIONS]
        found: List[RelativeLine] = []
        for scope, inner in zip(scopes, [*scopes[1:], None]):
            declared = number_of(scope, "DW_AT_decl_line")
            line, discriminator = (row.line, row.discriminator) if inner is None else _call(inner)
            if declared is None or not line:
                return ()
            found.append(RelativeLine(_linkage_name(scope), line - declared, discriminator))
        return found

    def _row(self, unit: Any, address: int) -> Optional[_Row]:
        if unit.cu_offset not in self._rows:
            read = self._read(unit)
            self._rows[unit.cu_offset] = [row.address for row in read], read
        starts, rows = self._rows[unit.cu_offset]
        at = bisect_right(starts, address) - 1
        return rows[at] if at >= 0 else None

    def _read(self, unit: Any) -> List[_Row]:
        program = self._code.tree.information.line_program(unit)
        found: List[_Row] = []
        sequence: List[_Row] = []
        for state in program.rows() if program is not None else ():
            line = None if state.ends else state.line or None
            if sequence and sequence[-1].address == state.address:
                sequence.pop()
            sequence.append(_Row(state.address, line, state.discriminator))
            if state.ends:
                if self._loaded.holds(sequence[0].address):
                    found += sequence
                sequence = []
        return sorted(found, key=lambda row: (row.address, row.line is not None))


def _call(inlined: Any) -> Tuple[int, int]:
    # Where a function is inlined: the line of the call, and its discriminator.
    line, block = (inlined.attributes.get(name) for name in ("DW_AT_call_line", "DW_AT_GNU_discriminator"))
    return (line.value if line is not None else 0), (block.value if block is not None else 0)


def _linkage_name(die: Any) -> str:
    found = attribute(die, "DW_AT_linkage_name")
    return name_text(found.value) if found is not None else name_of(die)
