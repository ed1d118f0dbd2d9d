"""ETMv4's header table: the packet of each first byte.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), tables 6-8
and 6-9; the lengths follow the packet descriptions in 6.4.
"""

from __future__ import annotations

from typing import Final, List, Tuple

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.packets import Kind, read_continued
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE, Header, Length, fixed

_MAX_CONTINUED: Final = 10
_ASYNC_LENGTH: Final = 12


def after_continued(data: bytes, at: int, end: int) -> int:
    """Give the index after a field of continuation-coded bytes, NEED_MORE or MALFORMED."""
    for index in range(at, min(end, at + _MAX_CONTINUED)):
        if not data[index] & 0x80:
            return index + 1
    return NEED_MORE if end - at < _MAX_CONTINUED else MALFORMED


def _after_count(data: bytes, at: int, end: int) -> int:
    # Index after a cycle count, whose third byte is its last (6.4.6).
    for index in range(at, min(end, at + 3)):
        if not data[index] & 0x80 or index == at + 2:
            return index + 1
    return NEED_MORE


def _continued(data: bytes, start: int, end: int) -> int:
    after = after_continued(data, start + 1, end)
    return after - start if after > 0 else after


def _two_continued(data: bytes, start: int, end: int) -> int:
    after = after_continued(data, start + 1, end)
    if after > 0:
        after = after_continued(data, after, end)
    return after - start if after > 0 else after


def extension_length(data: bytes, start: int, end: int) -> int:
    """Give the length of an A-Sync or another extension packet (6.4.2)."""
    if end - start < 2:
        return NEED_MORE
    if data[start + 1]:
        return 2
    zeros = 2
    while zeros < _ASYNC_LENGTH - 1 and start + zeros < end:
        if data[start + zeros]:
            return MALFORMED
        zeros += 1
    if end - start < _ASYNC_LENGTH:
        return NEED_MORE
    return _ASYNC_LENGTH if data[start + _ASYNC_LENGTH - 1] == 0x80 else MALFORMED


def _trace_info(data: bytes, start: int, end: int) -> int:
    after = after_continued(data, start + 1, end)
    if after <= 0:
        return after
    sections, _ = read_continued(data, start + 1)
    if sections > 0xF:
        return MALFORMED  # reserved bits stand for sections of unknown length
    for bit in range(4):
        if sections >> bit & 1:
            after = after_continued(data, after, end)
            if after <= 0:
                return after
    return after - start


def timestamp_length(data: bytes, start: int, end: int) -> int:
    """Give the length of a Timestamp packet of either stream (6.4.3, 6.5.4)."""
    at = start + 1
    while True:
        if at >= end:
            return NEED_MORE
        at += 1
        if not data[at - 1] & 0x80 or at - start > 9:
            break
    if data[start] & 1:
        at = _after_count(data, at, end)
    return at - start if at > 0 else NEED_MORE


def _short_address(data: bytes, start: int, end: int) -> int:
    if end - start < 2:
        return NEED_MORE
    length = 3 if data[start + 1] & 0x80 else 2
    return length if end - start >= length else NEED_MORE


def _cycle_count_1(commit_mode: int) -> Length:
    def length(data: bytes, start: int, end: int) -> int:
        after = start + 1 if commit_mode else after_continued(data, start + 1, end)
        if after > 0 and not data[start] & 1:
            after = _after_count(data, after, end)
        return after - start if after > 0 else after

    return length


def _context(config: Etmv4Config, address_bytes: int) -> Length:
    # A Context packet without payload has bit 0 of its header clear; Address with Context always has one.
    def length(data: bytes, start: int, end: int) -> int:
        if not address_bytes and not data[start] & 1:
            return 1
        at = start + 1 + address_bytes
        if at >= end:
            return NEED_MORE
        size = 2 + address_bytes
        size += config.vmid_bytes if data[at] & 0x40 else 0
        size += config.context_id_bytes if data[at] & 0x80 else 0
        return size if end - start >= size else NEED_MORE

    return length


_ADDRESSES: Final = (0x90, 0x91, 0x92, 0x95, 0x96, 0x9A, 0x9B, 0x9D, 0x9E, 0x82, 0x83, 0x85, 0x86)


def _exception(table: List[Header]) -> Length:
    def length(data: bytes, start: int, end: int) -> int:
        if end - start < 2:
            return NEED_MORE
        at = start + (3 if data[start + 1] & 0x80 else 2)
        if at >= end:
            return NEED_MORE
        if data[at] not in _ADDRESSES or data[start + 1] & 0x41 not in (0x01, 0x40):
            return MALFORMED
        address = table[data[at]].length(data, at, end)
        return at - start + address if address > 0 else address

    return length


def _q(header: int) -> Length:
    # The address comes before the count (6.4.14).
    def length(data: bytes, start: int, end: int) -> int:
        at = start + 1
        if header & 0xF in (5, 6):
            short = _short_address(data, start, end)
            if short <= 0:
                return short
            at = start + short
        elif header & 0xF in (0xA, 0xB):
            at += 4
        after = after_continued(data, at, end)
        return after - start if after > 0 else after

    return length


def build_table(config: Etmv4Config) -> Tuple[Header, ...]:
    """Build the 256 headers for a configuration.

    Encodings that the unit's architecture version reserves are RESERVED, and so are the packets of what it cannot
    trace: such a byte is not where a packet begins.
    """
    reserved = Header(Kind.RESERVED, fixed(1))
    table = [reserved] * 256

    def put(kind: Kind, length: Length, *headers: int) -> None:
        found = Header(kind, length)
        for header in headers:
            table[header] = found

    one, two = fixed(1), fixed(2)
    put(Kind.ASYNC, extension_length, 0x00)
    put(Kind.TRACE_INFO, _trace_info, 0x01)
    put(Kind.TIMESTAMP, timestamp_length, 0x02, 0x03)
    put(Kind.TRACE_ON, one, 0x04)
    put(Kind.EXCEPTION, _exception(table), 0x06)
    put(Kind.EXCEPTION_RETURN, one, 0x07)
    _put_versioned(table, config)
    if config.can_count:
        put(Kind.CYCLE_COUNT_2, two, 0x0C, 0x0D)
        put(Kind.CYCLE_COUNT_1, _cycle_count_1(config.commit_mode), 0x0E, 0x0F)
        put(Kind.CYCLE_COUNT_3, one, *range(0x10, 0x20))
    put(Kind.EVENT, one, *range(0x71, 0x80))
    if config.can_trace_data:
        put(Kind.NUMBERED_SYNC, one, *range(0x20, 0x28))
        put(Kind.UNNUMBERED_SYNC, one, *range(0x28, 0x2D))
    _put_speculation(table)
    if config.can_trace_conditions:
        _put_conditional(table)
    _put_addresses(table, config)
    if config.can_skip:
        for header in (0xA0, 0xA1, 0xA2, 0xA5, 0xA6, 0xAA, 0xAB, 0xAC):
            put(Kind.Q, _q(header), header)
        put(Kind.Q, one, 0xAF)
    put(Kind.ATOM, one, *range(0xC0, 0x100))
    return tuple(table)


def _put_versioned(table: List[Header], config: Etmv4Config) -> None:
    one = fixed(1)
    if config.version >= 2:
        table[0x05] = Header(Kind.FUNCTION_RETURN, one)
    if config.version >= 3:
        table[0x70] = Header(Kind.IGNORE, one)
    if config.version >= 5:
        table[0x08] = Header(Kind.RESYNCHRONIZATION, one)
    if config.version >= 6:
        table[0x88] = Header(Kind.TIMESTAMP_MARKER, one)


def _put_speculation(table: List[Header]) -> None:
    one = fixed(1)
    table[0x2D] = Header(Kind.COMMIT, _continued)
    table[0x2E] = table[0x2F] = Header(Kind.CANCEL_1, _continued)
    for header in range(0x30, 0x34):
        table[header] = Header(Kind.MISPREDICT, one)
        table[header + 4] = Header(Kind.CANCEL_2, one)
    for header in range(0x38, 0x40):
        table[header] = Header(Kind.CANCEL_3, one)


def _put_conditional(table: List[Header]) -> None:
    one, two = fixed(1), fixed(2)
    for header in (0x40, 0x41, 0x42):
        table[header] = Header(Kind.CONDITIONAL_2, one)
    table[0x43] = Header(Kind.CONDITIONAL_FLUSH, one)
    for header in (0x44, 0x45, 0x46):
        table[header] = Header(Kind.RESULT_4, one)
    for header in (0x48, 0x49, 0x4A, 0x4C, 0x4D, 0x4E):
        table[header] = Header(Kind.RESULT_2, one)
    for header in range(0x50, 0x60):
        table[header] = Header(Kind.RESULT_3, two)
    for header in range(0x68, 0x6C):
        table[header] = Header(Kind.RESULT_1, _two_continued)
    table[0x6C] = Header(Kind.CONDITIONAL_1, _continued)
    table[0x6D] = Header(Kind.CONDITIONAL_3, two)
    table[0x6E] = table[0x6F] = Header(Kind.RESULT_1, _continued)


def _put_addresses(table: List[Header], config: Etmv4Config) -> None:
    table[0x80] = table[0x81] = Header(Kind.CONTEXT, _context(config, 0))
    table[0x82] = table[0x83] = Header(Kind.ADDRESS_CONTEXT, _context(config, 4))
    table[0x85] = table[0x86] = Header(Kind.ADDRESS_CONTEXT, _context(config, 8))
    for header in (0x90, 0x91, 0x92):
        table[header] = Header(Kind.EXACT_MATCH, fixed(1))
    table[0x95] = table[0x96] = Header(Kind.SHORT_ADDRESS, _short_address)
    table[0x9A] = table[0x9B] = Header(Kind.LONG_ADDRESS, fixed(5))
    table[0x9D] = table[0x9E] = Header(Kind.LONG_ADDRESS, fixed(9))


def packet_kind(header: Header, data: bytes, start: int, config: Etmv4Config) -> Kind:
    """Give the kind of a whole packet."""
    kind: Kind = header.kind
    if kind is not Kind.ASYNC or not data[start + 1]:
        return kind
    second = data[start + 1]
    if second == 0x03:
        return Kind.DISCARD
    if second == 0x05:
        return Kind.OVERFLOW
    if second == 0x07 and config.version >= 5:
        return Kind.BRANCH_FUTURE_FLUSH
    return Kind.RESERVED
