"""SSA form of the executed instructions: each write makes a new variable.

The path is known, so what ran is one long basic block, and its static single assignment form needs no joins (but those
of conditional instructions, see :mod:`gdb_etm.recovery.execution.builder`).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Callable, Dict, Final, List, Optional, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import ABOVE_BIT, DEAD, UNMODELLED, ConstraintGraph
from gdb_etm.recovery.lift.evaluate import apply
from gdb_etm.recovery.lift.operations import FLOAT_OPS, MASK, SP, TEMPORARY, C, N, Op, V, Z
from gdb_etm.recovery.lift.template import Step
from gdb_etm.recovery.rules import Rules

SLOTS: Final = TEMPORARY
# Bits that are 0 in what these operations give.
_ABOVE: Final = {Op.CLZ: MASK & ~63, Op.FCOMPARE: MASK & ~15}


_COPY: Final = Op.COPY
_LOAD: Final = Op.LOAD
_STORE: Final = Op.STORE
_CONDITION: Final = Op.CONDITION
_UNKNOWN: Final = Op.UNKNOWN
# How many operations there are.
_OPS: Final = FLOAT_OPS[-1] + 1

Maker = Callable[[List[int], Tuple[int, ...]], int]


class MemoryAccess:
    """One load or store, in the order in which they ran.

    :param number: The instruction's.
    :param address: Variable.
    :param data: Variable.
    :param size: In bytes; 0 for what may change any memory.
    :param condition: Variable, a bit: whether it ran at all.
    """

    # No named tuple: what is compiled reads these fastest.
    __slots__ = ("number", "store", "address", "data", "size", "condition")

    def __init__(self, number: int, store: bool, address: int, data: int, size: int, condition: int) -> None:
        self.number = number
        self.store = store
        self.address = address
        self.data = data
        self.size = size
        self.condition = condition


class TraceSsa(ConstraintGraph):
    """Variables, constraints and accesses of a segment.

    :param rules: What may be relied on.
    :param program: The program that ran; what it holds outside of RAM is constant.
    """

    def __init__(self, rules: Rules, program: Program) -> None:
        super().__init__()
        self.rules = rules
        self.program = program
        self.accesses: List[MemoryAccess] = []
        # The instruction's number of each.
        self._accessing: List[int] = []
        # Those with which exceptions push frames.
        self.stacked: Set[int] = set()
        # Pairs of accesses that are not linked: somebody else may have written there in between.
        self.unlinked: Set[Tuple[int, int]] = set()
        # For each slot the instructions before which it got a new variable.
        self.times: List[List[int]] = [[] for _ in range(SLOTS)]
        # The variables, or DEAD.
        self.held: List[List[int]] = [[] for _ in range(SLOTS)]
        # Of flags that a comparison has set: the flag's slot and the two that it compared.
        self._origin: Dict[int, Tuple[int, ...]] = {}
        # What the instruction that is being added compares.
        self._compared: Optional[Tuple[int, int]] = None
        makers: Dict[int, Maker] = {
            Op.ADD: self._add,
            Op.SUB: self._subtract,
            Op.AND: lambda i, d: self.logic(ConstraintKind.AND, i),
            Op.OR: lambda i, d: self.logic(ConstraintKind.OR, i),
            Op.XOR: lambda i, d: self.exclusive(i[0], i[1]),
            Op.NOT: lambda i, d: self.exclusive(i[0], self.constant(MASK)),
            Op.BITS: self._bits,
            Op.SIGN: lambda i, d: self.make(ConstraintKind.SIGN, i[0], d[0]),
            Op.MUL: self._multiply,
            Op.UDIV: self._divide,
            Op.RBIT: lambda i, d: self.make(ConstraintKind.REVERSE, i[0]),
            Op.SELECT: lambda i, d: self.select(i[0], i[1], i[2]),
            Op.ZERO: self._zero,
            Op.BIT: self._bit,
            Op.ADD_CARRY: lambda i, d: self.make_bit(ConstraintKind.CARRY, i[0], i[1], i[2], 0),
            Op.ADD_OVERFLOW: lambda i, d: self.make_bit(ConstraintKind.OVERFLOW, i[0], i[1], i[2], 0),
            Op.SUB_CARRY: self._subtract_carry,
            Op.SUB_OVERFLOW: self._subtract_overflow,
            Op.SHIFT_CARRY: lambda i, d: self.make_bit(ConstraintKind.SHIFT_CARRY, i[0], i[1], i[2], d[0]),
        }
        for op in (Op.LSL, Op.LSR, Op.ASR, Op.ROR):
            makers[op] = self._shifter(op)
        for op in (Op.UMULH, Op.SMULH, Op.SDIV, Op.CLZ) + FLOAT_OPS:
            makers[op] = self._computer(op)
        # What makes the variable of an operation, where it is made of nothing but its inputs.
        self._makers: List[Optional[Maker]] = [makers.get(op) for op in range(_OPS)]

    def run(self, steps: Tuple[Step, ...], current: List[int], condition: int) -> None:
        """Do what an instruction does.

        :param current: The variable of each slot; updated.
        :param condition: Variable of the bit that is 1 if it runs.
        """
        makers, fixed = self._makers, self.fixed
        self._compared = None
        for op, outputs, inputs, detail in steps:
            read = [current[slot] if slot >= 0 else self.constant(~slot) for slot in inputs]
            maker = makers[op]
            if maker is not None:
                for variable in read:
                    if not fixed[variable]:
                        current[outputs[0]] = maker(read, detail)
                        break
                else:
                    bits = self.domain.bits
                    value = apply(op, detail, [bits[variable] for variable in read])
                    current[outputs[0]] = self.constant(value)
            elif op == _LOAD:
                current[outputs[0]] = self.load(read[0], detail[0], condition)
            elif op == _STORE:
                self.access(True, read[0], read[1], detail[0], condition)
            elif op == _COPY:
                current[outputs[0]] = read[0]
            elif op == _CONDITION:
                current[outputs[0]] = self.condition(detail[0], read)
            elif op == _UNKNOWN:
                for slot in outputs:
                    current[slot] = self.new(UNMODELLED, ABOVE_BIT if 16 <= slot < 20 else 0)
            else:
                self.access(True, self.new(UNMODELLED), self.new(UNMODELLED), 0, condition)
        self._note_comparison(steps, current)

    def _note_comparison(self, steps: Tuple[Step, ...], current: List[int]) -> None:
        compared = self._compared
        if compared is None:
            return
        for _, outputs, _, _ in steps:
            if outputs and N <= outputs[0] <= V and not self.fixed[current[outputs[0]]]:
                self._origin[current[outputs[0]]] = (outputs[0],) + compared

    def access(self, store: bool, address: int, data: int, size: int, condition: int) -> None:
        """Add a load or store."""
        number = len(self.accesses)
        self.accesses.append(MemoryAccess(self.number, store, address, data, size, condition))
        self._accessing.append(self.number)
        self.relate((ConstraintKind.ACCESS, address, condition, number))

    def first_access(self, number: int) -> int:
        """Count the accesses of the instructions before one."""
        return bisect_left(self._accessing, number)

    def load(self, address: int, size: int, condition: int) -> int:
        """Make the variable that a load gives."""
        if self.fixed[address]:
            known = self.read_constant(self.domain.bits[address], size)
            if known is not None:
                return self.constant(known)
        data = self.new(~len(self.accesses) - 16, MASK & ~((1 << 8 * size) - 1))
        self.access(False, address, data, size, condition)
        return data

    def store(self, address: int, data: int, size: int, condition: int) -> None:
        """Add a store of the low bytes of a variable."""
        self.access(True, address, data, size, condition)

    def through_stack(self) -> List[bool]:
        """Tell of each access whether its address is made from SP.

        So is that of what an exception pushes.
        """
        bases = {self.base(variable) for variable in self.held[SP]}
        return [
            number in self.stacked or self.base(access.address) in bases for number, access in enumerate(self.accesses)
        ]

    def read_constant(self, address: int, size: int) -> Optional[int]:
        """Read memory that does not change: the program's, outside of RAM."""
        if self.is_ram(address, size):
            return None
        found = self.program.read(address, size)
        return int.from_bytes(found, "little") if len(found) == size else None

    def is_ram(self, address: int, size: int) -> bool:
        """Check whether any byte of a piece of memory is RAM."""
        for low, high in self.rules.ram:
            if low < address + size and address < high:
                return True
        return False

    def is_volatile(self, address: int, size: int) -> bool:
        """Check whether others write any byte of a piece of memory."""
        for low, high in self.rules.volatile:
            if low < address + size and address < high:
                return True
        return False

    def put(self, slot: int, variable: int) -> None:
        """Give a slot a new variable, from the next instruction on."""
        times, held = self.times[slot], self.held[slot]
        if held and held[-1] == variable != DEAD:
            return
        if times and times[-1] == self.number + 1:
            held[-1] = variable
            return
        times.append(self.number + 1)
        held.append(variable)

    def _add(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        one, other, carry = inputs
        fixed, bits = self.fixed, self.domain.bits
        if not fixed[carry]:
            return self.make(ConstraintKind.SUM_CARRY, one, other, carry)
        if fixed[other]:
            return self.offset(one, bits[other] + bits[carry])
        if fixed[one]:
            return self.offset(other, bits[one] + bits[carry])
        made = self.make(ConstraintKind.SUM, one, other, bits[carry])
        if not bits[carry]:
            self.remainders.add(made, one, other)
        return made

    def _subtract(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        # one = result + other + (1 - carry)
        one, other, carry = inputs
        fixed, bits = self.fixed, self.domain.bits
        if not fixed[carry]:
            inverse = self.invert(carry)
            made = self.new(len(self.constraints))
            self.relate((ConstraintKind.SUM_CARRY, one, made, other, inverse))
            return made
        if fixed[other]:
            return self.offset(one, bits[carry] - 1 - bits[other])
        if one == other:
            return self.constant((bits[carry] - 1) & MASK)
        made = self.new(len(self.constraints))
        self.relate((ConstraintKind.SUM, one, made, other, 1 - bits[carry]))
        divisor = self.remainders.divisor(one, other) if bits[carry] else 0
        if divisor:
            self.relate((ConstraintKind.REMAINDER, made, one, divisor))
        return made

    def _bits(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        source, into = inputs
        slot, _, count = detail
        known = MASK & ~(((1 << count) - 1) << slot) if self.fixed[into] else 0
        made = self.new(len(self.constraints), known, self.domain.bits[into] & known)
        self.relate((ConstraintKind.BITS, made, into, source) + detail)
        if known and not self.domain.bits[into]:
            self.remainders.shift(made, source, detail)
        return made

    def _multiply(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        made = self.make(ConstraintKind.MULTIPLY, inputs[0], inputs[1])
        self.remainders.multiply(made, inputs[0], inputs[1])
        return made

    def _divide(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        made = self.make(ConstraintKind.DIVIDE, inputs[0], inputs[1])
        self.remainders.divide(made, inputs[0], inputs[1])
        return made

    def _shifter(self, op: int) -> Maker:
        return lambda i, d: self.make(ConstraintKind.SHIFT, i[0], i[1], int(op))

    def _computer(self, op: int) -> Maker:
        def compute(inputs: List[int], detail: Tuple[int, ...]) -> int:
            made = self.new(len(self.constraints), _ABOVE.get(op, 0))
            self.relate((ConstraintKind.COMPUTE, made, int(op)) + tuple(inputs))
            if op == Op.UMULH:
                self.remainders.high(made, inputs[0], inputs[1])
            return made

        return compute

    def _zero(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        if self.is_bit(inputs[0]):
            return self.invert(inputs[0])
        return self.make_bit(ConstraintKind.ZERO, inputs[0])

    def _bit(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        return self.bit(inputs[0], detail[0])

    def bit(self, variable: int, number: int) -> int:
        """Make the variable of one bit of another."""
        made = self.new(len(self.constraints), ABOVE_BIT)
        self.relate((ConstraintKind.FIELD, made, variable, 0, number, 1))
        return made

    def _subtract_carry(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        one, other, carry = inputs
        if not self.fixed[carry] or not self.domain.bits[carry]:
            return self.make_bit(ConstraintKind.CARRY, one, other, carry, 1)
        self._compared = (one, other)
        made = self.new(len(self.constraints), ABOVE_BIT)
        self.compare(made, one, other, 0)
        return made

    def _subtract_overflow(self, inputs: List[int], detail: Tuple[int, ...]) -> int:
        one, other, carry = inputs
        if self.fixed[carry] and self.domain.bits[carry]:
            self._compared = (one, other)
        return self.make_bit(ConstraintKind.OVERFLOW, one, other, carry, 1)

    def condition(self, code: int, flags: List[int]) -> int:
        """Make the bit of whether a condition holds.

        :param code: 0 to 13.
        :param flags: Variables of N, Z, C and V.
        """
        negative, zero, carry, overflow = flags
        if code < 8:
            held = (zero, carry, negative, overflow)[code >> 1]
        elif code < 10:
            held = self._both(carry, self.invert(zero))
            compared = self._comparison((C, carry), (Z, zero))
            if compared is not None:
                self.compare(self.invert(held), compared[1], compared[0], 0)
        else:
            held = self._signed(code, negative, zero, overflow)
        return self.invert(held) if code & 1 else held

    def _signed(self, code: int, negative: int, zero: int, overflow: int) -> int:
        # GE is N = V; GT is GE and not Z.
        held = self.invert(self.exclusive(negative, overflow))
        compared = self._comparison((N, negative), (V, overflow))
        if compared is not None:
            self.compare(held, compared[0], compared[1], 0x80000000)
        if code < 12:
            return held
        held = self._both(held, self.invert(zero))
        compared = self._comparison((N, negative), (V, overflow), (Z, zero))
        if compared is not None:
            self.compare(self.invert(held), compared[1], compared[0], 0x80000000)
        return held

    def _both(self, one: int, other: int) -> int:
        if self.fixed[one] and self.fixed[other]:
            return self.constant(self.domain.bits[one] & self.domain.bits[other])
        return self.make_bit(ConstraintKind.AND, one, other)

    def _comparison(self, *flags: Tuple[int, int]) -> Optional[Tuple[int, ...]]:
        # What was compared, when all these flags come from one comparison.
        found = {self._origin.get(variable) for _, variable in flags}
        compared = {origin[1:] for origin in found if origin is not None}
        if None in found or len(compared) != 1:
            return None
        for slot, variable in flags:
            if self._origin[variable][0] != slot:
                return None
        return next(iter(compared))
