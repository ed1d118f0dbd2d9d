"""ETMv3 trace packets: their kinds and fields.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), chapter 7; sections are
cited as 7.x.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, Final, NamedTuple, Optional, Tuple

from gdb_etm.protocols.armv7.fields import (
    REASONS,
    Branch,
    Information,
    IsaState,
    Reason,
    Reference,
    address_end,
    is_informed,
    read_reference,
    state_of,
)
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.exceptions import LEGACY

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class Kind(Enum):
    """Packet kinds, by the specification's names (table 7.1)."""

    BRANCH = "Branch address"
    ASYNC = "A-sync"
    CYCLE_COUNT = "Cycle count"
    ISYNC = "I-sync"
    ISYNC_CYCLES = "I-sync with cycle count"
    TRIGGER = "Trigger"
    OUT_OF_ORDER_DATA = "Out-of-order data"
    STORE_FAILED = "Store failed"
    PLACEHOLDER = "Out-of-order placeholder"
    VMID = "VMID"
    NORMAL_DATA = "Normal data"
    TIMESTAMP = "Timestamp"
    DATA_SUPPRESSED = "Data suppressed"
    IGNORE = "Ignore"
    NOT_TRACED = "Value not traced"
    CONTEXT_ID = "Context ID"
    EXCEPTION_EXIT = "Exception exit"
    EXCEPTION_ENTRY = "Exception entry"
    P_HEADER = "P-header"
    RESERVED = "reserved"

    # Each member is one object; an enumeration's own hash is that of the name, worked out each time.
    __hash__ = object.__hash__


class Sync(NamedTuple):
    """An I-sync packet of any form (7.10.5)."""

    # The cycle count inside the packet, where it has one; 0 stands for an unknown count.
    cycles: Optional[int]
    context_id: Optional[int]
    reason: Reason
    non_secure: bool
    hyp: bool
    # The address; of a load or store that is in progress, where the packet has two. None in data-only mode.
    start: Optional[Reference]
    # The second address: of the instruction that is executing meanwhile.
    current: Optional[Branch]


class DataAddress(NamedTuple):
    """The address of a data packet."""

    address: int
    # The BE bit, which stays until an address of five bytes changes it.
    big_endian: bool


def size_of(code: int) -> int:
    """Give the bytes of a data value by its size bits."""
    return (0, 1, 2, 4)[code & 3]


def count_end(data: bytes, at: int, end: int) -> int:
    """Give the index after one to five bytes, 0 when incomplete."""
    for index in range(at, min(end, at + 5)):
        if not data[index] & 0x80 or index == at + 4:
            return index + 1
    return 0


def read_count(data: bytes, at: int) -> Tuple[int, int]:
    """Read a cycle count (7.3.4).

    :returns: The count, 0 when it is not known, and the index after it.
    """
    after = count_end(data, at, len(data))
    value = sum((data[index] & 0x7F) << 7 * (index - at) for index in range(at, after))
    return value & 0xFFFFFFFF, after


def read_data_address(data: bytes, at: int, old: DataAddress) -> Tuple[DataAddress, int]:
    """Read a data address (7.4.2).

    :param old: The last one that was output.
    :returns: The address and the index after it.
    """
    after = count_end(data, at, len(data))
    if after - at == 5:
        value = sum((data[at + index] & 0x7F) << 7 * index for index in range(4)) | (data[at + 4] & 0xF) << 28
        return DataAddress(value, bool(data[at + 4] & 0x10)), after
    value = sum((data[index] & 0x7F) << 7 * (index - at) for index in range(at, after))
    bits = 7 * (after - at)
    return DataAddress(old.address >> bits << bits | value, old.big_endian), after


def has_data_address(kind: Kind, header: int) -> bool:
    """Return whether a data packet has an address: its A bit."""
    return bool(header & (0x10 if kind is Kind.NOT_TRACED else 0x20))


def read_value(header: int, data: bytes, at: int) -> int:
    """Read a data value without its leading zeros (table 7.17)."""
    return int.from_bytes(data[at : at + size_of(header >> 2)], "little")


def read_branch(config: Etmv3Config, data: bytes, at: int, old: Reference) -> Branch:
    """Read a branch address packet, or an address of that form (7.3.5).

    :param old: The last address output.
    """
    original = not config.alternative_branches
    after = address_end(data, at, len(data), original)
    information = None
    following = after
    if is_informed(data, at, after, original):
        information, following = _read_information(data, after)
    alternative = information.alternative if information is not None else None
    reference = read_reference(data, at, after, old, original, alternative)
    last = data[after - 1]
    if after - at == 5 and last & 0x80:
        # The old encoding of an exception, in ARM state.
        information = Information(LEGACY[last >> 3 & 7], None, False, bool(last & 0x40), None, None)
    return _new(Branch, (reference, information, following))


def _read_information(data: bytes, at: int) -> Tuple[Information, int]:
    first = data[at]
    at += 1
    number = first >> 1 & 0xF
    hyp: Optional[bool] = None
    resume: Optional[int] = None
    more = bool(first & 0x80)
    if more and not data[at] & 0x40:
        number |= (data[at] & 0x1F) << 4
        hyp = bool(data[at] & 0x20)
        more = bool(data[at] & 0x80)
        at += 1
    if more:
        resume = data[at] & 0xF
        at += 1
    return Information(number, bool(first & 1), bool(first & 0x40), bool(first & 0x20), hyp, resume), at


def read_sync(config: Etmv3Config, data: bytes, at: int) -> Sync:
    """Read an I-sync packet; ``at`` is the index of its header."""
    cycles: Optional[int] = None
    header, at = data[at], at + 1
    if header == 0x70:
        cycles, at = read_count(data, at)
    context_id: Optional[int] = None
    if config.context_id_bytes:
        context_id = int.from_bytes(data[at : at + config.context_id_bytes], "little")
        at += config.context_id_bytes
    info = data[at]
    at += 1
    start: Optional[Reference] = None
    current: Optional[Branch] = None
    if not config.data_only:
        address = int.from_bytes(data[at : at + 4], "little")
        alternative = bool(info & 4) and config.version >= 3
        state = state_of(bool(info & 0x10), bool(address & 1), alternative)
        start = _new(Reference, (address if state is IsaState.JAZELLE else address & ~1, state))
        if info & 0x80:
            current = read_branch(config, data, at + 4, start)
    hyp = bool(info & 2) and config.version >= 5
    return _new(Sync, (cycles, context_id, REASONS[info >> 5 & 3], bool(info & 8), hyp, start, current))


def _plain_headers() -> Dict[int, str]:
    # Table 7.2.
    headers = {0x80 | count << 2: "E" * count for count in range(16)}
    headers.update({header | 0x40: atoms + "N" for header, atoms in list(headers.items())})
    headers.update({0x82 | code << 2: "EN"[code >> 1] + "EN"[code & 1] for code in range(4)})
    return headers


def _cycle_headers() -> Dict[int, str]:
    # Formats 0 to 4.
    headers = {0x80: "W"}
    for count in range(8):
        headers.setdefault(0x80 | count << 2, "WE" * count)
        headers[0xC0 | count << 2] = "WE" * count + "WN"
        headers[0xA0 | count << 2] = "W" * (count + 1)
        headers[0xE0 | count << 2] = "W" * (count + 1) + "E"
    headers.update({0x82 | code << 2: "W" + "EN"[code >> 1] + "EN"[code & 1] for code in range(4)})
    headers.update({0x92: "E", 0x96: "N"})
    return headers


# The atoms of each P-header, oldest first: E, an instruction that ran; N, one whose condition failed (7.3.1).
ATOMS: Final = _plain_headers()
# The same for cycle-accurate trace; W is a cycle.
CYCLE_ATOMS: Final = _cycle_headers()

# Stands in where no data address has been output yet.
NO_ADDRESS: Final = DataAddress(0, False)
