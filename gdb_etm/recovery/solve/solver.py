"""Solver of a segment: propagates to a fixpoint, tier after tier.

What is exact is worked out to the end before the first assumption is made, and so on, so that nothing has a worse tier
than it needs.  An assumption in the proof of a contradiction is dropped, and its tier starts again.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import AbstractSet, Callable, Final, List, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.functions.calls import THREAD, WAITING
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.base_search import BaseSearch, Options
from gdb_etm.recovery.memory.dead_stack import DeadStack
from gdb_etm.recovery.memory.object_bounds import ObjectBounds
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.solve.assumptions import Assumptions, Fallen
from gdb_etm.recovery.solve.courses import Workings
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.solve.propagation import Propagation, Saved
from gdb_etm.recovery.solve.suppositions import suppose
from gdb_etm.recovery.solve.thread_trials import ThreadTrials
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.saved_contexts import SavedContexts
from gdb_etm.recovery.threads.scheduler import Scheduler
from gdb_etm.recovery.values import Tier

# Times that the tier ASSUMED starts again without single assumptions, and then without all of a kind.
_ROUNDS: Final = 12
_MORE_ROUNDS: Final = 6
# Places of stacks that are tried by working on from there.
_TRIES: Final = 24

# Why links are assumed, in the order of their premises.
_GROUNDS: Final = (ConstraintKind.OWNED, ConstraintKind.BELOW, ConstraintKind.OUT_OF_REACH)
# Objects that are found to be in reach; then none is taken to be out of it.
_STRANGE: Final = 4

# Adds what is known by assumption.
#
# :raises Contradiction: It does not fit what is known.
Further = Callable[[StoreForwarding], None]


def _is_kept(constraint: Constraint) -> bool:
    return (
        constraint[0] in (ConstraintKind.KEPT, ConstraintKind.ALIGNED, ConstraintKind.BOUNDED)
        or _ground(constraint) != 0
    )


def _ground(constraint: Constraint) -> int:
    # OWNED, BELOW or OUT_OF_REACH, where a link is assumed for that reason; 0 for others.
    if constraint[0] in _GROUNDS:
        return constraint[0]
    owned, reached = Premise.OWNED_STORED, Premise.OUT_OF_REACH_LOADED
    if constraint[0] != ConstraintKind.FACT or not owned <= constraint[2] <= reached:
        return 0
    return _GROUNDS[(constraint[2] - Premise.OWNED_STORED) // 2]


class Solver:
    """Solves one segment.

    :param ssa: With its facts.
    :param memory: The links of the same segment.
    :param assumptions: What calls and handlers keep.
    :param where: Gives the address of an instruction by its number.
    :param progress: Called now and then with the number of constraints looked at; what it raises ends the work.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        memory: StoreForwarding,
        assumptions: Assumptions,
        where: Callable[[int], int],
        progress: Optional[Callable[[int], None]] = None,
    ) -> None:
        self.ssa = ssa
        self.where = where
        self.proofs = Justifications(ssa)
        self.propagation = Propagation(ssa, memory, progress)
        self.assumptions = assumptions
        # How many entries the log had at the end of each tier.
        self.ends: List[int] = []
        self.fallen: List[Fallen] = []
        # Accesses to frames that only their own functions write.
        self.owned: Optional[PrivateAccesses] = None
        # Objects that only some code reaches, and the stack below SP, which no pointer leads to.
        self.object_bounds: Optional[ObjectBounds] = None
        self.dead_stack: Optional[DeadStack] = None
        # Adds assumptions that what is known by then allows, and knows what speaks against others.
        self.saved: Optional[SavedContexts] = None
        # Knows what speaks against the blocks in which threads are taken to be kept.
        self.scheduler: Optional[Scheduler] = None
        # Tries which threads went on.
        self.trials: Optional[ThreadTrials] = None
        # Adds what is known at the segment's end by assumption.
        self.further: Optional[Further] = None

    @property
    def memory(self) -> StoreForwarding:
        """The links between loads and stores."""
        return self.propagation.memory

    def tier(self, entry: int) -> Tier:
        """Give the tier of an entry of the log; -1 is EXACT."""
        return Tier(bisect_right(self.ends, entry)) if entry >= 0 else Tier.EXACT

    def exact(self) -> None:
        """Work out what follows from what was seen.

        :raises Contradiction: It does not fit together.
        """
        self.propagation.begin()
        self.propagation.run()
        self._find_bases()
        self.ends.append(len(self.ssa.domain.log.variable))

    def _find_bases(self) -> None:
        # Finds out where stacks are, unless that has led to a contradiction.
        if any(why == Premise.BASE for why, _, _ in self.ssa.doubted):
            return
        search = BaseSearch(self.ssa)
        tries = _TRIES
        options = search.options(self.memory, self.propagation.symbolic.stacks())
        while options is not None:
            values: Sequence[int] = options.values
            if 1 < len(values) <= tries:
                tries -= len(values)
                values = self.propagation.possible(values, partial(self._set_base, options))
            if len(values) == 1:
                self._set_base(options, values[0])
                self.propagation.run()
            # Trying has made another memory.
            options = search.options(self.memory, self.propagation.symbolic.stacks())

    def _set_base(self, options: Options, value: int) -> None:
        access = self.ssa.accesses[options.access]
        self.ssa.number = access.number
        self.ssa.learn(access.address, MASK, value, Premise.BASE)

    def assumed(self, doubted: AbstractSet[int] = frozenset()) -> None:
        """Work out what follows when calls keep registers.

        :param doubted: Assumptions that are not made, by their numbers.
        """
        assumptions = self.assumptions
        dropped: Set[int] = set(doubted)
        self.dead_stack = dead_stack = DeadStack(self.ssa)
        self.propagation.tables.bounded = True
        saved = self.propagation.save()
        for number in range(_ROUNDS + _MORE_ROUNDS):
            if number == _ROUNDS:
                self.owned = self.object_bounds = None
                dead_stack.holds = False
            may_alias = self.memory.may_alias
            may_alias.owned = self.owned or may_alias.owned
            may_alias.dead_stack, may_alias.object_bounds = dead_stack, self.object_bounds
            try:
                if self.owned is not None:
                    others = assumptions.fallen(dropped).assumptions
                    self.owned.others = {(one.number, one.returned) for one in others if one.kind in (THREAD, WAITING)}
                self._assume(dropped)
                if self._trespassed(self.memory.may_alias.trespassed()):
                    self.propagation.restore(saved)
                    continue
                more = (self._go_further() | assumptions.of_functions(assumptions.refuted(dropped))) - dropped
                if not more:
                    self._find_left_behind()
                    self._try_threads()
                    break
                dropped |= more
                self.propagation.restore(saved)
            except Contradiction as contradiction:
                fallen = self._refute(contradiction, dropped, saved)
                dropped |= fallen if number < _ROUNDS else fallen | assumptions.of_kinds(fallen)
        else:
            self.propagation.restore(saved)
        suppose(Workings(self.ssa, self.propagation, self.proofs, self.where))
        self.ends.append(len(self.ssa.domain.log.variable))

    def _refute(self, contradiction: Contradiction, dropped: Set[int], saved: Saved) -> Set[int]:
        # Goes back, and lets fall what a contradiction rests on; gives the assumptions among it.
        constraints = [self.ssa.constraints[cause] for cause in self.proofs.blamed(contradiction, _is_kept)]
        claim = self.memory.may_alias.claim
        claims = {claim(_ground(one), one[-2], one[-1]) for one in constraints if _ground(one)}
        self.propagation.restore(saved)
        if any(one[0] == ConstraintKind.BOUNDED for one in constraints):
            self.propagation.tables.bounded = False
            return set()
        if self._trespassed(claims):
            return set()
        blamed = {constraint[-1] for constraint in constraints if not _ground(constraint)}
        if not blamed and self.further is not None:
            self.further = None
            return set()
        assumptions = self.assumptions
        blamed = assumptions.least_sure(blamed - dropped)
        blamed = blamed or assumptions.placed() - dropped or assumptions.others(dropped)
        self.fallen.append(assumptions.fallen(blamed))
        return blamed | assumptions.of_functions(blamed) if len(blamed) == 1 else blamed

    def _find_left_behind(self) -> None:
        # Finds out where the stack was before SP was set back, unless that leads to a contradiction.
        if any(why == Premise.BASE for why, _, _ in self.ssa.doubted):
            return
        search, propagation = BaseSearch(self.ssa), self.propagation
        options = search.left_behind(propagation.memory, propagation.symbolic.stacks())
        while options is not None and self._fits(partial(self._go_on_from, options)):
            options = search.left_behind(propagation.memory, propagation.symbolic.stacks())

    def _go_on_from(self, options: Options) -> None:
        self._set_base(options, options.values[0])
        self.propagation.run()

    def _try_threads(self) -> None:
        # Finds out which threads went on, unless that leads to a contradiction.
        if self.trials is not None and not self._fits(self.trials.run):
            self.trials.undo()

    def _fits(self, assume: Callable[[], object]) -> bool:
        # Whether what is assumed contradicts nothing; takes it back if it does.
        saved, count = self.propagation.save(), len(self.assumptions.made)
        try:
            assume()
            fits = not self._go_further() and not self.memory.may_alias.trespassed()
        except Contradiction:
            fits = False
        if not fits:
            del self.assumptions.made[count:]
            self.propagation.restore(saved)
        return fits

    def _trespassed(self, claims: Set[Tuple[int, int]]) -> bool:
        # Frames that others have written are shared, what was written below SP is not dead, and objects that were
        # written are in reach; gives whether there are any.
        for kind, what in sorted(claims):
            if kind == ConstraintKind.BELOW and self.dead_stack is not None:
                self.dead_stack.holds = False
            if kind == ConstraintKind.OUT_OF_REACH:
                self._reached(what)
            fallen = self.owned.disown(what) if kind == ConstraintKind.OWNED and self.owned is not None else None
            if fallen is not None:
                self.fallen.append(Fallen((fallen,)))
        return bool(claims)

    def _reached(self, number: int) -> None:
        bounds = self.object_bounds
        if bounds is None or number in bounds.strange or len(bounds.strange) == _STRANGE:
            self.object_bounds = None
        else:
            bounds.strange.add(number)

    def _go_further(self) -> Set[int]:
        # Looks at threads again with what is known; gives the assumptions that memory speaks against.
        count = -1
        while self.saved is not None and count != len(self.assumptions.made):
            count = len(self.assumptions.made)
            self.saved.look()
            self._assume(set(range(count)))
        if self.scheduler is None:
            return set()
        return self.assumptions.of_blocks(self.scheduler.disturbed(self.memory))

    def _assume(self, dropped: Set[int]) -> None:
        ssa = self.ssa
        if self.further is not None:
            self.further(self.memory)
        for number, assumption in enumerate(self.assumptions.made):
            if number not in dropped:
                ssa.number = assumption.returned
                ssa.add(self.assumptions.constraint(number))
        self.propagation.run()
