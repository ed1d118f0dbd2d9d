"""Data streams to decode: their bytes in hexadecimal, and elements without offsets."""

from __future__ import annotations

from typing import List, Tuple, Union

from gdb_etm.protocols.elements import Gap, GapReason, TraceEvent
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.decoder import decode_data
from gdb_etm.protocols.etmv4.data.elements import P1, P2, DataElement, Suppression
from gdb_etm.protocols.etmv4.log import Marker, Time

# A-Sync and Trace Info of a data stream.
START = "00 00 00 00 00 00 00 00 00 00 00 80 00 01 00"

# A unit with data trace, and 32 keys of each kind.
UNIT = Etmv4Config(
    trace_id=0x10,
    version=5,
    m_profile=True,
    return_stack=False,
    commit_mode=1,
    context_id_bytes=0,
    vmid_bytes=0,
    waits=False,
    futures=False,
    max_speculation=0,
    loads=True,
    stores=True,
    data_addresses=True,
    data_values=True,
    data_trace_id=0x11,
    p0_keys=32,
    p1_keys=32,
)

Plain = Tuple[Union[str, int, bool, None, GapReason], ...]


def same(position: int) -> int:
    return position


def plain(element: DataElement) -> Plain:
    """Make an element comparable without its offset."""
    if isinstance(element, P1):
        return ("P1",) + tuple(element[1:])
    if isinstance(element, P2):
        return "P2", element.value, element.key
    if isinstance(element, Marker):
        return "marker", element.number
    if isinstance(element, Time):
        return "time", element.value
    if isinstance(element, Gap):
        return "gap", element.reason
    if isinstance(element, Suppression):
        return ("suppression",)
    assert isinstance(element, TraceEvent)
    return "event", element.number


def decode(text: str, config: Etmv4Config = UNIT) -> List[Plain]:
    """Decode hexadecimal bytes that follow an A-Sync and a Trace Info."""
    return [plain(element) for element in decode_data(config, bytes.fromhex(START + text), same)]
