"""Clock of a history: the cycle counts and timestamps of instructions.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 5.2.14 and 5.2.16.
"""

from __future__ import annotations

from array import array
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.history.store import ExecutionHistory, TracedInstruction
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    DataGap,
    Event,
    Gap,
    GapReason,
    Range,
    Timestamp,
    TraceEvent,
)
from gdb_etm.protocols.recorder import Run

# After these a cycle count may have been lost, so that the next one says nothing of how many there were in all.
_LOSES_COUNTS = frozenset(
    (
        GapReason.NOT_SYNCHRONISED,
        GapReason.OVERFLOW,
        GapReason.OVERWRITTEN,
        GapReason.DISCARD,
        GapReason.BAD_PACKET,
    )
)

_UNKNOWN = -1
_SPACING = 64
# Entries between two stored totals, and between two calls of a progress function.
PROGRESS_INTERVAL = 1 << 14


class CycleCount(NamedTuple):
    """Processor cycles up to an instruction."""

    # Since the count before; None when the unit does not know.
    cycles: Optional[int]
    # Since the last count without a known total, whatever that was; None at such a count itself.
    total: Optional[int]


class TraceTime(NamedTuple):
    """What the trace says of when something happened."""

    cycles: Optional[CycleCount]
    timestamp: Optional[Timestamp]


class Timed(NamedTuple):
    """An item of the history with its time."""

    # None where the trace has a time without an instruction.
    item: Union[TracedInstruction, Event, None]
    time: Optional[TraceTime]


class _Effect(NamedTuple):
    # What some events do to the total.
    # To a total that is known; None when the total begins anew, or is lost.
    added: Optional[int]
    # The total after them where it was not known before, or begins anew.
    fresh: Optional[int]

    def on(self, total: Optional[int]) -> Optional[int]:
        return self.fresh if total is None or self.added is None else total + self.added


_NONE = _Effect(0, None)


def _effect(events: Iterable[Event]) -> _Effect:
    added: Optional[int] = 0
    fresh: Optional[int] = None
    for event in events:
        if isinstance(event, Gap) and event.reason in _LOSES_COUNTS:
            added = fresh = None
        elif isinstance(event, Cycles):
            added = None if added is None or event.cycles is None else added + event.cycles
            fresh = 0 if fresh is None or event.cycles is None else fresh + event.cycles
    return _Effect(added, fresh) if (added, fresh) != _NONE else _NONE


class CycleClock:
    """Adds up the cycle counts of a history.

    The counts in timestamps are no part of the sum (5.2.14).

    :param history: The executed instructions.
    :param progress: Called now and then with the number of entries read since the last call; what it raises ends the
        work.
    """

    def __init__(self, history: ExecutionHistory, progress: Optional[Callable[[int], None]] = None) -> None:
        self._history = history
        # Before the first entry of every block of the order, and before the events that it begins with.
        self._totals = array("q")
        runs = {number: _events(history.run(number)) for number in set(history.order)}
        between = list(history.entry_events())
        times = (isinstance(event, (Cycles, Timestamp)) for events in runs.values() for event in events)
        # Whether there is any cycle count or timestamp.
        self.has_times = any(times) or any(isinstance(event, (Cycles, Timestamp)) for _, event in between)
        # Whether there is any cycle count.
        self.has_cycles = any(isinstance(one, Cycles) for events in runs.values() for one in events) or any(
            isinstance(event, Cycles) for _, event in between
        )
        if self.has_times:
            effects = {number: _effect(events) for number, events in runs.items()}
            self._add_up(effects, between, progress if progress is not None else lambda entries: None)

    def _add_up(
        self, effects: Dict[int, _Effect], between: List[Tuple[int, Event]], progress: Callable[[int], None]
    ) -> None:
        total: Optional[int] = None
        at = 0
        for entry, number in enumerate(self._history.order):
            if not entry % _SPACING:
                self._totals.append(_UNKNOWN if total is None else total)
                if not entry % PROGRESS_INTERVAL and entry:
                    progress(PROGRESS_INTERVAL)
            while at < len(between) and between[at][0] <= entry:
                total = _effect((between[at][1],)).on(total)
                at += 1
            if effects[number] is not _NONE:
                total = effects[number].on(total)

    def total_after(self, number: int) -> Optional[int]:
        """Give the total of cycles after an instruction; None where unknown."""
        if not number or not self.has_times:
            return None
        block = self._history.entry(number)[0] // _SPACING
        total = None if self._totals[block] == _UNKNOWN else self._totals[block]
        ran = self._history.entry_first(block * _SPACING) - 1
        for _, part in self._history.parts(block * _SPACING):
            for item in [item for _, item in part.items()] if isinstance(part, Run) else [part]:
                if ran >= number:
                    return total
                if isinstance(item, Range):
                    ran += item.instructions
                else:
                    total = _effect((item,)).on(total)
        return total

    def timed(self, items: Iterable[Union[TracedInstruction, Event]], first: int) -> Iterator[Timed]:
        """Put times beside what they belong to.

        A cycle count belongs to the last committed P0 element before it, a timestamp to the last P0 element or event
        before it; both may lie before a change of context, but not before a gap.  Counts that belong to the same are
        put together.  Times that belong to what lies before the items are left out.

        :param items: A stretch of the history, as :meth:`~gdb_etm.history.store.ExecutionHistory.walk` gives it.
        :param first: The number of its first instruction.
        """
        total = self.total_after(first - 1)
        held = _Held(first <= 1)
        for item in items:
            if isinstance(item, Cycles):
                counted = total is not None and item.cycles is not None
                total = _effect((item,)).on(total)
                held.add_count(CycleCount(item.cycles, total if counted else None))
            elif isinstance(item, Timestamp):
                held.add_timestamp(item)
            elif isinstance(item, (TraceEvent, Context, DataGap)):
                held.rows.append(Timed(item, None))
            else:
                yield from held.rows
                held = _Held(True)
                held.rows = [Timed(item, None)]
                held.owns = not isinstance(item, Gap)
                total = _effect((item,)).on(total) if isinstance(item, Gap) else total
        yield from held.rows


def _events(run: Run) -> List[Event]:
    return [one.event for _, part in run.parts() for one in part.foreseen]


def _together(before: Optional[CycleCount], after: CycleCount) -> CycleCount:
    # Two counts that follow one another.
    if before is None or before.cycles is None or after.cycles is None:
        return after
    return after._replace(cycles=before.cycles + after.cycles)


class _Held:
    # Something that ran, or a gap, with what followed it so far: a time may still come.

    def __init__(self, keeps_unowned: bool) -> None:
        self.rows: List[Timed] = []
        self.owns = False
        self._keeps_unowned = keeps_unowned

    def add_count(self, count: CycleCount) -> None:
        self._add(0 if self.owns else -1, TraceTime(count, None))

    def add_timestamp(self, timestamp: Timestamp) -> None:
        owners = [at for at, row in enumerate(self.rows) if isinstance(row.item, TraceEvent) or at == 0 and self.owns]
        self._add(owners[-1] if owners else -1, TraceTime(None, timestamp))

    def _add(self, at: int, time: TraceTime) -> None:
        if at < 0:
            if self._keeps_unowned:
                self.rows.append(Timed(None, time))
            return
        known = self.rows[at].time
        if known is None:
            self.rows[at] = self.rows[at]._replace(time=time)
        elif time.cycles is not None and (known.cycles is None or known.timestamp is None):
            self.rows[at] = self.rows[at]._replace(time=known._replace(cycles=_together(known.cycles, time.cycles)))
        elif time.timestamp is not None and known.timestamp is None:
            self.rows[at] = self.rows[at]._replace(time=known._replace(timestamp=time.timestamp))
        else:
            self.rows.append(Timed(None, time))
