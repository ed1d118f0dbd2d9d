"""Vectors worked by hand from the specification: cycle counts and timestamps.

5.2.14 L7831-7912, 5.2.16 L7958-7984, table A-8 L19405-19425: what each of them belongs to, and the total.  Property
test: a listing from anywhere on gives the same.
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple, Union

from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.clock import CycleClock, CycleCount
from gdb_etm.history.store import ExecutionHistory, TracedInstruction
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    Event,
    Exception_,
    Gap,
    GapReason,
    Range,
    Timestamp,
    TraceEvent,
)
from gdb_etm.protocols.recorder import Chain, Foreseen, Leg, Recorder, Run, RunTable
from tests.protocols.etmv4.streams import Code, program

LONG = program(Code(0x1000, "00bf" * 1024))
SOURCE = TraceSource("ETM_0", "etmv4", {}, None, ())
FAULT = Exception_(90, 3, "HardFault", 3, 0x1004)

Told = Tuple[object, Optional[CycleCount], Optional[int]]


def history(*items: Union[int, Event]) -> ExecutionHistory:
    """Make a history of events and of consecutive instructions from 0x1000."""
    recorder = Recorder(RunTable(), lambda position: position)
    at = 0x1000
    for item in items:
        if isinstance(item, int):
            recorder.add(Leg((Range(at, at + 2 * item, item, Isa.T32, True),)), 0)
            at += 2 * item
        else:
            recorder.event(item)
    return ExecutionHistory(recorder, SOURCE, Blocks(LONG), BufferEnd.UNKNOWN)


def told(made: ExecutionHistory, first: int = 1, last: Optional[int] = None) -> List[Told]:
    """Return a listing's timed items: number or kind, count, timestamp."""
    found: List[Told] = []
    walk = made.walk(first, len(made) if last is None else last)
    for item, time in CycleClock(made).timed(walk, first):
        name = item.number if isinstance(item, TracedInstruction) else type(item).__name__ if item is not None else None
        if time is not None:
            stamp = time.timestamp.value if time.timestamp is not None else None
            found.append((name, time.cycles, stamp))
        elif not isinstance(item, TracedInstruction):
            found.append((name, None, None))
    return found


def test_table_a_8() -> None:
    # Three branches: at 0x1000; the fourth instruction after it, not taken; the second after that.
    example = history(1, Cycles(1, None), 4, Timestamp(2, 600, 6), 2, Cycles(3, 18), Timestamp(4, 1600, 16))
    assert told(example) == [
        (1, CycleCount(None, None), None),
        (5, None, 600),
        (7, CycleCount(18, 18), 1600),
    ]


def test_the_total_begins_anew_where_counts_are_unknown_or_lost() -> None:
    def counts(*items: Union[int, Event]) -> List[Optional[int]]:
        shown = [time for _, time, _ in told(history(*items)) if time is not None]
        return [count.total for count in shown]

    assert counts(1, Cycles(1, 20), 1, Cycles(2, 30), 1, Cycles(3, 40)) == [None, 30, 70]
    assert counts(1, Cycles(1, 20), 1, Cycles(2, None), 1, Cycles(3, 40)) == [None, None, 40]
    lost = [
        GapReason.OVERFLOW,
        GapReason.BAD_PACKET,
        GapReason.NOT_SYNCHRONISED,
        GapReason.OVERWRITTEN,
        GapReason.DISCARD,
    ]
    for reason in lost:
        assert counts(1, Cycles(1, 20), Gap(2, reason, ""), 1, Cycles(3, 30), 1, Cycles(4, 40)) == [None, None, 40]
    # Missing code or time in which nothing was traced hides no count.
    for reason in set(GapReason) - set(lost):
        assert counts(1, Cycles(1, 20), Gap(2, reason, ""), 1, Cycles(3, 30)) == [None, 30]


def test_what_times_belong_to() -> None:
    # To an exception, over a change of context; a timestamp also to an event, a count not.
    context = Context(80, 0, False, False, None, None)
    made = history(2, FAULT, context, Cycles(91, 7), Timestamp(92, 5, None), 1)
    assert told(made) == [("Exception_", CycleCount(7, None), 5), ("Context", None, None)]
    made = history(2, TraceEvent(90, 1), Cycles(91, 7), Timestamp(92, 5, None))
    assert told(made) == [(2, CycleCount(7, None), None), ("TraceEvent", None, 5)]
    # The second of two for the same instruction has a line of its own.
    made = history(2, Timestamp(91, 5, None), Timestamp(92, 6, None))
    assert told(made) == [(2, None, 5), (None, None, 6)]
    # Neither reaches over a gap, nor to before the history.
    made = history(Timestamp(1, 4, None), 1, Gap(2, GapReason.TRACE_ON, ""), Timestamp(3, 5, None), Cycles(4, 7), 1)
    assert told(made) == [(None, None, 4), ("Gap", None, None), (None, None, 5), (None, CycleCount(7, None), None)]


def test_a_listing_from_the_middle_leaves_out_what_belongs_to_the_instruction_before_it() -> None:
    made = history(2, Cycles(1, 5), Timestamp(2, 7, None), TraceEvent(3, 0), 3, Cycles(4, 6))
    assert told(made, 3) == [("TraceEvent", None, None), (5, CycleCount(6, 6), None)]
    assert told(made, 2, 2) == [(2, CycleCount(5, None), 7), ("TraceEvent", None, None)]


def in_runs(items: Sequence[Union[int, Event]], sizes: Sequence[int], chained: bool) -> ExecutionHistory:
    """Make the same history of runs that contain the events."""
    recorder = Recorder(RunTable(), lambda position: position)
    at, done = 0x1000, 0
    numbers: List[int] = []
    for size in sizes:
        legs: List[Leg] = []
        foreseen: List[Foreseen] = []
        for item in items[done : done + size]:
            if isinstance(item, int):
                legs.append(Leg((Range(at, at + 2 * item, item, Isa.T32, True),)))
                at += 2 * item
            else:
                foreseen.append(Foreseen(len(legs), item.offset, item))
        numbers.append(recorder.table.add(Run(1, [0] * len(legs), legs, tuple(foreseen))))
        done += size
    if chained:
        numbers = [recorder.table.add(Chain(numbers, recorder.table.runs))]
    recorder.extend(numbers, 0, len(sizes))
    return ExecutionHistory(recorder, SOURCE, Blocks(LONG), BufferEnd.UNKNOWN)


LOST = Gap(0, GapReason.OVERFLOW, "")
ITEMS = st.lists(
    st.integers(1, 3)
    | st.sampled_from([Cycles(0, None), LOST, Gap(0, GapReason.NO_CODE, ""), FAULT, TraceEvent(0, 1)])
    | st.builds(Cycles, st.just(0), st.integers(1, 9))
    | st.builds(Timestamp, st.just(0), st.integers(1, 9), st.none()),
    min_size=100,
    max_size=150,
)


@settings(max_examples=30)
@given(ITEMS, st.lists(st.integers(1, 4), min_size=150, max_size=150), st.booleans())
def test_from_anywhere_it_is_the_same(items: List[Union[int, Event]], sizes: List[int], chained: bool) -> None:
    whole = told(history(*items))
    length = sum(item for item in items if isinstance(item, int))
    for made in (history(*items), in_runs(items, sizes, chained)):
        assert told(made) == whole
        for first in range(2, length, 7):
            # What comes before the first instruction belongs to the one before it, in part.
            begin = [at for at, (name, *_) in enumerate(whole) if isinstance(name, int) and name >= first]
            part = told(made, first)
            end = whole[begin[0] :] if begin else []
            assert part[len(part) - len(end) :] == end


def test_a_history_without_times() -> None:
    assert not CycleClock(history(3, FAULT, 1)).has_times
    assert CycleClock(history(3, Cycles(1, None))).has_times
