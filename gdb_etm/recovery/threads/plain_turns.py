"""Matching of threads that a plain function switches.

All of them wait in that function, with their stack pointers in memory: the words above are what the function pops, and
among them is where it returns to.  Which thread goes on is told by where it returns to, as for those that exceptions
left (``matching.py``).
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.operations import SP, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.ssa.exception_frames import Word, find_calls, held
from gdb_etm.recovery.threads.chains import SOMEWHERE, ChainSearch, Successor
from gdb_etm.recovery.threads.joined import JoinedResidences
from gdb_etm.recovery.threads.residences import Residence


class SavedStack(NamedTuple):
    """What a waiting thread's saved stack pointer leads to."""

    # The instruction that left it.
    left: int
    # The saved stack pointer.
    address: int
    # Bytes from there on that the function pops.
    size: int


class PlainMatches(NamedTuple):
    """What came of threads that were left."""

    # By the instruction with which a thread went on, that which left it.
    resumed: Dict[int, int]
    # Those that wait at the end.
    waiting: List[SavedStack]


def match_turns(
    residences: Sequence[Residence],
    goes_on: bool,
    returns_at: Optional[int],
    stacks: Sequence[Tuple[int, int]],
    word: Optional[Word],
) -> PlainMatches:
    """Match the threads that went on with those that were left.

    :param residences: In the order in which they ran; a plain function has ended each but the last.
    :param goes_on: Whether the last one runs at the end.
    :param returns_at: How far above the stack pointer the function finds where to return, if that is known.
    :param stacks: Where stacks may be.
    :param word: Reads memory at the end; None if that is not known.
    """
    frames = None if word is None or returns_at is None or not stacks else SavedStacks(stacks, word, returns_at)
    of = [frames.of(one.calls) if frames is not None else [] for one in residences]
    if not any(of):
        frames = None
    # Where one waits is not known by its stack if none of its calls is.
    of = [found if frames is not None and one.calls else [SOMEWHERE] for one, found in zip(residences, of)]

    def followers(number: int, later: Sequence[int]) -> Sequence[Successor]:
        left_at = residences[number].left_at
        found = [Successor(one, SOMEWHERE) for one in later if residences[one].address == left_at is not None]
        return found + [Successor(None, at) for at in of[number]]

    last = len(residences) - 1 if goes_on else None
    joined = JoinedResidences(residences, ChainSearch(residences, followers, frames, last).successors())
    size = 0 if returns_at is None else returns_at + 4
    waiting = [
        SavedStack(residences[number].left or 0, frame, size)
        for number, (last_turn, frame) in joined.ends().items()
        if number == last_turn and frame != SOMEWHERE
    ]
    return PlainMatches(joined.resumed(), waiting)


class SavedStacks:
    """Finds the saved stack pointers of waiting threads in memory.

    :param pieces: Where they may be, and the stacks.
    :param word: Reads memory.
    :param returns_at: How far above one of them the first return address is.
    """

    def __init__(self, pieces: Sequence[Tuple[int, int]], word: Word, returns_at: int) -> None:
        self._word = word
        self._returns_at = returns_at
        pointers = {value for _, value in held(pieces, word, 4)}
        # By return address.
        self._found: Dict[int, Set[int]] = {}
        for pointer in pointers:
            if not pointer & 3 and any(low <= pointer < high for low, high in pieces):
                returned = word(pointer + returns_at)
                if returned is not None:
                    self._found.setdefault(returned, set()).add(pointer)

    def of(self, calls: Sequence[int]) -> List[int]:
        """List those that fit a thread's open calls.

        :param calls: The return addresses, innermost last.
        """
        fitting = sorted(self._found.get(calls[-1] | 1, ())) if calls else []
        return [at for at in fitting if self.follow(at, self.above(at), calls)]

    def above(self, frame: int) -> int:
        """Give where return addresses begin."""
        return frame + self._returns_at

    def follow(self, frame: int, at: int, calls: Sequence[int]) -> int:
        """Find return addresses above one another.

        :param at: From where on.
        :param calls: The return addresses, innermost last.
        :returns: The address after the outermost one; 0 if one of them is not there.
        """
        return find_calls(self._word, at, calls)


def return_word(templates: Sequence[Template]) -> Optional[int]:
    """Find how far above SP a function's return address is.

    :param templates: What runs up to its return.
    :returns: None unless it is popped there.
    """
    # Of each slot its distance from SP as it was, and the word that it was loaded from.
    distance: Dict[int, int] = {SP: 0}
    loaded: Dict[int, int] = {}
    for template in templates:
        for op, outputs, inputs, detail in template.steps:
            base = next((distance[one] for one in inputs if one in distance), None)
            offset = sum([~one for one in inputs if one < 0])
            for slot in outputs:
                distance.pop(slot, None)
                loaded.pop(slot, None)
            if op == Op.LOAD and base is not None:
                loaded[outputs[0]] = base
            elif op in (Op.ADD, Op.COPY, Op.BITS) and base is not None:
                distance[outputs[0]] = base + (offset if op == Op.ADD else 0)
            elif op == Op.COPY and inputs[0] in loaded:
                loaded[outputs[0]] = loaded[inputs[0]]
        if template.target is not None:
            return loaded.get(template.target)
        for slot in [one for one in distance if one >= TEMPORARY]:
            del distance[slot]
    return None
