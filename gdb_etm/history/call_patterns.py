"""Patterns of reading: what a packet does in a state, done again.

What a reader makes of a leg depends on its state alone, see :mod:`gdb_etm.history.reader_states`.  Programs loop, so it
is found out once for each state and leg, and for each state and exception.
"""

from __future__ import annotations

from typing import Callable, Dict, Hashable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.history.call_steps import MATTERING
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.reader import RangeReader
from gdb_etm.history.reader_states import ReaderState, frames_of
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import Event, Exception_, Gap
from gdb_etm.protocols.recorder import Leg, Run

# Makes a named tuple of a tuple, three times as fast as its class does.
_new = tuple.__new__

# Patterns that are kept at most: more than that is no loop.
_MOST = 1 << 16
# Legs that are read while states hardly come back, at first and at most.
_FEW, _MANY = 1 << 4, 1 << 14
# So many legs are looked at together: of more than this part new ones, looking them up costs more than it brings.
_WATCHED, _NEW = 1 << 10, 0.25
# Instructions between two calls of a progress function.
_PROGRESS_INTERVAL = 1 << 14


class _Made(NamedTuple):
    # A frame that begins; frames are meant by their indices: those of the state before it, then those that are made.

    # Relative to that of the frame that executed before.
    level: int
    function: Optional[Function]
    up: int
    return_address: Optional[int]
    # Instructions before the call, counted from the first; below zero the frame that was called where it was.
    called_at: Optional[int]
    is_event: bool
    is_tail_call: bool
    is_handling: bool
    is_request: bool
    is_first: bool
    set_jumps: Tuple[int, ...]


class _Changed(NamedTuple):
    # What becomes known of a frame that was there before.

    frame: int
    function: Optional[Function]
    up: int
    return_address: Optional[int]
    set_jumps: Tuple[int, ...]


class _Row(NamedTuple):
    # An entry.

    level: int
    function: Optional[Function]
    address: int
    # Instructions before it.
    first: int
    entered: Entered
    is_event: bool
    frame: int


class _Pattern(NamedTuple):
    # What a leg or an event does in a state.

    # The number of the state after it.
    state: int
    # Whether that is all.
    is_quiet: bool
    calls: int
    made: Tuple[_Made, ...]
    changed: Tuple[_Changed, ...]
    rows: Tuple[_Row, ...]
    # Those of the state after it.
    frames: Tuple[int, ...]


class PatternReader:
    """Reads a history by patterns, as far as there are any.

    :param history: The executed instructions.
    :param reader: Reads what is new, and gets all entries.
    """

    def __init__(self, history: ExecutionHistory, reader: RangeReader) -> None:
        self._history = history
        self._reader = reader
        self._states: List[ReaderState] = []
        self._numbers: Dict[ReaderState, int] = {}
        # By state: what is known of legs and events.
        self._known: List[Dict[Hashable, _Pattern]] = []
        self._patterns = 0
        # The number of the state, and its frames; -1: the reader alone knows.
        self._state = -1
        self._frames: List[Frame] = []
        # Whether the reader is in that state, too.
        self._is_live = True
        self._ran = 0
        # Legs to read before a state is asked for, and how many it will be the next time.
        self._plain, self._wait = 0, _FEW
        self._new = self._watched = 0

    def read(self, progress: Callable[[int], None]) -> None:
        """Read all.

        :param progress: Called now and then with the number of instructions read since the last call.
        """
        reported = 0
        for part, item in _parts(self._history):
            if item is not None:
                self._event(item)
                continue
            assert part is not None
            self._legs(part)
            if self._ran - reported >= _PROGRESS_INTERVAL:
                progress(self._ran - reported)
                reported = self._ran
        if not self._is_live:
            self._reader.take(self._states[self._state], self._frames, self._ran + 1)

    def _legs(self, legs: List[Leg]) -> None:
        known = self._known
        for leg in legs:
            pattern = known[self._state].get(leg) if self._state >= 0 else None
            if pattern is None:
                self._read_leg(leg)
            elif pattern.is_quiet:
                self._state, self._is_live = pattern.state, False
                self._ran += leg.instructions
            else:
                self._again(pattern, None)
                self._ran += leg.instructions
        self._watch(len(legs))

    def _watch(self, legs: int) -> None:
        self._watched += legs
        if self._watched < _WATCHED:
            return
        if self._new > self._watched * _NEW:
            self._forget_state()
        else:
            self._wait = max(self._wait // 2, _FEW)
        self._new = self._watched = 0

    def _forget_state(self) -> None:
        # Read on for a while.
        if not self._is_live:
            self._reader.take(self._states[self._state], self._frames, self._ran + 1)
        self._state, self._is_live = -1, True
        self._plain, self._wait = self._wait, min(self._wait * 2, _MANY)

    def _read_leg(self, leg: Leg) -> None:
        if self._state < 0:
            self._span(leg)
            self._plain -= 1
            if self._plain <= 0 and self._patterns < _MOST:
                self._find_state()
            return
        self._new += 1
        self._learn(leg, lambda: self._span(leg), None)

    def _span(self, leg: Leg) -> None:
        number = self._ran + 1
        for executed in leg.ranges:
            self._reader.span(Span(number, executed))
            number += executed.instructions
        self._ran = number - 1

    def _event(self, event: Event) -> None:
        pattern: Optional[_Pattern] = None
        key = event._replace(offset=0)
        if self._state >= 0:
            pattern = self._known[self._state].get(key)
        if pattern is not None:
            self._again(pattern, event)
        elif self._state < 0:
            self._reader.item(event)
        else:
            # What a gap hides depends on where it is.
            self._learn(None if isinstance(event, Gap) else key, lambda: self._reader.item(event), event)

    def _find_state(self) -> bool:
        found = self._reader.state()
        if found is None:
            self._plain, self._wait = self._wait, min(self._wait * 2, _MANY)
            return False
        state, self._frames = found
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
            self._known.append({})
        self._state, self._is_live = number, True
        return True

    def _learn(self, key: Optional[Hashable], read: Callable[[], None], event: Optional[Event]) -> None:
        # Read, and keep what it does.
        reader, state, before, ran = self._reader, self._state, self._frames, self._ran
        if not self._is_live:
            reader.take(self._states[state], before, ran + 1)
            self._is_live = True
        rows, stretches, calls, level = len(reader.rows), len(reader.stretches), reader.calls, reader.level
        stretch, places = reader.stretch, [frame.called_at for frame in before]
        for index, frame in enumerate(before):
            frame.called_at = ~index
        read()
        for frame, place in zip(before, places):
            frame.called_at = place
        is_found = self._find_state()
        made = frames_of([*[row.frame for row in reader.rows[rows:]], *(self._frames if is_found else ())])
        pattern: Optional[_Pattern] = None
        if is_found and made is not None and key is not None:
            if len(reader.stretches) == stretches and all(row.stretch == stretch for row in reader.rows[rows:]):
                pattern = self._pattern(self._states[state], before, made, (rows, calls, level, ran), event)
        for frame in made or ():
            if frame.called_at is not None and frame.called_at < 0:
                frame.called_at = places[~frame.called_at]
        if not is_found:
            self._state = -1
        elif pattern is not None and key is not None and self._patterns < _MOST:
            self._patterns += 1
            self._known[state][key] = pattern

    def _pattern(
        self,
        state: ReaderState,
        before: List[Frame],
        reached: List[Frame],
        begin: Tuple[int, int, int, int],
        event: Optional[Event],
    ) -> _Pattern:
        first_row, calls, level, ran = begin
        indices = {id(frame): index for index, frame in enumerate(before)}
        new = [frame for frame in reached if id(frame) not in indices]
        indices.update((id(frame), index) for index, frame in enumerate(new, len(before)))
        made = tuple(
            [
                _Made(
                    frame.level - level,
                    frame.function,
                    -1 if frame.up is None else indices[id(frame.up)],
                    frame.return_address,
                    frame.called_at if frame.called_at is None or frame.called_at < 0 else frame.called_at - ran,
                    frame.event is not None,
                    frame.is_tail_call,
                    frame.is_handling,
                    frame.is_request,
                    frame.is_first,
                    frame.set_jumps,
                )
                for frame in new
            ]
        )
        changed = []
        for index, (frame, shape) in enumerate(zip(before, state.frames)):
            up = -1 if frame.up is None else indices[id(frame.up)]
            now = frame.function, up, frame.return_address, frame.set_jumps
            if now != (shape.function, shape.up, shape.return_address, shape.set_jumps):
                changed.append(_Changed(index, *now))
        rows = tuple(
            [
                _Row(
                    row.level - level,
                    row.function,
                    row.address,
                    row.first - ran,
                    row.entered,
                    row.event is not None,
                    indices[id(row.frame)],
                )
                for row in self._reader.rows[first_row:]
            ]
        )
        frames = tuple([indices[id(frame)] for frame in self._frames])
        is_quiet = not (made or changed or rows) and frames == tuple(range(len(before))) and event is None
        return _Pattern(self._state, is_quiet, self._reader.calls - calls, made, tuple(changed), rows, frames)

    def _again(self, pattern: _Pattern, event: Optional[Event]) -> None:
        reader, ran = self._reader, self._ran
        frames = self._frames
        level, count = frames[0].level, len(frames)
        if pattern.made:
            frames = frames + [Frame(one.level + level, one.function, None, one.return_address) for one in pattern.made]
            for frame, one in zip(frames[count:], pattern.made):
                frame.up = frames[one.up] if one.up >= 0 else None
                at = one.called_at
                frame.called_at = at if at is None else frames[~at].called_at if at < 0 else at + ran
                if one.is_event:
                    assert isinstance(event, Exception_)
                    frame.event = event
                frame.is_handling = one.is_handling
                frame.is_tail_call, frame.is_request = one.is_tail_call, one.is_request
                frame.is_first, frame.set_jumps = one.is_first, one.set_jumps
        for change in pattern.changed:
            frame = frames[change.frame]
            frame.function, frame.return_address, frame.set_jumps = change[1], change[3], change[4]
            frame.up = frames[change.up] if change.up >= 0 else None
        reader.calls += pattern.calls
        for row in pattern.rows:
            shown = event if row.is_event else None
            assert shown is None or isinstance(shown, (Exception_, Gap))
            entry = reader.stretch, row.level + level, row.function, row.address, row.first + ran, row.entered, shown
            reader.rows.append(_new(FrameEntry, (*entry, frames[row.frame])))
        self._frames = [frames[index] for index in pattern.frames]
        self._state, self._is_live = pattern.state, False


def _parts(history: ExecutionHistory) -> Iterator[Tuple[Optional[List[Leg]], Optional[Event]]]:
    # Legs that follow each other, and events that matter.
    offset_of = history.recorder.offset_of
    for position, part in history.parts(0):
        if not isinstance(part, Run):
            if isinstance(part, MATTERING):
                yield None, part
            continue
        legs, at = list(part.legs), 0
        for foreseen in part.foreseen:
            if isinstance(foreseen.event, MATTERING):
                yield legs[at : foreseen.leg], None
                yield None, foreseen.event._replace(offset=offset_of(position + foreseen.position))
                at = foreseen.leg
        yield legs[at:], None
