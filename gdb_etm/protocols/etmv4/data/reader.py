"""Data stream packets to elements: the state that packets are compressed against.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.5, and table 6-7 for
the state.  The printed pseudocode has lost its indentation in places (P1 formats 1 and 5, P2 formats 1, 5 and 6); the
prose beside it is clear.
"""

from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

from gdb_etm.protocols.elements import Gap, GapReason, TraceEvent
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.elements import P1, P2, DataElement, Suppression
from gdb_etm.protocols.etmv4.data.headers import P1_1_CODES, P2_1_BYTES, P2_2_CODES, address_end
from gdb_etm.protocols.etmv4.log import Marker, Time
from gdb_etm.protocols.etmv4.packets import Kind, read_continued, read_timestamp

Elements = Tuple[DataElement, ...]
_Reader = Callable[[bytes, int, int], Elements]

_ADDRESS_BITS = (7, 14, 21, 28, 32)


class DataReader:
    """Reads the packets of one data stream, in order.

    :param config: The unit's configuration.
    """

    def __init__(self, config: Etmv4Config) -> None:
        self._p0_keys = config.p0_keys
        self._p1_keys = config.p1_keys
        # Without data address tracing the addresses in the packets mean nothing, but their compression goes on (6.5.5).
        self._addressed = config.data_addresses
        self._reset()
        self._by_kind: Dict[Kind, _Reader] = {
            Kind.TRACE_INFO: self._trace_info,
            Kind.TIMESTAMP: self._timestamp,
            Kind.DISCARD: lambda data, at, offset: (Gap(offset, GapReason.DISCARD, ""),),
            Kind.OVERFLOW: lambda data, at, offset: (Gap(offset, GapReason.OVERFLOW, ""),),
            Kind.SUPPRESSION: lambda data, at, offset: (Suppression(offset),),
            Kind.NUMBERED_SYNC: lambda data, at, offset: (Marker(data[at + 1] >> 1 & 7),),
            Kind.UNNUMBERED_SYNC: lambda data, at, offset: (Marker(None),),
            Kind.EVENT: lambda data, at, offset: (TraceEvent(offset, 0),),
            Kind.P1_1: self._p1_1,
            Kind.P1_2: self._p1_2,
            Kind.P1_3: self._p1_3,
            Kind.P1_4: self._p1_4,
            Kind.P1_5: self._p1_5,
            Kind.P1_6: self._p1_6,
            Kind.P1_7: self._p1_7,
            Kind.P2_1: self._p2_1,
            Kind.P2_2: self._p2_2,
            Kind.P2_3: self._p2_3,
            Kind.P2_4: self._p2_4,
            Kind.P2_5: self._p2_5,
            Kind.P2_6: self._p2_6,
        }

    def read(self, kind: Kind, data: bytes, at: int, offset: int) -> Elements:
        """Read one whole packet.

        :param at: Index of its header.
        :param offset: Of the packet in the capture's buffer.
        :returns: Its elements.  That of a P1 format 7 packet is an earlier one with its address put right, and takes
            the place of that with the same offset.
        """
        reader = self._by_kind.get(kind)
        return reader(data, at, offset) if reader is not None else ()

    def _reset(self) -> None:
        self._time = 0
        self._addresses = (0, 0, 0)
        self._big_endian = False
        self._left = self._right = self._index = self._value_key = 0
        self._last: Optional[P1] = None

    def _trace_info(self, data: bytes, at: int, offset: int) -> Elements:
        self._reset()
        return ()

    def _timestamp(self, data: bytes, at: int, offset: int) -> Elements:
        self._time = read_timestamp(data, at, self._time)[0]
        return (Time(self._time),)

    # Keys and addresses (6.5.5, "Handling P1 packet types").

    def _add_left(self, change: int) -> None:
        self._left = (self._left + change) % self._p0_keys

    def _next_right(self) -> int:
        self._right = (self._right + 1) % self._p1_keys
        return self._right

    def _keep_right(self, key: int) -> None:
        # A key that was given: after a special one the count goes on as if there had been none.
        if key < self._p1_keys:
            self._right = key

    def _add_value_key(self, change: int) -> int:
        self._value_key = (self._value_key + change) % self._p1_keys
        return self._value_key

    def _push(self, address: int, register: int) -> None:
        # Against register 0 a nearby address replaces the last one: only one in other 64 bytes pushes the queue.
        first, second, third = self._addresses
        if register == 1:
            self._addresses = (address, first, third)
        elif register == 2 or address >> 6 != first >> 6:
            self._addresses = (address, first, second)
        else:
            self._addresses = (address, second, third)

    def _addressed_p1(self, offset: int, right: int) -> Elements:
        address, big = (self._addresses[0], self._big_endian) if self._addressed else (None, None)
        self._last = P1(offset, self._left, right, self._index, address, big)
        return (self._last,)

    # P1 packets (6.5.5).

    def _p1_1(self, data: bytes, at: int, offset: int) -> Elements:
        register, change, sections = P1_1_CODES[data[at] & 0xF]
        after = address_end(data, at + 1, len(data))
        raw = data[at + 1 : after]
        value = 0
        for index, byte in enumerate(raw):
            value |= (byte & (0xF if index == 4 else 0x7F)) << 7 * index
        bits = _ADDRESS_BITS[len(raw) - 1]
        wide = len(raw) == 5 and raw[4] & 0x80
        right, after = self._p1_1_keys(data, after, change, sections)
        if wide:
            value |= int.from_bytes(data[after : after + 4], "little") << 32
            bits = 64
        self._push(self._addresses[register] >> bits << bits | value, register)
        return self._addressed_p1(offset, right)

    def _p1_1_keys(self, data: bytes, at: int, change: int, sections: int) -> Tuple[int, int]:
        # Reads what follows the first part of the address; gives the right key and the index after it all.
        self._add_left(change)
        self._index = 0
        right = self._next_right()
        if sections & 1:
            self._left, at = read_continued(data, at)
        if sections & 2:
            right, at = read_continued(data, at)
            self._keep_right(right)
        if sections & 4:
            index, at = read_continued(data, at)
            # Bit 6 of the first byte is the endianness, bit 5 should be zero.
            self._big_endian = bool(index & 0x40)
            self._index = index >> 7 << 5 | index & 0x1F
        return right, at

    def _p1_compressed(self, header: int, low: int, bits: int, offset: int) -> Elements:
        form = header & 3
        register = form % 3
        self._push(self._addresses[register] >> bits << bits | low, register)
        self._index = 0
        self._add_left(2 if form == 3 else 1)
        return self._addressed_p1(offset, self._next_right())

    def _p1_2(self, data: bytes, at: int, offset: int) -> Elements:
        return self._p1_compressed(data[at], data[at] & 0x3C, 6, offset)

    def _p1_3(self, data: bytes, at: int, offset: int) -> Elements:
        return self._p1_compressed(data[at], data[at + 1] << 2, 10, offset)

    def _p1_4(self, data: bytes, at: int, offset: int) -> Elements:
        return self._p1_compressed(data[at], data[at] & 0xC | 2, 4, offset)

    def _p1_5(self, data: bytes, at: int, offset: int) -> Elements:
        return self._plain(1 + (data[at] & 3), offset, not data[at] & 4)

    def _plain(self, count: int, offset: int, same_parent: bool = True) -> Tuple[P1, ...]:
        # Transfers without addresses: the next ones of the same instruction, or each the first of the next one.
        found = []
        for _ in range(count):
            self._index = self._index + 1 if same_parent else 0
            self._add_left(0 if same_parent else 1)
            found.append(P1(offset, self._left, self._next_right(), self._index, None, None))
        return tuple(found)

    def _p1_6(self, data: bytes, at: int, offset: int) -> Elements:
        (found,) = self._plain(1, offset, not data[at] & 1)
        key, _ = read_continued(data, at + 1)
        self._keep_right(key)
        return (found._replace(right=key),)

    def _p1_7(self, data: bytes, at: int, offset: int) -> Elements:
        # Of the elements without an address none can be meant: it is the last that has one.
        address = self._addresses[0] & (1 << 56) - 1 | data[at + 1] << 56
        self._addresses = (address, *self._addresses[1:])
        if self._last is None or self._last.address is None:
            return ()
        self._last = self._last._replace(address=address)
        return (self._last,)

    # P2 packets (6.5.6).

    def _p2_1(self, data: bytes, at: int, offset: int) -> Elements:
        after = at + 1
        if data[at] & 8:
            key, after = read_continued(data, after)
            self._value_key = key if key < self._p1_keys else self._add_value_key(1)
        else:
            key = self._add_value_key(1)
        size = P2_1_BYTES[data[at] & 7]
        return (P2(offset, key, int.from_bytes(data[after : after + size], "little")),)

    def _p2_2(self, data: bytes, at: int, offset: int) -> Elements:
        change, size = P2_2_CODES[data[at] & 7]
        return (self._p2(data, at + 1, size, change, offset),)

    def _p2_3(self, data: bytes, at: int, offset: int) -> Elements:
        header = data[at]
        change = (header & 7) - 8 if header & 8 else (header & 7) + 2
        return (self._p2(data, at + 1, 8 if header & 0x10 else 4, change, offset),)

    def _p2_4(self, data: bytes, at: int, offset: int) -> Elements:
        return (P2(offset, self._add_value_key(1), (data[at] & 3) + 1),)

    def _p2_5(self, data: bytes, at: int, offset: int) -> Elements:
        addresses = self._plain(1 + (data[at] & 3), offset)
        return addresses + (self._p2(data, at + 1, 8 if data[at] & 4 else 4, 1, offset),)

    def _p2_6(self, data: bytes, at: int, offset: int) -> Elements:
        code = data[at] & 7
        addresses = self._plain(code if code < 5 else 0, offset)
        first = self._p2(data, at + 1, 4, code - 3 if code > 4 else 1, offset)
        return addresses + (first, self._p2(data, at + 5, 4, 1, offset))

    def _p2(self, data: bytes, at: int, size: int, change: int, offset: int) -> P2:
        return P2(offset, self._add_value_key(change), int.from_bytes(data[at : at + size], "little"))
