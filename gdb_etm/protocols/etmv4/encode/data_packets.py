"""Writer of an ETMv4 data stream: keeps its compression state.

The encodings are IHI 0064 chapter 6.5; each method names its paragraph.  Addresses have 32 bits here, as those of every
core with a data stream that this package knows; values up to 64.  Elements wait a little, because one packet can hold
several; :meth:`DataWriter.flush` writes them.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.protocols.encode.output import Output, Sink, continued
from gdb_etm.protocols.etmv4.encode.packets import A_SYNC, changed_bytes

_MOST_WAITING = 8
_MOST_BARE = 4

# P1 format 1 without a left key section: CODE by address register and step of the left key (table 6-24).
_CODES = {(0, -2): 0, (0, -1): 1, (0, 1): 2, (0, 2): 3, (0, 3): 4}
_CODES.update({(1, 1): 5, (1, 2): 6, (1, 3): 7, (2, 1): 8, (2, 2): 9})
_CODES_WITH_LEFT = (0xA, 0xB, 0xC)
_CODE_BOTH_KEYS, _CODE_INDEX, _CODE_ALL = 0xD, 0xE, 0xF
# P1 formats 2, 3 and 4: TT by address register and step of the left key.
_TURNS = {(0, 1): 0, (1, 1): 1, (2, 1): 2, (0, 2): 3}
# P2 format 2: CODE by step of the key and number of data bytes (table 6-25).
_SHORT_VALUES = {(2, 0): 0, (2, 1): 1, (2, 2): 2, (3, 0): 3, (3, 1): 4, (3, 2): 5, (-1, 1): 6, (-1, 2): 7}
# P2 format 1: SIZE by number of data bytes.
_SIZES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 6: 5, 8: 6}


class P1(NamedTuple):
    """A P1 element: one transfer's address."""

    address: int
    # Key of the P0 element that it belongs to.
    left: int
    # Key that its value will refer to.
    right: int
    # Transfer index: which of the instruction's transfers it is, 0 to 31.
    order: int
    # Whether nobody needs its address.
    inferable: bool = False


class P2(NamedTuple):
    """A P2 element: one transfer's value."""

    value: int
    # Right key of the P1 element that it belongs to.
    left: int


class DataWriter(Output):
    """Writes a data stream's packets, and keeps their compression state.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left.
    :param p0_keys: How many left keys P1 elements count through (TRCIDR9.NUMP0KEY), at least 1.
    :param p1_keys: How many right keys they count through (TRCIDR10.NUMP1KEY less TRCIDR11.NUMP1SPC), at least 1;
        higher ones are special.
    """

    def __init__(self, sink: Sink, p0_keys: int, p1_keys: int) -> None:
        super().__init__(sink)
        self._p0_keys = p0_keys
        self._p1_keys = p1_keys
        self._waiting: List[Union[P1, P2]] = []
        self._timestamp = 0
        self._reset()

    def _reset(self) -> None:
        # What Trace Info resets (table 6-6).
        self._recent = [0, 0, 0]
        self._left = self._right = self._index = self._value_key = 0
        self._timestamp = 0

    @property
    def next_right(self) -> int:
        """The right key that costs nothing for a P1 element written next."""
        ahead = self._right
        for element in self._waiting:
            if isinstance(element, P1):
                ahead = element.right if element.right < self._p1_keys else (ahead + 1) % self._p1_keys
        return (ahead + 1) % self._p1_keys

    def add(self, element: Union[P1, P2]) -> None:
        """Add a P1 or P2 element."""
        self._waiting.append(element)
        if len(self._waiting) > _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write the waiting elements: every other packet comes after them."""
        waiting = self._waiting
        self._waiting = []
        at = 0
        while at < len(waiting):
            at += self._pack(waiting[at:])

    def deliver(self) -> None:
        """Write the waiting elements and hand everything to the sink."""
        self.flush()
        super().deliver()

    def drop(self) -> None:
        """Lose the waiting elements, as an overflow does."""
        self._waiting.clear()

    # Packets of their own.

    def synchronise(self) -> None:
        """Write A-Sync and Trace Info (6.5.2), which resets the compression state."""
        self.flush()
        self._put(A_SYNC + b"\x00\x01\x00")
        self._reset()

    def overflow(self) -> None:
        """Write Overflow (6.5.2): packets were lost."""
        self.flush()
        self._put(b"\x00\x05")

    def numbered_sync(self, number: int) -> None:
        """Write a Numbered Data Synchronization Marker (6.5.3), 0 to 7."""
        self.flush()
        self._put(bytes((0x00, 0x11 | number << 1)))

    def unnumbered_sync(self) -> None:
        """Write an Unnumbered Data Synchronization Marker (6.5.3)."""
        self.flush()
        self._put(b"\x01")

    def event(self) -> None:
        """Write Event (6.5): event 0 occurred."""
        self.flush()
        self._put(b"\x04")

    def timestamp(self, value: int) -> None:
        """Write a Timestamp (6.5.4), only the low bytes that changed.

        :param value: 64-bit global timestamp.
        """
        self.flush()
        self._put(b"\x02" + changed_bytes(value, self._timestamp))
        self._timestamp = value

    # P1 and P2 elements (6.5.5, 6.5.6).

    def _pack(self, waiting: List[Union[P1, P2]]) -> int:
        """Write a packet of the first elements; return how many it holds."""
        first = waiting[0]
        if isinstance(first, P2):
            return self._values(waiting)
        same = self._bare_run(waiting, False)
        if same:
            return self._bare_with_values(waiting, same)
        following = self._bare_run(waiting, True)
        if following:
            for element in waiting[:following]:
                self._take(element)
            self._put(bytes((0xFC | following - 1,)))
            return following
        self._address(first)
        return 1

    def _bare_run(self, waiting: List[Union[P1, P2]], steps: bool) -> int:
        # How many of the first elements need no address and have the keys and indices that format 5 implies: the next
        # index of the same P0 element, or index 0 of the next one each.
        left, right, index = self._left, self._right, self._index
        count = 0
        for element in waiting[:_MOST_BARE]:
            left, index = ((left + 1) % self._p0_keys, 0) if steps else (left, index + 1)
            right = (right + 1) % self._p1_keys
            if not isinstance(element, P1) or not element.inferable or element[1:4] != (left, right, index):
                break
            count += 1
        return count

    def _bare_with_values(self, waiting: List[Union[P1, P2]], bare: int) -> int:
        # P1 format 5 with L = 0, or with the values that follow P2 format 5 or 6.
        values = self._value_run(waiting[bare:], 1)
        for element in waiting[:bare]:
            self._take(element)
        if not values:
            self._put(bytes((0xF8 | bare - 1,)))
            return bare
        if len(values) > 1 and not (values[0] | values[1]) >> 32:
            self._value_key = (self._value_key + 2) % self._p1_keys
            self._put(bytes((0x38 | bare,)) + _word(values[0]) + _word(values[1]))
            return bare + 2
        self._value_key = (self._value_key + 1) % self._p1_keys
        wide = values[0] >> 32 != 0
        self._put(bytes((0x18 | wide << 2 | bare - 1,)) + values[0].to_bytes(8 if wide else 4, "little"))
        return bare + 1

    def _value_run(self, waiting: List[Union[P1, P2]], step: int) -> List[int]:
        # The values of up to two P2 elements, the first with its key a step on, the second with the next one.
        values: List[int] = []
        for element in waiting[:2]:
            key = (self._value_key + step + len(values)) % self._p1_keys
            if not isinstance(element, P2) or element.left != key:
                break
            values.append(element.value)
        return values

    def _take(self, element: Union[P1, P2]) -> None:
        # Take over the keys of a P1 element that was written.
        assert isinstance(element, P1)
        self._left, self._index = element.left, element.order
        self._right = element.right if element.right < self._p1_keys else (self._right + 1) % self._p1_keys

    def _address(self, element: P1) -> None:
        """Write a P1 element of its own.

        Format 6, or the shortest of formats 1 to 4.
        """
        same = element.left == self._left and element.order == self._index + 1
        following = element.left == (self._left + 1) % self._p0_keys and element.order == 0
        if element.inferable and (same or following):
            data, register = bytes((0xF6 | (not same),)) + continued(element.right), -1
        else:
            data, register = min(self._with_address(element), key=lambda choice: (len(choice[0]), choice[1]))
        self._take(element)
        if register >= 0:
            self._remember(element.address, register)
        self._put(data)

    def _with_address(self, element: P1) -> Iterator[Tuple[bytes, int]]:
        # Every packet that can hold it, with the address register that it is compressed against.
        next_right = element.right == (self._right + 1) % self._p1_keys
        steps = {(element.left - self._left - step) % self._p0_keys: step for step in (3, 2, 1, -1, -2)}
        step = steps.get(0)
        for register in range(3):
            differs = element.address ^ self._recent[register]
            turn = None if step is None or element.order or not next_right else _TURNS.get((register, step))
            if turn is not None:
                yield from _compact(element.address, differs, turn, register)
            for code, sections in self._codes(element, register, step, next_right):
                yield bytes((0x70 | code,)) + _differing(element.address, differs) + sections, register

    def _codes(self, element: P1, register: int, step: Optional[int], next_right: bool) -> Iterator[Tuple[int, bytes]]:
        # P1 format 1: each CODE that fits, with the bytes of its key and index sections.
        left, right, index = continued(element.left), continued(element.right), bytes((element.order,))
        if next_right and element.order == 0:
            if step is not None and (register, step) in _CODES:
                yield _CODES[register, step], b""
            yield _CODES_WITH_LEFT[register], left
        if register:
            return
        if element.order == 0:
            yield _CODE_BOTH_KEYS, left + right
        if next_right and step == 1:
            yield _CODE_INDEX, index
        yield _CODE_ALL, left + right + index

    def _remember(self, address: int, register: int) -> None:
        # The queue of addresses (6.5.5): within 64 bytes of the last one it does not move.
        recent = self._recent
        if register == 2 or register == 0 and (address ^ recent[0]) >> 6:
            recent[2], recent[1] = recent[1], recent[0]
        elif register == 1:
            recent[1] = recent[0]
        recent[0] = address

    def _values(self, waiting: List[Union[P1, P2]]) -> int:
        # P2 format 6 for two values of more than two bytes, otherwise one value.
        for code, step in ((0, 1), (5, 2), (6, 3)):
            values = self._value_run(waiting, step)
            if len(values) == 2 and all(1 << 16 <= value < 1 << 32 for value in values):
                self._value_key = (self._value_key + step + 1) % self._p1_keys
                self._put(bytes((0x38 | code,)) + _word(values[0]) + _word(values[1]))
                return 2
        element = waiting[0]
        assert isinstance(element, P2)
        self._put(min(self._with_value(element), key=len))
        special = element.left >= self._p1_keys
        self._value_key = (self._value_key + 1) % self._p1_keys if special else element.left
        return 1

    def _with_value(self, element: P2) -> Iterator[bytes]:
        # Every packet that can hold it.
        value = element.value
        size = next(size for size in _SIZES if value >> 8 * size == 0)
        data = value.to_bytes(size, "little")
        yield bytes((0x28 | _SIZES[size],)) + continued(element.left) + data
        if element.left >= self._p1_keys:
            return
        step = (element.left - self._value_key) % self._p1_keys
        if step == 1:
            yield bytes((0x20 | _SIZES[size],)) + data
            if 1 <= value <= 4:
                yield bytes((0x10 | value - 1,))
        back = step - self._p1_keys
        length = (value.bit_length() + 7) // 8
        for offset in (step, back):
            for count in range(max(length, 0), 3):
                if (offset, count) in _SHORT_VALUES:
                    yield bytes((0x30 | _SHORT_VALUES[offset, count],)) + value.to_bytes(count, "little")
        wide = value >> 32 != 0
        payload = value.to_bytes(8 if wide else 4, "little")
        if 2 <= step <= 9:
            yield bytes((0x40 | wide << 4 | step - 2,)) + payload
        if -8 <= back <= -1:
            yield bytes((0x48 | wide << 4 | back + 8,)) + payload


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _compact(address: int, differs: int, turn: int, register: int) -> Iterator[Tuple[bytes, int]]:
    # P1 formats 2, 3 and 4.
    if address & 3 == 0:
        if differs >> 6 == 0:
            yield bytes((0x80 | (address >> 2 & 0xF) << 2 | turn,)), register
        if differs >> 10 == 0:
            yield bytes((0x14 | turn, address >> 2 & 0xFF)), register
    elif address & 3 == 2 and differs >> 4 == 0:
        yield bytes((0x60 | (address >> 2 & 3) << 2 | turn,)), register


def _differing(address: int, differs: int) -> bytes:
    # P1 format 1's address bytes: seven bits each from the lowest up to the highest that differs.
    count = max(1, (differs.bit_length() + 6) // 7)
    data = bytearray((address >> 7 * index & 0x7F) | (index < count - 1) << 7 for index in range(count))
    return bytes(data)
