"""Multiplications, extending additions and saturation, for T32 and A32.

Ref: Armv8-M ARM, C2.4; A-profile ARM, F4.1.  The Q flag is no slot: it reads as unknown.
"""

from __future__ import annotations

from typing import Tuple

from gdb_etm.recovery.lift.alu import rotate, saturate
from gdb_etm.recovery.lift.builder import ONE, PC, ZERO, Builder
from gdb_etm.recovery.lift.operations import GE, Const, Op, Operand, Slot

# A value of 64 bits, low word first.
Pair = Tuple[Operand, Operand]


def half(build: Builder, register: Operand, top: int) -> Operand:
    """Give the bottom (0) or top (1) half of a register, sign-extended."""
    return build.sign(build.field(register, 16, 16) if top else register, 16)


def add_extended(build: Builder, kind: int, base: int, source: int, destination: int, amount: int) -> None:
    """Rotate, extend and add; base 15 is none.

    :param kind: 0 SXTAH, 1 UXTAH, 2 SXTAB16, 3 UXTAB16, 4 SXTAB, 5 UXTAB.
    :param amount: Of the rotation: 0, 8, 16 or 24.
    """
    value, unsigned = rotate(build, source, amount), bool(kind & 1)
    if kind & 6 == 2:
        _add_extended_pair(build, unsigned, base, value, destination)
        return
    bits = 8 if kind & 4 else 16
    extended = build.field(value, 0, bits) if unsigned else build.sign(value, bits)
    build.set(destination, build.value(Op.ADD, ZERO if base == PC else base, extended, ZERO))


def _add_extended_pair(build: Builder, unsigned: bool, base: int, value: Operand, destination: int) -> None:
    sums = []
    for lowest in (0, 16):
        byte = build.field(value, lowest, 8)
        extended = byte if unsigned else build.sign(byte, 8)
        sums.append(build.value(Op.ADD, ZERO if base == PC else build.field(base, lowest, 16), extended, ZERO))
    build.set(destination, build.insert(build.field(sums[0], 0, 16), sums[1], 16, 16))


def parallel(build: Builder, destination: int, keeps_ge: bool) -> None:
    """Lose a parallel addition's result; the plain ones set GE."""
    build.lose((destination,) if keeps_ge else (destination, GE))


def saturating_add(build: Builder, first: Operand, second: Operand, kind: int) -> Operand:
    """Add or subtract with signed saturation.

    :param kind: 0 QADD, 1 QDADD, 2 QSUB, 3 QDSUB.
    """
    if kind & 1:
        second = _saturated_sum(build, second, second, False)
    return _saturated_sum(build, first, second, kind >= 2)


def saturate_halves(build: Builder, value: Operand, bits: int, unsigned: bool) -> Operand:
    """Saturate the signed halves of a word each: SSAT16, USAT16."""
    low = saturate(build, half(build, value, 0), bits, unsigned)
    high = saturate(build, half(build, value, 1), bits, unsigned)
    return build.insert(build.field(low, 0, 16), high, 16, 16)


def _saturated_sum(build: Builder, first: Operand, second: Operand, minus: bool) -> Operand:
    carry = ONE if minus else ZERO
    overflow = build.value(Op.SUB_OVERFLOW if minus else Op.ADD_OVERFLOW, first, second, carry)
    result = build.value(Op.SUB if minus else Op.ADD, first, second, carry)
    limit = build.value(Op.SELECT, build.bit(first, 31), Const(0x80000000), Const(0x7FFFFFFF))
    return build.value(Op.SELECT, overflow, limit, result)


def dual_multiply(
    build: Builder, first: Operand, second: Operand, addend: Operand, exchange: bool, minus: bool
) -> Operand:
    """Multiply halves pairwise and sum up: SMLAD, SMLSD, SMUAD, SMUSD."""
    low, high = _products(build, first, second, exchange)
    both = build.value(Op.SUB if minus else Op.ADD, low, high, ONE if minus else ZERO)
    return build.value(Op.ADD, both, addend, ZERO)


def _products(build: Builder, first: Operand, second: Operand, exchange: bool) -> Pair:
    tops = (1, 0) if exchange else (0, 1)
    low, high = [
        build.value(Op.MUL, half(build, first, top), half(build, second, other)) for top, other in zip((0, 1), tops)
    ]
    return low, high


def dual_multiply_long(
    build: Builder, destinations: Tuple[Slot, Slot], first: Operand, second: Operand, exchange: bool, minus: bool
) -> None:
    """Multiply both halves and accumulate the products in 64 bits: SMLALD, SMLSLD."""
    low, high = _products(build, first, second, exchange)
    total = accumulated(build, destinations, _extended(build, low))
    if minus:
        other = _extended(build, high)
        borrow = build.value(Op.SUB_CARRY, total[0], other[0], ONE)
        total = build.value(Op.SUB, total[0], other[0], ONE), build.value(Op.SUB, total[1], other[1], borrow)
    else:
        total = accumulated(build, total, _extended(build, high))
    build.set(destinations[0], total[0])
    build.set(destinations[1], total[1])


def _extended(build: Builder, value: Operand) -> Pair:
    return value, build.sign(build.bit(value, 31), 1)


def accumulated(build: Builder, first: Pair, second: Pair) -> Pair:
    """Add two values of 64 bits."""
    carry = build.value(Op.ADD_CARRY, first[0], second[0], ZERO)
    return build.value(Op.ADD, first[0], second[0], ZERO), build.value(Op.ADD, first[1], second[1], carry)


def multiply_word_half(build: Builder, word: Operand, other: Operand) -> Operand:
    """Give bits 47:16 of a word times a half: SMULW, SMLAW."""
    low = build.field(build.value(Op.MUL, word, other), 16, 16)
    return build.insert(low, build.value(Op.SMULH, word, other), 16, 16)


def most_significant(
    build: Builder, first: Operand, second: Operand, addend: Operand, rounds: bool, minus: bool
) -> Operand:
    """Add or subtract a product's top word: SMMLA, SMMLS, SMMUL."""
    low, high = build.value(Op.MUL, first, second), build.value(Op.SMULH, first, second)
    if not minus:
        return build.value(Op.ADD, addend, high, build.bit(low, 31) if rounds else ZERO)
    result = build.value(Op.SUB, addend, high, build.value(Op.ZERO, low))
    if not rounds:
        return result
    return build.value(Op.ADD, result, ZERO, build.bit(build.value(Op.SUB, ZERO, low, ONE), 31))


def product_of(build: Builder, first: Operand, second: Operand, signed: bool) -> Pair:
    """Multiply to 64 bits."""
    return build.value(Op.MUL, first, second), build.value(Op.SMULH if signed else Op.UMULH, first, second)


def multiply_halves_long(build: Builder, low: Slot, high: Slot, first: Operand, second: Operand) -> None:
    """Multiply two signed halves and add to 64 bits (SMLALBB)."""
    total = accumulated(build, (low, high), _extended(build, build.value(Op.MUL, first, second)))
    build.set(low, total[0])
    build.set(high, total[1])


def add_both(build: Builder, low: Slot, high: Slot, product: Pair) -> None:
    """Add two words to a product of 64 bits: UMAAL."""
    total = accumulated(build, product, (low, ZERO))
    total = accumulated(build, total, (high, ZERO))
    build.set(low, total[0])
    build.set(high, total[1])
