"""Property test and real captures: the store against a plain list."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.build import build
from gdb_etm.history.store import ExecutionHistory, Span, TracedInstruction
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Event, Gap, Range, TraceEvent
from gdb_etm.protocols.recorder import Leg, Recorder, Run, RunTable
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.histories import same
from tests.shared import capture_folder

# movs r0, #1 and mov.w r0, #1 in turn, twenty times each, from 0x1000 on.
MEMORY = program(Code(0x1000, "0120 4ff00100" * 20))
SIZES = [2, 4] * 20
ADDRESSES = [0x1000 + sum(SIZES[:index]) for index in range(40)]


class Entry(NamedTuple):
    """An executed instruction in the plain list, or an event."""

    what: Union[TracedInstruction, Event]
    # How many instructions were executed before it.
    before: int


def plain_list(history: ExecutionHistory) -> List[Entry]:
    """Expand a history from its elements."""
    found: List[Entry] = []
    number = 0
    for _, element in history.elements():
        if not isinstance(element, Range):
            found.append(Entry(element, number))
            continue
        address = element.start
        while address < element.end:
            size = 4
            if element.isa is Isa.T32:
                size = SIZES[ADDRESSES.index(address)]
            number += 1
            found.append(Entry(TracedInstruction(number, address, size, element.isa), number - 1))
            address += size
        assert address == element.end
    return found


def part(entries: List[Entry], first: int, last: int) -> List[Union[TracedInstruction, Event]]:
    """Return instructions first to last, with all events around them."""
    return [
        entry.what
        for entry in entries
        if (
            first <= entry.what.number <= last
            if isinstance(entry.what, TracedInstruction)
            else first - 1 <= entry.before <= last
        )
    ]


def make(items: List[Union[int, List[List[Tuple[int, int]]]]]) -> ExecutionHistory:
    """Make a history of events and runs.

    A number is an event, a list is a run of legs, each of ranges (index of instruction, count).
    """
    recorder = Recorder(RunTable(), same)
    position = 0
    for item in items:
        position += 8
        if isinstance(item, int):
            recorder.event(TraceEvent(position, item))
            continue
        legs = [Leg(tuple(executed(start, count) for start, count in leg)) for leg in item]
        number = recorder.table.add(Run(8, range(len(legs)), legs))
        recorder.extend([number], position, position + 8)
    source = TraceSource("ETM_0", "etmv4", {}, None, ())
    return ExecutionHistory(recorder, source, Blocks(MEMORY), BufferEnd.STARTED)


def executed(start: int, count: int) -> Range:
    count = min(count, len(SIZES) - start)
    end = ADDRESSES[start] + sum(SIZES[start : start + count])
    return Range(ADDRESSES[start], end, count, Isa.T32, start % 2 == 0)


ranges = st.tuples(st.integers(0, 39), st.integers(1, 6))
runs = st.lists(st.lists(ranges, min_size=1, max_size=3), min_size=1, max_size=3)
histories = st.lists(st.one_of(st.integers(0, 3), runs), max_size=10).map(make)


def spans_expanded(items: Iterator[Union[Span, Event]]) -> List[Union[TracedInstruction, Event]]:
    found: List[Union[TracedInstruction, Event]] = []
    for item in items:
        if not isinstance(item, Span):
            found.append(item)
            continue
        number, whole = item
        at = ADDRESSES.index(whole.start)
        for index in range(at, at + whole.instructions):
            found.append(TracedInstruction(number + index - at, ADDRESSES[index], SIZES[index], Isa.T32))
        assert found[-1].address + found[-1].size == whole.end  # type of the last is Instruction
    return found


@given(histories, st.data())
def test_any_part_agrees_with_the_plain_list(history: ExecutionHistory, data: st.DataObject) -> None:
    entries = plain_list(history)
    total = sum(isinstance(entry.what, TracedInstruction) for entry in entries)
    assert len(history) == total
    first = data.draw(st.integers(1, total + 1))
    last = data.draw(st.integers(first - 1, total))
    expected = part(entries, first, last)
    assert list(history.walk(first, last)) == expected
    assert spans_expanded(history.spans(first, last)) == expected


@given(histories)
def test_the_whole_and_every_instruction(history: ExecutionHistory) -> None:
    entries = plain_list(history)
    assert list(history.walk(1, len(history))) == [entry.what for entry in entries]
    instructions = [entry.what for entry in entries if isinstance(entry.what, TracedInstruction)]
    assert [history.instruction(number) for number in range(1, len(history) + 1)] == instructions
    for number in (0, -1, len(history) + 1):
        with pytest.raises(IndexError):
            history.instruction(number)


@given(histories)
def test_events_know_their_place(history: ExecutionHistory) -> None:
    before = [entry.before for entry in plain_list(history) if not isinstance(entry.what, TracedInstruction)]
    assert [history.number_at(index) for index in range(len(history.events))] == before


def test_a_cut_range_keeps_its_branch_only_at_its_end() -> None:
    # Range.taken tells of the last instruction; without that one there is no branch that was not taken.
    history = make([[[(1, 4)]]])
    (whole,) = history.spans(1, 4)
    assert whole == Span(1, Range(0x1002, 0x100E, 4, Isa.T32, False))
    assert list(history.spans(1, 3)) == [Span(1, Range(0x1002, 0x100C, 3, Isa.T32, True))]
    assert list(history.spans(2, 4)) == [Span(2, Range(0x1006, 0x100E, 3, Isa.T32, False))]
    assert list(history.spans(2, 2)) == [Span(2, Range(0x1006, 0x1008, 1, Isa.T32, True))]


def test_empty_histories() -> None:
    assert len(make([])) == 0
    assert list(make([]).elements()) == []
    assert list(make([]).walk(1, 0)) == []
    with pytest.raises(IndexError):
        make([]).instruction(1)
    only_events = make([1, 2])
    assert [event.number for event in only_events.walk(1, 0) if isinstance(event, TraceEvent)] == [1, 2]


def test_offsets_of_elements() -> None:
    # A run's legs lie where their packets do, counted from the run's first byte.
    history = make([3, [[(0, 1)], [(2, 1), (4, 2)]]])
    assert [offset for offset, _ in history.elements()] == [8, 16, 17, 17]


def test_real_capture() -> None:
    # 18,878 instructions of A64 with many gaps between them.
    history = build(read_snapshot(capture_folder("juno_r1_1"))[0])[0x10]
    entries = plain_list(history)
    assert list(history.walk(1, len(history))) == [entry.what for entry in entries]
    assert sum(isinstance(entry.what, Gap) for entry in entries) > 8000
    middle = len(history) // 2
    for first in range(middle, middle + 300):
        assert list(history.walk(first, first + 9)) == part(entries, first, first + 9)
    assert history.instruction(middle).number == middle
