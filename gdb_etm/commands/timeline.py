"""``etm timeline``: which functions were active when, for Perfetto."""

from __future__ import annotations

import os
from typing import Iterator, List

from gdb_etm.analysis.timeline import CounterTrack, TimeAfter
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import path
from gdb_etm.commands.profile import WITH_CYCLES, encode_beside
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.exports.formats import TIMELINE_FORMATS, format_of
from gdb_etm.exports.perfetto import perfetto_document
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS, clock_of, timeline_of
from gdb_etm.session.evaluation import Moment, moment
from gdb_etm.session.objects import object_at
from gdb_etm.session.session import DebugSession
from gdb_etm.session.stores import stores
from gdb_etm.views.text import plural
from gdb_etm.views.writes import run_value

EXPORT = path(
    "--export", "the file to write; its name ends with %s" % ", ".join(TIMELINE_FORMATS), "FILE", required=True
)
VARIABLE = Argument(
    "--variable", str, "with the values that were stored to it; may be given more than once", "EXPR", many=True
)


def run_timeline(session: DebugSession, values: Values) -> Iterator[str]:
    """Write a timeline."""
    file = values.get(EXPORT) or ""
    unit = CYCLES if values.get(WITH_CYCLES) else INSTRUCTIONS
    decoded = session.shown(values.get(TRACE_ID))
    _, name = format_of(file, TIMELINE_FORMATS)
    timeline = timeline_of(session.debugger, decoded, unit)
    clock = clock_of(decoded, unit)
    wanted = values.all(VARIABLE)
    counters: List[CounterTrack] = []
    if wanted:
        at = moment(session, None, values.get(TRACE_ID), needs_position=False)
        counters = [_counter(at, text, clock) for text in wanted]
        yield from at.news()
    program = ", ".join(map(os.path.basename, session.debugger.program_files()))
    document = perfetto_document(timeline._replace(counters=tuple(counters)), program)
    encode_beside("perfetto", os.path.abspath(file), document)
    begun = sum(event.name is not None for event in timeline.events)
    tracks = plural(len(timeline.tracks), "track")
    yield "written to %s (%s): %s on %s, in %s" % (file, name, plural(begun, "slice"), tracks, unit)


def _counter(at: Moment, text: str, clock: TimeAfter) -> CounterTrack:
    # The values that were stored, as far as they are known.
    found = stores(at, object_at(at, text), None)
    points = []
    for run in reversed(found.runs):
        known, _, _ = run_value(run)
        values = [one for one in known if one is not None]
        if run.number >= 1 and values and len(values) == len(known):
            points.append((clock(run.number), int.from_bytes(bytes(values), "little")))
    return CounterTrack(text, tuple(points))


TIMELINE = Command(
    "timeline",
    "Write which functions were active when, for Perfetto.",
    run_timeline,
    details=(
        "One track for each thread, and for each depth of nested exceptions.  Marks, halts and trace events are\n"
        "instants, and gaps too: what happened there was not seen, so everything ends and begins anew.\n"
        "Open the file at https://ui.perfetto.dev.  Its nanoseconds are instructions, or with --cycles cycles."
    ),
    arguments=(EXPORT, WITH_CYCLES, VARIABLE, TRACE_ID),
    examples=(
        ("timeline --export run.pftrace", "all of the history"),
        ("timeline --export run.pftrace --variable ring.head", "with a variable's values"),
    ),
)
