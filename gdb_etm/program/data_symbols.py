"""Symbols of data in ELF files.

Ref: System V ABI, "Symbol Table".
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import accumulate
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.loaded import is_mapping
from gdb_etm.program.names import name_text

# pyelftools takes a second for some ten thousand symbols.
_LAYOUTS = {32: ("IIIBxH", (0, 1, 2, 3, 4)), 64: ("IBxHQQ", (0, 3, 4, 1, 2))}
_NOTYPE, _OBJECT, _FUNC = 0, 1, 2
# GCC's, and Clang's, names for copies with other parameters and for parts.
_COPIES = (".isra.", ".constprop.", ".part.", ".specialized.")


class DataSymbol(NamedTuple):
    """A symbol of data."""

    name: str
    start: int
    # In bytes; never 0.
    size: int


class DataSymbols:
    """Symbols of data, by address.

    :param symbols: In any order.  Of those that hold an address the one that begins last is found, and of those that
        begin together the largest.
    """

    def __init__(self, symbols: Iterable[DataSymbol]) -> None:
        self._symbols = sorted(symbols, key=lambda one: (one.start, one.size))
        self._starts = [one.start for one in self._symbols]
        self._reached = list(accumulate((one.start + one.size for one in self._symbols), max))
        self._names: Dict[int, List[str]] = {}
        for one in self._symbols:
            self._names.setdefault(one.start, []).append(one.name)

    def __len__(self) -> int:
        return len(self._symbols)

    def __iter__(self) -> Any:
        return iter(self._symbols)

    def at(self, address: int) -> Optional[DataSymbol]:
        """Find the symbol whose data hold an address."""
        index = bisect_right(self._starts, address) - 1
        while index >= 0 and address < self._reached[index]:
            if address < self._starts[index] + self._symbols[index].size:
                return self._symbols[index]
            index -= 1
        return None

    def names(self, start: int) -> List[str]:
        """Give the names of the data that begin at an address."""
        return self._names.get(start, [])


def read_data_symbols(elf: Any) -> DataSymbols:
    """Read the symbols of data of an ELF file.

    Data in assembly may have a size and no type.  A file without a symbol table has none.

    :param elf: The file, as pyelftools has it.
    """
    from elftools.elf.constants import SH_FLAGS

    flags = [section["sh_flags"] for section in elf.iter_sections()]
    found = []
    for name, value, size, kind, place in _symbols(elf, (_NOTYPE, _OBJECT)):
        if not size or not 0 < place < len(flags) or not flags[place] & SH_FLAGS.SHF_ALLOC:
            continue
        if (kind == _OBJECT or not flags[place] & SH_FLAGS.SHF_EXECINSTR) and not is_mapping(name):
            found.append(DataSymbol(name, value, size))
    return DataSymbols(found)


def changed_copies(elf: Any) -> List[int]:
    """Give where functions begin whose parameters may have been changed.

    They are copies, or parts, that a compiler made for some callers.

    :param elf: The file, as pyelftools has it.
    """
    return [value & ~1 for name, value, _, _, _ in _symbols(elf, (_FUNC,)) if any(part in name for part in _COPIES)]


def _symbols(elf: Any, kinds: Sequence[int]) -> Iterator[Tuple[str, int, int, int, int]]:
    # Name, value, size, type and section's number.
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return
    names = elf.get_section(table["sh_link"]).data()
    text, order = _LAYOUTS[elf.elfclass]
    layout = struct.Struct(("<" if elf.little_endian else ">") + text)
    data = table.data()
    for fields in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
        name, value, size, info, place = (fields[at] for at in order)
        if info & 15 in kinds:
            yield name_text(names[name : names.find(b"\0", name)]), value, size, info & 15, place
