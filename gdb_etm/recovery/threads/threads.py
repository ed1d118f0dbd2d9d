"""Threads that a handler changes between by setting PSP: which one goes on where an exception returns.

A thread goes on where it was left, and its returns lead to where its calls were.  Another one that runs the same code,
and was left before all that is known, would do so too: a thread that waits has a frame on its stack, so memory at the
halt tells whether there is one.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.history.exits import Exit, exit_of
from gdb_etm.program.image import Program
from gdb_etm.recovery.lift.operations import MASK, PSP
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.ssa.exception_frames import ExceptionFrames, Left, Waiting, Word, can_search, goes_on
from gdb_etm.recovery.threads.context_switch import CHAINED, ENTERED, LEFT, ContextSwitches, Part, Switch
from gdb_etm.recovery.threads.control_blocks import NOTHING, Decided, Period, Pointers, decide
from gdb_etm.recovery.threads.scheduler import Handled

# Calls that one return may leave at once, as in calls.py.
_DEEP = 4
_WAITING = 64
# Frames that are no further apart, in bytes, are believed to be of one stack.
NEAR = 128
# Stays of threads that are remembered of what ran later.
_HANDED = 4096
# Bytes below a frame, where a scheduler's pointer to a thread that waits points: to what it has pushed there.
_SAVED = 128


# Where a thread goes on, and where its first return leads.
_Place = Tuple[Optional[int], Optional[int]]


class Residence:
    """A thread between going on and being left.

    :param resumed: Index of the exception return; None at the beginning of what is known.
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

    @property
    def place(self) -> _Place:
        return self.address, self.outs[0][0] if self.outs else None


class Later(NamedTuple):
    """The threads that ran after a line, as far as all is known that ran since."""

    # Where execution went on.
    address: int
    # In order; indices of exceptions and returns are negative.
    residences: Tuple[Residence, ...]
    # How many handlers run at the end.
    depth: int
    # Reads memory at the end.
    word: Optional[Word]


class Threads:
    """Follows what ran, to match threads that go on with those that were left.

    :param program: The program that ran.
    :param switches: Works out what handlers do.
    :param later: What ran afterwards; None when that is the end, or is not known.
    """

    def __init__(self, program: Program, switches: ContextSwitches, later: Optional[Later] = None) -> None:
        self._program = program
        self._switches = switches
        self._later = later
        # What the handlers did that run.
        self._handled: List[Part] = []
        # Where threads have asked for an exception.
        self._asked: Set[int] = set()
        self._returns: Dict[int, bool] = {}
        self._residence = Residence(None)
        self._all = [self._residence]
        self._depth = 0
        # Those of a handler.
        self._calls: List[int] = []
        self._branch: Optional[Template] = None
        self._switched = False
        self._resuming = False
        # Where memory has frames that fit threads that went on, by the index of the exception that left them.
        self.places: Dict[int, Tuple[int, ...]] = {}
        # The same of all that were matched by where they went on, with what they did then.
        self._fits: List[Tuple[Residence, Tuple[int, ...]]] = []
        # The blocks of the threads.
        self.decided: Decided = NOTHING
        # The exceptions that left threads of which nothing but the block tells what they did afterwards.
        self.by_block: Set[int] = set()
        # Whether any handler set PSP.
        self.switches = False

    def execute(self, templates: Sequence[Template], branched: bool) -> None:
        """Take instructions that ran one after the other.

        :param branched: Whether the last of them branched, if it is an indirect branch.
        """
        first = templates[0].address
        if self._resuming:
            self._resuming = False
            self._residence.address = first
        elif self._branch is not None:
            self._arrive(first, self._branch)
        if self._depth:
            self._handled.append(templates)
        for template in templates:
            if template.call:
                self._residence.calls.append(template.address + template.size) if not self._depth else None
            if self._depth and PSP in template.writes:
                self._switched = self.switches = True
        last = templates[-1]
        self._branch = last if last.target is not None and not last.call and branched and not self._depth else None

    def _arrive(self, address: int, branch: Template) -> None:
        residence = self._residence
        if not _leave(residence.calls, address):
            residence.outs.append((address, self._is_return(branch)))

    def _is_return(self, template: Template) -> bool:
        found = self._returns.get(template.address)
        if found is None:
            code = self._program.read(template.address, template.size)
            found = self._returns[template.address] = exit_of(code, template.isa) is Exit.RETURN
        return found

    def enter(self, index: int, return_address: Optional[int], asked: bool) -> None:
        """Take an exception.

        :param index: By which it is told.
        :param asked: Whether the interrupted code may have asked for it.
        """
        if not self._depth:
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
        self._depth += 1

    def chain(self) -> None:
        """Take an exception where another one's handler returns."""
        self._handled.append(CHAINED)

    def leave(self, index: int) -> None:
        """Take a return from an exception."""
        self._depth -= 1
        self._branch = None
        if self._depth > 0:
            self._handled.append(LEFT)
            return
        if self._depth < 0 or self._switched:
            if not self._depth:
                self._residence.switch = self._switches.of(self._handled, True)
            self._residence = Residence(index)
            self._all.append(self._residence)
            self._resuming = True
        self._depth = 0

    def match(
        self, stacks: Sequence[Tuple[int, int]], word: Optional[Word]
    ) -> Tuple[Dict[int, int], List[Tuple[int, Waiting]]]:
        """Match the threads that went on with those that were left.

        :param stacks: Where stacks may be.
        :param word: Reads memory at the halt.
        :returns: By the index of an exception return that of the exception that left the thread; and the threads that
            wait at the end, by the same, with their frames.
        """
        self._join()
        addresses = [one.left_at for one in self._all if one.left_at is not None]
        searched = word if stacks and can_search(stacks) else None
        self._asked = {one.left_at for one in self._all if one.left_at is not None and one.asked}
        frames = ExceptionFrames(stacks, searched, set(addresses), self._asked) if searched is not None else None
        pointers = Pointers(stacks, word) if word is not None else None
        found, waiting = self._repeat(addresses, frames, pointers, ())
        at_end = [] if frames is None else _at_end(waiting, frames)
        if self._later is not None:
            return self._before_later(found, at_end)
        if frames is not None and word is not None and pointers is not None:
            self.decided = decide(self._periods(), word, frames.at, pointers)
        if frames is None or word is None or not self.decided.blocks:
            return found, at_end
        plain = {*found.items(), *at_end}
        found, waiting = self._repeat(addresses, frames, pointers, self.decided.blocks)
        at_end = self._known_at_end(waiting, frames, word)
        self.by_block = {left for _, left in found.items() - plain} | {left for left, _ in set(at_end) - plain}
        return found, at_end

    def _join(self) -> None:
        # Take what ran later, too: the thread that runs last goes on with it, unless a handler runs.
        if self._later is None:
            return
        first, *rest = self._later.residences
        if not self._depth:
            last = self._residence
            if self._resuming:
                last.address = self._later.address
            elif self._branch is not None:
                self._arrive(self._later.address, self._branch)
            last.outs += [one for one in first.outs if not _leave(last.calls, one[0])]
            last.calls += first.calls
            last.left, last.left_at, last.asked = first.left, first.left_at, first.asked
        if rest or not self._depth:
            self._depth = self._later.depth
        self._all += rest
        self._residence = self._all[-1]

    def _before_later(
        self, found: Dict[int, int], at_end: List[Tuple[int, Waiting]]
    ) -> Tuple[Dict[int, int], List[Tuple[int, Waiting]]]:
        # What it says of the line's own threads: those that go on later wait until then, too.
        own = {resumed: left for resumed, left in found.items() if resumed >= 0}
        frames = {one.resumed: one.frame for one in self._all}
        waiting = [(left, frame) for left, frame in at_end if left >= 0]
        for resumed, left in found.items():
            frame = frames[resumed]
            if resumed < 0 <= left and frame is not None:
                waiting.append((left, Waiting(frame, (), None)))
        self.places = {left: places for left, places in self.places.items() if left in own.values()}
        return own, waiting

    def handed(self, address: int, frames: Mapping[int, int], word: Optional[Word]) -> Optional[Later]:
        """Tell a line that ends where this one begins what ran since.

        :param address: Of the first instruction.
        :param frames: By the indices of exception returns, where the frames were.
        :param word: Reads memory at the end of all.
        """
        self._join()
        if len(self._all) > _HANDED:
            return None
        found: List[Residence] = []
        for number, one in enumerate(self._all):
            copy = Residence(None if one.resumed is None else -2 * number - 1)
            copy.frame = one.frame if one.resumed is None else frames.get(one.resumed, one.frame)
            copy.left = None if one.left is None else -2 * number - 2
            copy.address, copy.left_at, copy.asked = one.address, one.left_at, one.asked
            copy.outs, copy.calls = one.outs, one.calls
            found.append(copy)
        return Later(address, tuple(found), self._depth, word)

    def _known_at_end(self, waiting: Sequence[Left], frames: ExceptionFrames, word: Word) -> List[Tuple[int, Waiting]]:
        # A block that is known tells where the frame is.
        switch = next(one.switch for one in self._periods() if one.switch is not None)
        found: List[Tuple[int, Waiting]] = []
        others: List[Left] = []
        for left in waiting:
            saved = None if left.block is None else word((left.block + switch.member) & MASK)
            if saved is None:
                others.append(left)
                continue
            fits = [frame for frame in frames.of(left) if frame.address == (saved + switch.lowered) & MASK]
            found += [(left.event, frame) for frame in fits]
        taken = {frame.address for _, frame in found}
        return found + [(left, frame) for left, frame in _at_end(others, frames) if frame.address not in taken]

    def handled(self) -> Iterator[Tuple[Optional[int], int, int, Handled]]:
        """Give of handlers that changed between threads the indices of the exception return before which the old one
        went on, None for the beginning, and of what began and what ended them."""
        blocks = self.decided.blocks
        for number, one in enumerate(self._all[:-1] if blocks else ()):
            after = self._all[number + 1].resumed
            if one.switch is not None and one.left is not None and after is not None:
                yield one.resumed, one.left, after, Handled(one.switch, blocks[number], blocks[number + 1])

    def running(self) -> Optional[Tuple[Optional[int], int, Optional[int], Optional[int]]]:
        """Give the block of the thread that ran last, where the pointer to it is, the index of the exception return
        before which it went on, None for the beginning, and that of the exception that has left it, if that one's
        handler runs at the end."""
        switches = [one.switch for one in self._periods() if one.switch is not None]
        if not self.decided.blocks or not switches:
            return None
        last = self._residence
        return self.decided.blocks[-1], switches[0].current, last.resumed, last.left if self._depth else None

    def relied(self) -> Iterator[Tuple[int, int]]:
        """Give the words that were read as they are at the end, and the index of the exception from which on."""
        for word, number in self.decided.read.items():
            left = self._all[number].left
            if left is not None:
                yield word, left

    def _periods(self) -> List[Period]:
        made = [Period(one.address, one.left_at, one.switch) for one in self._all]
        switch = self._switches.of(self._handled, False) if self._depth > 0 else None
        # Nothing has been saved yet, or there is nothing to save.
        made[-1] = Period(made[-1].address, None if switch is None else made[-1].left_at, switch)
        return made

    def _repeat(
        self,
        addresses: Sequence[int],
        frames: Optional[ExceptionFrames],
        pointers: Optional[Pointers],
        blocks: Sequence[Optional[int]],
    ) -> Tuple[Dict[int, int], List[Left]]:
        # Match all again and again, until no more places are known where several threads wait.
        several: Set[_Place] = set()
        count = -1
        while count != len(several):
            count = len(several)
            self.places.clear()
            self._fits.clear()
            found, waiting = self._go(addresses, frames, several, blocks)
            if frames is not None and pointers is not None:
                several |= self._rivals(waiting, frames, pointers)
        return found, waiting

    def _rivals(self, waiting: Sequence[Left], frames: ExceptionFrames, pointers: Pointers) -> Set[_Place]:
        # Where others may have gone on than was taken: the thread that was left there seems to wait still, as its
        # frame is in memory, a pointer to it is, and nobody else is known to wait there.  One that runs at the end may
        # have both from before.
        known = {frame.address for left in waiting for frame in frames.of(left)}
        return {
            one.place
            for one, fits in self._fits
            if one is not self._residence
            and any(at not in known and pointers.to(range(at - _SAVED, at + 1, 4)) for at in fits)
        }

    def _go(
        self,
        addresses: Sequence[int],
        frames: Optional[ExceptionFrames],
        several: Set[_Place],
        blocks: Sequence[Optional[int]],
    ) -> Tuple[Dict[int, int], List[Left]]:
        # Match all, but where several threads are known to wait at times: more such places are added.
        found: Dict[int, int] = {}
        waiting: List[Left] = []
        fresh: Set[_Place] = set()
        matched: List[_Place] = []
        for number, residence in enumerate(self._all):
            calls: List[int] = []
            block = blocks[number] if blocks else None
            own = [left for left in waiting if left.block == block and block is not None]
            alike = _fitting(waiting, residence)
            fits = own or [left for left in alike if None in (block, left.block)]
            waiting = [left for left in waiting if left not in fits]
            place = residence.place
            if len(alike) > 1 or not fits and place in fresh:
                several.add(place)
            elif residence.resumed is not None and not fits:
                fresh.add(place)
                # It waited all the time: what went on at that place before may have been it.
                several.update(one for one in matched if self._is_same(one, place))
            if len(fits) == 1 and residence.resumed is not None and (own or place not in several):
                rare = addresses.count(fits[0].address) == 1
                if _fitting(own, residence) if own else self._is_sure(fits[0], residence, rare, frames):
                    found[residence.resumed] = fits[0].event
                    matched += [] if own else [place]
                    calls = list(fits[0].calls)
                    _walk(calls, residence.outs)
            running = residence is self._all[-1] and not self._depth
            if residence.left is not None and residence.left_at is not None and not running:
                calls += residence.calls
                left = Left(residence.left, residence.left_at, tuple(calls), block, residence.asked)
                waiting = waiting[1 - _WAITING :] + [left]
        return found, waiting

    def _is_same(self, one: _Place, other: _Place) -> bool:
        # Whether one thread may go on at both of two places.
        start, there = one[0], other[0]
        near = start == there or start is not None and there in goes_on(start, start in self._asked)
        return near and (one[1] == other[1] or None in (one[1], other[1]) or start != there)

    def _is_sure(self, left: Left, residence: Residence, rare: bool, frames: Optional[ExceptionFrames]) -> bool:
        # Whether no thread that was left before all that is known can be meant.
        places = [] if frames is None else [frame.address for frame in frames.of(left)]
        if frames is not None and (not places or _is_near(places)):
            self.places[left.event] = tuple(places)
        elif not rare or _walk(list(left.calls), residence.outs) <= 1:
            return False
        self._fits.append((residence, tuple(places)))
        return True


def _at_end(waiting: Sequence[Left], frames: ExceptionFrames) -> List[Tuple[int, Waiting]]:
    # Threads of which memory has one frame that fits no other thread.
    fitting = [(left, frames.of(left)) for left in waiting]
    count: Dict[int, int] = {}
    for _, found in fitting:
        for one in found:
            count[one.address] = count.get(one.address, 0) + 1
    return [(left.event, found[0]) for left, found in fitting if len(found) == 1 and count[found[0].address] == 1]


def _leave(calls: List[int], address: int) -> bool:
    # Take the calls from a stack that a branch to an address leaves, if it is a return.
    for deep in range(1, min(len(calls), _DEEP) + 1):
        if calls[-deep] == address:
            del calls[-deep:]
            return True
    return False


def _walk(calls: List[int], outs: Sequence[Tuple[int, bool]]) -> int:
    # Take from a stack the calls that were returned from, and count them; -1 when a return leads elsewhere.
    matched = 0
    for address, is_return in outs:
        if not calls:
            break
        if _leave(calls, address):
            matched += 1
        elif is_return:
            return -1
    return matched


def _fitting(waiting: Sequence[Left], residence: Residence) -> List[Left]:
    if residence.resumed is None:
        return []
    at = [one for one in waiting if residence.address in goes_on(one.address, one.asked)]
    return [one for one in at if _walk(list(one.calls), residence.outs) >= 0]


def _is_near(places: Sequence[int]) -> bool:
    return bool(places) and max(places) - min(places) <= NEAR
