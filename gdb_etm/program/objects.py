"""A program's objects, by its symbol table: variables, functions, linker symbols."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, FrozenSet, Iterable, Iterator, List, Optional, Sequence

from gdb_etm.program.elf import open_elf
from gdb_etm.program.loaded import is_mapping
from gdb_etm.program.ram import Piece

_DATA = ("STT_OBJECT", "STT_NOTYPE")
# What no object has.
NO_OBJECT = -1


class Objects:
    """Objects in writable memory, and the code that may use them.

    Objects that overlap, such as aliases, are one.

    :param objects: Where objects begin and end.
    :param functions: Where functions begin and end, without overlaps.
    :param markers: Addresses of symbols without type, such as the bounds of sections that a linker script defines.
    """

    def __init__(self, objects: Iterable[Piece], functions: Iterable[Piece], markers: Iterable[int]) -> None:
        self._starts: List[int] = []
        self._ends: List[int] = []
        for start, end in sorted(objects):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)
        self.functions: Sequence[Piece] = sorted(functions)
        self.markers: FrozenSet[int] = frozenset(markers)

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, address: int) -> int:
        """Give the number of the object at an address, or NO_OBJECT."""
        found = bisect_right(self._starts, address) - 1
        return found if found >= 0 and address < self._ends[found] else NO_OBJECT

    def is_near(self, address: int, distance: int) -> bool:
        """Check whether an address is among the objects or near them.

        :param distance: In bytes.
        """
        return bool(self._starts) and self._starts[0] - distance <= address < self._ends[-1] + distance

    def function(self, address: int) -> Optional[Piece]:
        """Give where the function at an address begins and ends, if known."""
        found = bisect_right(self.functions, (address, 1 << 32)) - 1
        return self.functions[found] if found >= 0 and address < self.functions[found][1] else None

    def bounds(self, number: int) -> Piece:
        """Give an object's first address, and the address just past it."""
        return self._starts[number], self._ends[number]

    def between(self, start: int, end: int) -> range:
        """Give the numbers of the objects in a piece of memory."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))


def load_objects(paths: Sequence[str]) -> Objects:
    """Read the objects of ELF files.

    A file without a symbol table has none.

    :raises ImageError: When a file cannot be read.
    """
    objects: List[Piece] = []
    functions: List[Piece] = []
    markers: List[int] = []
    for path in paths:
        with open_elf(path) as elf:
            sections = list(elf.iter_sections())
            for symbol in _symbols(elf):
                section = sections[symbol["st_shndx"]] if symbol["st_shndx"] < len(sections) else None
                _take(symbol, section, objects, functions, markers)
    return Objects(objects, _to_the_next(functions), markers)


def _symbols(elf: Any) -> Iterator[Any]:
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if table is not None else ():
        if isinstance(symbol["st_shndx"], int) and not is_mapping(symbol.name):
            yield symbol


def _take(symbol: Any, section: Any, objects: List[Piece], functions: List[Piece], markers: List[int]) -> None:
    from elftools.elf.constants import SH_FLAGS

    value, size, kind = symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"]
    if section is None:
        return
    if kind == "STT_FUNC":
        functions.append((value & ~1, section["sh_addr"] + section["sh_size"]))
    elif kind in _DATA and section["sh_flags"] & SH_FLAGS.SHF_WRITE:
        # Compilers give some variables no type, but linker scripts give their symbols no size.
        if size:
            objects.append((value, value + size))
        else:
            markers.append(value)


def _to_the_next(functions: List[Piece]) -> List[Piece]:
    # A function goes on to the next one: assemblers do not always know its size, or know that of its first part.
    ends = dict(functions)
    starts = sorted(ends)
    following = [*starts[1:], max(ends.values(), default=0)]
    return [(start, min(ends[start], end)) for start, end in zip(starts, following)]
