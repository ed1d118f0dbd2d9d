"""Line tables, functions and inlined functions as pyelftools reads them, put together as GDB does."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from gdb_etm.history.frames import Function
from gdb_etm.history.lines import Inlined, Line


class Row(NamedTuple):
    """A row of a line table."""

    address: int
    file: str
    line: int
    is_statement: bool


class Block(NamedTuple):
    """An inlined function."""

    ranges: Tuple[Tuple[int, int], ...]
    name: str
    call: Tuple[str, int]

    def holds(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)


class DwarfPlaces:
    """The symbol tables of an ELF file.

    :param path: The file.
    """

    def __init__(self, path: str) -> None:
        self.rows: List[Row] = []
        """In address order; of the rows at one address GDB takes the last that is a statement."""
        self.ends: List[int] = []
        self.functions: List[Function] = []
        self.blocks: List[Block] = []
        """Outer before inner."""
        with open(path, "rb") as file:
            elf = ELFFile(file)
            dwarf = elf.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                self._lines(dwarf, unit)
                self._dies(dwarf, unit)
            self._symbols(elf)
        self.rows.sort(key=lambda row: row.address)
        self._addresses = [row.address for row in self.rows]
        self.functions.sort(key=lambda function: function.start)
        self._starts = [function.start for function in self.functions]
        self._known: Dict[int, Optional[Line]] = {}

    def line_at(self, address: int) -> Optional[Line]:
        if address not in self._known:
            self._known[address] = self._line(address)
        return self._known[address]

    def _line(self, address: int) -> Optional[Line]:
        at = bisect_right(self._addresses, address) - 1
        if at < 0:
            return None
        start = self.rows[at].address
        if any(start < end <= address for end in self.ends):
            return None
        same = [row for row in self.rows[max(0, at - 20) : at + 1] if row.address == start]
        best = next((row for row in reversed(same) if row.is_statement), same[-1])
        following = [a for a in self._addresses[at + 1 :][:1]] + [end for end in self.ends if end > start]
        doubled = sum(row.file == best.file for row in same) > 1
        return Line(best.file, best.line, start, min(following), best.is_statement, doubled)

    def function_at(self, address: int) -> Optional[Function]:
        at = bisect_right(self._starts, address) - 1
        found = self.functions[at] if at >= 0 else None
        return found if found is not None and address < found.end else None

    def inlined_at(self, address: int) -> Sequence[Inlined]:
        return [
            Inlined((b.ranges[0][0], b.ranges[-1][1], b.name), b.name, b.call, not b.holds(address - 1))
            for b in self.blocks
            if b.holds(address)
        ]

    def _lines(self, dwarf: Any, unit: Any) -> None:
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            return
        before: Optional[Row] = None
        discriminated = False
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                self.ends.append(state.address)
                before = None
                continue
            row = Row(state.address, _file(program, state.file), state.line, bool(state.is_stmt))
            # GDB leaves out a row of the same line as the one before if discriminators have told blocks apart.
            same = before is not None and before[1:3] == row[1:3]
            discriminated = bool(state.discriminator) or (same and discriminated)
            if not same or not discriminated:
                self.rows.append(row)
            before = row

    def _dies(self, dwarf: Any, unit: Any) -> None:
        program = dwarf.line_program_for_CU(unit)
        for die in unit.iter_DIEs():
            if die.tag != "DW_TAG_inlined_subroutine":
                continue
            ranges = _ranges(dwarf, unit, die)
            if ranges:
                origin = die.get_DIE_from_attribute("DW_AT_abstract_origin")
                file = _file(program, die.attributes["DW_AT_call_file"].value)
                call = (file, die.attributes["DW_AT_call_line"].value)
                self.blocks.append(Block(ranges, origin.attributes["DW_AT_name"].value.decode(), call))

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


def _ranges(dwarf: Any, unit: Any, die: Any) -> Tuple[Tuple[int, int], ...]:
    if "DW_AT_low_pc" in die.attributes:
        low = die.attributes["DW_AT_low_pc"].value
        high = die.attributes["DW_AT_high_pc"]
        return ((low, low + high.value if high.form != "DW_FORM_addr" else high.value),)
    if "DW_AT_ranges" not in die.attributes:
        return ()
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    offset = base.value if base is not None else 0
    result = []
    for entry in dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit):
        if isinstance(entry, BaseAddressEntry):
            offset = entry.base_address
            continue
        add = 0 if getattr(entry, "is_absolute", False) else offset
        result.append((entry.begin_offset + add, entry.end_offset + add))
    return tuple(pair for pair in result if pair[0] != pair[1])
