"""What computes with floating-point numbers (Armv8-M ARM, C2.4; A-profile ARM, F6.1).

Single precision is modelled; double and half precision make their destination unknown, but for moves and changes of
sign.
"""

from __future__ import annotations

from gdb_etm.recovery.lift.alu import saturate
from gdb_etm.recovery.lift.builder import Builder
from gdb_etm.recovery.lift.float_registers import Words, destination, first, is_double, mode, second, words
from gdb_etm.recovery.lift.operations import FPSCR, Const, Op, Operand

_SIGN = Const(0x80000000)
# Modes that are not those of FPSCR.
_NEAREST, _TOWARDS_ZERO = Const(0), Const(3)


def lift_arithmetic(build: Builder, word: int) -> None:
    """Lift the data-processing instructions."""
    kind = word >> 20 & 0xB
    if word >> 8 & 0xF == 9:
        build.lose(destination(word, False))
    elif kind == 0xB:
        if word & 0x40:
            _one_operand(build, word, is_double(word))
        else:
            _immediate(build, word, is_double(word))
    elif is_double(word):
        build.lose(destination(word, True))
    else:
        _two_operands(build, word, kind)


def _negated(build: Builder, value: Operand) -> Operand:
    return build.value(Op.XOR, value, _SIGN)


def _two_operands(build: Builder, word: int, kind: int) -> None:
    goes_to = destination(word, False)[0]
    a, b = first(word, False)[0], second(word, False)[0]
    other, rounding = bool(word & 0x40), mode(build)
    if kind in (0, 1):
        # VMLA, VMLS, VNMLS, VNMLA
        product = build.value(Op.FMUL, a, b, rounding)
        addend = _negated(build, goes_to) if kind == 1 else goes_to
        result = build.value(Op.FADD, addend, _negated(build, product) if other else product, rounding)
    elif kind == 2:
        product = build.value(Op.FMUL, a, b, rounding)
        result = _negated(build, product) if other else product
    elif kind == 3:
        result = build.value(Op.FSUB if other else Op.FADD, a, b, rounding)
    elif kind == 8 and not other:
        result = build.value(Op.FDIV, a, b, rounding)
    elif kind in (9, 10):
        # VFNMS, VFNMA, VFMA, VFMS
        addend = _negated(build, goes_to) if kind == 9 else goes_to
        result = build.value(Op.FMULADD, addend, _negated(build, a) if other else a, b, rounding)
    else:
        build.lose((goes_to,))
        return
    build.set(goes_to, result)


def _immediate(build: Builder, word: int, double: bool) -> None:
    # VFPExpandImm
    number = word >> 12 & 0xF0 | word & 0xF
    sign, fraction = number >> 7 << 31, number & 0x3F
    if double:
        values = [0, sign | (0x3FC00000 if number & 0x40 else 0x40000000) | fraction << 16]
    else:
        values = [sign | (0x3E000000 if number & 0x40 else 0x40000000) | fraction << 19]
    for slot, value in zip(destination(word, double), values):
        build.set(slot, Const(value))


def _one_operand(build: Builder, word: int, double: bool) -> None:
    kind, high = word >> 16 & 0xF, bool(word & 0x80)
    if kind == 0 or kind == 1 and not high:
        _move(build, word, double)
    elif kind in (4, 5):
        _compare(build, word, double)
    elif double or kind not in (1, 8, 10, 11, 12, 13, 14, 15):
        build.lose(_converted(word, double))
    elif kind & 2:
        _fixed_point(build, word)
    else:
        _compute(build, word, kind, high)


def _move(build: Builder, word: int, double: bool) -> None:
    # VMOV, VABS, VNEG: the sign is in the last word.
    values = words(build, second(word, double))
    if word & 0x10000:
        values[-1] = _negated(build, values[-1])
    elif word & 0x80:
        values[-1] = build.value(Op.AND, values[-1], Const(0x7FFFFFFF))
    for slot, value in zip(destination(word, double), values):
        build.set(slot, value)


def _compare(build: Builder, word: int, double: bool) -> None:
    if double:
        build.lose((FPSCR,))
        return
    with_zero = bool(word & 0x10000)
    other: Operand = Const(0) if with_zero else second(word, False)[0]
    flags = build.value(Op.FCOMPARE, destination(word, False)[0], other, mode(build))
    build.set(FPSCR, build.insert(build.unknown(), flags, 28, 4))


def _compute(build: Builder, word: int, kind: int, high: bool) -> None:
    source, rounding = second(word, False)[0], mode(build)
    if kind == 1:
        result = build.value(Op.FSQRT, source, rounding)
    elif kind == 8:
        result = build.value(Op.STOF if high else Op.UTOF, source, rounding)
    else:
        # VCVT rounds towards zero, VCVTR as FPSCR says.
        op = Op.FTOS if kind == 13 else Op.FTOU
        result = build.value(op, source, _TOWARDS_ZERO if high else rounding)
    build.set(destination(word, False)[0], result)


def _fixed_point(build: Builder, word: int) -> None:
    # Scaling by a power of two is exact, so that rounding is left to the conversion alone.
    slot, size, unsigned = destination(word, False)[0], 32 if word & 0x80 else 16, bool(word & 0x10000)
    fraction = size - (word << 1 & 0x1E | word >> 5 & 1)
    if fraction < 0:
        build.give_up()
    elif word & 0x40000:
        scaled = build.value(Op.FMUL, slot, Const(127 + fraction << 23), _NEAREST)
        value = build.value(Op.FTOU if unsigned else Op.FTOS, scaled, _TOWARDS_ZERO)
        build.set(slot, value if size == 32 else _narrowed(build, value, unsigned))
    else:
        source: Operand = slot
        if size == 16:
            source = build.field(slot, 0, 16) if unsigned else build.sign(slot, 16)
        number = build.value(Op.UTOF if unsigned else Op.STOF, source, _NEAREST)
        build.set(slot, build.value(Op.FMUL, number, Const(127 - fraction << 23), _NEAREST))


def _narrowed(build: Builder, value: Operand, unsigned: bool) -> Operand:
    # Saturated to 16 bits.
    if not unsigned:
        return saturate(build, value, 16, False)
    fits = build.value(Op.ZERO, build.field(value, 16, 16))
    return build.value(Op.SELECT, fits, value, Const(0xFFFF))


def _converted(word: int, double: bool) -> Words:
    # Where conversions leave their result: integers and half precision in a single register.
    kind = word >> 16 & 0xF
    if kind == 7 and word & 0x80:
        return destination(word, not double)
    if kind in (3, 12, 13):
        return destination(word, False)
    return destination(word, double)


def lift_unconditional(build: Builder, word: int) -> None:
    """Lift VSEL, VMAXNM, VMINNM, and conversions with their own rounding mode."""
    double = is_double(word)
    if word >> 8 & 0xF == 9 or word & 0x10:
        build.give_up()
    elif not word & 0x00800000 and not word & 0x40:
        code = (0, 6, 10, 12)[word >> 20 & 3]
        sources = zip(words(build, first(word, double)), words(build, second(word, double)))
        for slot, (yes, no) in zip(destination(word, double), sources):
            build.set(slot, build.value(Op.SELECT, build.condition(code), yes, no))
    elif word & 0x00BC0040 == 0x00BC0040:
        build.lose(destination(word, False))  # VCVTA and its like
    else:
        build.lose(destination(word, double))  # also VINS and VMOVX, of half precision
