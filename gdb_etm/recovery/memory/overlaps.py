"""Possible contents: what stores of unknown address may have left.

Of several such stores the last one that hit a byte has left what is there.  So where each of them would have left
something else, none has hit; and what all of them would have left alike is known although nobody knows which it was.
"""

from __future__ import annotations

from typing import Dict, Final, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.choice import moved
from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Intervals that are taken for those of an index.
_SMALL: Final = 1 << 16
# Possible hits of stores that are weighed for one load.
MOST: Final = 32
_NONE: Final = -1


class Found(NamedTuple):
    """Bytes that were loaded, or that are there at the end."""

    # Variable.
    data: int
    # Of the first.
    address: int
    # In bytes, up to 4.
    size: int
    # All bits of the bytes that are asked for.
    wanted: int


# What a store may have left: its data, which bits of what was found, how far its bits are shifted to the left, and
# the store's number.
Candidate = Tuple[int, int, int, int]


def wide(bytes_: int) -> int:
    """Give all bits of some bytes of a word.

    :param bytes_: A bit for each.
    """
    return sum(0xFF << 8 * index for index in range(4) if bytes_ >> index & 1)


def candidates(ssa: TraceSsa, stores: List[int], found: Found) -> Tuple[Optional[List[Candidate]], int]:
    """List what stores may have left, and how many were looked at.

    What contradicts what is known of the bytes is left out.

    :param stores: Numbers of accesses, the newest first.
    :returns: The list, up to where it is too long; None where a store's size is not known.
    """
    domain, accesses = ssa.domain, ssa.accesses
    mask, bits = domain.mask, domain.bits
    there, seen = mask[found.data], bits[found.data]
    places: Dict[int, List[Tuple[int, int, int]]] = {}
    result: List[Candidate] = []
    covered = 0
    for count, number in enumerate(stores, 1):
        access = accesses[number]
        size = access.size
        if not 0 < size <= 4:
            return None, count
        if size not in places:
            places[size] = _places(found, size)
        address, data = access.address, access.data
        known, value = mask[address], bits[address]
        if known == MASK:
            low, span = value, 0
        else:
            root = domain.root[address]
            low, span = (domain.low[root] + domain.offset[address]) & MASK, domain.span[root]
        hit = 0
        told, stored = mask[data], bits[data]
        for byte, part, shift in places[size]:
            if (byte ^ value) & known or (byte - low) & MASK > span:
                continue
            # Some bytes of what was found are not those of the data.  Bits that are shifted out are none of the part's.
            look = there & part & ~covered
            if look and told:
                differs = (
                    (stored << shift ^ seen) & told << shift
                    if shift >= 0
                    else (stored >> -shift ^ seen) & told >> -shift
                )
                if differs & look:
                    continue
            result.append((data, part, shift, number))
            hit |= part
        covered |= hit
        if len(result) > MOST:
            return result, count
    return result, len(stores)


def _are_left(ssa: TraceSsa, found: Found, many: List[Candidate]) -> bool:
    # Whether all of what was too much before still is.  Fewer stores can only make fewer candidates: so these are
    # candidates still, if they are by what these alone cover.
    domain, accesses = ssa.domain, ssa.accesses
    mask, bits = domain.mask, domain.bits
    there, seen = mask[found.data], bits[found.data]
    covered = hit = 0
    last = _NONE
    for data, part, shift, number in many:
        address, condition = accesses[number].address, accesses[number].condition
        known = mask[address]
        if known == MASK or mask[condition] == MASK and not bits[condition]:
            return False
        if number != last:
            last, covered = number, covered | hit
        byte, root = found.address + (shift >> 3), domain.root[address]
        low, span = (domain.low[root] + domain.offset[address]) & MASK, domain.span[root]
        if (byte ^ bits[address]) & known or (byte - low) & MASK > span:
            return False
        look = there & part & ~covered
        if look and mask[data] and (moved(bits[data], shift) ^ seen) & moved(mask[data], shift) & look:
            return False
        hit |= part
    return True


def _places(found: Found, size: int) -> List[Tuple[int, int, int]]:
    # Where a store may have hit: its address, which bits of what was found it wrote, how far its data is shifted.
    whole = (1 << 8 * size) - 1
    shifts = [
        (byte, 8 * (byte - found.address)) for byte in range(found.address - size + 1, found.address + found.size)
    ]
    hits = [(byte, moved(whole, shift) & found.wanted, shift) for byte, shift in shifts]
    return [one for one in hits if one[1]]


class Weighing:
    """Weighs a value against what stores of unknown address may have left.

    :param ssa: With its accesses.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        # By what was found, an access or the end, its source, and the address.
        self._weighed: Dict[Tuple[int, int, int], List[Candidate]] = {}
        # Likewise, where there were too many: which bytes were asked for, and the candidates that were too many.
        self._many: Dict[Tuple[int, int, int], Tuple[int, List[Candidate]]] = {}
        # By variable, the variables that it is one of.
        self._words: Dict[int, Tuple[int, ...]] = {}
        self._by_root: Dict[int, List[int]] = {}
        # Variables that are no such sum.
        self._plain: Set[int] = set()
        # Classes that had been joined when _by_root was made.
        self._seen = -1

    def copy(self) -> "Weighing":
        """Copy it, to be changed on its own."""
        made = Weighing(self._ssa)
        made._weighed, made._many, made._words = dict(self._weighed), dict(self._many), dict(self._words)
        return made

    def weigh(
        self, found: Found, until: int, source: int, shift: int, stores: List[int]
    ) -> Tuple[Optional[Constraint], int]:
        """Make the constraint of what was found; None without news.

        :param until: The access that found it, or as many as there are for the end.
        :param source: The access whose data it is if no store hit.
        :param shift: How far its bits are shifted to the left.
        :param stores: Numbers of the accesses in between that may hit or miss, the newest first.
        :returns: The constraint, and the oldest of the stores that were looked at; ``until`` where none was.
        """
        key = (until, source, found.address)
        wanted, many = self._many.get(key, (0, []))
        if wanted == found.wanted and _are_left(self._ssa, found, many):
            return None, many[-1][3]
        others, count = candidates(self._ssa, stores, found)
        oldest = stores[count - 1] if count else until
        if others is not None and len(others) > MOST:
            self._many[key] = found.wanted, others
            return None, oldest
        if others is None or others == self._weighed.get(key):
            return None, oldest
        self._weighed[key] = others
        data = self._ssa.accesses[source].data
        if found.wanted == MASK and not shift and all(part == MASK and not far for _, part, far, _ in others):
            self._words[found.data] = (data,) + tuple([one[0] for one in others])
            self._seen = -1
        return _constraint(found, data, shift, others) + (source, until), oldest

    def may_be(self, variable: int, values: Sequence[int]) -> bool:
        """Check whether a sum of alternatives may be one of some values.

        :param variable: One by :meth:`is_sum`.
        """
        domain = self._ssa.domain
        return all(
            any(_may_equal(domain, one, value - low, span) for one in self._words[word] for value in values)
            for word, low, span in self._terms(variable)
        )

    def is_sum(self, variable: int) -> bool:
        """Check whether a variable is known to be a sum of alternatives."""
        domain = self._ssa.domain
        if self._seen != len(domain.log.merged):
            self._seen = len(domain.log.merged)
            self._plain = set()
            self._by_root = {}
            for word in self._words:
                self._by_root.setdefault(domain.root[word], []).append(word)
        if variable in self._plain:
            return False
        if not self._by_root or next(self._terms(variable), None) is None:
            self._plain.add(variable)
            return False
        return True

    def _terms(self, variable: int) -> Iterator[Tuple[int, int, int]]:
        # The words that a variable is the sum of, and the interval of the rest.
        ssa = self._ssa
        domain = ssa.domain
        for word in self._by_root.get(domain.root[variable], ()):
            yield word, domain.offset[variable] - domain.offset[word], 0
        base, distance = ssa.base_and_distance(variable)
        made = ssa.made[base]
        if made >= 0 and ssa.constraints[made][0] == ConstraintKind.SUM:
            _, _, a, b, c = ssa.constraints[made]
            for one, other in ((a, b), (b, a)):
                low, span = domain.interval(other)
                for word in self._by_root.get(domain.root[one], ()) if span < _SMALL else ():
                    yield word, distance + c + low + domain.offset[one] - domain.offset[word], span


def _constraint(found: Found, source: int, shift: int, others: Sequence[Candidate]) -> Constraint:
    data = tuple([one[0] for one in others])
    parts = tuple([value for one in others for value in one[1:]])
    single = int(len({one[3] for one in others}) == 1)
    return (
        (ConstraintKind.MAY_ALIAS, len(others), found.data, source) + data + (found.wanted, shift) + parts + (single,)
    )


def _may_equal(domain: Domain, variable: int, value: int, below: int) -> bool:
    # Whether a variable may be a value, or one so much below it.
    if not below and (value ^ domain.bits[variable]) & domain.mask[variable]:
        return False
    low, span = domain.interval(variable)
    return (value - low) & MASK <= span + below
