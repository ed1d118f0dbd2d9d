"""Pieces of code in an ELF file, between its data.

Ref: ELF for the Arm Architecture (AAELF32), 5.5.5, and for AArch64 (AAELF64), 5.8: mapping symbols.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

from gdb_etm.program.elf import open_elf
from gdb_etm.program.isa import Isa
from gdb_etm.program.loaded import LoadedElf, is_mapping

_SETS = {"$a": Isa.A32, "$t": Isa.T32, "$x": Isa.A64}


class CodePiece(NamedTuple):
    """Memory that holds instructions of one set."""

    start: int
    # Address just past the last one.
    end: int
    isa: Isa


def load_code(paths: Iterable[str]) -> List[CodePiece]:
    """Read where the instructions of ELF files are.

    Where files fill the same memory, that of the earlier one counts.  A file without mapping symbols gives nothing.

    :raises ImageError: A file cannot be read.
    """
    found: List[CodePiece] = []
    filled: List[Tuple[int, int]] = []
    for path in paths:
        with open_elf(path) as elf:
            found += [one for one in _pieces(elf) if not any(low <= one.start < high for low, high in filled)]
            filled += LoadedElf(elf).filled
    return sorted(found)


def _pieces(elf: Any) -> List[CodePiece]:
    from elftools.elf.constants import SH_FLAGS

    table = elf.get_section_by_name(".symtab")
    marks: Dict[int, List[Tuple[int, str]]] = {}
    for symbol in table.iter_symbols() if table is not None else ():
        if is_mapping(symbol.name) and isinstance(symbol["st_shndx"], int):
            marks.setdefault(symbol["st_shndx"], []).append((symbol["st_value"], symbol.name[:2]))
    pieces: List[CodePiece] = []
    for number, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and number in marks:
            there = sorted(marks[number])
            ends = [start for start, _ in there[1:]] + [section["sh_addr"] + section["sh_size"]]
            pieces += [
                CodePiece(start, end, _SETS[name])
                for (start, name), end in zip(there, ends)
                if name in _SETS and start < end
            ]
    return pieces
