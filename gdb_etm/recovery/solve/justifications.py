"""Justifications: what a narrowing rests on, and what a contradiction's proof uses."""

from __future__ import annotations

from typing import Callable, Dict, List, Set, Tuple

from gdb_etm.recovery.constraints.constraints import LINKS, Constraint, variables
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Tells whether a constraint is of the kind that is looked for.
Wanted = Callable[[Constraint], bool]


class Justifications:
    """Follows the log of a segment back to premises.

    :param ssa: With its log.
    """

    def __init__(self, ssa: TraceSsa) -> None:
        self._ssa = ssa

    def blamed(self, contradiction: Contradiction, wanted: Wanted) -> Set[int]:
        """List the constraints of a kind in the proof of a contradiction.

        :param wanted: Tells which are of the kind.
        """
        ssa = self._ssa
        log = ssa.domain.log
        found: Set[int] = set()
        seen: Set[int] = set()
        todo = [log.last[contradiction.variable]]
        if contradiction.cause >= 0:
            todo += self._inputs(contradiction.cause, len(log.variable), found, wanted)
        self._trace(todo, seen, found, wanted)
        if not found:
            # An interval may have come from any member of a class.
            parts = variables(ssa.constraints[contradiction.cause]) if contradiction.cause >= 0 else ()
            for variable in (contradiction.variable,) + parts:
                todo += self._of_class(variable, found, wanted)
            self._trace(todo, seen, found, wanted)
        if not found:
            # Accesses may have been linked because of what is known of their addresses.
            self._trace(self._of_addresses(contradiction, seen), seen, found, wanted)
        return found

    def support(self, variable: int, wanted: Wanted) -> Set[int]:
        """List the constraints of a kind that a variable's value rests on."""
        found: Set[int] = set()
        self._trace([self._ssa.domain.log.last[variable]], set(), found, wanted)
        return found

    def _trace(self, todo: List[int], seen: Set[int], found: Set[int], wanted: Wanted) -> None:
        log = self._ssa.domain.log
        while todo:
            entry = todo.pop()
            if entry < 0 or entry in seen:
                continue
            seen.add(entry)
            todo.append(log.before[entry])
            todo += self.premises(entry, found, wanted)

    def _of_addresses(self, contradiction: Contradiction, seen: Set[int]) -> List[int]:
        # The newest entries of the addresses and conditions of all accesses whose links were followed, or whose data
        # may have been tied to memory at the end.
        ssa = self._ssa
        log = ssa.domain.log
        links = {contradiction.cause, *[log.cause[entry] for entry in seen]}
        ends = [ssa.constraints[link][-2:] for link in links if link >= 0 and ssa.constraints[link][0] in LINKS]
        accesses = [ssa.accesses[number] for pair in ends for number in pair if 0 <= number < len(ssa.accesses)]
        data = {contradiction.variable, *[log.variable[entry] for entry in seen]}
        accesses += [access for access in ssa.accesses if access.data in data]
        return [log.last[one] for access in accesses for one in (access.address, access.condition)]

    def _of_class(self, variable: int, found: Set[int], wanted: Wanted) -> List[int]:
        # The newest entries of all that differ from a variable by constants, and of what made them so.
        domain = self._ssa.domain
        members = set(domain.members.get(domain.root[variable], ()))
        entries = [domain.log.last[member] for member in members]
        for one, _, cause, until in domain.log.merged:
            if one in members and cause >= 0:
                entries += self._inputs(cause, until, found, wanted)
        return entries

    def premises(self, entry: int, found: Set[int], wanted: Wanted) -> List[int]:
        """List the entries that an entry of the log rests on.

        :param found: The wanted constraints that it rests on are added to it.
        :param wanted: Tells which are wanted.
        """
        log = self._ssa.domain.log
        cause = log.cause[entry]
        if cause >= 0:
            return self._inputs(cause, entry, found, wanted)
        known = ~cause
        entries = [self._ssa.domain.log.newest(known, entry)]
        for constraint in self.path(known, log.variable[entry]):
            entries += self._inputs(constraint, entry, found, wanted)
        return entries

    def _inputs(self, cause: int, entry: int, found: Set[int], wanted: Wanted) -> List[int]:
        constraint = self._ssa.constraints[cause]
        if wanted(constraint):
            found.add(cause)
        log = self._ssa.domain.log
        return [log.newest(variable, entry) for variable in variables(constraint)]

    def path(self, one: int, other: int) -> List[int]:
        """List the constraints that put two variables into one class."""
        log = self._ssa.domain.log
        joined = log.joined()
        came: Dict[int, Tuple[int, int]] = {one: (one, -1)}
        todo = [one]
        while todo and other not in came:
            fresh = []
            for variable in todo:
                for following, cause in joined.get(variable, ()):
                    if following not in came:
                        came[following] = (variable, cause)
                        fresh.append(following)
            todo = fresh
        found = []
        while other in came and other != one:
            other, cause = came[other]
            found.append(cause)
        return found
