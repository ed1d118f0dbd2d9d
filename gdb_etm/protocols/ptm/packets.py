"""PTM trace packets: their kinds and fields.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), chapter 4; sections are
cited as 4.x.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, Final, NamedTuple, Optional, Tuple

from gdb_etm.protocols.armv7.fields import (
    REASONS,
    Branch,
    Information,
    Reason,
    Reference,
    address_end,
    is_informed,
    read_reference,
    state_of,
)
from gdb_etm.protocols.ptm.config import PtmConfig

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__

# What is set in the first byte of every Atom packet (4.5.3).
_ATOM_HEADER: Final = 0x80
# In one packet, without cycle counts.
_MOST_ATOMS: Final = 5


class Kind(Enum):
    """Packet kinds, by the specification's names (table 4.1)."""

    BRANCH = "Branch address"
    ASYNC = "A-sync"
    ISYNC = "I-sync"
    ATOM = "Atom"
    WAYPOINT_UPDATE = "Waypoint update"
    TRIGGER = "Trigger"
    CONTEXT_ID = "Context ID"
    VMID = "VMID"
    TIMESTAMP = "Timestamp"
    EXCEPTION_RETURN = "Exception return"
    IGNORE = "Ignore"
    RESERVED = "reserved"

    # Each member is one object; an enumeration's own hash is that of the name, worked out each time.
    __hash__ = object.__hash__


class Sync(NamedTuple):
    """An I-sync packet (4.5.2)."""

    start: Reference
    reason: Reason
    non_secure: bool
    hyp: bool
    # None where the packet has no cycle count.
    cycles: Optional[int]
    context_id: Optional[int]


def count_end(data: bytes, at: int, end: int) -> int:
    """Give the index after a cycle count, 0 when incomplete."""
    if at < end and not data[at] & 0x40:
        return at + 1
    for index in range(at, min(end, at + 5)):
        if not data[index] & (0x40 if index == at else 0x80) or index == at + 4:
            return index + 1
    return 0


def read_count(data: bytes, at: int) -> int:
    """Read a cycle count: four bits, then seven a byte (4.5.3)."""
    value = data[at] >> 2 & 0xF
    if not data[at] & 0x40:
        return value
    for index in range(at + 1, count_end(data, at, len(data))):
        value |= (data[index] & 0x7F) << 7 * (index - at) - 3
    return value & 0xFFFFFFFF


def read_branch(data: bytes, at: int, old: Reference) -> Branch:
    """Read a branch address packet up to its cycle count (4.5.4).

    :param old: The last address output.
    """
    after = address_end(data, at, len(data), False)
    information = None
    following = after
    if is_informed(data, at, after, False):
        first = data[after]
        number, hyp = first >> 1 & 0xF, None
        following = after + 1
        if first & 0x80:
            number |= (data[following] & 0x1F) << 4
            hyp = bool(data[following] & 0x20)
            following += 1
        information = Information(number, bool(first & 1), bool(first & 0x40), False, hyp, None)
    alternative = information.alternative if information is not None else None
    return _new(Branch, (read_reference(data, at, after, old, False, alternative), information, following))


def read_update(data: bytes, at: int, old: Reference) -> Reference:
    """Read a waypoint update; ``at`` is its header's index (4.5.5).

    :param old: The last address output.
    """
    after = address_end(data, at + 1, len(data), False)
    alternative = bool(data[after] & 0x40) if after - at == 6 and data[after - 1] & 0x40 else None
    return read_reference(data, at + 1, after, old, False, alternative)


def read_sync(config: PtmConfig, data: bytes, at: int) -> Sync:
    """Read an I-sync packet; ``at`` is the index of its header."""
    address = int.from_bytes(data[at + 1 : at + 5], "little")
    info = data[at + 5]
    reason = REASONS[info >> 5 & 3]
    at += 6
    cycles: Optional[int] = None
    if config.cycle_accurate and reason is not Reason.PERIODIC:
        cycles = read_count(data, at)
        at = count_end(data, at, len(data))
    context_id: Optional[int] = None
    if config.context_id_bytes:
        context_id = int.from_bytes(data[at : at + config.context_id_bytes], "little")
    start = _new(Reference, (address & ~1, state_of(False, bool(address & 1), bool(info & 4))))
    hyp = bool(info & 2) and config.version >= 1
    return _new(Sync, (start, reason, bool(info & 8), hyp, cycles, context_id))


def read_timestamp_count(config: PtmConfig, data: bytes, after: int) -> Optional[int]:
    """Read a timestamp packet's cycle count; None for none.

    :param after: The index after the timestamp's bytes.
    """
    return read_count(data, after) if config.cycle_accurate else None


def _headers() -> Dict[int, Tuple[bool, ...]]:
    # 4.5.3: bit 7, a stop bit, then down to bit 1 a bit for each atom, the oldest first; a set bit is an N.
    headers: Dict[int, Tuple[bool, ...]] = {}
    for count in range(1, _MOST_ATOMS + 1):
        for bits in range(1 << count):
            header = _ATOM_HEADER | ((1 << count) | bits) << 1
            headers[header] = tuple(not bits >> count - 1 - index & 1 for index in range(count))
    return headers


# The atoms of each Atom packet's header, oldest first; True is E. In cycle-accurate trace there is one: bit 1.
#
# No stop bit, no atom: 0x80 and 0x82 are reserved.
ATOMS: Final = _headers()
