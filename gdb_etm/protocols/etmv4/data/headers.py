"""Header table of the data stream: each first byte's packet and length.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), table 6-9 and 6.5.
Where the printed tables contradict the packets' figures (Ignore, Discard, Suppression, P1 format 4, P2 format 6, and
the reserved range beside P1 format 2), the figures hold: only with them do the packets share out all 256 headers.
"""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.headers import after_continued, extension_length, timestamp_length
from gdb_etm.protocols.etmv4.packets import Kind
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE, Header, Length, fixed

_TRACE_INFO = 0x01


def _extension(data: bytes, start: int, end: int) -> int:
    if end - start < 2 or data[start + 1] != _TRACE_INFO:
        return extension_length(data, start, end)
    after = after_continued(data, start + 2, end)
    if after > 0 and any(byte & 0x7F for byte in data[start + 2 : after]):
        return MALFORMED  # reserved bits stand for sections of unknown length
    return after - start if after > 0 else after


def address_end(data: bytes, at: int, end: int) -> int:
    """Give the index after an address's first part, or NEED_MORE.

    The first part has 1 to 5 bytes; the packet is P1 format 1.

    Bit 7 of the fifth byte does not continue this part; it says that four more bytes end the packet (6.5.5).
    """
    for index in range(at, min(end, at + 5)):
        if not data[index] & 0x80 or index == at + 4:
            return index + 1
    return NEED_MORE


def _p1_1(sections: int) -> Length:
    def length(data: bytes, start: int, end: int) -> int:
        after = address_end(data, start + 1, end)
        if not after:
            return NEED_MORE
        wide = after - start == 6 and data[after - 1] & 0x80
        for _ in range(sections):
            after = after_continued(data, after, end)
            if after <= 0:
                return after
        size = after - start + (4 if wide else 0)
        return size if end - start >= size else NEED_MORE

    return length


def _continued_then(size: int) -> Length:
    # A field of continuation-coded bytes, and as many as given after it.
    def length(data: bytes, start: int, end: int) -> int:
        after = after_continued(data, start + 1, end)
        if after <= 0:
            return after
        return after + size - start if end >= after + size else NEED_MORE

    return length


# Number of value bytes for each SIZE of a P2 format 1 packet.
P2_1_BYTES = (0, 1, 2, 3, 4, 6, 8)
# Key offset and number of value bytes for each CODE of a P2 format 2 packet (table 6-25).
P2_2_CODES = ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (-1, 1), (-1, 2))
# For each CODE of a P1 format 1 packet (table 6-24): the address register that the address is compressed against, the
# offset of the left key, and which sections follow the address: bit 0 left key, bit 1 right key, bit 2 index.
P1_1_CODES = (
    (0, -2, 0),
    (0, -1, 0),
    (0, 1, 0),
    (0, 2, 0),
    (0, 3, 0),
    (1, 1, 0),
    (1, 2, 0),
    (1, 3, 0),
    (2, 1, 0),
    (2, 2, 0),
    (0, 0, 0b001),
    (1, 0, 0b001),
    (2, 0, 0b001),
    (0, 0, 0b011),
    (0, 1, 0b100),
    (0, 0, 0b111),
)


def build_data_table(config: Etmv4Config) -> Tuple[Header, ...]:
    """Build the 256 headers of the data stream."""
    one, two, five, nine = fixed(1), fixed(2), fixed(5), fixed(9)
    table = [Header(Kind.RESERVED, one)] * 256
    table[0x00] = Header(Kind.ASYNC, _extension)
    table[0x01] = Header(Kind.UNNUMBERED_SYNC, one)
    table[0x02] = Header(Kind.TIMESTAMP, timestamp_length)
    table[0x03] = Header(Kind.SUPPRESSION, one)
    table[0x04] = Header(Kind.EVENT, one)
    if config.version >= 3:
        table[0x05] = Header(Kind.IGNORE, one)
    for low in range(4):
        table[0x10 | low] = Header(Kind.P2_4, one)
        table[0x14 | low] = Header(Kind.P1_3, two)
    for header in range(0x18, 0x20):
        table[header] = Header(Kind.P2_5, nine if header & 4 else five)
    for header in range(0x40, 0x60):
        table[header] = Header(Kind.P2_3, nine if header & 0x10 else five)
    for size, count in enumerate(P2_1_BYTES):
        table[0x20 | size] = Header(Kind.P2_1, fixed(1 + count))
        table[0x28 | size] = Header(Kind.P2_1, _continued_then(count))
    for code, (_, count) in enumerate(P2_2_CODES):
        table[0x30 | code] = Header(Kind.P2_2, fixed(1 + count))
    for header in range(0x38, 0x3F):
        table[header] = Header(Kind.P2_6, nine)
    _put_addresses(table)
    return tuple(table)


def _put_addresses(table: List[Header]) -> None:
    one = fixed(1)
    for header in range(0x60, 0x70):
        table[header] = Header(Kind.P1_4, one)
    for code, (_, _, sections) in enumerate(P1_1_CODES):
        table[0x70 | code] = Header(Kind.P1_1, _p1_1(bin(sections).count("1")))
    for header in range(0x80, 0xC0):
        table[header] = Header(Kind.P1_2, one)
    table[0xF5] = Header(Kind.P1_7, fixed(2))
    table[0xF6] = table[0xF7] = Header(Kind.P1_6, _continued_then(0))
    for header in range(0xF8, 0x100):
        table[header] = Header(Kind.P1_5, one)


def data_packet_kind(header: Header, data: bytes, start: int) -> Kind:
    """Give the kind of a whole packet of the data stream."""
    kind: Kind = header.kind
    if kind is not Kind.ASYNC or not data[start + 1]:
        return kind
    second = data[start + 1]
    if second & 0xF1 == 0x11:
        return Kind.NUMBERED_SYNC
    return {_TRACE_INFO: Kind.TRACE_INFO, 0x03: Kind.DISCARD, 0x05: Kind.OVERFLOW}.get(second, Kind.RESERVED)
