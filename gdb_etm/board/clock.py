"""Virtual time: one tick an instruction, and what is due when."""

from __future__ import annotations

from typing import Callable, List, Optional, Protocol


class Timer(Protocol):
    """Something that happens at a known time."""

    def due(self) -> Optional[int]:
        """Return the time of the next event, or None without one."""

    def fire(self) -> None:
        """Let the event happen."""


class InstructionClock:
    """Counts executed instructions."""

    def __init__(self) -> None:
        self._base = 0
        self._timers: List[Timer] = []
        self.elapsed: Callable[[], int] = lambda: 0

    def add(self, timer: Timer) -> None:
        """Ask a timer from now on."""
        self._timers.append(timer)

    def now(self) -> int:
        """Return the number of instructions executed since power-up."""
        return self._base + self.elapsed()

    def advance(self, instructions: int) -> None:
        """Let time pass; :meth:`fire` then makes happen what became due."""
        self._base += instructions

    def next_due(self) -> Optional[int]:
        """Return the time of the next event, or None."""
        return min((due for due in (timer.due() for timer in self._timers) if due is not None), default=None)

    def fire(self) -> None:
        """Let all due events happen, in the order of their times."""
        while True:
            ready = [(due, index) for index, due in enumerate(timer.due() for timer in self._timers) if due is not None]
            if not ready or min(ready)[0] > self._base:
                return
            self._timers[min(ready)[1]].fire()
