"""Report of the contradicting facts that stay unused."""

from __future__ import annotations

from typing import Dict, Final, List, NamedTuple, Sequence, Tuple

from gdb_etm.recovery.constraints.graph import Premise, Withheld
from gdb_etm.recovery.lift.operations import MASK, SLOTS
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Facts that are listed one by one.
_MOST: Final = 3
_TEXTS: Dict[int, str] = {
    Premise.HALT: "{name} as it was read at the halt",
    Premise.BEGIN: "{name} as it was read when the run began",
    Premise.GIVEN: "{name} as it was read at the halt before #{number:,}",
    Premise.TAKEN: "that the branch at #{number:,} was taken",
    Premise.NOT_TAKEN: "that the branch at #{number:,} was not taken",
    Premise.TARGET: "where #{number:,} went on",
    Premise.OUTCOME: "whether #{number:,} did anything",
    Premise.DATA: "the traced data of #{number:,}",
    Premise.MODE: "what the architecture says of #{number:,}",
    Premise.ALIGNED: "that #{number:,} accesses aligned addresses",
    Premise.MEMORY: "what was in memory that #{number:,} loads",
    Premise.BASE: "where a stack was found to be",
}


class Dropped(NamedTuple):
    """What contradicts more trusted facts, or others that are trusted as much."""

    facts: List[Withheld]
    # Pairs of accesses to the same memory.
    links: List[Tuple[int, int]]
    # Addresses of words at the halt.
    words: List[int]

    def text(self, ssa: TraceSsa, void: Sequence[int]) -> str:
        """Say what is not used.

        :param ssa: Of which the facts are.
        :param void: Instructions, by their numbers, whose constraints are not taken.
        """
        texts = [_fact(ssa, one) for one in self.facts]
        texts += ["the word at %#x as it was read at the halt" % word for word in self.words]
        texts += [_link(ssa, older, later) for older, later in self.links]
        texts += ["what #{:,} computes".format(number) for number in void]
        texts = list(dict.fromkeys(texts))
        if not texts:
            return "facts contradict each other: what rests on any of them is assumed"
        more = len(texts) - _MOST
        named = texts if more <= 0 else [*texts[:_MOST], "%d other facts" % more]
        listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
        verbs = ("contradicts", "is") if len(named) == 1 else ("contradict", "are")
        return "%s %s what else is known and %s not used" % (listed, *verbs)


def _fact(ssa: TraceSsa, fact: Withheld) -> str:
    names = {slot: name for name, slot in SLOTS.items()}
    held = [slot for slot, variables in enumerate(ssa.held) if fact.variable in variables and slot in names]
    return _TEXTS[fact.why].format(name=names[held[0]] if held else "a register", number=fact.number)


def _link(ssa: TraceSsa, older: int, later: int) -> str:
    accesses, domain = ssa.accesses, ssa.domain
    access = accesses[max(older, 0)]
    where = "at %#x" % domain.bits[access.address] if domain.mask[access.address] == MASK else "on the stack"
    until = "at the halt" if later == len(accesses) else "at #{:,}".format(accesses[later].number)
    return "that memory {} was {} as #{:,} had it".format(where, until, access.number)
