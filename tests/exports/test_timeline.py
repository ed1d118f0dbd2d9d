"""The board's truth: timelines, as the file for Perfetto has them.

The file is read by Perfetto's own messages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from gdb_etm.analysis.timeline import CounterTrack, Instant, Timeline, TimelineReader
from gdb_etm.exports.encode import write
from gdb_etm.exports.perfetto import perfetto_document
from tests.analysis.programs import Ran, ran
from tests.history.executed import Taken

perfetto_trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def _timeline(found: Ran) -> Timeline:
    reader = TimelineReader(found.calls, len(found.history), lambda number: number, lambda number: "thread %d" % number)
    return reader.timeline("instructions")


def _read(timeline: Timeline, path: Path) -> Any:
    write("perfetto", str(path), perfetto_document(timeline, "a program"))
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def _events(trace: Any) -> List[Tuple[int, str, int, str]]:
    # Time, track, type, name.
    tracks = {one.track_descriptor.uuid: one.track_descriptor.name for one in trace.packet if one.track_descriptor.uuid}
    names: Dict[int, str] = {}
    found = []
    for packet in trace.packet:
        names.update((one.iid, one.name) for one in packet.interned_data.event_names)
        if packet.HasField("track_event"):
            event = packet.track_event
            found.append((packet.timestamp, tracks[event.track_uuid], event.type, names.get(event.name_iid, "")))
    return found


@pytest.mark.parametrize("program", ("interrupts", "sort", "tables", "tasks"))
def test_what_is_active_innermost_is_what_ran(program: str, tmp_path: Path) -> None:
    found = ran(program)
    kinds = perfetto_trace_pb2.TrackEvent
    active: Dict[str, List[str]] = {}
    events = _events(_read(_timeline(found), tmp_path / "run.pftrace"))
    assert [one[0] for one in events] == sorted(one[0] for one in events)
    at = 0
    for number, address in enumerate(found.addresses):
        while at < len(events) and events[at][0] <= number:
            _, track, kind, name = events[at]
            if kind == kinds.TYPE_SLICE_BEGIN:
                active.setdefault(track, []).append(name)
            else:
                active[track].pop()
            at += 1
        function = found.sources.function_at(address)
        assert function is not None
        # An exception's handlers come before the thread, and the innermost before the others.
        handlers = [name for name in sorted(active) if name.startswith("exceptions") and active[name]]
        threads = [stack[-1] for name, stack in active.items() if not name.startswith("exceptions") and stack]
        assert function.name in ([active[handlers[-1]][-1]] if handlers else threads), number
    for _, track, kind, _ in events[at:]:
        assert kind == kinds.TYPE_SLICE_END
        active[track].pop()
    assert not any(active.values())


def test_each_exception_has_a_slice_of_its_own() -> None:
    found = ran("interrupts")
    timeline = _timeline(found)
    taken = sum(isinstance(item, Taken) for item in found.items)
    tracks = [number for number, name in enumerate(timeline.tracks) if name.startswith("exceptions")]
    outer: Dict[int, int] = dict.fromkeys(tracks, 0)
    begun = 0
    for event in timeline.events:
        if event.track in outer:
            begun += event.name is not None and not outer[event.track]
            outer[event.track] += 1 if event.name is not None else -1
    assert begun == taken


def test_instants_gaps_and_counters_are_on_tracks_of_their_own(tmp_path: Path) -> None:
    timeline = Timeline(
        "cycles",
        ("main",),
        (),
        (Instant(5, "bad packet"),),
        (Instant(7, "here"),),
        (CounterTrack("x", ((1, 2), (3, 4))),),
    )
    trace = _read(timeline, tmp_path / "run.pftrace")
    kinds = perfetto_trace_pb2.TrackEvent
    assert _events(trace) == [
        (5, "not seen", kinds.TYPE_INSTANT, "bad packet"),
        (7, "marks", kinds.TYPE_INSTANT, "here"),
        (1, "x", kinds.TYPE_COUNTER, ""),
        (3, "x", kinds.TYPE_COUNTER, ""),
    ]
    values = [one.track_event.counter_value for one in trace.packet if one.track_event.type == kinds.TYPE_COUNTER]
    assert values == [2, 4]
    names = [one.track_descriptor.name for one in trace.packet if one.track_descriptor.uuid == 1]
    assert names == ["a program (1 ns is one of: cycles)"]
