"""Threads that a handler changes between by setting PSP: which one goes on where an exception returns.

A thread goes on where it was left, and its returns lead to where its calls were.  Another one that runs the same code,
and was left before all that is known, would do so too: a thread that waits has a frame on its stack, so memory at the
halt tells whether there is one.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.history.exits import Exit, exit_of
from gdb_etm.program.image import Program
from gdb_etm.recovery.operations import PSP
from gdb_etm.recovery.template import Template

Word = Callable[[int], Optional[int]]
"""Gives the word at an aligned address, if known."""

_DEEP = 4
# Calls that one return may leave at once, as in calls.py.
_WAITING = 64
_SCANNED = 1 << 20
# Bytes that are searched for frames.
NEAR = 128
"""Frames that are no further apart, in bytes, are believed to be of one stack."""
_ABOVE = 64
# Words above one another in which return addresses are looked for.
_EXC_RETURN, _PSP = 0xFFFFFF80, 4
# The least EXC_RETURN, and its bit for PSP.
_XPSR = 0x010001FF
# T and the exception's number, which is 0 in Thread mode.


_Place = Tuple[Optional[int], Optional[int]]
# Where a thread goes on, and where its first return leads.


class Left(NamedTuple):
    """A thread that was left."""

    event: int
    """Index of the exception, in what was expanded."""
    address: int
    """Where it goes on."""
    calls: Tuple[int, ...]
    """Return addresses of its calls, as far as they are known, innermost last."""


class Waiting(NamedTuple):
    """What an exception pushed for a thread that still waits."""

    address: int
    words: Tuple[int, ...]
    """R0 to R3, R12, LR and xPSR."""
    returns: Optional[int]
    """EXC_RETURN, where the handler has pushed it below the frame."""


class _Residence:
    # A thread between going on and being left.

    def __init__(self, resumed: Optional[int]) -> None:
        self.resumed = resumed
        # Index of the exception return.
        self.address: Optional[int] = None
        self.outs: List[Tuple[int, bool]] = []
        # Where indirect branches led that are no returns of its own calls, and whether they look like returns.
        self.calls: List[int] = []
        self.left: Optional[int] = None
        self.left_at: Optional[int] = None


class Frames:
    """Finds exceptions' frames in memory at the halt.

    :param pieces: Where stacks may be.
    :param word: Reads it.
    :param wanted: Return addresses of the frames.
    """

    def __init__(self, pieces: Iterable[Tuple[int, int]], word: Word, wanted: Set[int]) -> None:
        self._word = word
        self._found: Dict[int, List[int]] = {}
        scanned = 0
        for low, high in pieces:
            for address in range((low + 7) & ~7, min(high, low + _SCANNED - scanned) - 4, 8):
                value = word(address)
                if value in wanted and value is not None:
                    self._found.setdefault(value, []).append(address - 24)
            scanned += min(high - low, _SCANNED - scanned)

    def of(self, left: Left) -> List[Waiting]:
        """List the frames that fit a thread that was left: by where it goes on, and by the calls above.

        Those with the innermost return address in LR count alone, if there are any.
        """
        found: Dict[bool, List[Waiting]] = {True: [], False: []}
        for address in self._found.get(left.address, ()):
            status = self._word(address + 28)
            if status is not None and status & _XPSR == 1 << 24 and self._has_calls(address, left.calls):
                in_register = bool(left.calls) and self._word(address + 20) == left.calls[-1] | 1
                found[in_register].append(self._frame(address, status))
        return found[True] or found[False]

    def _frame(self, address: int, status: int) -> Waiting:
        words = [self._word(address + 4 * index) for index in range(6)]
        below = self._word(address - 4)
        known = tuple([word for word in words if word is not None])
        is_return = below is not None and below >= _EXC_RETURN and below & _PSP
        return Waiting(address, (*known, status) if len(known) == 6 else (), below if is_return else None)

    def _has_calls(self, frame: int, calls: Sequence[int]) -> bool:
        # Return addresses are on the stack above the frame, but the innermost one may be in LR, which is at 20.
        at = frame + 20
        for depth, address in enumerate(reversed(calls)):
            places = range(at, at + 4 * _ABOVE, 4)
            at = next((place + 4 for place in places if self._word(place) == address | 1), 0)
            if not at:
                return False
            if not depth:
                at = max(at, frame + 32)
        return True


class Threads:
    """Follows what ran, to match threads that go on with those that were left.

    :param program: The program that ran.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._returns: Dict[int, bool] = {}
        self._residence = _Residence(None)
        self._all = [self._residence]
        self._depth = 0
        self._calls: List[int] = []
        # Those of a handler.
        self._branch: Optional[Template] = None
        self._switched = False
        self._resuming = False
        self.places: Dict[int, Tuple[int, ...]] = {}
        """Where memory has frames that fit threads that went on, by the index of the exception that left them."""
        self.switches = False
        """Whether any handler set PSP."""

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

    def enter(self, index: int, return_address: Optional[int]) -> None:
        """Take an exception.

        :param index: By which it is told.
        """
        if not self._depth:
            if self._branch is not None and return_address is not None:
                self._arrive(return_address, self._branch)
            if self._resuming:
                self._resuming = False
                self._residence.address = return_address
            self._branch = None
            self._switched = False
            self._residence.left, self._residence.left_at = index, return_address
        self._depth += 1

    def leave(self, index: int) -> None:
        """Take a return from an exception."""
        self._depth -= 1
        self._branch = None
        if self._depth > 0:
            return
        if self._depth < 0 or self._switched:
            self._residence = _Residence(index)
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
        addresses = [one.left_at for one in self._all if one.left_at is not None]
        frames = Frames(stacks, word, set(addresses)) if stacks and word is not None else None
        several: Set[_Place] = set()
        count = -1
        while count != len(several):
            count = len(several)
            self.places.clear()
            found, waiting = self._go(addresses, frames, several)
        return found, [] if frames is None else _at_end(waiting, frames)

    def _go(
        self, addresses: Sequence[int], frames: Optional[Frames], several: Set[_Place]
    ) -> Tuple[Dict[int, int], List[Left]]:
        # Match all, but where several threads are known to wait at times: more such places are added.
        found: Dict[int, int] = {}
        waiting: List[Left] = []
        fresh: Set[_Place] = set()
        matched: List[_Place] = []
        for residence in self._all:
            calls: List[int] = []
            fits = _fitting(waiting, residence)
            waiting = [left for left in waiting if left not in fits]
            place = (residence.address, residence.outs[0][0] if residence.outs else None)
            if len(fits) > 1 or not fits and place in fresh:
                several.add(place)
            elif residence.resumed is not None and not fits:
                fresh.add(place)
                # It waited all the time: what went on at that place before may have been it.
                several.update(one for one in matched if _is_same(one, place))
            if len(fits) == 1 and residence.resumed is not None and place not in several:
                if self._is_sure(fits[0], residence, addresses.count(fits[0].address) == 1, frames):
                    found[residence.resumed] = fits[0].event
                    matched.append(place)
                    calls = list(fits[0].calls)
                    _walk(calls, residence.outs)
            running = residence is self._all[-1] and not self._depth
            if residence.left is not None and residence.left_at is not None and not running:
                left = Left(residence.left, residence.left_at, tuple(calls + residence.calls))
                waiting = waiting[1 - _WAITING :] + [left]
        return found, waiting

    def _is_sure(self, left: Left, residence: _Residence, rare: bool, frames: Optional[Frames]) -> bool:
        # Whether no thread that was left before all that is known can be meant.
        places = [] if frames is None else [frame.address for frame in frames.of(left)]
        if frames is not None and (not places or _is_near(places)):
            self.places[left.event] = tuple(places)
            return True
        return rare and _walk(list(left.calls), residence.outs) > 1


def _at_end(waiting: Sequence[Left], frames: Frames) -> List[Tuple[int, Waiting]]:
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


def _fitting(waiting: Sequence[Left], residence: _Residence) -> List[Left]:
    if residence.resumed is None:
        return []
    at = [one for one in waiting if one.address == residence.address]
    return [one for one in at if _walk(list(one.calls), residence.outs) >= 0]


def _is_same(one: _Place, other: _Place) -> bool:
    return one[0] == other[0] and (one[1] == other[1] or one[1] is None or other[1] is None)


def _is_near(places: Sequence[int]) -> bool:
    return bool(places) and max(places) - min(places) <= NEAR
