"""The decoder's automaton: program points, decoder states, and transitions.

A *program point* is where the execution stands.  A *decoder state* is a program point and everything else that decides
how the next bytes are read.  Each state keeps, by the next bytes of the stream, what the whole packets in them do: a
*transition*.  Loops in a program make loops in its trace, so nearly all bytes are found among the kept transitions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, Container, Dict, Final, Hashable, List, NamedTuple, Optional, Sequence, Tuple, Union

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Insn, InstructionKind, Isa
from gdb_etm.program.untaken import always_taken
from gdb_etm.protocols.armv7.fields import ISA, IsaState, Reference
from gdb_etm.protocols.elements import Cycles
from gdb_etm.protocols.lazy_run import LazyRun
from gdb_etm.protocols.recorder import Content, Foreseen, Leg, Run, RunTable
from gdb_etm.protocols.stream import Header

# Bytes of the stream in a transition at most.
WINDOW: Final = 32
# Bytes after which a transition ends at the next address packet that leads to a state which is known.
_ENOUGH: Final = 8
# Bytes after which it ends at any address packet.
_FAR: Final = 24
# Bytes of the longest packet in a transition.
_LONGEST: Final = 8
_MAX_REMEMBERED: Final = 1 << 19

# A name of its own is faster to reach than an enumeration's member.
_DIRECT: Final = InstructionKind.DIRECT
_INDIRECT: Final = InstructionKind.INDIRECT
_T32: Final = Isa.T32
# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__

# An entry of the return stack: an address and the instruction set there.
Entry = Tuple[int, Isa]
# The upper part of the return stack, its top last; None at the bottom stands for more, which an execution keeps.
Stack = Tuple[Optional[Entry], ...]
_MOST_ENTRIES: Final = 4
_FEWEST_ENTRIES: Final = 2
# Instructions that ran, or cycles that passed; the offset means nothing.
Step = Union[Leg, Cycles]


@lru_cache(maxsize=4096)
def count(cycles: int) -> Cycles:
    """Make the step of a number of cycles."""
    return _new(Cycles, (0, cycles))


# Of program points from which no atoms have come.
_NO_SUCCESSORS: Final[Dict[Hashable, Any]] = {}


class Line:
    """Instructions one after the other, up to the first branch."""

    __slots__ = ("isa", "addresses", "length", "last")

    def __init__(self, isa: Isa, addresses: List[int], last: Optional[Insn]) -> None:
        self.isa = isa
        # Of the instructions, and the one after the last.
        self.addresses = addresses
        self.length = len(addresses) - 1
        # The branch at the end; None where the code goes on, or ends.
        self.last = last


class ProgramPoint:
    """Where the execution stands, when that is known."""

    __slots__ = ("address", "isa", "line", "index", "header", "ran", "after", "steps", "successors")
    ran: int
    after: ProgramPoint

    def __init__(self, address: int, isa: Isa) -> None:
        self.address = address
        self.isa = isa
        # The line that it is in, and the number of the instruction there, once that was looked at.
        self.line: Optional[Line] = None
        self.index = 0
        # What packets of atoms do here, where that is all that matters: the header of the first that came, 0 before
        # that; how many instructions it executes (``ran``); where it leads (``after``); and the others by header.
        self.header = 0
        self.steps: Optional[Dict[int, Tuple[int, ProgramPoint]]] = None
        # Where atoms lead from here, by what a packet says; the protocol's own.
        self.successors: Dict[Hashable, Any] = _NO_SUCCESSORS

    def keep_step(self, header: int, ran: int, after: ProgramPoint) -> None:
        """Keep what a packet of atoms does here."""
        if not self.header:
            self.header, self.ran, self.after = header, ran, after
        elif self.steps is None:
            self.steps = {header: (ran, after)}
        else:
            self.steps[header] = ran, after

    def keep(self, key: Hashable, successor: Any) -> None:
        """Keep where atoms lead from here."""
        if self.successors is _NO_SUCCESSORS:
            self.successors = {}
        self.successors[key] = successor


class UnknownPoint(ProgramPoint):
    """A program point whose address is unknown or whose code is unusable.

    It ends with the next address.
    """

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        super().__init__(0, Isa.A32)
        # The reason that is shown when something runs there.
        self.why = why


class Successor:
    """Where atoms lead from a program point."""

    __slots__ = ("steps", "point", "atoms", "stack")

    def __init__(self, steps: Tuple[Step, ...], point: ProgramPoint, atoms: int, stack: Stack = ()) -> None:
        self.steps = steps
        self.point = point
        # How many of the atoms lead there; the rest cannot be followed, or needs what is below in the return stack.
        self.atoms = atoms
        # The return stack afterwards.
        self.stack = stack


class AddressState(NamedTuple):
    """The parts of a decoder state beside the program point."""

    # The last address output; None where none has been since synchronisation.
    reference: Optional[Reference]
    # Nothing was executed since a packet gave the address: a further one corrects it.
    address_given: bool = False
    # The return stack.
    stack: Stack = ()


class DecoderState:
    """Everything that decides how the next bytes are read."""

    __slots__ = ("point", "addresses", "window", "transitions")

    def __init__(self, point: ProgramPoint, addresses: AddressState) -> None:
        self.point = point
        self.addresses = addresses
        # By how many bytes of the stream its transitions are remembered: as many as the first one had.
        self.window = 0
        self.transitions: Dict[bytes, Transition] = {}


class Transition(NamedTuple):
    """The effect of the whole packets in the next bytes."""

    # Bytes consumed.
    length: int
    # Run number.
    run: int
    # The state afterwards.
    state: DecoderState
    # What goes below in the return stack, as :func:`settle` gives it.
    below: Stack


def settle(stack: Stack) -> Tuple[Stack, Stack]:
    """Make a return stack short, so that states are few.

    :returns: Its upper part, and what is to be put on top of what lies below; None stands for the bottom.
    """
    if len(stack) <= _MOST_ENTRIES:
        return stack, ()
    below = stack[:-_FEWEST_ENTRIES]
    return (None,) + stack[-_FEWEST_ENTRIES:], below[1:] if below[0] is None else (None,) + below


def refill(below: List[Optional[Entry]]) -> Stack:
    """Move the return stack's upper part from its lower part."""
    found: List[Optional[Entry]] = []
    while below and below[-1] is not None and len(found) < _FEWEST_ENTRIES:
        found.insert(0, below.pop())
    if below and below[-1] is not None:
        found.insert(0, None)
    elif below:
        below.pop()
    return tuple(found)


def is_always_taken(blocks: Blocks, insn: Insn, address: int, isa: Isa) -> bool:
    """Return whether an instruction is a branch taken whenever it runs."""
    kind = insn.kind
    if kind is not _INDIRECT and kind is not _DIRECT or insn.target == address + insn.size:
        return False
    return always_taken(blocks.program.read, address, address, isa)


class TransitionBuilder:
    """The execution of a transition while it is being worked out."""

    __slots__ = ("point", "reference", "address_given", "stack", "positions", "legs", "events")

    def __init__(self, state: DecoderState) -> None:
        self.point = state.point
        self.reference, self.address_given, self.stack = state.addresses
        self.positions: List[int] = []
        self.legs: List[Leg] = []
        self.events: List[Foreseen] = []

    def add(self, steps: Sequence[Step], position: int) -> None:
        """Take what a packet executed and counted."""
        legs = self.legs
        for step in steps:
            if isinstance(step, Leg):
                self.positions.append(position)
                legs.append(step)
                self.address_given = False
            else:
                self.events.append(_new(Foreseen, (len(legs), position, step)))

    def run(self, length: int) -> Run:
        """Give all of it, from so many bytes."""
        return Run(length, self.positions, self.legs, tuple(self.events))


class TransitionRun(LazyRun):
    """The run of a transition, whose content is found on demand.

    :param automaton: Has the transition.
    :param state: The state before it.
    :param data: Its bytes.
    :param instructions: How many ran.
    """

    __slots__ = ("_automaton", "_state", "_data", "_content")

    def __init__(self, automaton: Automaton, state: DecoderState, data: bytes, instructions: int) -> None:
        self.length = len(data)
        self._instructions = instructions
        self._automaton = automaton
        self._state = state
        self._data = data
        self._content: Optional[Content] = None

    def content(self) -> Content:
        """Give positions, legs and foreseen events, found once."""
        content = self._content
        if content is None:
            builder = self._automaton.build(self._state, self._data)
            content = self._content = builder.positions, builder.legs, tuple(builder.events)
        return content


class Automaton(ABC):
    """Program points, states and transitions of one program under one configuration.

    :param blocks: The program's blocks.
    :param table: The header table.
    :param followed: The kinds of packets that may be part of a transition.
    """

    def __init__(self, blocks: Blocks, table: Sequence[Header], followed: Container[object]) -> None:
        self.blocks = blocks
        self.runs = RunTable()
        # How many transitions were worked out.
        self.made = 0
        # By first byte, whether a packet may be part of a transition.
        self.followed = [header.kind in followed for header in table]
        self._lengths = [header.length for header in table]
        # By address, which is shifted left by one, with bit 0 set for T32.
        self._points: Dict[int, ProgramPoint] = {}
        self._states: Dict[Tuple[ProgramPoint, AddressState], DecoderState] = {}
        self._remembered = 0
        # A gap has been recorded; what is traced until the next address cannot be followed.
        self.lost = UnknownPoint("")
        # Where every stream begins.
        self.unsynchronised = UnknownPoint("no I-sync packet yet")
        # An indirect branch was taken: an address follows.
        self.after_branch = UnknownPoint("no target for the branch before")
        # Jazelle state, whose bytecode is not public.
        self.jazelle = UnknownPoint("Jazelle bytecode")
        # ThumbEE state.
        self.thumbee = UnknownPoint("ThumbEE code")

    def point(self, address: int, isa: Isa) -> ProgramPoint:
        """Give the program point at ``address``."""
        key = address << 1 | (isa is _T32)
        point = self._points.get(key)
        if point is None:
            point = self._points[key] = ProgramPoint(address, isa)
        return point

    def point_of(self, reference: Reference) -> ProgramPoint:
        """Give the program point that an address names."""
        if reference.state is IsaState.JAZELLE:
            return self.jazelle
        if reference.state is IsaState.THUMBEE:
            return self.thumbee
        return self.point(reference.address, ISA[reference.state])

    def state(self, point: ProgramPoint, addresses: AddressState) -> DecoderState:
        """Give the state with these parts."""
        key = (point, addresses)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = DecoderState(point, addresses)
        return state

    @abstractmethod
    def take(self, builder: TransitionBuilder, data: bytes, at: int, size: int, position: int) -> bool:
        """Take a whole packet into a transition.

        :param position: Its distance from the first byte of the transition.
        :returns: False, and nothing done, when it is not one that can be remembered.
        """

    def build(self, state: DecoderState, data: bytes) -> TransitionBuilder:
        """Go the way of a transition again.

        :param state: The state before it.
        :param data: Its bytes.
        """
        builder = TransitionBuilder(state)
        index, end = 0, len(data)
        while index < end:
            size = self._lengths[data[index]](data, index, end)
            self.take(builder, data, index, size, index)
            index += size
        return builder

    def transition(self, state: DecoderState, data: bytes, at: int, end: int) -> Optional[Transition]:
        """Compute the transition over the whole packets in the next bytes.

        :param state: The state before them.
        :returns: None when the first packet is not one that can be remembered.
        """
        transition = self._find(state, data, at, min(end, at + (state.window or WINDOW)))
        if transition is None and 0 < state.window < _LONGEST and at + state.window < end:
            # The next packet may be longer than what came here first.
            state.window = _LONGEST
            state.transitions.clear()
            transition = self._find(state, data, at, min(end, at + _LONGEST))
        return transition

    def _find(self, state: DecoderState, data: bytes, at: int, limit: int) -> Optional[Transition]:
        # The same over the whole packets before ``limit``.
        builder, take, lengths = TransitionBuilder(state), self.take, self._lengths
        index = at
        while index < limit:
            size = lengths[data[index]](data, index, limit)
            if size <= 0 or not take(builder, data, index, size, index - at):
                break
            index += size
            if not state.window and self._is_enough(builder, index - at):
                break
        if index == at:
            return None
        return self._keep(state, data, at, index - at, builder, self.runs.add(builder.run(index - at)))

    def _is_enough(self, builder: TransitionBuilder, length: int) -> bool:
        # Whether a transition ends here, so that paths that meet share the transitions that follow.
        if length < _ENOUGH or not builder.address_given:
            return False
        addresses = _new(AddressState, (builder.reference, True, builder.stack))
        return length >= _FAR or (builder.point, addresses) in self._states

    def _keep(
        self, state: DecoderState, data: bytes, at: int, length: int, builder: TransitionBuilder, run: int
    ) -> Transition:
        # Makes a transition of a builder and the number of its run.
        if not state.window:
            state.window = length
        key = data[at : at + state.window]
        stack, below = settle(builder.stack)
        addresses = _new(AddressState, (builder.reference, builder.address_given, stack))
        following = self.state(builder.point, addresses)
        transition = state.transitions[key] = _new(Transition, (length, run, following, below))
        self.made += 1
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            self._forget()
        return transition

    def _forget(self) -> None:
        # Bounds memory on trace that does not repeat.  Runs stay: histories refer to them.
        for state in self._states.values():
            state.transitions = {}
        self._states = {}
        self._remembered = 0
