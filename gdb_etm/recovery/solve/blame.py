"""Blame: the supposed links that something rests on."""

from __future__ import annotations

from typing import Final, Set

from gdb_etm.recovery.constraints.constraints import LINKS, Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.propagation import Saved
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Parts of a fact that is of no accesses.
_FACT: Final = 3
_PREMISES: Final = (Premise.SUPPOSED, Premise.SUPPOSED_STORED, Premise.SUPPOSED_LOADED, Premise.PLACE, Premise.LOCATED)


class Blame:
    """Finds them.

    :param ssa: Of the segment.
    :param proofs: Finds what a narrowing or a contradiction comes from.
    """

    def __init__(self, ssa: TraceSsa, proofs: Justifications) -> None:
        self._ssa = ssa
        self._proofs = proofs

    def of(self, contradiction: Contradiction, places: bool = False) -> Set[Pair]:
        """List the links that a contradiction rests on.

        :param places: Whether also those that the addresses of accesses rest on; else only if there are no others.
        """
        found = self._proofs.blamed(contradiction, _is_supposed, places)
        return {_pair(self._ssa.constraints[number]) for number in found}

    def recent(self, variable: int, before: Saved, most: int) -> Set[Pair]:
        """List the links that recent knowledge of a variable rests on.

        :param before: What was known before.
        :param most: How many are enough.
        """
        since = before.knowledge.entries, before.constraints
        found = self._proofs.recent(variable, since, _is_link, most)
        return {_pair(self._ssa.constraints[number]) for number in found}

    def links(self, since: int) -> Set[Pair]:
        """List the accesses that constraints from one on link."""
        return {_pair(one) for one in self._ssa.constraints[since:] if _is_link(one)}


def _is_supposed(constraint: Constraint) -> bool:
    return constraint[0] == ConstraintKind.SUPPOSED or (
        constraint[0] == ConstraintKind.FACT and constraint[2] in _PREMISES
    )


def _is_link(constraint: Constraint) -> bool:
    return constraint[0] in LINKS or constraint[0] == ConstraintKind.FACT and len(constraint) > _FACT


def _pair(constraint: Constraint) -> Pair:
    return constraint[-2], constraint[-1]
