"""From bytes to packets, the same for both streams of a unit.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.5 and 6.4.2, 6.5.2.
"""

from __future__ import annotations

from typing import Callable, Iterator, Sequence

from gdb_etm.protocols import stream
from gdb_etm.protocols.etmv4.packets import ASYNC, Header, Kind
from gdb_etm.protocols.packet import Packet

# ``kind_of(header, data, start)`` of the whole packet that begins at ``start``.
KindOf = Callable[[Header, bytes, int], Kind]

# Packets count from the Trace Info after an A-Sync on (2.5).
_FORM = stream.Form(ASYNC, Kind.ASYNC, Kind.TRACE_INFO, Kind.RESERVED)


def list_stream(
    table: Sequence[Header],
    kind_of: KindOf,
    words: Callable[[Kind, bytes, int], str],
    data: bytes,
    offset_of: Callable[[int], int],
) -> Iterator[Packet]:
    """Go through the packets of a stream; the parameters are those of :func:`gdb_etm.protocols.stream.list_stream`."""
    return stream.list_stream(_FORM, table, kind_of, words, data, offset_of)


class PacketStream(stream.PacketStream[Header, Kind]):
    """Finds the packets of one stream, whose bytes may come in any split.

    :param table: The stream's 256 headers.
    :param kind_of: Tells a packet's kind.
    """

    def __init__(self, table: Sequence[Header], kind_of: KindOf) -> None:
        super().__init__(_FORM, table, kind_of)
