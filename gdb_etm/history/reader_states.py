"""States of the reader of executed ranges: their frames.

Programs loop, so a reader is in few states; what it does next depends on nothing else.  A state holds no number of an
instruction and no absolute call depth.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Frame, Function
from gdb_etm.protocols.elements import Exception_, Range

# Frames of a state; deeper recursion is read each time.
_DEEPEST = 256


class FrameShape(NamedTuple):
    """A frame as part of a state."""

    # Relative to that of the frame that executes.
    level: int
    function: Optional[Function]
    # Index of the frame that it returns to; -1 when that is not known.
    up: int
    return_address: Optional[int]
    # Without its offset.
    event: Optional[Exception_]
    is_tail_call: bool
    is_handling: bool
    is_request: bool
    is_first: bool
    set_jumps: Tuple[int, ...]


# Frames with their callers.
Shapes = Tuple[FrameShape, ...]


class HeldReader(NamedTuple):
    """How far execution was read when the core was halted."""

    number: int
    before: Optional[Range]
    entered: Entered
    # Where it was halted; None: the trace does not say.
    address: Optional[int]


class ReaderState(NamedTuple):
    """All that decides what a reader does next."""

    # That which executes comes first.
    frames: Shapes
    # Index of the frame that the stretch began in; -1 before the first stretch.
    first: int
    before: Optional[Range]
    entered: Entered
    resumes: Optional[int]
    expected: Optional[int]
    asked: bool
    halt: Optional[int]
    # Its number counts from the next instruction, if its address is known.
    held: Optional[HeldReader]
    written: bool


def frames_of(innermost: Iterable[Frame]) -> Optional[List[Frame]]:
    """List frames and all their callers, each once.

    :returns: None when there are too many.
    """
    found: List[Frame] = []
    known: Dict[int, int] = {}
    for one in innermost:
        frame: Optional[Frame] = one
        while frame is not None and id(frame) not in known:
            known[id(frame)] = len(found)
            found.append(frame)
            if len(found) > _DEEPEST:
                return None
            frame = frame.up
    return found


def shapes_of(frames: List[Frame], level: int) -> Shapes:
    """Describe frames that :func:`frames_of` has listed.

    :param level: That their levels are relative to.
    """
    indices = {id(frame): index for index, frame in enumerate(frames)}
    return tuple(
        [
            FrameShape(
                frame.level - level,
                frame.function,
                -1 if frame.up is None else indices[id(frame.up)],
                frame.return_address,
                frame.event._replace(offset=0) if frame.event is not None else None,
                frame.is_tail_call,
                frame.is_handling,
                frame.is_request,
                frame.is_first,
                frame.set_jumps,
            )
            for frame in frames
        ]
    )


def frames_from(shapes: Shapes, level: int) -> List[Frame]:
    """Make frames of their descriptions."""
    frames = [Frame(shape.level + level, shape.function, None, shape.return_address) for shape in shapes]
    for frame, shape in zip(frames, shapes):
        frame.up = frames[shape.up] if shape.up >= 0 else None
        frame.event, frame.is_tail_call, frame.set_jumps = shape.event, shape.is_tail_call, shape.set_jumps
        frame.is_handling, frame.is_request, frame.is_first = shape.is_handling, shape.is_request, shape.is_first
    return frames


class FinishedStretch(NamedTuple):
    """A stretch that a gap has ended, with what stitching looks at."""

    frames: Shapes
    # Indices of the frames that it began and ended in.
    first: int
    last: int

    def ends(self, level: int) -> Tuple[Frame, Frame]:
        """Give the frames that it began and ended in.

        :param level: That their levels are relative to.
        """
        frames = frames_from(self.frames, level)
        return frames[self.first], frames[self.last]
