"""A data stream's packets one by one, with their fields in words.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.5.
"""

from __future__ import annotations

from typing import Callable, Iterator

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.elements import P1, P2, DataElement
from gdb_etm.protocols.etmv4.data.headers import build_data_table, data_packet_kind
from gdb_etm.protocols.etmv4.data.reader import DataReader
from gdb_etm.protocols.etmv4.log import Marker, Time
from gdb_etm.protocols.etmv4.packets import FORM, Kind
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.stream import list_stream


def list_data_packets(config: Etmv4Config, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
    """Iterate over the packets of a data stream; see :func:`gdb_etm.protocols.stream.list_stream`."""
    reader = DataReader(config)

    def words(kind: Kind, data: bytes, at: int) -> str:
        found = [_words(element) for element in reader.read(kind, data, at, at)]
        return "; ".join(word for word in found if word)

    return list_stream(FORM, build_data_table(config), data_packet_kind, words, data, offset_of)


def _words(element: DataElement) -> str:
    if isinstance(element, P1):
        address = "no address"
        if element.address is not None:
            address = "0x%08x%s" % (element.address, " big-endian" if element.big_endian else "")
        index = ", index %d" % element.transfer if element.transfer else ""
        return "%s, P0 key %d, P1 key %d%s" % (address, element.left, element.right, index)
    if isinstance(element, P2):
        return "value 0x%x, P1 key %d" % (element.value, element.key)
    if isinstance(element, Marker):
        return "%d" % element.number if element.number is not None else ""
    return "0x%x" % element.value if isinstance(element, Time) else ""
