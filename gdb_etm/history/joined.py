"""Consecutive recordings as one, with halts in between."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import takewhile
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.capture import BufferEnd
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.history.untraced import untraced_exceptions
from gdb_etm.program.blocks import Blocks
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, Gap, GapReason, Transfer
from gdb_etm.protocols.recorder import DataCounts, Recorder, RunTable


class Part(NamedTuple):
    """A recording that goes on where another one ends."""

    history: ExecutionHistory
    # Bytes of the buffer that it is from.
    size: int
    # Where the core was halted at its end, if the trace reaches so far.
    halted_at: Optional[int]
    # Why the core is not where it was halted before, or more ran than was traced since; empty where neither is so.
    unseen: str = ""
    # How long the core ran since it was halted before, in words; may be empty.
    ran: str = ""
    # Where the core was when it ran on, if all that it does then is traced.
    begun_at: Optional[int] = None
    # Whether that is so at the halts within, too.
    is_steady: bool = False


class JoinedRecording:
    """A recording that grows by others.

    Positions and offsets count the bytes of all buffers, one after the other.

    :param has_older: Whether others came before that were left out.
    """

    def __init__(self, has_older: bool = False) -> None:
        self._bases: List[int] = [0]
        self._offsets: List[Callable[[int], int]] = []
        self._recorder = Recorder(RunTable(), self._offset_of)
        # By the identity of another table: the numbers here of its runs.
        self._numbers: Dict[int, Tuple[RunTable, List[int]]] = {}
        self._blocks: Optional[Blocks] = None
        self._end = BufferEnd.LEFT_OUT if has_older else BufferEnd.UNKNOWN
        # What was given last.
        self._whole: Optional[ExecutionHistory] = None
        # How many instructions there are, and how many there were at each halt.
        self.length = 0
        self.halts: List[int] = []

    def add(self, part: Part) -> None:
        """Add what ran next."""
        mine, other = self._recorder, part.history.recorder
        base, entries = self._bases[-1], len(mine.order)
        is_cut = False
        if self._offsets:
            is_cut = self._join(part)
            self.halts.append(self.length)
        else:
            self._blocks = part.history.blocks
            if self._end is not BufferEnd.LEFT_OUT:
                self._end = part.history.end_reason
        self._add_events(other, base, entries, is_cut)
        untraced = untraced_exceptions(part.history, None if is_cut else part.begun_at, part.is_steady)
        mine.insert([(entries + entry, event._replace(offset=base)) for entry, event in sorted(untraced.items())])
        numbers = self._numbers_of(other.table)
        mine.order.extend(array("I", map(numbers.__getitem__, other.order)))
        mine.marks.extend(array("I", [entries + mark for mark in other.marks]))
        mine.mark_positions.extend(array("Q", [base + position for position in other.mark_positions]))
        mine.transfers.update((entries + entry, _moved(made, base)) for entry, made in other.transfers.items())
        mine.outcomes.update((entries + entry, told) for entry, told in other.outcomes.items())
        if other.data_counts is not None:
            mine.data_counts = DataCounts(*map(sum, zip(mine.data_counts or (0, 0), other.data_counts)))
        self._offsets.append(other.offset_of)
        self._bases.append(base + part.size)
        self.length += len(part.history)
        if part.halted_at is not None and self._last_halt() is None:
            # An ETMv3 does not say where the core was halted.
            mine.event(Exception_(self._bases[-1], 0, DEBUG_HALT, None, part.halted_at))

    def history(self, last: ExecutionHistory) -> ExecutionHistory:
        """Give the whole.

        :param last: Of the newest part.
        """
        assert self._blocks is not None
        self._whole = ExecutionHistory(self._recorder, last.source, self._blocks, self._end, self._whole)
        # It counts its instructions now, before it grows.
        assert len(self._whole) == self.length
        return self._whole

    def _offset_of(self, position: int) -> int:
        at = bisect_right(self._bases, position, 0, len(self._offsets)) - 1
        return self._bases[at] + self._offsets[at](position - self._bases[at])

    def _numbers_of(self, table: RunTable) -> List[int]:
        _, numbers = self._numbers.setdefault(id(table), (table, []))
        numbers += map(self._recorder.table.add, table.runs[len(numbers) :])
        return numbers

    def _add_events(self, other: Recorder, base: int, entries: int, is_cut: bool) -> None:
        mine = self._recorder
        for index, (event, place) in enumerate(zip(other.events, other.event_entries)):
            if is_cut and not place and isinstance(event, Gap) and event.reason is GapReason.TRACE_ON:
                # The reason was told.
                continue
            if index in other.event_transfers:
                mine.event_transfers[len(mine.events)] = _moved(other.event_transfers[index], base)
            # Below zero there is a position.
            mine.events.append(event._replace(offset=event.offset + (base if event.offset >= 0 else -base)))
            mine.event_entries.append(entries + place)

    def _join(self, part: Part) -> bool:
        # Tells what lies between two recordings as one recording tells a halt within it.
        offset = self._bases[-1]
        wrapped = part.history.end_reason is BufferEnd.WRAPPED
        halt = self._last_halt()
        if part.unseen or wrapped:
            gap = Gap(
                offset, *((GapReason.TRACE_ON, part.unseen) if part.unseen else (GapReason.OVERWRITTEN, part.ran))
            )
            if halt is None:
                self._recorder.event(gap)
            else:
                self._recorder.events[halt] = gap
            return True
        if not _begins_with_gap(part.history):
            self._recorder.event(Gap(offset, GapReason.TRACE_ON, ""))
        return False

    def _last_halt(self) -> Optional[int]:
        # The index of the halt's event after the last instruction.
        mine = self._recorder
        for index in range(len(mine.events) - 1, -1, -1):
            event = mine.events[index]
            if mine.event_entries[index] < len(mine.order):
                break
            if isinstance(event, Exception_) and event.name == DEBUG_HALT:
                return index
        return None


def _begins_with_gap(history: ExecutionHistory) -> bool:
    leading = takewhile(lambda one: not one[0], history.interruptions())
    return any(isinstance(event, Gap) for _, event in leading)


def _moved(made: Tuple[Transfer, ...], base: int) -> Tuple[Transfer, ...]:
    return tuple([one._replace(offset=one.offset + base) for one in made])
