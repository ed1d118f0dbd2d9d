"""Activations while a history is read: callers, depths, and stitching across gaps.

The rules are those of GDB's branch-trace recordings, so that ``etm functions`` indents as
``record function-call-history /c`` would; where GDB matches callers by function name, a return address is
used first, because the trace gives it.
"""

from __future__ import annotations

import itertools
from itertools import islice
from typing import Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.elements import Exception_

# Callers compared across a gap; more would make deep recursion slow and no surer.
_DEEPEST = 16


class Function(NamedTuple):
    """A function of the program."""

    name: str
    # Address of its first instruction.
    start: int
    # Address just past its last instruction.
    end: int
    # Whether it is but a place in assembler code that has a name: a jump there is no call.
    is_label: bool = False


class Frame:
    """One activation of a function, or one exception being taken.

    :param level: Call depth relative to the start of its stretch of history.
    :param function: The function, when known.
    :param up: The activation that it returns to, when known.
    :param return_address: Where it goes on in ``up``, when known.
    """

    __slots__ = ("level", "function", "up", "return_address", "called_at", "event", "is_tail_call", "set_jumps")

    def __init__(
        self, level: int, function: Optional[Function], up: Optional[Frame], return_address: Optional[int]
    ) -> None:
        self.level = level
        self.function = function
        self.up = up
        self.return_address = return_address
        # Number of the instruction that called, or was the last before the exception; None when it was not seen.
        self.called_at: Optional[int] = None
        # The exception, for a frame that stands for one.
        self.event: Optional[Exception_] = None
        self.is_tail_call = False
        # Where calls of ``setjmp`` returned to: the only places that a ``longjmp`` leads to.
        self.set_jumps: Tuple[int, ...] = ()

    @property
    def is_exception(self) -> bool:
        """Tell whether this stands for an exception being taken."""
        return self.event is not None

    def callers(self) -> Iterator[Frame]:
        """Give the frames above this one, innermost first."""
        frame = self.up
        while frame is not None:
            yield frame
            frame = frame.up

    def caller(self) -> Optional[Frame]:
        """Give the frame that this one returns to.

        Tail calls leave no frame of their own on the stack.
        """
        frame = self
        while frame.is_tail_call and frame.up is not None:
            frame = frame.up
        return frame.up

    def chain(self) -> Iterator[Frame]:
        """Give this frame and its callers, innermost first.

        Frames that tail-called the one below are left out.
        """
        frame: Optional[Frame] = self
        while frame is not None:
            yield frame
            while frame is not None and frame.is_tail_call:
                frame = frame.up
            frame = frame.up if frame is not None else None


def returned_to(frame: Frame, address: int, function: Optional[Function]) -> Frame:
    """Find, or invent, the frame that a return goes to.

    :param frame: The frame whose last instruction returned.
    :param address: Where execution went on.
    :param function: The function at that address.
    """
    below = frame
    for caller in frame.callers():
        if below.return_address == address and caller.function == function:
            return caller
        below = caller
    if any(caller.set_jumps for caller in frame.callers()):
        for caller in frame.callers():
            if address in caller.set_jumps:
                return caller
    for caller in frame.callers():
        if function is not None and caller.function == function:
            return caller
    return _unseen_caller(frame, function, address)


def exception_of(frame: Frame) -> Optional[Frame]:
    """Find the exception that a handler, or its callee, handles."""
    return next((at for at in itertools.chain((frame,), frame.callers()) if at.is_exception), None)


def interrupted(frame: Frame) -> Frame:
    """Find, or invent, the frame that an exception return goes to."""
    for at in itertools.chain((frame,), frame.callers()):
        outermost = at
        if at.is_exception and at.up is not None:
            return at.up
    outermost.up = Frame(outermost.level - 1, None, None, None)
    return outermost.up


def _unseen_caller(frame: Frame, function: Optional[Function], address: int) -> Frame:
    # As GDB's ftrace_new_return: the call lies before the history, unless one of the callers seen
    # should have been returned to; then the stack was switched, and a separate chain begins.
    outermost = frame
    called = False
    while outermost.up is not None:
        called = called or not outermost.is_tail_call
        outermost = outermost.up
    if called:
        return Frame(frame.level - 1, function, None, None)
    caller = Frame(outermost.level - 1, function, None, None)
    outermost.up = caller
    outermost.return_address = address
    return caller


class HistorySegment:
    """History between two gaps, with its own call levels until stitching.

    :param first: The frame it begins in.
    """

    __slots__ = ("first", "last", "shift", "group")

    def __init__(self, first: Frame) -> None:
        self.first = first
        self.last = first
        # What to add to its levels to have those of its group.
        self.shift = 0
        # Shared by stretches that were stitched together; levels of different groups have nothing in common.
        self.group = 0


def stitch(stretches: List[HistorySegment]) -> None:
    """Join call levels across gaps where the callers match.

    As GDB's ftrace_bridge_gap: of all pairs of a frame live before the gap and one live after it,
    the pair with the longest common chain of callers is taken to be the same frame.
    """
    for left, right in zip(stretches, stretches[1:]):
        right.group = left.group + 1
        best = 0
        for before in islice(left.last.chain(), _DEEPEST):
            for after in islice(right.first.chain(), _DEEPEST):
                matches = _matching(before, after)
                if matches > best:
                    best = matches
                    same = before, after
        if best:
            right.group = left.group
            right.shift = same[0].level + left.shift - same[1].level
            _adopt_callers(*same)


def _matching(left: Frame, right: Frame) -> int:
    count = 0
    for one, other in islice(zip(left.chain(), right.chain()), _DEEPEST):
        if one.function is None or one.function != other.function:
            return 0
        count += 1
    return count


def _adopt_callers(left: Frame, right: Frame) -> None:
    # Callers that only the history before the gap has seen are the later frames' callers too.
    shift = right.level - left.level
    for one, other in zip(left.chain(), right.chain()):
        left, right = one, other
    for caller in islice(left.callers(), _DEEPEST):
        if right.up is not None:
            return
        right.up = Frame(caller.level + shift, caller.function, None, None)
        right.up.is_tail_call = caller.is_tail_call
        right = right.up
