"""Callers that only later returns show.

A frame whose call was not seen is the outermost one of its stack until it returns.  A step that is read once cannot
know what comes after it, so it says what becomes of such frames; going back from the end says the rest.
"""

from __future__ import annotations

from array import array
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.history.frames import Frame, Function


class KnownFrame(NamedTuple):
    """A frame, as far as it is known by then."""

    function: Optional[Function]
    # Where it goes on in its caller.
    return_address: Optional[int]
    # Its index in the state after the step; -1: nothing more becomes known of it.
    after: int


# A frame and its callers beyond those that were known before, innermost first.
KnownCallers = Tuple[KnownFrame, ...]
# By the index of a frame.
Fates = Mapping[int, KnownCallers]
NO_FATES: Fates = {}


def is_unnamed(frame: Frame) -> bool:
    """Tell whether a frame's function may become known."""
    return frame.function is None and not frame.is_exception


def is_open(frame: Frame) -> bool:
    """Tell whether a frame's callers, or its function, may become known."""
    return frame.up is None or is_unnamed(frame)


class OpenFrame(NamedTuple):
    """A frame of which more may become known."""

    # Its index in the state.
    at: int
    frame: Frame
    # Whether its caller is not known.
    is_outermost: bool


def open_frames(frames: Sequence[Frame]) -> List[OpenFrame]:
    """List the frames of a state of which more may become known."""
    return [OpenFrame(at, one, one.up is None) for at, one in enumerate(frames) if is_open(one)]


def fates(opened: Sequence[OpenFrame], after: Sequence[Frame]) -> Fates:
    """Say what has become of frames in a step.

    :param opened: Those that were open before it.
    :param after: All frames of the state after it.
    """
    indices = {id(frame): index for index, frame in enumerate(after)}
    found: Dict[int, KnownCallers] = {}
    for at, frame, is_outermost in opened:
        chain = [frame, *(frame.callers() if is_outermost else ())]
        found[at] = tuple(
            [
                KnownFrame(one.function, one.return_address, indices.get(id(one), -1) if is_open(one) else -1)
                for one in chain
            ]
        )
    return found


def followed(callers: KnownCallers, later: Fates) -> KnownCallers:
    """Add what becomes known after a step.

    :param callers: What was known at its end.
    :param later: What becomes of the frames after it.
    """
    found: List[KnownFrame] = []
    for one in callers:
        known = later.get(one.after)
        found += (one._replace(after=-1),) if known is None else known[:1] if one is not callers[-1] else known
    return tuple(found)


def all_followed(before: Fates, later: Fates) -> Fates:
    """Add what becomes known after a step, for all of its frames."""
    return {index: followed(callers, later) for index, callers in before.items()}


class LaterCallers:
    """What becomes known of open frames until the end of a history.

    :param steps: The numbers of its steps.
    :param known: What each does, by its number.
    :param last: What is known of the frames at the end.
    """

    def __init__(self, steps: Sequence[int], known: Sequence[Fates], last: Fates) -> None:
        self._kinds: List[Fates] = [last]
        # What is known after each step, and before the first: numbers of kinds.
        self._numbers = array("I", bytes(4 * (len(steps) + 1)))
        numbers = {_key(last): 0}
        made: Dict[Tuple[int, int], int] = {}
        kind = 0
        for at in range(len(steps) - 1, -1, -1):
            key = steps[at], kind
            before = made.get(key)
            if before is None:
                found = all_followed(known[key[0]], self._kinds[kind])
                before = made[key] = numbers.setdefault(_key(found), len(self._kinds))
                if before == len(self._kinds):
                    self._kinds.append(found)
            kind = before
            self._numbers[at] = kind

    def after(self, steps: int) -> int:
        """Give the number of what becomes known after so many steps."""
        return self._numbers[steps]

    def fates(self, number: int) -> Fates:
        """Give what becomes known of each open frame."""
        return self._kinds[number]


def _key(found: Fates) -> Tuple[Tuple[int, KnownCallers], ...]:
    return tuple(found.items())


def complete(frames: Sequence[Frame], later: Fates) -> None:
    """Give frames what becomes known of them later.

    :param frames: Those of a state.
    """
    for index, callers in later.items():
        frame = frames[index]
        frame.function = callers[0].function
        if frame.up is not None:
            continue
        frame.return_address = callers[0].return_address
        for one in callers[1:]:
            frame.up = Frame(frame.level - 1, one.function, None, one.return_address)
            frame = frame.up
