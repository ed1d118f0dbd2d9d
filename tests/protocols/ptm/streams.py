"""Units, and streams written as hexadecimal text."""

from __future__ import annotations

from typing import List

from gdb_etm.program.image import Program
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.decoder import Decoder
from tests.protocols.armv7_lines import line
from tests.protocols.histories import decode

# An A-sync packet.
ASYNC = "000000000080 "
# A unit as in a Cortex-A15.
PLAIN = PtmConfig(trace_id=0x10, version=1, wide_timestamps=True)
# The same, cycle-accurate.
CYCLES = PLAIN._replace(cycle_accurate=True)
# The same, with its return stack in use.
STACK = PLAIN._replace(return_stack=True)


def story(config: PtmConfig, memory: Program, text: str) -> List[str]:
    """Decode a stream written in hexadecimal; each element is a line."""
    return [line(element) for _, element in decode(Decoder(config, memory), bytes.fromhex(text))]
