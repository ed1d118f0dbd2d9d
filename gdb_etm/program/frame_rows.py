"""Rows of call frame information, and those behind a frame's release.

LLVM describes how a function makes its frame, and not how it releases it: at what is left of the function its
information is that of its body.  What the instructions do follows from their encodings (Armv8-M ARM, C2.4).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, Final, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.conditions import enters_it_block, next_it_state
from gdb_etm.program.isa import Insn, InstructionKind, decode_t16, decode_t32, is_wide

SP: Final = 13
PC: Final = 15
# Registers that a function keeps, and that it has not touched where nothing is said of them (AAPCS32, 6.1.1).
CALLEE_SAVED: Final = (4, 5, 6, 7, 8, 9, 10, 11)

# Branches whose condition is in their own encoding: B, CBZ and CBNZ; B.W.
_NARROW_CONDITIONAL: Final = ((0xF000, 0xD000), (0xF500, 0xB100))
_WIDE_CONDITIONAL: Final = (0xD000, 0x8000)


class FrameRow(NamedTuple):
    """Call frame information at one instruction (DWARF 5, 6.4)."""

    # The canonical frame address is this register (0 to 15) plus ``offset``.
    register: int
    offset: int
    # By register number: distance from the canonical frame address of the word that keeps the caller's value.
    saved: Mapping[int, int]
    # Registers that still have the caller's value.
    kept: Tuple[int, ...] = ()


class _Release(NamedTuple):
    # The bytes by which SP goes up, and the registers that are loaded from them, lowest first.
    size: int
    loaded: Tuple[int, ...] = ()


class _Instruction(NamedTuple):
    flow: Insn
    release: Optional[_Release]
    # Whether it may not run, or not branch, where it is come to.
    conditional: bool
    in_it_block: bool


def with_releases(
    starts: List[int], rows: List[Optional[FrameRow]], pieces: Iterable[Tuple[int, bytes]]
) -> Tuple[List[int], List[Optional[FrameRow]]]:
    """Add rows behind the instructions that release a frame.

    :param starts: Where the function's rows begin, in order.
    :param rows: As its information has them; where one begins, it counts.
    :param pieces: The function's T32 code, each with its first address.
    """
    code = {at: instruction for start, data in pieces for at, instruction in _instructions(start, data)}
    found = _Rows(starts, rows, code).found()
    if not found:
        return starts, rows
    ends = {at + code[at].flow.size for at in found}
    places = sorted({*starts, *found, *(end for end in ends if end in code)})
    return places, [found[at] if at in found else _at(starts, rows, at) for at in places]


def _at(starts: Sequence[int], rows: Sequence[Optional[FrameRow]], address: int) -> Optional[FrameRow]:
    index = bisect_right(starts, address) - 1
    return rows[index] if index >= 0 else None


class _Rows:
    def __init__(
        self, starts: Sequence[int], rows: Sequence[Optional[FrameRow]], code: Mapping[int, _Instruction]
    ) -> None:
        self._starts, self._rows, self._code = starts, rows, code
        self._stated = frozenset(starts)
        self._found: Dict[int, Optional[FrameRow]] = {}

    def found(self) -> Dict[int, Optional[FrameRow]]:
        for at, instruction in self._code.items():
            if instruction.release is None or at in self._found or PC in instruction.release.loaded:
                continue
            row = _at(self._starts, self._rows, at)
            following = at + instruction.flow.size
            if row is not None and self._is_false(following, row, instruction.release):
                self._stated = self._stated.difference((following,))
            if row is not None and instruction.conditional:
                self._forget(following)
            elif row is not None and _behind(row, instruction.release) != row:
                self._spread(following, _behind(row, instruction.release))
        return self._found

    def _is_false(self, at: int, row: FrameRow, release: _Release) -> bool:
        # Whether what is stated behind a release has the frame where it was.
        stated = _at(self._starts, self._rows, at) if at in self._stated and release.size else None
        return stated is not None and stated[:2] == row[:2] and row.register == SP

    def _forget(self, at: int) -> None:
        # What a conditional release leaves, up to the end of its IT block, depends on the condition.
        while at in self._code and self._code[at].in_it_block and at not in self._stated:
            self._found[at] = None
            at += self._code[at].flow.size

    def _spread(self, at: int, row: Optional[FrameRow]) -> None:
        todo = [(at, row)]
        while todo:
            at, row = todo.pop()
            if at not in self._code or at in self._stated:
                continue
            if at in self._found:
                if self._found[at] == row:
                    continue
                row = None
            if at not in self._found or self._found[at] is not None:
                self._found[at] = row
                todo += [(to, self._row_behind(at, row)) for to in self._after(at)]

    def _row_behind(self, at: int, row: Optional[FrameRow]) -> Optional[FrameRow]:
        release = self._code[at].release
        if row is None or release is None:
            return row
        return None if self._code[at].conditional else _behind(row, release)

    def _after(self, at: int) -> Iterator[int]:
        flow, _, conditional, _ = self._code[at]
        leaves = flow.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT) and not flow.link
        if flow.kind is InstructionKind.DIRECT and not flow.link:
            yield flow.target
        if conditional or not leaves:
            yield at + flow.size


def _behind(row: FrameRow, release: _Release) -> Optional[FrameRow]:
    # The row after an instruction; None when the frame's address is lost.
    offset: Optional[int] = row.offset
    if row.register != SP:
        if row.register not in release.loaded:
            return row
        # The frame pointer itself is loaded: from its word, whose distance is known, follows SP's.
        at = row.saved.get(row.register)
        offset = None if at is None else 4 * release.loaded.index(row.register) - at
    if offset is None:
        return None
    own = {register for index, register in enumerate(release.loaded) if row.saved.get(register) == 4 * index - offset}
    offset -= release.size
    if offset < 0:
        return None
    saved = {register: distance for register, distance in row.saved.items() if distance >= -offset}
    kept = sorted({*row.kept, *own.intersection(CALLEE_SAVED)}.difference(saved))
    return FrameRow(SP, offset, saved, tuple(kept))


def _instructions(start: int, data: bytes) -> Iterator[Tuple[int, _Instruction]]:
    halves = [data[at] | data[at + 1] << 8 for at in range(0, len(data) - 1, 2)]
    index, it_state = 0, 0
    while index < len(halves):
        first, at = halves[index], start + 2 * index
        if is_wide(first):
            if index + 1 == len(halves):
                return
            second = halves[index + 1]
            flow, release = decode_t32(at, first, second), _wide_release(first, second)
            conditional = flow.kind is InstructionKind.DIRECT and second & _WIDE_CONDITIONAL[0] == _WIDE_CONDITIONAL[1]
        else:
            flow, release = decode_t16(at, first), _narrow_release(first)
            conditional = flow.kind is InstructionKind.DIRECT and any(
                first & mask == value for mask, value in _NARROW_CONDITIONAL
            )
        yield at, _Instruction(flow, release, conditional or it_state != 0, it_state != 0)
        it_state = first & 0xFF if enters_it_block(first) else next_it_state(it_state)
        index += flow.size // 2


def _narrow_release(half: int) -> Optional[_Release]:
    if half & 0xFF80 == 0xB000:  # ADD SP, #
        return _Release(4 * (half & 0x7F))
    if half & 0xFE00 == 0xBC00:  # POP
        return _popped(half & 0xFF | (half & 0x100) << 7)
    return None


def _wide_release(first: int, second: int) -> Optional[_Release]:
    if first == 0xE8BD:  # LDM SP!
        return _popped(second)
    if first == 0xF85D and second & 0x0F00 == 0x0B00:  # LDR Rt, [SP], #
        return _Release(second & 0xFF, (second >> 12,))
    if first & 0xFFBF == 0xECBD and second & 0x0E00 == 0x0A00:  # VPOP
        return _Release(4 * (second & 0xFF))
    if second & 0x8F00 != 0x0D00:
        return None
    number = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    if first & 0xFBFF == 0xF20D:  # ADDW SP, SP, #
        return _Release(number)
    if first & 0xFBFF == 0xF10D:  # ADD.W SP, SP, #
        return _Release(_expanded(number))
    return None


def _popped(mask: int) -> _Release:
    registers = tuple(register for register in range(16) if mask >> register & 1)
    return _Release(4 * len(registers), registers)


def _expanded(number: int) -> int:
    # A modified immediate of T32 (Armv8-M ARM, C2.2.1).
    byte = number & 0xFF
    if number >> 10 == 0:
        return (byte, byte | byte << 16, byte << 8 | byte << 24, byte * 0x01010101)[number >> 8]
    value, by = 0x80 | number & 0x7F, number >> 7
    return (value >> by | value << (32 - by)) & 0xFFFFFFFF
