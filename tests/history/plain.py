"""GDB's process_event_stop_test, one instruction at a time, over the truth of :mod:`tests.history.reference`."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.history.lines import InlinedKey
from tests.history.reference import Act, Truth


class Place(NamedTuple):
    """A stepper's place: instruction index, and inlined functions to enter."""

    at: int
    hidden: int


Frame = Tuple[Act, Tuple[InlinedKey, ...]]


class Left:
    """The start of a step: frame, file and line, address range."""

    def __init__(self, frame: Frame, current: Optional[Tuple[str, int]], bounds: Tuple[int, int]) -> None:
        self.frame = frame
        self.current = current
        self.bounds = bounds


class Plain:
    """Steps through the truth.

    :param truth: What was executed.
    """

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._places = truth.places

    def step(self, place: Place, over: bool, back: bool) -> Optional[Place]:
        """Make a step by line; None when the history ends before."""
        if place.hidden and not over:
            return place._replace(hidden=place.hidden - 1)
        left = self._left(place, back)
        at = self._move(place.at, back)
        while at is not None:
            address = self._truth.addresses[at]
            act = self._truth.acts[at]
            inside = left.bounds[0] <= address < left.bounds[1]
            if inside and (not back or self._here(at) == left.frame):
                if back and address == left.bounds[0] and not self._starts(address):
                    return self._place(at)
            elif act is not left.frame[0] and act.caller() is left.frame[0]:
                if over or not self._has_lines(address):
                    at = self._leave(at, act, left.frame[0], back)
                    continue
                if not back:
                    return self._body(at)
                line = self._places.line_at(address)
                if line is None or line.start == address:
                    return self._place(at)
            else:
                found = self._elsewhere(left, at, over, inside if back else None)
                if found is not None:
                    return found
            at = self._move(at, back)
        return None

    def _left(self, place: Place, back: bool) -> Left:
        address = self._truth.addresses[place.at]
        line = self._places.line_at(address)
        frame = self._frame(place)
        if line is None:
            function = self._places.function_at(address)
            assert function is not None
            return Left(frame, None, (function.start, function.end))
        inlined = self._places.inlined_at(address)
        # prepare_one_step of GDB 15 and later takes one off, so that it does not stop where the line begins.
        start = line.start - 1 if back and self._places.version >= 15 else line.start
        return Left(frame, inlined[-place.hidden].call if place.hidden else line.place, (start, line.end))

    def _elsewhere(self, left: Left, at: int, over: bool, inside: Optional[bool]) -> Optional[Place]:
        # Out of the range or of the frame, and not in a callee; ``inside`` is None forward.
        address = self._truth.addresses[at]
        line = self._places.line_at(address)
        here = self._here(at)
        if line is None:
            return self._place(at)
        kept = self._kept(left, at)
        shown = self._frame(Place(at, kept))
        if not inside:
            here = shown  # process_event_stop_test looks the frame up where it first needs it
        if here == left.frame and kept:
            same = self._places.inlined_at(address)[-kept].call == left.current
            if not over:
                return Place(at, kept - same)
            return None if same else Place(at, kept)
        outer = left.frame[1]
        nested = shown[0] is left.frame[0] and len(shown[1]) > len(outer) and shown[1][: len(outer)] == outer
        if nested and here != left.frame:
            return None if over else Place(at, kept)
        newer = inside is not None and self._places.version >= 15
        update: Tuple[Frame, Optional[Tuple[str, int]]] = (shown, line.place)
        if address == line.start and line.place != left.current:
            if line.is_statement:
                if not newer or self._first(address) == address:
                    return Place(at, kept)
                left.frame, left.current, left.bounds = shown, line.place, (self._first(address), address)
                return None
            update = (left.frame, left.current) if here == left.frame else (shown, None)
        if newer and here != left.frame and self._code(here) == self._code(left.frame):
            update = left.frame, left.current
        start = self._first(address) if newer and address != line.start else line.start
        left.frame, left.current = update
        left.bounds = start, line.end
        return None

    def _kept(self, left: Left, at: int) -> int:
        # How many of the inlined functions that begin are hidden: GDB 16 enters those that were left for another part.
        address = self._truth.addresses[at]
        hidden = self._hidden(address)
        if self._places.version < 16 or self._truth.acts[at] is not left.frame[0] or not left.frame[1]:
            return hidden
        entered = [one.key for one in self._places.inlined_at(left.frame[1][-1].entry)]
        depth = 0
        for one in reversed(self._places.inlined_at(address)):
            if one.key in entered:
                break
            depth += 1
        return min(hidden, depth)

    def _first(self, address: int) -> int:
        # The beginning of the first entry of those that lie side by side and are of one line.
        line = self._places.line_at(address)
        assert line is not None
        first = line.start
        before = self._places.line_at(first - 1)
        while before is not None and before.place == line.place:
            first = before.start
            before = self._places.line_at(first - 1)
        return first

    def _code(self, frame: Frame) -> object:
        return frame[1][-1].entry if frame[1] else frame[0].function

    def _place(self, at: int) -> Place:
        return Place(at, self._hidden(self._truth.addresses[at]))

    def _here(self, at: int) -> Frame:
        return self._frame(self._place(at))

    def _has_lines(self, address: int) -> bool:
        function = self._places.function_at(address)
        return function is not None and self._places.line_at(function.start) is not None

    def _before(self, act: Act) -> Optional[int]:
        # What ran before a function that nobody called, if that began in the history.
        first = next(at for at, one in enumerate(self._truth.acts) if one is act)
        function = self._places.function_at(self._truth.addresses[first])
        begins = function is not None and function.start == self._truth.addresses[first]
        return first - 1 if first and begins else None

    def finish(self, place: Place, back: bool) -> Optional[Place]:
        """Run until the function returns, or back to its call."""
        act = self._truth.acts[place.at]
        if back:
            to = act.called if act.called is not None else self._before(act)
            return None if to is None else Place(to, self._hidden(self._truth.addresses[to]))
        caller = act.caller()
        if caller is not None and caller.is_exception:
            caller = caller.up
        callers = []
        while caller is not None:
            callers.append(caller)
            caller = caller.up
        for index in range(place.at + 1, len(self._truth.acts)):
            if any(self._truth.acts[index] is one for one in callers):
                return Place(index, self._hidden(self._truth.addresses[index]))
        return None

    def _frame(self, place: Place) -> Frame:
        inlined = self._places.inlined_at(self._truth.addresses[place.at])
        return self._truth.acts[place.at], tuple(one.key for one in inlined[: len(inlined) - place.hidden])

    def _hidden(self, address: int) -> int:
        count = 0
        for inlined in reversed(self._places.inlined_at(address)):
            if not inlined.begins_here:
                break
            count += 1
        return count

    def _starts(self, address: int) -> bool:
        function = self._places.function_at(address)
        return function is not None and function.start == address

    def _move(self, index: int, back: bool) -> Optional[int]:
        truth = self._truth
        if not back:
            if index + 1 >= len(truth.acts):
                return None
            if not truth.after_exception[index + 1]:
                return index + 1
            exception = truth.acts[index + 1].up
            assert exception is not None
            return next((at for at in range(index + 1, len(truth.acts)) if truth.acts[at] is exception.up), None)
        if index == 0:
            return None
        act: Optional[Act] = truth.acts[index]
        if truth.after_exception[index]:
            assert act is not None and act.up is not None
            act = act.up.up
        elif not truth.after_return[index]:
            return index - 1
        if act is None:
            return index - 1
        found = [at for at in range(index - 1, -1, -1) if truth.acts[at] is act][:1]
        return found[0] if found else act.called if act.called is not None else index - 1

    def _leave(self, index: int, act: Act, frame: Act, back: bool) -> Optional[int]:
        if back:
            return act.called
        outer: List[Act] = []
        up: Optional[Act] = frame
        while up is not None:
            outer.append(up)
            up = up.up
        acts = self._truth.acts
        return next((at for at in range(index + 1, len(acts)) if any(acts[at] is one for one in outer)), None)

    def _body(self, index: int) -> Optional[Place]:
        address = self._truth.addresses[index]
        function = self._places.function_at(address)
        assert function is not None
        body = self._after_prologue(function.start, function.end)
        addresses = self._truth.addresses
        found = next((at for at in range(index, len(addresses)) if addresses[at] == body), None)
        return None if found is None else Place(found, self._hidden(body))

    def _after_prologue(self, start: int, end: int) -> int:
        line = self._places.line_at(start)
        assert line is not None
        if line.file.endswith(".S") or line.is_doubled or line.end >= end:
            return start
        first = line
        while line.end < end:
            following = self._places.line_at(line.end)
            if following is None or following.line >= first.line or following.file != line.file:
                break
            if self._places.inlined_at(line.end):
                break
            first = line = following
        body = line.end if line.end < end else line.start
        last = self._places.line_at(body)
        return last.end if last is not None and last.start != body and last.end < end else body
