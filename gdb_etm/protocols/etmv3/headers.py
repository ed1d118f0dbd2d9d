"""ETMv3's header table: the packet of each first byte.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), table 7.1; the lengths
follow the packet descriptions in chapter 7.
"""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.protocols.armv7.fields import address_end, async_length, is_informed, timestamp_end
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.packets import ATOMS, CYCLE_ATOMS, Kind, count_end, size_of
from gdb_etm.protocols.stream import MALFORMED, NEED_MORE, Header, Length, fixed


def _branch(original: bool) -> Length:
    def length(data: bytes, start: int, end: int) -> int:
        after = address_end(data, start, end, original)
        if after > 0 and is_informed(data, start, after, original):
            after = _information_end(data, after, end)
        return after - start if after > 0 else after

    return length


def _information_end(data: bytes, at: int, end: int) -> int:
    # Exception information bytes 0, 1 and 2; the last has bit 6 set.  Any but the first may be left out (7.3.5).
    if at >= end:
        return NEED_MORE
    if not data[at] & 0x80:
        return at + 1
    at += 1
    if at < end and not data[at] & 0x40:
        if not data[at] & 0x80:
            return at + 1
        at += 1
    if at >= end:
        return NEED_MORE
    return at + 1 if data[at] & 0xC0 == 0x40 else MALFORMED


def _isync(config: Etmv3Config, counted: bool) -> Length:
    # 7.10.5: cycle count, Context ID, information byte, address, second address.
    branch = _branch(not config.alternative_branches)

    def length(data: bytes, start: int, end: int) -> int:
        at = start + 1
        if counted:
            at = count_end(data, at, end)
            if not at:
                return NEED_MORE
        at += config.context_id_bytes
        if at >= end:
            return NEED_MORE
        after = at + (1 if config.data_only else 5)
        if data[at] & 0x80 and not config.data_only:
            second = branch(data, after, end)
            return after - start + second if second > 0 else second
        return after - start if after <= end else NEED_MORE

    return length


def _counted(data: bytes, start: int, end: int) -> int:
    after = count_end(data, start + 1, end)
    return after - start if after else NEED_MORE


def _timestamp(most: int) -> Length:
    def length(data: bytes, start: int, end: int) -> int:
        after = timestamp_end(data, start + 1, end, most)
        return after - start if after else NEED_MORE

    return length


def _data(addressed: bool, size: int) -> Length:
    # 7.4: an address of one to five bytes, then a value.
    def length(data: bytes, start: int, end: int) -> int:
        at = start + 1
        if addressed:
            at = count_end(data, at, end)
            if not at:
                return NEED_MORE
        return at + size - start if at + size <= end else NEED_MORE

    return length


def build_table(config: Etmv3Config) -> Tuple[Header, ...]:
    """Build the 256 headers for a configuration.

    Encodings that the unit's architecture version reserves are RESERVED, and so are the packets of what it does not
    trace: such a byte is not where a packet begins.
    """
    one = fixed(1)
    table = [Header(Kind.RESERVED, one)] * 256
    table[1::2] = [Header(Kind.BRANCH, _branch(not config.alternative_branches))] * 128
    table[0x00] = Header(Kind.ASYNC, async_length)
    table[0x04] = Header(Kind.CYCLE_COUNT, _counted)
    table[0x08] = Header(Kind.ISYNC, _isync(config, False))
    table[0x0C] = Header(Kind.TRIGGER, one)
    table[0x66] = Header(Kind.IGNORE, one)
    table[0x70] = Header(Kind.ISYNC_CYCLES, _isync(config, True))
    if config.context_id_bytes:
        table[0x6E] = Header(Kind.CONTEXT_ID, fixed(1 + config.context_id_bytes))
    if config.version >= 4:
        table[0x76] = Header(Kind.EXCEPTION_EXIT, one)
        table[0x7E] = Header(Kind.EXCEPTION_ENTRY, one)
    if config.version >= 5:
        table[0x3C] = Header(Kind.VMID, fixed(2))
        table[0x42] = table[0x46] = Header(Kind.TIMESTAMP, _timestamp(config.timestamp_bytes))
    if config.data_trace:
        _put_data(table, config)
    if not config.data_only:
        found = Header(Kind.P_HEADER, one)
        for header in CYCLE_ATOMS if config.cycle_accurate else ATOMS:
            table[header] = found
    return tuple(table)


def _put_data(table: List[Header], config: Etmv3Config) -> None:
    # The A bit counts only where addresses are traced, the size bits only where values are.
    for code in range(4):
        size = size_of(code) if config.data_values else 0
        table[0x02 | code << 2] = Header(Kind.NORMAL_DATA, _data(False, size))
        table[0x22 | code << 2] = Header(Kind.NORMAL_DATA, _data(config.data_addresses, size))
        for tag in range(1, 4):
            if config.data_values:
                table[tag << 5 | code << 2] = Header(Kind.OUT_OF_ORDER_DATA, fixed(1 + size))
    for tag in range(1, 4):
        table[0x50 | tag << 2] = Header(Kind.PLACEHOLDER, _data(False, 0))
        table[0x70 | tag << 2] = Header(Kind.PLACEHOLDER, _data(config.data_addresses, 0))
    table[0x6A] = Header(Kind.NOT_TRACED, _data(False, 0))
    table[0x7A] = Header(Kind.NOT_TRACED, _data(config.data_addresses, 0))
    table[0x62] = Header(Kind.DATA_SUPPRESSED, fixed(1))
    if config.data_values:
        table[0x50] = Header(Kind.STORE_FAILED, fixed(1))
