"""Buffers written as pairs of words, decoded to readable lines."""

from __future__ import annotations

import re
from struct import pack
from typing import List, Optional

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.protocols.mtb.config import BufferEnds, MtbConfig
from gdb_etm.protocols.mtb.decoder import Decoder
from tests.protocols.armv7_lines import line
from tests.protocols.histories import same

_PACKET = re.compile(r"([0-9a-f]+)(!?)>([0-9a-f]+)(\*?)")


def buffer(text: str) -> bytes:
    """Make a buffer of packets such as ``104>100 10e!>140*``.

    Source and destination in hexadecimal; ``!`` is the A bit and ``*`` the S bit (DDI 0486, figure 2.4).
    """
    found = [_PACKET.fullmatch(word) for word in text.split()]
    return b"".join(
        pack("<II", int(one[1], 16) | bool(one[2]), int(one[3], 16) | bool(one[4])) for one in found if one is not None
    )


def history(
    program: Program, data: bytes, ends: BufferEnds = BufferEnds(), vtor: Optional[int] = 0
) -> ExecutionHistory:
    """Decode a buffer."""
    decoder = Decoder(MtbConfig(vtor=vtor), program)
    source = TraceSource("MTB_0", "mtb", {}, None, ())
    return ExecutionHistory(decoder.decode(data, same, ends=ends), source, decoder.automaton.blocks, BufferEnd.UNKNOWN)


def story(program: Program, text: str, ends: BufferEnds = BufferEnds(), vtor: Optional[int] = 0) -> List[str]:
    """Decode a buffer written as text; each element is a line."""
    return [line(element) for _, element in history(program, buffer(text), ends, vtor).elements()]
