"""From bytes to packets, the same for both streams of a unit: synchronisation, and cutting at packet boundaries.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.5 and 6.4.2, 6.5.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Callable, Iterator, Sequence

from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.etmv4.packets import ASYNC, Header, Kind
from gdb_etm.protocols.packet import Packet

KindOf = Callable[[Header, bytes, int], Kind]
"""``kind_of(header, data, start)`` of the whole packet that begins at ``start``."""

_UNSYNCHRONISED = "not synchronised"
_CHUNK = 16


def list_stream(
    table: Sequence[Header],
    kind_of: KindOf,
    words: Callable[[Kind, bytes, int], str],
    data: bytes,
    offset_of: Callable[[int], int],
) -> Iterator[Packet]:
    """Go through the packets of a stream.

    Bytes before an A-Sync are listed as not synchronised; after a reserved packet the next A-Sync is looked for.

    :param table: The stream's 256 headers.
    :param kind_of: Tells a packet's kind.
    :param words: Puts the fields of the packet at an index in words; called for every packet in order.
    :param data: The stream's bytes.
    :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
    """
    at, end = 0, len(data)
    hunting = True
    while at < end:
        if hunting:
            found = data.find(ASYNC, at)
            for start in range(at, end if found < 0 else found, _CHUNK):
                raw = data[start : min(start + _CHUNK, end if found < 0 else found)]
                yield Packet(offset_of(start), raw, _UNSYNCHRONISED, "")
            if found < 0:
                return
            at, hunting = found, False
        header = table[data[at]]
        size = header.length(data, at, end)
        if size == 0:
            yield Packet(offset_of(at), data[at:end], header.kind.value, "cut by the end of the buffer")
            return
        kind = kind_of(header, data, at) if size > 0 else Kind.RESERVED
        size = max(size, 1)
        yield Packet(offset_of(at), data[at : at + size], kind.value, words(kind, data, at))
        hunting = kind is Kind.RESERVED
        at += size


class PacketStream(ABC):
    """Finds the packets of one stream, whose bytes may come in any split.

    An A-Sync is looked for, and packets count from the Trace Info after it on (2.5); after a reserved or malformed
    packet the next A-Sync is looked for.

    :param table: The stream's 256 headers.
    :param kind_of: Tells a packet's kind.
    """

    def __init__(self, table: Sequence[Header], kind_of: KindOf) -> None:
        self._table = table
        self._kind_of = kind_of
        # Whether an A-Sync is looked for; whether a Trace Info has come since.
        self._hunting = True
        self._informed = False
        self._skipped = 0
        # Bytes of a packet that is not whole, and the position in the stream of the first.
        self._rest = b""
        self._base = 0

    @abstractmethod
    def _handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        # Takes a whole packet.
        ...

    @abstractmethod
    def _gap(self, position: int, reason: GapReason, detail: str) -> None:
        # Takes note of bytes that are no packets.
        ...

    @abstractmethod
    def _bad(self, position: int, detail: str) -> None:
        # Takes note of a reserved or malformed packet; what follows up to the next A-Sync is lost.
        ...

    def _hunt(self, data: bytes, at: int, end: int) -> int:
        found = data.find(ASYNC, at)
        if found < 0:
            # Keep what may be the beginning of the packet.
            following = max(at, end - len(ASYNC) + 1)
            self._skipped += following - at
            return following
        self._skipped += found - at
        self._hunting = False
        return found

    def _packet(self, data: bytes, at: int, end: int) -> int:
        # Handles one packet and returns the index after it; ``at`` when it is not whole.
        header = self._table[data[at]]
        size = header.length(data, at, end)
        if size == 0:
            return at
        position = self._base + at
        kind = self._kind_of(header, data, at) if size > 0 else Kind.RESERVED
        if kind is Kind.RESERVED:
            # Only bytes that were needed to tell: others may not have come yet.
            self._bad(position, data[at : at + max(size, 1)].hex(" "))
            self._hunting = True
            self._informed = False
            return at + 1
        if kind is Kind.TRACE_INFO and not self._informed:
            self._inform(position)
        if self._informed:
            self._handle(kind, data, at, position)
        elif kind is not Kind.ASYNC:
            self._skipped += size
        return at + size

    def _inform(self, position: int) -> None:
        self._informed = True
        if self._skipped:
            self._gap(position, GapReason.NOT_SYNCHRONISED, "%d bytes before it" % self._skipped)
        self._skipped = 0

    def _end(self) -> None:
        # The stream ends: accounts for the bytes that were no whole packet.
        if self._hunting or not self._informed:
            self._skipped += len(self._rest)
            if self._skipped:
                detail = "no synchronisation in %d bytes" % self._skipped
                self._gap(self._base, GapReason.NOT_SYNCHRONISED, detail)
        elif self._rest.strip(b"\0"):
            self._gap(self._base, GapReason.CUT, self._rest[:8].hex(" "))
