"""Constraints between variables, each kind with its propagator.

A constraint is a tuple: its kind, its variables, and what else it needs.  One piece of code works in every direction.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, List, Tuple

from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.lift.operations import MASK

Constraint = Tuple[int, ...]
Handler = Callable[[Domain, Constraint], None]

_TOP: Final = 0x80000000


class ConstraintKind:
    """What a constraint says of its variables."""

    # (variable, why) or, where memory tells it, (variable, why, older, later): known from outside; why is a Premise
    FACT: Final = 0
    # (a, b): b = a
    EQUAL: Final = 1
    # (s, x, y, k): s = x + y + k for a constant k
    SUM: Final = 2
    # (s, x, y, c): s = x + y + c for a bit c
    SUM_CARRY: Final = 3
    # (d, a, b)
    AND: Final = 4
    # (d, a, b)
    OR: Final = 5
    # (d, a, b)
    XOR: Final = 6
    # (d, a, p, q, n): bits p to p+n-1 of d are bits q to q+n-1 of a
    FIELD: Final = 7
    # (d, b, a, p, q, n): d = b with bits p to p+n-1 replaced by bits q to q+n-1 of a
    BITS: Final = 8
    # (d, a, n)
    SIGN: Final = 9
    # (d, a): the bit d is (a == 0)
    ZERO: Final = 10
    # (d, a, b, c): d = b if the bit a is 1, else c
    SELECT: Final = 11
    # (d, a, b, bias): the bit d is (a + bias >= b + bias)
    COMPARE: Final = 12
    # (d, a, b, c, inverted): the bit d is the carry out of a + b + c, with NOT b when inverted is 1
    CARRY: Final = 13
    # (d, a, b, c, inverted): the bit d is the signed overflow of the same
    OVERFLOW: Final = 14
    # (d, a, b, op): d = a shifted by the low 8 bits of b
    SHIFT: Final = 15
    # (d, a, b, c, op)
    SHIFT_CARRY: Final = 16
    # (d, a, b): the low word
    MULTIPLY: Final = 17
    # (d, a, b): unsigned
    DIVIDE: Final = 18
    # (d, op, a, b, c): forwards only; b and c may be missing
    COMPUTE: Final = 19
    # (address, condition, number): an access to memory, whose condition is a bit
    ACCESS: Final = 20
    # (a, b, distance, assumption): b = a + distance if an assumption holds
    KEPT: Final = 21
    # (d, a): bits in reverse order
    REVERSE: Final = 22
    # (a, bits, assumption): bits of a are 0 if an assumption holds
    ALIGNED: Final = 24
    # (d, a, b, c, x, y, bias, sense): SELECT, where the bit a is ``sense`` if x + bias >= y + bias
    CHOOSE: Final = 25
    # (d, a, p, q, n, older, later): FIELD, of the data of two accesses to the same memory
    LINK: Final = 27
    # (d, a, b, 0): COMPARE, where d is 1, a is SP and b its limit
    LIMIT: Final = 28
    # (d, a, p, q, n, older, later): LINK, if nobody else writes what is in a function's frame
    OWNED: Final = 29
    # (d, a, p, q, n, older, later): LINK, if no pointer leads below the stack pointer
    BELOW: Final = 32
    # (d, a, p, q, n, older, later): LINK, if no pointer leads to the object from where stores between are
    OUT_OF_REACH: Final = 33
    # (d, a, p, q, n, older, later): LINK, as no store to an unknown address turns out to hit if all are taken to miss
    SUPPOSED: Final = 34
    # (d, a, table): a load from an address in a table of constants, by its number
    TABLE: Final = 30
    # (d, a, table): TABLE, if the address is not beyond the program's memory
    BOUNDED: Final = 23
    # (d, a, k): d = a modulo k, unsigned
    REMAINDER: Final = 26
    # (n, d, a, b1, ..., bn, m, q, m1, q1, s1, ..., one, older, later): LINK, of the bits m of d, which are those of a,
    # shifted left by q; or, where one of some stores between hit, the bits m1 of d are those of b1, shifted by q1, and
    # so on, the newest store first; ``one`` is 1 if it is one store only
    MAY_ALIAS: Final = 31


# Before which item a constraint's variables end, by its kind; of COMPUTE and MAY_ALIAS see :func:`variables`.
_BY_KIND: Final[Dict[int, int]] = {
    ConstraintKind.FACT: 2,
    ConstraintKind.EQUAL: 3,
    ConstraintKind.SUM: 4,
    ConstraintKind.SUM_CARRY: 5,
    ConstraintKind.AND: 4,
    ConstraintKind.OR: 4,
    ConstraintKind.XOR: 4,
    ConstraintKind.FIELD: 3,
    ConstraintKind.BITS: 4,
    ConstraintKind.SIGN: 3,
    ConstraintKind.ZERO: 3,
    ConstraintKind.SELECT: 5,
    ConstraintKind.COMPARE: 4,
    ConstraintKind.CARRY: 5,
    ConstraintKind.OVERFLOW: 5,
    ConstraintKind.SHIFT: 4,
    ConstraintKind.SHIFT_CARRY: 5,
    ConstraintKind.MULTIPLY: 4,
    ConstraintKind.DIVIDE: 4,
    ConstraintKind.ACCESS: 3,
    ConstraintKind.KEPT: 3,
    ConstraintKind.REVERSE: 3,
    ConstraintKind.LINK: 3,
    ConstraintKind.OWNED: 3,
    ConstraintKind.BELOW: 3,
    ConstraintKind.OUT_OF_REACH: 3,
    ConstraintKind.SUPPOSED: 3,
    ConstraintKind.ALIGNED: 2,
    ConstraintKind.CHOOSE: 7,
    ConstraintKind.TABLE: 3,
    ConstraintKind.BOUNDED: 3,
    ConstraintKind.REMAINDER: 3,
    ConstraintKind.LIMIT: 4,
}
# The same as a list.
_ENDS: Final[List[int]] = [_BY_KIND.get(kind, 0) for kind in range(max(_BY_KIND) + 1)]

# Those of two accesses to the same memory: their last two items are the older one and the later one.
LINKS: Final = frozenset(
    (
        ConstraintKind.LINK,
        ConstraintKind.OWNED,
        ConstraintKind.BELOW,
        ConstraintKind.OUT_OF_REACH,
        ConstraintKind.SUPPOSED,
        ConstraintKind.MAY_ALIAS,
    )
)


def variables(constraint: Constraint) -> Tuple[int, ...]:
    """List the variables of a constraint, the one that it computes first."""
    if constraint[0] == ConstraintKind.COMPUTE:
        return (constraint[1],) + constraint[3:]
    if constraint[0] == ConstraintKind.MAY_ALIAS:
        return constraint[2 : 4 + constraint[1]]
    return constraint[1 : _ENDS[constraint[0]]]


def equal(domain: Domain, constraint: Constraint) -> None:
    """Refine b = a (EQUAL)."""
    make_equal(domain, constraint[1], constraint[2])


def make_equal(domain: Domain, a: int, b: int) -> None:
    """Take two variables to be equal."""
    mask, bits = domain.mask, domain.bits
    domain.merge(a, b, 0)
    if mask[a] & ~mask[b]:
        domain.learn(b, mask[a], bits[a])
    if mask[b] & ~mask[a]:
        domain.learn(a, mask[b], bits[b])


def aligned(domain: Domain, constraint: Constraint) -> None:
    """Refine that bits of a are 0 (ALIGNED)."""
    domain.learn(constraint[1], constraint[2], 0)


def kept(domain: Domain, constraint: Constraint) -> None:
    """Refine b = a + distance (KEPT)."""
    _, a, b, distance, _ = constraint
    if distance:
        domain.merge(a, b, distance)
    else:
        make_equal(domain, a, b)


def both(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a AND b."""
    _, d, a, b = constraint
    mask, bits = domain.mask, domain.bits
    ma, mb, md = mask[a], mask[b], mask[d]
    va, vb, vd = bits[a], bits[b], bits[d]
    ones = va & vb
    known = ones | ma & ~va | mb & ~vb
    if known & (~md | (ones ^ vd)):
        domain.learn(d, known, ones)
    if md:
        zeros = md & ~vd
        known = vd | zeros & vb
        if known & (~ma | (va ^ vd)):
            domain.learn(a, known, vd)
        known = vd | zeros & bits[a]
        if known & (~mb | (vb ^ vd)):
            domain.learn(b, known, vd)
    if ma == MASK:
        _same_under(domain, d, b, va)
    elif mb == MASK:
        _same_under(domain, d, a, vb)


def _same_under(domain: Domain, d: int, a: int, kept: int) -> None:
    # d = a AND kept: they are equal when a has no ones elsewhere.
    ma = domain.mask[a]
    if ma != MASK and not (~kept & MASK) & ~(ma & ~domain.bits[a]):
        domain.merge(a, d, 0)


def either(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a OR b."""
    _, d, a, b = constraint
    mask, bits = domain.mask, domain.bits
    ma, mb, md = mask[a], mask[b], mask[d]
    va, vb, vd = bits[a], bits[b], bits[d]
    zeros = ma & ~va & mb & ~vb
    known = zeros | va | vb
    if known & (~md | ((va | vb) ^ vd)):
        domain.learn(d, known, va | vb)
    if md:
        known = md & ~vd | vd & mb & ~vb
        if known & (~ma | va ^ vd):
            domain.learn(a, known, vd & known)
        ma, va = mask[a], bits[a]
        known = md & ~vd | vd & ma & ~va
        if known & (~mb | vb ^ vd):
            domain.learn(b, known, vd & known)
    if mb == MASK and not vb & ~(ma & va) and ma != MASK:
        domain.merge(a, d, 0)
    elif ma == MASK and not va & ~(mb & vb) and mb != MASK:
        domain.merge(b, d, 0)


def differ(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a XOR b."""
    _, d, a, b = constraint
    mask, bits = domain.mask, domain.bits
    ma, mb, md = mask[a], mask[b], mask[d]
    known = ma & mb
    if known:
        domain.learn(d, known, (bits[a] ^ bits[b]) & known)
    known = ma & md
    if known:
        domain.learn(b, known, (bits[a] ^ bits[d]) & known)
    known = mb & md
    if known:
        domain.learn(a, known, (bits[b] ^ bits[d]) & known)
    if ma == MASK and not bits[a]:
        domain.merge(b, d, 0)
    elif mb == MASK and not bits[b]:
        domain.merge(a, d, 0)


def field(domain: Domain, constraint: Constraint) -> None:
    """Refine a field of d that equals one of a.

    The kinds are FIELD, LINK, OWNED, BELOW, OUT_OF_REACH and SUPPOSED.
    """
    if constraint[5] == 32:
        make_equal(domain, constraint[2], constraint[1])
    else:
        make_alike(domain, constraint[1], constraint[2], constraint[3], constraint[4], constraint[5])


def make_alike(domain: Domain, d: int, a: int, p: int, q: int, n: int) -> None:
    """Take bits of two variables to be equal, as in FIELD."""
    mask, bits = domain.mask, domain.bits
    window = ((1 << n) - 1) << q
    known = mask[a] & window
    if known:
        value = bits[a] & window
        domain.learn(d, known >> q << p, value >> q << p)
    window = ((1 << n) - 1) << p
    known = mask[d] & window
    if known:
        value = bits[d] & window
        domain.learn(a, known >> p << q, value >> p << q)


def replaced(domain: Domain, constraint: Constraint) -> None:
    """Refine d = b with a field replaced by one of a."""
    _, d, b, a, p, q, n = constraint
    mask, bits = domain.mask, domain.bits
    window = ((1 << n) - 1) << p
    rest = MASK & ~window
    known = mask[a] >> q << p & window | mask[b] & rest
    value = bits[a] >> q << p & window | bits[b] & rest
    md = mask[d]
    if known & (~md | value ^ bits[d]):
        domain.learn(d, known, value)
    if md:
        known = (md & window) >> p << q
        if known & ~mask[a]:
            domain.learn(a, known, (bits[d] & window) >> p << q)
        known = md & rest
        if known & ~mask[b]:
            domain.learn(b, known, bits[d] & rest)
    if mask[d] != MASK:
        _same_after(domain, constraint, window, rest)


def _same_after(domain: Domain, constraint: Constraint, window: int, rest: int) -> None:
    # When the field is all that is not zero, or replaces what is there already; else the interval of a shift.
    _, d, b, a, p, q, n = constraint
    mask, bits = domain.mask, domain.bits
    if p == q and mask[b] & rest == rest == rest & mask[a] and not (bits[b] ^ bits[a]) & rest:
        domain.merge(a, d, 0)
    elif mask[b] & mask[d] & window == window and not (bits[b] ^ bits[d]) & window:
        domain.merge(b, d, 0)
    elif mask[b] & rest == rest and not bits[b] & rest:
        low, high = domain.bounds(a)
        if p + n == 32 and not q and high << p <= MASK:
            domain.narrow(d, low << p, (high - low) << p)
        elif not p and q + n == 32:
            domain.narrow(d, low >> q, (high >> q) - (low >> q))
        elif not p and not q and high < 1 << n:
            domain.merge(a, d, 0)


def extended(domain: Domain, constraint: Constraint) -> None:
    """Refine d = the low n bits of a, sign-extended."""
    _, d, a, n = constraint
    mask, bits = domain.mask, domain.bits
    low = (1 << n) - 1
    upper = MASK & ~(low >> 1)
    known = mask[a] & low
    value = bits[a] & low
    if known >> (n - 1):
        known |= upper
        value |= upper if value >> (n - 1) else 0
    if known:
        domain.learn(d, known, value)
    md, vd = mask[d], bits[d]
    if md & upper and md & upper != upper:
        domain.learn(d, upper, upper if vd & upper else 0)
        md, vd = mask[d], bits[d]
    if md & low:
        domain.learn(a, md & low, vd & low)
    ma, va = mask[a], bits[a]
    if ma & upper == upper and (va & upper) in (0, upper):
        domain.merge(a, d, 0)


def zero(domain: Domain, constraint: Constraint) -> None:
    """Refine the bit d = (a is 0)."""
    _, d, a = constraint
    mask, bits = domain.mask, domain.bits
    if bits[a]:
        domain.learn(d, 1, 0)
    elif mask[a] == MASK:
        domain.learn(d, 1, 1)
    elif mask[d] == MASK:
        if bits[d]:
            domain.learn(a, MASK, 0)
        else:
            _not_zero(domain, a)
    else:
        low, span = domain.interval(a)
        if low and low + span <= MASK:
            domain.learn(d, 1, 0)


def _not_zero(domain: Domain, a: int) -> None:
    free = MASK & ~domain.mask[a]
    if not free & (free - 1):
        domain.learn(a, free, free)
        return
    low, span = domain.interval(a)
    if span == MASK:
        domain.narrow(a, 1, MASK - 1)
    elif not low:
        domain.narrow(a, 1, span - 1)
    elif low + span == MASK + 1:
        domain.narrow(a, low, span - 1)


def reverse(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a with its bits in reverse order."""
    _, d, a = constraint
    for one, other in ((a, d), (d, a)):
        known = domain.mask[one]
        if known:
            domain.learn(other, _mirrored(known), _mirrored(domain.bits[one]))


def _mirrored(value: int) -> int:
    return int("{:032b}".format(value)[::-1], 2)


def fact(domain: Domain, constraint: Constraint) -> None:
    """Refine nothing: a fact was learned when it was added."""
