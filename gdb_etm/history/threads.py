"""The threads of a history: which ran when, and where each waits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import AbstractSet, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.history.alike import Alike
from gdb_etm.history.entries import Entered, FrameEntry
from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.stacks import HistorySegment
from gdb_etm.protocols.elements import Exception_, Gap
from gdb_etm.protocols.profile import nothing_ran


class HistoryThread(NamedTuple):
    """What ran on one stack, without the handlers that interrupted it."""

    # From 1, in the order in which they first ran.
    number: int
    # The outermost that was seen; None when it has no name.
    function: Optional[Function]
    # How many it executed.
    instructions: int
    # Number of the first one, and of the last one.
    first: int
    last: int
    # Whether it is the one that ran last of all.
    is_last: bool
    # Numbers of others that run the same code: some of what is shown as its may be theirs.
    alike: Tuple[int, ...] = ()


class Suspension(NamedTuple):
    """Where a thread is when it does not run."""

    # The frame that goes on.
    frame: Frame
    # Where it goes on; None when that is not known.
    address: Optional[int]
    # Whether a plain function has left it, so that no exception has pushed its registers.
    is_plain: bool = False


class Threads:
    """The threads of a history, found by one pass over its entries.

    :param rows: The entries.
    :param segments: The stacks that they refer to, stitched.
    :param instructions: Number of instructions in the history.
    :param alike: Pairs of segments: what is shown as the first one's may be the second one's.
    """

    def __init__(
        self,
        rows: Sequence[FrameEntry],
        segments: Sequence[HistorySegment],
        instructions: int,
        alike: AbstractSet[Alike] = frozenset(),
    ) -> None:
        self._rows = rows
        self._groups = [segment.group for segment in segments] or [0]
        self._instructions = instructions
        # Of each segment what makes the outermost entry of its thread have level 0.
        self.shifts: List[int] = []
        # By thread, the entries of its own instructions, as indices.
        self.entries: List[List[int]] = []
        self._numbers: Dict[int, int] = {}
        self._firsts: List[int] = []
        # By thread, the first instructions of its entries; made at the first look.
        self._own_firsts: Dict[int, List[int]] = {}
        self._of_handlers = _of_unseen(rows)
        # By group, those that what is shown as its may belong to.
        self._alike: Dict[int, Set[int]] = {}
        for at, than in alike:
            self._alike.setdefault(self._groups[at], set()).add(self._groups[than])
        self.threads = self._find([segment.shift for segment in segments] or [0])

    def _find(self, shifts: List[int]) -> List[HistoryThread]:
        base: Dict[int, int] = {}
        outermost: Dict[int, FrameEntry] = {}
        own: Dict[int, List[int]] = {}
        groups = self._groups
        for at, row in enumerate(self._rows):
            event = row.event
            if isinstance(event, Gap):
                continue
            group, level = groups[row.stretch], row.level + shifts[row.stretch]
            is_own = event is None and not row.frame.is_handling and at not in self._of_handlers
            if level < base.get(group, level + 1):
                base[group] = level
                if is_own:
                    outermost[group] = row
            if is_own:
                own.setdefault(group, []).append(at)
        self.shifts = [shift - base.get(group, 0) for shift, group in zip(shifts, groups)]
        self._numbers = {group: number for number, group in enumerate(own, 1)}
        self.entries = list(own.values())
        newest = max((found[-1] for found in self.entries), default=-1)
        return [self._thread(outermost.get(group), found, found[-1] == newest) for group, found in own.items()]

    def _thread(self, outermost: Optional[FrameEntry], found: List[int], is_last: bool) -> HistoryThread:
        rows = self._rows
        count = sum([self.last(at) - rows[at].first + 1 for at in found])
        function = outermost.function if outermost is not None else None
        group = self._groups[rows[found[0]].stretch]
        alike = sorted(self._numbers[other] for other in self._alike_of(group) if other in self._numbers)
        first, last = rows[found[0]].first, self.last(found[-1])
        return HistoryThread(self._numbers[group], function, count, first, last, is_last, tuple(alike))

    def _alike_of(self, group: int) -> Set[int]:
        # Also those that are alike to one that is alike.
        found, due = {group}, [group]
        while due:
            more = self._alike.get(due.pop(), set()) - found
            found |= more
            due += more
        return found - {group}

    def last(self, at: int) -> int:
        """Give the number of an entry's last instruction."""
        return self._rows[at + 1].first - 1 if at + 1 < len(self._rows) else self._instructions

    def of(self, at: int) -> Optional[int]:
        """Give the number of an entry's thread.

        None for exceptions, their handlers and gaps.
        """
        row = self._rows[at]
        is_own = row.event is None and not row.frame.is_handling and at not in self._of_handlers
        return self._numbers[self._groups[row.stretch]] if is_own else None

    def before(self, at: int) -> Optional[int]:
        """Give the number of the thread before an entry; None behind gaps."""
        for earlier in range(at - 1, -1, -1):
            if isinstance(self._rows[earlier].event, Gap):
                return None
            found = self.of(earlier)
            if found is not None:
                return found
        return None

    def at(self, number: int) -> Optional[int]:
        """Give the number of an instruction's thread, or of the interrupted one."""
        self._firsts = self._firsts or [row.first for row in self._rows]
        found = bisect_right(self._firsts, number) - 1
        while found >= 0:
            thread = self.of(found)
            if thread is not None:
                return thread
            found -= 1
        return None

    def runs(self, thread: int, number: int) -> bool:
        """Check whether a thread executes an instruction; of the end, the last.

        :param thread: Its number.
        :param number: Of the instruction.
        """
        own = self.entries[thread - 1]
        found = bisect_right(self._begins(thread), number) - 1
        return found >= 0 and min(number, self._instructions) <= self.last(own[found])

    def next(self, thread: int, number: int) -> Optional[int]:
        """Find the first instruction of a thread from ``number`` on."""
        own = self.entries[thread - 1]
        found = bisect_left(self._begins(thread), number)
        return self._rows[own[found]].first if found < len(own) else None

    def left(self, thread: int, number: int) -> Optional[int]:
        """Find the instruction after a thread's last one before ``number``."""
        own = self.entries[thread - 1]
        found = bisect_right(self._begins(thread), number - 1) - 1
        return self.last(own[found]) + 1 if found >= 0 else None

    def _begins(self, thread: int) -> List[int]:
        if thread not in self._own_firsts:
            self._own_firsts[thread] = [self._rows[at].first for at in self.entries[thread - 1]]
        return self._own_firsts[thread]

    def suspended(self, thread: int, number: int) -> Suspension:
        """Find where a thread waits before an instruction of another one.

        It is where it was left, or, where it has not run before, where it will begin.

        :param thread: Its number.
        :param number: Of the instruction.
        """
        own = self.entries[thread - 1]
        found = bisect_right(self._begins(thread), number - 1) - 1
        if found < 0:
            row = self._rows[own[0]]
            return Suspension(row.frame, row.address)
        return self._left(own[found])

    def waits(self, thread: int) -> Iterator[Suspension]:
        """List where a thread was left before its last entry, or interrupted.

        :param thread: Its number.
        """
        for at in self.entries[thread - 1][:-1]:
            where = self._left(at)
            if where.address is not None:
                yield where

    def _left(self, at: int) -> Suspension:
        # Where a thread is behind an entry, if that was its last one for a while.
        following = self._rows[at + 1] if at + 1 < len(self._rows) else None
        if following is not None and isinstance(following.event, Exception_) and following.frame.up is not None:
            return Suspension(following.frame.up, following.frame.return_address)
        if following is not None and following.entered is Entered.JUMP and following.stretch != self._rows[at].stretch:
            # The other one goes on where this one will.
            return Suspension(self._rows[at].frame, following.address, True)
        return Suspension(self._rows[at].frame, None)


def _of_unseen(rows: Sequence[FrameEntry]) -> Set[int]:
    # Entries of handlers that ran already where the history begins, or goes on after a gap: one returns, or another
    # exception is chained to it.
    found: Set[int] = set()
    first = depth = 0
    for at, row in enumerate(rows):
        event = row.event
        if isinstance(event, Gap):
            first, depth = at + 1, 0
        elif isinstance(event, Exception_) and not (event.return_address and nothing_ran(event.return_address)):
            depth += 1
        elif isinstance(event, Exception_) or row.entered is Entered.EXCEPTION_RETURN:
            if not depth:
                found.update(range(first, at))
                first = at
            depth = max(depth, 1) if isinstance(event, Exception_) else max(depth - 1, 0)
    return found
