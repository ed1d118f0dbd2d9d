"""Base search: the address of a stack, by memory at the end.

Addresses that differ by constants are a class; its base decides all of them.  For each possible base, the last store
at each offset is compared with what memory had there later: a load at a known address, a load by offset, or RAM at the
end.  Where the two differ, a store to an unknown address of another class must have written that byte in between, with
the value that was found; if none can have, the base is wrong.  It is also wrong if there are more such bytes than those
stores can have written: a class has one base, so it accounts for no more of them than with the base that suits it best.
A base that is the only one possible is taken.

Where SP was set back on its stack, no limit is needed: what was left behind is below, and pointers do not lead there.

A stack is taken to be in RAM that nobody else writes, and that can be read: from its limit to where RAM ends, as
nothing can be read from there on.  Words that others write, too, are no evidence.  Where nothing is known of the lowest
address, or too many bases are possible, nothing is tried.  A class that is no stack's may be anywhere, so it is tried
only if its known bits leave few bases.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Dict, Final, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.lift.operations import HANDLER, MASK, SP
from gdb_etm.recovery.memory.cells import LAST
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.memory.traces import ByteTrace, Store, Traces
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Classes of stacks that are tried.
_NEWEST: Final = 6
# Values that another class may have to be tried, and accesses that it must have.
_FEW: Final = 16
_LARGE: Final = 8
# Words of a stack that are looked at.
_WORDS: Final = 4096
# Bytes after a stack that must not be readable, at what distances that is tried, and what RAM's end is a multiple of:
# elsewhere it is memory that was not read in time.
_BESIDE: Final = 4096
_APART: Final = 256
_ROUND: Final = 1024
# Bytes of a stack that must be evidence.
_FEWEST: Final = 4
# Possible bases that are looked at more closely.
_LEFT: Final = 48
# Bytes below SP where a stack is looked for that SP was set back on, and bytes that must be there still.
_DEPTH: Final = 1 << 15
_SURE: Final = 32
# Stores to unknown addresses that one byte is held against, at first and when few bases are left.
_NEAR: Final = 64
_FAR: Final = 400
# Such stores that are looked at in one segment.
_EFFORT: Final = 150000


class Options(NamedTuple):
    """Where a class of addresses may be."""

    # Its newest access.
    access: int
    # What the address of that may be.
    values: Tuple[int, ...]


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
        # How many of them each class accounts for at most, wherever it is.
        self._best: Dict[int, int] = {}
        self._most = 0

    def add(self, causes: Set[Tuple[int, int]]) -> bool:
        """Add a change; False if no class can account for it."""
        self._count += 1
        for one in causes:
            count = self._votes[one] = self._votes.get(one, 0) + 1
            if count > self._best.get(one[0], 0):
                self._best[one[0]] = count
                self._most += 1
        return self._count <= self._most


class BaseSearch:
    """Finds out where classes of addresses are.

    :param ssa: With its accesses.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        # By class, how many stores to unknown addresses there were.
        self._tried: Dict[int, int] = {}
        self._effort = _EFFORT
        # Those for which it was looked whether SP was set back.
        self._left_behind: Set[int] = set()

    def options(self, memory: StoreForwarding, stacks: Set[int]) -> Optional[Options]:
        """Give the possible bases of the newest class that has few.

        None when no class is left.

        A class is looked at again when there are fewer stores to unknown addresses, or more.

        :param memory: The links of the same segment.
        :param stacks: The classes that stack pointers are in.
        """
        unresolved = memory.may_alias.unresolved
        for root, numbers in self._classes(stacks) if not self._ssa.rules.bit_band else ():
            if self._tried.get(root) == len(unresolved) or self._effort < 0:
                continue
            self._tried[root] = len(unresolved)
            search = _Search(self._ssa, memory, Traces(self._ssa, numbers, unresolved), root in stacks)
            values = search.candidates(self)
            if values:
                offset = self._ssa.domain.offset[self._ssa.accesses[numbers[-1]].address]
                return Options(numbers[-1], tuple([(value + offset) & MASK for value in values]))
        return None

    def left_behind(self, memory: StoreForwarding, stacks: Set[int]) -> Optional[Options]:
        """Give the base of a stack that SP was set back on.

        Where an exception of C++ lands, or longjmp goes, what was left behind is below SP, so only the stack's own
        stores have changed it.

        :param memory: The links of the same segment.
        :param stacks: The classes that stack pointers are in.
        """
        dead = memory.may_alias.dead_stack
        if dead is None or not dead.holds or self._ssa.rules.bit_band:
            return None
        for root, numbers in self._classes(stacks):
            pointer = self._set_back(root) if root in stacks else None
            if pointer is None or root in self._left_behind:
                continue
            self._left_behind.add(root)
            unresolved = [one for one in memory.may_alias.unresolved if not dead.is_above(one)]
            base = _Search(self._ssa, memory, Traces(self._ssa, numbers, unresolved), True).below(pointer, self)
            if base is not None:
                offset = self._ssa.domain.offset[self._ssa.accesses[numbers[-1]].address]
                return Options(numbers[-1], ((base + offset) & MASK,))
        return None

    def _set_back(self, root: int) -> Optional[int]:
        # What SP is set to right after its last value of a class, by an instruction.
        domain, times, modes = self._ssa.domain, self._ssa.times[SP], self._ssa.times[HANDLER]
        held = self._ssa.held[SP]
        last = max([at for at, variable in enumerate(held) if domain.root[variable] == root], default=len(held))
        if last + 1 >= len(held) or domain.mask[held[last + 1]] != MASK:
            return None
        within = bisect_right(modes, times[last]) == bisect_right(modes, times[last + 1])
        return domain.bits[held[last + 1]] if within else None

    def spend(self, count: int) -> bool:
        """Spend effort; gives whether any is left."""
        self._effort -= count
        return self._effort >= 0

    def _classes(self, stacks: Set[int]) -> List[Tuple[int, List[int]]]:
        # The classes to try, with their accesses.
        domain, accesses = self._ssa.domain, self._ssa.accesses
        found: Dict[int, List[int]] = {}
        for number, access in enumerate(accesses):
            if access.size and domain.mask[access.address] != MASK:
                found.setdefault(domain.root[access.address], []).append(number)
        newest = sorted(found.items(), key=lambda one: -one[1][-1])
        of_stacks = [one for one in newest if one[0] in stacks]
        others = [one for one in newest if one[0] not in stacks and len(one[1]) >= _LARGE]
        return of_stacks[:_NEWEST] + [one for one in others if _values(domain, accesses[one[1][-1]].address)]


def _step(domain: Domain, root: int) -> Tuple[int, int]:
    # By how much bases of a class differ, and what they leave when divided by that: by the best known low bits of any
    # member.
    step, rest = 1, 0
    for member in domain.members.get(root, (root,)):
        free = ~domain.mask[member] & MASK
        if (free & -free) > step:
            step, rest = free & -free, domain.bits[member] - domain.offset[member]
    return step, rest % step


def _values(domain: Domain, variable: int) -> List[int]:
    # The values of a variable that its known bits and its interval allow, if these are few.
    free = MASK & ~domain.mask[variable]
    low, span = domain.interval(variable)
    bits, root = domain.bits[variable], domain.root[variable]
    step, rest = _step(domain, root)
    first = (rest + domain.offset[variable] - low) % step
    if (span - first) // step <= _FEW:
        values = [(low + distance) & MASK for distance in range(first, span + 1, step)]
        return [value for value in values if not (value ^ bits) & ~free]
    values = [bits]
    while free and len(values) <= _FEW:
        bit = free & -free
        values += [value | bit for value in values]
        free ^= bit
    return [value for value in values if (value - low) & MASK <= span] if len(values) <= _FEW else []


class _Search:
    # Looks for the base of one class.
    def __init__(self, ssa: TraceSsa, memory: StoreForwarding, own: Traces, is_stack: bool) -> None:
        self._ssa = ssa
        self._domain = ssa.domain
        self._memory = memory
        self._cells = memory.cells
        self._own = own
        self._is_stack = is_stack

    def candidates(self, search: BaseSearch) -> Optional[List[int]]:
        """List the possible values of a class's base; None if many."""
        most, rest = self._own.all()
        bases = self._bases() if len(most) >= _FEWEST or not self._is_stack else ()
        if not bases:
            return None
        found: List[int] = []
        for base in bases:
            if self._is_known_bits(base) and self._fits(base, most, _NEAR, search):
                found.append(base)
                if len(found) > _LEFT:
                    return None
        for traces in (most, most + rest):
            found = [base for base in found if self._fits(base, traces, _FAR, search)]
        return [base for base in found if self._agrees(base)]

    def below(self, pointer: int, search: BaseSearch) -> Optional[int]:
        """Give the base of a stack that is below a pointer."""
        most, _ = self._own.all()
        step, rest = _step(self._domain, self._own.root)
        start, readable = pointer & ~3, self._memory.is_readable
        while start > pointer - _DEPTH and readable(start - 4):
            start -= 4
        start -= self._own.lowest
        found: List[int] = []
        for base in range(start + (rest - start) % step, pointer - self._own.highest, step):
            if self._is_known_bits(base) and self._fits(base, most, _NEAR, search):
                found.append(base)
                if len(found) > 1:
                    return None
        return found[0] if found and self._agrees(found[0]) and self._is_there(found[0], most) else None

    def _is_there(self, base: int, traces: Sequence[ByteTrace]) -> bool:
        # Whether enough bytes are at the end what they were.  Those that are 0 are no evidence.
        end, count = len(self._ssa.accesses), 0
        for one in traces:
            address = (base + one.offset) & MASK
            mask, bits = one.before.at(base)
            if one.until == end and mask == 0xFF and bits and self._cells.target(one.since + 1, address)[0] == LAST:
                count += self._after(one, address, base) == (mask, bits)
        return count >= _SURE

    def _agrees(self, base: int) -> bool:
        # Whether no bit is known that would be another one.
        domain, root = self._domain, self._own.root
        mask, bits, offset = domain.mask, domain.bits, domain.offset
        return not any((base + offset[one] ^ bits[one]) & mask[one] for one in domain.members.get(root, (root,)))

    def _is_known_bits(self, base: int) -> bool:
        root = self._own.root
        return not (base ^ self._domain.bits[root]) & self._domain.mask[root]

    def _bases(self) -> Sequence[int]:
        # The values that the class's base may have.
        if self._is_stack:
            return self._readable_bases()
        address = self._ssa.accesses[self._own.newest].address
        return [(value - self._domain.offset[address]) & MASK for value in _values(self._domain, address)]

    def _readable_bases(self) -> range:
        # Those of a stack, so that all accesses are in RAM that can be read.
        domain, own = self._domain, self._own
        low, span = domain.low[own.root], domain.span[own.root]
        first = (low + own.lowest) & MASK
        size = own.highest - own.lowest + 1
        ram = [high for start, high in self._ssa.rules.ram if start <= first < high]
        if span == MASK or not ram:
            return range(0)
        end = self._readable(first, first + span + size, ram[0])
        step, rest = _step(self._domain, self._own.root)
        start = first - own.lowest
        return range(start + (rest - start) % step, end - own.highest, step)

    def _readable(self, first: int, end: int, top: int) -> int:
        # The end of the words from an address on that can be read, and are where RAM may be; the address if too little
        # is known of it.
        readable = self._memory.is_readable
        word = first & ~3
        for word in range(first & ~3, min(end, top), 4):
            if word - first > 4 * _WORDS:
                return first
            if not readable(word):
                beside = range(word + _APART, min(word + _BESIDE, end, top), _APART)
                is_end = not word % _ROUND and not any(readable(other) for other in beside)
                return word if is_end else first
        return end if end <= top else first

    def _fits(self, base: int, traces: Sequence[ByteTrace], most: int, search: BaseSearch) -> bool:
        # Whether stores to unknown addresses account for all that has changed.
        conflicts = _Conflicts()
        numbers = self._own.numbers
        for one in traces:
            address = (base + one.offset) & MASK
            for change in self._changes(one, address, base):
                low, high = bisect_left(numbers, change.since + 1), bisect_left(numbers, change.until)
                if high - low <= most and search.spend(high - low + 1):
                    causes = self._account(self._own.stores[low:high], address, change, base)
                    if causes is not None and not conflicts.add(causes):
                        return False
        return True

    def _changes(self, one: ByteTrace, address: int, base: int) -> List[_Change]:
        # What has changed at a place in RAM that is not volatile, and was not stored to at a known address.
        if self._ssa.is_volatile(address, 1) or not self._ssa.is_ram(address, 1):
            return []
        accesses = self._ssa.accesses
        target, distance = self._cells.target(one.since + 1, address)
        if not 0 <= target < one.until:
            return _changes(one.since, one.until, one.before.at(base), self._after(one, address, base))
        found: List[_Change] = []
        if not accesses[target].store:
            found += _changes(one.since, target, one.before.at(base), self._known(target, distance))
        if one.after is not None:
            source, distance = self._cells.source(one.until, address)
            if source > one.since:
                found += _changes(source, one.until, self._known(source, distance), one.after.at(base))
        return found

    def _known(self, number: int, index: int) -> Tuple[int, int]:
        # What is known of a byte of an access: which bits, and their values.
        domain, data = self._ssa.domain, self._ssa.accesses[number].data
        return domain.mask[data] >> 8 * index & 0xFF, domain.bits[data] >> 8 * index & 0xFF

    def _after(self, one: ByteTrace, address: int, base: int) -> Tuple[int, int]:
        # The same of what is found there later, with nothing at a known address in between.
        if one.after is not None:
            return one.after.at(base)
        word = self._memory.final_word(address & ~3) if one.until == len(self._ssa.accesses) else None
        return (0, 0) if word is None else (0xFF, word >> 8 * (address & 3) & 0xFF)

    def _account(
        self, stores: Sequence[Optional[Store]], address: int, change: _Change, base: int
    ) -> Optional[Set[Tuple[int, int]]]:
        # The classes and their bases that account for a byte; None if anything may.
        causes: Set[Tuple[int, int]] = set()
        for store in stores:
            if store is None:
                return None
            word = store.data.bits if store.data.far < 0 else (base + store.data.bits) & MASK
            for index in range(store.size):
                at = (address - index) & MASK
                if (at ^ store.bits) & store.known or (at - store.low) & MASK > store.span:
                    continue
                if not (word >> 8 * index ^ change.bits) & store.data.mask >> 8 * index & change.mask:
                    causes.add((store.root, (at - store.offset) & MASK))
        return causes


def _changes(since: int, until: int, before: Tuple[int, int], after: Tuple[int, int]) -> List[_Change]:
    # The change of a byte, if there is one.
    differs = (before[1] ^ after[1]) & before[0] & after[0]
    return [_Change(since, until, *after)] if differs else []
