"""Events of a recording: between its entries, and within runs.

The same bytes, decoded again with what was learned the first time, have more of them within runs.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterator, List, Tuple

from gdb_etm.history.sums import EntrySums
from gdb_etm.protocols.elements import Event
from gdb_etm.protocols.recorder import Recorder, Run

Wanted = Callable[[Event], bool]


def events_of(recorder: Recorder, sums: EntrySums, wanted: Wanted, are_foreseen: bool) -> Iterator[Tuple[int, Event]]:
    """Go through the events that fit.

    :param sums: Of the recording's entries.
    :param are_foreseen: Whether runs may have any that fit.
    :returns: Each with the number of instructions before it.
    """
    events, places = recorder.events, recorder.event_entries
    within = _within_runs(recorder.table.runs, wanted) if are_foreseen else {}
    if not within:
        for place, event in zip(places, events):
            if wanted(event):
                yield sums.before(place), recorder.placed(event)
        return
    runs = recorder.table.runs
    before = at = 0
    for entry, position in enumerate(recorder.positions()):
        while at < len(events) and places[at] <= entry:
            if wanted(events[at]):
                yield before, recorder.placed(events[at])
            at += 1
        number = recorder.order[entry]
        for ran, distance, event in within.get(number, ()):
            yield before + ran, event._replace(offset=recorder.offset_of(position + distance))
        before += runs[number].instructions
    for event in filter(wanted, events[at:]):
        yield before, recorder.placed(event)


def _within_runs(runs: List[Run], wanted: Wanted) -> Dict[int, List[Tuple[int, int, Event]]]:
    # By run number; each with the instructions and the bytes of the run before it.
    found: Dict[int, List[Tuple[int, int, Event]]] = {}
    for number, run in enumerate(runs):
        before = 0
        for distance, part in run.parts():
            legs = part.legs if part.foreseen else ()
            for at, further, event in part.foreseen:
                if wanted(event):
                    ran = sum([leg.instructions for leg in legs[:at]])
                    found.setdefault(number, []).append((before + ran, distance + further, event))
            before += part.instructions
    return found
