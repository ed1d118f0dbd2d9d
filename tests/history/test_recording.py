"""Property test and real captures: recordings to bytes and back."""

from __future__ import annotations

from typing import List, Tuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.history.build import DecoderCache, StreamPart, decode_part, parts
from gdb_etm.history.columns import ColumnError
from gdb_etm.history.errand import read_result, run_errand, write_errand
from gdb_etm.history.recording import read_recording, write_recording
from gdb_etm.program.isa import Isa
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    DataGap,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Range,
    Timestamp,
    TraceEvent,
    Transfer,
)
from gdb_etm.protocols.recorder import Chain, Foreseen, Leg, Recorder, Run, RunTable
from gdb_etm.snapshot.reader import read_snapshot
from tests.shared import capture_folder

OFFSETS = st.integers(0, 1 << 40)
WORDS = st.integers(0, (1 << 64) - 1)
MAYBE = st.none() | WORDS
TEXTS = st.text(max_size=8)
REASONS = st.sampled_from(GapReason)
EVENTS = {
    Gap: st.builds(Gap, OFFSETS, REASONS, TEXTS, MAYBE),
    DataGap: st.builds(DataGap, OFFSETS, REASONS, TEXTS),
    Exception_: st.builds(Exception_, OFFSETS, st.integers(0, 1023), TEXTS, st.none() | st.integers(0, 511), MAYBE),
    ExceptionReturn: st.builds(ExceptionReturn, OFFSETS),
    Context: st.builds(Context, OFFSETS, st.none() | st.integers(0, 3), st.booleans(), st.booleans(), MAYBE, MAYBE),
    Timestamp: st.builds(Timestamp, OFFSETS, WORDS, MAYBE),
    Cycles: st.builds(Cycles, OFFSETS, MAYBE),
    TraceEvent: st.builds(TraceEvent, OFFSETS, st.integers(0, 3)),
}
VALUES = st.none() | st.integers(0, (1 << 128) - 1)
TRANSFERS = st.lists(
    st.builds(
        Transfer,
        OFFSETS,
        st.none() | st.booleans(),
        st.none() | st.integers(1, 16),
        MAYBE,
        VALUES,
        st.booleans(),
        st.sampled_from(TransferRole),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
OUTCOMES = st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=1, max_size=3).map(tuple)
RANGES = st.builds(
    lambda start, count, isa, taken: Range(start, start + 4 * count, count, isa, taken),
    st.integers(0, 1 << 48),
    st.integers(1, 1000),
    st.sampled_from(Isa),
    st.booleans(),
)
LEGS = st.lists(RANGES, min_size=1, max_size=3)
RUNS = st.tuples(st.lists(LEGS, max_size=3), st.lists(st.one_of(*EVENTS.values()), max_size=2), st.integers(0, 9))
ITEMS = st.lists(st.one_of(LEGS, RUNS, *EVENTS.values()), max_size=20)


@st.composite
def recorders(draw: st.DrawFn) -> Recorder:
    """Make recorders with anything that a recorder can hold."""
    recorder = Recorder(RunTable(), lambda position: position)
    known = {}
    for position, item in enumerate(draw(ITEMS)):
        if isinstance(item, list):
            recorder.add(known.setdefault(tuple(item), Leg(tuple(item))), position)
            for kept, values in ((recorder.transfers, TRANSFERS), (recorder.outcomes, OUTCOMES)):
                if draw(st.booleans()):
                    kept[len(recorder.order) - 1] = draw(values)
        elif not hasattr(item, "_fields"):
            legs, events, length = item
            foreseen = tuple(Foreseen(draw(st.integers(0, len(legs))), 0, event) for event in events)
            run = Run(length, [-1] * len(legs), [Leg(tuple(leg)) for leg in legs], foreseen)
            numbers = [recorder.table.add(run)]
            if draw(st.booleans()):
                numbers.append(recorder.table.add(Chain(numbers * 2, recorder.table.runs)))
            recorder.extend(numbers, position, position + length)
        else:
            recorder.event(item)
            if draw(st.booleans()):
                recorder.event_transfers[len(recorder.events) - 1] = draw(TRANSFERS)
    return recorder


def content(recorder: Recorder) -> Tuple[object, ...]:
    """Everything that a history takes from a recorder."""
    runs = [[(at, item) for at, item in run.items()] for run in recorder.table.runs]
    runs = [[(at, item if isinstance(item, Range) else item._replace(offset=0)) for at, item in run] for run in runs]
    executed = [(runs[number], position) for number, position in zip(recorder.order, recorder.positions())]
    events = list(zip(map(recorder.placed, recorder.events), recorder.event_entries))
    return executed, events, recorder.transfers, recorder.event_transfers, recorder.outcomes


def empty() -> Recorder:
    """Make a recorder to read into."""
    return Recorder(RunTable(), lambda position: position)


def same(offset: int) -> int:
    """Give an offset as it is."""
    return offset


def test_there_is_no_other_event() -> None:
    assert set(EVENTS) == set(get_args(Event))


@given(recorders())
def test_round_trip(recorder: Recorder) -> None:
    back = empty()
    read_recording(write_recording(recorder), back, (), same)
    assert content(back) == content(recorder)
    # More may be recorded after it.
    assert back.order.typecode == recorder.order.typecode and back.marks.typecode == recorder.marks.typecode


@given(recorders())
def test_offsets_are_translated_and_what_came_before_comes_first(recorder: Recorder) -> None:
    lost = [Gap(0, GapReason.NOT_SYNCHRONISED, "lost")]
    back = empty()
    read_recording(write_recording(recorder), back, lost, lambda offset: offset + 5)
    assert back.events == lost + [event._replace(offset=event.offset + 5) for event in recorder.events]
    for index, found in recorder.event_transfers.items():
        assert back.event_transfers[index + 1] == tuple(one._replace(offset=one.offset + 5) for one in found)


@given(recorders(), st.data())
def test_broken_bytes_are_refused_or_give_what_holds_together(recorder: Recorder, data: st.DataObject) -> None:
    whole = write_recording(recorder)
    broken = bytearray(whole)
    if data.draw(st.booleans()):
        del broken[data.draw(st.integers(0, len(whole) - 1)) :]
    else:
        broken[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    back = empty()
    try:
        read_recording(bytes(broken), back, (), same)
    except ColumnError:
        return
    assert len(back.order) == len(list(back.positions())) and len(back.events) == len(back.event_entries)
    assert all(number < len(back.table.runs) for number in back.order)
    assert all(0 <= place <= len(back.order) for place in back.event_entries)
    assert all(key < len(back.order) for key in [*back.transfers, *back.outcomes])
    assert all(key < len(back.events) for key in back.event_transfers)


def test_what_is_too_big_is_not_written() -> None:
    recorder = empty()
    recorder.event(Cycles(0, 1 << 70))
    with pytest.raises(OverflowError):
        write_recording(recorder)


def both(part: StreamPart) -> Tuple[Recorder, Recorder]:
    """Decode a part here, and by way of an errand."""
    told: List[int] = []
    result = run_errand(write_errand(part), told.append)
    assert sum(told) == part.size
    return decode_part(part, DecoderCache()), read_result(part, result)


ERRANDS = ["juno_r1_1", "armv8_1m_branches", "v7m-svc", "a57_single_step", "a55-test-tpiu"]
ERRANDS += ["TC2", "Snowball", "lpc1769-m3"]


@pytest.mark.parametrize("name", ERRANDS)
def test_errands(name: str) -> None:
    for capture in read_snapshot(capture_folder(name))[:1]:
        for part in parts(capture):
            here, there = both(part)
            assert content(there) == content(here)


def test_an_errand_that_is_none_is_refused() -> None:
    for errand in (b"", b"x" * 100):
        with pytest.raises(ColumnError):
            run_errand(errand)
