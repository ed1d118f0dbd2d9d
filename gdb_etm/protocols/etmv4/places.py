"""The automaton behind the decoder: places in the program, and decoder states with their memory.

A *place* is where the execution stands.  A *state* is a place plus everything else that decides how the next
bytes are read: the address registers, the instruction set width, whether the return stack is quiet, whether an
address packet has told the place.
Each state remembers, by the next eight bytes of the stream, what the whole packets in them do: a *stretch*.
Loops in a program make loops in its trace, so nearly all bytes are met as remembered stretches.
The contents of the return stack decide the path too.  So a stretch ends where an entry from before it is needed,
if need be within an Atom packet: the atoms left over are then part of the state.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from gdb_etm.program.blocks import Block
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.etmv4.packets import Addresses
from gdb_etm.protocols.recorder import Leg

STACK_DEPTH = 15
"""Entries in the trace analyzer's return stack (IHI 0064, 5.3)."""


class Entry(NamedTuple):
    """An entry of the return stack."""

    address: int
    isa: Isa


class Place:
    """Where the execution stands, when that is known."""

    __slots__ = ("address", "isa", "block", "ways")

    def __init__(self, address: int, isa: Isa) -> None:
        self.address = address
        self.isa = isa
        self.block: Optional[Block] = None
        self.ways: Dict[Tuple[bool, ...], Optional[Way]] = {}
        """What atoms do here, by the atoms of a packet; None where they cannot be followed."""


class FuturePlace(Place):
    """A place from where the program runs into the branch point of a branch future instruction (5.2.5)."""

    __slots__ = ("future",)

    def __init__(self, address: int, isa: Isa, future: Future) -> None:
        super().__init__(address, isa)
        self.future = future


class Unplaced(Place):
    """The execution stands somewhere unknown until an address packet tells."""

    __slots__ = ()


AFTER_BRANCH = Unplaced(0, Isa.T32)
"""An indirect branch was taken: an address follows, or the return stack has it."""
EXPECTED = Unplaced(0, Isa.T32)
"""An address packet has to come before anything else that executes, as after an exception."""
UNDIRECTED = Unplaced(0, Isa.T32)
"""A Q element ended with a branch: an address packet has to come, and tells which way that went."""
LOST = Unplaced(0, Isa.T32)
"""A gap has been told; what is traced until the next address packet cannot be followed."""

RESERVED = Unplaced(0, Isa.T32)
"""An address packet named an instruction set that does not exist in the context's state."""


class Way(NamedTuple):
    """Where atoms lead from a place."""

    leg: Leg
    place: Place
    pushes: Tuple[Entry, ...]
    """Entries put on the return stack, the top last."""
    deepest: int
    """How many entries were there at most, on top of those from before; a full stack loses its oldest for them."""
    atoms: int
    """How many of the atoms lead there; the others need an entry of the return stack from before."""
    plain: bool
    """Whether that is all of them, and none of them touches the return stack."""


class State:
    """Everything that decides how the next bytes are read, but the contents of the return stack."""

    __slots__ = ("place", "addresses", "wide", "quiet", "told", "pending", "stretches")

    def __init__(
        self, place: Place, addresses: Addresses, wide: bool, quiet: bool, told: bool, pending: Tuple[bool, ...]
    ) -> None:
        self.place = place
        self.addresses = addresses
        self.wide = wide
        """The context's SF bit: IS0 means A64."""
        self.quiet = quiet
        """No pushes: between a Trace Info and the address after it the unit does not push either (5.3)."""
        self.told = told
        """Nothing was executed since an address packet told the place: a further one corrects it (5.2.9)."""
        self.pending = pending
        """Atoms of the last packet that are still to be followed."""
        self.stretches: Dict[bytes, Stretch] = {}


class Stretch(NamedTuple):
    """What the whole packets in the next eight bytes do."""

    length: int
    """Bytes consumed."""
    run: int
    """Run number, or -1 when nothing was executed."""
    state: State
    """The state afterwards."""
    pushes: Tuple[Entry, ...]
    """Entries put on the return stack, the top last."""
    deepest: int
    """How many entries were there at most, on top of those from before."""
