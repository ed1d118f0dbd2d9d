"""Symbol tables of ELF files, searched as GDB searches minimal symbols."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple

from gdb_etm.history.frames import Function
from gdb_etm.program.elf import open_elf
from gdb_etm.program.loaded import LoadedElf, is_mapping
from gdb_etm.program.names import one_line

_FUNCTIONS = ("STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS")
_LABEL = "STT_NOTYPE"
_OBJECT = "STT_OBJECT"
# Of a function of Rust, and of a crate (RFC 2603): they tell builds from each other, and no reader anything.
_HASHES = re.compile(r"::h[0-9a-f]{16}(?![^+])|(?<=\w)\[[0-9a-f]{8,16}\]")


class SymbolTable:
    """The functions, or the data, of some ELF files.

    :param functions: In any order; of those that hold an address the one that begins last is found, and of those that
        begin together the last.
    :param unsized: Others, found where none of those is.
    """

    def __init__(self, functions: Iterable[Function], unsized: Iterable[Function] = ()) -> None:
        self._sized, self._unsized = _Ordered(functions), _Ordered(unsized)

    @property
    def functions(self) -> List[Function]:
        """All of them, by address."""
        return sorted(self._unsized.functions + self._sized.functions, key=_start)

    def at(self, address: int) -> Optional[Function]:
        """Find the function that holds ``address``."""
        return self._sized.at(address) or self._unsized.at(address)


def _start(function: Function) -> int:
    return function.start


class _Ordered:
    def __init__(self, functions: Iterable[Function]) -> None:
        self.functions = sorted(functions, key=_start)
        self._starts = [function.start for function in self.functions]
        self._reached = list(accumulate((function.end for function in self.functions), max))

    def at(self, address: int) -> Optional[Function]:
        index = bisect_right(self._starts, address) - 1
        while index >= 0 and address < self._reached[index]:
            if address < self.functions[index].end:
                return self.functions[index]
            index -= 1
        return None


def without_hashes(name: str) -> str:
    """Leave the hashes out of a demangled name.

    Compilers put them in to make it unique.

    :param name: As a debugger writes it; it may end in a distance, such as ``+8``.
    """
    return _HASHES.sub("", name)


def load_symbols(paths: Iterable[str]) -> SymbolTable:
    """Read the function symbols of ELF files, and the labels in code.

    What has no size reaches to the next symbol, or to the end of its section, but not over what has one.  (The linker
    gives a handler in assembly the size of the weak one that it replaces: another name or a label may follow it.)
    Where files fill the same memory, that of the earlier one counts.

    :raises ImageError: A file cannot be read.
    """
    sized: List[Function] = []
    unsized: List[Function] = []
    filled: List[Tuple[int, int]] = []
    for path in paths:
        symbols, loaded, is_debugged = _read(path)
        # GDB takes the last name in the string table; but debug information has the name of the definition.
        symbols.sort(key=lambda one: (one.start, is_debugged and not one.is_weak, one.position))
        starts = [symbol.start for symbol in symbols]
        for symbol in symbols:
            if symbol.kind == _OBJECT or any(low <= symbol.start < high for low, high in filled):
                continue
            after = bisect_right(starts, symbol.start)
            end = min(starts[after : after + 1] + [max(symbol.limit, symbol.start)])
            is_label = symbol.kind == _LABEL and symbol.is_local
            if symbol.size:
                sized.append(Function(symbol.name, symbol.start, symbol.start + symbol.size, is_label))
            else:
                unsized.append(Function(symbol.name, symbol.start, end, is_label))
        filled += loaded.filled
    return SymbolTable(sized, unsized)


def load_variables(paths: Iterable[str]) -> SymbolTable:
    """Read the data symbols of ELF files.

    :raises ImageError: A file cannot be read.
    """
    found = [one for path in paths for one in _read(path)[0] if one.kind == _OBJECT]
    found.sort(key=lambda one: (one.start, one.position))
    return SymbolTable([Function(one.name, one.start, one.start + one.size) for one in found])


class _Symbol(NamedTuple):
    name: str
    start: int
    # 0: not given.
    size: int
    kind: str
    # Where its section ends.
    limit: int
    is_local: bool
    is_weak: bool
    # Of its name in the string table.
    position: int


def _read(path: str) -> Tuple[List[_Symbol], LoadedElf, bool]:
    from elftools.elf.sections import SymbolTableSection

    found: List[_Symbol] = []
    with open_elf(path) as elf:
        sections = list(elf.iter_sections())
        for table in sections:
            if isinstance(table, SymbolTableSection):
                symbols = (_symbol(one, sections, elf["e_machine"] == "EM_ARM") for one in table.iter_symbols())
                found += [symbol for symbol in symbols if symbol is not None]
        return found, LoadedElf(elf), elf.get_section_by_name(".debug_info") is not None


def _symbol(entry: Any, sections: List[Any], has_thumb: bool) -> Optional[_Symbol]:
    from elftools.elf.constants import SH_FLAGS

    place, kind, bind = entry["st_shndx"], entry["st_info"]["type"], entry["st_info"]["bind"]
    if not entry.name or not isinstance(place, int) or place >= len(sections):
        return None
    flags, is_code = sections[place]["sh_flags"], kind in _FUNCTIONS
    is_label = kind == _LABEL and flags & SH_FLAGS.SHF_EXECINSTR and not is_mapping(entry.name)
    if not flags & SH_FLAGS.SHF_ALLOC or not (is_code or is_label or kind == _OBJECT):
        return None
    # Bit 0 of a T32 function's symbol is its state.
    start = entry["st_value"] & (~1 if has_thumb and is_code else ~0)
    limit = sections[place]["sh_addr"] + sections[place]["sh_size"]
    name, size, position = one_line(entry.name), entry["st_size"], entry["st_name"]
    return _Symbol(name, start, size, kind, limit, bind == "STB_LOCAL", bind == "STB_WEAK", position)
