"""A cursor in a history: the user's position, and every move.

A move that is interrupted (KeyboardInterrupt) leaves the cursor where it was.
"""

from __future__ import annotations

from collections import deque
from typing import AbstractSet, Callable, Deque, Dict, List, Optional

from gdb_etm.history.activations import Activations
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.frames import Frame
from gdb_etm.history.lines import SymbolTables
from gdb_etm.history.path import Path
from gdb_etm.history.stack import Beginning, StackLevel, innermost, stack
from gdb_etm.history.stepper import Stepper
from gdb_etm.history.steps import MoveEnd, MoveReason, Position, StepRange, Steps
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.history.threads import Suspension

# Moves that can be taken back.
_UNDO = 100

# No breakpoints.
NOWHERE: AbstractSet[int] = frozenset()


class Cursor:
    """A position in one history.  It begins at the live end.

    :param history: The executed instructions.
    :param calls: Gives the history's calls; asked at the first move that needs them.
    :param places: The symbol tables.
    """

    def __init__(self, history: ExecutionHistory, calls: Callable[[], CallHistory], places: SymbolTables) -> None:
        self.path = Path(history)
        # The position after the last instruction: where the target is halted.
        self.end = self.path.length + 1
        self.position = Position(self.end)
        # Level of the selected frame; 0 is the innermost.
        self.selected = 0
        # Named positions.
        self.marks: Dict[str, int] = {}
        self._make_calls = calls
        self._places = places
        self._stepper: Optional[Stepper] = None
        self._activations: Optional[Activations] = None
        self._before: Deque[Position] = deque(maxlen=_UNDO)

    @property
    def address(self) -> Optional[int]:
        """Address of the next instruction; None where it is unknown."""
        return self.path.address(self.position.number)

    @property
    def stepper(self) -> Stepper:
        """The rules of stepping, with this history's calls."""
        if self._stepper is None:
            self._stepper = Stepper(self.path, self.activations, self._places)
        return self._stepper

    @property
    def activations(self) -> Activations:
        """The history's activations."""
        if self._activations is None:
            self._activations = Activations(self._make_calls(), self.path.length)
        return self._activations

    def stack(self) -> List[StackLevel]:
        """Give the frames at the position, innermost first."""
        calls = self._make_calls() if self._activations is None else None
        if calls is not None and not calls.is_read:
            # An index is of one thread, so no function began without a call.
            frame = calls.innermost(self.position.number)
            return self._stack(frame, self.address, lambda frame: None, self.position.hidden)
        return self._levels()

    def _levels(self) -> List[StackLevel]:
        # With the frames that moves know.
        frame = self.activations.frame(self.position.number)
        return self._stack(frame, self.address, self.activations.beginning, self.position.hidden)

    def stack_of(self, where: Suspension) -> List[StackLevel]:
        """Give the frames of a thread that does not run."""
        return self._stack(where.frame, where.address, self.activations.beginning)

    def _stack(self, frame: Frame, address: Optional[int], begins: Beginning, hidden: int = 0) -> List[StackLevel]:
        return stack(self.path, frame, self._places, address, begins, hidden)

    def innermost(self) -> StackLevel:
        """Give the innermost frame; its callers are not looked for."""
        if self._activations is not None or self.address is None:
            return self.stack()[0]
        return innermost(self.path, self._places, self.position)

    def forget(self) -> None:
        """Look at symbols anew: they have changed."""
        self._stepper = self._activations = None

    def goto(self, number: int) -> MoveEnd:
        """Go to an instruction, or to the end.

        :param number: 1 up to :attr:`end`.
        """
        return self._arrive(MoveEnd(Position(number), MoveReason.LOCATION))

    def follow(self, position: Position, selected: int) -> None:
        """Go where somebody else has moved.

        :param selected: The level of the frame selected there.
        """
        self._arrive(MoveEnd(position, MoveReason.LOCATION))
        if selected:
            self.selected = min(selected, len(self.stack()) - 1)

    def undo(self) -> bool:
        """Go back to before the last move; False when there is none."""
        if not self._before:
            return False
        self.position = self._before.pop()
        self.selected = 0
        return True

    def step(self, size: Steps, count: int = 1, backward: bool = False, stops: AbstractSet[int] = NOWHERE) -> MoveEnd:
        """Make steps, as many as ``count`` unless something else stops before.

        :param stops: Addresses of breakpoints.
        """
        stop = MoveEnd(self.position, MoveReason.STEPPED)
        for _ in range(count):
            stop = self.stepper.step(stop.position, size, backward, stops)
            if stop.reason is not MoveReason.STEPPED:
                break
        return self._arrive(stop)

    def proceed(self, backward: bool = False, stops: AbstractSet[int] = NOWHERE) -> MoveEnd:
        """Run to a breakpoint, a gap or an end of the history."""
        return self._arrive(self._run(self.position.number, backward, stops, MoveReason.BREAKPOINT))

    def advance(self, addresses: AbstractSet[int], stops: AbstractSet[int] = NOWHERE, inside: bool = False) -> MoveEnd:
        """Run forward to an address, or until the selected frame has returned.

        :param inside: Stop at ``addresses`` in the selected frame only (GDB's ``until``; ``advance`` stops anywhere).
        """
        frame = self._levels()[self.selected].frame
        number = self.position.number
        caller = frame.caller()
        returned = self.activations.after_call(caller, number) if caller is not None else None
        limit = self.end if returned is None else returned
        while True:
            found = self.path.next_at(addresses, number + 1, limit - 1)
            if found is None or not inside or self.activations.frame(found) is frame:
                break
            number = found
        to = limit if found is None else found
        return self._arrive(self._run(self.position.number, False, stops, MoveReason.LOCATION, to))

    def until(self, stops: AbstractSet[int] = NOWHERE) -> MoveEnd:
        """Step over calls, and not back in a loop."""
        left = self.stepper.past_loop(self.position)
        number = self.position.number
        return self._arrive(self.stepper.leave(left, number, Steps.LINE_OVER_CALLS, False, stops))

    def finish(self, backward: bool = False, stops: AbstractSet[int] = NOWHERE) -> MoveEnd:
        """Run until the selected frame has returned, or back to its call."""
        levels = self._levels()
        level = levels[self.selected]
        if level.inlined is not None:
            return self._arrive(self._finish_inlined(levels[self.selected + 1], backward, stops))
        frame: Frame = level.frame
        number = self.position.number
        if backward:
            return self._arrive(self._back_to_call(frame, number, stops))
        caller = frame.caller()
        if caller is not None and caller.is_exception:
            caller = caller.up
        found = self.activations.after_call(caller, number) if caller is not None else None
        to = self.end if found is None else found
        return self._arrive(self._run(number, False, stops, MoveReason.LOCATION, to))

    def _finish_inlined(self, outer: StackLevel, backward: bool, stops: AbstractSet[int]) -> MoveEnd:
        # GDB steps over calls until it is in the outer frame.
        number = self.position.number
        left = StepRange((outer.frame, outer.inlined_keys), None)
        return self.stepper.leave(left, number, Steps.LINE_OVER_CALLS, backward, stops)

    def _back_to_call(self, frame: Frame, number: int, stops: AbstractSet[int]) -> MoveEnd:
        to = frame.called_at
        if to is None:
            to = self._before_begun(frame)
        if to is None:
            return self._run(number, True, stops, MoveReason.BREAKPOINT)
        return self._run(number, True, stops, MoveReason.LOCATION, to)

    def _before_begun(self, frame: Frame) -> Optional[int]:
        # The instruction that started a function without a call, as a handler does that begins a task.
        first = self.activations.beginning(frame)
        if first is None or first < 2 or frame.function is None:
            return None
        return first - 1 if self.path.address(first) == frame.function.start else None

    def last(self, addresses: AbstractSet[int]) -> Optional[MoveEnd]:
        """Go to the last time before here at an address, if any."""
        found = self.path.last_at(addresses, 1, self.position.number - 1)
        return self.goto(found) if found is not None else None

    def stay(self, addresses: AbstractSet[int]) -> Optional[MoveEnd]:
        """Stay at this instruction if it is at an address."""
        here = self.position.number
        return self.goto(here) if here < self.end and self.path.last_at(addresses, here, here) else None

    def next_hit(self, addresses: AbstractSet[int]) -> Optional[MoveEnd]:
        """Go to the next time after here at an address, if any."""
        found = self.path.next_at(addresses, self.position.number + 1, self.path.length)
        return self.goto(found) if found is not None else None

    def _run(
        self, number: int, backward: bool, stops: AbstractSet[int], reason: MoveReason, to: Optional[int] = None
    ) -> MoveEnd:
        # Run to instruction ``to`` or as far as the history goes.
        path = self.path
        if backward:
            seam = path.seam_back(to or 1, number)
            first = seam.after + 1 if seam is not None else to or 1
            hit = path.last_at(stops, first, number - 1)
            target = seam.after if seam is not None else to
        else:
            target = to if to is not None and to <= path.length else None
            seam = path.seam(number, target or path.length)
            hit = path.next_at(stops, number + 1, seam.after if seam is not None else target or path.length)
            if seam is not None:
                target = seam.after + 1
        if hit is not None and hit != to:
            return MoveEnd(Position(hit), MoveReason.BREAKPOINT)
        if seam is not None and target:
            return MoveEnd(Position(target), MoveReason.GAP, seam.gap)
        if target is None:
            last = path.seam(path.length, self.end)
            gap = last.gap if last is not None and not backward else None
            return MoveEnd(Position(1 if backward else self.end), MoveReason.NO_HISTORY, gap)
        return self.stepper.arrived(target, reason)

    def _arrive(self, stop: MoveEnd) -> MoveEnd:
        if stop.position != self.position:
            self._before.append(self.position)
        self.position = stop.position
        self.selected = 0
        return stop
