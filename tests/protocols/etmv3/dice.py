"""Random, valid ETMv3 packets that OpenCSD reads by the specification."""

from __future__ import annotations

import random
from typing import Callable, List

from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.packets import CYCLE_ATOMS
from tests.protocols.etmv3.streams import ASYNC


class Dice:
    """Makes packets.

    :param config: The unit that they are of.
    """

    def __init__(self, seed: int, config: Etmv3Config) -> None:
        self._random = random.Random(seed)
        self._config = config

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def continued(self, most: int, first: int = 0) -> bytes:
        # Bytes with bit 7 set but for the last.
        count = self._random.randrange(1, most + 1)
        data = [self.bits(7) | 0x80 for _ in range(count)]
        data[0] |= first
        data[-1] &= 0x7F
        return bytes(data)

    def information(self) -> bytes:
        # IRQ8 is 24: low bits 8 with high bits 1.
        while True:
            low, high = self.bits(4), self.bits(5) if self._config.m_profile else 0
            if low | high << 4 != 24:
                break
        first = self.bits(1) << 5 | low << 1 | self.bits(1)
        kind = self.bits(2) if self._config.m_profile or high else self._random.choice((0, 1))
        second = self.bits(1) << 5 | high
        third = 0x40 | self.bits(4)
        forms = [[first], [first | 0x80, second], [first | 0x80, third], [first | 0x80, second | 0x80, third]]
        return bytes(forms[kind])

    def branch(self) -> bytes:
        count = self._random.choice((1, 2, 3, 4, 5))
        if count < 5:
            data = bytearray([self.bits(7) | 0x80 for _ in range(count)])
            data[0] |= 1
            data[-1] &= 0x7F if count == 1 or not self._config.alternative_branches else 0x3F
            if data == b"\x01":
                return self.branch()  # OpenCSD takes it for the end of a bypassed stream
            if count > 1 and self._config.alternative_branches and self.bits(1):
                data[-1] |= 0x40
                return bytes(data) + self.information()
            return bytes(data)
        address = bytes([self.bits(7) | 0x81] + [self.bits(7) | 0x80 for _ in range(3)])
        if not self._config.alternative_branches and not self.bits(2):
            kind = self._random.choice((1, 4, 5, 6, 7))
            return address + bytes([0x80 | self.bits(1) << 6 | kind << 3 | self.bits(3)])
        marker = self._random.choice((0x08 | self.bits(3), 0x10 | self.bits(4), 0x20 | self.bits(5)))
        return address + (bytes([marker | 0x40]) + self.information() if self.bits(1) else bytes([marker]))

    def isync(self, header: int, count: bytes) -> bytes:
        context = bytes(self.bits(8) for _ in range(self._config.context_id_bytes))
        info = self.bits(2) << 5 | 1 | self.bits(1) << 3
        address = self._random.choice((self.bits(32) | 1, self.bits(30) << 2))
        return bytes([header]) + count + context + bytes([info]) + address.to_bytes(4, "little")

    def packet(self) -> bytes:
        config = self._config
        kinds: List[Callable[[], bytes]] = [self.branch, self.branch, self.p_header, self.p_header]
        kinds.append(lambda: self.isync(0x08, b""))
        kinds += [lambda: self._random.choice((b"\x0c", b"\x66", bytes.fromhex(ASYNC)))]
        kinds.append(lambda: self.isync(0x70, self.continued(5, 1)))
        if config.version >= 4:
            kinds.append(lambda: self._random.choice((b"\x76", b"\x7e")))
        if config.version >= 5:
            kinds.append(lambda: bytes([0x42 | self.bits(1) << 2]) + self.continued(8 if config.wide_timestamps else 6))
            kinds.append(lambda: b"\x3c" + bytes([self.bits(8)]))
        if config.context_id_bytes:
            kinds.append(lambda: b"\x6e" + bytes(self.bits(8) for _ in range(config.context_id_bytes)))
        if config.data_values:
            kinds += [self.data] * 4
        return self._random.choice(kinds)()

    def p_header(self) -> bytes:
        if not self._config.cycle_accurate:
            return bytes([self._random.choice((0x80 | self.bits(5) << 2, 0x82 | self.bits(2) << 2))])
        return bytes([self._random.choice([header for header in CYCLE_ATOMS if header != 0x80])])

    def data(self) -> bytes:
        # Without addresses.
        code = self.bits(2)
        value = bytes(self.bits(8) for _ in range((0, 1, 2, 4)[code]))
        tag = self._random.choice((1, 2, 3))
        some = [bytes([0x02 | code << 2]) + value, bytes([tag << 5 | code << 2]) + value]
        some += [bytes([0x50 | tag << 2]), b"\x50", b"\x62"]
        if not self._config.data_addresses:
            some += [bytes([0x22 | code << 2]) + value, b"\x6a"]
        return self._random.choice(some)
