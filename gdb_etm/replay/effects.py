"""What instructions do to the stack pointer, the link register and the frame pointers, by Capstone's operands.

That is all that the past's call stack needs: of the registers r7, r11, sp and lr it is told how they come to be, and
what of them is pushed and popped (AAPCS32, 6.1.1 and 6.2.1; r7 and r11 are the frame pointers that compilers use).
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.conditions import enters_it_block, next_it_state
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range

SP, LR, PC = 13, 14, 15
# Registers that are followed.
TRACKED = (7, 11, SP, LR)

_NAMES = {"sp": SP, "lr": LR, "pc": PC, "sb": 9, "sl": 10, "fp": 11, "ip": 12}
_NAMES.update({"r%d" % number: number for number in range(16)})

# A register and where it is stored or loaded, as a distance from the stack pointer before the instruction.
Slot = Tuple[int, int]


class Effect(NamedTuple):
    """What one instruction does; what is absent stays as it is."""

    # Its place in the executed range, from 0.
    at: int
    stores: Tuple[Slot, ...] = ()
    # The program counter among them is where execution goes on.
    loads: Tuple[Slot, ...] = ()
    # A register becomes another one plus a constant; all take place at once.
    moves: Tuple[Tuple[int, int, int], ...] = ()
    # Registers that become a number, which stands in the program.
    constants: Tuple[Tuple[int, int], ...] = ()
    # Registers that become something else.
    lost: Tuple[int, ...] = ()
    # The return address that a call leaves in the link register.
    link: Optional[int] = None
    # Whether it goes to the address in the link register.
    returns: bool = False
    # Whether it writes the process stack pointer, or chooses between stacks.
    switches: bool = False


class Effects:
    """Tells the effects of executed ranges, looking at each once.

    :param program: The program that ran.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._blocks = Blocks(program)
        self._known: Dict[Tuple[int, int, Isa, bool], Tuple[Effect, ...]] = {}
        self._engines: Dict[Isa, Any] = {}

    def __call__(self, executed: Range) -> Tuple[Effect, ...]:
        """List the instructions of a range that do something, in their order."""
        key = executed.start, executed.end, executed.isa, executed.taken
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(self._of(executed))
        return known

    def _of(self, executed: Range) -> List[Effect]:
        found = []
        it_state = 0
        addresses = self._blocks.addresses(executed.start, executed.end, executed.isa) + [executed.end]
        last = len(addresses) - 2
        for index, address in enumerate(addresses[:-1]):
            code = self._program.read(address, addresses[index + 1] - address)
            instruction = self._decoded(address, code, executed.isa)
            half = int.from_bytes(code[:2], "little")
            if executed.isa is Isa.T32 and len(code) == 2 and enters_it_block(half):
                it_state = half & 0xFF
                continue
            branched = index == last and executed.taken
            is_conditional = bool(it_state) or _has_condition(code, executed.isa)
            it_state = next_it_state(it_state)
            if instruction is None:
                found.append(Effect(index, lost=TRACKED))
                continue
            effect = self._literal(instruction, executed.isa) or _effect(instruction, executed.isa)
            if effect is not None and (branched or not _leaves(effect)):
                if is_conditional and not branched:
                    effect = _perhaps(effect)
                found.append(effect._replace(at=index))
        return found

    def _literal(self, instruction: Any, isa: Isa) -> Optional[Effect]:
        # LDR of a constant beside the code, as start-up code sets a stack pointer.
        if isa is Isa.A64 or instruction.insn_name() != "ldr" or len(instruction.operands) != 2:
            return None
        register, memory = _number(instruction, instruction.operands[0].reg), instruction.operands[1]
        if register not in TRACKED or memory.type != _MEMORY or _number(instruction, memory.mem.base) != PC:
            return None
        ahead = 8 if isa is Isa.A32 else 4
        word = self._program.read((instruction.address + ahead & ~3) + memory.mem.disp, 4)
        if len(word) < 4 or memory.mem.index:
            return None
        return Effect(0, constants=((register, int.from_bytes(word, "little")),))

    def _decoded(self, address: int, code: bytes, isa: Isa) -> Any:
        if isa not in self._engines:
            import capstone

            modes = {
                Isa.A64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
                Isa.A32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),
                Isa.T32: (
                    capstone.CS_ARCH_ARM,
                    capstone.CS_MODE_THUMB | capstone.CS_MODE_V8 | capstone.CS_MODE_MCLASS,
                ),
            }
            self._engines[isa] = capstone.Cs(*modes[isa])
            self._engines[isa].detail = True
        return next(self._engines[isa].disasm(code, address, 1), None)


def _has_condition(code: bytes, isa: Isa) -> bool:
    return isa is Isa.A32 and code[3] >> 4 < 14


def _leaves(effect: Effect) -> bool:
    return effect.returns or effect.link is not None or any(register == PC for register, _ in effect.loads)


def _perhaps(effect: Effect) -> Effect:
    # Whether its condition held is not known, so neither is what it may have written.
    written = {register for register, _ in effect.loads + effect.constants} | {move[0] for move in effect.moves}
    written |= set(effect.lost)
    return Effect(0, lost=tuple(sorted(written)))


def _effect(instruction: Any, isa: Isa) -> Optional[Effect]:
    if isa is Isa.A64:
        return None
    name = instruction.insn_name()
    if name == "svc":
        return None
    make = _MAKERS.get(name)
    effect = make(instruction, list(instruction.operands)) if make is not None else None
    if effect is None:
        lost = tuple(sorted(_written(instruction)))
        switches = _switches(instruction)
        effect = Effect(0, lost=lost, switches=switches) if lost or switches else None
    return effect


def _switches(instruction: Any) -> bool:
    text = instruction.op_str.split(",")[0]
    return instruction.mnemonic.startswith("msr") and ("sp" in text or "control" in text)


def _number(instruction: Any, register: int) -> int:
    return _NAMES.get(instruction.reg_name(register) or "", -1)


def _written(instruction: Any) -> List[int]:
    text = instruction.op_str
    found = {_number(instruction, register) for register in instruction.regs_access()[1]}
    if instruction.mnemonic.startswith(("vpush", "vpop", "vstm", "vldm")) and "sp!" in text:
        found.add(SP)
    if _switches(instruction):
        found.add(SP)
    if instruction.mnemonic.startswith("cps") and "#" in text or "msr\tcpsr" in instruction.mnemonic + "\t" + text:
        found |= {SP, LR}  # each mode of an A-profile core has its own
    return [register for register in found if register in TRACKED]


def _push(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    registers = [_number(instruction, operand.reg) for operand in operands]
    return _stored(registers, -4 * len(registers), -4 * len(registers))


def _pop(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    registers = [_number(instruction, operand.reg) for operand in operands]
    return _loaded(registers, 0, 4 * len(registers))


def _stored(registers: List[int], first: int, change: int) -> Effect:
    slots = tuple((register, first + 4 * index) for index, register in enumerate(registers))
    moves = ((SP, SP, change),) if change else ()
    return Effect(0, stores=tuple(slot for slot in slots if slot[0] in TRACKED), moves=moves)


def _loaded(registers: List[int], first: int, change: int) -> Effect:
    slots = tuple((register, first + 4 * index) for index, register in enumerate(registers))
    moves = ((SP, SP, change),) if change else ()
    wanted = (*TRACKED, PC)
    return Effect(0, loads=tuple(slot for slot in slots if slot[0] in wanted), moves=moves)


def _multiple(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    # STMDB sp! and LDM sp!; others at the stack pointer lose what they load.
    if _number(instruction, operands[0].reg) != SP:
        return None
    registers = [_number(instruction, operand.reg) for operand in operands[1:]]
    size = 4 * len(registers)
    if instruction.mnemonic.startswith(("stmdb", "push")):
        return _stored(registers, -size, -size if instruction.writeback else 0)
    if instruction.mnemonic.startswith(("ldm.", "ldmia", "ldmfd")) or instruction.mnemonic in ("ldm", "pop"):
        return _loaded(registers, 0, size if instruction.writeback else 0)
    return None


def _double_registers(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    size = sum(4 if (instruction.reg_name(operand.reg) or "").startswith("s") else 8 for operand in operands)
    return Effect(0, moves=((SP, SP, size if instruction.mnemonic.startswith("vpop") else -size),))


def _single(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    # STR and LDR at the stack pointer, with and without writing it back.
    memory = operands[-1] if len(operands) == 2 else operands[-2]
    if memory.type != _MEMORY or _number(instruction, memory.mem.base) != SP or memory.mem.index:
        return None
    register = _number(instruction, operands[0].reg)
    after = operands[-1].imm * (-1 if operands[-1].subtracted else 1) if len(operands) == 3 else None
    place = memory.mem.disp if after is None else 0
    change = after if after is not None else place if instruction.writeback else 0
    make = _stored if instruction.mnemonic.startswith("str") else _loaded
    return make([register], place, change)


def _sum(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    # ADD and SUB of a constant, MOV.
    target = _number(instruction, operands[0].reg)
    source = operands[1] if len(operands) > 1 else operands[0]
    if target == PC and instruction.mnemonic == "mov" and _number(instruction, source.reg) == LR:
        return Effect(0, returns=True)
    if target not in TRACKED:
        return None
    constant = 0
    if not instruction.mnemonic.startswith("mov"):
        if operands[-1].type != _CONSTANT:
            return None
        constant = operands[-1].imm
        if instruction.mnemonic.startswith("sub"):
            constant = -constant
        source = operands[-2]
    if source.type != _REGISTER or source.shift.type or _number(instruction, source.reg) not in TRACKED:
        return None
    return Effect(0, moves=((target, _number(instruction, source.reg), constant),))


def _call(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    thumb = 1 if instruction.size == 2 or instruction.mnemonic in ("bl", "blx") and _is_thumb(instruction) else 0
    return Effect(0, link=instruction.address + instruction.size | thumb)


def _is_thumb(instruction: Any) -> bool:
    return bool(instruction._cs.mode & 0x10)


def _branch(instruction: Any, operands: List[Any]) -> Optional[Effect]:
    return Effect(0, returns=True) if _number(instruction, operands[0].reg) == LR else None


# Kinds of Capstone's operands.
_REGISTER, _CONSTANT, _MEMORY = 1, 2, 3
_MAKERS = {
    "push": _push,
    "pop": _pop,
    "stmdb": _multiple,
    "ldm": _multiple,
    "ldmia": _multiple,
    "vpush": _double_registers,
    "vpop": _double_registers,
    "str": _single,
    "ldr": _single,
    "add": _sum,
    "addw": _sum,
    "sub": _sum,
    "subw": _sum,
    "mov": _sum,
    "bl": _call,
    "blx": _call,
    "bx": _branch,
}
