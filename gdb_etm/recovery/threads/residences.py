"""Residences: threads in the order in which they ran.

A handler changes between them by setting PSP or MSP, or a plain function by setting SP.
"""

from __future__ import annotations

from typing import Dict, Final, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.history.exits import Exit, exit_of
from gdb_etm.program.image import Program
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.ssa.exception_frames import Word, goes_on
from gdb_etm.recovery.threads.context_switch import CHAINED, ENTERED, LEFT, ContextSwitches, Part, Switch
from gdb_etm.recovery.threads.control_blocks import Period
from gdb_etm.recovery.threads.switching_instructions import SwitchedBy, SwitchingInstructions

# Calls that one return may leave at once, as in calls.py.
_DEEP: Final = 4
# Residences that are remembered for an older piece.
_HANDED: Final = 4096


class Residence:
    """A thread between going on and being left.

    :param resumed: Index of the exception return, or the number of the plain function's instruction; None at the
        beginning of what is known.
    """

    def __init__(self, resumed: Optional[int]) -> None:
        self.resumed = resumed
        # Where the frame was that it went on with, if that is known.
        self.frame: Optional[int] = None
        self.address: Optional[int] = None
        # Where indirect branches led that are no returns of its own calls, and whether they look like returns.
        self.outs: List[Tuple[int, bool]] = []
        self.calls: List[int] = []
        self.left: Optional[int] = None
        self.left_at: Optional[int] = None
        # Whether it has asked for the exception.
        self.asked = False
        # What the handler does that it is left to.
        self.switch: Optional[Switch] = None


class LaterThreads(NamedTuple):
    """The threads that ran after a piece, if all are known."""

    # Where execution went on.
    address: int
    # In order; indices of exceptions and returns are negative.
    residences: Tuple[Residence, ...]
    # How many handlers run at the end, and whether the thread goes on that ran before them.
    depth: int
    goes_on: bool
    # Reads memory at the end.
    word: Optional[Word]
    # Stack pointers at the end, as far as they are known.
    pointers: Mapping[SwitchedBy, int]
    # What went over to other threads.
    switched_by: FrozenSet[SwitchedBy]


class ThreadTracker:
    """Follows what ran, and makes a residence of each thread's turn.

    :param program: The program that ran.
    :param switches: Works out what handlers do.
    :param instructions: Which of them go over to another stack.
    :param outer: How many handlers run at the beginning.
    :param later: What ran afterwards; None when that is the end, or is not known.
    """

    def __init__(
        self,
        program: Program,
        switches: ContextSwitches,
        instructions: SwitchingInstructions,
        outer: int = 0,
        later: Optional[LaterThreads] = None,
    ) -> None:
        self._program = program
        self._switches = switches
        self._instructions = instructions
        self.later = later
        # What the running handlers did.
        self._handled: List[Part] = []
        self._returns: Dict[int, bool] = {}
        self._residence = Residence(None)
        # In the order in which they ran.
        self.residences = [self._residence]
        # How many handlers run, without those that ran at the beginning.
        self.depth = 0
        self._outer = outer
        self._branch: Optional[Template] = None
        self._switched = False
        self._resuming = False
        # Whether a handler has just returned that has changed no thread.
        self._returning = False
        self._last_goes_on: Optional[bool] = None
        # What went over to another thread; what ran after a plain function that did.
        self.switched_by: Set[SwitchedBy] = set()
        self.after_change: Sequence[Template] = ()

    @property
    def last_goes_on(self) -> bool:
        """Whether the thread that ran last goes on.

        No handler runs, or none that has changed between threads.
        """
        return not self.depth or not self._switched if self._last_goes_on is None else self._last_goes_on

    def keeps(self, pointer: int) -> bool:
        """Check that no handler at the end has written a pointer.

        :param pointer: Its address.
        """
        return not self.depth or self._switches.keeps(self._handled, pointer, self._is_process)

    @property
    def _is_process(self) -> bool:
        return SwitchedBy.MAIN_STACK not in self.switched_by

    def execute(self, number: int, templates: Sequence[Template], branched: bool) -> None:
        """Take instructions that ran one after the other.

        :param number: Of the first of them.
        :param branched: Whether the last of them branched, if it is a branch.
        """
        first = templates[0].address
        if self._resuming:
            self._resuming = False
            self._residence.address = first
        elif self._returning:
            self._go_back(first)
        elif self._branch is not None:
            self._arrive(first, self._branch)
        if self.depth:
            self._handled.append(templates)
        for at, template in enumerate(templates):
            if self.depth or self._outer:
                self._switch(template)
            elif template.rounds is not None and self._instructions.has(template):
                self._change(number + at, template.address + template.size)
                self.after_change = templates[at + 1 :]
        last = templates[-1]
        if last.call and branched and not self.depth:
            self._residence.calls.append(last.address + last.size)
        self._branch = last if last.target is not None and not last.call and branched and not self.depth else None

    def _switch(self, template: Template) -> None:
        by = self._instructions.in_handler(template)
        if by is not None and self.depth:
            self._switched = True
            self.switched_by.add(by)

    def _change(self, number: int, address: int) -> None:
        # A plain function goes over to another thread, which was left there, too.
        self.switched_by.add(SwitchedBy.FUNCTION)
        self._residence.left, self._residence.left_at, self._residence.asked = number, address, False
        self._residence = Residence(number)
        self._residence.address = address
        self.residences.append(self._residence)

    def _go_back(self, address: int) -> None:
        # From a handler to its thread: it may have made it call a function, or ended such a call.
        self._returning = False
        one = self._residence
        if one.left_at is not None and address not in goes_on(one.left_at, one.asked):
            if leave_calls(one.calls, address):
                return
            if one.asked and not self._instructions.is_entry(address):
                one.outs.append((address, True))
            else:
                one.calls.append(one.left_at)

    def _arrive(self, address: int, branch: Template) -> None:
        residence = self._residence
        if not leave_calls(residence.calls, address):
            residence.outs.append((address, self._is_return(branch)))

    def _is_return(self, template: Template) -> bool:
        found = self._returns.get(template.address)
        if found is None:
            code = self._program.read(template.address, template.size)
            found = self._returns[template.address] = exit_of(code, template.isa) is Exit.RETURN
        return found

    def enter(self, index: int, return_address: Optional[int], asked: bool) -> None:
        """Take an exception.

        :param index: Of the exception among the segment's parts.
        :param asked: Whether the interrupted code may have asked for it.
        """
        if not self.depth:
            if self._returning and return_address is not None:
                self._go_back(return_address)
            if self._branch is not None and return_address is not None:
                self._arrive(return_address, self._branch)
            if self._resuming:
                self._resuming = False
                self._residence.address = return_address
            self._branch = None
            self._switched = False
            self._residence.left, self._residence.left_at, self._residence.asked = index, return_address, asked
            self._handled = []
        else:
            self._handled.append(ENTERED)
        self.depth += 1

    def chain(self) -> None:
        """Take an exception where another one's handler returns."""
        self._handled.append(CHAINED)

    def leave(self, index: int) -> None:
        """Take a return from an exception."""
        self.depth -= 1
        self._outer -= self.depth < 0
        self._branch = None
        if self.depth > 0:
            self._handled.append(LEFT)
            return
        if self.depth < 0 or self._switched:
            if not self.depth:
                self._residence.switch = self._switches.of(self._handled, True, self._is_process)
            self._residence = Residence(index)
            self.residences.append(self._residence)
            self._resuming = True
        else:
            self._returning = True
        self.depth = 0

    def join(self) -> None:
        """Append what ran later.

        The thread that runs last goes on with it, unless a handler runs.
        """
        if self.later is None:
            return
        first, *rest = self.later.residences
        if not self.depth:
            last = self._residence
            if self._resuming:
                last.address = self.later.address
            elif self._branch is not None:
                self._arrive(self.later.address, self._branch)
            last.outs += [one for one in first.outs if not leave_calls(last.calls, one[0])]
            last.calls += first.calls
            last.left, last.left_at, last.asked = first.left, first.left_at, first.asked
        if rest or not self.depth:
            self.depth = self.later.depth
            self._last_goes_on = self.later.goes_on
        self.residences += rest
        self._residence = self.residences[-1]

    def handed(
        self, address: int, frames: Mapping[int, int], word: Optional[Word], pointers: Mapping[SwitchedBy, int]
    ) -> Optional[LaterThreads]:
        """Copy the residences for the older piece; None if too many.

        :param address: Of the first instruction.
        :param frames: By the indices of exception returns, where the frames were.
        :param word: Reads memory at the end of all.
        :param pointers: Stack pointers at that end, as far as they are known.
        """
        self.join()
        if len(self.residences) > _HANDED:
            return None
        found: List[Residence] = []
        for number, one in enumerate(self.residences):
            copy = Residence(None if one.resumed is None else -2 * number - 1)
            copy.frame = one.frame if one.resumed is None else frames.get(one.resumed, one.frame)
            copy.left = None if one.left is None else -2 * number - 2
            copy.address, copy.left_at, copy.asked = one.address, one.left_at, one.asked
            copy.outs, copy.calls = one.outs, one.calls
            found.append(copy)
        by = frozenset(self.switched_by)
        return LaterThreads(address, tuple(found), self.depth, self.last_goes_on, word, pointers, by)

    def periods(self) -> List[Period]:
        """List the residences with what their handlers did."""
        made = [Period(one.address, one.left_at, one.switch) for one in self.residences]
        switch = self._switches.of(self._handled, False, self._is_process) if self.depth > 0 else None
        # Nothing has been saved yet, or there is nothing to save.
        made[-1] = Period(made[-1].address, None if switch is None else made[-1].left_at, switch)
        return made


def leave_calls(calls: List[int], address: int) -> bool:
    """Pop the calls that a branch returns from; False without any."""
    for deep in range(1, min(len(calls), _DEEP) + 1):
        if calls[-deep] == address:
            del calls[-deep:]
            return True
    return False


def follow_returns(calls: List[int], outs: Sequence[Tuple[int, bool]]) -> int:
    """Pop and count returned calls; -1 when a return leads elsewhere.

    :param outs: Where indirect branches led, and whether they look like returns.
    """
    matched = 0
    for address, is_return in outs:
        if not calls:
            break
        if leave_calls(calls, address):
            matched += 1
        elif is_return:
            return -1
    return matched
