"""Property test: requests and profiles come out of a bundle unchanged.

Texts are worked by hand.
"""

from __future__ import annotations

import json
import os
from typing import List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.bundle.privacy import Scrubber
from gdb_etm.bundle.values import from_json, to_json
from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import CaptureError
from gdb_etm.profiles.library import built_in, load
from gdb_etm.profiles.profile import Profile
from gdb_etm.traceunit.actions import Count, Counter, Mark, NextState, Rule, Trigger
from gdb_etm.traceunit.events import (
    ALWAYS,
    Accessed,
    AccessType,
    And,
    AtZero,
    Committed,
    DataValue,
    Event,
    Executed,
    ExecutedIn,
    InState,
    Not,
    Or,
)
from gdb_etm.traceunit.options import (
    AddressRange,
    Conditionals,
    DataTrace,
    ExceptionLevel,
    ExceptionTrace,
    QElements,
    TraceOptions,
)

HOME = "/".join(("", "home", "lovelace"))
_ADDRESS = st.integers(0, 0xFFFFFFFF)
_LEAF: st.SearchStrategy[Event] = st.one_of(
    _ADDRESS.map(Executed),
    st.tuples(_ADDRESS, _ADDRESS).map(lambda pair: ExecutedIn(AddressRange(*sorted(pair)))),
    st.builds(Accessed, st.builds(AddressRange, _ADDRESS, _ADDRESS), st.sampled_from(AccessType), st.none()),
    st.builds(
        Accessed,
        st.builds(AddressRange, _ADDRESS, _ADDRESS),
        value=st.builds(DataValue, _ADDRESS, st.just(4), _ADDRESS),
    ),
    st.just(AtZero(0)),
    st.just(ALWAYS),
    _ADDRESS.map(lambda address: Committed((Executed(address),), True)),
)
_EVENTS: st.SearchStrategy[Event] = st.recursive(
    _LEAF,
    lambda inner: st.one_of(st.builds(And, inner, inner), st.builds(Or, inner, inner), st.builds(Not, inner)),
    max_leaves=5,
)


@given(st.lists(_EVENTS, max_size=4), st.integers(1, 0x6E), st.one_of(st.none(), st.integers(1, 4096)))
def test_a_request_comes_back_as_it_was(events: List[Event], trace_id: int, cycles: Optional[int]) -> None:
    actions = (Trigger(), Mark(1, True), Count(0), NextState(0, 1))
    rules = tuple(Rule(event, actions[n % 4], "text") for n, event in enumerate(events))
    options = TraceOptions(
        trace_id=trace_id,
        cycle_count=cycles,
        data=DataTrace.BOTH,
        conditional=Conditionals.ALL,
        q_elements=QElements.COUNTS,
        exceptions=ExceptionTrace.ONLY,
        levels=(ExceptionLevel(3), ExceptionLevel(0, True)),
        include=(AddressRange(0, 0x100),),
        start_at=(4, 8),
        rules=(*rules, Rule(InState(1), NextState(0, 1))),
        counters=(Counter(0, 5, is_periodic=True),),
        stall=True,
        stall_level=3,
    )
    assert from_json(TraceOptions, json.loads(json.dumps(to_json(options)))) == options


@pytest.mark.parametrize("name", sorted(built_in()))
def test_a_profile_comes_back_as_it_was(name: str) -> None:
    profile = load(name)
    assert from_json(Profile, json.loads(json.dumps(to_json(profile)))) == profile


def test_a_choice_comes_back_as_it_was() -> None:
    choice = Choice(1, 0x80001000, {0x80004000: 3})
    assert from_json(Choice, json.loads(json.dumps(to_json(choice)))) == choice


def test_nothing_else_is_made() -> None:
    for found in ({"is": "Popen", "args": "sh"}, {"is": "Path"}, {}, "x", None, [], {"is": "Executed", "address": "x"}):
        with pytest.raises(CaptureError):
            from_json(Event, found)
    with pytest.raises(CaptureError):
        from_json(TraceOptions, {"trace_id": True})


def test_paths_and_names_are_taken_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("LOGNAME", "lovelace")
    scrub = Scrubber(["/srv/secret project/app.elf"]).text
    assert scrub("cannot read /srv/secret project/app.elf: gone") == "cannot read (path): gone"
    assert scrub(HOME + "/x/y.c:12") == "(path):12"
    assert scrub("~/x/y.c and C:\\Users\\Ada\\app.elf") == "(path) and (path)"
    assert scrub("probe of Lovelace") == "probe of (name)"
    assert scrub(os.getcwd()) == "(path)"
    # What registers say stays as it is.
    for text in (
        "TRCDEVARCH 0x47724a13: an ETMv4.2: its clock runs",
        "FFSR 0x00000000: running; FFCR 0x00000133: formatting",
        "capture 1: ID 0x10 91% of 4096 bytes",
        "DP CTRL/STAT 0xf0000f40: debug and system domain have power",
        "start/stop block is off (TRCVICTLR.SSSTATUS)",
    ):
        assert scrub(text) == text
