"""Effects of instructions on the stack, link and frame registers.

That is all that the past's call stack needs: how r7, r11, sp and lr come to be, and which of them are pushed and popped
(AAPCS32, 6.1.1 and 6.2.1; r7 and r11 are the frame pointers that compilers use).  Values are followed through an
instruction as one of these registers plus a constant; everything else is not known.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range
from gdb_etm.recovery.lift.operations import CONTROL, LR, MASK, MSP, PSP, SP, Op
from gdb_etm.recovery.lift.template import Step, Template, Templates

PC = 15
# Registers that are followed.
TRACKED = (7, 11, SP, LR)

# A register and where it is stored or loaded, as a distance from the stack pointer before the instruction.
StackSlot = Tuple[int, int]

# A value within an instruction: what it is relative to, and a distance.
_Relative = Tuple[int, int]
# Bases besides the registers: none, and the word on the stack at a distance from the stack pointer.
_NUMBER, _WORD_AT = -1, -2
# The bits of an M-profile stack pointer that can be set: destination, source and count of :attr:`Op.BITS`.
_ALIGNED = (2, 2, 30)


class Effect(NamedTuple):
    """What one instruction does; what is absent stays as it is."""

    # Its index in the executed range, from 0.
    at: int
    # Of an instruction that lowers the stack pointer, too: what others store there is a variable.
    stores: Tuple[StackSlot, ...] = ()
    # The program counter among them is where execution goes on.
    loads: Tuple[StackSlot, ...] = ()
    # A register becomes another one plus a constant; all take place at once.
    moves: Tuple[Tuple[int, int, int], ...] = ()
    # Registers that become a number, which stands in the program.
    constants: Tuple[Tuple[int, int], ...] = ()
    # Registers that become something else.
    lost: Tuple[int, ...] = ()
    # The return address that a call leaves in the link register.
    link: Optional[int] = None
    # Other words that it writes, as a register and a distance from it: what was pushed there is there no more.
    spoils: Tuple[Tuple[int, int], ...] = ()
    # Whether it goes to the address in the link register.
    returns: bool = False
    # Whether it writes a stack pointer by name, or chooses between stacks.
    switches: bool = False

    @property
    def leaves(self) -> bool:
        """Whether it does something only if it branches."""
        return self.returns or self.link is not None or any(register == PC for register, _ in self.loads)


class Effects:
    """Effects of executed ranges; each range is looked at once.

    :param program: The program that ran.
    :param m_profile: Whether T32 code runs on an M-profile core.
    """

    def __init__(self, program: Program, m_profile: bool) -> None:
        self._program = program
        self._m_profile = m_profile
        self._templates = Templates(program, m_profile)
        self._known: Dict[Tuple[int, int, Isa, bool], Tuple[Effect, ...]] = {}

    def __call__(self, executed: Range) -> Tuple[Effect, ...]:
        """List the instructions of a range that do something, in their order."""
        key = executed.start, executed.end, executed.isa, executed.taken
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(self._effects(executed))
        return known

    def _effects(self, executed: Range) -> List[Effect]:
        found = []
        it_state = self._templates.it_state(executed.start, executed.isa)
        templates, _ = self._templates.of_range(executed.start, executed.end, executed.isa, it_state)
        for index, template in enumerate(templates):
            branched = executed.taken and index == len(templates) - 1
            effect = _Evaluation(self._program, template).effect()
            if not self._m_profile and self._writes_other_mode(template):
                effect = effect._replace(lost=tuple({*effect.lost, SP}), switches=True)
            if effect == _NOTHING or effect.leaves and not branched:
                continue
            if template.condition != ALWAYS and not branched:
                effect = _conditional(effect)
            found.append(effect._replace(at=index))
        return found

    def _writes_other_mode(self, template: Template) -> bool:
        # MSR of A-profile to an SPSR or to another mode's register (DDI 0487, F5.1): not among the slots of templates.
        code = self._program.read(template.address, template.size)
        if template.isa is Isa.A32:
            word = int.from_bytes(code, "little")
            is_register = word & 0x0FB000F0 == 0x01200000 and bool(word & 0x00400200)
            return is_register or word & 0x0FF0F000 == 0x0360F000
        if template.size < 4:
            return False
        first, second = code[0] | code[1] << 8, code[2] | code[3] << 8
        return first & 0xFFE0 == 0xF380 and second & 0xD000 == 0x8000 and bool(first & 0x10 or second & 0x20)


_NOTHING = Effect(0)


def _conditional(effect: Effect) -> Effect:
    # Whether its condition held is not known, so neither is what it may have written.
    written = {register for register, _ in effect.loads + effect.constants} | {move[0] for move in effect.moves}
    spoils = effect.spoils + tuple([(SP, distance) for _, distance in effect.stores])
    return Effect(0, lost=tuple(sorted(written.union(effect.lost))), spoils=spoils)


class _Evaluation:
    # The values of slots within one instruction; None is one that is not known.

    def __init__(self, program: Program, template: Template) -> None:
        self._program = program
        self._template = template
        self._values: Dict[int, Optional[_Relative]] = {register: (register, 0) for register in TRACKED}
        self._stores: List[StackSlot] = []
        self._spoils: List[Tuple[int, int]] = []

    def effect(self) -> Effect:
        template = self._template
        for step in template.steps:
            self._evaluate(step)
        if template.call:
            self._values[LR] = LR, 0
        effect = self._register_effect()
        switches = not {MSP, PSP, CONTROL}.isdisjoint(template.writes)
        link = template.address + template.size | (template.isa is Isa.T32) if template.call else None
        target = None if template.target is None else self._value(template.target)
        if target is not None and target[0] == _WORD_AT:
            effect = effect._replace(loads=effect.loads + ((PC, target[1]),))
        return effect._replace(link=link, returns=target == (LR, 0) and link is None, switches=switches)

    def _register_effect(self) -> Effect:
        loads, moves, constants, lost = [], [], [], []
        for register in TRACKED:
            value = self._values[register]
            if value is None:
                lost.append(register)
            elif value[0] == _WORD_AT:
                loads.append((register, value[1]))
            elif value[0] == _NUMBER:
                constants.append((register, value[1] & MASK))
            elif value != (register, 0):
                moves.append((register, *value))
        pointer = self._values[SP]
        pushes = pointer is not None and pointer[0] == SP and pointer[1] < 0
        spoils = self._spoils + ([] if pushes else [(SP, distance) for _, distance in self._stores])
        stores = tuple(self._stores) if pushes else ()
        written = tuple(loads), tuple(moves), tuple(constants), tuple(lost)
        return Effect(0, stores, *written, spoils=tuple(spoils))

    def _value(self, operand: int) -> Optional[_Relative]:
        return (_NUMBER, ~operand) if operand < 0 else self._values.get(operand)

    def _evaluate(self, step: Step) -> None:
        op, outputs, inputs, detail = step
        values = [self._value(operand) for operand in inputs]
        result: Optional[_Relative] = None
        if op == Op.COPY or op == Op.BITS and detail == _ALIGNED and values[1] == (_NUMBER, 0):
            result = values[0]
        elif op == Op.ADD:
            result = _sum(values)
        elif op == Op.LOAD and detail == (4,):
            result = self._load(values[0])
        elif op == Op.STORE:
            address, value = values
            if detail == (4,) and address is not None and address[0] == SP and value in _UNCHANGED:
                self._stores.append((_UNCHANGED[value], address[1]))
            elif address is not None and address[0] in TRACKED:
                self._spoils.append((address[0], address[1] & ~3))
        for output in outputs:
            self._values[output] = result

    def _load(self, address: Optional[_Relative]) -> Optional[_Relative]:
        if address is None or address[0] not in (SP, _NUMBER):
            return None
        base, distance = address
        if base == SP:
            return _WORD_AT, distance
        # A constant beside the code, as start-up code sets a stack pointer.
        word = self._program.read(distance & MASK, 4)
        return (_NUMBER, int.from_bytes(word, "little")) if len(word) == 4 else None


# The tracked registers by their values before an instruction.
_UNCHANGED: Dict[Optional[_Relative], int] = {(register, 0): register for register in TRACKED}


def _sum(values: List[Optional[_Relative]]) -> Optional[_Relative]:
    base, distance = _NUMBER, 0
    for value in values:
        if value is None or value[0] == _WORD_AT or _NUMBER not in (base, value[0]):
            return None
        base, distance = max(base, value[0]), distance + value[1]
    return base, _signed(distance)


def _signed(value: int) -> int:
    return (value + 0x80000000 & MASK) - 0x80000000
