"""ETMv4 instruction trace packets: their kinds and fields.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 6,
"Descriptions of trace packets"; sections are cited as 6.4.x.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Dict, Final, List, NamedTuple, Tuple

from gdb_etm.program.isa import from_packed, to_packed
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.stream import NEED_MORE, Form

if TYPE_CHECKING:
    from mypy_extensions import i64

    # The address registers as numbers, see :func:`pack_address`.
    Registers = Tuple[i64, i64, i64]

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__

# Alignment synchronisation packet (6.4.2).
ASYNC: Final = b"\x00" * 11 + b"\x80"


class Kind(Enum):
    """Packet kinds of both streams, by the specification's names."""

    ASYNC = "A-Sync"
    DISCARD = "Discard"
    OVERFLOW = "Overflow"
    BRANCH_FUTURE_FLUSH = "Branch Future Flush"
    TRACE_INFO = "Trace Info"
    TIMESTAMP = "Timestamp"
    TIMESTAMP_MARKER = "Timestamp Marker"
    TRACE_ON = "Trace On"
    FUNCTION_RETURN = "Function Return"
    EXCEPTION = "Exception"
    EXCEPTION_RETURN = "Exception Return"
    RESYNCHRONIZATION = "Resynchronization"
    CYCLE_COUNT_1 = "Cycle Count format 1"
    CYCLE_COUNT_2 = "Cycle Count format 2"
    CYCLE_COUNT_3 = "Cycle Count format 3"
    NUMBERED_SYNC = "Numbered Data Sync Mark"
    UNNUMBERED_SYNC = "Unnumbered Data Sync Mark"
    COMMIT = "Commit"
    CANCEL_1 = "Cancel format 1"
    CANCEL_2 = "Cancel format 2"
    CANCEL_3 = "Cancel format 3"
    MISPREDICT = "Mispredict"
    CONDITIONAL_1 = "Conditional Instruction format 1"
    CONDITIONAL_2 = "Conditional Instruction format 2"
    CONDITIONAL_3 = "Conditional Instruction format 3"
    CONDITIONAL_FLUSH = "Conditional Flush"
    RESULT_1 = "Conditional Result format 1"
    RESULT_2 = "Conditional Result format 2"
    RESULT_3 = "Conditional Result format 3"
    RESULT_4 = "Conditional Result format 4"
    IGNORE = "Ignore"
    EVENT = "Event"
    CONTEXT = "Context"
    ADDRESS_CONTEXT = "Address with Context"
    EXACT_MATCH = "Exact Match Address"
    SHORT_ADDRESS = "Short Address"
    LONG_ADDRESS = "Long Address"
    Q = "Q"
    ATOM = "Atom"
    SUPPRESSION = "Suppression"
    P1_1 = "P1 format 1"
    P1_2 = "P1 format 2"
    P1_3 = "P1 format 3"
    P1_4 = "P1 format 4"
    P1_5 = "P1 format 5"
    P1_6 = "P1 format 6"
    P1_7 = "P1 format 7"
    P2_1 = "P2 format 1"
    P2_2 = "P2 format 2"
    P2_3 = "P2 format 3"
    P2_4 = "P2 format 4"
    P2_5 = "P2 format 5"
    P2_6 = "P2 format 6"
    RESERVED = "reserved"

    # Each member is one object; an enumeration's own hash is that of the name, worked out each time.
    __hash__ = object.__hash__


# Packets count from the Trace Info after an A-Sync on (2.5).
FORM: Final = Form(ASYNC, Kind.ASYNC, Kind.TRACE_INFO, Kind.RESERVED)


class Address(NamedTuple):
    """An entry of the three address registers (Table 6-4)."""

    # Bits 63:0; the low bits that an instruction address cannot have are 0.
    address: int
    # Instruction set field: False is IS0 (A32 or A64), True is IS1 (T32).
    is1: bool


# The address registers, most recent first.
Addresses = Tuple[Address, Address, Address]

# The address registers after a Trace Info packet.
NO_ADDRESSES: Final[Addresses] = (Address(0, False), Address(0, False), Address(0, False))


class ContextFields(NamedTuple):
    """The payload of a Context packet (6.4.12)."""

    exception_level: int
    sixty_four_bit: bool
    non_secure: bool
    # -1 when absent.
    vmid: int
    # -1 when absent.
    context_id: int


# What Context packets build on before one had a VMID or a Context ID.
NO_CONTEXT: Final = ContextFields(0, False, False, -1, -1)


def read_continued(data: bytes, at: int) -> Tuple[int, int]:
    """Read a number of 7 bits a byte, least significant first.

    :returns: The value and the index after it.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7


def read_address(header: int, data: bytes, at: int, addresses: Addresses) -> Tuple[Address, int]:
    """Read the payload of an address packet against the address registers (6.4.12).

    :param header: Header of the address packet; a Q packet's counts as the address form it implies.
    :param at: Index of the byte after the header; the packet is whole.
    :returns: The address and the index after its bytes; the caller pushes it with :func:`push_address`.
    """
    if 0x90 <= header <= 0x92:
        return addresses[header & 3], at
    packed, after = read_packed_address(header, data, at, len(data), pack_address(addresses[0]))
    return unpack_address(packed), after


def pack_address(address: Address) -> i64:
    """Pack an address register into one number, see :func:`gdb_etm.program.isa.to_packed`."""
    return to_packed(address.address, address.is1)


def unpack_address(packed: int) -> Address:
    """Make an address register of its number."""
    return _new(Address, (from_packed(packed), bool(packed & 1)))


def read_packed_address(header: i64, data: bytes, at: i64, limit: i64, base: i64) -> Tuple[i64, i64]:
    """Read a short or long address as :func:`pack_address` packs it (6.4.12).

    :param header: Header of the address packet, not of an Exact Match.
    :param at: Index of the byte after the header.
    :param limit: Index at which the bytes end.
    :param base: The most recent address register.
    :returns: The address and the index after it, or NEED_MORE for that when it is cut.
    """
    # By the low bits of the header: 3 and 6 are IS1, 5 and 6 have 64 bits where they are long.
    form = header & 7
    is1 = 1 if form == 3 or form == 6 else 0
    if header == 0x95 or header == 0x96:
        if at >= limit:
            return 0, NEED_MORE
        low, bits = (data[at] & 0x7F) << 2 - is1, 9 - is1
        if data[at] >= 0x80:
            at += 1
            if at >= limit:
                return 0, NEED_MORE
            low, bits = low | data[at] << bits, bits + 8
        return base >> bits << bits | low | is1, at + 1
    after = at + (8 if form >= 5 else 4)
    if after > limit:
        return 0, NEED_MORE
    low = (data[at] & 0x7F) << 2 - is1 | data[at + 2] << 16 | data[at + 3] << 24
    low |= data[at + 1] << 8 if is1 else (data[at + 1] & 0x7F) << 9
    upper = int.from_bytes(data[at + 4 : at + 8], "little", signed=True) if form >= 5 else base >> 32
    return upper << 32 | low | is1, after


def next_address(data: bytes, at: i64, limit: i64, registers: Registers) -> Tuple[i64, i64]:
    """Read an address packet that is nothing else, as :func:`pack_address` packs it.

    :param at: Index of the header.
    :param limit: Index at which the bytes end.
    :param registers: The address registers.
    :returns: The address and the index after it, or NEED_MORE for that when it is cut or another packet.
    """
    header = data[at]
    if header == 0x95 and at + 1 < limit and data[at + 1] < 0x80:
        # The most frequent form of all that read_packed_address reads.
        return registers[0] >> 9 << 9 | data[at + 1] << 2, at + 2
    if header == 0x90:
        return registers[0], at + 1
    if header == 0x91:
        return registers[1], at + 1
    if header == 0x92:
        return registers[2], at + 1
    if _IS_ADDRESS[header]:
        return read_packed_address(header, data, at + 1, limit, registers[0])
    return 0, NEED_MORE


# By header: whether it is a short or a long address without a context.
_IS_ADDRESS: Final = bytes([header in (0x95, 0x96, 0x9A, 0x9B, 0x9D, 0x9E) for header in range(256)])


def push_address(addresses: Addresses, address: Address) -> Addresses:
    """Push an address to the address registers."""
    return address, addresses[0], addresses[1]


def read_context(config: Etmv4Config, data: bytes, at: int) -> Tuple[ContextFields, int]:
    """Read the information byte, VMID and Context ID of a context (6.4.12)."""
    info = data[at]
    at += 1
    vmid = context_id = -1
    if info & 0x40:
        vmid = int.from_bytes(data[at : at + config.vmid_bytes], "little")
        at += config.vmid_bytes
    if info & 0x80:
        context_id = int.from_bytes(data[at : at + config.context_id_bytes], "little")
        at += config.context_id_bytes
    return ContextFields(info & 3, bool(info & 0x10), bool(info & 0x20), vmid, context_id), at


def read_timestamp(data: bytes, at: int, old: int) -> Tuple[int, int, int]:
    """Read a Timestamp packet (6.4.3).

    :param at: Index of the header.
    :param old: The previous timestamp, whose upper bits stay where the packet has none.
    :returns: Timestamp, cycle count (-1 when absent) and the index after the packet.
    """
    has_count = data[at] & 1
    at += 1
    value = bits = 0
    while bits < 56:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << bits
        bits += 7
        if not byte & 0x80:
            break
    else:
        value |= data[at] << 56
        at += 1
        bits = 64
    value |= old >> bits << bits
    if not has_count:
        return value, -1, at
    cycles, at = read_count(data, at)
    return value, cycles, at


def read_count(data: bytes, at: int) -> Tuple[int, int]:
    """Read a cycle count of up to 3 bytes (6.4.6)."""
    value = data[at] & 0x7F
    if data[at] & 0x80:
        at += 1
        value |= (data[at] & 0x7F) << 7
        if data[at] & 0x80:
            at += 1
            value |= (data[at] & 0x3F) << 14
    return value, at + 1


def read_cycle_count(data: bytes, at: int, commit_mode: int) -> int:
    """Read a Cycle Count packet of any format (6.4.6).

    :param at: Index of the header.
    :param commit_mode: TRCIDR0.COMMOPT; with 0, format 1 has a commit field before its count.
    :returns: The count above the threshold, -1 when the unit does not know it.
    """
    header = data[at]
    if header >= 0x10:
        return header & 3
    if header <= 0x0D:
        return data[at + 1] & 0xF
    if header & 1:
        return -1
    return read_count(data, at + 1 if commit_mode else read_continued(data, at + 1)[1])[0]


class ExceptionFields(NamedTuple):
    """The payload of an Exception packet before its address (6.4.5)."""

    # TYPE, 0 to 0x3FF.
    number: int
    # E1:E0: 1, the address is only the preferred return address; 2, it is an Address element as well; others are
    # reserved.
    elements: int
    fault_pending: bool


def read_exception(data: bytes, at: int) -> Tuple[ExceptionFields, int]:
    """Read an Exception packet's information bytes; ``at`` is the header's index."""
    info = data[at + 1]
    number = info >> 1 & 0x1F
    elements = info >> 5 & 2 | info & 1
    if not info & 0x80:
        return ExceptionFields(number, elements, False), at + 2
    more = data[at + 2]
    return ExceptionFields(number | (more & 0x1F) << 5, elements, bool(more & 0x20)), at + 3


class TraceInfo(NamedTuple):
    """The payload of a Trace Info packet (6.4.2)."""

    # INFO field: bit 0 cycle counting, bits 3:1 conditional tracing, bit 4 loads and bit 5 stores as P0 elements.
    info: int
    p0_key: int
    # How many P0 elements before this packet are uncommitted.
    speculation: int
    # In cycles; 0 when cycle counting is off.
    cycle_threshold: int


def read_trace_info(data: bytes, at: int) -> Tuple[TraceInfo, int]:
    """Read a Trace Info packet; ``at`` is the index of the header."""
    sections, at = read_continued(data, at + 1)
    values = [0, 0, 0, 0]
    for bit in range(4):
        if sections >> bit & 1:
            values[bit], at = read_continued(data, at)
    threshold = values[3] & 0xFFF if values[0] & 1 else 0
    return TraceInfo(values[0], values[1], values[2], threshold), at


def _atoms() -> List[Tuple[bool, ...]]:
    # 6.4.13, formats 1 to 6, oldest atom first.
    table: Dict[int, Tuple[bool, ...]] = {0xF6 | a: (bool(a),) for a in range(2)}
    table.update({0xD8 | a: (bool(a & 1), bool(a & 2)) for a in range(4)})
    table.update({0xF8 | a: (bool(a & 1), bool(a & 2), bool(a & 4)) for a in range(8)})
    patterns = {0xDC: "NEEE", 0xDD: "NNNN", 0xDE: "NENE", 0xDF: "ENEN"}
    patterns.update({0xF5: "NEEEE", 0xD5: "NNNNN", 0xD6: "NENEN", 0xD7: "ENENE"})
    for header, pattern in patterns.items():
        table[header] = tuple(letter == "E" for letter in pattern)
    for count in range(21):
        table[0xC0 | count] = (True,) * (count + 4)
        table[0xE0 | count] = (True,) * (count + 3) + (False,)
    return [table.get(header, ()) for header in range(256)]


# By header: the atoms of an Atom packet, oldest first; True is E (taken).
ATOMS: Final = _atoms()
