"""Where code goes over to another stack.

Kernels (ChibiOS, Linux) and coroutines do so in a plain function: it stores SP where another thread finds it, and sets
SP to what was loaded from where another one has stored it; or it gives SP to a function, and sets it to the result.
``longjmp`` and an unwinder set SP, but store none; who makes room on the stack stores SP in its frame, if anywhere.  A
handler sets PSP, or SP, which is MSP there; whatever it has not made from the old one is another stack's.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Final, FrozenSet, Iterator, List, NamedTuple, Optional, Pattern, Set, Tuple

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


# MSR to MSP.
_MSR_MSP: Final = re.compile(rb"[\x80-\x8f]\xf3\x08\x88")
# Branches by a table behind them: the size of its entries (Armv8-M ARM, C2.4: TBB, TBH).
_TABLES: Final[Dict[str, int]] = {"tbb": 1, "tbh": 2}
# The names of the stack pointer that is followed: in a plain function, and in a handler.
_PLAIN: Final = frozenset(("sp",))
_MAIN: Final = frozenset(("sp", "msp"))
_PROCESS: Final = frozenset(("psp",))

# Capstone's kinds of operands, CS_OP_REG and CS_OP_MEM, the latter of its version 6 as well.
_REGISTER: Final = 1
_MEMORY: Final = 3
_IMMEDIATE: Final = 2
# Capstone's groups of branches and calls, and the branches after which nothing runs on.
_JUMP: Final = 1
_CALL: Final = 2
_ENDS: Final = ("b", "bx", "br", "ret", "tbb", "tbh")
# Registers made from the stack pointer, and those that were loaded from elsewhere or made from that.
_Held = Tuple[Set[str], Set[str]]
_ARGUMENTS: Final = frozenset(("r0", "r1", "r2", "r3"))
_RESULT: Final = frozenset(("r0",))
_SCRATCH: Final = _ARGUMENTS | {"r12", "ip", "lr"}


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
    return _walk(code, address, isa, _PLAIN) if _SETS[isa].search(code) else ()


def process_stack_changes(code: bytes, address: int) -> Tuple[StackChange, ...]:
    """List where a handler sets PSP to another stack.

    :param code: The whole function, of T32, in memory order.
    :param address: Of its first instruction.
    """
    return _walk(code, address, Isa.T32, _PROCESS)


def main_stack_changes(code: bytes, address: int) -> Tuple[StackChange, ...]:
    """List where a handler sets MSP to another stack.

    It does so by this name, or as SP.

    :param code: The whole function, of T32, in memory order.
    :param address: Of its first instruction.
    """
    sets = _SETS[Isa.T32].search(code) or _MSR_MSP.search(code)
    return _walk(code, address, Isa.T32, _MAIN) if sets else ()


class StackChanges:
    """Where a program goes over to other stacks.

    Each function is looked at once.

    :param program: The program.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: Dict[Tuple[int, int, Isa], Tuple[StackChange, ...]] = {}
        self._known_of_handlers: Dict[Tuple[int, int, bool], Tuple[StackChange, ...]] = {}

    def of(self, start: int, end: int, isa: Isa) -> Tuple[StackChange, ...]:
        """List where a function sets SP to another stack's."""
        key = start, end, isa
        if key not in self._known:
            self._known[key] = stack_changes(self._program.read(start, end - start), start, isa)
        return self._known[key]

    def of_handler(self, start: int, end: int, is_process: bool) -> Tuple[StackChange, ...]:
        """List where a handler sets PSP, or MSP, to another stack's.

        :param is_process: Whether it is PSP.
        """
        key = start, end, is_process
        if key not in self._known_of_handlers:
            find = process_stack_changes if is_process else main_stack_changes
            self._known_of_handlers[key] = find(self._program.read(start, end - start), start)
        return self._known_of_handlers[key]


def _walk(code: bytes, address: int, isa: Isa, names: FrozenSet[str]) -> Tuple[StackChange, ...]:
    # Needed for few functions, and it takes a while to load.
    import capstone

    if isa is Isa.A64:
        engine = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    else:
        thumb = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS if isa is Isa.T32 else capstone.CS_MODE_ARM
        engine = capstone.Cs(capstone.CS_ARCH_ARM, thumb | capstone.CS_MODE_V8)
    engine.detail = engine.skipdata = True
    walk = _Walk(names, range(address + 1, address + len(code)))
    for instruction in _instructions(engine, code, address):
        walk.step(instruction)
    return tuple(walk.found)


def _instructions(engine: Any, code: bytes, address: int) -> Iterator[Any]:
    # Without the tables of TBB and TBH, which may look like instructions.
    at = 0
    while at < len(code):
        begin, at = at, len(code)
        for instruction in engine.disasm(code[begin:], address + begin):
            if instruction.id:
                yield instruction
            if instruction.mnemonic in _TABLES and instruction.op_str.startswith("[pc"):
                end = instruction.address + instruction.size - address
                at = _past_table(code, end, _TABLES[instruction.mnemonic])
                break


def _past_table(code: bytes, start: int, size: int) -> int:
    # Where the first of the table's targets is, the table has ended.
    at, end = start, len(code)
    while at + size <= end:
        end = min(end, start + 2 * int.from_bytes(code[at : at + size], "little"))
        at += size
    return at + at % 2


class _Walk:
    # What registers hold, from the first instruction to the last as they stand in memory.  Behind a return or a jump it
    # is what they held at the first branch to there, or at the last jump by a table.

    def __init__(self, names: FrozenSet[str], within: range) -> None:
        self.found: List[StackChange] = []
        self._within = within
        self._names = names
        # Registers made from the stack pointer, and those that were loaded from elsewhere or made from that.
        self._own: Set[str] = set(names)
        self._others: Set[str] = set()
        # Whether the pointer has been stored elsewhere.
        self._is_stored = False
        # What registers held at branches forward, by their targets, and at the last jump by a table.
        self._at: Dict[int, _Held] = {}
        self._at_table: Optional[_Held] = None
        self._falls_through = True

    def step(self, instruction: Any) -> None:
        held = self._at.get(instruction.address, self._at_table)
        if not self._falls_through and held is not None:
            self._own, self._others = held
        reads, writes = [{instruction.reg_name(one) for one in ones} for ones in instruction.regs_access()]
        name = instruction.mnemonic
        self._branch(instruction, name.partition(".")[0], writes)
        if name.startswith(("st", "push")):
            base, data = _operands(instruction)
            self._is_stored = self._is_stored or base not in self._own and bool(data & self._own)
            return
        if name.startswith(("ld", "pop")):
            base, writes = _operands(instruction)
            self._set(instruction, writes, False, base not in self._own)
            return
        if instruction.group(_CALL):
            if self._falls_through:
                self._call(writes)
            return
        if name.startswith(("mrs", "msr")):
            reads, writes = _special(instruction, reads, writes)
        is_own = bool(reads & self._own)
        self._set(instruction, writes, is_own, not is_own and bool(reads & self._others))

    def _branch(self, instruction: Any, name: str, writes: Set[str]) -> None:
        held = self._own, self._others
        last = instruction.operands[-1] if instruction.operands else None
        target = last.imm if last is not None and last.type == _IMMEDIATE else None
        # Armv6-M and the baseline of Armv8-M jump far by BL.
        is_far = name == "bl" and target in self._within
        if target is not None and (is_far or name != "bl" and instruction.group(_JUMP)):
            self._at.setdefault(target, held)
        if name in _TABLES or name == "mov" and "pc" in writes:
            self._at_table = held
        ends = name in _ENDS or "pc" in writes and target is None and name != "blx"
        self._falls_through = not (ends or is_far)

    def _call(self, writes: Set[str]) -> None:
        # Its result is anything (AAPCS32, 6.1.1): another's pointer, if it got this one.
        is_exchanged = not self._own.isdisjoint(_ARGUMENTS)
        self._is_stored = self._is_stored or is_exchanged
        self._own = self._own - writes - _SCRATCH
        self._others = self._others - writes - _SCRATCH | (_RESULT if is_exchanged else frozenset())

    def _set(self, instruction: Any, writes: Set[str], is_own: bool, is_other: bool) -> None:
        changes = is_other and self._is_stored if self._names is _PLAIN else not is_own
        if writes & self._names and changes:
            self.found.append(StackChange(instruction.address, instruction.address + instruction.size))
        self._own = (self._own - writes) | (writes if is_own else set()) | self._names
        self._others = (self._others - writes) | (writes if is_other else set()) - self._names


def _operands(instruction: Any) -> Tuple[str, Set[str]]:
    # The base of a load or store, and the registers that go to memory or come from there.
    data = [instruction.reg_name(one.reg) for one in instruction.operands if one.type == _REGISTER]
    bases = [instruction.reg_name(one.mem.base) for one in instruction.operands if one.type == _MEMORY]
    if instruction.mnemonic.startswith(("push", "pop", "vpush", "vpop")):
        return "sp", set(data)
    return (bases[0], set(data)) if bases else (data[0], set(data[1:]))


def _special(instruction: Any, reads: Set[str], writes: Set[str]) -> Tuple[Set[str], Set[str]]:
    # Of system registers the stack pointers matter.
    text = instruction.op_str.replace("psplim", "").replace("msplim", "")
    named = {name for name in ("psp", "msp") if name in text}
    return (named, writes) if instruction.mnemonic.startswith("mrs") else (reads, named)
