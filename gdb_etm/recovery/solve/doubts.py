"""Doubts: facts that contradict each other, and the withholding of them.

The proof of a contradiction names all facts that may be false.  Nothing exact rests on them: the segment is built
again without them.  Then they are offered as assumptions, the most trusted first, and those that agree with the rest
stay.  Where a proof names no facts, the model of an instruction is wrong, and nothing is taken from the instructions
that it names.
"""

from __future__ import annotations

from typing import Final, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa
from gdb_etm.recovery.values import CoreState

# Times that a segment is built again.
ROUNDS: Final = 12
_LINKS: Final = (ConstraintKind.LINK, ConstraintKind.MAY_ALIAS)

# Of a fact: why it is known, one of :class:`Premise`; the instruction's number; the variable.
Key = Tuple[int, int, int]
# Of accesses to the same memory, the older one and the later one; as many as there are for the end.
Pair = Tuple[int, int]


class Doubts(NamedTuple):
    """What contradicts something."""

    facts: FrozenSet[Key] = frozenset()
    links: FrozenSet[Pair] = frozenset()
    # Aligned addresses of words that were read at the halt.
    words: FrozenSet[int] = frozenset()
    # Numbers of instructions whose model is wrong.
    void: FrozenSet[int] = frozenset()

    @property
    def of_memory(self) -> bool:
        """Whether memory is not what the core has left there."""
        return bool(self.words or self.links)

    def withhold(self, ssa: TraceSsa) -> None:
        """Keep doubtful facts out of a segment that is being built."""
        ssa.doubted, ssa.void = self.facts, self.void
        ssa.unlinked.update(self.links)

    def more(self, ssa: TraceSsa, contradiction: Contradiction) -> "Doubts":
        """Add what the proof of a contradiction rests on.

        :param ssa: As it was when it was found.
        """
        constraints = _blamed(ssa, contradiction)
        facts, links, words = set(self.facts), set(self.links), set(self.words)
        for number in constraints:
            constraint = ssa.constraints[number]
            if constraint[0] in _LINKS:
                links.add((constraint[-2], constraint[-1]))
            elif constraint[2] in (Premise.STORED, Premise.LOADED):
                words |= _words_of(ssa, number)
            else:
                facts.add((constraint[2], ssa.numbers[number], constraint[1]))
        found = Doubts(frozenset(facts), frozenset(links), frozenset(words), self.void)
        return found if found != self else self._replace(void=self.void | _instructions(ssa, contradiction))

    def without(self, state: Optional[CoreState]) -> Optional[CoreState]:
        """Give a state without the words."""
        if state is None or not self.words:
            return state
        read = state.read

        def rest(address: int, size: int) -> Optional[bytes]:
            known = self.words.isdisjoint(range(address & ~3, address + size, 4))
            return read(address, size) if known else None

        return state._replace(read=rest)


def _is_doubtful(constraint: Constraint) -> bool:
    return constraint[0] in (ConstraintKind.FACT, *_LINKS)


def _blamed(ssa: TraceSsa, contradiction: Contradiction) -> Set[int]:
    # What the proof rests on; what memory holds rests on the addresses of those who have written and read it, too.
    proofs = Justifications(ssa)
    todo = proofs.blamed(contradiction, _is_doubtful)
    if contradiction.cause >= 0 and _is_doubtful(ssa.constraints[contradiction.cause]):
        todo.add(contradiction.cause)
    found: Set[int] = set()
    seen: Set[int] = set()
    while todo:
        number = todo.pop()
        found.add(number)
        for access in _accesses(ssa, number):
            if access.address not in seen:
                seen.add(access.address)
                todo |= proofs.support(access.address, _is_doubtful) - found
    return found


def _accesses(ssa: TraceSsa, number: int) -> List[MemoryAccess]:
    # Those that a constraint links with each other, or with memory at an end.
    constraint, accesses = ssa.constraints[number], ssa.accesses
    if constraint[0] in _LINKS:
        return [accesses[one] for one in constraint[-2:] if 0 <= one < len(accesses)]
    if constraint[2] not in (Premise.STORED, Premise.LOADED, Premise.MEMORY):
        return []
    first, last = ssa.first_access(ssa.numbers[number]), ssa.first_access(ssa.numbers[number] + 1)
    return [access for access in accesses[first:last] if access.data == constraint[1]]


def _instructions(ssa: TraceSsa, contradiction: Contradiction) -> Set[int]:
    # Those whose constraints the proof rests on.
    constraints = Justifications(ssa).blamed(contradiction, lambda constraint: True)
    constraints.update([contradiction.cause] if contradiction.cause >= 0 else ())
    return {ssa.numbers[constraint] for constraint in constraints} - {0}


def _words_of(ssa: TraceSsa, number: int) -> Set[int]:
    # The words that an access has left at the end, by a constraint that says so.
    domain = ssa.domain
    found: Set[int] = set()
    for access in _accesses(ssa, number):
        if domain.mask[access.address] == MASK:
            address = domain.bits[access.address]
            found.update(range(address & ~3, address + access.size, 4))
    return found
