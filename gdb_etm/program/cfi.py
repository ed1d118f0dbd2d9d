"""Call frame information: frames and saved registers, instruction by instruction.

Ref: DWARF Debugging Information Format, version 5, 6.4 (.debug_frame; .eh_frame is a variant); DWARF for the Arm
Architecture (AADWARF32) for register numbers and for what a register without a rule means.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.errors import ImageError
from gdb_etm.program.code_pieces import CodePiece, load_code
from gdb_etm.program.debug_sections import CountedSection, Work
from gdb_etm.program.elf import open_elf, readable
from gdb_etm.program.frame_rows import CALLEE_SAVED, FrameRow, with_releases
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.isa import Isa, is_wide
from gdb_etm.program.loaded import LoadedElf

_CORE_REGISTERS: Final = 16
_UNREADABLE: Final = "has call frame information that cannot be read"
# Of all rows of a function.
_MOST_RULES: Final = 1 << 20
_SECTIONS: Final = ((".debug_frame", False), (".eh_frame", True))

# First halfwords of what moves the stack pointer down, or replaces it: mask and value (Armv8-M ARM, C2.4).
_T32_MOVES: Final = (
    (0xFE00, 0xB400),  # PUSH
    (0xFF80, 0xB080),  # SUB SP, #
    (0xFF87, 0x4685),  # MOV SP, Rm
    (0xFF87, 0x4485),  # ADD SP, Rm
    (0xFFFF, 0xE92D),  # STMDB SP!
    (0xFF7F, 0xE96D),  # STRD [SP, #-]!
    (0xFBEF, 0xF1AD),  # SUB.W SP, SP, #
    (0xFBEF, 0xF2AD),  # SUBW SP, SP, #
    (0xFFBF, 0xED2D),  # VPUSH
)
_STR_SP: Final = 0xF84D
_STR_MASK: Final = 0x0F00
_STR_PRE: Final = 0x0D00
_MSR_MASK: Final = 0xFFF0
_MSR: Final = 0xF380
_MSR_STACKS: Final = (0x8808, 0x8809, 0x8814)
# The same of A32, without the condition (Armv7-A ARM, A5).
_A32_MOVES: Final = (
    (0x0FFF0000, 0x092D0000),
    (0x0FFFF000, 0x024DD000),
    (0x0FFF0FFF, 0x052D0004),
    (0x0FFFFFF0, 0x01A0D000),
)


class _Function(NamedTuple):
    start: int
    end: int
    # As pyelftools gives it; decoded when something is asked.
    entry: Any


class CallFrames:
    """Call frame information of programs.

    :param functions: The information about each piece of code, in any order.
    :param images: The programs.
    :param code: Where instructions are in them.
    """

    def __init__(
        self, functions: Iterable[_Function], images: Iterable[MemoryImage], code: Iterable[CodePiece]
    ) -> None:
        self._functions = sorted(functions, key=lambda function: function.start)
        self._starts = [function.start for function in self._functions]
        self._program = Program(images)
        self._code = [piece for piece in code if piece.isa is Isa.T32]
        self._ends = [piece.end for piece in self._code]
        self._rows: List[Optional[Tuple[List[int], List[Optional[FrameRow]]]]] = [None] * len(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def row(self, address: int) -> Optional[FrameRow]:
        """Give the row for the moment before an instruction runs.

        None when the file has none for ``address``.
        """
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._functions[at].end:
            return None
        found = self._rows[at]
        if found is None:
            found = self._rows[at] = self._decode(self._functions[at])
        starts, rows = found
        index = bisect_right(starts, address) - 1
        return rows[index] if index >= 0 else None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        """Give a function's first address and its end, by any address.

        None when no call frame information covers it.
        """
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._functions[at].end:
            return None
        return self._starts[at], self._functions[at].end

    def _decode(self, function: _Function) -> Tuple[List[int], List[Optional[FrameRow]]]:
        try:
            with readable("", _UNREADABLE):
                _check(function.entry)
                table = function.entry.get_decoded().table
                starts = [line["pc"] & ~1 for line in table]
                rows = [_row(line) for line in table]
        except ImageError:
            return [], []  # what cannot be read gives nothing
        if len(rows) == 1 and self._moves_stack(function):
            # A function in assembly about which nothing is stated but that it exists, such as one that is "naked" in C.
            return [], []
        return with_releases(starts, rows, self._instructions(function))

    def _instructions(self, function: _Function) -> Iterator[Tuple[int, bytes]]:
        # The pieces of T32 code in a function.
        for piece in self._code[bisect_right(self._ends, function.start) :]:
            if piece.start >= function.end:
                break
            start = max(piece.start, function.start)
            yield start, self._program.read(start, min(piece.end, function.end) - start)

    def _moves_stack(self, function: _Function) -> bool:
        code = self._program.read(function.start, function.end - function.start)
        return _t32_moves_stack(code) or _a32_moves_stack(code)


def _check(entry: Any) -> None:
    # Each row holds a rule for each register that was named before it.
    instructions = [*entry.cie.instructions, *entry.instructions]
    operands = {one.args[0] for one in instructions if one.args and isinstance(one.args[0], int)}
    if len(instructions) * len(operands) > _MOST_RULES:
        raise ImageError("more rules than a function has")


def _row(line: Mapping[Any, Any]) -> Optional[FrameRow]:
    # Of what pyelftools gives for a row: "pc", "cfa", and rules by register number.
    cfa = line.get("cfa")
    if cfa is None or cfa.reg is None or not 0 <= cfa.reg < _CORE_REGISTERS:
        return None  # an expression
    saved = {}
    unchanged = set(CALLEE_SAVED)
    for number, rule in line.items():
        if not isinstance(number, int) or not 0 <= number < _CORE_REGISTERS:
            continue
        if rule.type == "SAME_VALUE":
            unchanged.add(number)
            continue
        unchanged.discard(number)
        if rule.type == "OFFSET":
            saved[number] = rule.arg
    return FrameRow(cfa.reg, cfa.offset, saved, tuple(sorted(unchanged)))


def _t32_moves_stack(code: bytes) -> bool:
    halves = [code[at] | code[at + 1] << 8 for at in range(0, len(code) - 1, 2)] + [0]
    at = 0
    while at < len(halves) - 1:
        first, second = halves[at], halves[at + 1]
        if any(first & mask == value for mask, value in _T32_MOVES):
            return True
        if first == _STR_SP and second & _STR_MASK == _STR_PRE:
            return True
        if first & _MSR_MASK == _MSR and second in _MSR_STACKS:
            return True
        at += 2 if is_wide(first) else 1
    return False


def _a32_moves_stack(code: bytes) -> bool:
    words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code) - 3, 4)]
    return any(word & mask == value for word in words for mask, value in _A32_MOVES)


def load_frames(paths: Sequence[str]) -> CallFrames:
    """Read the call frame information of ELF files for 32-bit Arm.

    :raises ImageError: When a file cannot be read.
    """
    functions: List[_Function] = []
    images: List[MemoryImage] = []
    for path in paths:
        functions += _load(path)
        images += load_elf(path)
    return CallFrames(functions, images, load_code(paths))


def _load(path: str) -> List[_Function]:
    found: List[_Function] = []
    with open_elf(path, _UNREADABLE) as elf:
        loaded = LoadedElf(elf)
        for name, is_eh in _SECTIONS if elf["e_machine"] == "EM_ARM" else ():
            section = elf.get_section_by_name(name)
            if section is not None and section["sh_type"] != "SHT_NOBITS":
                entries = _entries(section.data(), section["sh_addr"], elf.little_endian, is_eh)
                known = {function.start for function in found}
                there = (one for one in entries if loaded.holds_code(one.start, one.end - one.start))
                found += [function for function in there if function.start not in known]
    return found


def _entries(data: bytes, address: int, little_endian: bool, is_eh: bool) -> List[_Function]:
    from elftools.dwarf.callframe import FDE, CallFrameInfo
    from elftools.dwarf.structs import DWARFStructs

    structs = DWARFStructs(little_endian, 32, 4)
    information = CallFrameInfo(CountedSection(data, Work(len(data))), len(data), address, structs, is_eh)
    found = []
    for entry in information.get_entries():
        if isinstance(entry, FDE):
            start, size = entry["initial_location"] & ~1, entry["address_range"]
            if size:
                found.append(_Function(start, start + size, entry))
    return found
