"""Facts that contradict each other: which of them nothing exact rests on, and which come back as assumptions.

The proof of a contradiction names all facts of which one must be false.  Nothing exact rests on any of them: the line
is made anew without them.  Then they are given back, the most trusted first, and those stay that go with all the rest:
what follows is assumed.  Where a proof names no facts, the model of an instruction is wrong, and nothing is taken from
the instructions that it names.
"""

from __future__ import annotations

from typing import FrozenSet, NamedTuple, Optional, Set, Tuple

from gdb_etm.recovery.domain import Contradiction
from gdb_etm.recovery.graph import Fact
from gdb_etm.recovery.line import Line
from gdb_etm.recovery.operations import MASK
from gdb_etm.recovery.proofs import Proofs
from gdb_etm.recovery.relations import Kind, Relation
from gdb_etm.recovery.values import State

ROUNDS = 12
"""Times that a line is made anew."""
_LINKS = (Kind.LINK, Kind.LEFT)

Key = Tuple[int, int, int]
"""Of a fact: why it is known, one of :class:`Fact`; the instruction's number; the variable."""
Pair = Tuple[int, int]
"""Of accesses to the same memory, the older one and the later one; as many as there are for the end."""


class Doubts(NamedTuple):
    """What contradicts something."""

    facts: FrozenSet[Key] = frozenset()
    links: FrozenSet[Pair] = frozenset()
    words: FrozenSet[int] = frozenset()
    """Aligned addresses of words that were read at the halt."""
    void: FrozenSet[int] = frozenset()
    """Numbers of instructions of which the model is wrong."""

    def more(self, line: Line, contradiction: Contradiction) -> "Doubts":
        """Add what the proof of a contradiction rests on.

        :param line: As it was when it was found.
        """
        relations = Proofs(line).blamed(contradiction, _is_doubtful)
        if contradiction.cause >= 0 and _is_doubtful(line.relations[contradiction.cause]):
            relations.add(contradiction.cause)
        facts, links, words = set(self.facts), set(self.links), set(self.words)
        for number in relations:
            relation = line.relations[number]
            if relation[0] in _LINKS:
                links.add((relation[-2], relation[-1]))
            elif relation[2] in (Fact.STORED, Fact.LOADED):
                words |= _words_of(line, relation[1], line.numbers[number])
            else:
                facts.add((relation[2], line.numbers[number], relation[1]))
        found = Doubts(frozenset(facts), frozenset(links), frozenset(words), self.void)
        return found if found != self else self._replace(void=self.void | _instructions(line, contradiction))

    def without(self, state: Optional[State]) -> Optional[State]:
        """Give a state without the words."""
        if state is None or not self.words:
            return state
        read = state.read

        def rest(address: int, size: int) -> Optional[bytes]:
            known = self.words.isdisjoint(range(address & ~3, address + size, 4))
            return read(address, size) if known else None

        return state._replace(read=rest)


def _is_doubtful(relation: Relation) -> bool:
    return relation[0] in (Kind.FACT, *_LINKS)


def _instructions(line: Line, contradiction: Contradiction) -> Set[int]:
    # Those whose relations the proof rests on.
    relations = Proofs(line).blamed(contradiction, lambda relation: True)
    relations.update([contradiction.cause] if contradiction.cause >= 0 else ())
    return {line.numbers[relation] for relation in relations} - {0}


def _words_of(line: Line, data: int, number: int) -> Set[int]:
    # The words that the accesses of an instruction have left at the end.
    domain = line.domain
    found: Set[int] = set()
    for access in line.accesses:
        if access.number == number and access.data == data and domain.mask[access.address] == MASK:
            address = domain.bits[access.address]
            found.update(range(address & ~3, address + access.size, 4))
    return found
