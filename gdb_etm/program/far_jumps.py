"""Far jumps: BL within a function, where B does not reach.

A T16 B reaches 2 KiB, and Armv6-M has no other.  So in long functions of Cortex-M0, M0+ and M23 compilers use BL as a
jump, where LR is saved already.  Such a BL leads to code that does not read LR before it overwrites it, and returns by
an address that it has not pushed: no function does, but one that goes over to another stack.
"""

from __future__ import annotations

from typing import Dict, Final, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Insn, InstructionKind, Isa

_SP: Final = 13
_LR: Final = 14
# Instructions that are looked at behind one BL.
_MOST: Final = 1 << 13


class _Beginning(NamedTuple):
    # What code does with LR before it overwrites it, on all its ways.

    # Reads it, as every function does that returns.
    reads: bool
    # Makes another return address of it, as code does that has a table behind its call.
    moves: bool
    # Returns by an address from the stack.
    pops: bool
    # Where it goes on with LR overwritten.
    others: Tuple[int, ...]


class FarJumps:
    """Tells far jumps from calls.

    :param program: The program that ran.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._blocks = Blocks(program)
        self._beginnings: Dict[int, _Beginning] = {}
        # By target.
        self._known: Dict[int, bool] = {}

    def has(self, address: int) -> bool:
        """Check whether the T32 instruction at an address is one."""
        code = self._program.read(address, 4)
        # BL, encoding T1 (Armv8-M ARM, C2.4).
        if len(code) < 4 or code[1] & 0xF8 != 0xF0 or code[3] & 0xD0 != 0xD0:
            return False
        insn = self._blocks.instruction(address, Isa.T32)
        if insn is None:
            return False
        if insn.target not in self._known:
            self._known[insn.target] = self._is_behind_one(insn.target)
        return self._known[insn.target]

    def _is_behind_one(self, start: int) -> bool:
        begins = self._beginning(start)
        if begins.reads or begins.pops:
            return not begins.reads
        seen: Set[int] = set()
        todo = list(begins.others)
        while todo and len(seen) < _MOST:
            at = todo.pop()
            found = None if at in seen else self._at(at)
            seen.add(at)
            if found is None or _ends(found[0]):
                continue
            code, insn = found
            if _is_mainline(code, insn):
                return False
            if _pops_counter(code) or insn.link and self._known.get(insn.target):
                return True
            todo += self._after(at, code, insn)
        return False

    def _after(self, at: int, code: bytes, insn: Insn) -> List[int]:
        if not insn.link or insn.kind is not InstructionKind.DIRECT:
            return _after(at, code, insn)
        # Behind a call, if it may return there; else it may be a far jump, too.
        called = self._beginning(insn.target)
        return [at + insn.size] * (called.reads and not called.moves) + [insn.target] * (not called.reads)

    def _beginning(self, start: int) -> _Beginning:
        if start not in self._beginnings:
            self._beginnings[start] = self._begin(start)
        return self._beginnings[start]

    def _begin(self, start: int) -> _Beginning:
        reads = moves = pops = False
        others: List[int] = []
        seen: Set[int] = set()
        todo = [start]
        while todo and len(seen) < _MOST:
            at = todo.pop()
            found = None if at in seen else self._at(at)
            seen.add(at)
            if found is None:
                continue
            code, insn = found
            if insn.link and insn.kind is InstructionKind.DIRECT:
                others.append(at)
                continue
            is_moved = _moves_to(code, _LR)
            moves = moves or is_moved
            reads = reads or _reads_link(code) or _is_mainline(code, insn)
            pops = pops or _pops_counter(code)
            if not _ends(code):
                (others if is_moved else todo).extend(_after(at, code, insn))
        return _Beginning(reads, moves, pops, tuple(others))

    def _at(self, address: int) -> Optional[Tuple[bytes, Insn]]:
        insn = self._blocks.instruction(address, Isa.T32)
        return None if insn is None else (self._program.read(address, insn.size), insn)


def _reads_link(code: bytes) -> bool:
    # PUSH with LR; ADD, CMP, MOV, BX and BLX of LR; ADD and CMP with LR as the first operand (Armv8-M ARM, C2.3).
    half = code[0] | code[1] << 8
    is_second = half >> 10 == 0x11 and half & 0x78 == 0x70
    return half & 0xFF00 == 0xB500 or is_second or half & 0xFE87 == 0x4486


def _is_mainline(code: bytes, insn: Insn) -> bool:
    # Whether only cores have it that have a B that reaches far: neither branch, barrier, MSR and MRS nor, of Armv8-M's
    # baseline, MOVW and MOVT, SDIV and UDIV, and exclusive accesses (Armv8-M ARM, C2.4).
    half = code[0] | code[1] << 8
    if len(code) == 2 or insn.kind is InstructionKind.DIRECT or half & 0xFF80 == 0xF380:
        return False
    return half & 0xFB70 != 0xF240 and half & 0xFFD0 != 0xFB90 and half & 0xFF60 != 0xE840


def _moves_to(code: bytes, register: int) -> bool:
    return len(code) == 2 and code[1] == 0x46 and code[0] & 0x87 == 0x80 | register & 7


def _ends(code: bytes) -> bool:
    # What another function begins with, PUSH with LR; and what goes over to another stack: MSR, and MOV to SP but from
    # r7, a frame pointer.
    return code[1] == 0xB5 or _moves_to(code, _SP) and code[0] != 0xBD or code[1] == 0xF3 and code[0] & 0xE0 == 0x80


def _pops_counter(code: bytes) -> bool:
    return code[1] == 0xBD


def _after(at: int, code: bytes, insn: Insn) -> List[int]:
    following = at + insn.size
    if insn.kind is InstructionKind.INDIRECT and not insn.link:
        return []
    if insn.kind is not InstructionKind.DIRECT:
        return [following]
    # B and B.W.
    if code[1] >> 3 == 0x1C or len(code) == 4 and code[3] & 0xD0 == 0x90:
        return [insn.target]
    return [insn.target, following]
