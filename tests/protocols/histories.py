"""Histories of decoded streams, for every protocol."""

from __future__ import annotations

from typing import Dict, Iterable, List, Tuple, Union

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import Event, Range
from gdb_etm.protocols.etmv3.decoder import Decoder as Etmv3Decoder
from gdb_etm.protocols.etmv4.decoder import Decoder as Etmv4Decoder
from gdb_etm.protocols.ptm.decoder import Decoder as PtmDecoder
from gdb_etm.protocols.recorder import Recorder

AnyDecoder = Union[Etmv3Decoder, Etmv4Decoder, PtmDecoder]
Element = Tuple[int, Union[Range, Event]]

_PROTOCOLS: Dict[type, str] = {Etmv3Decoder: "etmv3", Etmv4Decoder: "etmv4", PtmDecoder: "ptm"}


def same(position: int) -> int:
    """Map a stream's position to the same offset."""
    return position


def history_of(recorder: Recorder, decoder: AnyDecoder) -> ExecutionHistory:
    """Make the history of a recording."""
    source = TraceSource("ETM_0", _PROTOCOLS[type(decoder)], {}, None, ())
    return ExecutionHistory(recorder, source, decoder.automaton.blocks, BufferEnd.STARTED)


def decode(decoder: AnyDecoder, data: bytes) -> List[Element]:
    """Decode a stream in one piece."""
    return list(history_of(decoder.decode(data, same), decoder).elements())


def history_of_pieces(decoder: AnyDecoder, pieces: Iterable[bytes]) -> ExecutionHistory:
    """Make the history of a stream fed in pieces."""
    decoding = decoder.begin(same)
    for piece in pieces:
        decoding.feed(piece)
    return history_of(decoding.finish(), decoder)


def decode_pieces(decoder: AnyDecoder, pieces: Iterable[bytes]) -> List[Element]:
    """Decode a stream fed in pieces."""
    return list(history_of_pieces(decoder, pieces).elements())
