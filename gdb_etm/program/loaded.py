"""Debug information of an ELF file, restricted to code that exists.

Linkers keep that of functions which they dropped.

GNU ld gives functions that it drops (``--gc-sections``, other copies of a template) the address 0; LLD gives them the
highest addresses (DWARF 5, 2.17.4, calls it a tombstone).  Where code is loaded at 0 too, the symbol table decides.
"""

from __future__ import annotations

import struct
from typing import Any, Dict, List, Tuple

from gdb_etm.program.names import one_line

_CODE = ("STT_FUNC", "STT_NOTYPE")
# The value in a symbol of 32-bit and of 64-bit files (System V ABI, "Symbol Table").
_VALUE = {32: "4xI8x", 64: "8xQ8x"}


class LoadedElf:
    """The memory that an ELF file fills.

    :param elf: The file, as pyelftools has it.
    """

    def __init__(self, elf: Any) -> None:
        # Where its sections with contents begin and end; its segments where they are all it has.
        self.filled = _sections(elf) or _segments(elf)
        there = _at_zero(elf) if self.holds(0) else {}
        marks = [name[1] for name in there if is_mapping(name)]
        # Whether there are instructions at address 0; vectors of a microcontroller are none.
        self.has_code_at_zero = "d" not in marks and bool(there)
        # Names and sizes (0: not known) of the code at address 0.
        self.at_zero = {name: size for name, size in there.items() if self.has_code_at_zero and not is_mapping(name)}

    def holds(self, address: int) -> bool:
        """Return whether an address is in it."""
        return any(start <= address < end for start, end in self.filled)

    def holds_code(self, start: int, size: int) -> bool:
        """Return whether there is code in ``size`` bytes from ``start``.

        Where there is not, debug information of that range is of a dropped function.
        """
        return self.holds(start) and (start != 0 or size in self.at_zero.values())


def is_name_of(symbol: str, function: str) -> bool:
    """Return whether a symbol is of a function, or of its copy.

    A copy or a part has a name such as ``name.constprop.0``.
    """
    return symbol == function or symbol.startswith(function + ".")


def is_mapping(name: str) -> bool:
    """Return whether a symbol marks instructions or data.

    These are ``$a``, ``$t`` and ``$d`` (AAELF32, 5.5.5).
    """
    return name[:2] in ("$a", "$t", "$d", "$x") and name[2:3] in ("", ".")


def _sections(elf: Any) -> List[Tuple[int, int]]:
    from elftools.elf.constants import SH_FLAGS

    return [
        (section["sh_addr"], section["sh_addr"] + section["sh_size"])
        for section in elf.iter_sections()
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS" and section["sh_size"]
    ]


def _segments(elf: Any) -> List[Tuple[int, int]]:
    return [(one["p_vaddr"], one["p_vaddr"] + one["p_filesz"]) for one in elf.iter_segments("PT_LOAD")]


def _at_zero(elf: Any) -> Dict[str, int]:
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return {}
    # pyelftools takes a tenth of a second for some thousand symbols.  Bit 0 of a T32 function's symbol is its state.
    layout = struct.Struct(("<" if elf.little_endian else ">") + _VALUE[elf.elfclass])
    data = table.data()
    values = layout.iter_unpack(data[: len(data) // layout.size * layout.size])
    there = [table.get_symbol(number) for number, (value,) in enumerate(values) if value in (0, 1)]
    there = [one for one in there if isinstance(one["st_shndx"], int) and one["st_info"]["type"] in _CODE and one.name]
    return {one_line(one.name): one["st_size"] for one in there}
