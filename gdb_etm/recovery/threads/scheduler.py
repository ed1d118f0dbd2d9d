"""Assumptions on a scheduler's control blocks, and the check of them.

The blocks were found with the words that handlers have read as they are at the end.  So nobody may have written these
words since, except that handlers write the pointer to the running thread's block.  A store to a known address may show
that somebody has; then nothing is assumed of what ran before it.  A store to an unknown address is assumed to miss
them, as the scheduler alone writes pointers between blocks: unless the same instruction was seen to write one of them.

Where no block is known, the pointer to the running thread's is the same all the same, from where the thread goes on to
where it is left, and when it goes on again.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.recovery.functions.calls import BLOCK, THREAD, Assumption
from gdb_etm.recovery.lift.operations import MASK, PSP
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa
from gdb_etm.recovery.threads.context_switch import HandlerAccess, Reader, Switch, Term


class Handled(NamedTuple):
    """A handler that has changed between threads."""

    switch: Switch
    # The block of the thread that it left, if known.
    old: Optional[int]
    # That of the one that goes on.
    new: Optional[int]


class Pointer(NamedTuple):
    """A pointer to a block."""

    variable: int
    # What is added to it.
    distance: int


class Scheduler:
    """Checks what the handlers of a segment did with control blocks.

    :param ssa: The variables of the segment that is being built.
    :param assumptions: Are added to.
    :param where: Gives the address of an instruction by its number.
    :param word: Reads memory at the end.
    """

    def __init__(
        self, ssa: TraceSsa, assumptions: List[Assumption], where: Callable[[int], int], word: Optional[Reader]
    ) -> None:
        self._ssa = ssa
        self._word: Reader = word or (lambda address: None)
        self._where = where
        self._assumptions = assumptions
        # Words that are taken to be at the end what they were, and the instruction from which on.
        self._since: Dict[int, int] = {}
        # From the instruction before a handler to its last one.
        self._own: List[Tuple[int, int]] = []
        self._current: Optional[int] = None
        # Pointers to blocks: of threads that were left, by the instruction before, and that went on, by the same.
        self._left: Dict[int, Pointer] = {}
        self._chosen: Dict[int, Pointer] = {}

    def handle(self, handled: Handled, since: int, number: int) -> None:
        """Assume which blocks a handler that has ended has accessed.

        :param since: The last instruction before that thread went on.
        :param number: Of the instruction before the handler.
        """
        end = self._ssa.number
        self._own.append((number, end))
        self._rely_on_current(handled.switch.current, since)
        self._assumptions += self.of(handled, since, number, end)
        switch = handled.switch
        left, chosen = self._pointer(switch, (switch.old, 0), end), self._pointer(switch, switch.chosen, end)
        if left is not None:
            self._left[number] = left
            if since in self._chosen:
                self._assumptions.append(_same(BLOCK, self._chosen[since], left, number, end))
            if handled.old is None:
                self._assumptions += self._loads(left, switch.current, since, number)
        if chosen is not None:
            self._chosen[end] = chosen

    def same(self, number: int, resumed: int) -> List[Assumption]:
        """Say that a thread goes on with its block.

        :param number: Of the instruction before it was left.
        :param resumed: Of that before it went on.
        """
        left, chosen = self._left.get(number), self._chosen.get(resumed)
        return [] if left is None or chosen is None else [_same(THREAD, left, chosen, number, resumed)]

    def of(self, handled: Handled, since: int, number: int, end: int) -> List[Assumption]:
        """Say which blocks a thread and its handler have accessed.

        :param since: The last instruction before that thread went on.
        :param number: Of the instruction before the handler.
        :param end: Of the handler's last.
        """
        switch = handled.switch
        found = [] if handled.old is None else self._loads(self._at(handled.old), switch.current, since, number)
        seen: Set[int] = set()
        for handler_access, to in switch.accesses:
            access, address = self._access(handler_access, end), self._address(handled, to)
            if access is not None and address is not None and self._ssa.base(access.address) not in seen:
                seen.add(self._ssa.base(access.address))
                found += self._believe(access.address, address, number, end)
        return found

    def choose(self, handled: Handled, since: int) -> None:
        """Take the block of the thread that was left as known.

        :param since: The last instruction before that thread went on.
        """
        self._rely_on_current(handled.switch.current, since)

    def run(self, block: Optional[int], current: int, since: int, number: int) -> None:
        """Assume that the running thread found its block in the pointer.

        :param block: Of the thread; None if it is not known where that is.
        :param current: The pointer's address.
        :param since: The last instruction before it went on.
        :param number: Of its last instruction.
        """
        found = self._chosen.get(since) if block is None else self._at(block)
        if found is not None:
            self._rely_on_current(current, since)
            self._assumptions += self._loads(found, current, since, number)

    def _rely_on_current(self, current: int, since: int) -> None:
        self._current = current
        self._since[current] = min(self._since.get(current, since), since)

    def _loads(self, block: Pointer, current: int, since: int, number: int) -> List[Assumption]:
        # That a running thread has found its block in the pointer.
        ssa, found = self._ssa, []
        first, last = ssa.first_access(since + 1), ssa.first_access(number + 1)
        for access in ssa.accesses[first:last]:
            at, data = access.address, access.data
            if ssa.fixed[at] and ssa.domain.bits[at] == current and not access.store and access.size == 4:
                found.append(_same(BLOCK, block, Pointer(data, 0), number, access.number))
        return [one for one in found if one.before != one.after]

    def _at(self, address: int) -> Pointer:
        return Pointer(self._ssa.constant(address & MASK), 0)

    def _pointer(self, switch: Switch, block: Term, end: int) -> Optional[Pointer]:
        # To a block that a handler has accessed.
        for handler_access, (base, distance) in switch.accesses:
            access = self._access(handler_access, end) if base == block[0] else None
            if access is not None:
                return Pointer(access.address, block[1] - distance & MASK)
        return None

    def _believe(self, variable: int, value: int, number: int, until: int) -> List[Assumption]:
        constant = self._at(value).variable
        return [Assumption(BLOCK, PSP, constant, variable, number, until)] if variable != constant else []

    def _address(self, handled: Handled, term: Term) -> Optional[int]:
        switch = handled.switch
        if term[0] == switch.chosen[0] and handled.new is not None:
            return handled.new + term[1] - switch.chosen[1]
        return None if handled.old is None else switch.value(term, handled.old, self._word, [])

    def rely(self, word: int, number: int) -> None:
        """Rely on a word having its last value after an instruction."""
        self._since[word] = min(self._since.get(word, number), number)

    def _access(self, handler_access: HandlerAccess, end: int) -> Optional[MemoryAccess]:
        ssa, number = self._ssa, end - handler_access.before_last
        found = ssa.accesses[ssa.first_access(number) : ssa.first_access(number + 1)]
        return found[handler_access.which] if len(found) == handler_access.of else None

    def disturbed(self, memory: StoreForwarding) -> int:
        """Find the last instruction that may have written a word relied on.

        0 without any.

        :param memory: What is known of the accesses.
        """
        where = self._where
        written = {word: self._writers(word, memory) for word in self._since}
        found = [number for word, since in self._since.items() for number in written[word] if number > since]
        habitual = {where(number) for numbers in written.values() for number in numbers}
        if habitual:
            unresolved = [self._ssa.accesses[number].number for number in memory.may_alias.unresolved]
            since = min(self._since.values())
            found += [number for number in unresolved if number > since and where(number) in habitual]
        return max(found, default=0)

    def _writers(self, word: int, memory: StoreForwarding) -> List[int]:
        # The instructions that are known to have written a word.
        accesses = self._ssa.accesses
        stores = [accesses[one] for one in memory.cells.between(-1, len(accesses), word) if accesses[one].store]
        own = {self._where(one.number) for one in stores if self._is_own(word, one.number)}
        # A handler that runs at the end is the scheduler's, too.
        return [one.number for one in stores if self._where(one.number) not in own]

    def _is_own(self, word: int, number: int) -> bool:
        # Whether an instruction is of a handler that writes the pointer to the current block.
        at = bisect_left(self._own, (number, 0)) - 1
        return word == self._current and at >= 0 and number <= self._own[at][1]


def _same(kind: int, one: Pointer, other: Pointer, number: int, until: int) -> Assumption:
    # That two pointers lead to the same block.
    return Assumption(kind, PSP, one.variable, other.variable, number, until, one.distance - other.distance & MASK)
