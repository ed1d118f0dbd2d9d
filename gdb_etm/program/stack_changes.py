"""Where code goes over to another stack, without an exception.

Kernels (ChibiOS, Linux) and coroutines do so in a plain function: it stores SP where another thread finds it, and sets
SP to what was loaded from where another one has stored it.  ``longjmp`` and an unwinder set SP, but store none; who
makes room on the stack stores SP in its frame, if anywhere.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Final, List, NamedTuple, Pattern, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa


def _bytes(mask: int, value: int) -> bytes:
    return b"[%s]" % b"".join(re.escape(bytes([one])) for one in range(256) if one & mask == value)


# MOV to SP, but from a frame pointer, and LDR and LDM of SP (Armv8-M ARM, C2.4; DDI 0487, F5.1 and C6.2).  Code without
# them is not looked at any closer.
_SETS: Final[Dict[Isa, Pattern[bytes]]] = {
    Isa.T32: re.compile(rb"(?![\xbd\xdd])%s\x46|[\x50-\x5f\xd0-\xdf]\xf8.[\xd0-\xdf]" % _bytes(0x87, 0x85), re.DOTALL),
    Isa.A32: re.compile(
        rb"(?!\x0b)%s\xd0\xa0.|.[\xd0-\xdf]%s%s|.%s%s%s"
        % (_bytes(0xF0, 0), _bytes(0x50, 0x10), _bytes(0xE, 4), _bytes(0x20, 0x20), _bytes(0x10, 0x10), _bytes(0xE, 8)),
        re.DOTALL,
    ),
    Isa.A64: re.compile(rb"(?!\xbf\x03)%s[\x00-\x03]\x00\x91" % _bytes(0x1F, 0x1F), re.DOTALL),
}


# Capstone's kinds of operands, CS_OP_REG and CS_OP_MEM, the latter of its version 6 as well.
_REGISTER: Final = 1
_MEMORY: Final = 3
_SCRATCH: Final = frozenset(("r0", "r1", "r2", "r3", "r12", "ip", "lr"))


class StackChange(NamedTuple):
    """An instruction that sets a stack pointer to another stack's."""

    address: int
    # Just past it.
    end: int


def stack_changes(code: bytes, address: int, isa: Isa) -> Tuple[StackChange, ...]:
    """List where a function goes over to another stack.

    :param code: The whole function, in memory order.
    :param address: Of its first instruction.
    """
    return _walk(code, address, isa, "sp") if _SETS[isa].search(code) else ()


def process_stack_changes(code: bytes, address: int) -> Tuple[StackChange, ...]:
    """List where a handler sets PSP to another stack.

    :param code: The whole function, of T32, in memory order.
    :param address: Of its first instruction.
    """
    return _walk(code, address, Isa.T32, "psp")


class StackChanges:
    """Where a program goes over to other stacks.

    Each function is looked at once.

    :param program: The program.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: Dict[Tuple[int, int, Isa], Tuple[StackChange, ...]] = {}
        self._known_of_process: Dict[Tuple[int, int], Tuple[StackChange, ...]] = {}

    def of(self, start: int, end: int, isa: Isa) -> Tuple[StackChange, ...]:
        """List where a function sets SP to another stack's."""
        key = start, end, isa
        if key not in self._known:
            self._known[key] = stack_changes(self._program.read(start, end - start), start, isa)
        return self._known[key]

    def of_process(self, start: int, end: int) -> Tuple[StackChange, ...]:
        """List where a handler sets PSP to another stack's."""
        key = start, end
        if key not in self._known_of_process:
            self._known_of_process[key] = process_stack_changes(self._program.read(start, end - start), start)
        return self._known_of_process[key]


def _walk(code: bytes, address: int, isa: Isa, pointer: str) -> Tuple[StackChange, ...]:
    # Needed for few functions, and it takes a while to load.
    import capstone

    if isa is Isa.A64:
        engine = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    else:
        thumb = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS if isa is Isa.T32 else capstone.CS_MODE_ARM
        engine = capstone.Cs(capstone.CS_ARCH_ARM, thumb | capstone.CS_MODE_V8)
    engine.detail = engine.skipdata = True
    walk = _Walk(pointer)
    for instruction in engine.disasm(code, address):
        if instruction.id:
            walk.step(instruction)
    return tuple(walk.found)


class _Walk:
    # What registers hold, from the first instruction to the last as they stand in memory.

    def __init__(self, pointer: str) -> None:
        self.found: List[StackChange] = []
        self._pointer = pointer
        # Registers made from the stack pointer, and those that were loaded from elsewhere or made from that.
        self._own: Set[str] = {pointer}
        self._others: Set[str] = set()
        # Whether the pointer has been stored elsewhere.
        self._is_stored = False

    def step(self, instruction: Any) -> None:
        reads, writes = [{instruction.reg_name(one) for one in ones} for ones in instruction.regs_access()]
        name = instruction.mnemonic
        if name.startswith(("st", "push")):
            base, data = _operands(instruction)
            self._is_stored = self._is_stored or base not in self._own and bool(data & self._own)
            return
        if name.startswith(("ld", "pop")):
            base, writes = _operands(instruction)
            self._set(instruction, writes, False, base not in self._own)
            return
        if name.startswith(("bl", "mrs", "msr")):
            reads, writes = _special(instruction, reads, writes)
        is_own = bool(reads & self._own)
        self._set(instruction, writes, is_own, not is_own and bool(reads & self._others))

    def _set(self, instruction: Any, writes: Set[str], is_own: bool, is_other: bool) -> None:
        changes = is_other and self._is_stored if self._pointer == "sp" else not is_own
        if self._pointer in writes and changes:
            self.found.append(StackChange(instruction.address, instruction.address + instruction.size))
        self._own = (self._own - writes) | (writes if is_own else set()) | {self._pointer}
        self._others = (self._others - writes) | (writes if is_other else set()) - {self._pointer}


def _operands(instruction: Any) -> Tuple[str, Set[str]]:
    # The base of a load or store, and the registers that go to memory or come from there.
    data = [instruction.reg_name(one.reg) for one in instruction.operands if one.type == _REGISTER]
    bases = [instruction.reg_name(one.mem.base) for one in instruction.operands if one.type == _MEMORY]
    if instruction.mnemonic.startswith(("push", "pop", "vpush", "vpop")):
        return "sp", set(data)
    return (bases[0], set(data)) if bases else (data[0], set(data[1:]))


def _special(instruction: Any, reads: Set[str], writes: Set[str]) -> Tuple[Set[str], Set[str]]:
    # A call's result is anything (AAPCS32, 6.1.1); of system registers PSP matters.
    if instruction.mnemonic.startswith("bl"):
        return set(), writes | _SCRATCH
    is_process = "psp" in instruction.op_str.replace("psplim", "")
    if instruction.mnemonic == "mrs":
        return {"psp"} if is_process else set(), writes
    return reads, {"psp"} if is_process else set()
