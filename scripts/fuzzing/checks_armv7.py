"""ETMv3, its data trace, and PTM: any packets and any bytes.

Packets come as they are, or with bits flipped.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

from fuzzing.check import Check
from hypothesis import strategies as st

from gdb_etm.protocols.ptm.config import PtmConfig
from tests.protocols.armv7_soup import CONFIGS, check_stream, packet_stream, start

UNITS = range(len(CONFIGS))
CUTS = st.lists(st.integers(0, 400), max_size=6)
FLIPS = st.lists(st.tuples(st.integers(0, 999), st.integers(1, 255)), max_size=8)


def checks() -> Dict[str, Check]:
    """List what can be checked, by name."""
    found = {}
    for name in ("ETMv3", "ETMv3 data trace", "PTM"):
        unit = st.sampled_from([unit for unit in UNITS if _kind(unit) == name])
        packets = {"unit": unit, "seed": st.integers(0, (1 << 32) - 1), "packets": st.integers(1, 150)}
        found[name + " packets"] = Check("robust", {**packets, "flips": FLIPS, "cuts": CUTS}, _packets)
        data = st.binary(max_size=400).map(bytes.hex)
        begun = {"unit": unit, "synchronised": st.booleans(), "data": data, "cuts": CUTS}
        found[name + " bytes"] = Check("robust", begun, _bytes)
    return found


def _kind(unit: int) -> str:
    config = CONFIGS[unit]
    if isinstance(config, PtmConfig):
        return "PTM"
    return "ETMv3 data trace" if config.data_trace else "ETMv3"


def _packets(unit: int, seed: int, packets: int, flips: List[Tuple[int, int]], cuts: List[int]) -> None:
    data = bytearray(packet_stream(CONFIGS[unit], seed, packets))
    for place, bits in flips:
        data[len(data) * place // 1000] ^= bits
    check_stream(CONFIGS[unit], bytes(data), cuts)


def _bytes(unit: int, synchronised: bool, data: str, cuts: List[int]) -> None:
    config = CONFIGS[unit]
    check_stream(config, (start(config) if synchronised else b"") + bytes.fromhex(data), cuts)
