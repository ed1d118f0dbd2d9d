"""Code of locations, which are written as for GDB's ``break``."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Iterable, List, Optional, Sequence, Tuple, TypeVar

import gdb

from gdb_etm.errors import CommandError
from gdb_etm.gdbui.charset import ask
from gdb_etm.gdbui.debugger import GdbDebugger

Range = Tuple[int, int]
_Found = TypeVar("_Found")

_LINE = re.compile(r"(?:.*:)?\s*[+-]?\d+\Z")
_LINES = re.compile(r"((?:.*:)?)(\d+)-(\d+)\Z")
# Before what ``break`` takes after a location, and for another kind of location, ``gdb.decode_line`` asserts.
_NO_LINESPEC = re.compile(r"\s*(?:,|-probe|-force-condition|(?:if|task|thread|inferior)\s)")
_INSTRUCTION = 2  # bytes, of the smallest
_LARGEST = 1 << 20  # bytes from a function's first part to its last that are looked through


class Extents:
    """Finds code by GDB's symbols.

    :param debugger: Finds functions without debug information too, and knows which of them are there.
    """

    def __init__(self, debugger: GdbDebugger) -> None:
        self._function_at = debugger.function_at
        self._names_at = debugger.names_at
        self._there = debugger.there

    def code(self, text: str) -> Sequence[Range]:
        """Find all the code of a location.

        :raises CommandError: There is none.
        """
        lines = _LINES.match(text)
        if lines is not None:
            return self._lines(text, lines.group(1), int(lines.group(2)), int(lines.group(3)))
        places = self.places(text)
        if text.startswith("*"):
            return [(place.pc, place.pc) for place in places]
        if _LINE.match(text):
            found = [pair for place in places for pair in self._of_line(place.symtab, place.line)]
            # A line may only mark where another begins.
            return found or [(place.pc, int(gdb.find_pc_line(place.pc).last or place.pc)) for place in places]
        found = [pair for place in places for pair in self._of_function(text, place.pc)]
        return _some(text, list(dict.fromkeys(found)))

    def places(self, text: str) -> Sequence[gdb.Symtab_and_line]:
        """Resolve a location as ``break`` does; every place has an address.

        :raises CommandError: There is no such place.
        """
        try:
            _parse(text)
            rest, found = gdb.decode_line(text)
        except gdb.error as error:
            raise CommandError(str(error).rstrip("."))
        if rest:
            raise CommandError('"%s" is left over after the location' % rest)
        places = [place for place in found or () if place.pc is not None]
        there = [place for place in places if place.pc and self._is_there(text, place)]
        if not there and any(self._there.hides(place.pc) for place in places):
            raise CommandError("%s has no code: the linker dropped it" % text)
        return _some(text, there)

    def entries(self, text: str) -> Sequence[int]:
        """Find where a location begins.

        :raises CommandError: There is none.
        """
        places = self.places(text)
        if text.startswith("*") or _LINE.match(text):
            return [place.pc for place in places]
        return list(dict.fromkeys(self._entry(text, place.pc) for place in places))

    def _lines(self, text: str, file: str, first: int, last: int) -> Sequence[Range]:
        if last < first:
            raise CommandError("the range %s ends before it begins" % text)
        places = self.places("%s%d" % (file, first))
        tables = {place.symtab.fullname(): place.symtab for place in places if place.symtab}
        lines = range(first, last + 1)
        return _some(text, [pair for table in tables.values() for line in lines for pair in self._of_line(table, line)])

    def _is_there(self, text: str, place: gdb.Symtab_and_line) -> bool:
        if text.startswith("*") or not self._there.hides(place.pc):
            return True
        if _LINE.match(text):
            entry = self._there.entry(place.pc)
            return entry is not None and entry.line == place.line
        is_named = any(_is_called(name, text) for name in self._names_at(place.pc))
        return is_named or self._named_block(text, place.pc) is not None

    def _of_line(self, table: Optional[gdb.Symtab], line: int) -> Iterable[Range]:
        # A row ends where the next one begins, or where GDB says: the rows of other files are not in this table.
        rows = [(int(entry.pc), entry.line) for entry in table.linetable()] if table is not None else []
        starts = sorted({pc for pc, _ in rows})
        for pc in sorted({pc for pc, number in rows if number == line}):
            if self._there.hides(pc):
                entry = self._there.entry(pc)
                if entry is not None and (entry.line, entry.start) == (line, pc):
                    yield pc, entry.end - 1
                continue
            last = gdb.find_pc_line(pc).last
            at = bisect_right(starts, pc)
            ends = [int(last)] if last is not None else []
            ends += [starts[at] - 1] if at < len(starts) else []
            if ends:
                yield pc, min(ends)

    def _of_function(self, text: str, pc: int) -> Sequence[Range]:
        block = self._block(text, pc)
        # An assembler's has the T32 state in its address.
        if block is not None and not block.start & 1:
            return self._pieces(block)
        function = self._function_at(pc)
        return [(function.start, function.end - 1)] if function is not None else []

    def _entry(self, text: str, pc: int) -> int:
        block = self._block(text, pc)
        if block is None:
            function = self._function_at(pc)
            return function.start if function is not None else pc
        if _is_inlined(block):
            return pc
        # The first of its parts need not be where it is entered.
        value = block.function.value().address
        return int(value) & ~1 if value is not None else int(block.start)

    def _block(self, text: str, pc: int) -> Optional[gdb.Block]:
        found = self._named_block(text, pc)
        return found if found is not None else next(iter(self._there.blocks(pc)[-1:]), None)

    def _named_block(self, text: str, pc: int) -> Optional[gdb.Block]:
        # The innermost one of that name: the place may be where the function was inlined.
        blocks = self._there.blocks(pc)
        return next((block for block in blocks if _is_called(block.function.print_name, text)), None)

    def _pieces(self, block: gdb.Block) -> List[Range]:
        # Of a block in several parts GDB gives only the beginning of the first and the end of the last, and the block
        # that an address is in.
        start, end = int(block.start), int(block.end)
        if end - start > _LARGEST:
            raise CommandError(
                "%s has parts that lie more than %d KiB apart: give addresses"
                % (block.function.print_name, _LARGEST >> 10)
            )
        result: List[Range] = []
        for address in range(start, end, _INSTRUCTION):
            if self._is_in(address, block):
                last = min(address + _INSTRUCTION, end) - 1
                if result and result[-1][1] == address - 1:
                    result[-1] = result[-1][0], last
                else:
                    result.append((address, last))
        return result

    def _is_in(self, address: int, wanted: gdb.Block) -> bool:
        blocks = self._there.blocks(address)
        for block in blocks:
            if (block.start, block.end) == (wanted.start, wanted.end):
                return bool(block.function == wanted.function or block.function.name == wanted.function.name)
        if blocks or _is_inlined(wanted) or not self._there.hides(address):
            return False
        # GDB sees but a function that was dropped.
        function = self._function_at(address)
        return function is not None and function.name == wanted.function.print_name


def completions(text: str, command: str = "break") -> List[str]:
    """List what GDB offers for a command, ``break`` if no other."""
    prefix = command + " "
    try:
        lines = ask("complete %s%s" % (prefix, text)).splitlines()
    except (gdb.error, CommandError):
        return []
    return [line[len(prefix) :] for line in lines if line.startswith(prefix)]


def _parse(text: str) -> None:
    """Have a command of GDB's parse what ``gdb.decode_line`` must not fail at.

    An address or a quote that it cannot parse raises through Python's own frames there, and GDB crashes soon after
    (GDB 13.1, python/python.c, gdbpy_decode_line: string_to_location_spec_basic is outside its try).

    :raises gdb.error: It cannot be parsed.
    :raises CommandError: There is no location.
    """
    if _NO_LINESPEC.match(text):
        raise CommandError('"%s" is no location' % text)
    if text.startswith("*"):
        ask("info symbol " + text[1:])
    elif "'" in text or '"' in text:
        ask("info scope " + text)


def _some(text: str, found: List[_Found]) -> List[_Found]:
    if not found:
        raise CommandError("%s has no code" % text)
    return found


def _is_inlined(block: gdb.Block) -> bool:
    outer = block.superblock
    while outer is not None and not outer.is_global and not outer.is_static:
        if outer.function is not None:
            return True
        outer = outer.superblock
    return False


def _is_called(function: str, text: str) -> bool:
    # A location may leave out namespaces and parameters.
    name = re.split(r"(?<!:):(?!:)", text)[-1].strip()
    return any(one == name or one.endswith("::" + name) for one in (function, function.partition("(")[0]))
