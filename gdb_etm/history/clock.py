"""When things ran: which instruction a cycle count or a timestamp belongs to, and the cycles in all.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 5.2.14 and 5.2.16.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Iterable, Iterator, List, NamedTuple, Optional, Union

from gdb_etm.history.store import History, Instruction
from gdb_etm.protocols.elements import Context, Cycles, DataGap, Event, Gap, GapReason, Timestamp, TraceEvent

_LOSES_COUNTS = frozenset((GapReason.NOT_SYNCHRONISED, GapReason.OVERFLOW, GapReason.DISCARD, GapReason.BAD_PACKET))
# After these a cycle count may have been lost, so that the next one says nothing of how many there were in all.

_UNKNOWN = -1


class Count(NamedTuple):
    """Processor cycles up to an instruction."""

    cycles: Optional[int]
    """Since the count before; None when the unit does not know."""
    total: Optional[int]
    """Since the last count without a known total, whatever that was; None at such a count itself."""


class Time(NamedTuple):
    """What the trace says of when something happened."""

    cycles: Optional[Count]
    timestamp: Optional[Timestamp]


class Timed(NamedTuple):
    """An item of the history with its time."""

    item: Union[Instruction, Event, None]
    """None where the trace tells a time, but not of what."""
    time: Optional[Time]


class Clock:
    """Adds up the cycle counts of a history.

    The counts in timestamps are no part of the sum (5.2.14).

    :param history: The executed instructions.
    """

    def __init__(self, history: History) -> None:
        self._offsets = array("Q")
        self._totals = array("q")
        self.has_times = False
        """Whether there is any cycle count or timestamp."""
        total = _UNKNOWN
        for event in history.events:
            if isinstance(event, Gap) and event.reason in _LOSES_COUNTS:
                total = _UNKNOWN
            elif isinstance(event, Cycles):
                known = total != _UNKNOWN and event.cycles is not None
                self._offsets.append(event.offset)
                self._totals.append(total + (event.cycles or 0) if known else _UNKNOWN)
                total = self._totals[-1] if known else 0
            self.has_times = self.has_times or isinstance(event, (Cycles, Timestamp))

    def count(self, event: Cycles) -> Count:
        """Give a cycle count with the total."""
        total = self._totals[bisect_left(self._offsets, event.offset)]
        return Count(event.cycles, None if total == _UNKNOWN else total)

    def timed(self, items: Iterable[Union[Instruction, Event]], follows: bool) -> Iterator[Timed]:
        """Put times beside what they belong to.

        A cycle count belongs to the last committed P0 element before it, a timestamp to the last P0 element or event
        before it; both may lie before a change of context, but not before a gap.  Counts that belong to the same are
        put together.

        :param items: A stretch of the history, as :meth:`~gdb_etm.history.store.History.walk` gives it.
        :param follows: Whether times at its beginning belong to what lies before it, and are left out.
        """
        held = _Held(not follows)
        for item in items:
            if isinstance(item, Cycles):
                held.add_count(self.count(item))
            elif isinstance(item, Timestamp):
                held.add_timestamp(item)
            elif isinstance(item, (TraceEvent, Context, DataGap)):
                held.rows.append(Timed(item, None))
            else:
                yield from held.rows
                held = _Held(True)
                held.rows = [Timed(item, None)]
                held.owns = not isinstance(item, Gap)
        yield from held.rows


def _together(before: Optional[Count], after: Count) -> Count:
    # Two counts that follow one another.
    if before is None or before.cycles is None or after.cycles is None:
        return after
    return after._replace(cycles=before.cycles + after.cycles)


class _Held:
    # Something that ran, or a gap, with what followed it so far: a time may still come.

    def __init__(self, tells: bool) -> None:
        self.rows: List[Timed] = []
        self.owns = False
        self._tells = tells

    def add_count(self, count: Count) -> None:
        self._add(0 if self.owns else -1, Time(count, None))

    def add_timestamp(self, timestamp: Timestamp) -> None:
        owners = [at for at, row in enumerate(self.rows) if isinstance(row.item, TraceEvent) or at == 0 and self.owns]
        self._add(owners[-1] if owners else -1, Time(None, timestamp))

    def _add(self, at: int, time: Time) -> None:
        if at < 0:
            if self._tells:
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
