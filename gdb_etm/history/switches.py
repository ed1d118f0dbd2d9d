"""Thread switches: the stack that a return or jump goes to.

A trace says where an exception returned to, not with which stack.  A task goes on where it was interrupted,
so stacks that wait are found by their addresses; ``identities.py`` knows what tells several at one address apart.
"""

from __future__ import annotations

from typing import AbstractSet, Callable, Dict, List, Optional, Tuple

from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.identities import Correction, Identities
from gdb_etm.history.stacks import Before, WaitingStack
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range


class StackSwitches:
    """Finder of thread switches: the stacks that were left, by their addresses.

    :param program: The program that ran.
    :param rows: The entries so far of the call history.
    :param add: Adds a stack that begins with a frame, and gives the index of its segment.
    """

    def __init__(self, program: Program, rows: List[FrameEntry], add: Callable[[Frame], int]) -> None:
        self._program = program
        self._known: Dict[Tuple[int, int], bool] = {}
        # Whether a handler has set the stack pointer.
        self.written = False
        self._identities = Identities(rows, add)

    @property
    def has_seen_one(self) -> bool:
        """Whether no other stack was seen, nor is in doubt."""
        return self._identities.is_empty

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
        self.written = self.written or self.writes_stack(executed)

    def starts(self, left: WaitingStack) -> bool:
        """Tell whether a jump out of a function starts a thread.

        Such a function has set the process stack pointer (MSR PSP).

        :param left: The stack in use; its address is that behind the jump.
        """
        function = left.frame.function
        if not self.written or left.frame.is_handling or function is None:
            return False
        if not self.writes_stack(Range(function.start, function.end, 1, Isa.T32, False)):
            return False
        self.written = False
        self._identities.switch(left, None, ())
        return True

    def gap(self, running: WaitingStack) -> Before:
        """Give the stacks before a gap."""
        self._identities.leave()
        return Before(running, tuple(self._identities.waiting))

    def resume(self, left: WaitingStack, start: int, function: Optional[Function]) -> Optional[WaitingStack]:
        """Find the stack that goes on after an exception.

        A handler that has set the stack pointer goes to another stack that waits at that address, if there is one: of
        several to the one that has waited longest, unless what it returns to tells another one.

        :param left: The stack that was interrupted; its address is the exception's return address, when known.
        :param start: Where execution goes on.
        :param function: The function there.
        :returns: None for a stack that was not seen so far.
        """
        written, self.written = self.written, False
        waiting = self._identities.waiting
        fitting = [one for one in waiting if one.goes_on_at(start) and one.frame.function == function]
        others = [one for one in fitting if one.address == start] or fitting
        same = left.frame.function == function and (left.address is None or left.goes_on_at(start))
        if left.frame.function == function and not written and (same or not others):
            return left
        if same and not others:
            self._identities.stay(left)
            return left
        self._identities.switch(left, others[0] if others else None, [*others[1:], left] if same else others[1:])
        return others[0] if others else None

    def arrive(self, frame: Frame, caller: Frame, start: int, function: Optional[Function]) -> Optional[Correction]:
        """Take a return: it may show that another stack goes on.

        :param frame: The frame that returned.
        :param caller: The frame that it returns to, unless another stack goes on.
        :param start: Where execution goes on.
        :param function: The function there.
        """
        return self._identities.arrive(frame, caller, (start, function))

    def alike(self) -> AbstractSet[Tuple[int, int]]:
        """List pairs of stacks, as segments, that are not told apart everywhere."""
        return self._identities.alike()
