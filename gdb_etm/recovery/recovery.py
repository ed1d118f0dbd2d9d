"""Values of registers and memory at any instruction of a history."""

from __future__ import annotations

from typing import Callable, Iterable, List, Optional, Tuple

from gdb_etm.history.store import History
from gdb_etm.recovery.rules import Rules
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
        self._findings: List[Finding] = []

    def solve(self) -> None:
        """Work everything out now rather than when it is asked for."""

    @property
    def findings(self) -> Tuple[Finding, ...]:
        """What the user should know of what was worked out so far."""
        return tuple(self._findings)

    def register(self, number: int, name: str) -> Value:
        """Give a register before an instruction.

        :param number: Of the instruction; one more than the length of the history is the end.
        :param name: Lower-case: r0 to r12, sp, lr, pc, xpsr, n, z, c, v, msp, psp, control, s0 to s31, fpscr.
        """
        return Value(None, Tier.UNKNOWN, "not worked out")

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction, one value for each.

        :param number: Of the instruction; one more than the length of the history is the end.
        :param address: Of the first byte.
        :param size: In bytes.
        """
        return (Value(None, Tier.UNKNOWN, "not worked out"),) * size

    def why(self, number: int, name: str) -> List[Step]:
        """List the facts that a register's value rests on, nearest first."""
        return []

    def writes(self, address: int, size: int) -> Written:
        """Find the executed stores that wrote a piece of memory.

        :param address: Of the first byte.
        :param size: In bytes.
        """
        return Written((), 0)
