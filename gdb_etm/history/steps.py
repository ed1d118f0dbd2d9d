"""Positions in a history, moves between them, and steps of one instruction."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional, Tuple

from gdb_etm.history.activations import Activations
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Frame
from gdb_etm.history.lines import InlinedKey, SymbolTables
from gdb_etm.history.path import Path
from gdb_etm.protocols.elements import Gap


class Position(NamedTuple):
    """A place in a history."""

    # Of the instruction that is about to be executed; one past the last at the live end.
    number: int
    # Inlined functions that begin here and are still to be stepped into (GDB: skipped frames).
    hidden: int = 0


class MoveReason(Enum):
    """Why a move ended where it ended."""

    STEPPED = "end stepping range"
    LOCATION = "location reached"
    BREAKPOINT = "breakpoint hit"
    GAP = "gap"
    NO_HISTORY = "no history"


class MoveEnd(NamedTuple):
    """Where a move ended, and why."""

    position: Position
    reason: MoveReason
    # The gap that was come to.
    gap: Optional[Gap] = None


class Steps(Enum):
    """How big a step is."""

    INSTRUCTION = "stepi"
    LINE = "step"
    LINE_OVER_CALLS = "next"


# An activation and the instances of functions inlined in it, outermost first.
FrameId = Tuple[Frame, Tuple[InlinedKey, ...]]


class StepRange:
    """The range of addresses that a step leaves, with its frame.

    :param frame: The frame.
    :param line: File and line that are left.
    """

    def __init__(self, frame: FrameId, line: Optional[Tuple[str, int]], start: int = 0, end: int = 0) -> None:
        self.frame = frame
        self.line = line
        self.start = start
        self.end = end
        # Whether functions are inlined in it; None when it was not looked for.
        self.has_inlined: Optional[bool] = None


def hidden_at(places: SymbolTables, address: Optional[int]) -> int:
    """Count the inlined functions that begin at an address."""
    count = 0
    for inlined in reversed(places.inlined_at(address) if address is not None else ()):
        if not inlined.begins_here:
            break
        count += 1
    return count


def visible(places: SymbolTables, address: Optional[int], hidden: int) -> Tuple[InlinedKey, ...]:
    """Name the inlined functions at an address that were entered, outermost first."""
    if address is None:
        return ()
    keys = tuple(inlined.key for inlined in places.inlined_at(address))
    return keys[: len(keys) - hidden]


def plain_step(path: Path, number: int, backward: bool) -> Tuple[int, Optional[MoveEnd]]:
    """Go one instruction on or back.

    :returns: Where to, and the stop when it is the history's end or beyond a gap.
    """
    to = number - 1 if backward else number + 1
    if to < 1 or to > path.length + 1:
        return number, MoveEnd(Position(number), MoveReason.NO_HISTORY)
    seam = path.seam_back(to, number) if backward else path.seam(number, to)
    if seam is not None and 1 <= to <= path.length:
        return to, MoveEnd(Position(to), MoveReason.GAP, seam.gap)
    if to > path.length:
        return to, MoveEnd(Position(to), MoveReason.NO_HISTORY, seam.gap if seam is not None else None)
    return to, None


def beyond_exception(path: Path, activations: Activations, number: int, to: int, backward: bool) -> Optional[int]:
    """Find the interrupted frame's next or previous instruction across an exception.

    :param number: The instruction that a step leaves.
    :param to: The one directly after or before it.
    :returns: None when no exception lies between; 0 when the frame was interrupted before the history begins.
    """
    if not backward:
        if activations.entered(to) is not Entered.EXCEPTION or to != activations.first(to):
            return None
        taken = activations.frame(to) if activations.frame(to).is_exception else activations.frame(to).up
        resumed = taken.up if taken is not None else None
        found = activations.next_in(resumed, number) if resumed is not None else None
        return found if found is not None else path.length + 1
    if number != activations.first(number):
        return None
    entered = activations.entered(number)
    frame: Optional[Frame] = activations.frame(number)
    if entered is Entered.EXCEPTION and frame is not None:
        taken = frame if frame.is_exception else frame.up
        frame = taken.up if taken is not None else None
    elif entered is not Entered.EXCEPTION_RETURN:
        return None
    if frame is None:
        return None
    before = activations.before_exceptions(frame, number)
    if before is not None or frame.called_at is not None:
        return frame.called_at if before is None else before
    # It began before the history, unless this is the first instruction of a new stack.
    begins = frame.function is not None and path.address(number) == frame.function.start
    return None if begins else 0
