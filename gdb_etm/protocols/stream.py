"""Streams to packets: synchronisation, and cutting at packet boundaries.

A protocol has a table of 256 headers, built from the unit's configuration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Callable, Final, Generic, Iterator, NamedTuple, Optional, Sequence, TypeVar

from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.packet import Packet

# A length that needs more bytes to be known.
NEED_MORE: Final = 0
# The length of what is no packet, though its header is one.
MALFORMED: Final = -1

# ``length(data, start, end)`` in bytes of the packet that begins at ``start``, NEED_MORE or MALFORMED.
Length = Callable[[bytes, int, int], int]

_UNSYNCHRONISED: Final = "not synchronised"
_CHUNK: Final = 16


# A protocol's kinds of packets.
K = TypeVar("K", bound=Enum)


class Header(NamedTuple):
    """The packet that a first byte opens."""

    # The kind of packet, as far as the first byte says; a member of the protocol's enumeration.
    kind: Any
    length: Length


# ``kind_of(header, data, start)`` of the whole packet that begins at ``start``.
KindOf = Callable[[Header, bytes, int], K]


def fixed(length: int) -> Length:
    """Make the length function of packets of one length in bytes."""
    return lambda data, start, end: length if end - start >= length else NEED_MORE


def kind_in_header(header: Header, data: bytes, start: int) -> Any:
    """Give the kind of a packet whose first byte decides it."""
    return header.kind


class Form(Generic[K]):
    """The packets by which a protocol's streams are synchronised."""

    def __init__(self, sync: bytes, sync_kind: K, opening: K, reserved: K) -> None:
        # The packet that is looked for when it is not known where packets begin.
        self.sync = sync
        self.sync_kind = sync_kind
        # Kind of the packet from which on packets count, once that one was found.
        self.opening = opening
        # Kind of what is no packet.
        self.reserved = reserved


def list_stream(
    form: Form[K],
    table: Sequence[Header],
    kind_of: KindOf[K],
    words: Callable[[K, bytes, int], str],
    data: bytes,
    offset_of: Callable[[int], int],
) -> Iterator[Packet]:
    """Go through the packets of a stream.

    Bytes before a synchronisation packet are listed as not synchronised; after a reserved packet the next one is
    looked for.

    :param form: The protocol's form.
    :param table: The stream's 256 headers.
    :param kind_of: Gives a packet's kind.
    :param words: Puts the fields of the packet at an index in words; called for every packet in order.
    :param data: The stream's bytes.
    :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
    """
    at, end = 0, len(data)
    hunting = True
    while at < end:
        if hunting:
            found = data.find(form.sync, at)
            for start in range(at, end if found < 0 else found, _CHUNK):
                raw = data[start : min(start + _CHUNK, end if found < 0 else found)]
                yield Packet(offset_of(start), raw, _UNSYNCHRONISED, "")
            if found < 0:
                return
            at, hunting = found, False
        header = table[data[at]]
        size = header.length(data, at, end)
        if size == NEED_MORE:
            yield Packet(offset_of(at), data[at:end], header.kind.value, "cut by the end of the buffer")
            return
        kind = kind_of(header, data, at) if size > 0 else form.reserved
        size = max(size, 1)
        yield Packet(offset_of(at), data[at : at + size], kind.value, words(kind, data, at))
        hunting = kind is form.reserved
        at += size


def feed_pieces(
    feed: Callable[[bytes], None], data: bytes, progress: Optional[Callable[[int], None]], size: int = 1 << 18
) -> None:
    """Feed a whole stream in pieces, and report progress.

    :param feed: Takes a piece.
    :param progress: Called after each with its number of bytes; what it raises ends the work.
    :param size: Of a piece, in bytes.
    """
    for at in range(0, len(data), size):
        piece = data[at : at + size]
        feed(piece)
        if progress is not None:
            progress(len(piece))


class PacketStream(ABC, Generic[K]):
    """Finds the packets of one stream, fed in any split.

    A synchronisation packet is looked for, and packets count from the opening packet after it on; after a reserved or
    malformed packet the next synchronisation packet is looked for.

    :param form: The protocol's form.
    :param table: The stream's 256 headers.
    :param kind_of: Gives a packet's kind.
    """

    def __init__(self, form: Form[K], table: Sequence[Header], kind_of: KindOf[K]) -> None:
        self._form = form
        self._table = table
        self._kind_of = kind_of
        # Whether a synchronisation packet is looked for; whether an opening packet has come since.
        self._hunting = True
        self._informed = False
        self._skipped = 0
        # Bytes of a packet that is not whole, and the position in the stream of the first.
        self._rest = b""
        self._base = 0

    @abstractmethod
    def _handle(self, kind: K, data: bytes, at: int, position: int) -> None:
        # Takes a whole packet.
        ...

    @abstractmethod
    def _gap(self, position: int, reason: GapReason, detail: str) -> None:
        # Takes note of bytes that are no packets.
        ...

    @abstractmethod
    def _bad(self, position: int, detail: str) -> None:
        # Takes note of a reserved or malformed packet; what follows up to the next synchronisation packet is lost.
        ...

    def feed(self, data: bytes) -> None:
        """Take the next bytes; a packet that is not whole waits."""
        data = self._rest + bytes(data) if self._rest else bytes(data)
        at, end = 0, len(data)
        while at < end:
            if self._hunting:
                at = self._hunt(data, at, end)
                if self._hunting:
                    break
            following = self._packets(data, at, end)
            if following == at:
                break
            at = following
        self._rest = data[at:]
        self._base += at

    def _hunt(self, data: bytes, at: int, end: int) -> int:
        sync = self._form.sync
        found = data.find(sync, at)
        if found < 0:
            # Keep what may be the beginning of the packet.
            following = max(at, end - len(sync) + 1)
            self._skipped += following - at
            return following
        self._skipped += found - at
        self._hunting = False
        return found

    def _packet(self, data: bytes, at: int, end: int) -> int:
        # Handles one packet and returns the index after it; ``at`` when it is not whole.
        header = self._table[data[at]]
        size = header.length(data, at, end)
        if size == NEED_MORE:
            return at
        position = self._base + at
        kind = self._kind_of(header, data, at) if size > 0 else self._form.reserved
        if kind is self._form.reserved:
            # Only bytes that were needed to know: others may not have come yet.
            self._bad(position, data[at : at + max(size, 1)].hex(" "))
            self._hunting = True
            self._informed = False
            return at + 1
        if kind is self._form.opening and not self._informed:
            self._inform(position)
        if self._informed:
            self._handle(kind, data, at, position)
        elif kind is not self._form.sync_kind:
            self._skipped += size
        return at + size

    def _packets(self, data: bytes, at: int, end: int) -> int:
        # Takes one or more whole packets and returns the index after them; ``at`` when there is none.
        return self._packet(data, at, end)

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
