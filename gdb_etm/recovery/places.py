"""Where a stack is whose address is unknown, by what is in memory there later.

Addresses that differ by constants are a class, and where one of them is, all are.  For each place that the class may
be at, what was stored last at each offset is held against what memory had there later: a load at a known address, a
load by offset, or RAM at the end.  Where the two differ, a store to an unknown address of another class must have
written that byte in between, and must have left what was found; if none can have, the class is not at that place.
Nor is it if there are more such bytes than those stores can have written: all of a class are moved together, so a
class accounts for no more of them than it would at the one place that suits it best.  A place that is left alone is
where the stack is.

A stack is taken to be in RAM that nobody else writes, and that can be read: from its limit to the first word that
cannot, with no more to be read near by.  Words that others write too tell nothing.  Where nothing is known of the
lowest address, or too many places are possible, nothing is tried.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.line import Access, Line
from gdb_etm.recovery.memory import Memory
from gdb_etm.recovery.operations import MASK

_NEWEST = 6
# Classes that are tried, the newest.
_WORDS = 4096
# Words of a stack that are looked at.
_BESIDE, _APART = 4096, 256
# Bytes behind a stack that must not be readable, and at what distances that is tried.
_FEWEST = 4
# Bytes that must tell something of a class.
_LEFT = 48
# Places that are looked at more closely.
_NEAR, _FAR = 64, 400
# Stores to unknown addresses that one byte is held against, at first and when few places are left.
_EFFORT = 150000
# Such stores that are looked at for one line.


class Options(NamedTuple):
    """Where a class of addresses may be."""

    variable: int
    """The address of its newest access."""
    number: int
    """The instruction of that."""
    values: Tuple[int, ...]
    """What the variable may be."""


class _Byte(NamedTuple):
    # What is known of a byte of a variable.
    mask: int
    bits: int
    far: int
    # How far the variable is to be shifted down, where ``bits`` is what it is above the class's base; -1 elsewhere.

    def at(self, base: int) -> Tuple[int, int]:
        """Give which bits are known, and their values, if the class's base is this."""
        return self.mask, self.bits if self.far < 0 else ((base + self.bits) & MASK) >> self.far & 0xFF


_NOTHING = _Byte(0, 0, -1)


class _Trace(NamedTuple):
    # A byte at an offset, between two accesses by offset.
    since: int
    until: int
    offset: int
    before: _Byte
    # After the older one.
    after: Optional[_Byte]
    # As the later one found it; None when that is a store, or it is the end.


class _Store(NamedTuple):
    # A store to an unknown address of another class.
    size: int
    root: int
    offset: int
    known: int
    bits: int
    low: int
    span: int
    data: _Byte
    # Of the whole word.


class _Change(NamedTuple):
    # A byte that is not what it was: between which accesses, and what is known of it then.
    since: int
    until: int
    mask: int
    bits: int


class _Conflicts:
    # Changes, and where classes would have to be to account for them.
    def __init__(self) -> None:
        self._count = 0
        self._votes: Dict[Tuple[int, int], int] = {}
        self._best: Dict[int, int] = {}
        # How many of them each class accounts for at most, wherever it is.
        self._most = 0

    def add(self, told: Set[Tuple[int, int]]) -> bool:
        """Add a change, and the classes and their places that account for it; tell whether all can be accounted for."""
        self._count += 1
        for one in told:
            count = self._votes[one] = self._votes.get(one, 0) + 1
            if count > self._best.get(one[0], 0):
                self._best[one[0]] = count
                self._most += 1
        return self._count <= self._most


class _Class:
    # One class of addresses, with what there is to be held against memory.
    def __init__(self, line: Line, root: int, newest: int, unplaced: Sequence[int]) -> None:
        self._line = line
        self._domain = line.domain
        self.root = root
        self.newest = newest
        self._events: Dict[int, List[Tuple[int, bool, _Byte]]] = {}
        # By offset: the access, whether it is a store, and what it has there.
        for number, access in enumerate(line.accesses):
            if access.size and self._domain.root[access.address] == root:
                self._note(number, access)
        self.lowest = min(self._events, default=0)
        self.highest = max(self._events, default=0)
        self.numbers: List[int] = []
        """Stores to unknown addresses of other classes, oldest first."""
        self.stores: List[Optional[_Store]] = []
        """The same; None for what may change any memory."""
        for number in unplaced:
            access = line.accesses[number]
            if not access.size or self._domain.root[access.address] != root:
                self.numbers.append(number)
                self.stores.append(self._store(access) if access.size else None)

    def _note(self, number: int, access: Access) -> None:
        domain = self._domain
        sure = domain.mask[access.condition] == MASK
        if not (domain.bits[access.condition] if sure else access.store):
            return
        first = self.distance(number)
        for index in range(access.size):
            what = self._byte(access.data, 8 * index) if sure else _NOTHING
            self._events.setdefault(first + index, []).append((number, access.store, what))

    def distance(self, number: int) -> int:
        """Give the offset of an access, signed."""
        offset = self._domain.offset[self._line.accesses[number].address]
        return offset - (offset >> 31 << 32)

    def _byte(self, variable: int, far: int) -> _Byte:
        domain = self._domain
        known = domain.mask[variable]
        if known != MASK and domain.root[variable] == self.root and far < 32:
            return _Byte(0xFF, domain.offset[variable], far)
        return _Byte(known >> far & 0xFF, domain.bits[variable] >> far & 0xFF, -1)

    def _store(self, access: Access) -> _Store:
        domain, address = self._domain, access.address
        known, data = domain.mask[access.data], access.data
        word = _Byte(known, domain.bits[data], -1)
        if known != MASK and domain.root[data] == self.root:
            word = _Byte(MASK, domain.offset[data], 0)
        low, span = domain.interval(address)
        place = (domain.root[address], domain.offset[address])
        return _Store(access.size, *place, domain.mask[address], domain.bits[address], low, span, word)

    def traces(self) -> Tuple[List[_Trace], List[_Trace]]:
        """Give what tells most, and what else may tell something."""
        most: List[_Trace] = []
        rest: List[_Trace] = []
        end = len(self._line.accesses)
        for offset, events in self._events.items():
            if not events[0][1] and events[0][2].mask:
                rest.append(_Trace(-1, events[0][0], offset, _NOTHING, events[0][2]))
            for (since, _, before), (until, store, after) in zip(events, events[1:] + [(end, False, _NOTHING)]):
                found = None if store or until == end else after
                one = _Trace(since, until, offset, before, found)
                if before.mask and (until == end or found is not None and _may_differ(before, found)):
                    most.append(one)
                elif before.mask or found is not None and found.mask:
                    rest.append(one)
        return sorted(most, key=self._others), rest

    def _others(self, one: _Trace) -> int:
        return bisect_left(self.numbers, one.until) - bisect_left(self.numbers, one.since)


def _may_differ(one: _Byte, other: _Byte) -> bool:
    if one.far >= 0 or other.far >= 0:
        return one != other and bool(one.mask & other.mask)
    return bool((one.bits ^ other.bits) & one.mask & other.mask)


class Places:
    """Finds out where classes of addresses are.

    :param line: With its accesses.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._tried: Dict[int, int] = {}
        # By class, how many stores to unknown addresses there were.
        self._effort = _EFFORT

    def options(self, memory: Memory, stacks: Set[int]) -> Iterator[Options]:
        """Give the places that are left for classes, the newest first; those of which there are few.

        What is known must not change meanwhile.

        :param memory: Of the line.
        :param stacks: The classes that stack pointers are in.
        """
        unplaced = memory.barriers.unplaced
        for newest, root in self._newest(stacks) if not self._line.rules.bit_band else ():
            if self._tried.get(root) == len(unplaced) or self._effort < 0:
                continue
            self._tried[root] = len(unplaced)
            values = self._left(memory, root, newest)
            if values:
                access = self._line.accesses[newest]
                offset = self._line.domain.offset[access.address]
                moved = tuple([(value + offset) & MASK for value in values])
                yield Options(access.address, access.number, moved)

    def _left(self, memory: Memory, root: int, newest: int) -> Optional[List[int]]:
        one = _Class(self._line, root, newest, memory.barriers.unplaced)
        return _Search(self._line, memory, one).left(self)

    def spend(self, count: int) -> bool:
        """Take note of an effort; tell whether there is any left."""
        self._effort -= count
        return self._effort >= 0

    def _newest(self, stacks: Set[int]) -> List[Tuple[int, int]]:
        # The newest access of each class, and the class.
        domain = self._line.domain
        found: Dict[int, int] = {}
        for number in range(len(self._line.accesses) - 1, -1, -1):
            address = self._line.accesses[number].address
            root = domain.root[address]
            if root in stacks and domain.mask[address] != MASK and root not in found:
                found[root] = number
                if len(found) == _NEWEST:
                    break
        return [(number, root) for root, number in found.items()]


class _Search:
    # Looks for the places of one class.
    def __init__(self, line: Line, memory: Memory, one: _Class) -> None:
        self._line = line
        self._domain = line.domain
        self._memory = memory
        self._cells = memory.cells
        self._class = one

    def left(self, places: Places) -> Optional[List[int]]:
        """Give the values of the class's base that nothing speaks against; None if these are many."""
        most, rest = self._class.traces()
        bases = self._bases() if len(most) >= _FEWEST else range(0)
        if not bases:
            return None
        found: List[int] = []
        for base in bases:
            if self._is_known_bits(base) and self._fits(base, most, _NEAR, places):
                found.append(base)
                if len(found) > _LEFT:
                    return None
        for traces in (most, most + rest):
            found = [base for base in found if self._fits(base, traces, _FAR, places)]
        return [base for base in found if self._agrees(base)]

    def _agrees(self, base: int) -> bool:
        # Whether no bit is known that would be another one.
        domain, root = self._domain, self._class.root
        mask, bits, offset = domain.mask, domain.bits, domain.offset
        return not any((base + offset[one] ^ bits[one]) & mask[one] for one in domain.members.get(root, (root,)))

    def _is_known_bits(self, base: int) -> bool:
        root = self._class.root
        return not (base ^ self._domain.bits[root]) & self._domain.mask[root]

    def _bases(self) -> range:
        # The values that the class's base may have, so that all accesses are in RAM that can be read.
        domain, one = self._domain, self._class
        low, span = domain.low[one.root], domain.span[one.root]
        first = (low + one.lowest) & MASK
        size = one.highest - one.lowest + 1
        ram = [high for start, high in self._line.rules.ram if start <= first < high]
        if span == MASK or not ram:
            return range(0)
        end = self._readable(first, min(first + span + size, ram[0]))
        step, rest = self._step()
        start = first - one.lowest
        return range(start + (rest - start) % step, end - one.highest, step)

    def _step(self) -> Tuple[int, int]:
        # By how much bases differ, and what they leave when divided by that: the best known low bits of any member.
        domain, root = self._domain, self._class.root
        step, rest = 1, 0
        for member in domain.members.get(root, (root,)):
            free = ~domain.mask[member] & MASK
            if (free & -free) > step:
                step, rest = free & -free, domain.bits[member] - domain.offset[member]
        return step, rest % step

    def _readable(self, first: int, end: int) -> int:
        # The end of the words from an address on that can be read; the address if too little is known of it.
        read = self._memory.left
        word = first & ~3
        for word in range(first & ~3, end, 4):
            if word - first > 4 * _WORDS:
                return first
            if read(word) is None:
                beside = range(word + _APART, min(word + _BESIDE, end), _APART)
                return first if any(read(other & ~3) is not None for other in beside) else word
        return end

    def _fits(self, base: int, traces: Sequence[_Trace], most: int, places: Places) -> bool:
        # Whether stores to unknown addresses account for all that has changed.
        conflicts = _Conflicts()
        numbers = self._class.numbers
        for one in traces:
            place = (base + one.offset) & MASK
            for change in self._changes(one, place, base):
                low, high = bisect_left(numbers, change.since + 1), bisect_left(numbers, change.until)
                if high - low <= most and places.spend(high - low + 1):
                    told = self._account(self._class.stores[low:high], place, change, base)
                    if told is not None and not conflicts.add(told):
                        return False
        return True

    def _changes(self, one: _Trace, place: int, base: int) -> List[_Change]:
        # What has changed at a place that is not volatile, and was not stored to at a known address.
        if self._line.is_volatile(place, 1):
            return []
        accesses = self._line.accesses
        target, distance = self._cells.target(one.since + 1, place)
        if not 0 <= target < one.until:
            return _changes(one.since, one.until, one.before.at(base), self._after(one, place, base))
        found: List[_Change] = []
        if not accesses[target].store:
            found += _changes(one.since, target, one.before.at(base), self._known(target, distance))
        if one.after is not None:
            source, distance = self._cells.source(one.until, place)
            if source > one.since:
                found += _changes(source, one.until, self._known(source, distance), one.after.at(base))
        return found

    def _known(self, number: int, index: int) -> Tuple[int, int]:
        # What is known of a byte of an access: which bits, and their values.
        domain, data = self._line.domain, self._line.accesses[number].data
        return domain.mask[data] >> 8 * index & 0xFF, domain.bits[data] >> 8 * index & 0xFF

    def _after(self, one: _Trace, place: int, base: int) -> Tuple[int, int]:
        # The same of what is found there later, with nothing at a known address in between.
        if one.after is not None:
            return one.after.at(base)
        word = self._memory.left(place & ~3) if one.until == len(self._line.accesses) else None
        return (0, 0) if word is None else (0xFF, word >> 8 * (place & 3) & 0xFF)

    def _account(
        self, stores: Sequence[Optional[_Store]], place: int, change: _Change, base: int
    ) -> Optional[Set[Tuple[int, int]]]:
        # The classes and their places that account for a byte; None if anything may.
        told: Set[Tuple[int, int]] = set()
        for store in stores:
            if store is None:
                return None
            word = store.data.bits if store.data.far < 0 else (base + store.data.bits) & MASK
            for index in range(store.size):
                at = (place - index) & MASK
                if (at ^ store.bits) & store.known or (at - store.low) & MASK > store.span:
                    continue
                if not (word >> 8 * index ^ change.bits) & store.data.mask >> 8 * index & change.mask:
                    told.add((store.root, (at - store.offset) & MASK))
        return told


def _changes(since: int, until: int, before: Tuple[int, int], after: Tuple[int, int]) -> List[_Change]:
    # The change of a byte, if there is one.
    differs = (before[1] ^ after[1]) & before[0] & after[0]
    return [_Change(since, until, *after)] if differs else []
