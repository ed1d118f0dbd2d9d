"""A buffer's packets one by one, with their fields in words."""

from __future__ import annotations

from typing import Callable, Iterator

from gdb_etm.protocols.mtb.config import MtbConfig
from gdb_etm.protocols.mtb.packets import SIZE, MtbPacket, is_exc_return, read_packets
from gdb_etm.protocols.packet import Packet


def list_packets(config: MtbConfig, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
    """Iterate over the packets of a buffer, the oldest first."""
    for at, packet in read_packets(data):
        yield Packet(offset_of(at), data[at : at + SIZE], _name(packet), _words(packet))
    rest = len(data) % SIZE
    if rest:
        yield Packet(offset_of(len(data) - rest), data[-rest:], "packet", "cut by the end of the buffer")


def _name(packet: MtbPacket) -> str:
    if packet.completes_return or is_exc_return(packet.destination):
        return "exception return"
    return "exception or debug" if packet.atomic else "branch"


def _words(packet: MtbPacket) -> str:
    words = "0x%08x -> 0x%08x" % (packet.source, packet.destination)
    return words + ", tracing started" if packet.start else words
