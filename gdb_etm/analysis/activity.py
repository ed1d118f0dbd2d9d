"""Activations of functions with their costs, for profiles."""

from __future__ import annotations

from typing import AbstractSet, Callable, Dict, Iterator, List, Optional, Sequence, Set

from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame
from gdb_etm.protocols.elements import Gap

# Gives the cost of the instructions from one number to another; None where that is not known.
Measure = Callable[[int, int], Optional[int]]

# The exception of a handler that ran before its entry was seen.
UNSEEN_ENTRY = "exception whose entry was not seen"
_BEGINS = (Entered.CALL, Entered.TAIL_CALL, Entered.EXCEPTION)
_ENDS = (Entered.RETURN, Entered.EXCEPTION_RETURN, Entered.TAIL_CALL)


class Activity:
    """One activation of a function.

    :param frame: Its frame.
    :param caller: The activation that called it; None for a thread's or a handler's outermost.
    """

    __slots__ = (
        "frame",
        "caller",
        "exception",
        "thread",
        "own",
        "inclusive",
        "begun",
        "is_whole",
        "first",
        "unmeasured",
        "_gaps",
    )

    def __init__(self, frame: Frame, caller: Optional[Activity]) -> None:
        self.frame = frame
        self.caller = caller
        # The exception that it handles, by name; empty for a thread's.
        self.exception = ""
        # Of the outermost one: its thread's number; 0 where that is not known.
        self.thread = 0
        # Cost of its own instructions, and with that of what it called.
        self.own = self.inclusive = 0
        # Whether its call was seen.
        self.begun = False
        # Whether all of it was seen, from its call to its return.
        self.is_whole = False
        # Number of its first instruction that was seen; 0 where none was.
        self.first = 0
        # Instructions, its own and of what it called, whose cost is not known.
        self.unmeasured = 0
        self._gaps = -1

    def ran(self, first: int, cost: int, gaps: int, begins: bool, ends: bool) -> None:
        """Take a stretch of its own instructions.

        :param first: The number of the first.
        :param cost: What they cost.
        :param gaps: How many gaps came before.
        :param begins: Whether a call leads to them.
        :param ends: Whether it is left for good then.
        """
        self.own += cost
        if self._gaps < 0:
            self._gaps, self.begun, self.first = gaps, begins, first
        self.is_whole = self.begun and ends and self._gaps == gaps


class ActivityReader:
    """Reads the activations of a history.

    :param calls: Its calls.
    :param instructions: How many instructions it has.
    :param measure: Gives costs.
    :param paused: Instructions after which the core paused, and nothing ran unseen.
    """

    def __init__(self, calls: CallHistory, instructions: int, measure: Measure, paused: AbstractSet[int]) -> None:
        self.gaps = 0
        # Instructions whose cost is not known.
        self.unmeasured = 0
        self._measure = measure
        self._threads = calls.threads
        self._known: Dict[Frame, Activity] = {}
        # Called, but interrupted before their first instruction.
        self._awaited: Set[Frame] = set()
        rows = calls.rows()
        self._unseen = unseen_handlers(rows)
        for at, row in enumerate(rows):
            after = rows[at + 1] if at + 1 < len(rows) else None
            if isinstance(row.event, Gap):
                self.gaps += row.first - 1 not in paused
            elif row.event is not None:
                self._interrupt(row.frame)
            else:
                self._read(at, row, after, (after.first if after is not None else instructions + 1) - 1)

    def _read(self, at: int, row: FrameEntry, after: Optional[FrameEntry], last: int) -> None:
        activity = self._activity(row.frame, at)
        cost = self._measure(row.first, last)
        if cost is None:
            self.unmeasured += last - row.first + 1
            activity.unmeasured += last - row.first + 1
        begins = row.entered in _BEGINS
        if row.entered is Entered.EXCEPTION_RETURN:
            begins = row.frame in self._awaited or row.frame.up in self._awaited and row.frame.is_handling
        activity.ran(row.first, cost or 0, self.gaps, begins, _ends(row, after))

    def _interrupt(self, taken: Frame) -> None:
        up = taken.up
        if up is not None and (up.is_exception or up.called_at is not None and up.called_at == taken.called_at):
            self._awaited.add(up)

    def _activity(self, frame: Frame, at: int) -> Activity:
        found = self._known.get(frame)
        if found is not None:
            return found
        chain = [frame]
        up = self._caller(frame)
        while up is not None and up not in self._known:
            chain.append(up)
            up = self._caller(up)
        caller = self._known.get(up) if up is not None else None
        for one in reversed(chain):
            made = self._known[one] = Activity(one, caller)
            if one in self._unseen:
                made.exception = UNSEEN_ENTRY
            elif one.up is not None and one.up.event is not None:
                made.exception = one.up.event.name
            elif caller is None:
                made.thread = self._threads.of(at) or 0
            caller = made
        return self._known[frame]

    def _caller(self, frame: Frame) -> Optional[Frame]:
        return frame.up if frame.up is not None and not frame.up.is_exception and frame not in self._unseen else None

    def inner_last(self) -> Iterator[Activity]:
        """Go through the activations, callers before callees, with all costs added up."""
        ordered: List[Activity] = list(self._known.values())
        for one in ordered:
            one.inclusive = one.own
        # A caller may have been seen after its callee, but it was put in before it.
        for one in reversed(ordered):
            if one.caller is not None:
                one.caller.inclusive += one.inclusive
                one.caller.unmeasured += one.unmeasured
        yield from ordered


def _ends(row: FrameEntry, after: Optional[FrameEntry]) -> bool:
    # Whether an activation is left for good with the last instruction of an entry.
    if after is None or isinstance(after.event, Gap):
        return False
    if after.event is not None:
        # An exception was taken right after the return.
        return after.frame.up is not row.frame
    return after.entered in _ENDS


def unseen_handlers(rows: Sequence[FrameEntry]) -> Set[Frame]:
    """Find handlers that return from an exception whose entry was not seen.

    What they interrupted did not call them.

    :param rows: The entries of a call history.
    """
    found: Set[Frame] = set()
    before: Optional[Frame] = None
    for row in rows:
        if row.event is not None:
            before = None
            continue
        if has_interrupted(row.frame):
            found.add(row.frame)
        if row.entered is Entered.EXCEPTION_RETURN and before is not None:
            outer = returning(before, row.frame)
            if outer.up is row.frame:
                found.add(outer)
        before = row.frame
    return found


def has_interrupted(frame: Frame) -> bool:
    """Tell whether a handler began with a frame and returned.

    Neither the entry of its exception nor what ran after its return was seen.
    """
    up = frame.up
    if up is None or up.up is not None or frame.is_tail_call:
        return False
    return up.function is None and not up.is_exception and frame.return_address is None


def returning(frame: Frame, to: Frame) -> Frame:
    """Give the outermost frame of what returns from an exception.

    :param frame: The frame whose last instruction returned.
    :param to: The frame that goes on, which is above that one where the exception's entry was not seen.
    """
    while frame.up is not None and frame.up is not to and not frame.up.is_exception:
        frame = frame.up
    return frame
