"""The device that the recovery programs get bytes and samples from; what it gives is in no trace."""

from __future__ import annotations

import random
from typing import Dict, List

_STATUS, _BYTE, _SAMPLES = 0x00, 0x04, 0x10
_CHANNELS = 4
_FLAG, _ESCAPE = 0x7E, 0x7D


def crc16(data: bytes) -> int:
    """Return the CRC of the frames (polynomial 0xA001, reflected)."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc


class Inputs:
    """Frames of random content, some of them damaged, and samples that wander.

    :param seed: Of the random numbers; the same one gives the same inputs.
    """

    base = 0x40006000
    size = 0x1000

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._bytes: List[int] = []
        self._levels: Dict[int, int] = {}
        self._ready = False

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset == _STATUS:
            self._ready = self._ready or self._random.random() < 0.7
            return int(self._ready) | self._random.getrandbits(3) << 4
        if offset == _BYTE:
            self._ready = False
            if not self._bytes:
                self._bytes = self._frame()
            return self._bytes.pop(0)
        if _SAMPLES <= offset < _SAMPLES + 4 * _CHANNELS:
            level = self._levels.get(offset, 1500) + self._random.randint(-60, 60)
            self._levels[offset] = min(max(level, 0), 4095)
            return self._levels[offset] | self._random.getrandbits(20) << 12
        return 0

    def write32(self, offset: int, value: int) -> None:
        """Take an output, which goes nowhere."""

    def _frame(self) -> List[int]:
        content = bytes([self._random.randrange(8)]) + self._random.randbytes(self._random.randint(1, 24))
        content += crc16(content).to_bytes(2, "little")
        if self._random.random() < 0.1:
            content = content[:-1] + bytes([content[-1] ^ 0x10])
        found = [_FLAG]
        for byte in content:
            found += [_ESCAPE, byte ^ 0x20] if byte in (_FLAG, _ESCAPE) else [byte]
        return found + [_FLAG]
