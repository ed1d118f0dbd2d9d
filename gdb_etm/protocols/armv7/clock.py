"""The time, decoded from compressed timestamps.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 7.7.4; CoreSight Program
Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.10.
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from gdb_etm.protocols.armv7.fields import from_gray
from gdb_etm.protocols.stream import NEED_MORE


class Clock:
    """Decoder of a stream's timestamps.

    :param most: The longest a timestamp can be in bytes: 7 for 48 bits, 9 for 64.
    :param gray: Whether they are Gray-coded (ETMCCER bit 28).
    """

    def __init__(self, most: int, gray: bool) -> None:
        self._most = most
        self._gray = gray
        self._lower = 7 * (most - 1)
        # The last byte of the longest has no bit that says that another one follows.
        self._last = 0x3F if most == 7 else 0xFF
        # In the unit's own encoding; None where the upper bits are not known.
        self._value: Optional[int] = None
        # The upper bytes of the last one that was whole, and what they say.
        self._upper: Dict[bytes, int] = {}

    def lose(self) -> None:
        """Forget the upper bits, as when synchronisation is lost."""
        self._value = None

    def take(self, data: bytes, at: int, end: int) -> Tuple[int, Optional[int]]:
        """Take a timestamp's bytes.

        :param at: The index of the first.
        :param end: The index after the last byte that is there.
        :returns: The index after them, NEED_MORE when they are not all there; and the time, None when its upper bits
            are not known.
        """
        upper = self._upper.get(data[at + 2 : at + self._most])
        if upper is not None and data[at] & data[at + 1] & 0x80 and at + self._most <= end:
            # Whole, and as the one before but for its lowest bits.
            value = self._value = upper | (data[at + 1] & 0x7F) << 7 | data[at] & 0x7F
            return at + self._most, from_gray(value) if self._gray else value
        value = bits = 0
        after = at
        for byte in data[at : min(end, at + self._most)]:
            after += 1
            value |= (byte & 0x7F) << bits
            bits += 7
            if byte < 0x80:
                break
        else:
            if after < at + self._most:
                return NEED_MORE, None
        if after == at + self._most:
            value = value & (1 << self._lower) - 1 | (data[after - 1] & self._last) << self._lower
            self._upper = {data[at + 2 : after]: value >> 14 << 14}
        elif self._value is None:
            return after, None
        else:
            value |= self._value >> bits << bits
        self._value = value
        return after, from_gray(value) if self._gray else value
