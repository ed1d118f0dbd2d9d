"""Finder of transitions: computes and remembers the effect of bytes.

A transition ends after an address packet where it can, so that paths that meet there share the transitions that follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, List, Optional, Tuple

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.packets import ATOMS, next_address
from gdb_etm.protocols.etmv4.program_points import (
    AFTER_BRANCH,
    LOST,
    STACK_DEPTH,
    UNDIRECTED,
    UNFOLLOWED,
    DecoderState,
    Entry,
    FuturePoint,
    ProgramPoint,
    Successor,
    Transition,
    UnknownPoint,
    elsewhere,
)
from gdb_etm.protocols.lazy_run import LazyRun
from gdb_etm.protocols.recorder import Content, Foreseen, Leg, Run
from gdb_etm.protocols.stream import NEED_MORE

if TYPE_CHECKING:
    from mypy_extensions import i64

# Bytes of the stream in a transition at most.
WINDOW: Final = 64
# Bytes after which a transition ends at the next address packet that leads to a state which is known.
_ENOUGH: Final = 8
# Bytes after which it ends at the next address that has come before.
_FAR: Final = 24
# Every header from here on is an Atom packet's (6.4.13).
FIRST_ATOM: Final = 0xC0
# No header before this one is an Atom's or an address's (6.4.12).
FIRST_ADDRESS: Final = 0x90
# Bytes of the longest packet in a transition.
_LONGEST: Final = 9
_MAX_REMEMBERED: Final = 1 << 19


# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


def _is_wrong(point: ProgramPoint, there: ProgramPoint) -> bool:
    # Whether an address contradicts the program, or decides a branch as well.
    return there is not point and (point is UNDIRECTED or not isinstance(point, UnknownPoint))


class TransitionFinder:
    """Makes the transitions of an automaton.

    :param automaton: Has the program points and the states.
    """

    def __init__(self, automaton: Automaton) -> None:
        # How many transitions were made so far.
        self.made = 0
        self._automaton = automaton

    def make(self, state: DecoderState, data: bytes, at: int, end: int) -> Optional[Transition]:
        """Compute and remember the transition over the next whole packets.

        :param state: The state before them.
        :returns: None when the first packet is not one that can be remembered.
        """
        plain = not (self._automaton.return_stack or state.pending)
        transition = self._make_plain(state, data, at, end) if plain else None
        if transition is None:
            transition = self._make_any(state, data, at, end)
        if transition is None:
            if not 0 < state.window < _LONGEST or at + state.window >= end:
                return None
            # The next packet may be longer than what came here first.
            state.window = _LONGEST
            state.transitions.clear()
            return self.make(state, data, at, end)
        self.made += 1
        if not self.made % _MAX_REMEMBERED:
            self._automaton.forget()
        return transition

    def walk(self, state: DecoderState, data: bytes) -> _Walk:
        """Go the way of a transition again.

        :param state: The state before it.
        :param data: Its bytes.
        """
        walk = _Walk(self._automaton, state)
        self._packets(walk, data, 0, len(data), len(data))
        return walk

    def _make_plain(self, state: DecoderState, data: bytes, at: int, end: int) -> Optional[Transition]:
        # Where atoms and addresses meet only plain program points, as nearly all do without a return stack.
        automaton, wide, point, registers = self._automaton, state.wide, state.point, state.registers
        points = automaton.named[wide]
        window = state.window
        limit = min(at + (window or WINDOW), end)
        enough, far = (limit, limit) if window else (at + _ENOUGH, at + _FAR)
        arrived = automaton.arrived[wide]
        following: Optional[DecoderState] = None
        # Where an address packet ended last: nothing was executed since, when that is here.
        address_given = at if state.address_given else -1
        count: i64 = 0
        gaps = False
        index = at
        while index < limit:
            header = data[index]
            if header >= FIRST_ATOM:
                if header == point.header:
                    ran, there = point.ran, point.after
                else:
                    step = point.steps.get(header) if point.steps is not None else None
                    ran, there = automaton.step(point, header) if step is None else step
                if there is UNFOLLOWED:
                    break
                point = there
                count += ran
                index += 1
                if point is LOST:
                    gaps = True
                    # No atom says anything before the next address.
                    while index < limit and data[index] >= FIRST_ATOM:
                        index += 1
                continue
            address, after = next_address(data, index, limit, registers)
            if after == NEED_MORE:
                break
            known = points.get(address)
            there = automaton.name(address, wide) if known is None else known
            if point is not AFTER_BRANCH and point is not LOST and address_given != index and _is_wrong(point, there):
                break
            registers = address, registers[0], registers[1]
            point = there
            address_given = index = after
            if index >= enough and known is not None:
                following = arrived.get(registers)
                if following is not None or index >= far:
                    break
        length = index - at
        if not length:
            return None
        window = state.window = window or length
        key = data[at : at + window]
        whole = key if len(key) == length else data[at:index]
        run = _TransitionRun(self, state, whole, count) if gaps else _WholeRun(self, state, whole, count)
        quiet = state.quiet and address_given <= at
        following = following or automaton.enter(point, registers, wide, quiet, address_given == index, ())
        transition = state.transitions[key] = length, automaton.runs.add(run, gaps), following, (), 0
        return transition

    def _make_any(self, state: DecoderState, data: bytes, at: int, end: int) -> Optional[Transition]:
        # With the return stack, and with atoms that do not come to an end.
        automaton = self._automaton
        walk = _Walk(automaton, state)
        index = at
        if walk.follow(state.pending, -1) and not walk.pending:
            limit = min(end, at + (state.window or WINDOW))
            index = self._packets(walk, data, at, limit, limit if state.window else at + _ENOUGH)
        if index == at and walk.pending == state.pending:
            return None
        if not state.window:
            state.window = index - at
        run = automaton.runs.add(Run(index - at, walk.positions, walk.legs, tuple(walk.gaps)))
        following = automaton.enter(
            walk.point, walk.registers, state.wide, walk.quiet, walk.address_given, walk.pending
        )
        transition = index - at, run, following, walk.pushes, walk.deepest
        state.transitions[data[at : at + state.window]] = transition
        return transition

    def _packets(self, walk: "_Walk", data: bytes, at: int, limit: int, enough: int) -> int:
        # Follows whole packets up to the first that cannot be remembered; returns the index of that one.
        index = at
        while index < limit and not walk.pending:
            header = data[index]
            if header >= FIRST_ATOM:
                if walk.point is not LOST and not walk.follow(ATOMS[header], index - at):
                    break
                index += 1
                continue
            address, after = next_address(data, index, limit, walk.registers)
            if after == NEED_MORE or not walk.address(address, index - at):
                break
            index = after
            if index >= enough:
                break
        return index


class _TransitionRun(LazyRun):
    # The run of a transition.

    __slots__ = ("_transitions", "_state", "_data")

    def __init__(self, transitions: TransitionFinder, state: DecoderState, data: bytes, instructions: int) -> None:
        self.length = len(data)
        self._instructions = instructions
        self._transitions = transitions
        self._state = state
        self._data = data

    def content(self) -> Content:
        walk = self._transitions.walk(self._state, self._data)
        return walk.positions, walk.legs, walk.gaps


class _WholeRun(_TransitionRun):
    # The same without a gap.

    __slots__ = ()

    @property
    def foreseen(self) -> Tuple[Foreseen, ...]:
        return ()


class _Walk:
    # The execution of a transition while it is being worked out, the return stack included.

    __slots__ = (
        "_automaton",
        "_wide",
        "_named",
        "point",
        "registers",
        "quiet",
        "address_given",
        "pending",
        "positions",
        "legs",
        "gaps",
        "pushes",
        "deepest",
    )

    def __init__(self, automaton: Automaton, state: DecoderState) -> None:
        self._automaton = automaton
        self._wide = state.wide
        self._named = automaton.named[state.wide]
        self.point = state.point
        self.registers = state.registers
        self.quiet = state.quiet
        self.address_given = state.address_given
        self.pending = state.pending
        self.positions: List[int] = []
        self.legs: List[Leg] = []
        self.gaps: List[Foreseen] = []
        self.pushes: Tuple[Entry, ...] = ()
        self.deepest = 0

    def follow(self, atoms: Tuple[bool, ...], position: int) -> bool:
        # Follows atoms up to the first that needs a return stack entry from before the transition; the rest is then
        # pending.  False, and nothing done, when one of them cannot be followed or when that is the first.
        point, pushes, deepest, legs, left = self.point, self.pushes, self.deepest, len(self.legs), atoms
        while left:
            here = self.point
            if here is AFTER_BRANCH and self.pushes:
                entry = self.pushes[-1]
                self.pushes = self.pushes[:-1]
                here = self._automaton.point(entry.address, entry.isa)
            elif here is AFTER_BRANCH and left is not atoms:
                break
            elif here is LOST:
                left = ()
                break
            unknown = isinstance(here, UnknownPoint)
            if not unknown and position >= 0 and (here.block or self._automaton.block(here)).last is None:
                self._stop(here, position)
                continue
            successor = None if unknown else self._automaton.successor(here, left[:1] if self.quiet else left)
            if successor is None and not unknown and position >= 0:
                successor = self._automaton.successor(here, left[:1])
                if successor is None:
                    self._stop(here, position)
                    continue
            if successor is None:
                self.point, self.pushes, self.deepest = point, pushes, deepest
                del self.positions[legs:], self.legs[legs:]
                return False
            self.positions.append(position)
            self.legs.append(successor.leg)
            self.point = successor.point
            if successor.deepest and not self.quiet:
                self._push(successor)
            left = left[successor.atoms :]
        if len(self.legs) > legs:
            self.address_given = False
        self.pending = left
        return True

    def _stop(self, here: ProgramPoint, position: int) -> None:
        # The program cannot be followed from here; what it lacks, and where it contradicts the trace, stays the same.
        leg, gap = self._automaton.stop(here)
        if leg is not None:
            self.positions.append(position)
            self.legs.append(leg)
        self._gap(gap, position)
        self.point, self.address_given = LOST, False

    def _gap(self, gap: Gap, position: int) -> None:
        self.gaps.append(_new(Foreseen, (len(self.legs), position, gap)))

    def _push(self, successor: Successor) -> None:
        kept = min(len(self.pushes), STACK_DEPTH - successor.deepest)
        self.deepest = max(self.deepest, min(STACK_DEPTH, len(self.pushes) + successor.deepest))
        self.pushes = self.pushes[len(self.pushes) - kept :] + successor.pushes

    def address(self, packed: i64, position: int) -> bool:
        # False in the reach of a branch future or after a Q element, which are too rare to be remembered.
        here = self.point
        if here is UNDIRECTED or isinstance(here, FuturePoint):
            return False
        point = self._named.get(packed) or self._automaton.name(packed, self._wide)
        if point is not here and not self.address_given and not isinstance(here, UnknownPoint):
            self._gap(elsewhere(here.address, point.address), position)
        self.point = point
        self.address_given = True
        self.registers = packed, self.registers[0], self.registers[1]
        self.quiet = False
        return True
