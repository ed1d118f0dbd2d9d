"""Property test: events and actions as words; some worked by hand."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.session.event_words import ACTIONS, EVENTS, action_of, event_of
from gdb_etm.traceunit.actions import (
    Count,
    FirstState,
    Mark,
    NextState,
    Output,
    Reload,
    StartTracing,
    StopTracing,
    Timestamp,
    Trace,
    Trigger,
)
from gdb_etm.traceunit.addresses import AddressRange
from gdb_etm.traceunit.events import (
    ALWAYS,
    NEVER,
    Accessed,
    AccessType,
    And,
    AtZero,
    Committed,
    DataValue,
    Event,
    Executed,
    ExecutedIn,
    InContext,
    InMachine,
    Input,
    InState,
    Not,
    Or,
    Watched,
)
from tests.firmware.build import elf, symbol

PATH = elf("interrupts")
PLACES = ElfLocations(OfflineDebugger([PATH]))

_numbers = st.integers(0, 0xFFFFFFFF)
_ranges = st.tuples(_numbers, _numbers).filter(lambda pair: pair[0] != pair[1]).map(lambda p: AddressRange(*sorted(p)))
_points = _numbers.map(lambda address: AddressRange(address, address))
_values = st.builds(DataValue, st.integers(0, 255), st.sampled_from((1, 2, 4, 8)), st.integers(0, 255), st.booleans())
_comparable = st.one_of(
    _numbers.map(Executed),
    _ranges.map(ExecutedIn),
    st.builds(Accessed, _ranges | _points, st.sampled_from(AccessType), st.none() | _values),
)
_leaves = st.one_of(
    _comparable,
    st.integers(0, 7).map(Watched),
    st.integers(0, 3).map(AtZero),
    st.integers(0, 3).map(InState),
    st.integers(0, 255).map(Input),
    _numbers.map(InContext),
    _numbers.map(InMachine),
    st.sampled_from((ALWAYS, NEVER)),
    st.builds(Committed, st.lists(_comparable, min_size=1, max_size=3).map(tuple), st.booleans()),
)


def _negated(event: Event) -> Event:
    return event.of if isinstance(event, Not) else Not(event)


_events = st.recursive(
    _leaves,
    lambda inner: st.one_of(inner.map(_negated), st.builds(And, inner, inner), st.builds(Or, inner, inner)),
    max_leaves=6,
)


def flat(event: Event) -> str:
    # "a and (b and c)" is "a and b and c".
    if isinstance(event, Not):
        return "not(%s)" % flat(event.of)
    if isinstance(event, (And, Or)):
        kind = type(event)
        parts: Sequence[Event] = _parts(event, kind)
        return "%s(%s)" % (kind.__name__, ", ".join(map(flat, parts)))
    return repr(event)


def _parts(event: Event, kind: type) -> Sequence[Event]:
    if isinstance(event, (And, Or)) and isinstance(event, kind):
        return [*_parts(event.first, kind), *_parts(event.second, kind)]
    return [event]


@given(_events)
def test_what_is_printed_is_read_as_the_same(event: Event) -> None:
    assert flat(event_of(str(event), PLACES, {})) == flat(event)


@given(
    st.one_of(
        st.sampled_from((Trigger(), StartTracing(), StopTracing(), Trace(), Timestamp(), FirstState(), Mark())),
        st.integers(0, 3).flatmap(lambda n: st.sampled_from((Mark(n), Output(n), Count(n), Reload(n)))),
        st.builds(NextState, st.integers(0, 3), st.integers(0, 3)),
    )
)
def test_actions_too(action: object) -> None:
    assert action_of(str(action)) == action


def test_locations() -> None:
    note, pend = symbol(PATH, "note"), symbol(PATH, "pend")
    assert event_of("exec note", PLACES, {}) == Executed(note)
    assert event_of("exec note,pend", PLACES, {}) == Or(Executed(note), Executed(pend))
    assert event_of("in note", PLACES, {}) == ExecutedIn(AddressRange(note, note + 19))
    assert event_of("in *0x%x" % note, PLACES, {}) == Executed(note)
    assert event_of("exec note and (input irq or input 2)", PLACES, {"irq": 7}) == And(
        Executed(note), Or(Input(7), Input(2))
    )
    # "not" binds before "and", "and" before "or".
    assert event_of("not dwt 0 and dwt 1 or dwt 2", None, {}) == Or(And(Not(Watched(0)), Watched(1)), Watched(2))
    assert event_of("load *0x20000000 == 5", PLACES, {}) == Accessed(
        AddressRange(0x20000000, 0x20000000), AccessType.LOAD, DataValue(5)
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r"an event \(exec, in, .*\) is missing"),
        ("jump 5", '"jump" is no event; they are: exec, in, '),
        ("exec", "LOCATION after exec is missing"),
        ("exec and always", 'LOCATION after exec is missing before "and"'),
        ("always and", r"an event \(.*\) is missing"),
        ("(always", r'a "\)" is missing after "always"'),
        ("always)", r'"\)" is left over after the event'),
        ("always never", '"never" is left over after the event'),
        ("exec 0x10-0x20", 'exec is one instruction; "in 0x10-0x20" is a range'),
        ("in 0x20-0x10", "the range 0x20-0x10 ends before it begins"),
        ("exec note", "nothing here finds locations by name"),
        ("dwt x", '"x" is not a number'),
        ("input irq", 'no external input "irq": give its number'),
        ("load 0x10 ==", "a value is missing"),
        ("load 0x10 == 5 size", "a number of bytes is missing"),
    ],
)
def test_what_is_no_event(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        event_of(text, None, {})


@pytest.mark.parametrize(
    "text, message",
    [
        ("", '"" is no action; they are: trigger, '),
        ("jump", '"jump" is no action'),
        ("count", "count takes N"),
        ("trigger 5", "trigger takes nothing more"),
        ("mark 1 2", r"mark takes \[N\]"),
        ("next-state a", '"a" is not a number'),
        ("count -1", "-1 is negative"),
    ],
)
def test_what_is_no_action(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        action_of(text)


def test_every_word_begins_something() -> None:
    for word, wanted in EVENTS.items():
        assert event_of(_example(word, wanted), PLACES, {}) is not None
    for word, wanted in ACTIONS.items():
        assert action_of("%s %s" % (word, {"": "", "N": "1"}.get(wanted, ""))) is not None


def _example(word: str, wanted: Optional[str]) -> str:
    examples = {"LOCATION": "note", "DATA": "0x20000000", "N": "0", "ID": "1", "EVENT": "exec note"}
    return "%s %s" % (word, examples.get(wanted or "", ""))
