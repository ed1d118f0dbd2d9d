"""The decoder's automaton: program points, decoder states, and transitions.

A *program point* is where the execution stands.  A *decoder state* is a program point and everything else that decides
how the next bytes are read: the address registers, the instruction set width, whether the return stack is quiet,
whether an address packet gave the address.
Each state remembers, by the next bytes of the stream, what the whole packets in them do: a *transition*.
Loops in a program make loops in its trace, so nearly all bytes are found among the kept transitions.
The contents of the return stack decide the path too.  So a transition ends where an entry from before it is needed,
if need be within an Atom packet: the atoms left over are then part of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Final, NamedTuple, Optional, Tuple

from gdb_etm.program.blocks import UNCLEAR, Block
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import Isa, from_packed
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.packets import Addresses, pack_address, unpack_address
from gdb_etm.protocols.recorder import Leg

if TYPE_CHECKING:
    from mypy_extensions import i64

    from gdb_etm.program.blocks import Outline
    from gdb_etm.protocols.etmv4.packets import Registers

    # How many instructions an Atom packet executes, and where it leads.
    Step = Tuple[i64, "ProgramPoint"]

# Entries in the trace analyzer's return stack (IHI 0064, 5.3).
STACK_DEPTH: Final = 15


class Entry(NamedTuple):
    """An entry of the return stack."""

    address: int
    isa: Isa


class ProgramPoint:
    """Where the execution stands, when that is known."""

    __slots__ = (
        "packed",
        "isa",
        "block",
        "outline",
        "count",
        "skipped",
        "taken",
        "header",
        "ran",
        "after",
        "steps",
        "successors",
    )
    ran: i64
    after: ProgramPoint

    def __init__(self, packed: i64, isa: Isa) -> None:
        # The address, see :func:`gdb_etm.program.isa.to_packed`.
        self.packed = packed
        self.isa = isa
        self.block: Optional[Block] = None
        # The outline of the block here, and its number of instructions; -1 in the outline until it was looked at.
        self.outline: Outline = (UNCLEAR, UNCLEAR, -1)
        self.count: i64 = 0
        # Where an N and an E lead, once one has come.
        self.skipped: Optional[ProgramPoint] = None
        self.taken: Optional[ProgramPoint] = None
        # What Atom packets do here, when outlines are enough to know it: the header of the first that came, 0 before
        # that; how many instructions it executes (``ran``); where it leads (``after``); and the others by header.
        self.header: i64 = 0
        self.steps: Optional[Dict[int, Step]] = None
        # What atoms do here, by the atoms of a packet; None where they cannot be followed.
        self.successors: Optional[Dict[Tuple[bool, ...], Optional[Successor]]] = None

    @property
    def address(self) -> int:
        """The address."""
        return from_packed(self.packed)


class FuturePoint(ProgramPoint):
    """A program point within reach of a branch future (5.2.5)."""

    __slots__ = ("future",)

    def __init__(self, packed: i64, isa: Isa, future: Future) -> None:
        super().__init__(packed, isa)
        self.future = future
        self.skipped = self.taken = UNFOLLOWED


class UnknownPoint(ProgramPoint):
    """A program point that is unknown until an address packet comes.

    :param following: Where atoms lead from it; None: they leave it as it is.
    """

    __slots__ = ()

    def __init__(self, following: Optional[ProgramPoint] = None) -> None:
        super().__init__(0, Isa.T32)
        self.skipped = self.taken = following or self


# Outlines are not enough to say where atoms lead.
UNFOLLOWED: Final = UnknownPoint()
# A branch that is always taken was not.
IMPOSSIBLE: Final = UnknownPoint()
# A gap has been recorded; what is traced until the next address packet cannot be followed.
LOST: Final = UnknownPoint()
# An indirect branch was taken: an address follows, or the return stack has it.
AFTER_BRANCH: Final = UnknownPoint(UNFOLLOWED)
# An address packet has to come before anything else that executes, as after an exception.
EXPECTED: Final = UnknownPoint(UNFOLLOWED)
# A Q element ended with a branch: an address packet has to come, and shows which way that went.
UNDIRECTED: Final = UnknownPoint(UNFOLLOWED)
# An address packet named an instruction set that does not exist in the context's state.
RESERVED: Final = UnknownPoint(UNFOLLOWED)


class Successor(NamedTuple):
    """Where atoms lead from a program point."""

    leg: Leg
    point: ProgramPoint
    # Entries put on the return stack, the top last.
    pushes: Tuple[Entry, ...]
    # How many entries were there at most, on top of those from before; a full stack loses its oldest for them.
    deepest: int
    # How many of the atoms lead there; the others need an entry of the return stack from before.
    atoms: int
    # Whether that is all of them, and none of them touches the return stack.
    plain: bool


class Stop(NamedTuple):
    """Where the program cannot be followed: what ran before, and why."""

    # None where nothing ran.
    leg: Optional[Leg]
    # Its offset means nothing.
    gap: Gap


def elsewhere(here: int, there: int) -> Gap:
    """Make the gap of an address that contradicts the program."""
    return Gap(0, GapReason.BAD_IMAGE, "the program goes on at 0x%08x, the trace at 0x%08x" % (here, there))


class DecoderState:
    """All that decides how bytes are read, return stack aside."""

    __slots__ = ("point", "registers", "wide", "quiet", "address_given", "pending", "window", "transitions", "sizes")

    def __init__(
        self,
        point: ProgramPoint,
        registers: Registers,
        wide: bool,
        quiet: bool,
        address_given: bool,
        pending: Tuple[bool, ...],
    ) -> None:
        self.point = point
        self.registers = registers
        # The context's SF bit: IS0 means A64.
        self.wide = wide
        # No pushes: between a Trace Info and the address after it the unit does not push either (5.3).
        self.quiet = quiet
        # Nothing was executed since an address packet gave the address: a further one corrects it (5.2.9).
        self.address_given = address_given
        # Atoms of the last packet that are still to be followed.
        self.pending = pending
        # By how many bytes of the stream its transitions are remembered: as many as the first one had.
        self.window = 0
        self.transitions: Dict[bytes, Transition] = {}
        # The sizes in bytes of packets of other kinds that have come here.
        self.sizes: Tuple[int, ...] = ()

    @property
    def addresses(self) -> Addresses:
        """The address registers."""
        first, second, third = self.registers
        return unpack_address(first), unpack_address(second), unpack_address(third)


def pack_addresses(addresses: Addresses) -> Registers:
    """Make three numbers of the address registers."""
    first, second, third = addresses
    return pack_address(first), pack_address(second), pack_address(third)


# The effect of the whole packets in the next bytes: bytes consumed; run number; the state afterwards; entries put on
# the return stack, the top last; how many entries were there at most, on top of those from before.
Transition = Tuple[int, int, DecoderState, Tuple[Entry, ...], int]
