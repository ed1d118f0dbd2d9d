"""Thread switches: the stack that an exception return goes to.

A trace says where an exception returned to, not with which stack.  A task goes on where it was interrupted,
so stacks that wait are found by their addresses; of several at one address it shows where they return to.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.history.entries import FrameEntry
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.stacks import Before, WaitingStack, find_caller, outermost_of
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Range

# Stacks remembered; a task that does not come back is forgotten after so many others.
_WAITING = 64

# Where a return led, and the function there.
_Return = Tuple[int, Optional[Function]]


class Resumed(NamedTuple):
    """The stack that goes on, as far as is known by then."""

    # None: one that was not seen so far.
    chosen: Optional[WaitingStack]
    # Others that may be it.
    others: Tuple[WaitingStack, ...]
    # How many entries the call history had.
    row: int


class Correction(NamedTuple):
    """Another stack has gone on than it seemed at first."""

    resumed: Resumed
    # What ran since: the frames of the one for those of the other.
    frames: Dict[Frame, Frame]
    # Where the frame that returned goes to.
    caller: Frame


class StackSwitches:
    """Finder of thread switches: the stacks that were left, by their addresses.

    :param program: The program that ran.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: Dict[Tuple[int, int], bool] = {}
        self._waiting: List[WaitingStack] = []
        self._written = False
        self._resumed: Optional[Resumed] = None
        # The frames of the stack that went on which have run since, innermost first; and the returns between them.
        self._ran: List[Frame] = []
        self._returns: List[_Return] = []
        # Pairs of stacks, as segments, either of which may have gone on where one of them did.
        self.alike: Set[Tuple[int, int]] = set()

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

    def gap(self, running: WaitingStack) -> Before:
        """Give the stacks before a gap."""
        self.settle()
        return Before(running, tuple(self._waiting))

    def settle(self) -> None:
        """Note that nothing more shows which stack went on."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None and resumed.chosen is not None:
            chosen = resumed.chosen
            self.alike.update(
                (chosen.segment, other.segment)
                for other in resumed.others
                if other.segment != chosen.segment and _way(other.frame, self._returns) is not None
            )

    def resume(self, left: WaitingStack, start: int, function: Optional[Function], row: int) -> Optional[WaitingStack]:
        """Find the stack that goes on after an exception.

        A handler that has set the stack pointer goes to another stack that waits at that address: of several to the
        one that has waited longest.  When no stack was left so far, the other one was left before the history.

        :param left: The stack that was interrupted; its address is the exception's return address, when known.
        :param start: Where execution goes on.
        :param function: The function there.
        :param row: How many entries the call history has.
        :returns: None for a stack that was not seen so far.
        """
        written, self._written = self._written, False
        self.settle()
        fitting = [one for one in self._waiting if one.goes_on_at(start) and one.frame.function == function]
        others = [one for one in fitting if one.address == start] or fitting
        same = left.frame.function == function and (left.address is None or left.goes_on_at(start))
        if left.frame.function == function and not written and (same or not others):
            return left
        is_left = same and not others
        chosen = left if is_left else others[0] if others else None
        if not is_left:
            self._wait(left)
        if chosen is not None:
            possible = [*others[1:], left] if same and not is_left else others[1:]
            self._resumed = Resumed(chosen, tuple(possible), row)
            self._ran, self._returns = [chosen.frame], []
            if not is_left:
                self._waiting.remove(chosen)
        return chosen

    def _wait(self, left: WaitingStack) -> None:
        if left.address is not None:
            self._waiting = [*self._waiting[1 - _WAITING :], left]

    def arrive(self, frame: Frame, caller: Frame, start: int, function: Optional[Function]) -> Optional[Correction]:
        """Take a return: it may show that another stack goes on.

        :param frame: The frame that returned.
        :param caller: The frame that it returns to, unless another stack goes on.
        :param start: Where execution goes on.
        :param function: The function there.
        """
        resumed = self._resumed
        if resumed is None or resumed.chosen is None or caller.level >= self._ran[-1].level:
            return None
        if start in caller.set_jumps or find_caller(frame, start, function) is caller:
            self._ran.append(caller)
            self._returns.append((start, function))
            return None
        return self._correct(resumed, resumed.chosen, (start, function))

    def _correct(self, resumed: Resumed, chosen: WaitingStack, last: _Return) -> Correction:
        returns = [*self._returns, last]
        still = [one for one in resumed.others if one in self._waiting]
        ways = [(one, _way(one.frame, returns)) for one in still]
        fitting = [(one, way) for one, way in ways if way is not None and way[1]] or [
            (one, way) for one, way in ways if way is not None
        ]
        other: Optional[WaitingStack] = None
        if fitting:
            other, way = fitting[0]
            frames = _invented(way[0], returns) if way is not None else []
            self._waiting.remove(other)
        else:
            first = self._ran[0]
            frames = _invented([Frame(first.level, first.function, None, None)], returns)
        self._waiting.insert(0, chosen)
        self._resumed = Resumed(other, tuple(one for one in still if one is not other), resumed.row)
        mapped = dict(zip(self._ran, frames))
        self._ran, self._returns = frames, returns
        return Correction(self._resumed, mapped, frames[-1])


def _way(frame: Frame, returns: List[_Return]) -> Optional[Tuple[List[Frame], bool]]:
    # The frames that some returns go through, and whether all are known; None when one leads elsewhere.
    frames = [frame]
    for address, function in returns:
        caller = find_caller(frames[-1], address, function)
        if caller is None:
            outermost = outermost_of(frames[-1])
            return (frames, False) if outermost.return_address is None and frames[-1].caller() is None else None
        frames.append(caller)
    return frames, True


def _invented(frames: List[Frame], returns: List[_Return]) -> List[Frame]:
    # With the frames that later returns go to, which the history has not seen called.
    frames = list(frames)
    for address, function in returns[len(frames) - 1 :]:
        outermost = outermost_of(frames[-1])
        caller = Frame(outermost.level - 1, function, None, None)
        outermost.up, outermost.return_address = caller, address
        frames.append(caller)
    return frames


def move_entries(rows: List[FrameEntry], correction: Correction, segment: int) -> None:
    """Give the entries since a stack went on to another stack.

    :param segment: The other stack's.
    """
    # Of each frame the one that stands for it, and what was added to its level.
    moved = {frame: (to, to.level - frame.level) for frame, to in correction.frames.items()}
    for at in range(correction.resumed.row, len(rows)):
        row = rows[at]
        to = _moved(row.frame, moved)
        rows[at] = row._replace(stretch=segment, level=to.level, frame=to)


def _moved(frame: Frame, moved: Dict[Frame, Tuple[Frame, int]]) -> Frame:
    # A callee stays itself; its callers change.
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
