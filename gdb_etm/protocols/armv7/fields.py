"""Fields that ETMv3 and PTM packets share: lengths and values.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 7.3.5, 7.7.4 and 7.10;
CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.

Addresses are compressed against the last one that was output, whatever the program did since; so is the instruction
set state, which says how far an address is shifted.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple, Optional, Protocol

from gdb_etm.program.isa import Isa
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__
# The shortest A-sync packet; more zeros may come before it.
ASYNC: Final = b"\x00" * 5 + b"\x80"
_MOST_ZEROS: Final = 4096
_ADDRESS_BYTES: Final = 5


# Size of a Context ID in bytes, by ETMCR[15:14].
CONTEXT_ID_BYTES: Final = (0, 1, 2, 4)


class UnitConfig(Protocol):
    """The part of a configuration that ETMv3 and PTM share."""

    @property
    def context_id_bytes(self) -> int:
        """Size of a Context ID in bytes: 0, 1, 2 or 4."""

    @property
    def timestamp_bytes(self) -> int:
        """Longest timestamp in bytes: 7 for 48 bits, 9 for 64."""

    @property
    def gray_timestamps(self) -> bool:
        """Whether timestamps are Gray-coded (ETMCCER[28] is 0)."""


class IsaState(Enum):
    """The instruction set state of a processor."""

    ARM = "ARM"
    THUMB = "Thumb"
    THUMBEE = "ThumbEE"
    JAZELLE = "Jazelle"

    # Each member is one object; an enumeration's own hash is that of the name, worked out each time.
    __hash__ = object.__hash__


# Low bits of an instruction's address that are always zero.
SHIFT: Final = {IsaState.ARM: 2, IsaState.THUMB: 1, IsaState.THUMBEE: 1, IsaState.JAZELLE: 0}
# Instruction sets whose code can be followed.
ISA: Final = {IsaState.ARM: Isa.A32, IsaState.THUMB: Isa.T32}


class Reason(Enum):
    """Why an I-sync packet was output (IHI 0014Q, table 7.21)."""

    PERIODIC = "periodic"
    ENABLED = "tracing enabled"
    OVERFLOW = "after overflow"
    DEBUG = "after debug state"


# By the bits in the packet; to list an enumeration takes longer than to read the rest of it.
REASONS: Final = tuple(Reason)


class Reference(NamedTuple):
    """The last address that was output, which the next is compressed against."""

    address: int
    state: IsaState


# Stands in where no address has been output yet.
NO_REFERENCE: Final = Reference(0, IsaState.ARM)


class Information(NamedTuple):
    """The exception information bytes of a branch address packet."""

    # Exception type, 0 when there is none.
    number: int
    # None when the packet does not say.
    non_secure: Optional[bool]
    # The AltISA bit: Thumb state is ThumbEE.
    alternative: bool
    # Whether the instruction traced last did not complete (ETMv3).
    cancel: bool
    # None when the packet does not say.
    hyp: Optional[bool]
    # How far an interrupted instruction of an ARMv7-M processor got (ETMv3); None when the packet does not say.
    resume: Optional[int]


class Branch(NamedTuple):
    """A branch address packet."""

    # The address, and what the next is compressed against.
    reference: Reference
    information: Optional[Information]
    # The index after its bytes.
    after: int


def async_length(data: bytes, start: int, end: int) -> int:
    """Give the length of an A-sync packet."""
    limit = min(end, start + _MOST_ZEROS)
    at = start
    while at < limit and not data[at]:
        at += 1
    if at == limit:
        return NEED_MORE if at < start + _MOST_ZEROS else MALFORMED
    return at - start + 1 if at - start >= len(ASYNC) - 1 and data[at] == 0x80 else MALFORMED


def address_end(data: bytes, at: int, end: int, original: bool) -> int:
    """Give the index after a branch's address bytes, NEED_MORE or MALFORMED.

    :param original: Whether they are in ETMv3's original encoding, where a fifth byte may hold an exception of its own.
    """
    if at < end and not data[at] & 0x80:
        return at + 1
    for index in range(at, min(end, at + _ADDRESS_BYTES - 1)):
        if not data[index] & 0x80:
            return index + 1
    if end - at < _ADDRESS_BYTES:
        return NEED_MORE
    last = data[at + _ADDRESS_BYTES - 1]
    if last & 0x80:
        return at + _ADDRESS_BYTES if original else MALFORMED
    return at + _ADDRESS_BYTES if last & 0x38 else MALFORMED


def is_informed(data: bytes, at: int, after: int, original: bool) -> bool:
    """Return whether exception information follows the address bytes."""
    last = data[after - 1]
    if after - at == _ADDRESS_BYTES:
        return last & 0xC0 == 0x40
    return not original and after - at > 1 and bool(last & 0x40)


def read_reference(
    data: bytes, at: int, after: int, old: Reference, original: bool, alternative: Optional[bool]
) -> Reference:
    """Read the address bytes of a branch.

    :param after: The index after them.
    :param old: The last address output.
    :param alternative: The AltISA bit where the packet has one.
    """
    state = old.state
    count = after - at
    if count == _ADDRESS_BYTES:
        state = _marked(data[after - 1], old.state)
    if alternative is not None and state in (IsaState.THUMB, IsaState.THUMBEE):
        state = IsaState.THUMBEE if alternative else IsaState.THUMB
    value = data[at] >> 1 & 0x3F
    bits = 6
    for index in range(at + 1, min(after, at + 4)):
        width = 7 if original or data[index] & 0x80 else 6
        value |= (data[index] & (1 << width) - 1) << bits
        bits += width
    if count == _ADDRESS_BYTES:
        width = 5 - SHIFT[state]
        value |= (data[after - 1] & (1 << width) - 1) << bits
        bits += width
    bits += SHIFT[state]
    return _new(Reference, (old.address >> bits << bits | value << SHIFT[state], state))


def _marked(last: int, old: IsaState) -> IsaState:
    # The instruction set state in a fifth address byte; with bit 7 set it is ARM's.
    if last & 0x80 or last & 0x38 == 0x08:
        return IsaState.ARM
    if last & 0x20:
        return IsaState.JAZELLE
    return IsaState.THUMBEE if old is IsaState.THUMBEE else IsaState.THUMB


def state_of(jazelle: bool, thumb: bool, alternative: bool) -> IsaState:
    """Give an I-sync packet's instruction set state (IHI 0014Q, table 7.20)."""
    if jazelle:
        return IsaState.JAZELLE
    if not thumb:
        return IsaState.ARM
    return IsaState.THUMBEE if alternative else IsaState.THUMB


def timestamp_end(data: bytes, at: int, end: int, most: int) -> int:
    """Give the index after a timestamp's bytes, or NEED_MORE.

    :param most: The longest it can be in bytes: 7 for 48 bits, 9 for 64.
    """
    for index in range(at, min(end, at + most)):
        if not data[index] & 0x80 or index == at + most - 1:
            return index + 1
    return NEED_MORE


def from_gray(value: int) -> int:
    """Convert from Gray code, up to 64 bits (ETMCCER bit 28)."""
    for shift in (1, 2, 4, 8, 16, 32):
        value ^= value >> shift
    return value
