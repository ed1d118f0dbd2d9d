"""What looks wrong on the way of a value."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional

from gdb_etm.recovery.values import Tier


class SuspicionKind(Enum):
    """What is wrong with a step."""

    # A store that ran over a register that a function has saved, such as its return address.
    SAVED_REGISTER = "a saved register was overwritten"
    # A store outside of the object that its pointer was made from.
    OVERRUN = "a store outside of its object"
    # A load outside of the object that its pointer was made from.
    OVERREAD = "a load outside of its object"
    # A value that nobody has set.
    UNSET = "a value that nobody set"
    # A pointer to a local variable of a function that has returned.
    STALE_FRAME = "a pointer to a frame that is gone"
    # A pointer to memory that was freed.
    FREED = "memory that was freed"
    # A block that an allocator did not give.
    NO_MEMORY = "memory that there was not"
    # A read-modify-write sequence in which another context has stored.
    RACE = "a race"
    # A stack that has grown out of its memory.
    STACK_OVERFLOW = "a stack overflow"
    # An address that is not a multiple of what its access needs.
    UNALIGNED = "an address that is not aligned"
    # A device was told to write where it should not.
    TRANSFER = "a device writes to the wrong place"
    # A number that went below zero, and is an index then.
    WRAPPED = "an index below zero"
    # Floating point while the unit is off.
    FPU_OFF = "the floating-point unit is off"
    # A handler's address in the vector table that is none.
    VECTOR = "a bad vector"
    # An exception of C++ ends the program.
    UNCAUGHT = "an exception that nothing catches"
    # A virtual function of an object that is being destroyed.
    PURE_VIRTUAL = "a pure virtual function"
    # A function that nothing has called, such as a thread's, and that returns.
    RETURNED = "a return from what nothing called"
    # Code that a compiler puts where the language says nothing of what happens.
    TRAP = "a trap of the compiler"
    # Nothing is wrong in itself: the value was first there.
    ORIGIN = "where the value came from"


class Suspicion(NamedTuple):
    """A step of a slice that looks wrong."""

    kind: SuspicionKind
    # The instruction that did it.
    number: int
    # What it did, in words.
    text: str
    # What that rests on.
    tier: Tier = Tier.EXACT
    # Another instruction that has part in it.
    other: Optional[int] = None
    # Of an instruction that faulted, and so is no part of the history: its address; ``number`` is the one before.
    address: Optional[int] = None
