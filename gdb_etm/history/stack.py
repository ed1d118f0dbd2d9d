"""The call stack at a position of the history."""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Tuple

from gdb_etm.history.frames import Frame
from gdb_etm.history.lines import Inlined, InlinedKey, SymbolTables
from gdb_etm.history.path import Path
from gdb_etm.history.steps import Position
from gdb_etm.protocols.elements import Exception_

# Frames of one stack that are looked at.
DEEPEST = 10000


class StackLevel(NamedTuple):
    """One frame of a stack."""

    frame: Frame
    # Of the function or of the inlined function; None when unknown.
    name: Optional[str]
    # Where execution goes on in this frame; None when unknown.
    address: Optional[int]
    # File and line.
    place: Optional[Tuple[str, int]]
    # Whether ``address`` is where a line begins, so that it need not be shown.
    is_exact: bool
    # For the frame of an inlined function.
    inlined: Optional[Inlined]
    # The inlined functions up to this one, outermost first.
    inlined_keys: Tuple[InlinedKey, ...]
    # For a frame that stands for an exception.
    exception: Optional[Exception_] = None
    # Whether its call lies before the history.
    called_before: bool = False


# Finds the first instruction of a frame.
Beginning = Callable[[Frame], Optional[int]]


def stack(
    path: Path,
    innermost_frame: Frame,
    places: SymbolTables,
    address: Optional[int],
    beginning: Beginning,
    hidden: int = 0,
) -> List[StackLevel]:
    """List a frame and its callers, innermost first.

    :param address: Where execution goes on in the frame; None when unknown.
    :param beginning: Finds where a function began that nobody called.
    :param hidden: How many of the functions that are inlined there are not entered yet.
    """
    levels = _frames(path, places, innermost_frame, address, hidden)
    return [level._replace(called_before=False) if _begins(path, beginning, level) else level for level in levels]


def _begins(path: Path, beginning: Beginning, level: StackLevel) -> bool:
    # Whether a function that nobody called began within the history, as a thread's does.
    if not level.called_before or level.frame.function is None:
        return False
    first = beginning(level.frame)
    return first is not None and 1 < first <= path.length and path.address(first) == level.frame.function.start


def _frames(
    path: Path, places: SymbolTables, innermost_frame: Frame, address: Optional[int], hidden: int
) -> List[StackLevel]:
    frame: Optional[Frame] = innermost_frame
    result: List[StackLevel] = []
    is_call = False
    while frame is not None and len(result) < DEEPEST:
        if frame.is_exception:
            result.append(StackLevel(frame, None, None, None, False, None, (), frame.event))
        else:
            result += _levels(places, frame, address, is_call, hidden)
        hidden = 0
        if frame.is_tail_call and frame.called_at is not None:
            address, is_call = path.address(frame.called_at), False
        else:
            address, is_call = frame.return_address, not frame.is_exception
        if frame.is_exception and not _may_be(frame.up, address) and frame.called_at is not None:
            last = path.address(frame.called_at)
            if frame.up is not None and last is not None and places.function_at(last) == frame.up.function:
                address = last  # a branch to nowhere faulted
        frame = frame.up
    return result


def _may_be(frame: Optional[Frame], address: Optional[int]) -> bool:
    # Whether an address may be in a frame's function.
    if frame is None or address is None:
        return False
    return frame.function is None or frame.function.start <= address < frame.function.end


def innermost(path: Path, places: SymbolTables, position: Position) -> StackLevel:
    """Give the innermost frame at a position, without looking for its callers."""
    address = path.address(position.number)
    function = places.function_at(address) if address is not None else None
    return _levels(places, Frame(0, function, None, None), address, False, position.hidden)[0]


def _levels(places: SymbolTables, frame: Frame, address: Optional[int], is_call: bool, hidden: int) -> List[StackLevel]:
    # One activation with the functions inlined where it is; a caller is looked up at its call.
    name = frame.function.name if frame.function is not None else None
    called_before = frame.called_at is None
    if address is None:
        return [StackLevel(frame, name, None, None, False, None, (), None, called_before)]
    looked_up = address - 1 if is_call else address
    line = places.line_at(looked_up)
    place = line.place if line is not None else None
    exact = not is_call and line is not None and line.start == address
    inlined = list(places.inlined_at(looked_up))
    for outer in reversed(inlined[len(inlined) - hidden :] if hidden else []):
        place, exact = outer.call, True
    inlined = inlined[: len(inlined) - hidden]
    result = []
    while inlined:
        keys = tuple(one.key for one in inlined)
        inner = inlined.pop()
        result.append(StackLevel(frame, inner.name, address, place, exact, inner, keys))
        place, exact = inner.call, True
    result.append(StackLevel(frame, name, address, place, exact, None, (), None, called_before))
    return result
