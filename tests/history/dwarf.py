"""Line tables, functions and inlined functions, merged as GDB's versions do.

Read by pyelftools.

GDB 18 also takes a last statement without code of its own to an inlined function, with the code of its caller behind
it.  That is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from gdb_etm.history.frames import Function
from gdb_etm.history.lines import Inlined, InlinedKey, LineEntry


class Row(NamedTuple):
    """A row of a line table."""

    address: int
    file: str
    line: int
    is_statement: bool


class Block(NamedTuple):
    """An inlined function, or a block in braces."""

    ranges: Tuple[Tuple[int, int], ...]
    outer: Optional[Block]
    # Empty for a block in braces.
    name: str = ""
    call: Tuple[str, int] = ("", 0)
    entry: int = 0

    @property
    def key(self) -> InlinedKey:
        ends = [end for _, end in self.ranges]
        return InlinedKey(min(start for start, _ in self.ranges), max(ends), self.name, self.entry)

    def holds(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)


class DwarfPlaces:
    """The symbol tables of an ELF file.

    :param path: The file.
    :param version: Of the GDB, its first number.
    """

    def __init__(self, path: str, version: int = 13) -> None:
        self.version = version
        # In address order; of the rows at one address GDB takes the last that is a statement.
        self.rows: List[Row] = []
        self.ends: List[int] = []
        self.functions: List[Function] = []
        # Outer before inner; of those at an address GDB takes the last.
        self.blocks: List[Block] = []
        with open(path, "rb") as file:
            elf = ELFFile(file)
            dwarf = elf.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                self._lines(dwarf, unit)
                self._blocks(dwarf, unit, unit.get_top_DIE(), None)
            self._symbols(elf)
        self.rows.sort(key=lambda row: row.address)
        self._addresses = [row.address for row in self.rows]
        self.functions.sort(key=lambda function: function.start)
        self._starts = [function.start for function in self.functions]
        self._known: Dict[int, Optional[LineEntry]] = {}

    def line_at(self, address: int) -> Optional[LineEntry]:
        if address not in self._known:
            self._known[address] = self._line(address)
        return self._known[address]

    def _line(self, address: int) -> Optional[LineEntry]:
        at = bisect_right(self._addresses, address) - 1
        if at < 0:
            return None
        start = self.rows[at].address
        if any(start < end <= address for end in self.ends):
            return None
        same = [row for row in self.rows[max(0, at - 20) : at + 1] if row.address == start]
        best = next((row for row in reversed(same) if row.is_statement), same[-1])
        following = [self._following(at)] + [end for end in self.ends if end > start]
        doubled = sum(row.file == best.file for row in same) > 1
        return LineEntry(best.file, best.line, start, min(following), best.is_statement, doubled)

    def _following(self, at: int) -> int:
        # Where the next entry begins: since GDB 15 the next that is a statement, or of another line.
        last, at = self.rows[at], at + 1
        while self.version >= 15 and at < len(self.rows):
            row = self.rows[at]
            if row[1:3] != last[1:3] or row.is_statement:
                break
            at += 1
        return self.rows[at].address if at < len(self.rows) else 1 << 62

    def function_at(self, address: int) -> Optional[Function]:
        at = bisect_right(self._starts, address) - 1
        found = self.functions[at] if at >= 0 else None
        return found if found is not None and address < found.end else None

    def inlined_at(self, address: int) -> Sequence[Inlined]:
        before = self._at(address - 1)
        found = [block for block in self._at(address) if block.name]
        return [Inlined(b.key, b.name, b.call, b not in before or b.entry == address) for b in reversed(found)]

    def _at(self, address: int) -> List[Block]:
        # The blocks around an address, innermost first.
        block = next((block for block in reversed(self.blocks) if block.holds(address)), None)
        found = []
        while block is not None:
            found.append(block)
            block = block.outer
        return found

    def _lines(self, dwarf: Any, unit: Any) -> None:
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            return
        before: Optional[Row] = None
        discriminated = False
        address, has_statement = -1, False
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                self.ends.append(state.address)
                before = None
                continue
            row = Row(state.address, _file(program, state.file), state.line, bool(state.is_stmt))
            # GDB leaves out a row of another file that is no statement behind one at the same address that is.
            statement_before = has_statement and row.address == address
            address, has_statement = row.address, statement_before or row.is_statement
            if before is not None and row.file != before.file and statement_before and not row.is_statement:
                continue
            # GDB leaves out a row of the same line as the one before if discriminators have told blocks apart.
            same = before is not None and before[1:3] == row[1:3]
            discriminated = bool(state.discriminator) or (same and discriminated)
            if not same or not discriminated:
                self.rows.append(row)
            before = row

    def _blocks(self, dwarf: Any, unit: Any, die: Any, outer: Optional[Block]) -> None:
        block: Optional[Block] = None
        if die.tag in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
            # GDB 18 takes parts without code for parts of one byte: GCC has functions entered in such.
            parts = ((start, end + (start == end and self.version >= 18)) for start, end in _ranges(dwarf, unit, die))
            ranges = tuple(pair for pair in parts if pair[0] != pair[1])
            block = Block(ranges, outer) if ranges else None
        if block is not None and die.tag == "DW_TAG_inlined_subroutine":
            origin = die.get_DIE_from_attribute("DW_AT_abstract_origin")
            file = _file(dwarf.line_program_for_CU(unit), die.attributes["DW_AT_call_file"].value)
            call = (file, die.attributes["DW_AT_call_line"].value)
            name = origin.attributes["DW_AT_name"].value.decode()
            block = block._replace(name=name, call=call, entry=self._entry(die, block.ranges))
        self.blocks += [block] if block is not None else []
        for child in die.iter_children():
            self._blocks(dwarf, unit, child, block or outer)

    def _entry(self, die: Any, ranges: Sequence[Tuple[int, int]]) -> int:
        # GDB 16 and later believe DW_AT_entry_pc where it is in one of the parts.
        attribute = die.attributes.get("DW_AT_entry_pc")
        if attribute is None or self.version < 16:
            return ranges[0][0]
        entry = int(attribute.value) + (ranges[0][0] if attribute.form != "DW_FORM_addr" else 0)
        return entry if any(start <= entry < end for start, end in ranges) else ranges[0][0]

    def _symbols(self, elf: Any) -> None:
        found: Dict[int, Function] = {}
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(symbol["st_shndx"], int):
                thumb = 1 if elf["e_machine"] == "EM_ARM" else 0
                start = symbol["st_value"] & ~thumb
                found.setdefault(start, Function(symbol.name, start, start + symbol["st_size"]))
        starts = sorted(found) + [1 << 62]
        for at, start in enumerate(starts[:-1]):
            function = found[start]
            if function.end == start:  # assembler functions have no size
                function = function._replace(end=min(starts[at + 1], start + 4096))
            self.functions.append(function)


def _file(program: Any, number: int) -> str:
    version = program["version"]
    entry = program["file_entry"][number if version >= 5 else number - 1]
    return str(entry.name.decode() if isinstance(entry.name, bytes) else entry.name)


def _ranges(dwarf: Any, unit: Any, die: Any) -> List[Tuple[int, int]]:
    if "DW_AT_low_pc" in die.attributes:
        low = die.attributes["DW_AT_low_pc"].value
        high = die.attributes["DW_AT_high_pc"]
        return [(low, low + high.value if high.form != "DW_FORM_addr" else high.value)]
    if "DW_AT_ranges" not in die.attributes:
        return []
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    offset = base.value if base is not None else 0
    result = []
    for entry in dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit):
        if isinstance(entry, BaseAddressEntry):
            offset = entry.base_address
            continue
        add = 0 if getattr(entry, "is_absolute", False) else offset
        result.append((entry.begin_offset + add, entry.end_offset + add))
    return result
