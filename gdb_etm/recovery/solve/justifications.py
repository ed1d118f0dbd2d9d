"""Justifications: what a narrowing rests on, and what a contradiction's proof uses."""

from __future__ import annotations

from typing import Callable, Dict, List, Set, Tuple

from gdb_etm.recovery.constraints.constraints import LINKS, Constraint, ConstraintKind, variables
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

    def blamed(self, contradiction: Contradiction, wanted: Wanted, with_places: bool = False) -> Set[int]:
        """List the constraints of a kind in the proof of a contradiction.

        What memory tells rests on where it was accessed, too.

        :param wanted: Tells which are of the kind.
        :param with_places: Whether also those that addresses rest on; else only if there are no others.
        """
        found: Set[int] = set()
        for places in (True,) if with_places else (False, True):
            todo = self._of_contradiction(contradiction, found, wanted, places)
            seen: Set[int] = set()
            self._trace(todo, seen, found, wanted, places)
            if not found:
                # An interval may have come from any member of a class.
                cause = contradiction.cause
                parts = variables(self._ssa.constraints[cause]) if cause >= 0 else ()
                for variable in (contradiction.variable,) + parts:
                    todo += self._of_class(variable, found, wanted, places)
                self._trace(todo, seen, found, wanted, places)
            if found:
                break
        return found

    def _of_contradiction(
        self, contradiction: Contradiction, found: Set[int], wanted: Wanted, places: bool
    ) -> List[int]:
        log = self._ssa.domain.log
        todo = [log.last[contradiction.variable]]
        if contradiction.cause >= 0:
            todo += self._inputs(contradiction.cause, len(log.variable), found, wanted, places)
        return todo

    def support(self, variable: int, wanted: Wanted) -> Set[int]:
        """List the constraints of a kind that a variable's value rests on."""
        found: Set[int] = set()
        self._trace([self._ssa.domain.log.last[variable]], set(), found, wanted, False)
        return found

    def recent(self, variable: int, since: Tuple[int, int], wanted: Wanted, most: int) -> Set[int]:
        """List the constraints that recent knowledge of a variable rests on.

        :param since: How many entries the log had, and how many constraints there were.
        :param wanted: Tells which constraints are listed.
        :param most: How many are enough.
        """
        log, (first, count) = self._ssa.domain.log, since
        found: Set[int] = set()
        seen: Set[int] = set()
        todo = [log.last[variable]]
        while todo and len(found) < most:
            entry = todo.pop()
            if entry >= first and entry not in seen:
                seen.add(entry)
                causes: Set[int] = set()
                todo += [log.before[entry], *self.premises(entry, causes, wanted, False)]
                found |= {cause for cause in causes if cause >= count}
        return found

    def _trace(self, todo: List[int], seen: Set[int], found: Set[int], wanted: Wanted, places: bool) -> None:
        log = self._ssa.domain.log
        while todo:
            entry = todo.pop()
            if entry < 0 or entry in seen:
                continue
            seen.add(entry)
            todo.append(log.before[entry])
            todo += self.premises(entry, found, wanted, places)

    def _of_class(self, variable: int, found: Set[int], wanted: Wanted, places: bool) -> List[int]:
        # The newest entries of all that differ from a variable by constants, and of what made them so.
        domain = self._ssa.domain
        members = set(domain.members.get(domain.root[variable], ()))
        entries = [domain.log.last[member] for member in members]
        for one, _, cause, until in domain.log.merged:
            if one in members and cause >= 0:
                entries += self._inputs(cause, until, found, wanted, places)
        return entries

    def premises(self, entry: int, found: Set[int], wanted: Wanted, places: bool) -> List[int]:
        """List the entries that an entry of the log rests on.

        :param found: The wanted constraints that it rests on are added to it.
        :param wanted: Tells which are wanted.
        :param places: Whether what memory tells rests on where it was accessed.
        """
        log = self._ssa.domain.log
        cause = log.cause[entry]
        if cause >= 0:
            return self._inputs(cause, entry, found, wanted, places)
        known = ~cause
        entries = [self._ssa.domain.log.newest(known, entry)]
        for constraint in self.path(known, log.variable[entry]):
            entries += self._inputs(constraint, entry, found, wanted, places)
        return entries

    def _inputs(self, cause: int, entry: int, found: Set[int], wanted: Wanted, places: bool) -> List[int]:
        constraint = self._ssa.constraints[cause]
        if wanted(constraint):
            found.add(cause)
        log = self._ssa.domain.log
        parts = variables(constraint) + self.places(constraint) if places else variables(constraint)
        return [log.newest(variable, entry) for variable in parts]

    def places(self, constraint: Constraint) -> Tuple[int, ...]:
        """Give the addresses and conditions of accesses.

        Those that a constraint ties to each other or to memory at an end.
        """
        if constraint[0] not in LINKS and (constraint[0] != ConstraintKind.FACT or len(constraint) < 5):
            return ()
        ssa = self._ssa
        accesses = [ssa.accesses[number] for number in {*constraint[-2:]} if 0 <= number < len(ssa.accesses)]
        return tuple([one for access in accesses for one in (access.address, access.condition)])

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
