"""Following a program along packets that come again and again: places, states, and the memory of stretches of trace.

A *place* is where the execution stands.  A *state* is a place plus everything else that decides how the next bytes are
read.  Each state remembers, by the next bytes of the stream, what the whole packets in them do: a *stretch*.  Loops in
a program make loops in its trace, so nearly all bytes are met as remembered stretches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, Container, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.armv7.fields import ISA, Reference
from gdb_etm.protocols.armv7.fields import State as IsaState
from gdb_etm.protocols.elements import Cycles
from gdb_etm.protocols.recorder import Foreseen, Leg, Run, RunTable
from gdb_etm.protocols.stream import AnyHeader

WINDOW = 8
"""Bytes of the stream by which stretches are remembered."""
_MAX_REMEMBERED = 1 << 19

_new = tuple.__new__
# Makes a named tuple of a tuple, three times as fast as its class does.

Entry = Tuple[int, Isa]
"""An entry of the return stack: an address and the instruction set there."""
Stack = Tuple[Optional[Entry], ...]
"""The upper part of the return stack, its top last; None at the bottom stands for more, which an execution keeps."""
_MOST_ENTRIES = 4
_FEWEST_ENTRIES = 2
Step = Union[Leg, Cycles]
"""Instructions that ran, or cycles that passed; the offset means nothing."""


@lru_cache(maxsize=4096)
def count(cycles: int) -> Cycles:
    """Make the step of a number of cycles."""
    return Cycles(0, cycles)


class Place:
    """Where the execution stands, when that is known."""

    __slots__ = ("address", "isa", "ways")

    def __init__(self, address: int, isa: Isa) -> None:
        self.address = address
        self.isa = isa
        self.ways: Dict[Hashable, Any] = {}
        """Where atoms lead from here, by what a packet says; the protocol's own."""


class Unplaced(Place):
    """The execution stands somewhere unknown, or where code cannot be followed, until a packet tells an address."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        super().__init__(0, Isa.A32)
        self.why = why
        """What a person is told when something runs there."""


class Way(NamedTuple):
    """Where atoms lead from a place."""

    steps: Tuple[Step, ...]
    place: Place
    atoms: int
    """How many of the atoms lead there; the rest cannot be followed, or needs what is below in the return stack."""
    stack: Stack = ()
    """The return stack afterwards."""


class Rest(NamedTuple):
    """What decides, beside the place, how the next bytes are read."""

    reference: Optional[Reference]
    """The last address output; None where none has been since synchronisation."""
    told: bool = False
    """Nothing was executed since a packet told the place: a further one corrects it."""
    stack: Stack = ()
    """The return stack."""


class State:
    """Everything that decides how the next bytes are read."""

    __slots__ = ("place", "rest", "stretches")

    def __init__(self, place: Place, rest: Rest) -> None:
        self.place = place
        self.rest = rest
        self.stretches: Dict[bytes, Stretch] = {}


class Stretch(NamedTuple):
    """What the whole packets in the next bytes do."""

    length: int
    """Bytes consumed."""
    run: int
    """Run number."""
    state: State
    """The state afterwards."""
    below: Stack
    """What goes below in the return stack, as :func:`settle` gives it."""


def settle(stack: Stack) -> Tuple[Stack, Stack]:
    """Make a return stack short, so that states are few.

    :returns: Its upper part, and what is to be put on top of what lies below; None stands for the bottom.
    """
    if len(stack) <= _MOST_ENTRIES:
        return stack, ()
    below = stack[:-_FEWEST_ENTRIES]
    return (None,) + stack[-_FEWEST_ENTRIES:], below[1:] if below[0] is None else (None,) + below


def refill(below: List[Optional[Entry]]) -> Stack:
    """Take the upper part of a return stack off what lies below."""
    found: List[Optional[Entry]] = []
    while below and below[-1] is not None and len(found) < _FEWEST_ENTRIES:
        found.insert(0, below.pop())
    if below and below[-1] is not None:
        found.insert(0, None)
    elif below:
        below.pop()
    return tuple(found)


class Walk:
    """The execution of a stretch while it is being worked out."""

    __slots__ = ("place", "reference", "told", "stack", "positions", "legs", "events")

    def __init__(self, state: State) -> None:
        self.place = state.place
        self.reference, self.told, self.stack = state.rest
        self.positions: List[int] = []
        self.legs: List[Leg] = []
        self.events: List[Foreseen] = []

    def add(self, steps: Sequence[Step], position: int) -> None:
        """Take what a packet executed and counted."""
        legs = self.legs
        for step in steps:
            if step.__class__ is Leg:
                self.positions.append(position)
                legs.append(step)
                self.told = False
            else:
                self.events.append(_new(Foreseen, (len(legs), position, step)))

    def run(self, length: int) -> Run:
        """Give all of it, from so many bytes."""
        return Run(length, self.positions, self.legs, tuple(self.events))


class Automaton(ABC):
    """Places, states and stretches of one program under one configuration.

    :param blocks: The program's blocks.
    :param table: The header table.
    :param followed: The kinds of packets that may be part of a stretch.
    """

    def __init__(self, blocks: Blocks, table: Sequence[AnyHeader], followed: Container[object]) -> None:
        self.blocks = blocks
        self.runs = RunTable()
        self.made = 0
        """How many stretches were worked out."""
        self.followed = [header.kind in followed for header in table]
        """By first byte, whether a packet may be part of a stretch."""
        self._lengths = [header.length for header in table]
        self._places: Dict[Tuple[int, Isa], Place] = {}
        self._states: Dict[Tuple[Place, Rest], State] = {}
        self._remembered = 0
        self.lost = Unplaced("")
        """A gap has been told; what is traced until the next address cannot be followed."""
        self.unsynchronised = Unplaced("no I-sync packet yet")
        """Where every stream begins."""
        self.after_branch = Unplaced("no target for the branch before")
        """An indirect branch was taken: an address follows."""
        self.jazelle = Unplaced("Jazelle bytecode")
        """Jazelle state, whose bytecode is not public."""
        self.thumbee = Unplaced("ThumbEE code")
        """ThumbEE state."""

    def place(self, address: int, isa: Isa) -> Place:
        """Give the place at ``address``."""
        key = (address, isa)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(address, isa)
        return place

    def place_of(self, reference: Reference) -> Place:
        """Give the place that an address names."""
        if reference.state is IsaState.JAZELLE:
            return self.jazelle
        if reference.state is IsaState.THUMBEE:
            return self.thumbee
        return self.place(reference.address, ISA[reference.state])

    def state(self, place: Place, rest: Rest) -> State:
        """Give the state with these parts."""
        key = (place, rest)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = State(place, rest)
        return state

    @abstractmethod
    def take(self, walk: Walk, data: bytes, at: int, size: int, position: int) -> bool:
        """Take a whole packet into a stretch.

        :param position: Its distance from the first byte of the stretch.
        :returns: False, and nothing done, when it is not one that can be remembered.
        """

    def stretch(self, state: State, data: bytes, at: int, end: int) -> Optional[Stretch]:
        """Work out what the whole packets in the next bytes do, and remember it.

        :param state: The state before them.
        :returns: None when the first packet is not one that can be remembered.
        """
        walk, take, lengths = Walk(state), self.take, self._lengths
        index = at
        limit = min(end, at + WINDOW)
        while index < limit:
            size = lengths[data[index]](data, index, limit)
            if size <= 0 or not take(walk, data, index, size, index - at):
                break
            index += size
        if index == at:
            return None
        run = self.runs.add(walk.run(index - at))
        stack, below = settle(walk.stack)
        following = self.state(walk.place, Rest(walk.reference, walk.told, stack))
        stretch = Stretch(index - at, run, following, below)
        state.stretches[data[at : at + WINDOW]] = stretch
        self.made += 1
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            self._forget()
        return stretch

    def _forget(self) -> None:
        # Bounds memory on trace that does not repeat.  Runs stay: histories refer to them.
        for state in self._states.values():
            state.stretches = {}
        self._states = {}
        self._remembered = 0
