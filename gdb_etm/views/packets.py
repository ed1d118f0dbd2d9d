"""Trace packets as text, one a line: number, offset in the buffer, bytes, name and fields."""

from __future__ import annotations

from typing import Iterable, Iterator, Tuple

from gdb_etm.protocols.packet import Packet

_RAW_BYTES = 12
_NAME_WIDTH = 24


def packet_lines(packets: Iterable[Tuple[int, Packet]]) -> Iterator[str]:
    """Write packets with their numbers in columns of fixed width, so that a listing of any length streams."""
    for number, packet in packets:
        raw = packet.raw[:_RAW_BYTES].hex(" ") + (" .." if len(packet.raw) > _RAW_BYTES else "")
        line = "%-6d 0x%06x  %-*s  %-*s  %s"
        yield (
            line % (number, packet.offset, 3 * _RAW_BYTES + 2, raw, _NAME_WIDTH, packet.name, packet.fields)
        ).rstrip()
