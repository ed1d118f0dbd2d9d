"""Trials of threads: where several may have gone on, each is tried.

Threads that run the same code are left, and go on, at the same places.  But each has its own stack and registers.  With
these a thread would not have taken the branches that were traced in the turn of another one, or memory at the end would
be another.  What contradicts that is out of the question; if one thread alone is left, it was that.
"""

from __future__ import annotations

from typing import Callable, Final, List, Optional, Sequence, Set

from gdb_etm.recovery.constraints.domain import Contradiction, Knowledge
from gdb_etm.recovery.execution.thread_switches import Possible
from gdb_etm.recovery.functions.calls import Assumption
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.memory.trial_links import TrialLinks
from gdb_etm.recovery.solve.assumptions import Assumptions
from gdb_etm.recovery.solve.propagation import Propagation
from gdb_etm.recovery.threads.saved_contexts import SavedContexts, Wait

# Times that all threads are tried; what became known of some speaks against others.
_PASSES: Final = 2
# Trials in a segment, and accesses that each looks at.
_TRIALS: Final = 64
_ACCESSES: Final = 256


class ThreadTrials:
    """Tries which threads went on.

    :param propagation: With all that follows without that.
    :param assumptions: Are added to.
    :param choose: Asks about each thread that was left.
    :param saved: Knows what waiting threads have saved.
    :param owned: Knows which functions have not returned at the end.
    """

    def __init__(
        self,
        propagation: Propagation,
        assumptions: Assumptions,
        choose: Callable[[Callable[[Sequence[Possible]], Set[int]]], None],
        saved: Optional[SavedContexts],
        owned: Optional[PrivateAccesses],
    ) -> None:
        self._propagation = propagation
        self._ssa = propagation.ssa
        self._assumptions = assumptions
        self._choose = choose
        self._saved = saved
        self._owned = owned
        self._left = _TRIALS
        # Functions that had not returned at the end before, and threads that turned out to wait.
        self._active = {} if owned is None else dict(owned.active)
        self._waits: List[Wait] = []

    def run(self) -> bool:
        """Try the threads, from the end backwards; gives whether anything became known.

        :raises Contradiction: What is left does not fit what is known.
        """
        made = self._assumptions.made
        before = len(made)
        for _ in range(_PASSES):
            count = len(made)
            self._choose(self._among)
            if len(made) == count:
                break
        return len(made) > before

    def undo(self) -> None:
        """Take back what was told to others."""
        if self._owned is not None:
            self._owned.active = dict(self._active)
        if self._saved is not None:
            for wait in self._waits:
                self._saved.remove(wait)

    def _among(self, sequels: Sequence[Possible]) -> Set[int]:
        every = set(range(len(sequels)))
        tried = {number for number in every if len(every) > 1 and self._is_placed(sequels[number])}
        knowledge = self._ssa.domain.save() if tried else None
        possible = {
            number
            for number in every
            if knowledge is None or number not in tried or not self._is_refuted(sequels[number], knowledge)
        }
        if len(possible) == 1:
            self._believe(sequels[min(possible)], len(every) > 1)
        return possible or every

    def _believe(self, one: Possible, is_last: bool) -> None:
        # :param is_last: Whether it is what was left of several.
        one.chosen()
        if is_last:
            self._assumptions.by_elimination.update([each.number for each in one.assumptions[:1]])
        if self._owned is not None:
            self._owned.finish(one.active)
        self._assume(one.assumptions)
        if one.wait is not None and self._saved is not None:
            self._saved.add(one.wait)
            self._waits.append(one.wait)
            count = len(self._assumptions.made)
            self._saved.look()
            self._add(count)
            self._propagation.run()

    def _assume(self, assumptions: List[Assumption]) -> None:
        count = len(self._assumptions.made)
        self._assumptions.made += assumptions
        self._add(count)
        self._propagation.run()

    def _add(self, count: int) -> None:
        # The constraints of the assumptions from a number on.
        for number in range(count, len(self._assumptions.made)):
            self._ssa.number = self._assumptions.made[number].returned
            self._ssa.add(self._assumptions.constraint(number))

    def _is_refuted(self, one: Possible, knowledge: Knowledge) -> bool:
        # Whether something contradicts it.  Nothing of the trial stays.
        if not self._left:
            return False
        self._left -= 1
        ssa, made = self._ssa, self._assumptions.made
        active = {} if self._owned is None else dict(self._owned.active)
        if self._owned is not None:
            self._owned.finish(one.active)
        links = TrialLinks(ssa, self._propagation.memory)
        count, assumed = len(ssa.constraints), len(made)
        try:
            made += one.assumptions
            self._add(assumed)
            self._propagation.follow(links.look, _ACCESSES)
            if one.wait is not None and self._saved is not None:
                further = len(made)
                made += self._saved.of(one.wait).values()
                self._add(further)
                self._propagation.follow(links.look, _ACCESSES)
            return False
        except Contradiction:
            return True
        finally:
            if self._owned is not None:
                self._owned.active = active
            del made[assumed:]
            self._propagation.forget(knowledge, count)

    def _is_placed(self, one: Possible) -> bool:
        # Whether it is known where the stack of the thread is then.
        domain = self._ssa.domain
        pointers = [assumption.after for assumption in one.assumptions if assumption.slot == SP]
        return one.wait is not None or any([domain.mask[pointer] == MASK for pointer in pointers])
