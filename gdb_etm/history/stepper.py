"""Stepping through a history by GDB's rules, forward and backward.

The rules are those of GDB's infrun.c (process_event_stop_test and what it calls), which single-steps and looks
after each instruction whether to stop.  Here whole calls, exceptions and ranges of a line are passed in one go,
to the same effect.  Exceptions are what signals are to GDB: only stepping by instruction goes into a handler.
Where GDB's versions differ, :attr:`~gdb_etm.history.lines.SymbolTables.version` decides.
"""

from __future__ import annotations

from typing import AbstractSet, Optional, Tuple

from gdb_etm.history.activations import Activations
from gdb_etm.history.frames import Frame
from gdb_etm.history.lines import LineEntry, SymbolTables, after_prologue, line_start
from gdb_etm.history.path import Path
from gdb_etm.history.steps import (
    FrameId,
    MoveEnd,
    MoveReason,
    Position,
    StepRange,
    Steps,
    beyond_exception,
    hidden_at,
    plain_step,
    visible,
)
from gdb_etm.protocols.elements import Gap

# The first GDB that steps back over all entries of a line that lie side by side, and out of a recursion as such.
_WHOLE_LINES = 15
# The first GDB that steps from one part of an inlined function to another without entering it anew.
_WHOLE_INLINED = 16


class Stepper:
    """Makes steps.

    :param path: The way that execution took.
    :param activations: Its activations.
    :param places: The symbol tables.
    """

    def __init__(self, path: Path, activations: Activations, places: SymbolTables) -> None:
        self._path = path
        self._activations = activations
        self._places = places
        self._end = path.length + 1

    def step(self, position: Position, size: Steps, backward: bool, breakpoints: AbstractSet[int]) -> MoveEnd:
        """Make one step."""
        if size is Steps.INSTRUCTION:
            number, stop = plain_step(self._path, position.number, backward)
            return stop or self._stopped(number, breakpoints)
        if size is Steps.LINE and position.hidden:
            return MoveEnd(position._replace(hidden=position.hidden - 1), MoveReason.STEPPED)
        return self.leave(self.range_at(position, backward), position.number, size, backward, breakpoints)

    def range_at(self, position: Position, backward: bool = False) -> StepRange:
        """Give the range that a step from ``position`` leaves.

        That is the line, or the function when it has no lines.
        """
        frame = self.frame_id(position)
        address = self._path.address(position.number)
        line = self._places.line_at(address) if address is not None else None
        if line is not None:
            # Newer GDBs leave the line from its middle too: the range begins before it, where no instruction does.
            before = backward and self._places.version >= _WHOLE_LINES
            return StepRange(frame, self.place(position), line.start - before, line.end)
        function = frame[0].function
        return StepRange(frame, None, function.start, function.end) if function is not None else StepRange(frame, None)

    def past_loop(self, position: Position) -> StepRange:
        """Give the range that GDB's ``until`` leaves.

        It goes from the function's beginning to the end of the line.
        """
        left = self.range_at(position)
        function = left.frame[0].function
        if function is None:
            return left
        address = self._path.address(position.number)
        line = self._places.line_at(address) if address is not None else None
        following = self._places.line_at(left.end)
        while line is not None and following is not None and following.place == line.place:
            # Entries of the same line that are no statements belong to it.
            if following.is_statement:
                break
            left.end = following.end
            following = self._places.line_at(left.end)
        left.start = min(left.start, function.start)
        return left

    def leave(
        self, left: StepRange, number: int, size: Steps, backward: bool, breakpoints: AbstractSet[int]
    ) -> MoveEnd:
        """Go on from ``number`` until the step leaves its range.

        It ends at the beginning of a line, or at the beginning of the range.
        """
        move = _LineMove(self._path, self._activations, self._places, left, size, backward, breakpoints)
        return move.run(number)

    def frame_id(self, position: Position) -> FrameId:
        """Name the innermost frame at a position."""
        address = self._path.address(position.number)
        return self._activations.frame(position.number), visible(self._places, address, position.hidden)

    def place(self, position: Position) -> Optional[Tuple[str, int]]:
        """Give file and line of the innermost frame.

        Where an inlined function is still to be entered, those of its call.
        """
        address = self._path.address(position.number)
        if address is None:
            return None
        if position.hidden:
            return self._places.inlined_at(address)[-position.hidden].call
        line = self._places.line_at(address)
        return line.place if line is not None else None

    def arrived(self, number: int, reason: MoveReason, gap: Optional[Gap] = None) -> MoveEnd:
        """Stop at an instruction, before the inlined functions that begin there."""
        return MoveEnd(Position(number, hidden_at(self._places, self._path.address(number))), reason, gap)

    def _stopped(self, number: int, breakpoints: AbstractSet[int]) -> MoveEnd:
        hit = self._path.address(number) in breakpoints
        return MoveEnd(Position(number), MoveReason.BREAKPOINT if hit else MoveReason.STEPPED)


class _LineMove:
    # One step by line on its way.

    def __init__(
        self,
        path: Path,
        activations: Activations,
        places: SymbolTables,
        left: StepRange,
        size: Steps,
        backward: bool,
        breakpoints: AbstractSet[int],
    ) -> None:
        self._path = path
        self._activations = activations
        self._places = places
        self._range = left
        self._over = size is Steps.LINE_OVER_CALLS
        self._backward = backward
        self._breakpoints = breakpoints
        self._number = 0
        self._stop: Optional[MoveEnd] = None

    def run(self, number: int) -> MoveEnd:
        self._number = number
        while self._stop is None:
            self._pass_range()
            self._advance()
            while self._stop is None and self._test():
                pass
        return self._stop

    def _at(self, number: int, reason: MoveReason, hidden: Optional[int] = None) -> None:
        if hidden is None:
            hidden = 0 if reason is MoveReason.BREAKPOINT else hidden_at(self._places, self._path.address(number))
        self._number = number
        self._stop = MoveEnd(Position(number, hidden), reason)

    def _pass_range(self) -> None:
        # Pass what lies wholly inside the range, as far as the segment goes.
        left = self._range
        if left.start >= left.end or any(left.start <= address < left.end for address in self._breakpoints):
            return
        number = self._number
        if number > self._path.length or self._activations.frame(number) is not left.frame[0]:
            return
        if left.frame[1] or self._has_inlined(left):
            return
        if self._backward:
            self._pass_back(left, max(self._activations.first(number), 1))
        else:
            self._pass_on(left, self._activations.last(number))

    def _has_inlined(self, left: StepRange) -> bool:
        if left.has_inlined is None:
            addresses = range(left.start + left.start % 2, left.end, 2)
            left.has_inlined = any(self._places.inlined_at(address) for address in addresses)
        return left.has_inlined

    def _pass_on(self, left: StepRange, limit: int) -> None:
        seam = self._path.seam(self._number, limit)
        if seam is not None:
            limit = seam.after
        for span in self._path.onward(self._number):
            last = span.number + span.range.instructions - 1
            if last > limit or span.range.start < left.start or span.range.end > left.end:
                return
            self._number = last

    def _pass_back(self, left: StepRange, limit: int) -> None:
        seam = self._path.seam_back(limit, self._number)
        if seam is not None:
            limit = seam.after + 1
        for span in self._path.back(self._number):
            if span.number < limit or span.range.start <= left.start or span.range.end > left.end:
                return
            self._number = span.number

    def _advance(self) -> None:
        number = self._number
        to, stop = plain_step(self._path, number, self._backward)
        if stop is None or stop.position.number > self._path.length:
            beyond = beyond_exception(self._path, self._activations, number, to, self._backward)
            if beyond is not None:
                self._go(max(beyond, 1))
                if not beyond and self._stop is None:
                    self._stop = MoveEnd(Position(1), MoveReason.NO_HISTORY)
                return
        if stop is not None:
            self._stop = stop
            return
        self._number = to
        if self._path.address(to) in self._breakpoints:
            self._at(to, MoveReason.BREAKPOINT)

    def _go(self, number: int) -> None:
        # Run to an instruction, unless a breakpoint or a gap comes first.
        path = self._path
        if self._backward:
            seam = path.seam_back(number, self._number)
            first = seam.after + 1 if seam is not None else number
            hit = path.last_at(self._breakpoints, first, self._number - 1)
        else:
            seam = path.seam(self._number, min(number, path.length))
            first = seam.after if seam is not None else number
            hit = path.next_at(self._breakpoints, self._number + 1, first)
        if hit is not None:
            self._at(hit, MoveReason.BREAKPOINT)
        elif seam is not None:
            self._stop = MoveEnd(Position(seam.after + (not self._backward)), MoveReason.GAP, seam.gap)
        elif number > path.length:
            self._stop = MoveEnd(Position(number), MoveReason.NO_HISTORY)
        else:
            self._number = number

    def _test(self) -> bool:
        # Decide at an instruction: stop, go on (False), or look again after a call was passed (True).
        address = self._path.address(self._number)
        assert address is not None
        left = self._range
        frame = self._activations.frame(self._number)
        hidden = hidden_at(self._places, address)
        here: FrameId = (frame, visible(self._places, address, hidden))
        is_inside = left.start <= address < left.end
        if is_inside and (not self._backward or here == left.frame):
            at_start = frame.function is not None and address == frame.function.start
            if self._backward and address == left.start and not at_start:
                self._at(self._number, MoveReason.STEPPED)
            return False
        if frame is not left.frame[0] and frame.caller() is left.frame[0]:
            return self._call(frame, address)
        line = self._places.line_at(address)
        if line is None:
            self._at(self._number, MoveReason.STEPPED)
            return False
        hidden = self._to_enter(frame, address, hidden)
        shown: FrameId = (frame, visible(self._places, address, hidden))
        if not (self._backward and is_inside):
            # Else GDB still goes by the frame that it saw before.
            here = shown
        if not self._enters_inlined(here, shown, hidden, address):
            self._line(here, shown, line, address, hidden)
        return False

    def _to_enter(self, frame: Frame, address: int, hidden: int) -> int:
        # Where another part begins of a function that the step is in, that is not entered anew.
        frame_left, inside = self._range.frame
        if self._places.version < _WHOLE_INLINED or frame is not frame_left or not inside:
            return hidden
        around = {one.key for one in self._places.inlined_at(inside[-1].entry)}
        inlined = [one.key not in around for one in reversed(self._places.inlined_at(address))]
        return min(hidden, (inlined + [False]).index(False))

    def _call(self, frame: Frame, address: int) -> bool:
        # In a function that was called from the frame that steps.
        function = frame.function
        has_lines = function is not None and self._places.line_at(function.start) is not None
        if self._over or function is None or not has_lines:
            if self._backward:
                self._go(1 if frame.called_at is None else frame.called_at)
                if frame.called_at is None and self._stop is None:
                    self._stop = MoveEnd(Position(1), MoveReason.NO_HISTORY)
            else:
                found = self._activations.after_call(self._range.frame[0], self._number)
                self._go(self._path.length + 1 if found is None else found)
            return True
        if self._backward:
            line = self._places.line_at(address)
            if line is None or line.start == address:
                self._at(self._number, MoveReason.STEPPED)
            return False
        body = after_prologue(self._places, function)
        if body != address:
            found = self._path.next_at({body}, self._number + 1, self._path.length)
            self._go(self._path.length + 1 if found is None else found)
        if self._stop is None:
            self._at(self._number, MoveReason.STEPPED)
        return False

    def _enters_inlined(self, here: FrameId, shown: FrameId, hidden: int, address: int) -> bool:
        # The two checks of infrun.c for "calls" of inlined functions; whether one of them decided.
        left = self._range
        if here == left.frame and hidden:
            call = self._places.inlined_at(address)[-hidden].call
            same = call == left.line
            if not self._over:
                self._at(self._number, MoveReason.STEPPED, hidden - same)
            elif not same:
                self._at(self._number, MoveReason.STEPPED, hidden)
            return True
        frame, inlined = shown
        outer = left.frame[1]
        is_within = frame is left.frame[0] and len(inlined) > len(outer) and inlined[: len(outer)] == outer
        if is_within and here != left.frame:
            if not self._over:
                self._at(self._number, MoveReason.STEPPED, hidden)
            return True
        return False

    def _line(self, here: FrameId, shown: FrameId, line: LineEntry, address: int, hidden: int) -> None:
        left = self._range
        whole = self._backward and self._places.version >= _WHOLE_LINES
        is_other = address == line.start and line.place != left.line
        if is_other and line.is_statement:
            start = line_start(self._places, line) if whole else address
            if start == address:
                self._at(self._number, MoveReason.STEPPED, hidden)
            else:
                self._range = StepRange(shown, line.place, start, address)
            return
        # An entry that is no statement is no place to stop, but one of the same line that is a statement is.
        frame, place = shown, None if is_other else line.place
        is_recursive = whole and here != left.frame and _code(here) is not None and _code(here) == _code(left.frame)
        if is_recursive or is_other and here == left.frame:
            frame, place = left.frame, left.line
        start = line_start(self._places, line) if whole and address != line.start else line.start
        self._range = StepRange(frame, place, start, line.end)


def _code(frame: FrameId) -> Optional[int]:
    # Where the code of a frame begins: what GDB knows recursive calls by.
    activation, inlined = frame
    if inlined:
        return inlined[-1].entry
    return activation.function.start if activation.function is not None else None
