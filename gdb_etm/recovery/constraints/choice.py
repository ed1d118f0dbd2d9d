"""Propagators of alternatives: selections, wrapped indices, remainders, tables."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind, make_equal
from gdb_etm.recovery.constraints.domain import Contradiction, Domain
from gdb_etm.recovery.constraints.tables import ConstantTable, alike
from gdb_etm.recovery.lift.operations import MASK


def select(domain: Domain, constraint: Constraint) -> None:
    """Refine d = b if a is 1, else c."""
    _, d, a, b, c = constraint
    mask, bits = domain.mask, domain.bits
    if mask[a] == MASK:
        make_equal(domain, b if bits[a] else c, d)
        return
    if b == c:
        make_equal(domain, b, d)
        return
    known = mask[b] & mask[c] & ~(bits[b] ^ bits[c])
    if known & ~mask[d]:
        domain.learn(d, known, bits[b] & known)
    if (bits[d] ^ bits[b]) & mask[d] & mask[b] or _apart(domain, d, b):
        domain.learn(a, 1, 0)
    elif (bits[d] ^ bits[c]) & mask[d] & mask[c] or _apart(domain, d, c):
        domain.learn(a, 1, 1)
    else:
        _hull(domain, d, b, c)


def choose(domain: Domain, constraint: Constraint) -> None:
    """Refine a SELECT whose condition is a comparison.

    Each of the two values counts only where the comparison allows it.
    """
    _, d, a, b, c, x, y, bias, sense = constraint
    select(domain, (ConstraintKind.SELECT, d, a, b, c))
    if domain.mask[a] == MASK or domain.mask[d] == MASK:
        return
    first = implied(domain, b, x, y, bias, sense == 1)
    second = implied(domain, c, x, y, bias, sense == 0)
    if first is None or second is None:
        if first is not second:
            domain.learn(a, 1, int(second is None))
        return
    low, high = min(first[0], second[0]), max(first[1], second[1])
    domain.narrow(d, low, high - low)


def implied(domain: Domain, v: int, x: int, y: int, bias: int, holds: bool) -> Optional[Tuple[int, int]]:
    """Give a variable's bounds under a comparison, or under its negation.

    The comparison is x + bias >= y + bias.  None when the bounds contradict what is known.
    """
    low_x, high_x = domain.bounds(x, bias)
    low_y, high_y = domain.bounds(y, bias)
    if holds:
        low_x, high_y = max(low_x, low_y), min(high_y, high_x)
    else:
        high_x, low_y = min(high_x, high_y - 1), max(low_y, low_x + 1)
    if low_x > high_x or low_y > high_y:
        return None
    low, high = domain.bounds(v)
    if domain.mask[v] == MASK:
        return low, high
    for one, start, end in ((x, low_x, high_x), (y, low_y, high_y)):
        if domain.mask[one] != MASK and domain.root[one] == domain.root[v]:
            start = (start - bias + domain.offset[v] - domain.offset[one]) & MASK
            end = start + end - (low_x if one == x else low_y)
            if end <= MASK:
                low, high = max(low, start), min(high, end)
    return (low, high) if low <= high else None


def remainder(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a modulo a constant."""
    _, d, a, k = constraint
    low, high = domain.bounds(a)
    if high < k:
        domain.merge(a, d, 0)
    elif low // k == high // k:
        domain.merge(a, d, -(low - low % k))
    elif high - low < k and domain.mask[d] == MASK:
        domain.learn(a, MASK, low + (domain.bits[d] - low) % k)
    else:
        domain.narrow(d, 0, k - 1)


def may_alias(domain: Domain, constraint: Constraint) -> None:
    """Refine d = a unless one of some stores hit (MAY_ALIAS).

    None did if each would have left something else.
    """
    count, d, a = constraint[1], constraint[2], constraint[3]
    at = 4 + count
    wanted, shift = constraint[at], constraint[at + 1]
    mask, bits = domain.mask, domain.bits
    found, seen = mask[d], bits[d]
    value, known = bits[a], mask[a]
    if shift:
        value, known = moved(value, shift), moved(known, shift)
    value &= wanted
    known &= wanted
    if not known and not found & wanted:
        return
    missed = True
    # Bits that newer stores may have written, without and with those of the one that is looked at.
    above = covered = 0
    newer = -1
    for index in range(4, 4 + count):
        data = constraint[index]
        part, distance, store = constraint[at + 2], constraint[at + 3], constraint[at + 4]
        at += 3
        if store != newer:
            newer, above = store, covered
        told, left = mask[data], bits[data]
        if distance:
            told, left = moved(told, distance), moved(left, distance)
        # A store need not have hit if what it would have left was not found, or was there before.
        if (left ^ seen) & told & found & part & ~above or _is_refuted(domain, constraint, data, part, distance, above):
            continue
        missed = False
        covered |= part
        if known & part:
            known &= ~part | told & ~(left ^ value)
    if missed and wanted == MASK and not shift:
        make_equal(domain, a, d)
        return
    if known & ~found:
        domain.learn(d, known, value & known)
    rest = mask[d] & wanted & ~covered
    if rest:
        domain.learn(a, moved(rest, -shift), moved(bits[d] & rest, -shift))


def _is_refuted(domain: Domain, constraint: Constraint, data: int, part: int, distance: int, above: int) -> bool:
    # Whether a store need not have hit, as what it would have left was there before, or cannot be there by its address.
    count, d, a = constraint[1], constraint[2], constraint[3]
    wanted, shift = constraint[4 + count], constraint[5 + count]
    root, offset = domain.root, domain.offset
    same = root[data] == root[a] and offset[data] == offset[a]
    if part == wanted and distance == shift:
        return same or not above and part == MASK and not shift and _apart(domain, d, data)
    return constraint[-3] != 0 and _is_torn(domain, constraint, part, distance if same else shift)


def _is_torn(domain: Domain, constraint: Constraint, part: int, distance: int) -> bool:
    # Whether what a store has not hit cannot be the source's, or contradicts what it has left of the same data.
    count, d, a = constraint[1], constraint[2], constraint[3]
    wanted, shift = constraint[4 + count], constraint[5 + count]
    known, bits = domain.mask[d], domain.bits[d]
    rest = known & wanted & ~part
    if (moved(domain.bits[a], shift) ^ bits) & moved(domain.mask[a], shift) & rest:
        return True
    both = moved(rest, -shift) & moved(known & part, -distance)
    return distance != shift and bool((moved(bits & rest, -shift) ^ moved(bits & part, -distance)) & both)


def moved(bits: int, shift: int) -> int:
    """Shift bits left, or right by a negative number."""
    return bits << shift & MASK if shift >= 0 else bits >> -shift


def _apart(domain: Domain, one: int, other: int) -> bool:
    # Whether two variables certainly differ, by their class or their intervals.
    if domain.root[one] == domain.root[other] and domain.mask[one] != MASK != domain.mask[other]:
        return domain.offset[one] != domain.offset[other]
    low, span = domain.interval(one)
    start, width = domain.interval(other)
    return (start - low) & MASK > span and (low - start) & MASK > width


def _hull(domain: Domain, d: int, b: int, c: int) -> None:
    low, high = domain.bounds(b)
    start, end = domain.bounds(c)
    if max(high, end) - min(low, start) < MASK:
        domain.narrow(d, min(low, start), max(high, end) - min(low, start))


def lookup(domain: Domain, constraint: Constraint) -> None:
    """Refine that d is what a table of constants has at a."""
    _, d, a, number = constraint
    table = domain.tables[number]
    low, span = domain.interval(a)
    is_open = span >= table.addresses[-1] - table.base and not domain.mask[a] & ~table.alike
    if is_open and domain.interval(d)[1] == MASK and not domain.mask[d] & ~table.common:
        # Nothing excludes any of them.
        domain.learn(d, table.common, table.values[0])
        return
    found = _fitting(domain, d, a, table)
    if not found:
        raise Contradiction(d, domain.cause)
    _learn(domain, a, [one[0] for one in found])
    _learn(domain, d, [one[1] for one in found])


def _fitting(domain: Domain, d: int, a: int, table: ConstantTable) -> List[Tuple[int, int]]:
    # The addresses, and what is there, that agree with what is known.
    known, told = domain.mask[a], domain.mask[d]
    address, value = domain.bits[a], domain.bits[d]
    low, span = domain.interval(a)
    least, width = domain.interval(d)
    return [
        one
        for one in zip(table.addresses, table.values)
        if not (one[0] ^ address) & known
        and not (one[1] ^ value) & told
        and (one[0] - low) & MASK <= span
        and (one[1] - least) & MASK <= width
    ]


def _learn(domain: Domain, variable: int, values: Sequence[int]) -> None:
    # A variable is one of some values.
    domain.learn(variable, alike(values), values[0])
    low, high = min(values), max(values)
    if low != high:
        domain.narrow(variable, low, high - low)
