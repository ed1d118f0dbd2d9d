"""Shifts and data processing of T16, T32 and A32 (Armv8-M ARM, C2.4)."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.recovery.lift.builder import ONE, ZERO, Builder
from gdb_etm.recovery.lift.operations import MASK, C, Const, N, Op, Operand, V, Z

# Types of shift, as encoded.
LSL, LSR, ASR, ROR = 0, 1, 2, 3
SHIFTS = (Op.LSL, Op.LSR, Op.ASR, Op.ROR)

# A value and the carry out of the shift that made it.
Shifted = Tuple[Operand, Operand]


def shift_by(build: Builder, value: Operand, kind: int, amount: int) -> Shifted:
    """Shift by a constant as the instruction encodes it (DecodeImmShift, Shift_C).

    :param kind: 0 to 3.
    :param amount: 0 to 31; 0 is 32 for LSR and ASR, and RRX for ROR.
    """
    if kind == LSL:
        if not amount:
            return value, C
        return build.insert(ZERO, value, amount, 32 - amount), build.bit(value, 32 - amount)
    if kind == ROR:
        if not amount:
            low = build.field(value, 1, 31)
            return build.insert(low, C, 31, 1), build.bit(value, 0)
        return rotate(build, value, amount), build.bit(value, amount - 1)
    amount = amount or 32
    carry = build.bit(value, amount - 1)
    if kind == LSR:
        return (build.field(value, amount, 32 - amount) if amount < 32 else ZERO), carry
    if amount == 32:
        return build.sign(carry, 1), carry
    return build.sign(build.field(value, amount, 32 - amount), 32 - amount), carry


def rotate(build: Builder, value: Operand, amount: int) -> Operand:
    """Rotate right by a constant from 0 to 31."""
    if not amount:
        return value
    low = build.field(value, amount, 32 - amount)
    return build.insert(low, value, 32 - amount, amount)


def shift_by_register(build: Builder, value: Operand, kind: int, amount: Operand) -> Shifted:
    """Shift by the low 8 bits of a register."""
    op = SHIFTS[kind]
    carry = build.value(Op.SHIFT_CARRY, value, amount, C, detail=(int(op),))
    return build.value(op, value, amount), carry


def set_result_flags(build: Builder, result: Operand) -> None:
    """Set N and Z."""
    build.set(N, build.bit(result, 31))
    build.set(Z, build.value(Op.ZERO, result))


def _add(
    build: Builder, ops: Tuple[int, int, int], first: Operand, second: Operand, carry: Operand, flags: bool
) -> Operand:
    # By the operations of the result, the carry out and the overflow.
    op, carry_out, overflow = ops
    if flags:
        build.set(C, build.value(carry_out, first, second, carry))
        build.set(V, build.value(overflow, first, second, carry))
    result = build.value(op, first, second, carry)
    if flags:
        set_result_flags(build, result)
    return result


def add(build: Builder, first: Operand, second: Operand, carry: Operand, flags: bool) -> Operand:
    """Add two values and a carry, and set the flags."""
    return _add(build, (Op.ADD, Op.ADD_CARRY, Op.ADD_OVERFLOW), first, second, carry, flags)


def subtract(build: Builder, first: Operand, second: Operand, carry: Operand, flags: bool) -> Operand:
    """Subtract, and set the flags.

    :param carry: 1 for plain subtraction: it is added to the first value and the complement of the second.
    """
    return _add(build, (Op.SUB, Op.SUB_CARRY, Op.SUB_OVERFLOW), first, second, carry, flags)


_LOGIC = {"and": Op.AND, "tst": Op.AND, "orr": Op.OR, "eor": Op.XOR, "teq": Op.XOR}
_COMPLEMENTED = {"bic": Op.AND, "orn": Op.OR}
_ARITHMETIC = frozenset(("add", "adc", "sub", "sbc", "rsb", "rsc", "cmp", "cmn"))
_NO_RESULT = frozenset(("tst", "teq", "cmp", "cmn"))


def data_processing(
    build: Builder,
    name: str,
    destination: Optional[int],
    first: Operand,
    second: Operand,
    carry: Optional[Operand],
    flags: bool,
    interworks: bool = False,
) -> None:
    """Do one data-processing instruction.

    :param name: Its mnemonic in lower case, without S.
    :param destination: Core register; ignored by the comparisons.
    :param carry: Carry out of the shift or of the immediate's rotation; None when it leaves C as it is.
    :param interworks: Whether a result that goes to the program counter chooses the instruction set.
    """
    if name in _ARITHMETIC:
        result = _arithmetic(build, name, first, second, flags)
    else:
        result = _logical(build, name, first, second)
        if flags:
            set_result_flags(build, result)
            if carry is not None:
                build.set(C, carry)
    if name not in _NO_RESULT and destination is not None:
        build.write(destination, result, interworks)


def _arithmetic(build: Builder, name: str, first: Operand, second: Operand, flags: bool) -> Operand:
    if name in ("add", "cmn"):
        return add(build, first, second, ZERO, flags)
    if name == "adc":
        return add(build, first, second, C, flags)
    if name in ("sub", "cmp"):
        return subtract(build, first, second, ONE, flags)
    if name == "sbc":
        return subtract(build, first, second, C, flags)
    return subtract(build, second, first, ONE if name == "rsb" else C, flags)


def _logical(build: Builder, name: str, first: Operand, second: Operand) -> Operand:
    if name == "mov":
        return second
    if name == "mvn":
        return build.value(Op.NOT, second)
    if name in _COMPLEMENTED:
        return build.value(_COMPLEMENTED[name], first, build.value(Op.NOT, second))
    return build.value(_LOGIC[name], first, second)


def reverse(build: Builder, value: Operand, kind: int) -> Operand:
    """Reverse bytes: kind 0 is REV, 1 REV16, 3 REVSH."""
    if kind == 0:
        order: Tuple[int, ...] = (24, 16, 8, 0)
    elif kind == 1:
        order = (8, 0, 24, 16)
    else:
        order = (8, 0)
    result: Operand = ZERO
    for byte, source in enumerate(order):
        result = build.insert(result, value, 8 * byte, 8, source)
    return build.sign(result, 16) if kind == 3 else result


def saturate(build: Builder, value: Operand, bits: int, unsigned: bool) -> Operand:
    """Saturate a value to ``bits`` bits.

    Unsigned: 0 to 31 bits; signed: 1 to 32.
    """
    negative = build.bit(value, 31)
    if unsigned:
        fits = build.value(Op.ZERO, build.field(value, bits, 32 - bits))
        limit = build.value(Op.SELECT, negative, ZERO, Const((1 << bits) - 1))
    else:
        if bits == 32:
            return value
        fits = build.value(Op.ZERO, build.value(Op.XOR, build.sign(value, bits), value))
        top = 1 << (bits - 1)
        limit = build.value(Op.SELECT, negative, Const(-top & MASK), Const(top - 1))
    return build.value(Op.SELECT, fits, value, limit)
