"""Values of registers and memory at any instruction of a history."""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, Dict, Iterable, List, Optional, Tuple

from gdb_etm.history.store import History, Span
from gdb_etm.recovery.answers import Answers
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.stretch import StretchSolution
from gdb_etm.recovery.stretches import Stretch, stretches
from gdb_etm.recovery.values import Fact, Finding, State, Step, Tier, Value, Written

Progress = Callable[[float], None]


class Recovery:
    """Works values out from what ran and from what is known at its ends.

    :param history: The executed instructions of one core.
    :param end: The state after the last of them, if the core was halted there.
    :param begin: The state before the first, if the history reaches back to it.
    :param rules: What may be relied on.
    :param facts: What is known besides, such as by measurement.
    :param progress: Called now and then with the share of the work that is done, 0 to 1; what it raises ends the work,
        which begins again when something is asked.
    """

    def __init__(
        self,
        history: History,
        end: Optional[State] = None,
        begin: Optional[State] = None,
        rules: Rules = Rules(),
        facts: Iterable[Fact] = (),
        progress: Optional[Progress] = None,
    ) -> None:
        self.history = history
        self.rules = rules
        self._end = end
        self._begin = begin
        self._facts = tuple(facts)
        self._progress = progress
        self._stretches: List[Stretch] = stretches(history, rules.untouched)
        self._answers: Dict[int, Answers] = {}

    def solve(self) -> None:
        """Work out what leads to the end now rather than when it is asked for."""
        self._at(len(self.history) + 1)

    @property
    def findings(self) -> Tuple[Finding, ...]:
        """What the user should know of what was worked out so far."""
        return tuple([finding for _, one in sorted(self._answers.items()) for finding in one.solution.findings])

    def register(self, number: int, name: str) -> Value:
        """Give a register before an instruction.

        :param number: Of the instruction; one more than the length of the history is the end.
        :param name: Lower-case: r0 to r12, sp, lr, pc, xpsr, n, z, c, v, msp, psp, control, s0 to s31, fpscr.
        """
        if self.rules.limit >= Tier.UNKNOWN:
            return Value(None, Tier.UNKNOWN, "recovery is off")
        answers = self._at(number)
        return answers.register(number, name) if answers is not None else _OUTSIDE

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction, one value for each.

        :param number: Of the instruction; one more than the length of the history is the end.
        :param address: Of the first byte.
        :param size: In bytes.
        """
        answers = self._at(number)
        return (_OUTSIDE,) * size if answers is None else answers.memory(number, address, size)

    def why(self, number: int, name: str) -> List[Step]:
        """List the facts that a register's value rests on, nearest first."""
        answers = self._at(number)
        return [] if answers is None else answers.why(number, name)

    def writes(self, address: int, size: int) -> Written:
        """Find the executed stores that wrote a piece of memory.

        :param address: Of the first byte.
        :param size: In bytes.
        """
        answers = self._at(len(self.history) + 1)
        return Written((), 0) if answers is None else answers.writes(address, size)

    def _at(self, number: int) -> Optional[Answers]:
        # What is worked out about the stretch of an instruction; what stands behind a stretch belongs to it at the end.
        firsts = [stretch.first for stretch in self._stretches]
        last = len(self.history)
        index = bisect_right(firsts, min(number, last) if number <= last + 1 else number) - 1
        if index < 0 or number > last + 1 or not last:
            return None
        if index not in self._answers:
            self._answers[index] = Answers(self._solve(index))
        answers = self._answers[index]
        return answers if answers.solution.first <= number else None

    def _solve(self, index: int) -> StretchSolution:
        stretch = self._stretches[index]
        first = self._start(stretch)
        whole = first == 1 == stretch.first
        ends = index == len(self._stretches) - 1
        return StretchSolution(
            self.history,
            first,
            stretch.last,
            self._begin if whole else None,
            self._end if ends else None,
            self.rules,
            self._facts,
            self._progress,
        )

    def _start(self, stretch: Stretch) -> int:
        # Where the window begins: with a range, so that it is in no IT block.
        first = stretch.last - self.rules.window + 1
        if first <= stretch.first:
            return stretch.first
        for item in self.history.spans(first, stretch.last):
            if isinstance(item, Span) and item.number > first:
                return item.number
        return first


_OUTSIDE = Value(None, Tier.UNKNOWN, "before the window")
