"""Timeline for Perfetto.

Ref: Perfetto, "Converting arbitrary timestamped data to Perfetto": TrackEvent packets.  The document holds the same as
plain data; ``encode.py`` makes bytes of it.
"""

from __future__ import annotations

from typing import Any, Dict

from gdb_etm.analysis.timeline import Timeline


def perfetto_document(timeline: Timeline, name: str) -> Dict[str, Any]:
    """Give tracks, and what happened, each in the order of time.

    :param name: Of the program.
    """
    return {
        "name": name,
        "unit": timeline.unit,
        "tracks": list(timeline.tracks),
        "events": [list(event) for event in timeline.events],
        "gaps": [list(one) for one in timeline.gaps],
        "instants": [list(one) for one in timeline.instants],
        "counters": [[one.name, [list(point) for point in one.points]] for one in timeline.counters],
    }
