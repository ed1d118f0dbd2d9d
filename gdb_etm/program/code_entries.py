"""Functions, inlined functions and blocks, by the address of their code.

Ref: DWARF Debugging Information Format, version 5, 2.17 (code addresses), 3.3 (functions), 6.1.2 (.debug_aranges).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from gdb_etm.program.dies import DebugTree, is_of_types
from gdb_etm.program.loaded import LoadedElf

# First address, and the address just past the last.
CodeRange = Tuple[int, int]

_OUTER = ("DW_TAG_namespace", "DW_TAG_module")
_INNER = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine", "DW_TAG_try_block", "DW_TAG_catch_block")
_MOST_LEVELS = 64


class CodeEntries:
    """The entries of one file that are of code.

    Its methods raise whatever pyelftools does where the file is damaged.

    :param tree: The file's debug information.
    :param loaded: The memory that the file fills: other code was dropped.
    :param has_thumb: Whether bit 0 of an address may be an instruction set's.
    """

    def __init__(self, tree: DebugTree, loaded: LoadedElf, has_thumb: bool) -> None:
        self.tree = tree
        self._loaded, self._mask = loaded, ~1 if has_thumb else ~0
        self._code: Dict[Tuple[bool, int], List[CodeRange]] = {}
        self._functions: Dict[int, List[Tuple[int, int, int]]] = {}
        # First address, address just past the last, offset of the unit: by .debug_aranges.
        self._ranges: List[Tuple[int, int, int]] = []
        table = tree.dwarf.get_aranges()
        for one in table.entries if table is not None else ():
            if self._is_there(one.begin_addr, one.begin_addr + one.length):
                self._ranges.append((one.begin_addr, one.begin_addr + one.length, one.info_offset))
        self._ranges.sort()
        self._listed: Set[int] = {offset for _, _, offset in self._ranges}

    def function(self, address: int) -> Optional[Any]:
        """Give the function that has an instruction, as pyelftools has it."""
        for unit in self._units(address):
            functions = self._functions_of(unit)
            index = bisect_right(functions, (address, 1 << 64, 0)) - 1
            if index >= 0 and address < functions[index][1]:
                return unit.get_DIE_from_refaddr(functions[index][2])
        return None

    def inside(self, function: Any, address: int) -> List[Any]:
        """Give what is at an address, from a function's entry down.

        That is the function, and blocks and inlined functions in it."""
        found = [function]
        while len(found) < _MOST_LEVELS:
            children = self.tree.children_of_kind(found[-1], *_INNER, with_code=True)
            held = next((one for one in children if self.holds(one, address)), None)
            if held is None:
                break
            found.append(held)
        return found

    def holds(self, die: Any, address: int) -> bool:
        """Say whether an address is of an entry's code."""
        return any(start <= address < end for start, end in self.ranges(die))

    def ranges(self, die: Any) -> List[CodeRange]:
        """Give the code of an entry, in the file's order.

        Where it begins is first."""
        key = is_of_types(die.cu), die.offset
        if key not in self._code:
            self._code[key] = self._ranges_of(die)
            self.tree.information.count_items(len(self._code[key]))
        return self._code[key]

    def _ranges_of(self, die: Any) -> List[CodeRange]:
        low, high, ranges = (die.attributes.get("DW_AT_" + name) for name in ("low_pc", "high_pc", "ranges"))
        found: List[CodeRange] = []
        if ranges is not None:
            base = base_of(die.cu)
            for one in self.tree.information.ranges(ranges.value, die.cu):
                if hasattr(one, "base_address"):
                    base = one.base_address
                else:
                    offset = 0 if one.is_absolute else base
                    found.append((one.begin_offset + offset, one.end_offset + offset))
        elif low is not None and high is not None:
            is_address = high.form == "DW_FORM_addr" or high.form.startswith("DW_FORM_addrx")
            found.append((low.value, high.value if is_address else low.value + high.value))
        return [(start & self._mask, end) for start, end in found if self._is_there(start & self._mask, end)]

    def _is_there(self, start: int, end: int) -> bool:
        return start < end and self._loaded.holds_code(start, end - start)

    def _units(self, address: int) -> Iterator[Any]:
        index = bisect_right(self._ranges, (address, 1 << 64, 0)) - 1
        if index >= 0 and address < self._ranges[index][1]:
            yield self.tree.unit_at(self._ranges[index][2])
        # Units of some compilers are not listed.
        for offset in self.tree.unit_offsets:
            if offset not in self._listed:
                unit = self.tree.unit_at(offset)
                if self._may_hold(unit, address):
                    yield unit

    def _may_hold(self, unit: Any, address: int) -> bool:
        top = unit.get_top_DIE()
        return (
            "DW_AT_ranges" not in top.attributes and "DW_AT_high_pc" not in top.attributes or self.holds(top, address)
        )

    def _functions_of(self, unit: Any) -> List[Tuple[int, int, int]]:
        found = self._functions.get(unit.cu_offset)
        if found is None:
            found = self._functions[unit.cu_offset] = []
            waiting = [unit.get_top_DIE()]
            for _ in range(_MOST_LEVELS):
                if not waiting:
                    break
                for outer in waiting:
                    for die in self.tree.children_of_kind(outer, "DW_TAG_subprogram", with_code=True):
                        found += [(start, end, die.offset) for start, end in self.ranges(die)]
                waiting = [one for outer in waiting for one in self.tree.children_of_kind(outer, *_OUTER)]
            found.sort()
        return found


def base_of(unit: Any) -> int:
    """Give the address that a unit's lists begin with (DWARF 5, 3.1.1)."""
    low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    return int(low.value) if low is not None else 0
