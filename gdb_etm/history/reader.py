"""Follower of the control flow: finds the activation of each executed range.

Reading costs work per executed range, not per instruction, and little for the steps that stay in a function.
"""

from __future__ import annotations

from functools import lru_cache
from typing import AbstractSet, Callable, List, Optional, Set, Tuple, Union

from gdb_etm.history.alike import Alike
from gdb_etm.history.entries import Entered, FrameEntry, Move, Resolver
from gdb_etm.history.exits import Exit
from gdb_etm.history.frames import Frame, Function, exception_of, interrupted, returned_to
from gdb_etm.history.halts import goes_on
from gdb_etm.history.reader_states import HeldReader, ReaderState, frames_from, frames_of, shapes_of
from gdb_etm.history.stacks import Before, HistorySegment, WaitingStack
from gdb_etm.history.store import ExecutionHistory, Span, TracedInstruction
from gdb_etm.history.switches import StackSwitches
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import (
    DEBUG_HALT,
    DEBUG_STATE,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Range,
)
from gdb_etm.protocols.profile import is_m_profile

# SVCall and PendSV.
_REQUESTS = (11, 14)
# Exits whose meaning depends on the frames.
_BY_FRAMES = (Exit.CALL, Exit.RETURN, Exit.INDIRECT)


class RangeReader:
    """Reader of executed ranges; keeps the frame that executes.

    :param history: The executed instructions.
    :param resolve: Finds the function at an address.
    :param exits: Tells how a range is left.
    """

    def __init__(self, history: ExecutionHistory, resolve: Resolver, exits: Callable[[Range], Exit]) -> None:
        # Entries so far.
        self.rows: List[FrameEntry] = []
        # Histories of stacks between gaps, to be stitched.
        self.stretches: List[HistorySegment] = []
        # The index of that in use.
        self._stack = 0
        self._before_gap: Optional[Before] = None
        # Calls so far, tail calls included.
        self.calls = 0
        self._history = history
        # One question to the symbol tables for each place where a range begins.
        self._function_at = lru_cache(maxsize=None)(resolve)
        self._exits = exits
        self._frame = Frame(0, None, None, None)
        self._before: Optional[Range] = None
        self._entered = Entered.START
        self._resumes: Optional[int] = None
        self._expected: Optional[int] = None
        # Whether the thread asked for the exception that has returned.
        self._asked = False
        self._next = 1
        self._halt: Optional[int] = None
        self._held: Optional[HeldReader] = None
        self._switches = StackSwitches(history.program, self.rows, self._add_stack, is_m_profile(history.source.core))
        # Steps from one range to the next that stay in a function whatever the frames are; most steps do.
        self._quiet: Set[Tuple[int, bool, int, int]] = set()

    def span(self, span: Span) -> None:
        """Go through an executed range."""
        executed = span.range
        before = self._before
        if before is not None:
            step = (before.end, before.taken, executed.start, executed.end)
            if step in self._quiet:
                self._before = executed
                self._next = span.number + executed.instructions
                return
            rows = len(self.rows)
            self._follow(span)
            by_frames = before.taken and self._exits(before) in _BY_FRAMES
            if len(self.rows) == rows and not by_frames and not self._switches.writes_stack(executed):
                self._quiet.add(step)
        else:
            self._follow(span)

    def _follow(self, span: Span) -> None:
        executed = span.range
        self._next = span.number
        self._halt = None
        self._switches.execute(executed, self._function_at(executed.start))
        self._enter(executed, self._function_at(executed.start))
        last = span.number + executed.instructions - 1
        function = self._frame.function
        while function is not None and executed.end > function.end:
            # Code ran on over the end of a function into the next one.
            step = self._first_at(self._next + 1, last, function.end)
            if step is None:
                break
            function = self._function_at(step.address)
            executed = executed._replace(start=step.address)
            self._next = step.number
            self._begin(Move(self._frame.renamed(function), Entered.JUMP), step.address)
        self._change_stack(executed, last)
        self._before = executed
        self._entered = Entered.JUMP
        self._next = last + 1

    def _change_stack(self, executed: Range, last: int) -> None:
        # Where a plain function goes over to another thread's stack, which has been left there, too.
        frame = self._frame
        address = self._switches.change_in(executed, frame)
        step = None if address is None else self._first_at(self._next + 1, last, address)
        if step is not None:
            chosen = self._switches.change(WaitingStack(address, frame, self._stack), step.address)
            self._next = step.number
            self._begin(Move(self._go_over(chosen, frame.function, step.address), Entered.JUMP), step.address)

    def gap(self, gap: Gap) -> None:
        """Note that what ran next is unknown."""
        if gap.reason is not GapReason.TRACE_ON:
            self._held = None
        elif self._held is None and gap.detail == DEBUG_STATE:
            self._held = HeldReader(self._next - 1, self._before, self._entered, None)
        self._row(self._frame.level, None, gap.address or 0, Entered.START, gap)
        if self._before is not None and not self._before.taken:
            self._resumes = self._before.end
        self._before = None
        self._entered = Entered.START

    def exception(self, event: Exception_) -> None:
        """Take an exception; a debug halt only marks a place."""
        if event.name == DEBUG_HALT:
            self._resumes = self._halt = event.return_address
            self._held = HeldReader(self._next - 1, self._before, self._entered, event.return_address)
            return
        self._go_on(event.return_address)
        if self._entered is Entered.START:
            self._start(Frame(0, None, None, None))
        elif self._before is not None and self._before.taken and event.return_address is not None:
            # Interrupted between a branch and its target; a branch to nowhere leads to no frame.
            target = self._function_at(event.return_address)
            move = self._branch(self._before, target, event.return_address) if target is not None else None
            if move is not None:
                self._frame = move.frame
        # Of a tail-chained exception the trace need not say where it returns to: there, where the one before would.
        chained = self._entered is Entered.EXCEPTION_RETURN and self._expected is not None
        taken = Frame(self._frame.level + 1, None, self._frame, self._expected if chained else event.return_address)
        taken.event, taken.is_handling = event, True
        taken.is_request = event.vector in _REQUESTS or chained and self._asked
        taken.called_at = self._next - 1 or None
        self._frame = taken
        self._row(taken.level, None, 0, Entered.EXCEPTION, event)
        self._before = None
        self._entered = Entered.EXCEPTION

    def exception_return(self) -> None:
        """Return from an exception."""
        if self._entered is Entered.START:
            return
        exception = exception_of(self._frame)
        self._expected = exception.return_address if exception is not None else None
        self._asked = exception is not None and exception.is_request
        self._frame = interrupted(self._frame)
        self._before = None
        self._entered = Entered.EXCEPTION_RETURN

    def item(self, item: Union[Span, Event]) -> None:
        """Go through an executed range or an event."""
        if isinstance(item, Span):
            self.span(item)
        elif isinstance(item, Gap):
            self.gap(item)
        elif isinstance(item, Exception_):
            self.exception(item)
        elif isinstance(item, ExceptionReturn):
            self.exception_return()

    def state(self) -> Optional[Tuple[ReaderState, List[Frame]]]:
        """Give the state, and its frames.

        :returns: None where stacks wait or are deep: such a state hardly comes back.
        """
        begun = [stretch.first for stretch in self.stretches[-1:]]
        frames = frames_of([self._frame, *begun]) if self._switches.has_seen_one else None
        if frames is None:
            return None
        first = next((at for at, frame in enumerate(frames) if begun and frame is begun[0]), -1)
        held = self._held
        if held is not None and held.address is not None:
            held = held._replace(number=held.number - self._next)
        expected, written = (self._expected, self._asked), self._switches.written
        rest = self._before, self._entered, self._resumes, *expected, self._halt, held, written
        return ReaderState(shapes_of(frames, self._frame.level), first, *rest), frames

    def put(self, state: ReaderState, number: int, level: int) -> List[Frame]:
        """Go on from a state, without entries.

        :param number: Of the next instruction.
        :param level: Of the frame that executes.
        :returns: The state's frames.
        """
        frames = frames_from(state.frames, level)
        self.rows.clear()
        self.stretches, self._before_gap = [], None
        if state.first >= 0:
            self._add_stack(frames[state.first])
        self.take(state, frames, number)
        return frames

    def take(self, state: ReaderState, frames: List[Frame], number: int) -> None:
        """Go on from a state that was reached without reading.

        :param frames: The state's frames.
        :param number: Of the next instruction.
        """
        self._frame = frames[0]
        self._before, self._entered, self._resumes = state.before, state.entered, state.resumes
        self._expected, self._asked = state.expected, state.asked
        self._halt, self._held = state.halt, state.held
        if self._held is not None and self._held.address is not None:
            self._held = self._held._replace(number=self._held.number + number)
        self._switches.written, self._next = state.written, number

    def forget_entries(self) -> None:
        """Go on without the entries and finished stretches so far."""
        self.rows.clear()
        del self.stretches[:-1]
        self._stack, self._before_gap = 0, None

    @property
    def next(self) -> int:
        """The number of the next instruction."""
        return self._next

    @property
    def level(self) -> int:
        """The level of the frame that executes."""
        return self._frame.level

    @property
    def stretch(self) -> int:
        """The index of the stack in use."""
        return self._stack

    def settle(self) -> AbstractSet[Alike]:
        """Say which stacks are not told apart everywhere; all has been read."""
        return self._switches.settle(self.stretches)

    def end(self) -> Frame:
        """Find the activation that goes on where the core was halted."""
        if self._halt is None or not self.rows:
            return self._frame
        rows, stretches, calls = len(self.rows), len(self.stretches), self.calls
        ahead = Range(self._halt, self._halt + 2, 1, Isa.T32, False)
        self._enter(ahead, self._function_at(self._halt))
        frame = self._frame
        del self.rows[rows:], self.stretches[stretches:]
        self.calls = calls
        return frame

    def _go_on(self, address: Optional[int]) -> bool:
        # After a halt, as if there had been none, if what ran next is where the core was halted.
        held, self._held = self._held, None
        if held is None or address is None or self._entered is not Entered.START or held.number != self._next - 1:
            return False
        if not goes_on(self._history, held.number, held.address, address) and not self._is_awaited(held, address):
            return False
        self._before, self._entered = held.before, held.entered
        return True

    def _is_awaited(self, held: HeldReader, address: int) -> bool:
        # An ETMv3 does not say where the core was halted; after a return that is where its caller waits.
        if held.address is not None:
            return False
        if held.entered is Entered.EXCEPTION_RETURN:
            return address == self._expected
        returned = held.before is not None and held.before.taken and self._exits(held.before) is Exit.RETURN
        return returned and address == self._frame.return_address

    def _enter(self, executed: Range, function: Optional[Function]) -> None:
        start = executed.start
        was_held = self._go_on(start)
        frame = self._frame
        before = self._before
        move: Optional[Move] = None
        if self._entered is Entered.START:
            if not self.stretches or start != self._resumes or function != frame.function:
                self._start(Frame(0, function, None, None))
            move = Move(self._frame, Entered.START)
        elif self._entered is Entered.EXCEPTION:
            handler = Frame(frame.level, function, frame, None)
            handler.called_at = frame.called_at
            move = Move(handler, Entered.EXCEPTION)
        elif self._entered is Entered.EXCEPTION_RETURN:
            move = Move(self._resumed(function, start), Entered.EXCEPTION_RETURN)
        elif before is not None and before.taken:
            move = self._branch(before, function, start)
        elif function != frame.function:
            move = Move(frame.renamed(function), Entered.JUMP)
        move = move or (Move(frame, Entered.START) if was_held else None)
        if move is not None:
            self._begin(move, start)

    def _branch(self, before: Range, function: Optional[Function], start: int) -> Optional[Move]:
        # Where a taken branch from ``before`` to ``start`` leads; None: on in the same activation.
        frame = self._frame
        leaves = self._exits(before)
        starts = function is not None and function.start == start
        other = function != frame.function
        if leaves is Exit.CALL:
            if start == before.end:
                return None
            self.calls += 1
            return Move(self._called(function, before.end), Entered.CALL)
        if leaves in (Exit.INDIRECT, Exit.RETURN) and starts and other:
            if self._switches.starts(WaitingStack(before.end, frame, self._stack), function):
                return Move(self._begun(function, start), Entered.JUMP)
        if leaves is Exit.RETURN or (leaves is Exit.INDIRECT and not starts and (other or frame.expects(start))):
            caller = self._returned(frame, start, function)
            caller.note_return(frame, start)
            return Move(caller, Entered.RETURN)
        if starts and other and function is not None and not function.is_label:
            self.calls += 1
            called = self._called(function, None)
            called.is_tail_call = True
            return Move(called, Entered.TAIL_CALL)
        return Move(frame.renamed(function), Entered.JUMP) if other else None

    def _returned(self, frame: Frame, start: int, function: Optional[Function]) -> Frame:
        caller = returned_to(frame, start, function)
        correction = self._switches.arrive(frame, caller, start, function)
        if correction is None:
            return caller
        self._stack = correction.segment
        return correction.caller

    def _called(self, function: Optional[Function], return_address: Optional[int]) -> Frame:
        called = Frame(self._frame.level + 1, function, self._frame, return_address)
        called.called_at = self._next - 1 or None
        return called

    def _resumed(self, function: Optional[Function], start: int) -> Frame:
        frame = self._frame
        if frame.is_exception:
            return Frame(frame.level, function, frame, None)
        frame.function = frame.function or function  # interrupted where the history did not see it
        if frame.function == function and exception_of(frame) is not None:
            return frame  # to a handler that was interrupted: handlers share one stack
        left = WaitingStack(self._expected, frame, self._stack, self._asked)
        return self._go_over(self._switches.resume(left, start, function), function, start)

    def _go_over(self, chosen: Optional[WaitingStack], function: Optional[Function], start: int) -> Frame:
        if chosen is None:
            return self._begun(function, start)
        self._stack = chosen.segment
        return chosen.frame

    def _begun(self, function: Optional[Function], start: int) -> Frame:
        begun = Frame(0, function, None, None)
        begun.is_first = function is not None and function.start == start
        self._switches.note_new(WaitingStack(start, begun, self._add_stack(begun)), start)
        return begun

    def _start(self, frame: Frame) -> None:
        if self.stretches:
            self._before_gap = self._switches.gap(WaitingStack(None, self._frame, self._stack))
        self._frame = frame
        self._add_stack(frame)

    def _add_stack(self, frame: Frame) -> int:
        self._stack = len(self.stretches)
        self.stretches.append(HistorySegment(frame, self._before_gap))
        return self._stack

    def _begin(self, move: Move, address: int) -> None:
        self._frame = move.frame
        self._row(move.frame.level, move.frame.function, address, move.entered, None)

    def _row(
        self,
        level: int,
        function: Optional[Function],
        address: int,
        entered: Entered,
        event: Union[Exception_, Gap, None],
    ) -> None:
        self.rows.append(FrameEntry(self._stack, level, function, address, self._next, entered, event, self._frame))

    def _first_at(self, first: int, last: int, address: int) -> Optional[TracedInstruction]:
        for item in self._history.walk(first, last):
            if isinstance(item, TracedInstruction) and item.address >= address and first <= item.number <= last:
                return item
        return None
