"""Motion of the replayed core: its position, and GDB's every move.

The rules are those of :mod:`gdb_etm.history.cursor`: a run stops after a gap and at an end.  Single steps go
over exceptions, as a core does whose debugger masks interrupts while it steps; inside of a handler they stay inside.
"""

from __future__ import annotations

from enum import Enum
from typing import Callable, Dict, Iterator, NamedTuple, Optional, Set, Tuple

from gdb_etm.history.activations import Activations
from gdb_etm.history.path import Path, Seam
from gdb_etm.history.steps import beyond_exception
from gdb_etm.protocols.elements import Gap
from gdb_etm.replay.interruptions import Interruptions
from gdb_etm.replay.watching import HistoryMemory, Missed, Watchpoint

# Instructions that are searched before somebody may interrupt.
_AT_ONCE = 1 << 18


class Why(Enum):
    """Why the core stopped."""

    STEPPED = "stepped"
    BREAKPOINT = "breakpoint"
    WATCHPOINT = "watchpoint"
    # From here on it is not known what accessed watched memory.
    UNSEEN = "unseen"
    GAP = "gap"
    # The history begins here.
    BEGIN = "begin"
    # The history ends here.
    END = "end"


class Stopped(NamedTuple):
    """Where the core stopped."""

    number: int
    why: Why
    # The gap that was come to, or that ends the history.
    gap: Optional[Gap] = None
    # Kind and address of the watchpoint that was hit.
    watch: Optional[Tuple[int, int]] = None
    # What a run may have gone past on the way.
    missed: Tuple[Missed, ...] = ()


class Motion:
    """A position in a history, with breakpoints and watchpoints.

    :param path: The way that execution took.
    :param activations: Gives the history's activations; asked at the first step over an exception.
    :param memory: What watchpoints are on.
    """

    def __init__(self, path: Path, activations: Callable[[], Activations], memory: HistoryMemory) -> None:
        self.path = path
        # The position after the last instruction.
        self.end = path.length + 1
        # The last position whose address is known, so that it can be shown.
        self.last = self.end if path.halted_at is not None else path.length
        # Of the instruction that is about to be executed.
        self.number = self.last
        self.breakpoints: Set[int] = set()
        self._activations = activations
        self._memory = memory
        self._watched: Dict[Tuple[int, int, int], Watchpoint] = {}
        self._interruptions: Optional[Interruptions] = None

    def watch(self, kind: int, address: int, size: int) -> None:
        """Insert a watchpoint: 2 for stores, 3 for loads, 4 for both."""
        self._watched[kind, address, size] = Watchpoint(self._memory, kind, address, size)

    def unwatch(self, kind: int, address: int, size: int) -> None:
        """Take a watchpoint out."""
        self._watched.pop((kind, address, size), None)

    def forget(self) -> None:
        """Take all breakpoints and watchpoints out."""
        self.breakpoints.clear()
        self._watched.clear()

    def is_certain(self, number: int) -> bool:
        """Tell whether an instruction is known to have accessed watched memory."""
        return any(number in one.part(number).numbers for one in self._watched.values())

    def step(self, backward: bool) -> Stopped:
        """Execute one instruction, or take one back."""
        number = self.number
        if backward and number == 1:
            return Stopped(1, Why.BEGIN)
        if not backward and number >= self.last:
            return self._at_end()
        hit = self._watch_hit(number - backward, number - backward, backward)
        if hit is not None:
            return self._stop(hit)
        to = number - 1 if backward else number + 1
        beyond = self._beyond(number, to, backward)
        if beyond is not None and abs(beyond - number) > 1:
            found = list(self.run(backward, max(1, min(beyond, self.last))))[-1]
            return found if found is not None else Stopped(self.number, Why.STEPPED)
        seam = self._seam(number, to, backward)
        if to >= self.end:
            return self._at_end()
        if seam is not None:
            return self._stop(Stopped(to, Why.GAP, seam.gap))
        if backward and self._sight_ends(number):
            return self._stop(Stopped(to, Why.UNSEEN, missed=self._missed(to, number)))
        return self._stop(Stopped(to, Why.BREAKPOINT if self._is_broken(to) else Why.STEPPED))

    def run(self, backward: bool, to: Optional[int] = None) -> Iterator[Optional[Stopped]]:
        """Run until something stops it.

        :param to: Instruction at which to stop in any case; None runs to the history's end.
        :returns: None now and then, and at last the stop.  Who does not ask for more leaves the core where it is then.
        """
        goal = to if to is not None else 1 if backward else self.last
        start = self.number
        while True:
            number = self.number
            near = self._near(number, goal, backward)
            seam = self._seam(number, near, backward)
            if seam is not None:
                near = seam.after if backward else seam.after + 1
            stop = self._hit(number, near, backward, seam is not None)
            if stop is None and seam is not None:
                stop = Stopped(max(near, 1), Why.GAP, seam.gap) if 1 <= near <= self.path.length else None
                if stop is None:
                    stop = Stopped(1, Why.BEGIN, seam.gap) if backward else self._at_end()
            if stop is None and backward and near == number - 1 and self._sight_ends(number):
                stop = Stopped(near, Why.UNSEEN)
            if stop is None and near == goal:
                if to is not None:
                    stop = Stopped(goal, Why.BREAKPOINT if self._is_broken(goal) else Why.STEPPED)
                else:
                    stop = Stopped(1, Why.BEGIN) if backward else self._at_end()
            if stop is not None:
                yield self._stop(stop._replace(missed=self._missed(start, stop.number)))
                return
            self.number = near
            yield None

    def _near(self, number: int, goal: int, backward: bool) -> int:
        # How far to search at once: no farther than what accessed watched memory is found out at once.
        far = number - _AT_ONCE if backward else number + _AT_ONCE
        for watchpoint in self._watched.values():
            if backward:
                far = max(far, number - 1 if self._sight_ends(number) else watchpoint.part(number - 1).first)
            elif number <= self.path.length:
                far = min(far, watchpoint.part(number).last + 1)
        return max(goal, far) if backward else min(goal, far)

    def _sight_ends(self, number: int) -> bool:
        # Whether what accessed watched memory is known of an instruction and not of the one before.
        if not 1 < number <= self.path.length:
            return False
        watched = self._watched.values()
        return any(one.part(number).is_known and not one.part(number - 1).is_known for one in watched)

    def _missed(self, start: int, stopped: int) -> Tuple[Missed, ...]:
        # Of an access that a run stops at nothing is missed.
        low, high = (stopped + 1, start - 1) if stopped < start else (start, stopped - 1)
        found = [one.missed(low, min(high, self.path.length)) for one in self._watched.values()]
        return tuple([one for one in found if one.unknown or one.unseen])

    def _hit(self, number: int, near: int, backward: bool, is_seam: bool) -> Optional[Stopped]:
        # The first breakpoint or watchpoint on the way; not the stop after a gap.
        if backward:
            low, high = near + is_seam, number - 1
            found = self.path.last_at(self.breakpoints, low, high)
        else:
            low, high = number + 1, near - is_seam
            found = self.path.next_at(self.breakpoints, low, min(high, self.path.length))
        best = Stopped(found, Why.BREAKPOINT) if found is not None else None
        # A watchpoint stops before the access, and going on from there stops once more.
        hit = self._watch_hit(low, high, True) if backward else self._watch_hit(number, near - 1, False)
        if hit is None or best is not None and (best.number >= hit.number if backward else best.number <= hit.number):
            return best
        return hit

    def _watch_hit(self, low: int, high: int, backward: bool) -> Optional[Stopped]:
        best: Optional[Stopped] = None
        for one in self._watched.values() if low <= high else ():
            at = one.hit(low, min(high, self.path.length), backward)
            if at is not None and (best is None or (at > best.number if backward else at < best.number)):
                best = Stopped(at, Why.WATCHPOINT, None, (one.kind, one.address))
        return best

    def _is_broken(self, number: int) -> bool:
        return self.path.address(number) in self.breakpoints

    def _seam(self, number: int, to: int, backward: bool) -> Optional[Seam]:
        return self.path.seam_back(to, number) if backward else self.path.seam(number, to)

    def _beyond(self, number: int, to: int, backward: bool) -> Optional[int]:
        if self._interruptions is None:
            self._interruptions = Interruptions(self.path)
        if not self._interruptions.lies_after(min(number, to)):
            return None
        near = self._interruptions.interrupted(number) if backward else self._interruptions.resumed(number)
        if near is not None:
            return near
        return beyond_exception(self.path, self._activations(), number, to, backward)

    def _at_end(self) -> Stopped:
        seam = self.path.seam(self.path.length, self.end)
        return self._stop(Stopped(self.last, Why.END, seam.gap if seam is not None else None))

    def _stop(self, stop: Stopped) -> Stopped:
        self.number = stop.number
        return stop
