"""Builder of one instruction's operations, from values before it."""

from __future__ import annotations

from typing import Dict, Final, Iterable, List, Optional, Tuple

from gdb_etm.program.isa import Isa
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import (
    FP_MODE,
    FPCA,
    FPSCR,
    GE,
    LR,
    MASK,
    S0,
    SP,
    TEMPORARY,
    C,
    Const,
    Lifted,
    N,
    Op,
    Operand,
    Operation,
    Slot,
    V,
    Z,
)

PC: Final = 15
ZERO: Final = Const(0)
ONE: Final = Const(1)
# All core registers but the program counter.
CORE: Final[Tuple[Slot, ...]] = tuple(range(13)) + (SP, LR)
# All floating-point registers that are slots.
FLOATS: Final[Tuple[Slot, ...]] = tuple(range(S0, S0 + 32))
FLAGS: Final[Tuple[Slot, ...]] = (N, Z, C, V)
# What an instruction that is not known at all may write.
EVERYTHING: Final[Tuple[Slot, ...]] = CORE + FLAGS + (GE, FPSCR) + FLOATS


class Builder:
    """Operations of one instruction.

    A lifter reads registers at any time and gets what they were before the instruction; what it sets takes effect
    when all is read.  :meth:`finish` puts the operations in an order in which that holds.

    :param address: Of the instruction, in bytes.
    :param size: 2 or 4 bytes.
    :param m_profile: Whether stack pointers lack bits 1:0.
    :param aspen: FPCCR.ASPEN, whether floating point sets FPCA; where it does not, it may have done so before.
    """

    def __init__(self, address: int, size: int, isa: Isa, m_profile: bool, aspen: bool = True) -> None:
        self.address = address
        self.size = size
        self.isa = isa
        self.m_profile = m_profile
        self.aspen = aspen
        self._operations: List[Operation] = []
        self._sets: Dict[Slot, Operand] = {}
        self._next = TEMPORARY
        self._taken: Optional[Operand] = None
        self._target: Optional[Operand] = None
        self._interworks = False
        self._aligned: List[Operand] = []
        self._modelled = True
        self._call = False
        self._placed = False

    @property
    def pc(self) -> int:
        """What reading the program counter gives."""
        self._placed = True
        return (self.address + (8 if self.isa is Isa.A32 else 4)) & MASK

    @property
    def next(self) -> int:
        """Address of the next instruction."""
        self._placed = True
        return (self.address + self.size) & MASK

    def leads_on(self, target: int) -> bool:
        """Check whether a direct branch's target is the next instruction."""
        return target == (self.address + self.size) & MASK

    def read(self, register: int) -> Operand:
        """Give the operand for core register 0 to 15."""
        return Const(self.pc) if register == PC else register

    def value(self, op: int, *inputs: Operand, detail: Tuple[int, ...] = ()) -> Operand:
        """Compute something; the result is a constant when all inputs are."""
        if op == Op.SUB and isinstance(inputs[1], Const) and inputs[2] == ONE:
            op, inputs = Op.ADD, (inputs[0], Const(-inputs[1].value & MASK), ZERO)
        if op == Op.ADD and inputs[2] == ZERO and ZERO in inputs[:2]:
            return inputs[1] if inputs[0] == ZERO else inputs[0]
        known = [operand.value for operand in inputs if isinstance(operand, Const)]
        if len(known) == len(inputs) and op not in IMPURE:
            return Const(apply(op, detail, known))
        return self._emit(op, inputs, detail)

    def _emit(self, op: int, inputs: Tuple[Operand, ...], detail: Tuple[int, ...] = ()) -> Slot:
        slot = self._next
        self._next += 1
        self._operations.append(Operation(op, (slot,), inputs, detail))
        return slot

    def unknown(self) -> Slot:
        """Give an unknown value."""
        return self._emit(Op.UNKNOWN, ())

    def lose(self, slots: Iterable[Slot]) -> None:
        """Make slots unknown: the instruction may write them, and has no model."""
        self._modelled = False
        self.forget(slots)

    def forget(self, slots: Iterable[Slot]) -> None:
        """Make slots unknown that get values from outside, as from a coprocessor."""
        outputs = []
        for slot in slots:
            if slot == PC:
                self.branch(self.unknown(), True)
                continue
            outputs.append(self._next)
            self._sets[slot] = self._next
            self._next += 1
        if outputs:
            self._operations.append(Operation(Op.UNKNOWN, tuple(outputs), ()))

    def clobber(self) -> None:
        """Say that any memory may change."""
        self._modelled = False
        self._operations.append(Operation(Op.CLOBBER, (), ()))

    def give_up(self) -> None:
        """Say that the encoding is unpredictable or not known: everything may change."""
        self.lose(EVERYTHING)
        self.clobber()
        self.lose((FPCA, FP_MODE))

    def load(self, size: int, address: Operand) -> Slot:
        """Load 1, 2 or 4 bytes, zero-extended."""
        return self._emit(Op.LOAD, (address,), (size,))

    def store(self, size: int, address: Operand, value: Operand) -> None:
        """Store the low 1, 2 or 4 bytes of a value."""
        self._operations.append(Operation(Op.STORE, (), (address, value), (size,)))

    def offset(self, base: Operand, offset: int) -> Operand:
        """Add a constant, which may be negative."""
        return self.value(Op.ADD, base, Const(offset & MASK), ZERO)

    def field(self, value: Operand, lowest: int, count: int) -> Operand:
        """Give bits ``lowest`` to ``lowest + count - 1`` as a number."""
        return self.value(Op.BITS, value, ZERO, detail=(0, lowest, count)) if count else ZERO

    def insert(self, into: Operand, value: Operand, lowest: int, count: int, source: int = 0) -> Operand:
        """Replace ``count`` bits from ``lowest`` on by ``value``'s from ``source`` on."""
        return self.value(Op.BITS, value, into, detail=(lowest, source, count))

    def sign(self, value: Operand, bits: int) -> Operand:
        """Extend the sign of a value of some bits."""
        return self.value(Op.SIGN, value, detail=(bits,))

    def bit(self, value: Operand, number: int) -> Operand:
        """Give one bit."""
        return self.value(Op.BIT, value, detail=(number,))

    def condition(self, code: int) -> Operand:
        """Give whether a condition code from 0 to 13 holds."""
        return self.value(Op.CONDITION, *FLAGS, detail=(code,))

    def set(self, slot: Slot, value: Operand, aligned: bool = False) -> None:
        """Write a slot; bits 1:0 of an M-profile stack pointer stay 0.

        :param aligned: Whether the value is known to be a multiple of 4.
        """
        if slot == SP and self.m_profile and not (aligned or self._keeps_alignment(value)):
            value = self.value(Op.BITS, value, ZERO, detail=(2, 2, 30))
        self._sets[slot] = value

    def _keeps_alignment(self, value: Operand) -> bool:
        if isinstance(value, Const):
            return not value.value & 3
        if value == SP:
            return True
        made = [operation for operation in self._operations if operation.outputs == (value,)]
        if not made or made[0].op != Op.ADD:
            return False
        first, second, carry = made[0].inputs
        return first == SP and isinstance(second, Const) and not second.value & 3 and carry == ZERO

    def write(self, register: int, value: Operand, interworks: bool = False) -> None:
        """Write core register 0 to 15; writing the program counter branches."""
        if register == PC:
            self.branch(value, interworks)
        else:
            self.set(register, value)

    def branch(self, target: Operand, interworks: bool) -> None:
        """Branch to a computed address."""
        self._target = target
        self._interworks = interworks

    def taken_if(self, condition: Operand) -> None:
        """Make the instruction a conditional branch."""
        self._taken = condition

    def link(self) -> None:
        """Leave the return address in the link register."""
        self._call = True
        self.set(LR, Const(self.next | (0 if self.isa is Isa.A32 else 1)))

    def align(self, address: Operand) -> None:
        """Say that an address must be a multiple of 4."""
        if not isinstance(address, Const):
            self._aligned.append(address)

    def unmodelled(self) -> None:
        """Say that the operations are not all there is."""
        self._modelled = False

    def _is_odd(self) -> bool:
        # An unpredictable use of the program counter as an operand.
        return PC in self._sets or any(PC in operation.inputs for operation in self._operations)

    def finish(self) -> Lifted:
        """Give the instruction."""
        if self._is_odd() or PC in self._sets.values():
            other = Builder(self.address, self.size, self.isa, self.m_profile, self.aspen)
            other.give_up()
            return other.finish()
        sets = {slot: operand for slot, operand in self._sets.items() if operand != slot}
        first: List[Operation] = []
        kept: Dict[Slot, Slot] = {}

        def old(operand: Operand) -> Operand:
            # What is read at the end must be set aside if it is overwritten before.
            if isinstance(operand, Const) or operand not in sets:
                return operand
            if operand not in kept:
                kept[operand] = self._next
                self._next += 1
                first.append(Operation(Op.COPY, (kept[operand],), (operand,)))
            return kept[operand]

        sets = {slot: old(operand) for slot, operand in list(sets.items())}
        ends = [None if operand is None else old(operand) for operand in (self._taken, self._target)]
        aligned = [old(operand) for operand in self._aligned]
        operations = first + self._operations
        names = _names(operations, sets)
        operations = [_renamed(operation, names) for operation in operations]
        for slot, operand in sets.items():
            if isinstance(operand, Const) or names.get(operand) != slot:
                operations.append(Operation(Op.COPY, (slot,), (_name(operand, names),)))
        taken, target = [None if operand is None else _name(operand, names) for operand in ends]
        if isinstance(taken, Const):
            operations.append(Operation(Op.COPY, (self._next,), (taken,)))
            taken = self._next
        return Lifted(
            self.size,
            tuple(operations),
            taken,
            target,
            self._interworks,
            tuple([_name(operand, names) for operand in aligned]),
            self._modelled,
            self._call,
            self._placed,
        )


def _names(operations: List[Operation], sets: Dict[Slot, Operand]) -> Dict[Slot, Slot]:
    # Temporaries that can be computed right where they go, because nobody reads the old value later on.
    made = {slot: index for index, operation in enumerate(operations) for slot in operation.outputs}
    names: Dict[Slot, Slot] = {}
    for slot, operand in sets.items():
        if isinstance(operand, Const) or operand not in made or operand in names:
            continue
        if not any(slot in operation.inputs for operation in operations[made[operand] + 1 :]):
            names[operand] = slot
    return names


def _name(operand: Operand, names: Dict[Slot, Slot]) -> Operand:
    return operand if isinstance(operand, Const) else names.get(operand, operand)


def _renamed(operation: Operation, names: Dict[Slot, Slot]) -> Operation:
    return operation._replace(
        outputs=tuple([names.get(slot, slot) for slot in operation.outputs]),
        inputs=tuple([_name(operand, names) for operand in operation.inputs]),
    )
