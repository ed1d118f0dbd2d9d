"""Elements of a trace stream, alike for every protocol.

The words are the trace architecture's (Arm IHI 0064, chapter 5): element, exception, context,
trace on.  ``offset`` is always the byte offset in the capture's buffer of the packet that the
element comes from.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple, Optional, Union

from gdb_etm.program.isa import Isa
from gdb_etm.program.transfers import TransferRole

# Name of the exception by which a trace unit reports that the core halted (ETMv4 IHI 0064, 6.4.14).
DEBUG_HALT: Final = "Debug halt"


class Range(NamedTuple):
    """Instructions that ran one after the other, in address order."""

    # Address of the first instruction.
    start: int
    # Address just past the last instruction.
    end: int
    # Number of instructions, at least 1.
    instructions: int
    isa: Isa
    # False when the last instruction is a branch that was not taken, or one whose condition failed and the trace says
    # so; True otherwise.
    taken: bool


class GapReason(Enum):
    """The reason why execution is unknown between two instructions."""

    NOT_SYNCHRONISED = "waiting for synchronisation"
    TRACE_ON = "tracing was off"
    OVERWRITTEN = "the buffer wrapped: what ran before was overwritten"
    OVERFLOW = "the trace unit's FIFO overflowed"
    DISCARD = "the trace unit discarded what it had not output yet"
    BAD_PACKET = "bad packet"
    NOT_DECODED = "packet not decoded"
    NO_CODE = "no code"
    BAD_IMAGE = "trace and program disagree"
    NO_ADDRESS = "address unknown"
    CUT = "the buffer ends inside a packet"
    UNCOMMITTED = "not committed when the trace ended"
    COUNTED = "instructions whose path was not traced"
    SUPPRESSED = "transfers left out because the FIFO was nearly full"
    UNPLACED = "transfers whose instruction is not known"
    ABSENT = "not in the capture"
    NOT_FOLLOWED = "code that cannot be followed"


# Detail of a TRACE_ON gap: that was why nothing was traced (IHI 0014Q, 4.7.2, I-sync reason codes).
DEBUG_STATE: Final = "the core was in debug state"


class Gap(NamedTuple):
    """A place where the execution is unknown; decoding continues after it."""

    offset: int
    reason: GapReason
    # More about the reason for a person, such as the bytes of the packet; may be empty.
    detail: str
    # For NO_CODE: the address at which program memory is missing; for BAD_IMAGE, where there is one: of the
    # instruction that is not what the trace says.
    address: Optional[int] = None


class DataGap(NamedTuple):
    """Loads and stores are missing here; the instructions are complete."""

    offset: int
    reason: GapReason
    # More about the reason for a person; may be empty.
    detail: str


class Exception_(NamedTuple):
    """An exception was taken after the instruction before it."""

    offset: int
    # The trace unit's exception type (for ETMv4 on M-profile *not* the IPSR number).
    number: int
    # As the architecture calls it: ``"SysTick"``, ``"IRQ3"``, ``"Debug halt"``.
    name: str
    # Architectural exception number (IPSR) on M-profile; None where there is none, as for debug halt.
    vector: Optional[int]
    # Preferred return address; None when unknown.
    return_address: Optional[int]


class ExceptionReturn(NamedTuple):
    """The instruction before it returned from an exception."""

    offset: int


class Context(NamedTuple):
    """The processor's context from here on."""

    offset: int
    # 0 to 3; None when the trace does not have it; that of Armv7 cores has it only in Hyp mode.
    exception_level: Optional[int]
    non_secure: bool
    sixty_four_bit: bool
    context_id: Optional[int]
    vmid: Optional[int]


class Timestamp(NamedTuple):
    """Global time, in ticks of the system's timestamp generator."""

    offset: int
    value: int
    # Processor cycles since the last cycle count, when traced.
    cycles: Optional[int]


class Cycles(NamedTuple):
    """Processor cycles since the previous cycle count, if known."""

    offset: int
    cycles: Optional[int]


class TraceEvent(NamedTuple):
    """A resource event, 0 to 3, that the unit reports when programmed."""

    offset: int
    number: int


class Transfer(NamedTuple):
    """A traced load or store."""

    # Of the packet with the address, or with the value where there is no such packet.
    offset: int
    # False for a load; None when the instruction does not decide it.
    store: Optional[bool]
    # In bytes, 1 to 16; None when the instruction does not decide it.
    size: Optional[int]
    # None when it was not traced and does not follow from the other transfers of the instruction.
    address: Optional[int]
    # As in the register, not in memory order (IHI 0064, F.2.3); None when not traced.
    value: Optional[int]
    # Whether the trace leaves no doubt about the instruction it belongs to.
    certain: bool
    # What the value is: data, or something about the instruction's store.
    role: TransferRole = TransferRole.DATA


# Everything in an execution history that is not an instruction.
Event = Union[Gap, DataGap, Exception_, ExceptionReturn, Context, Timestamp, Cycles, TraceEvent]


# A reset's number as an exception of M-profile, and its names on A-profile.
_RESET: Final = 1
_RESETS: Final = ("Reset", "PE reset")


def is_reset(event: Exception_) -> bool:
    """Check whether an exception is a reset."""
    return event.vector == _RESET if event.vector is not None else event.name in _RESETS


def breaks(event: Event) -> bool:
    """Check whether nothing before an event helps after it."""
    if isinstance(event, Exception_):
        return event.name == DEBUG_HALT or is_reset(event)
    return isinstance(event, Gap)
