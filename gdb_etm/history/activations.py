"""Which activation of which function an instruction belongs to, and where that activation ran before and after."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import List, Optional

from gdb_etm.history.calls import CallHistory
from gdb_etm.history.frames import Frame
from gdb_etm.history.reader import Entered


class Activations:
    """The segments of a call history, as stepping sees them.

    :param calls: The call history.
    :param length: Number of instructions in the history.
    """

    def __init__(self, calls: CallHistory, length: int) -> None:
        self._length = length
        self._firsts = array("Q")
        self._frames: List[Frame] = []
        self._entered: List[Entered] = []
        for first, frame, entered in calls.activations():
            self._firsts.append(first)
            self._frames.append(frame)
            self._entered.append(entered)
        self._end = calls.end
        self._end_is_new = self._end not in self._frames

    def frame(self, number: int) -> Frame:
        """Give the activation that executes instruction ``number``; one past the last is where execution goes on."""
        return self._end if number > self._length else self._frames[self._segment(number)]

    def first(self, number: int) -> int:
        """Give the number of the first instruction of the segment that holds ``number``."""
        return number if number > self._length else self._firsts[self._segment(number)]

    def last(self, number: int) -> int:
        """Give the number of the last instruction of the segment that holds ``number``."""
        following = self._segment(number) + 1
        return self._firsts[following] - 1 if following < len(self._firsts) else self._length

    def entered(self, number: int) -> Entered:
        """Tell how execution came into the segment that holds ``number``."""
        if number <= self._length:
            return self._entered[self._segment(number)]
        handles = self._end.up is not None and self._end.up.is_exception
        return Entered.EXCEPTION if self._end_is_new and (handles or self._end.is_exception) else Entered.JUMP

    def next_in(self, frame: Frame, number: int) -> Optional[int]:
        """Find where ``frame`` goes on after the segment that holds ``number``."""
        try:
            return self._firsts[self._frames.index(frame, self._segment(number) + 1)]
        except ValueError:
            return self._length + 1 if frame is self._end else None

    def after_call(self, frame: Frame, number: int) -> Optional[int]:
        """Find where ``frame``, or one of its callers if it is left for good, goes on after instruction ``number``."""
        found = self.next_in(frame, number)
        if found is None:
            callers = set(frame.callers())
            for at in range(self._segment(number) + 1, len(self._frames)):
                if self._frames[at] in callers:
                    return self._firsts[at]
        return found

    def last_in(self, frame: Frame, number: int) -> Optional[int]:
        """Find the last instruction of ``frame`` before the segment that holds ``number``."""
        at = len(self._frames) if number > self._length else self._segment(number)
        for before in range(at - 1, -1, -1):
            if self._frames[before] is frame:
                return self._firsts[before + 1] - 1 if before + 1 < len(self._firsts) else self._length
        return None

    def _segment(self, number: int) -> int:
        return bisect_right(self._firsts, number) - 1
