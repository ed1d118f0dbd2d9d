"""Functions and data by address from the symbol tables of ELF files, for what has no debug information."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, Iterable, List, Optional

from gdb_etm.history.frames import Function
from gdb_etm.program.elf import open_elf


class SymbolTable:
    """The functions, or the data, of some ELF files.

    :param functions: In any order; where two begin at one address the first is kept.
    """

    def __init__(self, functions: Iterable[Function]) -> None:
        kept: Dict[int, Function] = {}
        for function in functions:
            kept.setdefault(function.start, function)
        self.functions = [kept[start] for start in sorted(kept)]
        """By address."""
        self._starts = [function.start for function in self.functions]

    def at(self, address: int) -> Optional[Function]:
        """Find the function that holds ``address``."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        function = self.functions[index]
        return function if address < function.end else None


def load_symbols(paths: Iterable[str]) -> SymbolTable:
    """Read the function symbols of ELF files.

    :raises ImageError: A file cannot be read.
    """
    return SymbolTable([function for path in paths for function in _symbols_of(path, "STT_FUNC")])


def load_variables(paths: Iterable[str]) -> SymbolTable:
    """Read the data symbols of ELF files.

    :raises ImageError: A file cannot be read.
    """
    return SymbolTable([variable for path in paths for variable in _symbols_of(path, "STT_OBJECT")])


def _symbols_of(path: str, kind: str) -> List[Function]:
    from elftools.elf.sections import SymbolTableSection

    found: List[Function] = []
    limits: Dict[int, int] = {}
    with open_elf(path) as elf:
        # Bit 0 of a T32 function's symbol is its state.
        thumb = ~1 if elf["e_machine"] == "EM_ARM" and kind == "STT_FUNC" else ~0
        ends = [section["sh_addr"] + section["sh_size"] for section in elf.iter_sections()]
        for section in elf.iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.iter_symbols():
                    if symbol["st_info"]["type"] == kind and symbol["st_shndx"] != "SHN_UNDEF":
                        start, place = symbol["st_value"] & thumb, symbol["st_shndx"]
                        found.append(Function(symbol.name, start, start + symbol["st_size"]))
                        if isinstance(place, int) and place < len(ends):
                            limits[start] = ends[place]
    return _with_ends(found, limits)


def _with_ends(functions: List[Function], limits: Dict[int, int]) -> List[Function]:
    # Assembler functions often have no size: they reach to the next symbol, or to the end of their section.
    ordered = sorted(functions, key=lambda function: function.start)
    starts = sorted({function.start for function in ordered})
    result = []
    for function in ordered:
        if function.end == function.start:
            after = bisect_right(starts, function.start)
            bounds = starts[after : after + 1] + [limits.get(function.start, function.start + 4)]
            function = function._replace(end=max(min(bounds), function.start))
        result.append(function)
    return result
