"""Counts and profiles of histories that are decoded."""

from __future__ import annotations

from typing import Iterable, Optional, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.errors import CommandError
from gdb_etm.history.clock import CycleClock
from gdb_etm.session.captures import Decoded
from gdb_etm.session.debugger import Debugger

INSTRUCTIONS, CYCLES = "instructions", "cycles"


def count_all(histories: Iterable[Decoded]) -> ExecutionCounts:
    """Count what histories of the same program hold.

    :raises CommandError: They hold nothing.
    """
    counts = ExecutionCounts()
    for one in histories:
        counts.add(one.history)
    if not counts.instructions:
        raise CommandError("the history holds no instructions")
    return counts


def profile_of(debugger: Debugger, decoded: Decoded, unit: str) -> CallProfile:
    """Make a history's profile.

    :param unit: ``"instructions"`` or ``"cycles"``.
    :raises CommandError: Cycles are wanted and were not traced, or there are no instructions.
    """
    profile = CallProfile(unit)
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    if unit == CYCLES and not decoded.clock.has_cycles:
        raise CommandError('no cycle counts in this trace: "etm start --cycles 4" traces them')
    calls = decoded.calls(debugger.function_at)
    threads = decoded.threads(debugger)

    def label(number: int) -> str:
        return threads.label(number) if number else "unknown thread"

    measure = _Cycles(decoded.clock).between if unit == CYCLES else _instructions
    profile.add(calls, len(decoded.history), measure, label)
    return profile


def _instructions(first: int, last: int) -> Optional[int]:
    return last - first + 1


class _Cycles:
    # The next question is about what ran next: what was found last is kept.

    def __init__(self, clock: CycleClock) -> None:
        self._clock = clock
        self._last: Tuple[int, Optional[int]] = (0, 0)

    def between(self, first: int, last: int) -> Optional[int]:
        number, begin = self._last
        if number != first - 1:
            begin = self._clock.total_after(first - 1)
        end = self._clock.total_after(last)
        self._last = last, end
        return end - begin if begin is not None and end is not None and end >= begin else None
