"""Evaluation of pure operations whose inputs are all known."""

from __future__ import annotations

from typing import Callable, Dict, Final, Sequence, Tuple

from gdb_etm.program.conditions import holds
from gdb_etm.recovery.lift import floats
from gdb_etm.recovery.lift.operations import MASK, Op, Operation

Inputs = Sequence[int]
Detail = Tuple[int, ...]

# Operations that have no value of their own: they depend on memory, or on nothing that is known.
IMPURE: Final = frozenset((Op.LOAD, Op.STORE, Op.UNKNOWN, Op.CLOBBER))


def compute(operation: Operation, inputs: Inputs) -> Tuple[int, ...]:
    """Give the outputs of an operation.

    :param operation: None of :data:`IMPURE`.
    :param inputs: Values of its inputs in their order, 32 bits unsigned each, those that are one bit 0 or 1.
    """
    return (apply(operation.op, operation.detail, inputs),)


def apply(op: int, detail: Detail, inputs: Inputs) -> int:
    """Give the output of an operation by its parts; see :func:`compute`."""
    return _MEANING[op](inputs, detail) & MASK


def shift_carry(op: int, value: int, amount: int, carry: int) -> int:
    """Compute the carry of a shift by a register (Armv8-M ARM, Shift_C).

    :param op: LSL, LSR, ASR or ROR.
    :param amount: Of which the low 8 bits count.
    :param carry: The carry flag before, which stays when the amount is 0.
    """
    amount &= 0xFF
    if not amount:
        return carry
    if op == Op.LSL:
        return value >> (32 - amount) & 1 if amount <= 32 else 0
    if op == Op.ROR:
        amount = (amount - 1) % 32 + 1
    elif op == Op.ASR:
        amount = min(amount, 32)
    return value >> (amount - 1) & 1


def _signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - ((value >> (bits - 1)) << bits)


def _bits(inputs: Inputs, detail: Detail) -> int:
    slot, source, count = detail
    mask = (1 << count) - 1
    return inputs[1] & ~(mask << slot) | (inputs[0] >> source & mask) << slot


def _ror(inputs: Inputs, _detail: Detail) -> int:
    amount = inputs[1] & 31
    return inputs[0] >> amount | inputs[0] << (32 - amount)


def _divide(inputs: Inputs, _detail: Detail) -> int:
    dividend, divisor = _signed(inputs[0]), _signed(inputs[1])
    if not divisor:
        return 0
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _overflow(first: int, second: int, carry: int) -> int:
    total = _signed(first) + _signed(second) + carry
    return int(total != _signed(total))


def _condition(inputs: Inputs, detail: Detail) -> int:
    negative, zero, carry, overflow = inputs
    return int(holds(detail[0], negative << 3 | zero << 2 | carry << 1 | overflow))


_MEANING: Final[Dict[int, Callable[[Inputs, Detail], int]]] = {
    Op.COPY: lambda i, d: i[0],
    Op.ADD: lambda i, d: i[0] + i[1] + i[2],
    Op.SUB: lambda i, d: i[0] + (~i[1] & MASK) + i[2],
    Op.AND: lambda i, d: i[0] & i[1],
    Op.OR: lambda i, d: i[0] | i[1],
    Op.XOR: lambda i, d: i[0] ^ i[1],
    Op.NOT: lambda i, d: ~i[0],
    Op.BITS: _bits,
    Op.SIGN: lambda i, d: _signed(i[0], d[0]),
    Op.LSL: lambda i, d: i[0] << (i[1] & 0xFF),
    Op.LSR: lambda i, d: i[0] >> (i[1] & 0xFF),
    Op.ASR: lambda i, d: _signed(i[0]) >> (i[1] & 0xFF),
    Op.ROR: _ror,
    Op.MUL: lambda i, d: i[0] * i[1],
    Op.UMULH: lambda i, d: i[0] * i[1] >> 32,
    Op.SMULH: lambda i, d: _signed(i[0]) * _signed(i[1]) >> 32,
    Op.UDIV: lambda i, d: i[0] // i[1] if i[1] else 0,
    Op.SDIV: _divide,
    Op.CLZ: lambda i, d: 32 - i[0].bit_length(),
    Op.RBIT: lambda i, d: int("{:032b}".format(i[0])[::-1], 2),
    Op.SELECT: lambda i, d: i[1] if i[0] else i[2],
    Op.ZERO: lambda i, d: int(not i[0]),
    Op.BIT: lambda i, d: i[0] >> d[0] & 1,
    Op.ADD_CARRY: lambda i, d: (i[0] + i[1] + i[2]) >> 32,
    Op.ADD_OVERFLOW: lambda i, d: _overflow(i[0], i[1], i[2]),
    Op.SUB_CARRY: lambda i, d: (i[0] + (~i[1] & MASK) + i[2]) >> 32,
    Op.SUB_OVERFLOW: lambda i, d: _overflow(i[0], ~i[1] & MASK, i[2]),
    Op.SHIFT_CARRY: lambda i, d: shift_carry(d[0], i[0], i[1], i[2]),
    Op.CONDITION: _condition,
    Op.FADD: lambda i, d: floats.add(i[0], i[1], i[2]),
    Op.FSUB: lambda i, d: floats.subtract(i[0], i[1], i[2]),
    Op.FMUL: lambda i, d: floats.multiply(i[0], i[1], i[2]),
    Op.FDIV: lambda i, d: floats.divide(i[0], i[1], i[2]),
    Op.FSQRT: lambda i, d: floats.square_root(i[0], i[1]),
    Op.FMULADD: lambda i, d: floats.multiply_add(i[0], i[1], i[2], i[3]),
    Op.FCOMPARE: lambda i, d: floats.compare(i[0], i[1], i[2]),
    Op.FTOS: lambda i, d: floats.to_integer(i[0], i[1], True),
    Op.FTOU: lambda i, d: floats.to_integer(i[0], i[1], False),
    Op.STOF: lambda i, d: floats.from_integer(i[0], i[1], True),
    Op.UTOF: lambda i, d: floats.from_integer(i[0], i[1], False),
}
