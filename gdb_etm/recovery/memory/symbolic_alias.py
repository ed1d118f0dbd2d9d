"""Symbolic may-alias: what was pushed on an unknown stack is popped again.

Two addresses of one class are the same if their offsets are, and do not overlap if these are far enough apart.  A store
to an address of another class is a barrier, unless it is known not to reach it.  None is guessed to miss: it may be one
to the same stack, when its thread is left.  The stack is taken to be in RAM that nobody else writes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Dict, List, Set, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.lift.operations import MASK, MSP, PSP, SP
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa

_NOT_RAM = -1
_KNOWN = -2
# Stores that are looked at one by one for a link.
_SCAN = 256

# The later access, the older one, bits of the first, bits of the other, and their number.
Link = Tuple[int, int, int, int, int]


class SymbolicAlias:
    """Finds links by offset.

    :param ssa: With its accesses.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa
        self._top = max([high for _, high in ssa.rules.ram], default=0)
        # Loads that have a link.
        self._linked = bytearray(len(ssa.accesses))
        # Stores so far that may have reached a stack with known entries.
        self._risky: List[int] = []
        # Where runs of them begin that are at offsets of one class, and the classes; _KNOWN for all others.
        self._runs: Tuple[List[int], List[int]] = ([], [])

    def copy(self) -> "SymbolicAlias":
        """Copy it, to be changed on its own."""
        made = SymbolicAlias.__new__(SymbolicAlias)
        made._ssa, made._top = self._ssa, self._top
        made._linked = bytearray(self._linked)
        made._risky, made._runs = [], ([], [])
        return made

    def relink(self, number: int) -> None:
        """Look for the link of a load again that was taken back."""
        self._linked[number] = 0

    def find(self) -> List[Link]:
        """Go through all accesses once and give the links that are new."""
        domain = self._ssa.domain
        mask, root, offset = domain.mask, domain.root, domain.offset
        stacks = self.stacks()
        low, high = self._reach(stacks)
        self._risky, self._runs = [], ([], [])
        found: List[Link] = []
        words: Dict[int, Dict[int, List[Tuple[int, int, int]]]] = {}
        newest = other = -1
        of_newest = _NOT_RAM
        for number, access in enumerate(self._ssa.accesses):
            address = access.address
            if mask[access.condition] == MASK and not domain.bits[access.condition]:
                continue
            if access.store and low <= MASK and self._may_reach(access, low, high):
                self._note(number, access)
            if mask[address] == MASK:
                if access.store and self._ssa.is_ram(domain.bits[address], access.size):
                    if of_newest != _KNOWN:
                        other, of_newest = newest, _KNOWN
                    newest = number
                continue
            group = root[address] if access.size else _NOT_RAM
            if group in stacks:
                since = newest if of_newest != group else other
                cells = words.setdefault(group, {})
                self._touch(number, offset[address], cells, since, found)
            if access.store:
                if of_newest != group or not access.size:
                    other, of_newest = newest, group
                newest = number
        unlinked = self._ssa.unlinked
        return [link for link in found if (link[1], link[0]) not in unlinked]

    def stacks(self) -> Set[int]:
        """List the classes of stack pointers that are not known."""
        domain, held = self._ssa.domain, self._ssa.held
        return {
            domain.root[variable]
            for slot in (SP, MSP, PSP)
            for variable in held[slot]
            if variable >= 0 and domain.mask[variable] != MASK
        }

    def _reach(self, stacks: Set[int]) -> Tuple[int, int]:
        # Where accesses to stacks with known entries may be.
        domain = self._ssa.domain
        low, high = MASK + 1, 0
        for access in self._ssa.accesses:
            root = domain.root[access.address]
            if root in stacks and domain.span[root] != MASK:
                start, end = self._extent(access)
                low, high = min(low, start), max(high, end)
        return low, high

    def _extent(self, access: MemoryAccess) -> Tuple[int, int]:
        # Between which addresses an access to a stack may be: no higher than there is RAM.
        start, span = self._ssa.domain.interval(access.address)
        return start, min(start + span + access.size, max(self._top, start + access.size))

    def _may_reach(self, access: MemoryAccess, low: int, high: int) -> bool:
        # Whether an access may be between two addresses.
        if not access.size:
            return True
        start, span = self._ssa.domain.interval(access.address)
        above = (start - low) & MASK
        return above < high - low or above + span + access.size > MASK + 1

    def _is_clear(self, older: int, number: int) -> bool:
        # Whether no store between two accesses by offset can have reached them.
        domain, accesses = self._ssa.domain, self._ssa.accesses
        address = accesses[number].address
        root = domain.root[address]
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
                if any(self._may_reach(accesses[between], start, end) for between in risky[first:following]):
                    return False
            first, run = following, run + 1
        return True

    def _note(self, number: int, access: MemoryAccess) -> None:
        # Takes a risky store.
        domain, (starts, classes) = self._ssa.domain, self._runs
        is_at_offset = access.size and domain.mask[access.address] != MASK
        group = domain.root[access.address] if is_at_offset else _KNOWN
        if not classes or classes[-1] != group:
            starts.append(len(self._risky))
            classes.append(group)
        self._risky.append(number)

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
                if older > since or self._is_clear(older, number):
                    if not self._linked[number]:
                        found.append((number, older, 0, 8 * (start - low), 8 * size))
                    self._linked[number] = 1
                    return
        entries.append((number, start, size))


def relation_of(ssa: TraceSsa, link: Link) -> Tuple[int, ...]:
    """Give the constraint that says what a link means."""
    later, older, p, q, n = link
    return (int(ConstraintKind.LINK), ssa.accesses[later].data, ssa.accesses[older].data, p, q, n, older, later)
