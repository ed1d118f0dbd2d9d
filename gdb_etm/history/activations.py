"""Index of activations: each instruction's activation, and the segments around it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import chain
from typing import List, Optional

from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Frame


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
        """Give the activation that executes an instruction.

        One past the last instruction is where execution goes on.
        """
        return self._end if number > self._length else self._frames[self._segment(number)]

    def first(self, number: int) -> int:
        """Give the first instruction of the segment that holds ``number``."""
        return number if number > self._length else self._firsts[self._segment(number)]

    def last(self, number: int) -> int:
        """Give the last instruction of the segment that holds ``number``."""
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

    def beginning(self, frame: Frame) -> Optional[int]:
        """Find the first instruction of a function that nobody called.

        Such as a task's.

        :returns: None when the history does not reach back to it.
        """
        at = self._frames.index(frame) if frame in self._frames else len(self._frames)
        if at < len(self._frames) and self._entered[at] is Entered.START:
            return None
        return self._firsts[at] if at < len(self._frames) else self._length + 1

    def after_call(self, frame: Frame, number: int) -> Optional[int]:
        """Find where a frame goes on after a call at instruction ``number``.

        If it was left for good, one of its callers goes on.
        """
        found = self.next_in(frame, number)
        if found is None:
            callers = set(frame.callers())
            for at in range(self._segment(number) + 1, len(self._frames)):
                if self._frames[at] in callers:
                    return self._firsts[at]
        return found

    def before_exceptions(self, frame: Frame, number: int) -> Optional[int]:
        """Find the instruction after which ``frame`` was interrupted.

        It is one of a callee's where the exception came between a return and the instruction that is returned to.

        :returns: None when the history does not reach back to it.
        """
        at = len(self._frames) if number > self._length else self._segment(number) + 1
        for before in range(at - 1, -1, -1):
            taken = _interruption(self._frames[before], frame)
            if taken is not None:
                return self._before_first(taken, frame)
            if self._frames[before] is frame and self._firsts[before] < number:
                last = self._firsts[before + 1] - 1 if before + 1 < len(self._firsts) else self._length
                if last < number:
                    return last
        return None

    def _before_first(self, taken: Frame, frame: Frame) -> Optional[int]:
        # Of several handlers one after the other, the first one's exception decides.
        before: Optional[Frame] = taken
        found: Optional[int] = None
        while before is not None:
            found = before.called_at
            before = _interruption(self.frame(found), frame) if found is not None else None
        return found

    def _segment(self, number: int) -> int:
        return bisect_right(self._firsts, number) - 1


def _interruption(within: Frame, frame: Frame) -> Optional[Frame]:
    # The exception that interrupted a frame, of those that are being handled in another one.
    for one in chain((within,), within.callers()):
        if one.is_exception and one.up is frame:
            return one
    return None
