"""Lifter of T32 register operations: extensions, bit counts, multiplication, division."""

from __future__ import annotations

from gdb_etm.recovery.lift.alu import reverse, set_result_flags, shift_by_register
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
    saturating_add,
)
from gdb_etm.recovery.lift.operations import C, Op, Operand


def lift_registers(build: Builder, first: int, second: int) -> None:
    """Lift register shifts, extensions, parallel additions, miscellaneous (FA00 to FAFF)."""
    base, source, destination = first & 0xF, second & 0xF, second >> 8 & 0xF
    if not first & 0x80:
        if second & 0xF0F0 == 0xF000:
            value, carry = shift_by_register(build, base, first >> 5 & 3, source)
            build.set(destination, value)
            if first & 0x10:
                set_result_flags(build, value)
                build.set(C, carry)
        elif second & 0x80 and first & 0x70 < 0x60:
            add_extended(build, first >> 4 & 7, base, source, destination, 8 * (second >> 4 & 3))
        else:
            build.lose((destination,))
    elif not second & 0x80:
        parallel(build, destination, bool(second >> 4 & 3))
    elif not second & 0x40:
        _miscellaneous(build, first, second)
    else:
        build.lose((destination,))


def _miscellaneous(build: Builder, first: int, second: int) -> None:
    base, source, destination = first & 0xF, second & 0xF, second >> 8 & 0xF
    group, operation = first >> 4 & 7, second >> 4 & 3
    if group == 0:
        build.set(destination, saturating_add(build, source, base, operation))
    elif group == 1 and operation == 2:
        build.set(destination, build.value(Op.RBIT, source))
    elif group == 1:
        build.set(destination, reverse(build, source, operation))
    elif group == 3 and operation == 0:
        build.set(destination, build.value(Op.CLZ, source))
    else:
        build.lose((destination,))


def lift_multiply(build: Builder, first: int, second: int) -> None:
    """Lift the multiplications of 32 bits (FB00 to FB7F)."""
    kind, options = first >> 4 & 7, second >> 4 & 3
    base, source, destination = first & 0xF, second & 0xF, second >> 8 & 0xF
    addend: Operand = ZERO if second >> 12 == PC else second >> 12
    if kind == 0 and options < 2:
        product = build.value(Op.MUL, base, source)
        if options:
            build.set(destination, build.value(Op.SUB, second >> 12, product, ONE))
        else:
            build.set(destination, build.value(Op.ADD, addend, product, ZERO))
    elif kind == 1:
        product = build.value(Op.MUL, half(build, base, options >> 1), half(build, source, options & 1))
        build.set(destination, build.value(Op.ADD, product, addend, ZERO))
    elif kind in (2, 4) and options < 2:
        build.set(destination, dual_multiply(build, base, source, addend, bool(options), kind == 4))
    elif kind == 3 and options < 2:
        product = multiply_word_half(build, base, half(build, source, options))
        build.set(destination, build.value(Op.ADD, product, addend, ZERO))
    elif kind in (5, 6) and options < 2:
        addend = second >> 12 if kind == 6 else addend
        build.set(destination, most_significant(build, base, source, addend, bool(options), kind == 6))
    else:
        build.lose((destination,))


def lift_long_multiply(build: Builder, first: int, second: int) -> None:
    """Lift the multiplications of 64 bits and the divisions (FB80 to FBFF)."""
    kind, options = first >> 4 & 7, second >> 4 & 0xF
    base, source, low, high = first & 0xF, second & 0xF, second >> 12, second >> 8 & 0xF
    if kind in (1, 3) and options == 15:
        build.set(high, build.value(Op.SDIV if kind == 1 else Op.UDIV, base, source))
    elif kind in (0, 2) and options == 0:
        pair = product_of(build, base, source, kind == 0)
        build.set(low, pair[0])
        build.set(high, pair[1])
    elif kind in (4, 6) and options == 0:
        pair = accumulated(build, (low, high), product_of(build, base, source, kind == 4))
        build.set(low, pair[0])
        build.set(high, pair[1])
    elif kind == 4 and options & 0xC == 8:
        multiply_halves_long(build, low, high, half(build, base, options >> 1 & 1), half(build, source, options & 1))
    elif kind in (4, 5) and options & 0xE == 0xC:
        dual_multiply_long(build, (low, high), base, source, bool(options & 1), kind == 5)
    elif kind == 6 and options == 6:
        add_both(build, low, high, product_of(build, base, source, False))
    else:
        build.lose({low, high} - {PC})
