"""Links between accesses to the stack while nobody knows where the stack is: what was pushed is popped again.

Two addresses of one class are the same if their offsets are, and do not overlap if these are far enough apart.  A store
to an address of another class is a barrier.  The stack is taken to be in RAM that nobody else writes.
"""

from __future__ import annotations

from typing import Collection, Dict, List, Set, Tuple

from gdb_etm.recovery.line import Line
from gdb_etm.recovery.operations import MASK, MSP, PSP, SP
from gdb_etm.recovery.relations import Kind

_NOT_RAM = -1
_KNOWN = -2

Link = Tuple[int, int, int, int, int, bool]
"""The later access, the older one, bits of the first, bits of the other, their number, and whether it is a guess."""


class Symbolic:
    """Finds links by offset.

    :param line: With its accesses.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._linked = bytearray(len(line.accesses))
        # Loads that have a link.

    def copy(self) -> "Symbolic":
        """Make another one that goes on from here."""
        made = Symbolic.__new__(Symbolic)
        made._line = self._line
        made._linked = bytearray(self._linked)
        return made

    def find(self, guessing: bool, forbidden: Collection[Tuple[int, int]]) -> List[Link]:
        """Go through all accesses once and give the links that are new.

        :param guessing: Whether stores to addresses of other classes are taken to miss.
        :param forbidden: Pairs of accesses that are not linked.
        """
        domain = self._line.domain
        mask, root, offset = domain.mask, domain.root, domain.offset
        stacks = self._stacks()
        found: List[Link] = []
        words: Dict[int, Dict[int, List[Tuple[int, int, int]]]] = {}
        newest = other = -1
        of_newest = _NOT_RAM
        for number, access in enumerate(self._line.accesses):
            address = access.address
            if mask[access.condition] == MASK and not domain.bits[access.condition]:
                continue
            if mask[address] == MASK:
                if access.store and self._line.is_ram(domain.bits[address], access.size):
                    if of_newest != _KNOWN:
                        other, of_newest = newest, _KNOWN
                    newest = number
                continue
            group = root[address] if access.size else _NOT_RAM
            if group in stacks:
                since = newest if of_newest != group else other
                cells = words.setdefault(group, {})
                self._touch(number, offset[address], cells, -1 if guessing else since, since, found)
            if access.store:
                if of_newest != group or not access.size:
                    other, of_newest = newest, group
                newest = number
        return [link for link in found if (link[1], link[0]) not in forbidden]

    def _stacks(self) -> Set[int]:
        # The classes of stack pointers that are not known.
        domain, held = self._line.domain, self._line.held
        return {
            domain.root[variable]
            for place in (SP, MSP, PSP)
            for variable in held[place]
            if variable >= 0 and domain.mask[variable] != MASK
        }

    def _touch(
        self,
        number: int,
        start: int,
        cells: Dict[int, List[Tuple[int, int, int]]],
        since: int,
        certain: int,
        found: List[Link],
    ) -> None:
        # A load takes what the entries of its word hold; a store replaces those that it overlaps.
        access = self._line.accesses[number]
        size = access.size
        word = start >> 2
        entries = cells.setdefault(word, [])
        if (start & 3) + size > 4:
            entries.clear()
            cells.pop(word + 1, None)
            return
        if access.store:
            entries[:] = [one for one in entries if one[1] + one[2] <= start or start + size <= one[1]]
            if self._line.domain.mask[access.condition] == MASK:
                entries.append((number, start, size))
            return
        for older, place, length in reversed(entries):
            if place <= start and start + size <= place + length:
                if older > since and not self._linked[number]:
                    self._linked[number] = 1
                    found.append((number, older, 0, 8 * (start - place), 8 * size, older <= certain))
                if older > since:
                    return
        entries.append((number, start, size))


def relation_of(line: Line, link: Link) -> Tuple[int, ...]:
    """Give the relation that says what a link means."""
    later, older, p, q, n, guessed = link
    kind = Kind.GUESS if guessed else Kind.LINK
    return (int(kind), line.accesses[later].data, line.accesses[older].data, p, q, n, older, later)
