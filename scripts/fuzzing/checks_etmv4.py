"""ETMv4: random executions of random programs, any packets, any bytes."""

from __future__ import annotations

import shutil
from typing import Dict

from fuzzing.check import Check
from hypothesis import strategies as st

from tests.protocols.etmv4 import data_streams, streams
from tests.protocols.etmv4.differential import properties, soup, verdict
from tests.protocols.etmv4.differential.case import Case, cases

CUTS = st.lists(st.integers(0, 400), max_size=6)
FLIPS = st.lists(st.tuples(st.integers(0, 999), st.integers(1, 255)), min_size=1, max_size=8)
SEED = st.integers(0, (1 << 32) - 1)
UNIT = st.sampled_from(sorted(soup.UNITS))


def checks() -> Dict[str, Check]:
    """List what can be checked, by name."""
    anything = {"case": _case(False)}
    packets = {"unit": UNIT, "seed": SEED, "packets": st.integers(1, 150), "flips": FLIPS, "cuts": CUTS}
    any_bytes = {"unit": UNIT, "data": hexadecimal(streams.ASYNC + "01 00"), "cuts": CUTS}
    found = {
        "ETMv4 truth": Check("differential", anything, lambda case: verdict.check_truth(Case(**case))),
        "ETMv4 packets": Check("robust", packets, _packets),
        "ETMv4 bytes": Check("robust", any_bytes, _bytes),
        "ETMv4 data bytes": Check("robust", {"data": hexadecimal(data_streams.START), "cuts": CUTS}, _data_bytes),
        "ETMv4 flipped bits": Check("robust", {"case": _case(False), "flips": FLIPS}, _flipped_bits),
    }
    if shutil.which("trc_pkt_lister"):
        portable = {"case": _case(True)}
        found["ETMv4 OpenCSD"] = Check("differential", portable, lambda case: verdict.check_opencsd(Case(**case)))
    return found


def hexadecimal(*beginnings: str) -> st.SearchStrategy:
    """Give any bytes as digits, often after one of these beginnings."""
    heads = st.sampled_from(("",) + tuple(bytes.fromhex(text).hex() for text in beginnings))
    return st.builds(lambda head, data: head + data.hex(), heads, st.binary(max_size=400))


def _case(portable: bool) -> st.SearchStrategy:
    return cases(portable).map(Case._asdict)


def _packets(unit: str, seed: int, packets: int, flips: list, cuts: list) -> None:
    properties.check_stream(soup.Stream.of(unit, seed, packets, flips), cuts)


def _bytes(unit: str, data: str, cuts: list) -> None:
    properties.check_stream(soup.Stream(unit, 0, bytes.fromhex(data)), cuts)


def _data_bytes(data: str, cuts: list) -> None:
    properties.check_data_stream(data_streams.UNIT, bytes.fromhex(data), cuts)


def _flipped_bits(case: dict, flips: list) -> None:
    synchronised = Case(**case)._replace(sync_period=case["sync_period"] or 10, cut=0)
    properties.check_recovery(synchronised, flips)
