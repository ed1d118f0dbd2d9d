"""Units, and streams written as hexadecimal text."""

from __future__ import annotations

from typing import List

from gdb_etm.program.image import Program
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.decoder import Decoder
from tests.protocols import histories
from tests.protocols.armv7_lines import line
from tests.protocols.histories import Element

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


def decode(config: Etmv3Config, memory: Program, data: bytes) -> List[Element]:
    """Decode a stream in one piece, with nothing learned before."""
    return histories.decode(Decoder(config, memory), data)


def story(config: Etmv3Config, memory: Program, text: str) -> List[str]:
    """Decode a stream written in hexadecimal; each element is a line."""
    return [line(element) for _, element in decode(config, memory, bytes.fromhex(text))]
