"""Events that start and stop the trace.

IHI 0064, 4.1.2 and 4.1.3; IHI 0014Q, 2.6.  The start/stop block takes instruction addresses and the processor's
comparators, and is precise.  For any other event something must remember whether the trace is on: two states of the
sequencer, or a counter that is at zero while it is.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.actions import (
    Action,
    Count,
    Counter,
    FirstState,
    NextState,
    Reload,
    Rule,
    StartTracing,
    StopTracing,
    Trace,
)
from gdb_etm.traceunit.events import ALWAYS, And, AtZero, Event, Executed, InState, Not, Watched, alternatives, any_of
from gdb_etm.traceunit.options import TraceOptions


class WindowRules(NamedTuple):
    """Rules without starts and stops, which become :attr:`view`."""

    rules: Tuple[Rule, ...] = ()
    counters: Tuple[Counter, ...] = ()
    first_state: int = 0
    # When to trace.
    view: Event = ALWAYS


class Window(NamedTuple):
    """When the trace is on."""

    # All rules but those that the start/stop block carries out.
    wanted: WindowRules
    start_at: Tuple[int, ...]
    stop_at: Tuple[int, ...]
    # Comparators of the processor that start the trace.
    watched_start: Tuple[int, ...] = ()
    watched_stop: Tuple[int, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether nothing is traced before a start point."""
        return bool(self.start_at or self.watched_start)

    @property
    def is_used(self) -> bool:
        """Whether the start/stop block has anything to do."""
        return self.waits or bool(self.stop_at or self.watched_stop)


class WindowMemory(NamedTuple):
    """What a unit has that can remember whether the trace is on."""

    sequencer: bool
    # A counter that no rule uses; None if there is none.
    spare: Optional[int]
    # The identification field that says what is missing, with its value: ``"TRCIDR5.NUMCNTR is 0"``.
    missing: str


def plan_window(options: TraceOptions, memory: WindowMemory) -> Window:
    """Find out what starts and stops the trace.

    :raises UnsupportedError: Nothing is left that can remember whether it is on.
    """

    def when(action: object) -> List[Event]:
        return [rule.when for rule in options.rules if rule.do == action]

    starts, stops, traces = when(StartTracing()), when(StopTracing()), when(Trace())
    rules = tuple(rule for rule in options.rules if rule.do not in (StartTracing(), StopTracing(), Trace()))
    wanted = WindowRules(rules, options.counters, options.first_state, any_of(traces) if traces else ALWAYS)
    points = [leaf for event in starts for leaf in alternatives(event)]
    ends = [leaf for event in stops for leaf in alternatives(event)]
    if all(isinstance(leaf, (Executed, Watched)) for leaf in points + ends):
        return _precise(options, wanted, points, ends)
    starts += [Executed(address) for address in options.start_at]
    stops += [Executed(address) for address in options.stop_at]
    return Window(_remembered(wanted, starts, stops, memory), (), ())


def _precise(options: TraceOptions, wanted: WindowRules, points: Sequence[Event], ends: Sequence[Event]) -> Window:
    def addresses(events: Sequence[Event]) -> Tuple[int, ...]:
        return tuple(each.address for each in events if isinstance(each, Executed))

    def numbers(events: Sequence[Event]) -> Tuple[int, ...]:
        return tuple(each.number for each in events if isinstance(each, Watched))

    return Window(
        wanted, options.start_at + addresses(points), options.stop_at + addresses(ends), numbers(points), numbers(ends)
    )


def _remembered(
    wanted: WindowRules, starts: Sequence[Event], stops: Sequence[Event], memory: WindowMemory
) -> WindowRules:
    uses_sequencer = any(isinstance(rule.do, (NextState, FirstState)) for rule in wanted.rules)
    if memory.sequencer and not uses_sequencer:
        # Without a start the trace is on from the beginning: in state 0.
        on: Event = InState(1) if starts else InState(0)
        forward, back = (starts, stops) if starts else (stops, [])
        rules = _rules(forward, NextState(0, 1)) + _rules(back, NextState(1, 0))
        return wanted._replace(rules=wanted.rules + rules, view=_both(wanted.view, on), first_state=0)
    spare = memory.spare
    if spare is None:
        raise UnsupportedError(
            "start and stop by other events than execution at an address need the sequencer or a counter that can count"
            " events, and none is free (%s)" % memory.missing,
            memory.missing.split()[0],
        )
    # At zero it stays there until it is reloaded.
    on = AtZero(spare) if starts else Not(AtZero(spare))
    down, up = (starts, stops) if starts else (stops, [])
    rules = _rules(down, Count(spare)) + _rules(up, Reload(spare))
    return wanted._replace(
        rules=wanted.rules + rules, counters=wanted.counters + (Counter(spare, 1),), view=_both(wanted.view, on)
    )


def _rules(events: Sequence[Event], action: Action) -> Tuple[Rule, ...]:
    return tuple(Rule(event, action) for event in events)


def _both(first: Event, second: Event) -> Event:
    return second if first == ALWAYS else And(first, second)
