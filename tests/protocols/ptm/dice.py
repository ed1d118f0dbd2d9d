"""Random, valid PTM packets that OpenCSD reads by the specification."""

from __future__ import annotations

import random
from typing import Callable, List

from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.packets import ATOMS
from tests.protocols.ptm.streams import ASYNC


class Dice:
    """Makes packets.

    :param config: The unit that they are of.
    """

    def __init__(self, seed: int, config: PtmConfig) -> None:
        self._random = random.Random(seed)
        self._config = config

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def count(self, low: int = 0) -> bytes:
        # A cycle count of one to five bytes, with other bits of the first.
        size = self._random.randrange(1, 6)
        data = [self.bits(4) << 2 | (0x40 if size > 1 else 0) | low] + [self.bits(7) | 0x80 for _ in range(size - 1)]
        data[-1] &= 0x7F if size > 1 else 0xFF
        return bytes(data)

    def counted(self) -> bytes:
        return self.count() if self._config.cycle_accurate else b""

    def address(self, first: int, informed: bool) -> bytes:
        # Address bytes; with ``informed`` exception information is to follow.
        size = self._random.randrange(2 if informed else 1, 6)
        data = [self.bits(7) | 0x80 | first] + [self.bits(7) | 0x80 for _ in range(size - 1)]
        if size < 5:
            data[-1] &= 0x7F if size == 1 else 0x3F
        else:
            data[-1] = self._random.choice((0x08 | self.bits(3), 0x10 | self.bits(4), 0x20 | self.bits(5)))
        data[-1] |= 0x40 if informed else 0
        return bytes(data)

    def branch(self) -> bytes:
        informed = bool(self.bits(1))
        address = self.address(1, informed)
        if address == b"\x01":
            return self.branch()  # OpenCSD takes it for the end of a bypassed stream
        information = [self.bits(4) << 1 | self.bits(1)] if informed else []
        if informed and self.bits(1):
            information = [information[0] | 0x80, self.bits(1) << 5]
        return address + bytes(information) + self.counted()

    def update(self) -> bytes:
        address = self.address(0, False)
        if len(address) == 5 and self.bits(1):
            return b"\x72" + address[:4] + bytes([address[4] | 0x40, 0])
        return b"\x72" + address

    def isync(self) -> bytes:
        config = self._config
        address = self._random.choice((self.bits(32) | 1, self.bits(30) << 2))
        info = self.bits(2) << 5 | self.bits(1) << 3 | 1
        count = self.count() if config.cycle_accurate and info & 0x60 else b""
        context = bytes(self.bits(8) for _ in range(config.context_id_bytes))
        return b"\x08" + address.to_bytes(4, "little") + bytes([info]) + count + context

    def timestamp(self) -> bytes:
        size = self._random.randrange(1, self._config.timestamp_bytes)
        data = [self.bits(7) | 0x80 for _ in range(size)]
        data[-1] &= 0x7F
        return bytes([0x42 | self.bits(1) << 2] + data) + self.counted()

    def atom(self) -> bytes:
        if self._config.cycle_accurate:
            return self.count(0x80 | self.bits(1) << 1)
        return bytes([self._random.choice(list(ATOMS))])

    def packet(self) -> bytes:
        """Make a packet."""
        kinds: List[Callable[[], bytes]] = [self.branch, self.atom, self.atom, self.isync, self.timestamp, self.update]
        kinds.append(lambda: self._random.choice((b"\x0c", b"\x66", b"\x76", bytes.fromhex(ASYNC))))
        if self._config.version >= 1:
            kinds.append(lambda: bytes([0x3C, self.bits(8)]))
        if self._config.context_id_bytes:
            kinds.append(lambda: b"\x6e" + bytes(self.bits(8) for _ in range(self._config.context_id_bytes)))
        return self._random.choice(kinds)()
