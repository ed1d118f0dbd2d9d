"""One side of GDB's remote protocol: acknowledgments and repetition, without I/O.

Ref: Debugging with GDB, appendix E, "Packet Acknowledgment" (E.10).
"""

from __future__ import annotations

from typing import List

from gdb_etm.replay.packets import ACK, MAX_PACKET, NACK, InputKind, Item, PacketReader, frame

# Times that one packet is sent again.
_MOST_REPEATS = 8


class Link:
    """State of a connection: bytes in, bytes out, whether packets are acknowledged.

    :param limit: Longest packet that is taken in, in bytes.
    :param is_client: Whether a server is at the other end, and not GDB.
    """

    def __init__(self, limit: int = MAX_PACKET, is_client: bool = False) -> None:
        # Whether each packet is acknowledged; GDB ends that by QStartNoAckMode.
        self.acknowledges = True
        # What is to be sent.
        self.output = bytearray()
        self._reader = PacketReader(limit)
        self._last = b""
        self._is_client = is_client
        self._is_missed = False
        self._repeats = 0

    def feed(self, data: bytes) -> List[Item]:
        """Take received bytes, and acknowledge the packets in them.

        :returns: Packets, notifications and interrupts.
        """
        found = []
        for item in self._reader.feed(data):
            if item.kind is InputKind.NACK:
                self._repeat()
            elif item.kind is InputKind.ACK:
                # A server that still acknowledges has missed that its reply to QStartNoAckMode was.
                self._is_missed = self._is_client and not self.acknowledges
            elif item.kind in (InputKind.PACKET, InputKind.BAD) and (self.acknowledges or self._is_missed):
                self.output += ACK if item.kind is InputKind.PACKET else NACK
                self._is_missed = False
            if item.kind in (InputKind.PACKET, InputKind.NOTIFICATION, InputKind.INTERRUPT):
                found.append(item)
        return found

    def send(self, data: bytes) -> None:
        """Put a packet in the output.

        :param data: What stands in it, already escaped.
        """
        self._last = frame(data)
        self._repeats = 0
        self.output += self._last

    def take(self) -> bytes:
        """Take the output to send it."""
        data = bytes(self.output)
        self.output.clear()
        return data

    def _repeat(self) -> None:
        if self.acknowledges and self._repeats < _MOST_REPEATS:
            self._repeats += 1
            self.output += self._last
