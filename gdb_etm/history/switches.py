"""Thread switches: the stack that an exception return goes to.

A trace says where an exception returned to, not with which stack.  A task goes on where it was interrupted,
so stacks that wait are found by their addresses.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.history.frames import Frame, Function
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range

# Stacks remembered; a task that does not come back is forgotten after so many others.
_WAITING = 64


class _Waiting(NamedTuple):
    # A stack that will go on at this address.
    address: int
    frame: Frame


class StackSwitches:
    """Finder of thread switches: the stacks that were left, by their addresses.

    :param program: The program that ran.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: Dict[Tuple[int, int], bool] = {}
        self._waiting: List[_Waiting] = []
        self._written = False

    def writes_stack(self, executed: Range) -> bool:
        """Tell whether a range sets the process stack pointer (MSR PSP)."""
        if executed.isa is not Isa.T32:
            return False
        key = (executed.start, executed.end)
        known = self._known.get(key)
        if known is None:
            code = self._program.read(executed.start, executed.end - executed.start)
            halves = [code[at] | code[at + 1] << 8 for at in range(0, len(code) - 1, 2)]
            known = self._known[key] = any(
                first & 0xFFF0 == 0xF380 and second & 0xF37F == 0x8009 for first, second in zip(halves, halves[1:])
            )
        return known

    def execute(self, executed: Range) -> None:
        """Look at what runs."""
        self._written = self._written or self.writes_stack(executed)

    def resume(self, frame: Frame, expected: Optional[int], start: int, function: Optional[Function]) -> Frame:
        """Find, or invent, the frame that goes on after an exception.

        A handler that has set the stack pointer goes to another stack that waits at that address: of several to the
        one that has waited longest.  When no stack was left so far, the other one was left before the history.

        :param frame: The frame that was interrupted.
        :param expected: The return address of the exception, when known.
        :param start: Where execution goes on.
        :param function: The function there.
        """
        written, self._written = self._written, False
        others = [one for one in self._waiting if one.address == start and one.frame.function == function]
        if frame.function == function:
            same = expected is None or expected == start
            if not written and (same or not others) or same and self._waiting and not others:
                return frame
        if expected is not None:
            self._waiting = self._waiting[1 - _WAITING :] + [_Waiting(expected, frame)]
        if others:
            self._waiting.remove(others[0])
            return others[0].frame
        return Frame(frame.level, function, None, None)
