"""Entries of the call history while it is read."""

from __future__ import annotations

from enum import Enum
from typing import Callable, NamedTuple, Optional, Union

from gdb_etm.history.frames import Frame, Function
from gdb_etm.protocols.elements import Exception_, Gap

# Finds the function that holds an address.
Resolver = Callable[[int], Optional[Function]]


class Entered(Enum):
    """How execution came into a segment."""

    # The history, or what follows a gap, begins here.
    START = "start"
    CALL = "call"
    TAIL_CALL = "tail call"
    RETURN = "return"
    # Went on in another function without call or return.
    JUMP = "jump"
    EXCEPTION = "exception"
    EXCEPTION_RETURN = "exception return"


class Move(NamedTuple):
    """Execution goes on in a frame."""

    frame: Frame
    entered: Entered


class FrameEntry(NamedTuple):
    """An entry before levels are stitched; a segment has no event."""

    # Index of its stack's :class:`~gdb_etm.history.stacks.HistorySegment`.
    stretch: int
    level: int
    function: Optional[Function]
    address: int
    first: int
    entered: Entered
    event: Union[Exception_, Gap, None]
    frame: Frame
