"""Units, and streams written as hexadecimal text."""

from __future__ import annotations

from typing import Iterable, List, Optional, Tuple, Union

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Event, Range
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.decoder import Decoder
from gdb_etm.protocols.recorder import Recorder
from tests.protocols.armv7_lines import line
from tests.protocols.etmv4.streams import Code, program, same

# An A-sync packet.
ASYNC = "000000000080 "
# A unit with the original branch encoding, as in a Cortex-A7.
A_PROFILE = Etmv3Config(trace_id=0x10, version=5, m_profile=False, wide_timestamps=True)
# A unit as in a Cortex-M4.
M_PROFILE = Etmv3Config(trace_id=0x10, version=5, m_profile=True, alternative_branches=True)
# The same, cycle-accurate.
CYCLES = A_PROFILE._replace(cycle_accurate=True)
# A unit that traces loads and stores, as in a Cortex-R4.
DATA = A_PROFILE._replace(version=1, data_addresses=True, data_values=True)

__all__ = ["Code", "program", "same"]

Element = Tuple[int, Union[Range, Event]]


def history_of(recorder: Recorder, decoder: Decoder) -> ExecutionHistory:
    """Make the history of a recording."""
    source = TraceSource("ETM_0", "etmv3", {}, None, ())
    return ExecutionHistory(recorder, source, decoder.automaton.blocks, BufferEnd.STARTED)


def decode(config: Etmv3Config, memory: Program, data: bytes, decoder: Optional[Decoder] = None) -> List[Element]:
    """Decode a stream in one piece, by default with nothing learned before."""
    decoder = decoder or Decoder(config, memory)
    return list(history_of(decoder.decode(data, same), decoder).elements())


def decode_pieces(decoder: Decoder, pieces: Iterable[bytes]) -> List[Element]:
    """Decode a stream fed in pieces."""
    decoding = decoder.begin(same)
    for piece in pieces:
        decoding.feed(piece)
    return list(history_of(decoding.finish(), decoder).elements())


def story(config: Etmv3Config, memory: Program, text: str) -> List[str]:
    """Decode a stream written in hexadecimal; each element is a line."""
    return [line(element) for _, element in decode(config, memory, bytes.fromhex(text))]
