"""Activations while a history is read: callers and depths.

The rules are those of GDB's branch-trace recordings, so that ``etm functions`` indents as
``record function-call-history /c`` would; where GDB matches callers by function name, a return address is
used first, because the trace gives it.
"""

from __future__ import annotations

import itertools
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.elements import Exception_

# Functions that a longjmp returns from once more.
_SET_JUMPS = frozenset(("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"))


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

    __slots__ = (
        "level",
        "function",
        "up",
        "return_address",
        "called_at",
        "event",
        "is_tail_call",
        "set_jumps",
        "is_handling",
        "is_request",
        "is_first",
    )

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
        # Whether it stands for an exception, or a handler runs in it.
        self.is_handling: bool = up is not None and up.is_handling
        # For an exception: whether the interrupted code may have asked for it.
        self.is_request = False
        # Whether a thread begins with it, so that it has no caller.
        self.is_first = False
        self.is_tail_call = False
        # Where calls of ``setjmp`` returned to: the only places that a ``longjmp`` leads to.
        self.set_jumps: Tuple[int, ...] = ()

    @property
    def is_exception(self) -> bool:
        """Tell whether this stands for an exception being taken."""
        return self.event is not None

    def renamed(self, function: Optional[Function]) -> Frame:
        """Give what goes on at the same depth in another function.

        That is GDB's ftrace_new_switch.
        """
        frame = Frame(self.level, function, self.up, self.return_address)
        frame.is_tail_call = self.is_tail_call
        frame.called_at = self.called_at
        return frame

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

    def note_return(self, callee: Frame, address: int) -> None:
        """Note where a call returned to, if a longjmp may lead there."""
        function = callee.function
        if function is not None and function.name in _SET_JUMPS and address not in self.set_jumps:
            self.set_jumps += (address,)

    def expects(self, address: int) -> bool:
        """Tell whether this frame, or a caller, returns to an address."""
        return address in [self.return_address, *[caller.return_address for caller in self.callers()]]

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


def find_caller(frame: Frame, address: int, function: Optional[Function]) -> Optional[Frame]:
    """Find the caller that waits for a return to an address.

    :param frame: The frame that returns, or one of its callees.
    :param function: The function at the address.
    """
    below = frame
    for caller in frame.callers():
        if below.return_address == address:
            if caller.function == function:
                return caller
            if function is not None and function.start == address:
                return caller.renamed(function)  # a label in assembler code follows the call
        below = caller
    return None


def returned_to(frame: Frame, address: int, function: Optional[Function]) -> Frame:
    """Find, or invent, the frame that a return goes to.

    :param frame: The frame whose last instruction returned.
    :param address: Where execution went on.
    :param function: The function at that address.
    """
    found = find_caller(frame, address, function)
    if found is not None:
        return found
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
    while frame.is_tail_call and frame.up is not None:
        frame = frame.up
    outermost = frame
    while outermost.up is not None:
        outermost = outermost.up
    if outermost is not frame or outermost.is_first:
        return Frame(frame.level - 1, function, None, None)
    caller = Frame(outermost.level - 1, function, None, None)
    outermost.up = caller
    outermost.return_address = address
    return caller


# Of each frame the one that stands for it, and what was added to its level.
Moved = Dict[Frame, Tuple[Frame, int]]


def moved_frame(frame: Frame, moved: Moved) -> Frame:
    """Give the frame for one whose stack has changed.

    A callee stays itself; its callers change.
    """
    callees: List[Frame] = []
    at: Optional[Frame] = frame
    while at is not None and at not in moved:
        callees.append(at)
        at = at.up
    added = 0
    for callee in reversed(callees):
        if callee.up is not None and callee.up in moved:
            callee.up, added = moved[callee.up]
        callee.level += added
        moved[callee] = callee, added
    return moved[frame][0]
