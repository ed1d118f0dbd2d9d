"""Timeline: which functions were active when, by thread and exception.

A track holds one thread, or the exceptions of one nesting depth; the functions on it are nested as they called each
other.  A function stays active while a handler interrupts it, and while its thread waits.  At a gap everything ends,
since what happened there is unknown.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.activity import unseen_handlers
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame
from gdb_etm.protocols.elements import Gap

# Gives the time right after an instruction, by its number; never less than for one before.
TimeAfter = Callable[[int], int]


class TrackEvent(NamedTuple):
    """A function or an exception begins on a track, or ends."""

    time: int
    # Index of its track.
    track: int
    # What begins; None: what began last on the track ends.
    name: Optional[str]


class Instant(NamedTuple):
    """Something that happened."""

    time: int
    name: str


class CounterTrack(NamedTuple):
    """A value that changed: its times, and the values from then on."""

    name: str
    points: Tuple[Tuple[int, int], ...]


class Timeline(NamedTuple):
    """Tracks with what is on them."""

    # What a time counts: ``"instructions"``, ``"cycles"`` or ``"timestamp ticks"``.
    unit: str
    tracks: Tuple[str, ...]
    # In the order in which they happened.
    events: Tuple[TrackEvent, ...]
    # Where something was not seen, and why.
    gaps: Tuple[Instant, ...]
    instants: Tuple[Instant, ...] = ()
    counters: Tuple[CounterTrack, ...] = ()


class TimelineReader:
    """Reads a call history's timeline.

    :param calls: The call history.
    :param instructions: How many instructions it has.
    :param time: Gives times.
    :param label: Names a thread by its number.
    """

    def __init__(self, calls: CallHistory, instructions: int, time: TimeAfter, label: Callable[[int], str]) -> None:
        self._calls = calls
        self._time = time
        self._label = label
        self._tracks: Dict[str, int] = {}
        # Those of exceptions, by nesting depth.
        self._handlers: Dict[int, int] = {}
        # By track, what is active on it, outermost first.
        self._open: List[List[Frame]] = []
        self._events: List[TrackEvent] = []
        self._gaps: List[Instant] = []
        rows = calls.rows()
        self._unseen = unseen_handlers(rows)
        for at, row in enumerate(rows):
            if isinstance(row.event, Gap):
                self._gap(row, time(row.first - 1))
            elif row.event is None:
                self._read(at, row, time(row.first - 1))
        self._close_all(time(instructions))

    def timeline(self, unit: str) -> Timeline:
        """Give what was read.

        :param unit: What a time counts.
        """
        return Timeline(unit, tuple(self._tracks), tuple(self._events), tuple(self._gaps))

    def _read(self, at: int, row: FrameEntry, now: int) -> None:
        chain: List[Tuple[Frame, str]] = []
        frame: Optional[Frame] = row.frame
        exceptions: List[Frame] = []
        while frame is not None:
            if frame.is_exception:
                exceptions.append(frame)
            elif not exceptions:
                chain.append((frame, frame.function.name if frame.function is not None else "??"))
            if frame in self._unseen:
                # It stands for its exception as well.
                exceptions.append(frame)
            frame = frame.up
        if exceptions:
            event = exceptions[0].event
            if event is not None:
                chain.append((exceptions[0], event.name))
            depth = len(exceptions)
            track = self._handlers[depth] = self._track("exceptions" + (", depth %d" % depth if depth > 1 else ""))
        else:
            track = self._track(self._label(self._calls.threads.of(at) or 0))
        self._end_exceptions(len(exceptions), now)
        self._go(track, chain[::-1], now)

    def _end_exceptions(self, depth: int, now: int) -> None:
        # Those that were nested deeper have returned.
        for deeper, track in self._handlers.items():
            if deeper > depth:
                self._close(track, 0, now)

    def _go(self, track: int, chain: Sequence[Tuple[Frame, str]], now: int) -> None:
        active = self._open[track]
        same = 0
        while same < min(len(active), len(chain)) and active[same] is chain[same][0]:
            same += 1
        self._close(track, same, now)
        for frame, name in chain[same:]:
            active.append(frame)
            self._events.append(TrackEvent(now, track, name))

    def _close(self, track: int, depth: int, now: int) -> None:
        active = self._open[track]
        while len(active) > depth:
            active.pop()
            self._events.append(TrackEvent(now, track, None))

    def _close_all(self, now: int) -> None:
        for track in range(len(self._open)):
            self._close(track, 0, now)

    def _gap(self, row: FrameEntry, now: int) -> None:
        self._close_all(now)
        assert isinstance(row.event, Gap)
        self._gaps.append(Instant(now, row.event.reason.value))

    def _track(self, name: str) -> int:
        found = self._tracks.get(name)
        if found is None:
            found = self._tracks[name] = len(self._open)
            self._open.append([])
        return found
