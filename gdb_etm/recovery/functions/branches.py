"""Control flow graph of a function, from its code alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import unpack_from
from typing import Callable, Final, Iterable, List, Optional, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa, is_wide
from gdb_etm.recovery.functions.entries import entries
from gdb_etm.recovery.lift.operations import LR, SP
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.ssa.exception_frames import goes_on

# Bytes of a function that are looked at.
LONG: Final = 1 << 13
# Of a table of branches that are looked at.
_ENTRIES: Final = 256


class FunctionCode:
    """Follows a function's code.

    :param information: Call frame information of the program.
    :param program: The program that ran.
    """

    def __init__(self, information: FrameInformation, program: Program) -> None:
        self._information = information
        self._program = program
        # The words of the program that may be addresses of its code, in order.
        self._labels: Optional[List[int]] = None

    def after(self, template: Template, bounds: Tuple[int, int]) -> Optional[List[int]]:
        """List an instruction's successors in its function; None when they are unknown.

        :param bounds: Where the function begins and ends.
        """
        following = template.address + template.size
        conditional = template.condition != ALWAYS
        if template.asks:
            return self._answered(following)
        if template.call or template.kind not in (InstructionKind.INDIRECT, InstructionKind.DIRECT):
            return [following]
        if template.kind is InstructionKind.DIRECT:
            conditional = conditional or template.taken is not None
            return [template.goes_to, following] if conditional else [template.goes_to]
        if template.target == LR or SP in template.writes:
            return [following] if conditional else []
        table = self._table(template, bounds)
        if table is not None:
            return table
        row = self._information.row(template.address)
        # With nothing of its frame left on the stack it goes on in another function.
        leaves = row is not None and row.register == SP and row.offset == 0
        if leaves:
            return [following] if conditional else []
        labels = self._labels_in(bounds) if self._is_to_label(template) else []
        return labels + [following] * conditional if labels else None

    def is_behind_call(self, address: int) -> bool:
        """Check whether a call may be right before an address.

        In T32 (Armv8-M ARM, C2.4) or A32.
        """
        code = self._program.read(address - 4, 4)
        first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
        is_t32 = first & 0xF800 == 0xF000 and second & 0xC000 == 0xC000 or second & 0xFF80 == 0x4780
        return len(code) < 4 or is_t32 or second & 0x0F00 == 0x0B00 or second & 0x0FF0 == 0x0120

    def entered(self, function: int, isa: Isa) -> Iterable[int]:
        """List where other code enters a function behind its beginning.

        :param function: Where it begins.
        """
        return entries(self._program, self._information, isa).get(function, ())

    def _is_to_label(self, template: Template) -> bool:
        # BX, MOV PC and LDR PC, but no branch by a distance: the register, or the word, is where it leads.
        code = self._program.read(template.address, template.size)
        if len(code) == 2:
            return code[1] == 0x47 and not code[0] & 0x87 or code[1] == 0x46 and code[0] & 0x87 == 0x87
        return len(code) == 4 and code[1] == 0xF8 and code[0] & 0xF0 == 0x50 and code[3] & 0xF0 == 0xF0

    def _labels_in(self, bounds: Tuple[int, int]) -> List[int]:
        # Where a branch leads to one of several labels whose addresses the program holds (GCC's labels as values).
        if self._labels is None:
            ends = [(start, start + len(data)) for start, data in self._program.pieces]
            low, high = min(ends)[0], max(end for _, end in ends)
            found: Set[int] = set()
            for start, data in self._program.pieces:
                first = -start % 4
                found.update(unpack_from("<%dI" % ((len(data) - first) // 4), data, first) if len(data) > first else ())
            self._labels = sorted({word & ~1 for word in found if low <= word < high})
        # The beginning is what pointers to the function hold.
        first, last = bisect_right(self._labels, bounds[0]), bisect_left(self._labels, bounds[1])
        return self._labels[first:last]

    def _answered(self, following: int) -> List[int]:
        # A handler may let the code that has asked for it go on an instruction or two later.
        found = [following]
        for address in goes_on(following, True)[1:]:
            half = self._program.read(found[-1], 2)
            if len(half) == 2 and found[-1] + (4 if is_wide(half[0] | half[1] << 8) else 2) == address:
                found.append(address)
        return found

    def _table(self, template: Template, bounds: Tuple[int, int]) -> Optional[List[int]]:
        # Where a branch leads by the table after it: TBB, TBH, or LDR PC, [Rn, Rm, LSL #2] with ADR Rn before it.
        code = self._program.read(template.address, template.size)
        if len(code) < 4:
            return None
        base = template.address + 4
        if code[:2] == b"\xdf\xe8" and code[3] == 0xF0 and not code[2] & 0xE0:
            size = 2 if code[2] & 0x10 else 1
            return self._entries(base, size, bounds[1], lambda entry: base + 2 * entry)
        before = self._program.read(template.address - 2, 2)
        if code[0] & 0xF0 == 0x50 and code[1] == 0xF8 and code[3] == 0xF0 and code[2] & 0xF0 == 0x20:
            if len(before) == 2 and before[1] == 0xA0 | code[0] & 0xF:
                start = (template.address + 2 & ~3) + 4 * before[0]
                return self._entries(start, 4, bounds[1], lambda entry: entry & ~1)
        return None

    def _entries(self, base: int, size: int, end: int, target: Callable[[int], int]) -> List[int]:
        # A table ends where the first of its branches leads.
        found: List[int] = []
        stop = end
        for index in range(_ENTRIES):
            at = base + size * index
            entry = self._program.read(at, size)
            if at + size > stop or len(entry) < size:
                break
            to = target(int.from_bytes(entry, "little"))
            if base < to < end:
                found.append(to)
                stop = min(stop, to)
        return found
