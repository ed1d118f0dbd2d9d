"""Questions and answers of a recovery: states, tiers, values, proofs, findings."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Callable, Dict, Final, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.recovery.lift.operations import MASK

# Bytes of memory that are read at a time, a power of two; their words.
_BLOCK: Final = 256
_WORDS: Final = Struct("<%dI" % (_BLOCK // 4))


class CoreState(NamedTuple):
    """Registers and memory of a core at rest."""

    # Lower-case names: r0 to r12, sp, lr, pc, xpsr, msp, psp, control, primask, basepri, faultmask, s0 to s31, fpscr;
    # and stack limits, msplim and psplim, or with the Security Extension msplim_s, msplim_ns, psplim_s and psplim_ns;
    # and cfsr and fpccr.  Others, such as its neighbours, say nothing of the past.
    #
    # Any may be missing.
    registers: Mapping[str, int]
    # Gives ``size`` bytes of memory at ``address`` as they were at that moment, or None.  Called for RAM alone, for
    # aligned words and for aligned blocks of them.
    read: Callable[[int, int], Optional[bytes]]


def no_memory(address: int, size: int) -> Optional[bytes]:
    """Read nothing: for a :class:`CoreState` of registers alone."""
    return None


def word_reader(state: Optional[CoreState]) -> Optional[Callable[[int], Optional[int]]]:
    """Make what gives the aligned words of a state's memory.

    It is read in blocks, and by words where not all of a block is there.
    """
    if state is None:
        return None
    read = state.read
    known: Dict[int, Optional[int]] = {}

    def word(address: int) -> Optional[int]:
        if address not in known:
            start = address & -_BLOCK
            found = read(start, _BLOCK)
            if found is not None and len(found) == _BLOCK:
                known.update(zip(range(start, start + _BLOCK, 4), _WORDS.unpack(found)))
            else:
                found = read(address, 4)
                known[address] = None if found is None or len(found) < 4 else int.from_bytes(found, "little")
        return known[address]

    return word


class Tier(IntEnum):
    """How much a value rests on; the lower the better."""

    # It follows from the trace, the program and the anchors.
    EXACT = 0
    # It also rests on what compilers rely on: calls and handlers keep SP and r4 to r11, and interrupts all registers;
    # call frame information holds; a function came to where it goes on from its entry; SP is aligned; a frame that
    # does not escape is written by its function alone, and pointers between threads' blocks by the scheduler alone; no
    # pointer leads below SP; a handler that writes PSP returns to a thread that uses it.
    ASSUMED = 1
    UNKNOWN = 2


class Relative(NamedTuple):
    """A value as a distance from another unknown one."""

    # Register, lower-case.
    name: str
    # It held the other value before this instruction.
    number: int
    # What is to be added to it, signed.
    offset: int


class Value(NamedTuple):
    """A past value of a register or a byte."""

    # None when it is unknown as a whole.
    value: Optional[int]
    # What it rests on; UNKNOWN when it is.
    tier: Tier
    # One short line: why it is known, or why it is not.
    reason: str
    # Mask of the bits that are known.
    known: int = 0
    # Their values, 0 elsewhere.
    bits: int = 0
    # It is at least this, unsigned.
    low: int = 0
    # It is at most this, unsigned.
    high: int = MASK
    # For an unknown value: what it is in terms of a register of another moment.
    relative: Optional[Relative] = None


class Step(NamedTuple):
    """One fact of the chain that a value rests on."""

    # One line, such as ``"stored here, still in RAM at the halt"``.
    text: str
    # The instruction that it is about; None for an anchor.
    number: Optional[int]
    # Of the fact and of those that it rests on.
    tier: Tier


class Write(NamedTuple):
    """An executed store that wrote a piece of memory."""

    # The instruction's; for what an exception pushed, that of the instruction before it.
    number: int
    # Of the first byte.
    address: int
    # In bytes.
    size: int
    # What was written.
    value: Value
    # False when it is not known whether its condition held.
    certain: bool
    # How many stores to unknown addresses ran between it and the next newer write, or the end.
    unknown_after: int


class Finding(NamedTuple):
    """A message for the user: a failed assumption, or a contradiction."""

    # One line, such as ``"the call at 0x1dc did not preserve r4"``.
    text: str
    # The instruction that it is about.
    number: Optional[int]
    # Of what fell: ASSUMED when one assumption was dropped, EXACT when nothing is known of the whole segment.
    tier: Tier


class Written(NamedTuple):
    """The known writes to a piece of memory, and possible others."""

    # Newest first.
    writes: Tuple[Write, ...]
    # How many stores of unknown address ran before the oldest of them.
    unknown_before: int
    # The first instruction that was looked at.
    first: int = 1


class Touched(NamedTuple):
    """What accessed a piece of memory in a part of a history."""

    # The first instruction of the part.
    first: int
    # The last.
    last: int
    # Those that are known to have accessed it, in order; what an exception pushed has the number before it.
    numbers: Tuple[int, ...]
    # Those that may have, because their addresses are not known.
    unknown: Tuple[int, ...]
    # Whether it is known at all what accessed memory there.
    is_known: bool = True


class HaltedState(NamedTuple):
    """The core's states at a halt within a history."""

    # The last instruction before it.
    number: int
    # Where it halted, and where it ran on; None where unknown.
    halted: Optional[CoreState]
    resumed: Optional[CoreState]


class Fact(NamedTuple):
    """A register's value that is known from elsewhere."""

    # The value held before this instruction.
    number: int
    # Register, lower-case.
    name: str
    value: int
