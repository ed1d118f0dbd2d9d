"""Trace packets as text, one a line."""

from __future__ import annotations

from typing import Iterable, Iterator, Tuple

from gdb_etm.protocols.packet import Packet

_RAW_BYTES = 12
_NAME_WIDTH = 24


def packet_lines(packets: Iterable[Tuple[int, Packet]], first: int, ids: bool) -> Iterator[str]:
    """Write packets in columns of fixed width.

    So a listing of any length can be printed as it is made.

    :param packets: Each with its trace ID.
    :param first: The number of the first one.
    :param ids: Whether to show the trace IDs.
    """
    for number, (trace_id, packet) in enumerate(packets, first):
        raw = packet.raw[:_RAW_BYTES].hex(" ") + (" .." if len(packet.raw) > _RAW_BYTES else "")
        where = "%-6d 0x%06x  " % (number, packet.offset) + ("0x%02x  " % trace_id if ids else "")
        yield (where + "%-*s  %-*s  %s" % (3 * _RAW_BYTES + 2, raw, _NAME_WIDTH, packet.name, packet.fields)).rstrip()
