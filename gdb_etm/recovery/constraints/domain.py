"""The domain of each variable: known bits, an interval, distances from others.

A variable is one value of one register, or of one step within an instruction.  Each has a mask of known bits, is in a
class of variables that differ from each other by constants, and each class has one interval modulo 2**32.  Knowledge
only grows.  A log keeps the cause of each narrowing, so that a value can be explained.
"""

from __future__ import annotations

from typing import Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.recovery.constraints.tables import ConstantTable
from gdb_etm.recovery.lift.operations import MASK

NONE: Final = -1
_TOP: Final = 0x80000000
# Members of a class that are notified of its interval.
_SMALL: Final = 16
# Times that one class's interval is narrowed; an endless loop's counter would go step by step.
_NARROWINGS: Final = 24


class Contradiction(Exception):
    """Two facts about one variable exclude each other.

    :param variable: The variable.
    :param cause: The constraint that brought the second fact.
    """

    def __init__(self, variable: int, cause: int) -> None:
        super().__init__("variable %d, constraint %d" % (variable, cause))
        self.variable = variable
        self.cause = cause


class GrowthLog:
    """The log: an entry for each narrowing, in order."""

    def __init__(self) -> None:
        # Lists, as arrays are slower.
        self.variable: List[int] = []
        # A constraint's number, or ~variable when that member of the class became known.
        self.cause: List[int] = []
        # The variable's entry before it, or NONE.
        self.before: List[int] = []
        # The newest entry of each variable, or NONE.
        self.last: List[int] = []
        # Pairs of variables that made two classes one: both, the cause, and the entries made until then.
        self.merged: List[Tuple[int, int, int, int]] = []
        self._joined: Dict[int, List[Tuple[int, int]]] = {}
        # How many of the pairs are in it.
        self._of_joined = 0

    def add(self, variable: int, cause: int) -> None:
        """Note that something was learnt."""
        last = self.last
        self.before.append(last[variable])
        last[variable] = len(self.variable)
        self.variable.append(variable)
        self.cause.append(cause)

    def newest(self, variable: int, entry: int) -> int:
        """Give a variable's newest entry before another entry, or NONE."""
        found = self.last[variable]
        while found >= entry:
            found = self.before[found]
        return found

    def joined(self) -> Dict[int, List[Tuple[int, int]]]:
        """Give for each variable those it was merged with, and the causes."""
        found = self._joined
        for one, other, cause, _ in self.merged[self._of_joined :]:
            found.setdefault(one, []).append((other, cause))
            found.setdefault(other, []).append((one, cause))
        self._of_joined = len(self.merged)
        return found

    def cut(self, entries: int, merged: int) -> None:
        """Forget all but the oldest entries."""
        for number in range(len(self.variable) - 1, entries - 1, -1):
            self.last[self.variable[number]] = self.before[number]
        del self.variable[entries:], self.cause[entries:], self.before[entries:]
        for one, other, _, _ in reversed(self.merged[merged : self._of_joined]):
            self._joined[one].pop()
            self._joined[other].pop()
        self._of_joined = min(self._of_joined, merged)
        del self.merged[merged:]


class Knowledge(NamedTuple):
    """A copy of what is known of all variables."""

    mask: List[int]
    bits: List[int]
    root: List[int]
    offset: List[int]
    low: List[int]
    span: List[int]
    members: Dict[int, List[int]]
    narrowings: Dict[int, int]
    entries: int
    merged: int


class Domain:
    """The domains of a segment's variables, and the constraints that watch them."""

    def __init__(self) -> None:
        self.mask: List[int] = []
        self.bits: List[int] = []
        self.root: List[int] = []
        self.offset: List[int] = []
        self.low: List[int] = []
        self.span: List[int] = []
        self.members: Dict[int, List[int]] = {}
        self.watchers: List[Optional[List[int]]] = []
        self.queue: List[int] = []
        self.queued: List[bool] = []
        self.log = GrowthLog()
        self.cause = NONE
        self.narrowings: Dict[int, int] = {}
        # The variables that are constants, by their values.
        self.constants: Dict[int, int] = {}
        # Tables of constants, by their numbers.
        self.tables: List[ConstantTable] = []

    def new(self, known: int = 0, bits: int = 0) -> int:
        """Make a variable.

        :param known: Mask of bits that are known from the start.
        :param bits: Their values.
        """
        number = len(self.mask)
        self.mask.append(known)
        self.bits.append(bits)
        self.root.append(number)
        self.offset.append(0)
        self.low.append(0)
        self.span.append(MASK)
        self.watchers.append(None)
        self.log.last.append(NONE)
        if known & _TOP and known != MASK:
            self.low[number], self.span[number] = bits, MASK & ~known
        return number

    def save(self) -> Knowledge:
        """Copy what is known, to be restored later."""
        return Knowledge(
            list(self.mask),
            list(self.bits),
            list(self.root),
            list(self.offset),
            list(self.low),
            list(self.span),
            {root: list(members) for root, members in self.members.items()},
            dict(self.narrowings),
            len(self.log.variable),
            len(self.log.merged),
        )

    def restore(self, saved: Knowledge) -> None:
        """Forget all that was learned since; ``saved`` can be used again.

        Constants that were made since are kept.
        """
        count = len(saved.mask)
        self.mask[:count], self.bits[:count] = saved.mask, saved.bits
        self.root[:count], self.offset[:count] = saved.root, saved.offset
        self.low[:count], self.span[:count] = saved.low, saved.span
        self.members = {root: list(members) for root, members in saved.members.items()}
        self.narrowings = dict(saved.narrowings)
        self.log.cut(saved.entries, saved.merged)

    def constant(self, value: int) -> int:
        """Give the variable that is a constant."""
        found = self.constants.get(value)
        if found is None:
            found = self.constants[value] = self.new(MASK, value)
        return found

    def wake(self, variable: int) -> None:
        """Queue the constraints that wait for news of a variable."""
        waiting = self.watchers[variable]
        if waiting:
            queued, queue = self.queued, self.queue
            for constraint in waiting:
                if not queued[constraint]:
                    queued[constraint] = True
                    queue.append(constraint)

    def learn(self, variable: int, known: int, bits: int) -> None:
        """Narrow a variable: the bits in ``known`` are those in ``bits``.

        :raises Contradiction: Others are known.
        """
        old = self.mask[variable]
        had = self.bits[variable]
        if (had ^ bits) & old & known:
            raise Contradiction(variable, self.cause)
        fresh = known & ~old
        if not fresh:
            return
        now = self.mask[variable] = old | fresh
        had = self.bits[variable] = had | bits & fresh
        self.log.add(variable, self.cause)
        self.wake(variable)
        if now == MASK:
            self._resolve(variable, had)
        elif now & _TOP:
            self.narrow(variable, had, MASK & ~now)

    def _resolve(self, variable: int, value: int) -> None:
        # One member of a class is known, so all are.
        root = self.root[variable]
        if self.span[root] != MASK and (value - self.offset[variable] - self.low[root]) & MASK > self.span[root]:
            raise Contradiction(variable, self.cause)
        members = self.members.pop(root, None)
        if members is None:
            return
        mask, bits, offset, log = self.mask, self.bits, self.offset, self.log
        start = value - offset[variable]
        for member in members:
            if member == variable:
                continue
            known = mask[member]
            other = (start + offset[member]) & MASK
            if (bits[member] ^ other) & known:
                raise Contradiction(member, self.cause)
            if known != MASK:
                mask[member] = MASK
                bits[member] = other
                log.add(member, ~variable)
                self.wake(member)

    def merge(self, one: int, other: int, distance: int) -> None:
        """Take it that ``other = one + distance``.

        :raises Contradiction: They differ by something else.
        """
        mask, bits = self.mask, self.bits
        if mask[one] == MASK:
            self.learn(other, MASK, (bits[one] + distance) & MASK)
            return
        if mask[other] == MASK:
            self.learn(one, MASK, (bits[other] - distance) & MASK)
            return
        root, offset = self.root, self.offset
        kept, gone = root[one], root[other]
        if kept == gone:
            if (offset[other] - offset[one] - distance) & MASK:
                raise Contradiction(other, self.cause)
            return
        shift = offset[one] + distance - offset[other]
        members = self.members
        if len(members.get(kept, ())) < len(members.get(gone, ())):
            kept, gone, shift = gone, kept, -shift
        moved = members.pop(gone, None) or [gone]
        for member in moved:
            root[member] = kept
            offset[member] = (offset[member] + shift) & MASK
        stay = members.get(kept)
        if stay is None:
            stay = members[kept] = [kept]
        stay += moved
        self.log.merged.append((one, other, self.cause, len(self.log.variable)))
        self._join(gone, kept, shift, moved, stay)

    def _join(self, gone: int, kept: int, shift: int, moved: List[int], stay: List[int]) -> None:
        # The intervals of two classes that became one; those who can compute with the new distance are notified.
        for member in moved if len(moved) <= _SMALL else moved[:1]:
            self.wake(member)
        if len(stay) <= _SMALL:
            for member in stay:
                self.wake(member)
        if self.span[gone] != MASK:
            self.narrow(kept, (self.low[gone] - shift) & MASK, self.span[gone])

    def narrow(self, variable: int, low: int, span: int) -> None:
        """Narrow a variable to ``low`` up to ``low + span``, modulo 2**32.

        :raises Contradiction: It is none of them.
        """
        if span == MASK:
            return
        if self.mask[variable] == MASK:
            if (self.bits[variable] - low) & MASK > span:
                raise Contradiction(variable, self.cause)
            return
        root = self.root[variable]
        start = (low - self.offset[variable]) & MASK
        had, wide = self.low[root], self.span[root]
        if wide != MASK:
            start, span = _meet(had, wide, start, span)
            if span < 0:
                raise Contradiction(variable, self.cause)
            if span >= wide:
                return
        count = self.narrowings.get(root, 0)
        if count >= _NARROWINGS and span:
            return
        self.narrowings[root] = count + 1
        self.low[root], self.span[root] = start, span
        self.log.add(variable, self.cause)
        self._tell(variable, root)

    def _tell(self, variable: int, root: int) -> None:
        # A class's interval has become narrower.
        low, span = (self.low[root] + self.offset[variable]) & MASK, self.span[root]
        members = self.members.get(root)
        if span and members is not None and len(members) <= _SMALL:
            for member in members:
                self.wake(member)
        else:
            self.wake(variable)
        differ = low ^ (low + span)
        if differ <= MASK:
            prefix = MASK & ~((1 << differ.bit_length()) - 1)
            if prefix & ~self.mask[variable]:
                self.learn(variable, prefix, low & prefix)

    def interval(self, variable: int) -> Tuple[int, int]:
        """Give a variable's lowest value and the distance of its highest one.

        Both are modulo 2**32.
        """
        if self.mask[variable] == MASK:
            return self.bits[variable], 0
        root = self.root[variable]
        return (self.low[root] + self.offset[variable]) & MASK, self.span[root]

    def bounds(self, variable: int, bias: int = 0) -> Tuple[int, int]:
        """Give the lowest and the highest value of a variable, unsigned.

        :param bias: Added to it before, modulo 2**32; 0x80000000 makes signed order unsigned.
        """
        if self.mask[variable] == MASK:
            value = (self.bits[variable] + bias) & MASK
            return value, value
        root = self.root[variable]
        span = self.span[root]
        low = (self.low[root] + self.offset[variable] + bias) & MASK
        if low + span > MASK:
            low, span = 0, MASK
        if not bias:
            bits = self.bits[variable]
            return max(low, bits), min(low + span, bits | MASK & ~self.mask[variable])
        return low, low + span


def _meet(low: int, span: int, start: int, width: int) -> Tuple[int, int]:
    # What two intervals have in common; the smaller of them when that is two pieces, NONE as the span when nothing.
    ahead = (start - low) & MASK
    if ahead <= span:
        if ahead + width <= span:
            return start, width
        if ahead + width <= MASK:
            return start, span - ahead
        return (start, width) if width < span else (low, span)
    end = ahead + width - MASK - 1
    return (low, min(end, span)) if end >= 0 else (low, NONE)
