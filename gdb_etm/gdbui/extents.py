"""Locations as GDB's ``break`` takes them, and all the code they stand for."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Callable, Iterable, List, Optional, Sequence, Tuple

import gdb

from gdb_etm.errors import CommandError
from gdb_etm.history.frames import Function

Range = Tuple[int, int]

_LINE = re.compile(r"(?:.*:)?\s*[+-]?\d+\Z")
_LINES = re.compile(r"((?:.*:)?)(\d+)-(\d+)\Z")
_INSTRUCTION = 2  # bytes, of the smallest
_LARGEST = 1 << 20  # bytes from a function's first part to its last that are looked through


class Extents:
    """Finds code by GDB's symbols.

    :param function_at: Finds functions without debug information too.
    """

    def __init__(self, function_at: Callable[[int], Optional[Function]]) -> None:
        self._function_at = function_at

    def code(self, text: str) -> Sequence[Range]:
        """Find all the code of a location.

        :raises CommandError: There is none.
        """
        lines = _LINES.match(text)
        if lines is not None:
            return self._lines(text, lines.group(1), int(lines.group(2)), int(lines.group(3)))
        places = decoded(text)
        if text.startswith("*"):
            return [(place.pc, place.pc) for place in places]
        if _LINE.match(text):
            found = [pair for place in places for pair in _of_line(place.symtab, place.line)]
            # A line may only mark where another begins.
            return found or [(place.pc, int(gdb.find_pc_line(place.pc).last or place.pc)) for place in places]
        return _some(text, [pair for place in places for pair in self._of_function(text, place.pc)])

    def entries(self, text: str) -> Sequence[int]:
        """Find where a location begins.

        :raises CommandError: There is none.
        """
        places = decoded(text)
        if text.startswith("*") or _LINE.match(text):
            return [place.pc for place in places]
        return list(dict.fromkeys(self._entry(text, place.pc) for place in places))

    def _lines(self, text: str, file: str, first: int, last: int) -> Sequence[Range]:
        if last < first:
            raise CommandError("the range %s ends before it begins" % text)
        tables = {place.symtab.fullname(): place.symtab for place in decoded("%s%d" % (file, first)) if place.symtab}
        found = [pair for table in tables.values() for line in range(first, last + 1) for pair in _of_line(table, line)]
        return _some(text, found)

    def _of_function(self, text: str, pc: int) -> Sequence[Range]:
        block = _block(text, pc)
        if block is not None:
            return _pieces(block)
        function = self._function_at(pc)
        return [(function.start, function.end - 1)] if function is not None else []

    def _entry(self, text: str, pc: int) -> int:
        block = _block(text, pc)
        if block is None:
            function = self._function_at(pc)
            return function.start if function is not None else pc
        if _is_inlined(block):
            return pc
        # The first of its parts need not be where it is entered.
        value = block.function.value().address
        return int(value) & ~1 if value is not None else int(block.start)


def decoded(text: str) -> "Sequence[gdb.Symtab_and_line]":
    """Resolve a location as ``break`` does; every place has an address.

    :raises CommandError: There is no such place.
    """
    try:
        rest, found = gdb.decode_line(text)
    except gdb.error as error:
        raise CommandError(str(error).rstrip("."))
    if rest:
        raise CommandError('"%s" is left over behind the location' % rest)
    return _some(text, [place for place in found or () if place.pc])


def completions(text: str, command: str = "break") -> List[str]:
    """List what GDB offers for a command, ``break`` if no other."""
    prefix = command + " "
    try:
        lines = gdb.execute("complete %s%s" % (prefix, text), False, True).splitlines()
    except gdb.error:
        return []
    return [line[len(prefix) :] for line in lines if line.startswith(prefix)]


def _some(text: str, found: List[gdb.Symtab_and_line]) -> List[gdb.Symtab_and_line]:
    if not found:
        raise CommandError("%s has no code" % text)
    return found


def _of_line(table: Optional[gdb.Symtab], line: int) -> Iterable[Range]:
    # A row ends where the next one begins, or where GDB says: the rows of other files are not in this table.
    rows = [(int(entry.pc), entry.line) for entry in table.linetable()] if table is not None else []
    starts = sorted({pc for pc, _ in rows})
    for pc in sorted({pc for pc, number in rows if number == line}):
        last = gdb.find_pc_line(pc).last
        at = bisect_right(starts, pc)
        ends = [int(last)] if last is not None else []
        ends += [starts[at] - 1] if at < len(starts) else []
        if ends:
            yield pc, min(ends)


def _block(text: str, pc: int) -> Optional[gdb.Block]:
    # The innermost one of that name: the place may be where the function was inlined.
    name = re.split(r"(?<!:):(?!:)", text)[-1].strip()
    found = None
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_global and not block.is_static:
        if block.function is not None:
            names = block.function.name, block.function.print_name, block.function.print_name.partition("(")[0]
            if name in names:
                return block
            found = block
        block = block.superblock
    return found


def _is_inlined(block: gdb.Block) -> bool:
    outer = block.superblock
    while outer is not None and not outer.is_global and not outer.is_static:
        if outer.function is not None:
            return True
        outer = outer.superblock
    return False


def _pieces(block: gdb.Block) -> List[Range]:
    # GDB tells of a block in several parts only where the first begins and the last ends, and which block an address is
    # in.
    start, end = int(block.start), int(block.end)
    if end - start > _LARGEST:
        raise CommandError("%s has parts that lie more than %d KiB apart: give addresses"
                           % (block.function.print_name, _LARGEST >> 10))
    result: List[Range] = []
    for address in range(start, end, _INSTRUCTION):
        if _is_in(address, block, start, end):
            last = min(address + _INSTRUCTION, end) - 1
            if result and result[-1][1] == address - 1:
                result[-1] = result[-1][0], last
            else:
                result.append((address, last))
    return result


def _is_in(address: int, wanted: gdb.Block, start: int, end: int) -> bool:
    block = gdb.block_for_pc(address)
    while block is not None and not block.is_global and not block.is_static:
        if block.function is not None and (block.start, block.end) == (start, end):
            return bool(block.function == wanted.function or block.function.name == wanted.function.name)
        block = block.superblock
    return False
