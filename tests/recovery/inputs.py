"""The device that feeds the recovery programs, untraced.

It gives bytes, samples, command lines and contacts.
"""

from __future__ import annotations

import random
from typing import Dict, List

_STATUS, _BYTE, _SAMPLES = 0x00, 0x04, 0x10
_CONSOLE_STATUS, _CONSOLE_BYTE, _SWITCHES = 0x30, 0x34, 0x38
_CHANNELS = 4
_CONTACTS = 8
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
    """Random and damaged frames, wandering samples, command lines, bouncing contacts.

    :param seed: Of the random numbers; the same one gives the same inputs.
    """

    base = 0x40006000
    size = 0x1000

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._bytes: List[int] = []
        self._levels: Dict[int, int] = {}
        self._ready = False
        self._console = Console(random.Random(seed + 1))
        self._contacts = Contacts(random.Random(seed + 2))

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
        return self._read_other(offset)

    def _read_other(self, offset: int) -> int:
        if offset == _CONSOLE_STATUS:
            return self._console.status()
        if offset == _CONSOLE_BYTE:
            return self._console.take()
        return self._contacts.read() if offset == _SWITCHES else 0

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


class Console:
    """Somebody who types command lines, not all of them right.

    :param source: Of the random numbers.
    """

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._typed: List[int] = []
        self._ready = False

    def status(self) -> int:
        """Return bit 0: whether a character is there."""
        self._ready = self._ready or self._random.random() < 0.6
        return int(self._ready)

    def take(self) -> int:
        """Return the next character."""
        self._ready = False
        if not self._typed:
            self._typed = self._line()
        return self._typed.pop(0)

    def _line(self) -> List[int]:
        typed: List[int] = []
        for byte in self._command().encode("ascii"):
            if self._random.random() < 0.02:
                typed += [self._random.randrange(97, 123), 8]
            typed.append(byte)
        return typed + [13]

    def _command(self) -> str:
        pick = self._random.choice
        name = pick(("gain", "offset", "limit", "period", "mode", "speed"))
        forms = (
            "set %s %s" % (name, self._number()),
            "get %s" % name,
            "set  %s %s" % (name, pick(("0x%x", "-%d", "+%d", "%d")) % self._random.randrange(300)),
            "calc %s" % self._expression(3),
            "calc %s" % self._expression(2),
            "poke %d %s" % (self._random.randrange(40), self._number()),
            "peek %d %d" % (self._random.randrange(32), self._random.randrange(1, 5)),
            "sum %s" % " ".join(self._number() for _ in range(self._random.randrange(1, 6))),
            "echo %s" % " ".join(pick(("the", "quick", "fox", "0x1f", "jumps")) for _ in range(3)),
            pick(("stat", "list", "hlep", "get", "set gain 12 13", "calc 3*)", "set mode fast")),
        )
        return pick(forms)

    def _number(self) -> str:
        value = self._random.getrandbits(self._random.randrange(1, 20))
        forms = ("%d", "%d", "%d", "-%d", "0x%x", "0x%08X", "%dz", "99999%d999")
        return self._random.choices(forms, (8, 8, 8, 4, 4, 2, 1, 1))[0] % value

    def _expression(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.2:
            names = ("gain", "limit", "speed")
            return self._random.choice(names) if self._random.random() < 0.25 else str(self._random.randrange(1000))
        left, right = self._expression(depth - 1), self._expression(depth - 1)
        found = left + self._random.choice("+-*/") + right
        return "(%s)" % found if self._random.random() < 0.5 else found


class Contacts:
    """Eight contacts that change now and then, and bounce when they do.

    :param source: Of the random numbers.
    """

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._state = 0
        self._bouncing: Dict[int, int] = {}

    def read(self) -> int:
        """Return them all, one in each bit."""
        found = self._state
        for contact in range(_CONTACTS):
            left = self._bouncing.get(contact, 0)
            if left:
                self._bouncing[contact] = left - 1
                found ^= self._random.getrandbits(1) << contact
            elif self._random.random() < 0.04:
                self._state ^= 1 << contact
                self._bouncing[contact] = self._random.randrange(5)
        return found
