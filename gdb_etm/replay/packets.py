"""GDB's remote protocol as bytes: splits input into packets, and writes packets.

Ref: Debugging with GDB, appendix E, "GDB Remote Serial Protocol": Overview (E.1), Notification Packets (E.7),
Packet Acknowledgment (E.10), Interrupts (E.8).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import List, NamedTuple, Optional

# Longest packet that is taken in, in bytes on the wire; GDB sends no longer one than qSupported allows.
MAX_PACKET = 1 << 16
ACK = b"+"
NACK = b"-"
# What GDB sends when the user types Ctrl-C.
INTERRUPT = b"\x03"
# Asks that packets be acknowledged no more.
NO_ACKS = b"QStartNoAckMode"

_ESCAPE = 0x7D
_RUN = re.compile(rb"(?s)(.)\*(.)")
_SPECIAL = re.compile(rb"[#$*}]")
_ESCAPED = re.compile(rb"(?s)\}(.)")
_START = re.compile(rb"[$%+\x03-]")


class InputKind(Enum):
    """What came in."""

    PACKET = "packet"
    NOTIFICATION = "notification"
    ACK = "acknowledgment"
    NACK = "request to send again"
    INTERRUPT = "interrupt"
    # Its checksum is wrong, or it is too long; nothing of it is kept.
    BAD = "bad packet"


class Item(NamedTuple):
    """One thing that came in."""

    kind: InputKind
    # What stands between ``$`` and ``#``, as on the wire.
    data: bytes = b""


_SIGNS = {0x2B: Item(InputKind.ACK), 0x2D: Item(InputKind.NACK), 0x03: Item(InputKind.INTERRUPT)}
_BAD = Item(InputKind.BAD)


class PacketReader:
    """Takes a stream of the protocol apart.

    :param limit: Longest packet in bytes.
    """

    def __init__(self, limit: int = MAX_PACKET) -> None:
        self._limit = limit
        self._left = bytearray()
        self._overlong = False

    def feed(self, data: bytes) -> List[Item]:
        """Take the next bytes, in any split.

        :returns: What is complete by now.
        """
        self._left += data
        items: List[Item] = []
        while True:
            item = self._next()
            if item is None:
                return items
            items.append(item)

    def _next(self) -> Optional[Item]:
        left = self._left
        if self._overlong and not self._skip():
            return None
        start = _START.search(left)
        if start is None:
            left.clear()  # noise between packets
            return None
        del left[: start.start()]
        sign = _SIGNS.get(left[0])
        if sign is not None:
            del left[:1]
            return sign
        end = left.find(b"#", 1)
        if end < 0 and len(left) > self._limit:
            left.clear()
            self._overlong = True
            return _BAD
        if end < 0 or len(left) < end + 3:
            return None
        return self._packet(end)

    def _skip(self) -> bool:
        # Leave out the rest of a packet that was too long.
        end = self._left.find(b"#")
        if end < 0:
            self._left.clear()
            return False
        del self._left[: end + 1]
        self._overlong = False
        return True

    def _packet(self, end: int) -> Item:
        left = self._left
        if end > self._limit:
            del left[: end + 1]
            return _BAD
        # One that breaks off is followed by the next one's beginning: inside of packets "$" is escaped.
        begin = left.rfind(b"$", 1, end)
        if begin > 0:
            del left[:begin]
            return _BAD
        data, checksum, is_packet = bytes(left[1:end]), bytes(left[end + 1 : end + 3]), left[0] == 0x24
        del left[: end + 3]
        if checksum.lower() != b"%02x" % (sum(data) & 0xFF):
            return _BAD
        return Item(InputKind.PACKET if is_packet else InputKind.NOTIFICATION, data)


def frame(data: bytes) -> bytes:
    """Put a packet's data, already escaped, between ``$`` and its checksum."""
    return b"$%b#%02x" % (data, sum(data) & 0xFF)


def escape(data: bytes) -> bytes:
    """Escape binary data for a packet."""
    return _SPECIAL.sub(lambda found: bytes((_ESCAPE, found.group()[0] ^ 0x20)), data)


def unescape(data: bytes) -> bytes:
    """Undo :func:`escape`."""
    return _ESCAPED.sub(lambda found: bytes((found.group(1)[0] ^ 0x20,)), data)


def expand(data: bytes, limit: int = MAX_PACKET) -> bytes:
    """Undo a reply's run-length encoding: ``0* `` is four zeros.

    :param limit: Longest result in bytes.
    :raises ValueError: It would be longer, or a count is none.
    """
    if b"*" not in data:
        return data

    def repeat(found: "re.Match[bytes]") -> bytes:
        # The count is of the copies after the first, with 29 added to make it printable.
        count = found.group(2)[0] - 29
        if not 3 <= count <= 97:
            raise ValueError("a run of %d" % count)
        return found.group(1) * (count + 1)

    result = _RUN.sub(repeat, data)
    if len(result) > limit:
        raise ValueError("a packet of %d bytes, expanded" % len(result))
    return result
