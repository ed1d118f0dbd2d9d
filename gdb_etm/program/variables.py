"""Static variables by address: which member of which variable is there.

Ref: DWARF Debugging Information Format, version 5, 4.1 (variables), 2.6.1 (location descriptions).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.containers import Container, Pointee, known_containers, known_pointee
from gdb_etm.program.data_symbols import DataSymbol, DataSymbols, read_data_symbols
from gdb_etm.program.datatypes import UNKNOWN, DataType, Types
from gdb_etm.program.dies import DebugTree, attribute, name_of, qualified
from gdb_etm.program.elf import open_elf, readable
from gdb_etm.program.expressions import static_address
from gdb_etm.program.names import name_text

_UNREADABLE = "has debug information that cannot be read"
# Of a location with an address, in bytes; an address where no data are.
_LONGEST, _NOWHERE = 32, -1
# Of addresses without a symbol, in one question.
_MOST_STRAYS = 32


class _Variable(NamedTuple):
    path: str
    start: int
    # In bytes.
    size: int
    # None without debug information.
    type: Optional[DataType]


class StaticVariables:
    """Static variables of ELF files.

    Where files have data at one address, that of the earlier one counts.  What damaged debug information says is not
    known: then a variable is one piece, by its symbol.

    :param files: The variables of each file.
    """

    def __init__(self, files: Sequence[_File]) -> None:
        self._files = files

    def containers(self, address: int) -> Sequence[Container]:
        """Give what holds an address, from the outside in.

        That is the variable, its member, and so on to the innermost.  Each lies within the one before.

        :returns: Empty where no static variable is.
        """
        for file in self._files:
            found = file.containers(address)
            if found:
                return [container for container, _ in found]
        return ()

    def path_at(self, address: int) -> Optional[Container]:
        """Give the innermost member that holds an address.

        Of a union it is one of the first member; padding belongs to the structure.
        """
        found = self.containers(address)
        return found[-1] if found else None

    def pointee(self, address: int) -> Optional[Pointee]:
        """Give what the pointer at an address points to, by its type.

        :returns: None where no pointer is, for ``void *``, and where the type is incomplete.
        """
        for file in self._files:
            found = file.containers(address)
            if found:
                kind = found[-1][1]
                return known_pointee(kind) if kind is not None else None
        return None

    @property
    def symbols(self) -> List[DataSymbol]:
        """The symbols of data, file by file, by address."""
        return [symbol for file in self._files for symbol in file.symbols]


class _File:
    def __init__(self, path: str, symbols: DataSymbols, filled: Sequence[Tuple[int, int]]) -> None:
        self.symbols = symbols
        self._path, self._filled = path, filled
        self._types: Optional[Types] = None
        self._known: Dict[int, Optional[_Variable]] = {}
        # Positions in .debug_info by the address that stands there.
        self._positions: Dict[int, List[int]] = {}
        self._starts: List[int] = []

    def set_debug_information(self, tree: DebugTree) -> None:
        self._types = Types(tree)
        for position in _positions(tree):
            start = _address(tree, tree.data[position : position + tree.data[position - 1]], position)
            if start is not None and any(low <= start < high for low, high in self._filled):
                self._positions.setdefault(start, []).append(position)
        self._starts = sorted(self._positions)

    def containers(self, address: int) -> List[Tuple[Container, Optional[DataType]]]:
        found = self._variable(address)
        if found is None:
            return []
        known: List[Tuple[Container, Optional[DataType]]] = []
        if found.type is not None:
            known += known_containers(found.path, found.type, found.start, found.size, address)
        return known or [(Container(found.path, found.start, found.size, UNKNOWN, ""), None)]

    def _variable(self, address: int) -> Optional[_Variable]:
        symbol = self.symbols.at(address)
        if symbol is not None:
            if symbol.start not in self._known:
                plain = _Variable(symbol.name, symbol.start, symbol.size, None)
                self._known[symbol.start] = self._debugged(symbol.start, symbol) or plain
            return self._known[symbol.start]
        return self._stray(address) if any(low <= address < high for low, high in self._filled) else None

    def _stray(self, address: int) -> Optional[_Variable]:
        # One whose symbol was left out of the file; addresses also stand in what describes calls.
        index = bisect_right(self._starts, address) - 1
        for start in reversed(self._starts[max(index + 1 - _MOST_STRAYS, 0) : index + 1]):
            if start == 0 or self.symbols.names(start):
                return None
            if start not in self._known:
                self._known[start] = self._debugged(start, None)
            found = self._known[start]
            if found is not None:
                return found if address < start + found.size else None
        return None

    def _debugged(self, start: int, symbol: Optional[DataSymbol]) -> Optional[_Variable]:
        best: Tuple[Tuple[bool, bool, bool], Optional[_Variable]] = (False, False, False), None
        for position in self._positions.get(start, ()):
            try:
                with readable(self._path, _UNREADABLE):
                    ranked = self._rank(start, position, symbol)
            except ImageError:
                continue
            if ranked is not None and (best[1] is None or ranked[0] > best[0]):
                best = ranked
            if all(best[0]):
                break
        return best[1]

    def _rank(
        self, start: int, position: int, symbol: Optional[DataSymbol]
    ) -> Optional[Tuple[Tuple[bool, bool, bool], _Variable]]:
        # The variable whose location a position is in; several may say that they are there.
        if self._types is None:
            return None
        die = self._types.tree.path(position)[-1]
        location = die.attributes.get("DW_AT_location")
        if die.tag != "DW_TAG_variable" or location is None:
            return None
        tree = self._types.tree
        if _address(tree, location.value, position) != start:
            return None
        is_named = _is_named(die, self.symbols.names(start))
        # The linker gives variables that it dropped the address 0.
        kind = self._types.of(die)
        if kind is None or start == 0 and not is_named:
            return None
        size = kind.size
        rank = is_named, size > 0, symbol is not None and size == symbol.size
        whole = max(size, symbol.size if symbol is not None else 0)
        return rank, _Variable(qualified(tree, die), start, whole, kind)


def load_variables(paths: Sequence[str]) -> StaticVariables:
    """Find the static variables of ELF files.

    Their types are read when somebody asks.

    :raises ImageError: When a file cannot be read.  Damaged debug information is as none.
    """
    return StaticVariables([_load(path) for path in paths])


def _load(path: str) -> _File:
    from elftools.elf.constants import SH_FLAGS

    with open_elf(path) as elf:
        filled = [
            (section["sh_addr"], section["sh_addr"] + section["sh_size"])
            for section in elf.iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and not section["sh_flags"] & SH_FLAGS.SHF_TLS
        ]
        file = _File(path, read_data_symbols(elf), filled)
        try:
            with readable(path, _UNREADABLE):
                if elf.has_dwarf_info():
                    file.set_debug_information(DebugTree(elf))
        except ImageError:
            pass  # nothing is known
        return file


def _positions(tree: DebugTree) -> Iterator[int]:
    # Offsets in .debug_info of whatever looks like the location of a static variable, behind its length.
    # DW_OP_addr alone; with DW_OP_plus_uconst; DW_OP_addrx.
    yield from (found.end() - 1 for found in re.finditer(re.escape(bytes((tree.address_size + 1, 3))), tree.data))
    added = b"\x03(?=.{%d}\x23)" % tree.address_size
    for found in re.finditer(added, tree.data, re.DOTALL):
        if tree.address_size + 2 < tree.data[found.start() - 1] < _LONGEST:
            yield found.start()
    if tree.dwarf.debug_addr_sec is not None:
        yield from (found.end() - 1 for found in re.finditer(b"[\x02-\x04]\xa1", tree.data))


def _address(tree: DebugTree, expression: Sequence[int], position: int) -> Optional[int]:
    # The address that an expression at a position states.
    def indexed(index: int) -> int:
        try:
            with readable("", _UNREADABLE):
                return int(tree.dwarf.get_addr(tree.unit_at(position), index))
        except ImageError:
            return _NOWHERE  # it only looks like an index

    return static_address(expression, tree.address_size, tree.order, indexed)


def _is_named(die: Any, symbols: Sequence[str]) -> bool:
    linkage = attribute(die, "DW_AT_linkage_name")
    names = [name_of(die)]
    if linkage is not None and isinstance(linkage.value, bytes):
        names.append(name_text(linkage.value))
    # Of a copy, or of a variable in a function: with a number.
    return any(symbol == name or symbol.startswith(name + ".") for symbol in symbols for name in names if name)
