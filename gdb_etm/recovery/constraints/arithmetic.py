"""Propagators of arithmetic: sums, carries, comparisons, shifts by a register, products."""

from __future__ import annotations

from typing import Final, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind, make_alike, make_equal
from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.lift.evaluate import apply
from gdb_etm.recovery.lift.operations import MASK, Op

_TOP: Final = 0x80000000
_OVER: Final = MASK + 1


def total(domain: Domain, constraint: Constraint) -> None:
    """Refine s = x + y + k."""
    _, s, x, y, k = constraint
    mask, bits = domain.mask, domain.bits
    ms, mx, my = mask[s], mask[x], mask[y]
    if mx == MASK and my == MASK:
        domain.learn(s, MASK, (bits[x] + bits[y] + k) & MASK)
        return
    if ms == MASK and mx == MASK:
        domain.learn(y, MASK, (bits[s] - bits[x] - k) & MASK)
        return
    if ms == MASK and my == MASK:
        domain.learn(x, MASK, (bits[s] - bits[y] - k) & MASK)
        return
    if mx == MASK:
        domain.merge(y, s, bits[x] + k)
    elif my == MASK:
        domain.merge(x, s, bits[y] + k)
    elif ms != MASK:
        _in_class(domain, s, x, y, k)
    if ms and (mx or my) or mx and my:
        add_bits(domain, s, x, y, 1, k)
    if mx != MASK != my:
        # Otherwise they are of one class, which has one interval.
        _sum_intervals(domain, s, x, y, k)


def _in_class(domain: Domain, s: int, x: int, y: int, k: int) -> None:
    # The difference of two members of one class is known.
    root, offset = domain.root, domain.offset
    if root[s] == root[x]:
        domain.learn(y, MASK, (offset[s] - offset[x] - k) & MASK)
    elif root[s] == root[y]:
        domain.learn(x, MASK, (offset[s] - offset[y] - k) & MASK)


def _sum_intervals(domain: Domain, s: int, x: int, y: int, k: int) -> None:
    low_s, span_s = domain.interval(s)
    low_x, span_x = domain.interval(x)
    low_y, span_y = domain.interval(y)
    if span_x + span_y < MASK:
        domain.narrow(s, (low_x + low_y + k) & MASK, span_x + span_y)
    if span_s + span_y < MASK:
        domain.narrow(x, (low_s - low_y - span_y - k) & MASK, span_s + span_y)
    if span_s + span_x < MASK:
        domain.narrow(y, (low_s - low_x - span_x - k) & MASK, span_s + span_x)


def add_bits(domain: Domain, s: int, x: int, y: int, known_carry: int, carry: int) -> None:
    """Refine the bits of s = x + y + carry.

    The carry is a bit; it is known if ``known_carry`` is 1.
    """
    mask, bits = domain.mask, domain.bits
    one, other = (mask[x], bits[x]), (mask[y], bits[y])
    known, value = sum_bits(one, other, known_carry, carry)
    known &= MASK
    if known & (~mask[s] | (value ^ bits[s])):
        domain.learn(s, known, value & MASK)
    if not mask[s]:
        return
    # x = s + NOT y + NOT carry
    for target, source in ((x, y), (y, x)):
        if mask[target] == MASK:
            continue
        flipped = (mask[source], mask[source] & ~bits[source])
        known, value = sum_bits((mask[s], bits[s]), flipped, known_carry, carry ^ 1)
        known &= MASK
        if known & (~mask[target] | (value ^ bits[target])):
            domain.learn(target, known, value & MASK)


def sum_bits(one: Tuple[int, int], other: Tuple[int, int], known_carry: int, carry: int) -> Tuple[int, int]:
    """Compute the known bits of a sum of partly known numbers.

    The carry counts, too.  The result is the mask of known bits, and their values.

    The smallest and the largest sum show where a carry certainly comes in and where it certainly does not.

    :param one: Mask of known bits and their values; the same for ``other``.
    :returns: 33 bits, the carry out as the last.
    """
    m, a = one
    n, b = other
    least = a + b + (carry if known_carry else 0)
    most = (a | MASK & ~m) + (b | MASK & ~n) + (carry if known_carry else 1)
    carried = least ^ a ^ b
    not_carried = ~(most ^ (MASK & ~m | a) ^ (MASK & ~n | b))
    known = (m & n | _OVER) & (carried | not_carried)
    return known, least & known


def total_with_carry(domain: Domain, constraint: Constraint) -> None:
    """Refine s = x + y + c for a bit c."""
    _, s, x, y, c = constraint
    mask, bits = domain.mask, domain.bits
    if mask[c] == MASK:
        total(domain, (ConstraintKind.SUM, s, x, y, bits[c]))
        return
    if mask[s] == mask[x] == mask[y] == MASK:
        domain.learn(c, MASK, (bits[s] - bits[x] - bits[y]) & MASK)
        return
    if mask[s] & mask[x] & mask[y] & 1:
        domain.learn(c, MASK, (bits[s] ^ bits[x] ^ bits[y]) & 1)
        return
    add_bits(domain, s, x, y, 0, 0)


def compare(domain: Domain, constraint: Constraint) -> None:
    """Refine d = (a >= b), in an order starting at -bias."""
    _, d, a, b, bias = constraint
    low_a, high_a = domain.bounds(a, bias)
    low_b, high_b = domain.bounds(b, bias)
    if domain.mask[d] != MASK:
        if low_a >= high_b or a == b:
            domain.learn(d, 1, 1)
        elif high_a < low_b:
            domain.learn(d, 1, 0)
        return
    if domain.bits[d]:
        low_a, high_b = max(low_a, low_b), min(high_a, high_b)
    else:
        high_a, low_b = min(high_a, high_b - 1), max(low_b, low_a + 1)
    if low_a > high_a or low_b > high_b:
        domain.learn(d, 1, domain.bits[d] ^ 1)
    domain.narrow(a, (low_a - bias) & MASK, high_a - low_a)
    domain.narrow(b, (low_b - bias) & MASK, high_b - low_b)


def carry_out(domain: Domain, constraint: Constraint) -> None:
    """Refine the carry out of a + b + c, forwards."""
    _, d, a, b, c, inverted = constraint
    mask, bits = domain.mask, domain.bits
    known = mask[b]
    value = known & ~bits[b] if inverted else bits[b]
    if mask[c] == MASK:
        known, value = sum_bits((mask[a], bits[a]), (known, value), 1, bits[c])
    else:
        known, value = sum_bits((mask[a], bits[a]), (known, value), 0, 0)
    if known & _OVER:
        domain.learn(d, 1, value >> 32)
        return
    low, high = domain.bounds(a)
    least, most = domain.bounds(b)
    if inverted:
        least, most = MASK - most, MASK - least
    if low + least + bits[c] > MASK:
        domain.learn(d, 1, 1)
    elif high + most + (1 if mask[c] != MASK else bits[c]) <= MASK:
        domain.learn(d, 1, 0)


def overflow(domain: Domain, constraint: Constraint) -> None:
    """Refine the signed overflow of a + b + c, forwards."""
    _, d, a, b, c, inverted = constraint
    mask, bits = domain.mask, domain.bits
    if not mask[a] & mask[b] & _TOP:
        return
    known = mask[b]
    value = known & ~bits[b] if inverted else bits[b]
    if (value ^ bits[a]) & _TOP:
        domain.learn(d, 1, 0)
        return
    carry_known = mask[c] == MASK
    found, result = sum_bits((mask[a], bits[a]), (known, value), int(carry_known), bits[c] if carry_known else 0)
    if found & _TOP:
        domain.learn(d, 1, (result ^ bits[a]) >> 31 & 1)


def shift(domain: Domain, constraint: Constraint) -> None:
    """Refine a shift by a known amount, or a right shift's interval."""
    _, d, a, b, op = constraint
    mask, bits = domain.mask, domain.bits
    if mask[b] & 0xFF != 0xFF:
        if op == Op.LSR:
            low, high = domain.bounds(a)
            domain.narrow(d, 0, high)
        return
    amount = bits[b] & 0xFF
    if op == Op.ROR:
        _rotate(domain, d, a, amount & 31)
    elif not amount:
        domain.merge(a, d, 0)
        make_equal(domain, a, d)
    elif op == Op.ASR:
        _shift_signed(domain, d, a, min(amount, 31) if amount < 32 else 32)
    elif amount >= 32:
        domain.learn(d, MASK, 0)
    elif op == Op.LSL:
        domain.learn(d, (1 << amount) - 1, 0)
        make_alike(domain, d, a, amount, 0, 32 - amount)
    else:
        domain.learn(d, MASK & ~(MASK >> amount), 0)
        make_alike(domain, d, a, 0, amount, 32 - amount)


def _rotate(domain: Domain, d: int, a: int, amount: int) -> None:
    if not amount:
        make_equal(domain, a, d)
        return
    make_alike(domain, d, a, 0, amount, 32 - amount)
    make_alike(domain, d, a, 32 - amount, 0, amount)


def _shift_signed(domain: Domain, d: int, a: int, amount: int) -> None:
    if amount < 32:
        make_alike(domain, d, a, 0, amount, 32 - amount)
    amount = min(amount, 31)
    upper = MASK & ~(MASK >> (amount + 1))
    for one, window, other, part in ((a, _TOP, d, upper), (d, upper, a, _TOP)):
        if domain.mask[one] & window:
            domain.learn(other, part, part if domain.bits[one] & window else 0)


def shift_carry(domain: Domain, constraint: Constraint) -> None:
    """Refine the carry out of a shift whose amount is known."""
    _, d, a, b, c, op = constraint
    if domain.mask[b] & 0xFF != 0xFF:
        return
    amount = domain.bits[b] & 0xFF
    if not amount:
        make_alike(domain, d, c, 0, 0, 1)
        return
    if op == Op.ROR:
        position = (amount - 1) & 31
    elif amount > 32 and op != Op.ASR:
        domain.learn(d, 1, 0)
        return
    elif op == Op.LSL:
        position = 32 - amount
    else:
        position = min(amount, 32) - 1
    make_alike(domain, d, a, 0, position, 1)


def multiply(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a * b.

    The low bits of a product follow from low bits, and an odd factor can be divided by.
    """
    _, d, a, b = constraint
    mask, bits = domain.mask, domain.bits
    if mask[a] == MASK and mask[b] == MASK:
        domain.learn(d, MASK, bits[a] * bits[b] & MASK)
        return
    known = _low_ones(mask[a] & mask[b])
    zeros = _low_zeros(mask[a], bits[a]) + _low_zeros(mask[b], bits[b])
    if known:
        domain.learn(d, known, bits[a] * bits[b] & known)
    if zeros:
        domain.learn(d, (1 << min(zeros, 32)) - 1, 0)
    for factor, other in ((a, b), (b, a)):
        if mask[factor] == MASK and bits[factor] and mask[d] & 1:
            _divide_out(domain, d, bits[factor], other)
    low_a, high_a = domain.bounds(a)
    low_b, high_b = domain.bounds(b)
    if high_a * high_b <= MASK:
        domain.narrow(d, low_a * low_b, high_a * high_b - low_a * low_b)


def _low_ones(mask: int) -> int:
    # The ones below the lowest zero.
    return mask & ~(mask + 1) & (mask ^ (mask + 1)) if mask != MASK else MASK


def _low_zeros(mask: int, bits: int) -> int:
    # How many of the lowest bits are certainly 0.
    zeros = mask & ~bits
    return (~zeros & (zeros + 1)).bit_length() - 1


def _divide_out(domain: Domain, d: int, factor: int, other: int) -> None:
    # d = factor * other, for the low bits of d that are known.
    zeros = (factor & -factor).bit_length() - 1
    window = _low_ones(domain.mask[d]) >> zeros
    if window:
        inverse = factor >> zeros
        for _ in range(5):
            inverse = inverse * (2 - (factor >> zeros) * inverse) & MASK
        domain.learn(other, window, (domain.bits[d] >> zeros) * inverse & window)


def divide(domain: Domain, constraint: Constraint) -> None:
    """Refine an unsigned quotient: forwards, with intervals."""
    _, d, a, b = constraint
    mask, bits = domain.mask, domain.bits
    if mask[b] == MASK and not bits[b]:
        domain.learn(d, MASK, 0)
    elif mask[a] == MASK and mask[b] == MASK:
        domain.learn(d, MASK, bits[a] // bits[b])
    else:
        low, high = domain.bounds(a)
        least, most = domain.bounds(b)
        if least:
            domain.narrow(d, low // most, high // least - low // most)
            if least == most and mask[d] == MASK:
                domain.narrow(a, bits[d] * least, least - 1)


def forwards(domain: Domain, constraint: Constraint) -> None:
    """Compute what can only be computed."""
    mask, bits = domain.mask, domain.bits
    _, d, op = constraint[:3]
    inputs = constraint[3:]
    for number in inputs:
        if mask[number] != MASK:
            return
    domain.learn(d, MASK, apply(op, (), [bits[number] for number in inputs]))
