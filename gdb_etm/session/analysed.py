"""Counts, profiles and timelines of histories that are decoded."""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, Optional, Tuple

from gdb_etm.analysis.activity import Measure
from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.long_calls import FunctionCost, call_sums
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.analysis.timeline import Instant, TimeAfter, Timeline, TimelineReader
from gdb_etm.errors import CommandError
from gdb_etm.history.call_groups import CallGroups
from gdb_etm.history.call_steps import StepMemory, Unrepeatable
from gdb_etm.history.clock import CycleClock
from gdb_etm.history.exits import Exits
from gdb_etm.protocols.elements import TraceEvent
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded

INSTRUCTIONS, CYCLES = "instructions", "cycles"
_NO_CYCLES = 'no cycle counts in this trace: "etm start --cycles 4" traces them'


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
    """Make a history's profile, once; nobody may change it.

    :param unit: ``"instructions"`` or ``"cycles"``.
    :raises CommandError: Cycles are wanted and were not traced, or there are no instructions.
    """
    if unit in decoded.profiles:
        return decoded.profiles[unit]
    profile = CallProfile(unit)
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    if unit == CYCLES and not decoded.clock.has_cycles:
        raise CommandError(_NO_CYCLES)
    calls = decoded.calls(debugger.function_at, is_whole=True)
    profile.add(calls, len(decoded.history), measure_of(decoded, unit), _labels(debugger, decoded), decoded.paused)
    decoded.profiles[unit] = profile
    return profile


def long_costs(debugger: Debugger, decoded: Decoded) -> List[FunctionCost]:
    """Give what functions cost in a long history, in instructions.

    Memory need not have room for all of its calls.
    """
    history, paused = decoded.history, decoded.paused
    memory = StepMemory(debugger.function_at, Exits(decoded.program))
    try:
        index = CallGroups(history, memory, paused)
    except Unrepeatable:
        # It hardly repeats itself, or threads are switched: an index would be no smaller than the calls.
        found = profile_of(debugger, decoded, INSTRUCTIONS).functions()
        return [FunctionCost(one.function, one.calls, one.own, one.inclusive) for one in found]
    return call_sums(index).costs(index)


def measure_of(decoded: Decoded, unit: str) -> Measure:
    """Give what measures stretches of a history.

    :param unit: ``"instructions"`` or ``"cycles"``.
    """
    return _Cycles(decoded.clock).between if unit == CYCLES else _instructions


def _labels(debugger: Debugger, decoded: Decoded) -> Callable[[int], str]:
    # Names of threads, by number.
    threads = decoded.threads(debugger)
    return lambda number: threads.label(number) if number else "unknown thread"


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


def timeline_of(debugger: Debugger, decoded: Decoded, unit: str) -> Timeline:
    """Make a history's timeline, with marks, halts and the trace unit's events.

    :param unit: ``"instructions"`` or ``"cycles"``.
    :raises CommandError: Cycles are wanted and were not traced, or there are no instructions.
    """
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    clock = clock_of(decoded, unit)
    label = _labels(debugger, decoded)
    reader = TimelineReader(decoded.calls(debugger.function_at, True), len(decoded.history), clock, label)
    instants = [Instant(clock(number - 1), name) for name, number in decoded.marks.items()]
    instants += [Instant(clock(number), words) for number, words in decoded.halts.items()]
    marks = dict(decoded.history.source.marks)
    for index, event in enumerate(decoded.history.events):
        if isinstance(event, TraceEvent):
            words = marks.get(event.number, "event %d" % event.number)
            instants.append(Instant(clock(decoded.history.number_at(index)), words))
    return reader.timeline(unit)._replace(instants=tuple(sorted(instants)))


def clock_of(decoded: Decoded, unit: str) -> TimeAfter:
    """Give the clock of a timeline.

    :raises CommandError: Cycles are wanted and were not traced.
    """
    if unit != CYCLES:
        return lambda number: number
    if not decoded.clock.has_cycles:
        raise CommandError(_NO_CYCLES)
    return _CycleTimes(decoded.clock).after


class _CycleTimes:
    # Cycles since the beginning; where the count begins anew, or is not known, time stands still.

    def __init__(self, clock: CycleClock) -> None:
        self._clock = clock
        self._known: Dict[int, int] = {}
        self._base = self._before = self._time = 0

    def after(self, number: int) -> int:
        if number not in self._known:
            total = self._clock.total_after(number)
            if total is not None:
                if total < self._before:
                    self._base = self._time
                self._before = total
                self._time = max(self._time, self._base + total)
            self._known[number] = self._time
        return self._known[number]
