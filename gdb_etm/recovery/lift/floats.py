"""Single-precision arithmetic, bit by bit, in any rounding mode.

Ref: Arm Architecture Reference Manual for A-profile (DDI 0487), shared/functions/float of its pseudocode; the same in
Armv8-M (DDI 0553), chapter E2.  Numbers are their encodings, 32 bits each.  A mode is bits 26:22 of FPSCR: the rounding
mode in bits 1:0, FZ in bit 2, DN in bit 3.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple, Optional

# Rounding modes, as FPSCR.RMode numbers them.
NEAREST, UP, DOWN, TOWARDS_ZERO = range(4)
SIGN, INFINITY, DEFAULT_NAN = 0x80000000, 0x7F800000, 0x7FC00000
_FLUSH, _DEFAULT = 4, 8
_QUIET = 0x00400000
# The exponents of the last bit of the least number, and of the least normal one.
_LOWEST, _LEAST = -149, -126
_LARGEST = 0x7F7FFFFF


class _Number(NamedTuple):
    # sign * mantissa * 2 ** exponent
    negative: bool
    mantissa: int
    exponent: int


def _is_nan(value: int) -> bool:
    return value & ~SIGN > INFINITY


def _is_infinite(value: int) -> bool:
    return value & ~SIGN == INFINITY


def _unpack(value: int, mode: int) -> _Number:
    fraction, biased = value & 0x7FFFFF, value >> 23 & 0xFF
    if biased:
        return _Number(bool(value & SIGN), fraction | 0x800000, biased - 150)
    return _Number(bool(value & SIGN), 0 if mode & _FLUSH else fraction, _LOWEST)


def _nan(mode: int, *operands: int) -> Optional[int]:
    # What NaNs among the operands make of the result: the first signalling one, else the first quiet one.
    signalling = [value for value in operands if _is_nan(value) and not value & _QUIET]
    found = signalling or [value for value in operands if _is_nan(value)]
    if not found:
        return None
    return DEFAULT_NAN if mode & _DEFAULT else found[0] | _QUIET


def _rounds_up(rest: int, shift: int, odd: bool, negative: bool, mode: int) -> bool:
    # Whether a magnitude whose lowest ``shift`` bits are cut off is rounded away from zero.
    rounding = mode & 3
    if rounding == NEAREST:
        half = 1 << (shift - 1)
        return rest > half or rest == half and odd
    return bool(rest) and rounding == (DOWN if negative else UP)


def _cut(mantissa: int, shift: int, negative: bool, mode: int) -> int:
    if shift <= 0:
        return mantissa << -shift
    kept = mantissa >> shift
    rest = mantissa - (kept << shift)
    return kept + _rounds_up(rest, shift, bool(kept & 1), negative, mode)


def _pack(negative: bool, mantissa: int, exponent: int, mode: int) -> int:
    # Round a magnitude that is not zero.
    sign = SIGN if negative else 0
    leading = exponent + mantissa.bit_length() - 1
    if leading < _LEAST and mode & _FLUSH:
        return sign
    last = max(leading - 23, _LOWEST)
    rounded = _cut(mantissa, last - exponent, negative, mode)
    # A mantissa of 24 bits adds 1 to the exponent field by its leading bit, and one that was rounded up to 25 bits 2.
    result = rounded + (last - _LOWEST << 23)
    if result < INFINITY:
        return sign | result
    overflows = mode & 3 in (NEAREST, DOWN if negative else UP)
    return sign | (INFINITY if overflows else _LARGEST)


def _sum(one: _Number, other: _Number, mode: int) -> int:
    exponent = min(one.exponent, other.exponent)
    total = 0
    for number in (one, other):
        magnitude = number.mantissa << number.exponent - exponent
        total += -magnitude if number.negative else magnitude
    if not total:
        both = one.negative and other.negative
        if one.negative != other.negative:
            both = mode & 3 == DOWN
        return SIGN if both else 0
    return _pack(total < 0, abs(total), exponent, mode)


def add(a: int, b: int, mode: int, operand: Optional[int] = None) -> int:
    """Give a + b.

    :param operand: What a NaN among the operands is taken from in place of b, for a subtraction.
    """
    found = _nan(mode, a, b if operand is None else operand)
    if found is not None:
        return found
    if _is_infinite(a):
        return DEFAULT_NAN if _is_infinite(b) and a != b else a
    if _is_infinite(b):
        return b
    return _sum(_unpack(a, mode), _unpack(b, mode), mode)


def subtract(a: int, b: int, mode: int) -> int:
    """Give a - b."""
    return add(a, b ^ SIGN, mode, b)


def multiply(a: int, b: int, mode: int) -> int:
    """Give a * b."""
    found = _nan(mode, a, b)
    if found is not None:
        return found
    one, other = _unpack(a, mode), _unpack(b, mode)
    sign = (a ^ b) & SIGN
    if _is_infinite(a) or _is_infinite(b):
        return sign | INFINITY if one.mantissa and other.mantissa else DEFAULT_NAN
    product = one.mantissa * other.mantissa
    return _pack(bool(sign), product, one.exponent + other.exponent, mode) if product else sign


def divide(a: int, b: int, mode: int) -> int:
    """Give a / b."""
    found = _nan(mode, a, b)
    if found is not None:
        return found
    one, other = _unpack(a, mode), _unpack(b, mode)
    sign = (a ^ b) & SIGN
    if _is_infinite(a) or not other.mantissa:
        invalid = _is_infinite(a) and _is_infinite(b) or not one.mantissa
        return DEFAULT_NAN if invalid else sign | INFINITY
    if _is_infinite(b) or not one.mantissa:
        return sign
    quotient, rest = divmod(one.mantissa << 50, other.mantissa)
    # The last bit stands for all that follow.
    return _pack(bool(sign), quotient << 1 | bool(rest), one.exponent - other.exponent - 51, mode)


def square_root(a: int, mode: int) -> int:
    """Give the square root of a."""
    found = _nan(mode, a)
    if found is not None:
        return found
    number = _unpack(a, mode)
    if not number.mantissa:
        return a & SIGN
    if number.negative:
        return DEFAULT_NAN
    if _is_infinite(a):
        return a
    exponent = number.exponent - 50 - (number.exponent & 1)
    square = number.mantissa << number.exponent - exponent
    root = isqrt(square)
    return _pack(False, root << 1 | (root * root != square), exponent // 2 - 1, mode)


def multiply_add(addend: int, a: int, b: int, mode: int) -> int:
    """Give addend + a * b, rounded once."""
    one, other = _unpack(a, mode), _unpack(b, mode)
    invalid = _is_infinite(a) and not other.mantissa or _is_infinite(b) and not one.mantissa
    found = _nan(mode, addend, a, b)
    if found is not None:
        return DEFAULT_NAN if invalid and _is_nan(addend) and addend & _QUIET else found
    sign = (a ^ b) & SIGN
    infinite = _is_infinite(a) or _is_infinite(b)
    if invalid or infinite and _is_infinite(addend) and addend & SIGN != sign:
        return DEFAULT_NAN
    if infinite:
        return sign | INFINITY
    if _is_infinite(addend):
        return addend
    product = _Number(bool(sign), one.mantissa * other.mantissa, one.exponent + other.exponent)
    return _sum(_unpack(addend, mode), product, mode)


def compare(a: int, b: int, mode: int) -> int:
    """Compare two numbers; gives N, Z, C, V in bits 3:0."""
    if _is_nan(a) or _is_nan(b):
        return 0b0011
    one, other = [_order(value, mode) for value in (a, b)]
    return 0b0110 if one == other else 0b1000 if one < other else 0b0010


def _order(value: int, mode: int) -> int:
    magnitude = value & ~SIGN
    if mode & _FLUSH and magnitude < 0x800000:
        return 0
    return -magnitude if value & SIGN else magnitude


def to_integer(a: int, mode: int, signed: bool) -> int:
    """Give a as an integer of 32 bits, saturated."""
    if _is_nan(a):
        return 0
    number = _unpack(a, mode)
    magnitude = _cut(number.mantissa, -number.exponent, number.negative, mode)
    value = -magnitude if number.negative else magnitude
    lowest, highest = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    return min(max(value, lowest), highest) & 0xFFFFFFFF


def from_integer(a: int, mode: int, signed: bool) -> int:
    """Give an integer of 32 bits as a number."""
    value = a - (1 << 32) if signed and a >> 31 else a
    return _pack(value < 0, abs(value), 0, mode) if value else 0
