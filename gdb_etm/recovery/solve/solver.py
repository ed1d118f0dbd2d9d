"""Works on the constraints of a line until nothing more follows, tier after tier.

What is exact is worked out to the end before the first assumption is made, and so on, so that nothing has a worse tier
than it needs.  An assumption in the proof of a contradiction is dropped, and its tier begun again.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import AbstractSet, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.arithmetic import (
    carry_out,
    compare,
    divide,
    forwards,
    multiply,
    overflow,
    shift,
    shift_carry,
    total,
    total_with_carry,
)
from gdb_etm.recovery.constraints.choice import choose, left, remainder, select
from gdb_etm.recovery.constraints.constraints import (
    Constraint,
    ConstraintKind,
    Handler,
    aligned,
    both,
    differ,
    either,
    equal,
    extended,
    fact,
    field,
    kept,
    replaced,
    reverse,
    zero,
)
from gdb_etm.recovery.constraints.domain import Contradiction, Domain
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.functions.calls import THREAD, WAITING
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.base_search import BaseSearch, Options
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.memory.symbolic_alias import SymbolicAlias, relation_of
from gdb_etm.recovery.solve.assumptions import Assumptions, Fallen
from gdb_etm.recovery.solve.justifications import Justifications
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.saved_contexts import SavedContexts
from gdb_etm.recovery.threads.scheduler import Scheduler
from gdb_etm.recovery.values import Tier

# Evaluations between two calls of a progress function.
PROGRESS_INTERVAL = 1 << 13
# Times that links by offset are looked for.
_PASSES = 40
# Times that what is assumed is begun again.
_ROUNDS = 12
# Times that what is likely is: a contradiction comes soon, so most of them are short.
_GUESSES = 40
# Places of stacks that are tried by working on from there.
_TRIES = 24

# Adds what is known by assumption, up to a tier.
#
# :raises Contradiction: It does not fit what is known.
Further = Callable[[StoreForwarding, Tier], None]

# What refines a constraint, by its kind.
PROPAGATORS: Dict[int, Handler] = {
    ConstraintKind.FACT: fact,
    ConstraintKind.EQUAL: equal,
    ConstraintKind.SUM: total,
    ConstraintKind.SUM_CARRY: total_with_carry,
    ConstraintKind.AND: both,
    ConstraintKind.OR: either,
    ConstraintKind.XOR: differ,
    ConstraintKind.FIELD: field,
    ConstraintKind.BITS: replaced,
    ConstraintKind.SIGN: extended,
    ConstraintKind.ZERO: zero,
    ConstraintKind.SELECT: select,
    ConstraintKind.COMPARE: compare,
    ConstraintKind.CARRY: carry_out,
    ConstraintKind.OVERFLOW: overflow,
    ConstraintKind.SHIFT: shift,
    ConstraintKind.SHIFT_CARRY: shift_carry,
    ConstraintKind.MULTIPLY: multiply,
    ConstraintKind.DIVIDE: divide,
    ConstraintKind.COMPUTE: forwards,
    ConstraintKind.ACCESS: fact,
    ConstraintKind.KEPT: kept,
    ConstraintKind.REVERSE: reverse,
    ConstraintKind.GUESS: field,
    ConstraintKind.LINK: field,
    ConstraintKind.OWNED: field,
    ConstraintKind.ALIGNED: aligned,
    ConstraintKind.CHOOSE: choose,
    ConstraintKind.REMAINDER: remainder,
    ConstraintKind.LIMIT: compare,
    ConstraintKind.LEFT: left,
}


def _is_kept(constraint: Constraint) -> bool:
    return constraint[0] in (ConstraintKind.KEPT, ConstraintKind.ALIGNED) or _is_owned(constraint)


def _is_owned(constraint: Constraint) -> bool:
    return (
        constraint[0] == ConstraintKind.OWNED
        or constraint[0] == ConstraintKind.FACT
        and constraint[2] >= Premise.OWNED_STORED
    )


def _is_guess(constraint: Constraint) -> bool:
    is_fact = constraint[0] == ConstraintKind.FACT and len(constraint) > 3
    return constraint[0] == ConstraintKind.GUESS or is_fact and not _is_owned(constraint)


def _united(one: Dict[int, Set[int]], other: Dict[int, Set[int]]) -> Dict[int, Set[int]]:
    return {key: one.get(key, set()) | other.get(key, set()) for key in set(one) | set(other)}


class _Saved(NamedTuple):
    # All that grows while a tier is worked out.
    mask: List[int]
    bits: List[int]
    root: List[int]
    offset: List[int]
    low: List[int]
    span: List[int]
    members: Dict[int, List[int]]
    narrowings: Dict[int, int]
    constraints: int
    entries: int
    merged: int
    memory: StoreForwarding
    symbolic: SymbolicAlias


class Solver:
    """Works out one line.

    :param ssa: With its facts.
    :param memory: Of the line.
    :param assumptions: What calls and handlers keep.
    :param progress: Called now and then with the number of constraints looked at; what it raises ends the work.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        memory: StoreForwarding,
        assumptions: Assumptions,
        progress: Optional[Callable[[int], None]] = None,
    ) -> None:
        self.ssa = ssa
        self.proofs = Justifications(ssa)
        self.memory = memory
        self.assumptions = assumptions
        self._progress = progress
        # How many entries the log had at the end of each tier.
        self.ends: List[int] = []
        self.fallen: List[Fallen] = []
        self.symbolic = SymbolicAlias(ssa)
        self.evaluations = 0
        # Accesses to frames that only their own functions write.
        self.owned: Optional[PrivateAccesses] = None
        # Adds assumptions that what is known by then allows, and knows what speaks against others.
        self.saved: Optional[SavedContexts] = None
        # Knows what speaks against the blocks in which threads are taken to be kept.
        self.scheduler: Optional[Scheduler] = None
        # Adds what is known at the line's end by assumption.
        self.further: Optional[Further] = None

    def tier(self, entry: int) -> Tier:
        """Give the tier of an entry of the log; that of what has none is EXACT."""
        return Tier(bisect_right(self.ends, entry)) if entry >= 0 else Tier.EXACT

    def exact(self) -> None:
        """Work out what follows from what was seen.

        :raises Contradiction: It does not fit together.
        """
        domain = self.ssa.domain
        queued = domain.queued
        domain.queue.clear()
        for number, constraint in enumerate(self.ssa.constraints):
            queued[number] = constraint[0] != ConstraintKind.FACT
            if queued[number]:
                domain.queue.append(number)
        self._run()
        self._place()
        self.ends.append(len(domain.log.variable))

    def tried(self, steps: Sequence[Callable[[], None]], keeps: bool = True) -> bool:
        """Tell whether what some steps take to be known goes with all the rest; if it does not, it is forgotten.

        :param keeps: Whether it stays if it does.
        """
        saved = self._save()
        fits = True
        try:
            for step in steps:
                step()
            self._run()
        except Contradiction:
            fits = False
        if not fits or not keeps:
            self._restore(saved)
        return fits

    def relink(self, number: int) -> None:
        """Link a load again, whose links were taken back.

        :param number: Of the access; as many as there are for the end.
        """
        if number < len(self.ssa.accesses):
            self.symbolic.relink(number)
            self.memory.relink(number)

    def _place(self) -> None:
        # Finds out where stacks are, unless that has led to a contradiction.
        if any(why == Premise.PLACE for why, _, _ in self.ssa.doubted):
            return
        slots = BaseSearch(self.ssa)
        tries = _TRIES
        options = slots.options(self.memory, self.symbolic.stacks())
        while options is not None:
            values: Sequence[int] = options.values
            if 1 < len(values) <= tries:
                tries -= len(values)
                values = self._possible(options)
            if len(values) == 1:
                self._put(options, values[0])
                self._run()
            # Trying has made another memory.
            options = slots.options(self.memory, self.symbolic.stacks())

    def _possible(self, options: Options) -> List[int]:
        # The places that lead to no contradiction soon; two of them, if there are more.
        saved = self._save()
        found: List[int] = []
        for value in options.values:
            try:
                self._put(options, value)
                self._settle()
                found.append(value)
            except Contradiction:
                pass
            self._restore(saved)
            if len(found) > 1:
                break
        return found

    def _put(self, options: Options, value: int) -> None:
        self.ssa.number = options.number
        self.ssa.learn(options.variable, MASK, value, Premise.PLACE)

    def assumed(self, doubted: AbstractSet[int] = frozenset()) -> None:
        """Work out what follows when calls keep registers.

        :param doubted: Assumptions that are not made, by their numbers.
        """
        assumptions = self.assumptions
        dropped: Set[int] = set(doubted)
        if self.owned is not None:
            self.memory.may_alias.owned = self.owned
        saved = self._save()
        for _ in range(_ROUNDS):
            try:
                if self.owned is not None:
                    fallen = assumptions.fallen(dropped).assumptions
                    self.owned.others = {(one.number, one.returned) for one in fallen if one.kind in (THREAD, WAITING)}
                self._assume(dropped)
                if self._trespassed(self.memory.may_alias.trespassed()):
                    self._restore(saved)
                    continue
                more = (self._go_further() | assumptions.of_functions(assumptions.refuted(dropped))) - dropped
                if not more:
                    break
                dropped |= more
                self._restore(saved)
            except Contradiction as contradiction:
                constraints = [self.ssa.constraints[cause] for cause in self.proofs.blamed(contradiction, _is_kept)]
                blamed = {constraint[-1] for constraint in constraints if not _is_owned(constraint)}
                self._restore(saved)
                if self._trespassed({(one[-2], one[-1]) for one in constraints if _is_owned(one)}):
                    continue
                if not blamed and self.further is not None:
                    self.further = None
                    continue
                blamed = assumptions.least_sure(blamed - dropped) or assumptions.others(dropped)
                self.fallen.append(assumptions.fallen(blamed))
                dropped |= blamed
                if len(blamed) == 1:
                    dropped |= assumptions.of_functions(blamed)
        else:
            self._restore(saved)
        self.ends.append(len(self.ssa.domain.log.variable))

    def _trespassed(self, links: Set[Tuple[int, int]]) -> bool:
        # Frames that others have written are no function's own any more; tells whether there are any.
        for older, _ in sorted(links):
            fallen = None if self.owned is None else self.owned.disown(older)
            if fallen is not None:
                self.fallen.append(Fallen((fallen,)))
        return bool(links)

    def _go_further(self) -> Set[int]:
        # Looks at threads again with what is known; gives the assumptions that memory speaks against.
        count = -1
        while self.saved is not None and count != len(self.assumptions.made):
            count = len(self.assumptions.made)
            self.saved.look()
            self._assume(set(range(count)))
        wrong = self.assumptions.of_threads(self.saved.others()) if self.saved is not None else set()
        if self.scheduler is not None:
            wrong |= self.assumptions.of_blocks(self.scheduler.disturbed(self.memory))
        return wrong

    def _assume(self, dropped: Set[int]) -> None:
        ssa = self.ssa
        if self.further is not None:
            self.further(self.memory, Tier.ASSUMED)
        for number, assumption in enumerate(self.assumptions.made):
            if number not in dropped:
                ssa.number = assumption.returned
                ssa.add(self.assumptions.constraint(number))
        self._run()

    def likely(self) -> None:
        """Work out what follows when stores of which nothing is known miss what is asked for."""
        saved = self._save()
        forbidden: Set[Tuple[int, int]] = set()
        kills: Dict[int, int] = {}
        self.memory.may_alias.learn_habits()
        habits = self.memory.may_alias.habits
        for _ in range(_GUESSES):
            may_alias = self.memory.may_alias
            self.memory.guess(kills, habits, forbidden)
            try:
                if self.further is not None:
                    self.further(self.memory, Tier.LIKELY)
                self._run()
            except Contradiction as contradiction:
                fresh = self._pairs(self.proofs.blamed(contradiction, _is_guess)) - forbidden
                found = {number: at for number, at in may_alias.broken().items() if kills.get(number) != at}
                self._restore(saved)
                if not found and not fresh:
                    break
                kills = {**kills, **found}
                forbidden = forbidden if found else forbidden | fresh
                continue
            found = may_alias.broken()
            may_alias.learn_habits()
            if not found and not may_alias.doubtful():
                break
            kills, habits = {**kills, **found}, _united(habits, may_alias.habits)
            self._restore(saved)
        else:
            self._restore(saved)
        self.ends.append(len(self.ssa.domain.log.variable))

    def _pairs(self, guesses: Iterable[int]) -> Set[Tuple[int, int]]:
        # The accesses that guesses link.
        constraints = self.ssa.constraints
        return {(constraints[number][-2], constraints[number][-1]) for number in guesses}

    def _run(self) -> None:
        # Until nothing more follows.
        log = self.ssa.domain.log
        seen = thorough = -1
        passes = _PASSES
        while True:
            self._settle()
            if len(log.variable) != seen:
                seen = len(log.variable)
                self.memory.look_again(False)
            elif thorough != seen:
                thorough = seen
                self.memory.look_again(True)
            elif not passes or not self._link_stack():
                return
            else:
                passes -= 1

    def _settle(self) -> None:
        # Until nothing more follows from what is new.
        self._drain()
        while self.memory.work():
            self._drain()

    def _link_stack(self) -> bool:
        # Links by offset; tells whether there are new ones.
        ssa = self.ssa
        links = self.symbolic.find(self.memory.may_alias.guessing, self.memory.forbidden)
        for link in links:
            ssa.number = ssa.accesses[link[0]].number
            ssa.add(relation_of(ssa, link))
        return bool(links)

    def _drain(self) -> None:
        ssa = self.ssa
        domain: Domain = ssa.domain
        constraints, queue, queued = ssa.constraints, domain.queue, domain.queued
        handlers, news = PROPAGATORS, self.memory.news
        access = int(ConstraintKind.ACCESS)
        due = PROGRESS_INTERVAL
        count = 0
        while queue:
            number = queue.popleft()
            queued[number] = 0
            constraint = constraints[number]
            if constraint[0] == access:
                news.append(constraint[3])
                continue
            domain.cause = number
            handlers[constraint[0]](domain, constraint)
            count += 1
            if count == due:
                due += PROGRESS_INTERVAL
                if self._progress is not None:
                    self._progress(PROGRESS_INTERVAL)
        self.evaluations += count

    def _save(self) -> _Saved:
        ssa = self.ssa
        domain = ssa.domain
        return _Saved(
            list(domain.mask),
            list(domain.bits),
            list(domain.root),
            list(domain.offset),
            list(domain.low),
            list(domain.span),
            {root: list(members) for root, members in domain.members.items()},
            dict(domain.narrowings),
            len(ssa.constraints),
            len(domain.log.variable),
            len(domain.log.merged),
            self.memory.copy(),
            self.symbolic.copy(),
        )

    def _restore(self, saved: _Saved) -> None:
        ssa = self.ssa
        domain = ssa.domain
        # Constants that were made since are kept.
        count = len(saved.mask)
        domain.mask[:count], domain.bits[:count] = saved.mask, saved.bits
        domain.root[:count], domain.offset[:count] = saved.root, saved.offset
        domain.low[:count], domain.span[:count] = saved.low, saved.span
        domain.members = {root: list(members) for root, members in saved.members.items()}
        domain.narrowings = dict(saved.narrowings)
        domain.log.cut(saved.entries, saved.merged)
        count = saved.constraints
        for waiting in domain.watchers:
            while waiting and waiting[-1] >= count:
                waiting.pop()
        del ssa.constraints[count:], ssa.numbers[count:], domain.queued[count:]
        domain.queue.clear()
        domain.queued[:] = bytes(count)
        self.memory = saved.memory.copy()
        self.symbolic = saved.symbolic.copy()
