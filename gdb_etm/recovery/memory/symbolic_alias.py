"""Symbolic may-alias: what was pushed on an unknown stack is popped again.

Two addresses of one class are the same if their offsets are, and do not overlap if these are far enough apart.  A store
to an address of another class is a barrier, unless it is known not to reach it: it may be one to the same stack, when
its thread is left.  The stack is taken to be in RAM that nobody else writes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Dict, Final, List, Optional, Set, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.lift.operations import MASK, MSP, PSP, SP
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa

_NOT_RAM: Final = -1
_KNOWN: Final = -2
# What may change any memory.
_ANYWHERE: Final = (0, 1 << 33)
# Stores that are looked at one by one for a link.
_SCAN: Final = 256

# The later access, the older one, bits of the first, bits of the other, and their number.
Link = Tuple[int, int, int, int, int]


class SymbolicAlias:
    """Finds links by offset.

    :param ssa: With its accesses.
    :param other: Is copied.
    """

    def __init__(self, ssa: TraceSsa, other: Optional["SymbolicAlias"] = None) -> None:
        self._ssa = ssa
        self._top = max([high for _, high in ssa.rules.ram], default=0)
        # Loads that have a link.
        self._linked: bytearray = bytearray(len(ssa.accesses)) if other is None else bytearray(other._linked)
        # The accesses that matter: number, whether it is a store, address, size.
        self._left: List[Tuple[int, bool, int, int]] = []
        if other is None:
            self._left = [(at, one.store, one.address, one.size) for at, one in enumerate(ssa.accesses)]
        # Stores so far that may have reached a stack with known entries.
        self._risky: List[int] = []
        # Where runs of them begin that are at offsets of one class, and the classes; _KNOWN for all others.
        self._runs: Tuple[List[int], List[int]] = ([], [])
        # From where each of these stores may have written, and how far from there.
        self._extents: List[Tuple[int, int]] = []
        # What others write that is part of no section, and may be of a stack.
        sections = ssa.rules.stacks
        self._shared = [
            (low, high)
            for low, high in ssa.rules.volatile
            if not any([start <= low and high <= end for start, end in sections])
        ]
        self._pointers: Set[int] = set()
        if other is None:
            self._pointers = {one for slot in (SP, MSP, PSP) for one in ssa.held[slot] if one >= 0}

    def copy(self) -> "SymbolicAlias":
        """Copy it, to be changed on its own."""
        made = SymbolicAlias(self._ssa, self)
        made._left, made._risky, made._runs, made._extents = self._left, self._risky, self._runs, self._extents
        made._pointers = self._pointers
        return made

    def relink(self, number: int) -> None:
        """Look for the link of a load again that was taken back."""
        self._linked[number] = 0

    def find(self) -> List[Link]:
        """Go through all accesses once and give the links that are new."""
        stacks = self.stacks()
        if not stacks:
            return []
        ssa = self._ssa
        domain = ssa.domain
        mask, bits, root, offset = domain.mask, domain.bits, domain.root, domain.offset
        self._drop_settled()
        low, high = self._reach(stacks)
        self._risky, self._runs, self._extents = [], ([], []), []
        found: List[Link] = []
        words: Dict[int, Dict[int, List[Tuple[int, int, int]]]] = {stack: {} for stack in stacks}
        newest = other = -1
        of_newest = _NOT_RAM
        for number, store, address, size in self._left:
            group = _KNOWN if mask[address] == MASK else root[address] if size else _NOT_RAM
            if store:
                if low < high:
                    self._note(number, group if size else _KNOWN, low, high)
                if group == _KNOWN and not ssa.is_ram(bits[address], size):
                    continue
            if group in stacks:
                self._touch(number, offset[address], words[group], newest if of_newest != group else other, found)
            if store:
                if of_newest != group or not size:
                    other, of_newest = newest, group
                newest = number
        unlinked = ssa.unlinked
        return [link for link in found if (link[1], link[0]) not in unlinked]

    def _drop_settled(self) -> None:
        # Loads whose address is known, and accesses that did not run, matter no more.
        mask, bits, accesses = self._ssa.domain.mask, self._ssa.domain.bits, self._ssa.accesses
        self._left = [
            one
            for one in self._left
            if (one[1] or mask[one[2]] != MASK)
            and (bits[accesses[one[0]].condition] or mask[accesses[one[0]].condition] != MASK)
        ]

    def stacks(self) -> Set[int]:
        """List the classes of stack pointers that are not known."""
        mask, root = self._ssa.domain.mask, self._ssa.domain.root
        return {root[variable] for variable in self._pointers if mask[variable] != MASK}

    def _reach(self, stacks: Set[int]) -> Tuple[int, int]:
        # Where accesses to stacks with known entries may be.
        domain, top = self._ssa.domain, self._top
        root, offset, span, lowest = domain.root, domain.offset, domain.span, domain.low
        bounded = {stack for stack in stacks if span[stack] != MASK}
        low, high = MASK + 1, 0
        for _, _, address, size in self._left if bounded else ():
            group = root[address]
            if group in bounded:
                start = (lowest[group] + offset[address]) & MASK
                if start < low:
                    low = start
                end = min(start + span[group] + size, max(top, start + size))
                if end > high:
                    high = end
        return low, high

    def _extent(self, access: MemoryAccess) -> Tuple[int, int]:
        # Between which addresses an access to a stack may be: no higher than there is RAM.
        start, span = self._ssa.domain.interval(access.address)
        return start, min(start + span + access.size, max(self._top, start + access.size))

    def _is_clear(self, older: int, number: int) -> bool:
        # Whether no store between two accesses by offset can have reached them.
        domain, accesses = self._ssa.domain, self._ssa.accesses
        root = domain.root[accesses[number].address]
        if domain.span[root] == MASK:
            return False
        start, end = self._extent(accesses[number])
        risky, (starts, classes) = self._risky, self._runs
        first, last = bisect_right(risky, older), bisect_left(risky, number)
        run, count = bisect_right(starts, first) - 1, 0
        while first < last:
            following = min(last, starts[run + 1]) if run + 1 < len(starts) else last
            if classes[run] != root:
                count += following - first
                if count > _SCAN:
                    return False
                for extent in self._extents[first:following]:
                    if _may_meet(extent, start, end):
                        return False
            first, run = following, run + 1
        return True

    def _is_shared(self, access: MemoryAccess) -> bool:
        # Whether others may write what is accessed.
        if not self._shared:
            return False
        start, span = self._ssa.domain.interval(access.address)
        return any([_may_meet((start, span + access.size), low, high) for low, high in self._shared])

    def _note(self, number: int, group: int, low: int, high: int) -> None:
        # Takes a store if it is risky: if it may be between two addresses.
        access, domain = self._ssa.accesses[number], self._ssa.domain
        extent = _ANYWHERE
        if access.size:
            start, span = domain.interval(access.address)
            extent = start, span + access.size
        if _may_meet(extent, low, high):
            starts, classes = self._runs
            if not classes or classes[-1] != group:
                starts.append(len(self._risky))
                classes.append(group)
            self._risky.append(number)
            self._extents.append(extent)

    def _touch(
        self,
        number: int,
        start: int,
        cells: Dict[int, List[Tuple[int, int, int]]],
        since: int,
        found: List[Link],
    ) -> None:
        # A load takes what the entries of its word hold; a store replaces those that it overlaps.
        access = self._ssa.accesses[number]
        size = access.size
        word = start >> 2
        entries = cells.setdefault(word, [])
        if (start & 3) + size > 4:
            entries.clear()
            cells.pop(word + 1, None)
            return
        if access.store:
            entries[:] = [one for one in entries if one[1] + one[2] <= start or start + size <= one[1]]
            if self._ssa.domain.mask[access.condition] == MASK:
                entries.append((number, start, size))
            return
        for older, low, length in reversed(entries):
            if low <= start and start + size <= low + length:
                if (older > since or self._is_clear(older, number)) and not self._is_shared(access):
                    if not self._linked[number]:
                        found.append((number, older, 0, 8 * (start - low), 8 * size))
                    self._linked[number] = 1
                    return
                # What is between is between an older one and this, too.
                break
        entries.append((number, start, size))


def _may_meet(extent: Tuple[int, int], low: int, high: int) -> bool:
    # Whether an access, by where it begins and how far it goes, may be between two addresses.
    start, far = extent
    above = (start - low) & MASK
    return above < high - low or above + far > MASK + 1


def relation_of(ssa: TraceSsa, link: Link) -> Tuple[int, ...]:
    """Give the constraint that says what a link means."""
    later, older, p, q, n = link
    return (ConstraintKind.LINK, ssa.accesses[later].data, ssa.accesses[older].data, p, q, n, older, later)
