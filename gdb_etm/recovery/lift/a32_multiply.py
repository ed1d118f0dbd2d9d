"""The A32 multiplications (A-profile ARM, F4.1.4 and F4.1.5)."""

from __future__ import annotations

from typing import Tuple

from gdb_etm.recovery.lift.a32_memory import lift_exclusive
from gdb_etm.recovery.lift.alu import set_result_flags
from gdb_etm.recovery.lift.builder import ONE, ZERO, Builder
from gdb_etm.recovery.lift.media import (
    accumulated,
    add_both,
    half,
    multiply_halves_long,
    multiply_word_half,
    product_of,
)
from gdb_etm.recovery.lift.operations import N, Op, Operand, Z


def lift_multiply(build: Builder, word: int) -> None:
    """Lift MUL, MLA, MLS and the 64-bit ones; the encodings next to them are the exclusive accesses."""
    if word & 0x01000000:
        lift_exclusive(build, word)
        return
    operation, flags = word >> 21 & 7, bool(word & 0x00100000)
    high, low, source, base = word >> 16 & 0xF, word >> 12 & 0xF, word >> 8 & 0xF, word & 0xF
    if operation in (0, 1, 3):
        product = build.value(Op.MUL, base, source)
        if operation == 3:
            product = build.value(Op.SUB, low, product, ONE)
        elif operation == 1:
            product = build.value(Op.ADD, product, low, ZERO)
        build.set(high, product)
        if flags:
            set_result_flags(build, product)
        return
    pair = product_of(build, base, source, operation >= 6)
    if operation == 2:
        add_both(build, low, high, pair)
        return
    if operation & 1:
        pair = accumulated(build, (low, high), pair)
    build.set(low, pair[0])
    build.set(high, pair[1])
    if flags:
        _long_flags(build, pair)


def _long_flags(build: Builder, pair: Tuple[Operand, Operand]) -> None:
    build.set(N, build.bit(pair[1], 31))
    build.set(Z, build.value(Op.ZERO, build.value(Op.OR, pair[0], pair[1])))


def lift_halves(build: Builder, word: int) -> None:
    """Lift the signed multiplications of halfwords: SMLAxy, SMLAWy, SMULWy, SMLALxy, SMULxy."""
    operation, first_top, second_top = word >> 21 & 3, word >> 5 & 1, word >> 6 & 1
    high, low, source, base = word >> 16 & 0xF, word >> 12 & 0xF, word >> 8 & 0xF, word & 0xF
    second = half(build, source, second_top)
    if operation == 1:
        result = multiply_word_half(build, base, second)
        build.set(high, result if first_top else build.value(Op.ADD, result, low, ZERO))
    elif operation == 2:
        multiply_halves_long(build, low, high, half(build, base, first_top), second)
    else:
        result = build.value(Op.MUL, half(build, base, first_top), second)
        build.set(high, result if operation == 3 else build.value(Op.ADD, result, low, ZERO))
