"""PTM's header table: the packet of each first byte.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), table 4.1; the lengths
follow the packet descriptions in 4.5.
"""

from __future__ import annotations

from typing import Tuple

from gdb_etm.protocols.armv7.fields import address_end, async_length, is_informed, timestamp_end
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.packets import ATOMS, Kind, count_end
from gdb_etm.protocols.stream import NEED_MORE, Header, Length, fixed


def _branch(counted: bool) -> Length:
    # Address bytes, exception information bytes, cycle count (4.5.4).
    def length(data: bytes, start: int, end: int) -> int:
        after = address_end(data, start, end, False)
        if after <= 0:
            return after
        if is_informed(data, start, after, False):
            if after >= end:
                return NEED_MORE
            after += 2 if data[after] & 0x80 else 1
            if after > end:
                return NEED_MORE
        if counted:
            after = count_end(data, after, end)
        return after - start if after else NEED_MORE

    return length


def _update(data: bytes, start: int, end: int) -> int:
    # After a fifth byte with bit 6 set there is one more (4.5.5).
    after = address_end(data, start + 1, end, False)
    if after <= 0:
        return after
    if after - start == 6 and data[after - 1] & 0x40:
        after += 1
    return after - start if after <= end else NEED_MORE


def _isync(config: PtmConfig) -> Length:
    # The address first, then the information byte; a cycle count unless it is periodic (4.5.2).
    def length(data: bytes, start: int, end: int) -> int:
        after = start + 6
        if after > end:
            return NEED_MORE
        if config.cycle_accurate and data[after - 1] & 0x60:
            after = count_end(data, after, end)
            if not after:
                return NEED_MORE
        after += config.context_id_bytes
        return after - start if after <= end else NEED_MORE

    return length


def timestamp_length(config: PtmConfig) -> Length:
    """Make the length function of timestamp packets (4.5.10)."""

    def length(data: bytes, start: int, end: int) -> int:
        after = timestamp_end(data, start + 1, end, config.timestamp_bytes)
        if after and config.cycle_accurate:
            after = count_end(data, after, end)
        return after - start if after else NEED_MORE

    return length


def _counted(data: bytes, start: int, end: int) -> int:
    after = count_end(data, start, end)
    return after - start if after else NEED_MORE


def build_table(config: PtmConfig) -> Tuple[Header, ...]:
    """Build the 256 headers for a configuration.

    Encodings that the unit's architecture version reserves are RESERVED, and so are the packets of what it does not
    trace: such a byte is not where a packet begins.
    """
    one = fixed(1)
    table = [Header(Kind.RESERVED, one)] * 256
    table[1::2] = [Header(Kind.BRANCH, _branch(config.cycle_accurate))] * 128
    atom = Header(Kind.ATOM, _counted if config.cycle_accurate else one)
    for header in range(0x80, 0x100, 2) if config.cycle_accurate else ATOMS:
        table[header] = atom
    table[0x00] = Header(Kind.ASYNC, async_length)
    table[0x08] = Header(Kind.ISYNC, _isync(config))
    table[0x0C] = Header(Kind.TRIGGER, one)
    table[0x42] = table[0x46] = Header(Kind.TIMESTAMP, timestamp_length(config))
    table[0x66] = Header(Kind.IGNORE, one)
    table[0x72] = Header(Kind.WAYPOINT_UPDATE, _update)
    table[0x76] = Header(Kind.EXCEPTION_RETURN, one)
    if config.version >= 1:
        table[0x3C] = Header(Kind.VMID, fixed(2))
    if config.context_id_bytes:
        table[0x6E] = Header(Kind.CONTEXT_ID, fixed(1 + config.context_id_bytes))
    return tuple(table)
