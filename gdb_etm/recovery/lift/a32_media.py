"""The A32 media instructions and multiplications (A-profile ARM, F4.1.4, F4.1.5 and F4.1.14)."""

from __future__ import annotations

from gdb_etm.recovery.lift.a32_memory import lift_exclusive
from gdb_etm.recovery.lift.alu import reverse, saturate, set_result_flags, shift_by
from gdb_etm.recovery.lift.builder import ONE, PC, ZERO, Builder
from gdb_etm.recovery.lift.media import (
    accumulated,
    add_both,
    add_extended,
    dual_multiply,
    dual_multiply_long,
    half,
    most_significant,
    multiply_halves_long,
    multiply_word_half,
    parallel,
    product_of,
    saturate_halves,
)
from gdb_etm.recovery.lift.operations import N, Op, Operand, Z


def lift_media(build: Builder, word: int) -> None:
    """Lift a media instruction."""
    group = word >> 23 & 3
    if group == 0:
        parallel(build, word >> 12 & 0xF, word >> 20 & 3 != 1)
    elif group == 1:
        _pack_and_saturate(build, word)
    elif group == 2:
        _multiply(build, word)
    else:
        _bit_fields(build, word)


# SXTAB16, SXTAB, SXTAH, UXTAB16, UXTAB, UXTAH by bits 22:20, as T32 numbers them.
_EXTENSIONS = {0: 2, 2: 4, 3: 0, 4: 3, 6: 5, 7: 1}
# REV, REV16, RBIT and REVSH by bits 22 and 7.
_REVERSALS = {(3, 1): 0, (3, 5): 1, (7, 5): 3}


def _pack_and_saturate(build: Builder, word: int) -> None:
    kind, operation = word >> 20 & 7, word >> 5 & 7
    base, destination, source = word >> 16 & 0xF, word >> 12 & 0xF, word & 0xF
    if kind == 0 and not operation & 1:
        value, _carry = shift_by(build, source, operation & 2, word >> 7 & 31)
        low, high = (value, base) if operation & 2 else (base, value)
        build.set(destination, build.insert(high, low, 0, 16))
    elif kind & 2 and not operation & 1:
        value, _carry = shift_by(build, source, operation & 2, word >> 7 & 31)
        unsigned = bool(kind & 4)
        build.set(destination, saturate(build, value, (word >> 16 & 31) + (0 if unsigned else 1), unsigned))
    elif operation == 3 and kind in _EXTENSIONS:
        add_extended(build, _EXTENSIONS[kind], base, source, destination, 8 * (word >> 10 & 3))
    elif (kind, operation) in _REVERSALS:
        build.set(destination, reverse(build, source, _REVERSALS[kind, operation]))
    elif (kind, operation) == (7, 1):
        build.set(destination, build.value(Op.RBIT, source))
    elif operation == 1 and kind in (2, 6):
        unsigned = kind == 6
        build.set(destination, saturate_halves(build, source, base + (0 if unsigned else 1), unsigned))
    else:
        build.lose((destination,))


def _multiply(build: Builder, word: int) -> None:
    kind, operation = word >> 20 & 7, word >> 5 & 7
    high, low, source, base = word >> 16 & 0xF, word >> 12 & 0xF, word >> 8 & 0xF, word & 0xF
    addend: Operand = ZERO if low == PC else low
    if kind == 0 and operation < 4:
        build.set(high, dual_multiply(build, base, source, addend, bool(operation & 1), operation >= 2))
    elif kind in (1, 3) and operation == 0:
        build.set(high, build.value(Op.SDIV if kind == 1 else Op.UDIV, base, source))
    elif kind == 4 and operation < 4:
        dual_multiply_long(build, (low, high), base, source, bool(operation & 1), operation >= 2)
    elif kind == 5 and operation in (0, 1):
        build.set(high, most_significant(build, base, source, addend, bool(operation), False))
    elif kind == 5 and operation in (6, 7):
        build.set(high, most_significant(build, base, source, low, bool(operation & 1), True))
    else:
        build.lose({high, low} - {PC})


def _bit_fields(build: Builder, word: int) -> None:
    kind, operation = word >> 21 & 3, word >> 5 & 3
    destination, lowest, last, source = word >> 12 & 0xF, word >> 7 & 31, word >> 16 & 31, word & 0xF
    if kind in (1, 3) and operation == 2:
        count = min(last + 1, 32 - lowest)
        value = build.field(source, lowest, count)
        build.set(destination, build.sign(value, count) if kind == 1 else value)
    elif kind == 2 and operation == 0 and last >= lowest:
        inserted: Operand = ZERO if source == PC else source
        build.set(destination, build.insert(destination, inserted, lowest, last - lowest + 1))
    elif kind == 0 and operation == 0:
        build.lose((word >> 16 & 0xF,))  # USAD8, USADA8
    elif word & 0x00F000F0 != 0x00F000F0:
        build.lose((destination,))


def lift_multiply(build: Builder, word: int) -> None:
    """Lift MUL, MLA, MLS, the 64-bit multiplications, and exclusive accesses."""
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
