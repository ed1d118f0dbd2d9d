"""Thread switches: the stack that a return or jump goes to.

A trace says where an exception returned to, not with which stack.  A task goes on where it was interrupted,
so stacks that wait are found by their addresses; ``identities.py`` knows what tells several at one address apart.
A task that was left by a plain function goes on in that function.  A handler that has only moved the process stack
pointer stays on that stack: it makes the task call a function, or ends that call.
"""

from __future__ import annotations

from typing import AbstractSet, Callable, Dict, List, Optional, Tuple

from gdb_etm.history.alike import Alike
from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame, Function, find_caller, returned_to
from gdb_etm.history.identities import Correction, Identities
from gdb_etm.history.stacks import Before, HistorySegment, WaitingStack
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.program.stack_changes import StackChanges
from gdb_etm.protocols.elements import Range


class StackSwitches:
    """Finder of thread switches: the stacks that were left, by their addresses.

    :param program: The program that ran.
    :param rows: The entries so far of the call history.
    :param add: Adds a stack that begins with a frame, and gives the index of its segment.
    :param m_profile: Whether handlers have a stack of their own.
    """

    def __init__(self, program: Program, rows: List[FrameEntry], add: Callable[[Frame], int], m_profile: bool) -> None:
        self._program = program
        self._m_profile = m_profile
        self._known: Dict[Tuple[int, int], bool] = {}
        self._changes = StackChanges(program)
        # Whether a handler has set the stack pointer.
        self.written = False
        self._identities = Identities(rows, add)

    @property
    def has_seen_one(self) -> bool:
        """Whether no other stack was seen, nor is in doubt."""
        return self._identities.is_empty

    def writes_stack(self, executed: Range) -> bool:
        """Tell whether a range sets the process stack pointer (MSR PSP).

        Or, as was seen in a handler, the main one.
        """
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

    def execute(self, executed: Range, function: Optional[Function]) -> None:
        """Look at what runs.

        :param function: The function that it begins in.
        """
        if not self.written and self.writes_stack(executed):
            self.written = function is None or self._changes_process_stack(executed, function)

    def _changes_process_stack(self, executed: Range, function: Function) -> bool:
        # Whether what it sets is another stack's, as far as the function shows.
        changes = self._changes.of_handler(function.start, function.end, True)
        is_within = function.start <= executed.start and executed.end <= function.end
        return not is_within or any(executed.start <= change.address < executed.end for change in changes)

    def _handle(self, executed: Range, function: Optional[Function]) -> None:
        # Looks at what a handler runs: it may set SP to another stack.
        if function is None or executed.isa is not Isa.T32 or not self._m_profile:
            return
        for change in self._changes.of_handler(function.start, function.end, False):
            if executed.start <= change.address < executed.end:
                self.written = self._known[executed.start, executed.end] = True

    def starts(self, left: WaitingStack, first: Optional[Function]) -> bool:
        """Tell whether going to a function's beginning starts a thread.

        The function that leads there has set the process stack pointer (MSR PSP).

        :param left: The stack in use; its address is that behind the jump.
        :param first: The function at whose beginning execution goes on.
        """
        function = left.frame.function
        if not self.written or left.frame.is_handling or function is None or first is None or first.is_label:
            return False
        if find_caller(left.frame, first.start, first) is not None:
            return False
        if not self.writes_stack(Range(function.start, function.end, 1, Isa.T32, False)):
            return False
        self.written = False
        self._identities.switch(left, None, (), first.start)
        return True

    def change_in(self, executed: Range, frame: Frame) -> Optional[int]:
        """Give the address from which on another stack is in use.

        A handler goes over to it when it returns.

        :param executed: A range of the frame's function.
        :returns: None if the stack stays.
        """
        function = frame.function
        if frame.is_handling:
            self._handle(executed, function)
            return None
        if function is None:
            return None
        for change in self._changes.of(function.start, function.end, executed.isa):
            if executed.start <= change.address < executed.end:
                return change.end if change.end < executed.end else change.address
        return None

    def change(self, left: WaitingStack, start: int) -> Optional[WaitingStack]:
        """Go over to another stack in the middle of a function.

        :param left: The stack in use; its address is where the other one goes on.
        :param start: The next instruction there that is executed.
        :returns: None for a stack that was not seen so far.
        """
        waiting = self._identities.waiting
        fitting = [one for one in waiting if one.address == left.address and one.frame.function == left.frame.function]
        self._identities.switch(left, fitting[0] if fitting else None, fitting[1:], start)
        return fitting[0] if fitting else None

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
        called = None if written else self._called(left, start, function)
        if called is not None:
            return left._replace(frame=called)
        waiting = self._identities.waiting
        fitting = [one for one in waiting if one.goes_on_at(start) and one.frame.function == function]
        others = [one for one in fitting if one.address == start] or fitting
        same = left.frame.function == function and (left.address is None or left.goes_on_at(start))
        if left.frame.function == function and not written and (same or not others):
            return left
        if same and not others:
            self._identities.stay(left, start)
            return left
        chosen = others[0] if others else None
        self._identities.switch(left, chosen, [*others[1:], left] if same else others[1:], start)
        return chosen

    def _called(self, left: WaitingStack, start: int, function: Optional[Function]) -> Optional[Frame]:
        # The frame of a function that the handler makes the interrupted code call, or that it ends such a call for.
        if not self._m_profile or left.frame.function == function or left.address is None or function is None:
            return None
        if any(one.goes_on_at(start) for one in self._identities.waiting):
            return None
        if left.asked and start != function.start or find_caller(left.frame, start, function) is not None:
            return returned_to(left.frame, start, function)
        called = Frame(left.frame.level + 1, function, left.frame, left.address)
        called.called_at = left.frame.called_at
        return called

    def arrive(self, frame: Frame, caller: Frame, start: int, function: Optional[Function]) -> Optional[Correction]:
        """Take a return: it may show that another stack goes on.

        :param frame: The frame that returned.
        :param caller: The frame that it returns to, unless another stack goes on.
        :param start: Where execution goes on.
        :param function: The function there.
        """
        return self._identities.arrive(frame, caller, (start, function))

    def note_new(self, stack: WaitingStack, start: int) -> None:
        """Note a stack that was not seen before.

        :param start: Where it goes on.
        """
        self._identities.note_new(stack, start)

    def settle(self, segments: List[HistorySegment]) -> AbstractSet[Alike]:
        """Say which stacks are not told apart everywhere.

        :param segments: All; what may be several ones' is cut off them.
        """
        return self._identities.settle(segments)
