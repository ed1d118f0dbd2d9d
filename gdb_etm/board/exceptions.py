"""Pending, active and enabled exceptions, and their priorities (DDI 0553, B3)."""

from __future__ import annotations

from typing import Dict, List, Optional

RESET = 1
NMI = 2
HARD_FAULT = 3
MEM_MANAGE = 4
BUS_FAULT = 5
USAGE_FAULT = 6
SVCALL = 11
PENDSV = 14
SYSTICK = 15
IRQ0 = 16
IRQS = 32
COUNT = IRQ0 + IRQS

# Four of the eight bits of a priority are implemented, the upper ones.
PRIORITY_MASK = 0xF0
THREAD_PRIORITY = 256
_FIXED = {RESET: -4, NMI: -2, HARD_FAULT: -1}
_CONFIGURABLE_FAULTS = (MEM_MANAGE, BUS_FAULT, USAGE_FAULT)
# What DHCSR.C_MASKINTS holds back (D1.2.39): PendSV, SysTick and interrupts.
_MASKABLE_BY_DEBUGGER = range(PENDSV, COUNT)


class ExceptionStates:
    """The state of all exceptions, by their number in IPSR."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.pending: List[bool] = [False] * COUNT
        self.active: List[bool] = [False] * COUNT
        self.priority: List[int] = [0] * COUNT
        self.enabled: List[bool] = [n not in _CONFIGURABLE_FAULTS and n < IRQ0 for n in range(COUNT)]
        self.group_mask = 0xFF
        self._lines: Dict[int, bool] = {}

    def pend(self, number: int) -> None:
        """Make an exception pending."""
        self.pending[number] = True

    def set_line(self, number: int, level: bool) -> None:
        """Drive the input of an interrupt.

        It becomes pending when the input rises, and at the end of its handler.
        """
        if level and not self._lines.get(number):
            self.pending[number] = True
        self._lines[number] = level

    def set_grouping(self, prigroup: int) -> None:
        """Set AIRCR.PRIGROUP: bits above it decide on preemption."""
        self.group_mask = 0xFF & ~((2 << prigroup) - 1)

    def group_priority(self, number: int) -> int:
        """Return the priority that decides on preemption."""
        fixed = _FIXED.get(number)
        return self.priority[number] & self.group_mask if fixed is None else fixed

    def rank(self, number: int) -> int:
        """Return a number that orders exceptions by full priority, then by number."""
        return _FIXED.get(number, self.priority[number]) * COUNT + number

    def next(self, masked_by_debugger: bool = False) -> Optional[int]:
        """Return the first pending exception, takeable now or not."""
        best: Optional[int] = None
        for number, pending in enumerate(self.pending):
            if not pending or not self.enabled[number]:
                continue
            if masked_by_debugger and number in _MASKABLE_BY_DEBUGGER:
                continue
            if best is None or self.rank(number) < self.rank(best):
                best = number
        return best

    def active_priority(self) -> int:
        """Return the execution priority that active exceptions give."""
        return min((self.group_priority(n) for n, active in enumerate(self.active) if active), default=THREAD_PRIORITY)

    def execution_priority(self, primask: int, basepri: int, faultmask: int) -> int:
        """Return the execution priority with the special registers taken into account."""
        priority = self.active_priority()
        basepri &= PRIORITY_MASK
        if basepri:
            priority = min(priority, basepri & self.group_mask)
        if primask & 1:
            priority = min(priority, 0)
        if faultmask & 1:
            priority = min(priority, -1)
        return priority

    def activate(self, number: int) -> None:
        """Take an exception: pending becomes active."""
        self.pending[number] = False
        self.active[number] = True

    def deactivate(self, number: int) -> None:
        """End an exception.

        A level that is still high makes its interrupt pending again.
        """
        self.active[number] = False
        if self._lines.get(number):
            self.pending[number] = True
