"""What is asked of a recovery and what it answers: states, tiers, values, steps of a proof, writes and findings."""

from __future__ import annotations

from enum import IntEnum
from typing import Callable, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.recovery.lift.operations import MASK


class State(NamedTuple):
    """Registers and memory of a core at rest: an anchor."""

    registers: Mapping[str, int]
    """Lower-case names: r0 to r12, sp, lr, pc, xpsr, msp, psp, control, primask, basepri, faultmask, s0 to s31, fpscr;
    and stack limits, msplim and psplim, or with the Security Extension msplim_s, msplim_ns, psplim_s and psplim_ns.

    Any may be missing."""
    read: Callable[[int, int], Optional[bytes]]
    """Gives ``size`` bytes of memory at ``address`` as they were at that moment, or None.  Called for RAM alone, for
    aligned words, and once for each."""


def no_memory(address: int, size: int) -> Optional[bytes]:
    """Read nothing: the memory of a :class:`State` of which only the registers are known."""
    return None


class Tier(IntEnum):
    """How much a value rests on; the lower the better."""

    EXACT = 0
    """It follows from the trace, the program and the anchors."""
    ASSUMED = 1
    """It also takes that what compilers rely on is so: calls and handlers keep SP and r4 to r11, and interrupts all
    registers; call frame information holds; a function came to where it goes on from its entry; SP is aligned; a frame
    of which its function makes no address is written by that function alone, and by the scheduler alone the pointers
    from one thread's block to another's."""
    LIKELY = 2
    """It also takes that stores to addresses of which nothing is known wrote somewhere else."""
    UNKNOWN = 3


class Relative(NamedTuple):
    """A value told by another one that is unknown too."""

    name: str
    """Register, lower-case."""
    number: int
    """It held the other value before this instruction."""
    offset: int
    """What is to be added to it, signed."""


class Value(NamedTuple):
    """A register's or a memory byte's value at one moment of the past."""

    value: Optional[int]
    """None when it is unknown as a whole."""
    tier: Tier
    """What it rests on; UNKNOWN when it is."""
    reason: str
    """One short line: why it is known, or why it is not."""
    known: int = 0
    """Mask of the bits that are known."""
    bits: int = 0
    """Their values, 0 elsewhere."""
    low: int = 0
    """It is at least this, unsigned."""
    high: int = MASK
    """It is at most this, unsigned."""
    relative: Optional[Relative] = None
    """For an unknown value: what it is in terms of a register of another moment."""


class Step(NamedTuple):
    """One fact of the chain that a value rests on."""

    text: str
    """One line, such as ``"stored here, still in RAM at the halt"``."""
    number: Optional[int]
    """The instruction that it is about; None for an anchor."""
    tier: Tier
    """Of the fact and of those behind it."""


class Write(NamedTuple):
    """An executed store that wrote a piece of memory."""

    number: int
    """The instruction's; for what an exception pushed, that of the instruction before it."""
    address: int
    """Of the first byte."""
    size: int
    """In bytes."""
    value: Value
    """What was written."""
    certain: bool
    """False when it is not known whether its condition held."""
    unknown_after: int
    """How many stores of which the address is not known ran between it and the next newer write, or the end."""


class Finding(NamedTuple):
    """What the user should know: an assumption that did not hold, or a contradiction."""

    text: str
    """One line, such as ``"the call at 0x1dc did not preserve r4"``."""
    number: Optional[int]
    """The instruction that it is about."""
    tier: Tier
    """Of what fell: ASSUMED when one assumption was dropped, EXACT when nothing is told of the whole stretch."""


class Written(NamedTuple):
    """All writes to a piece of memory that are known, and what may have been written besides."""

    writes: Tuple[Write, ...]
    """Newest first."""
    unknown_before: int
    """How many stores of unknown address ran before the oldest of them."""
    first: int = 1
    """The first instruction that was looked at."""


class Touched(NamedTuple):
    """What accessed a piece of memory in a part of a history."""

    first: int
    """The first instruction of the part."""
    last: int
    """The last."""
    numbers: Tuple[int, ...]
    """Those that are known to have accessed it, in order; what an exception pushed has the number before it."""
    unknown: Tuple[int, ...]
    """Those that may have, because their addresses are not known."""
    is_known: bool = True
    """Whether it is known at all what accessed memory there."""


class Fact(NamedTuple):
    """A register's value that is known from elsewhere."""

    number: int
    """The value held before this instruction."""
    name: str
    """Register, lower-case."""
    value: int
