"""The worklist: propagates constraints and links of memory until nothing more follows."""

from __future__ import annotations

from typing import Callable, Dict, Final, List, NamedTuple, Optional, Sequence, Set

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
from gdb_etm.recovery.constraints.choice import choose, lookup, may_alias, remainder, select
from gdb_etm.recovery.constraints.constraints import (
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
    variables,
    zero,
)
from gdb_etm.recovery.constraints.domain import Contradiction, Domain, Knowledge
from gdb_etm.recovery.memory.constant_tables import ConstantTables
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.memory.symbolic_alias import SymbolicAlias, relation_of
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Evaluations between two calls of a progress function.
PROGRESS_INTERVAL: Final = 1 << 13
# Times that what was found in a trial is looked at again.
_TIMES: Final = 4
# Times that links by offset are looked for.
_PASSES: Final = 40

# What refines a constraint, by its kind.
_BY_KIND: Final[Dict[int, Handler]] = {
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
    ConstraintKind.LINK: field,
    ConstraintKind.OWNED: field,
    ConstraintKind.BELOW: field,
    ConstraintKind.OUT_OF_REACH: field,
    ConstraintKind.SUPPOSED: field,
    ConstraintKind.ALIGNED: aligned,
    ConstraintKind.CHOOSE: choose,
    ConstraintKind.REMAINDER: remainder,
    ConstraintKind.TABLE: lookup,
    ConstraintKind.BOUNDED: lookup,
    ConstraintKind.LIMIT: compare,
    ConstraintKind.MAY_ALIAS: may_alias,
}
# The same as a list.
PROPAGATORS: Final[List[Handler]] = [_BY_KIND[kind] for kind in range(len(_BY_KIND))]


class Saved(NamedTuple):
    """A copy of all that grows while a tier is worked out."""

    knowledge: Knowledge
    constraints: int
    memory: StoreForwarding
    symbolic: SymbolicAlias


class Propagation:
    """Knowledge of a segment, narrowed by a worklist; can be restored.

    :param ssa: With its facts.
    :param memory: Of the same segment.
    :param progress: Called now and then with the number of constraints looked at; what it raises ends the work.
    """

    def __init__(
        self, ssa: TraceSsa, memory: StoreForwarding, progress: Optional[Callable[[int], None]] = None
    ) -> None:
        self.ssa = ssa
        self.memory = memory
        self.symbolic = SymbolicAlias(ssa)
        self.tables = ConstantTables(ssa)
        self._progress = progress
        # Whether accesses to unknown stacks are linked, too.
        self.follows_stacks = True

    def begin(self) -> None:
        """Put every constraint but the facts into the worklist."""
        domain = self.ssa.domain
        queued = domain.queued
        domain.queue.clear()
        for number, constraint in enumerate(self.ssa.constraints):
            queued[number] = constraint[0] != ConstraintKind.FACT
            if queued[number]:
                domain.queue.append(number)

    def run(self, look: Callable[[], None] = lambda: None) -> None:
        """Propagate until nothing more follows.

        :param look: Called whenever the worklist is empty.
        :raises Contradiction: The facts do not fit together.
        """
        passes = _PASSES
        while True:
            self.settle(look)
            if self.memory.look_again() or self.tables.look():
                continue
            if not passes or not self.follows_stacks or not self._link_stack():
                return
            passes -= 1

    def settle(self, look: Callable[[], None] = lambda: None) -> None:
        """Propagate what is new, without another look at may-alias barriers.

        :param look: Called whenever the worklist is empty.
        """
        self._drain()
        while self.memory.work(self._progress):
            self._drain()
            look()

    def tried(self, steps: Sequence[Callable[[], None]], keeps: bool = True) -> bool:
        """Check whether some steps agree with the rest; if not, undo them.

        :param keeps: Whether it stays if it does.
        """
        saved = self.save()
        fits = True
        try:
            for step in steps:
                step()
            self.run()
        except Contradiction:
            fits = False
        if not fits or not keeps:
            self.restore(saved)
        return fits

    def possible(self, values: Sequence[int], take: Callable[[int], None]) -> List[int]:
        """List the values that contradict nothing soon; at most two of them.

        :param values: Of a variable.
        :param take: Takes it that it has one of them.
        """
        saved = self.save()
        found: List[int] = []
        for value in values:
            try:
                take(value)
                self.settle()
                found.append(value)
            except Contradiction:
                pass
            self.restore(saved)
            if len(found) > 1:
                break
        return found

    def relink(self, number: int) -> None:
        """Link a load again, whose links were taken back.

        :param number: Of the access; as many as there are for the end.
        """
        if number < len(self.ssa.accesses):
            self.symbolic.relink(number)
            self.memory.relink(number)

    def save(self) -> Saved:
        """Copy the knowledge, to be restored later."""
        ssa = self.ssa
        return Saved(ssa.domain.save(), len(ssa.constraints), self.memory.copy(), self.symbolic.copy())

    def restore(self, saved: Saved) -> None:
        """Forget all that was learned since; ``saved`` can be used again."""
        self.forget(saved.knowledge, saved.constraints)
        self.memory = saved.memory.copy()
        self.symbolic = saved.symbolic.copy()

    def follow(self, look: Callable[[int], None], most: int) -> None:
        """Propagate what is new in a trial, which is forgotten afterwards.

        :param look: Links an access of which there is news.
        :param most: How many accesses are looked at.
        """
        seen: Set[int] = set()
        self._drain()
        for _ in range(_TIMES):
            done, hidden = len(seen), sorted(seen)
            while self.memory.news and len(seen) < most:
                news, self.memory.news = sorted({*self.memory.news} - seen), []
                seen.update(news)
                for number in news:
                    look(number)
                self._drain()
            if len(seen) == done:
                break
            # What was in the way of them may have become known.
            for number in hidden:
                look(number)
            self._drain()

    def forget(self, knowledge: Knowledge, count: int) -> None:
        """Forget what was learned since a copy was made.

        Links of memory stay.

        :param count: How many constraints there were.
        """
        ssa = self.ssa
        domain = ssa.domain
        domain.restore(knowledge)
        for variable in {one for constraint in ssa.constraints[count:] for one in variables(constraint)}:
            waiting = domain.watchers[variable]
            while waiting and waiting[-1] >= count:
                waiting.pop()
        del ssa.constraints[count:], ssa.numbers[count:], domain.queued[count:]
        domain.queue.clear()
        domain.queued[:] = [False] * count
        self.memory.news = []

    def _link_stack(self) -> bool:
        # Links by offset; gives whether there are new ones.
        ssa = self.ssa
        links = self.symbolic.find()
        for link in links:
            ssa.number = ssa.accesses[link[0]].number
            ssa.add(relation_of(ssa, link))
        return bool(links)

    def _drain(self) -> None:
        ssa = self.ssa
        domain: Domain = ssa.domain
        constraints, queue, queued = ssa.constraints, domain.queue, domain.queued
        handlers, news = PROPAGATORS, self.memory.news
        due = PROGRESS_INTERVAL
        # How many are done, and how many of them were evaluated.
        done = count = 0
        try:
            # It grows meanwhile.
            for number in queue:
                done += 1
                queued[number] = False
                constraint = constraints[number]
                kind = constraint[0]
                if kind == ConstraintKind.ACCESS:
                    news.append(constraint[3])
                    continue
                domain.cause = number
                handlers[kind](domain, constraint)
                count += 1
                if count == due:
                    due += PROGRESS_INTERVAL
                    if self._progress is not None:
                        self._progress(PROGRESS_INTERVAL)
        finally:
            del queue[:done]
