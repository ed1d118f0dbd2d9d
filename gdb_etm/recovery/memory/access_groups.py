"""Access groups: instructions that access the same words of memory.

An instruction accesses one member of one type, as a rule.  So instructions that were seen to access one word form a
group, with all that share another word with one of them.  A store whose address stays unknown is taken to miss the
words of other groups, if any word of its own group is known, and if the other group has been accessed often: else
instructions are missing in it.  An instruction that copies anything is in the group of all that it has copied; a
variable is of one group, as it may be an array; and words on a stack are of none, as they change their type.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable
from typing import Counter as CounterOf
from typing import Dict, Final, List, Set, Tuple

from gdb_etm.program.objects import NO_OBJECT
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# An instruction with its address; a variable of the program with its number; or a word: with its address, or what its
# address is made from and how far it is from that.
_Member = Tuple[int, int]
_INSTRUCTION: Final = -1
_KNOWN: Final = -2
_OBJECT: Final = -3
_NONE: Final = -1
# A larger variable is memory that a program divides.
_LARGEST: Final = 4096
# Accesses to known addresses that a word's group must have: of fewer, not all instructions are seen that access it.
_SEEN: Final = 32
# The same of a store's instruction, unless half of its accesses are to known addresses: of fewer, it is not seen what
# else it accesses, as code for lists of any type does.
_SEEN_AT: Final = 8


class AccessGroups:
    """Groups of instructions and words.

    :param ssa: With the accesses.
    :param where: Gives the address of an instruction by its number.
    """

    def __init__(self, ssa: TraceSsa, where: Callable[[int], int]) -> None:
        self._ssa = ssa
        self._where = where
        # The address of each access's instruction, and whether the access is through SP.
        self._sites: List[int] = []
        self._through_stack: List[bool] = []
        # Where each access was at the last look: a member without the least bits of its address.
        self._places: Dict[int, _Member] = {}
        self._numbers: Dict[_Member, int] = {}
        # By number, another one of the same group, or itself; and whether a word of its group is known.
        self._others: List[int] = []
        self._has_known: List[bool] = []
        # Words that were accessed through SP: what is there changes its type.
        self._on_stack: Set[int] = set()
        # How many accesses to known addresses a group has, at the last look.
        self._seen: CounterOf[int] = Counter()
        # The same of an instruction, and all its accesses.
        self._seen_at: CounterOf[int] = Counter()
        self._times: CounterOf[int] = Counter()
        # The groups of accesses and words that were asked for since then.
        self._of_access: Dict[int, int] = {}
        self._of_word: Dict[int, int] = {}

    def look(self) -> None:
        """Join what belongs together by the addresses that are known now.

        What was seen before stays, even if it is known no more.
        """
        domain, accesses = self._ssa.domain, self._ssa.accesses
        if not self._sites:
            self._sites = [self._where(access.number) for access in accesses]
            self._times = Counter(self._sites)
        self._through_stack = self._through_stack or self._ssa.through_stack()
        mask, bits, root, offset = domain.mask, domain.bits, domain.root, domain.offset
        pairs: Set[Tuple[int, _Member]] = set()
        for number, access in enumerate(accesses):
            address = access.address
            is_known = mask[address] == MASK
            place = (_KNOWN, bits[address]) if is_known else (root[address], offset[address])
            if self._places.get(number) == place:
                continue
            self._places[number] = place
            words = range(place[1] & ~3, place[1] + access.size if is_known else (place[1] & ~3) + 1, 4)
            pairs.update([(self._sites[number], (place[0], word)) for word in words])
            if is_known and self._through_stack[number]:
                self._on_stack.update(words)
        for site, word in pairs:
            self._join(self._group((_INSTRUCTION, site)), self._group(word))
        known = [site for access, site in zip(accesses, self._sites) if mask[access.address] == MASK]
        self._seen, self._of_access, self._of_word = Counter(), {}, {}
        self._seen_at = Counter(known)
        for site, count in self._seen_at.items():
            self._seen[self._group((_INSTRUCTION, site))] += count

    def _variable(self, address: int) -> int:
        # The number of a variable that is not too large, or NO_OBJECT.
        objects = self._ssa.rules.objects
        number = NO_OBJECT if objects is None else objects.at(address)
        if objects is None or number == NO_OBJECT:
            return NO_OBJECT
        start, end = objects.bounds(number)
        return number if end - start <= _LARGEST else NO_OBJECT

    def _group(self, member: _Member) -> int:
        others = self._others
        number = self._numbers.get(member)
        if number is None:
            number = self._add(member)
        while others[number] != number:
            others[number] = number = others[others[number]]
        return number

    def _add(self, member: _Member) -> int:
        kind, address = member
        number = self._numbers[member] = len(self._others)
        self._others.append(number)
        self._has_known.append(kind == _KNOWN)
        variable = self._variable(address) if kind == _KNOWN else NO_OBJECT
        if variable != NO_OBJECT:
            self._join(number, self._group((_OBJECT, variable)))
        return number

    def _join(self, one: int, other: int) -> None:
        self._others[one] = other
        self._has_known[other] = self._has_known[one] or self._has_known[other]

    def misses(self, number: int, byte: int) -> bool:
        """Check whether a store of unknown address misses a byte.

        :param number: Of the access.
        """
        own, other = self._of_access.get(number), self._of_word.get(byte & ~3)
        if own is None:
            own = self._of_access[number] = self._group_of_access(number)
        if other is None:
            other = self._of_word[byte & ~3] = self._group_of_word(byte & ~3)
        return own >= 0 and other >= 0 and own != other

    def _group_of_access(self, number: int) -> int:
        # _NONE if it may hit anything.
        access = self._ssa.accesses[number]
        site = self._sites[number]
        own = self._group((_INSTRUCTION, site))
        if not access.size or not self._has_known[own] or self._has_index(access.address):
            return _NONE
        seen = self._seen_at[site]
        return own if seen >= min(_SEEN_AT, (self._times[site] + 1) // 2) else _NONE

    def _group_of_word(self, word: int) -> int:
        # _NONE if anything may hit it.
        if (_KNOWN, word) not in self._numbers or word in self._on_stack:
            return _NONE
        found = self._group((_KNOWN, word))
        return found if self._seen[found] >= _SEEN else _NONE

    def _has_index(self, address: int) -> bool:
        # Whether it is computed, and not a pointer that was loaded: all that an index leads to is of one type.
        base, _ = self._ssa.base_and_distance(address)
        return self._ssa.made[base] >= 0
