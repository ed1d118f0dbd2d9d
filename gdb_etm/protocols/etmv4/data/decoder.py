"""Decoder of the data stream: from bytes to elements.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 5.4 and 6.5.
"""

from __future__ import annotations

from typing import Callable, List, Optional

from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.elements import DataElement
from gdb_etm.protocols.etmv4.data.headers import build_data_table, data_packet_kind
from gdb_etm.protocols.etmv4.data.reader import DataReader
from gdb_etm.protocols.etmv4.packets import FORM, Kind
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.stream import PacketStream, feed_pieces

# Bytes fed at a time; they take longer than those of an instruction stream.
_PIECE = 1 << 15
_ADDRESSED = (Kind.P1_1, Kind.P1_2, Kind.P1_3, Kind.P1_4)


def decode_data(
    config: Etmv4Config,
    data: bytes,
    offset_of: Callable[[int], int],
    progress: Optional[Callable[[int], None]] = None,
) -> List[DataElement]:
    """Decode a whole data stream.

    :param config: The unit's configuration.
    :param data: The stream's bytes.
    :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
    :param progress: Called now and then with the number of bytes decoded since it was called last; what it raises
        ends the work.
    """
    decoding = DataDecoding(config, offset_of)
    with garbage_uncollected():
        feed_pieces(decoding.feed, data, progress, _PIECE)
    return decoding.finish()


class DataDecoding(PacketStream[Kind]):
    """One data stream being decoded, fed in any split.

    :param config: The unit's configuration.
    :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
    """

    def __init__(self, config: Etmv4Config, offset_of: Callable[[int], int]) -> None:
        super().__init__(FORM, build_data_table(config), data_packet_kind)
        self._elements: List[DataElement] = []
        # The index of the last element that has an address: P1 format 7 puts it right.
        self._last_address = -1
        self._offset_of = offset_of
        self._reader = DataReader(config)

    def finish(self) -> List[DataElement]:
        """End the stream and give its elements in order."""
        self._end()
        return self._elements

    def _handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        found = self._reader.read(kind, data, at, self._offset_of(position))
        if kind is not Kind.P1_7:
            self._elements.extend(found)
            if kind in _ADDRESSED:
                self._last_address = len(self._elements) - 1
        elif found:
            self._elements[self._last_address] = found[0]

    def _gap(self, position: int, reason: GapReason, detail: str) -> None:
        self._elements.append(Gap(self._offset_of(position), reason, detail))

    def _bad(self, position: int, detail: str) -> None:
        self._gap(position, GapReason.BAD_PACKET, detail)
