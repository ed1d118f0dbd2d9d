"""Vectors worked by hand from the specification (5.2.14 L7831-7912, 5.2.16 L7958-7984, table A-8 L19405-19425): what a
cycle count and a timestamp belong to, and the total.
"""

from __future__ import annotations

from typing import List, Optional, Tuple, Union

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.clock import Clock, Count
from gdb_etm.history.store import History, Instruction
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
from gdb_etm.protocols.recorder import Leg, Recorder, RunTable
from tests.protocols.etmv4.streams import Code, program

MEMORY = program(Code(0x1000, "00bf" * 16))
SOURCE = TraceSource("ETM_0", "etmv4", {}, None, ())
FAULT = Exception_(90, 3, "HardFault", 3, 0x1004)

Told = Tuple[object, Optional[Count], Optional[int]]


def history(*items: Union[int, Event]) -> History:
    """Make a history of events and of numbers of instructions that ran one after the other from 0x1000 on."""
    recorder = Recorder(RunTable(), lambda position: position)
    at = 0x1000
    for item in items:
        if isinstance(item, int):
            recorder.add(Leg((Range(at, at + 2 * item, item, Isa.T32, True),)), 0)
            at += 2 * item
        else:
            recorder.event(item)
    return History(recorder, SOURCE, Blocks(MEMORY), BufferEnd.UNKNOWN)


def told(made: History, first: int = 1, last: Optional[int] = None) -> List[Told]:
    """Give what a listing shows that has a time, or is no instruction: its number or kind, the count, the timestamp."""
    found: List[Told] = []
    walk = made.walk(first, len(made) if last is None else last)
    for item, time in Clock(made).timed(walk, first > 1):
        name = item.number if isinstance(item, Instruction) else type(item).__name__ if item is not None else None
        if time is not None:
            stamp = time.timestamp.value if time.timestamp is not None else None
            found.append((name, time.cycles, stamp))
        elif not isinstance(item, Instruction):
            found.append((name, None, None))
    return found


def test_table_a_8() -> None:
    # Three branches: at 0x1000; the fourth instruction after it, not taken; the second after that.
    example = history(
        1, Cycles(1, None), 4, Timestamp(2, 600, 6), 2, Cycles(3, 18), Timestamp(4, 1600, 16)
    )
    assert told(example) == [
        (1, Count(None, None), None),
        (5, None, 600),
        (7, Count(18, 18), 1600),
    ]


def test_the_total_begins_anew_where_counts_are_unknown_or_lost() -> None:
    def counts(*items: Union[int, Event]) -> List[Optional[int]]:
        shown = [time for _, time, _ in told(history(*items)) if time is not None]
        return [count.total for count in shown]

    assert counts(1, Cycles(1, 20), 1, Cycles(2, 30), 1, Cycles(3, 40)) == [None, 30, 70]
    assert counts(1, Cycles(1, 20), 1, Cycles(2, None), 1, Cycles(3, 40)) == [None, None, 40]
    lost = [GapReason.OVERFLOW, GapReason.BAD_PACKET, GapReason.NOT_SYNCHRONISED, GapReason.DISCARD]
    for reason in lost:
        assert counts(1, Cycles(1, 20), Gap(2, reason, ""), 1, Cycles(3, 30), 1, Cycles(4, 40)) == [None, None, 40]
    # Missing code or time in which nothing was traced hides no count.
    for reason in set(GapReason) - set(lost):
        assert counts(1, Cycles(1, 20), Gap(2, reason, ""), 1, Cycles(3, 30)) == [None, 30]


def test_what_times_belong_to() -> None:
    # To an exception, over a change of context; a timestamp also to an event, a count not.
    context = Context(80, 0, False, False, None, None)
    made = history(2, FAULT, context, Cycles(91, 7), Timestamp(92, 5, None), 1)
    assert told(made) == [("Exception_", Count(7, None), 5), ("Context", None, None)]
    made = history(2, TraceEvent(90, 1), Cycles(91, 7), Timestamp(92, 5, None))
    assert told(made) == [(2, Count(7, None), None), ("TraceEvent", None, 5)]
    # The second of two for the same instruction has a line of its own.
    made = history(2, Timestamp(91, 5, None), Timestamp(92, 6, None))
    assert told(made) == [(2, None, 5), (None, None, 6)]
    # Neither reaches over a gap, nor to before the history.
    made = history(Timestamp(1, 4, None), 1, Gap(2, GapReason.TRACE_ON, ""), Timestamp(3, 5, None), Cycles(4, 7), 1)
    assert told(made) == [(None, None, 4), ("Gap", None, None), (None, None, 5), (None, Count(7, None), None)]


def test_a_listing_from_the_middle_leaves_out_what_belongs_to_the_instruction_before_it() -> None:
    made = history(2, Cycles(1, 5), Timestamp(2, 7, None), TraceEvent(3, 0), 3, Cycles(4, 6))
    assert told(made, 3) == [("TraceEvent", None, None), (5, Count(6, 6), None)]
    assert told(made, 2, 2) == [(2, Count(5, None), 7), ("TraceEvent", None, None)]


def test_a_history_without_times() -> None:
    assert not Clock(history(3, FAULT, 1)).has_times
    assert Clock(history(3, Cycles(1, None))).has_times
