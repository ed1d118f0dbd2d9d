"""Property tests: any bytes, for every kind of unit.

Streams are any bytes; soups, that is well-formed packets of every kind in random order, as they are or damaged; and
recordings of random executions with flipped bits.
"""

from __future__ import annotations

from typing import List, Tuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdb_etm.protocols.etmv4.data.decoder import decode_data
from gdb_etm.protocols.etmv4.decoder import Decoder
from tests.protocols.etmv4.data_streams import START as DATA_START
from tests.protocols.etmv4.data_streams import UNIT as DATA_UNIT
from tests.protocols.etmv4.differential.case import Case, cases
from tests.protocols.etmv4.differential.properties import (
    check_data_stream,
    check_recovery,
    check_stream,
    count_calls,
)
from tests.protocols.etmv4.differential.soup import UNITS, Stream, soup
from tests.protocols.etmv4.streams import ASYNC, decode
from tests.protocols.histories import same

# The same streams in every run.
_STABLE = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
_START = bytes.fromhex(ASYNC + "01 00")
_DATA_START = bytes.fromhex(DATA_START)

Flips = List[Tuple[int, int]]
seeds = st.integers(0, (1 << 32) - 1)
flips = st.lists(st.tuples(st.integers(0, 999), st.integers(1, 255)), max_size=5)
cuts = st.lists(st.integers(0, 400), max_size=6)
starts = st.sampled_from((b"", _START))
data_starts = st.sampled_from((b"", _DATA_START, _DATA_START + b"\x00\x11"))


@pytest.mark.parametrize("unit", UNITS)
@given(seed=seeds, packets=st.integers(1, 60), damage=flips, splits=cuts)
@settings(max_examples=40, **_STABLE)
def test_any_packets(unit: str, seed: int, packets: int, damage: Flips, splits: List[int]) -> None:
    check_stream(Stream.of(unit, seed, packets, damage), splits)


@pytest.mark.parametrize("unit", UNITS)
@given(start=starts, data=st.binary(max_size=200), splits=cuts)
@settings(max_examples=30, **_STABLE)
def test_any_bytes(unit: str, start: bytes, data: bytes, splits: List[int]) -> None:
    check_stream(Stream(unit, 0, start + data), splits)


@given(start=data_starts, data=st.binary(max_size=200), splits=cuts)
@settings(max_examples=200, **_STABLE)
def test_any_bytes_of_a_data_stream(start: bytes, data: bytes, splits: List[int]) -> None:
    check_data_stream(DATA_UNIT, start + data, splits)


@given(seed=seeds, packets=st.integers(1, 60), data=st.binary(max_size=200))
@settings(max_examples=100, **_STABLE)
def test_any_transfers_beside_any_packets(seed: int, packets: int, data: bytes) -> None:
    stream = Stream.of("data", seed, packets, [])
    transfers = decode_data(stream.config, _DATA_START + b"\x00\x17" + data, same)
    recorder = Decoder(stream.config, stream.program()).decode(stream.data, same, transfers=transfers)
    alone = Decoder(stream.config, stream.program()).decode(stream.data, same)
    # What ran does not depend on the data stream.
    assert list(recorder.order) == list(alone.order)


@given(case=cases(portable=False), damage=flips)
@settings(max_examples=300, **_STABLE)
def test_flipped_bits(case: Case, damage: Flips) -> None:
    period = case.sync_period or 10
    check_recovery(case._replace(sync_period=period, cut=0), damage or [(500, 1)])


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_stream(unit: str) -> None:
    short, long = (soup(unit, 1, packets) for packets in (250, 1000))
    program = Stream(unit, 1, b"").program()
    config = UNITS[unit][1]
    # What is learned of the program is learned once.
    calls = [count_calls(lambda: decode(config, program, data)) for data in (short, long)]
    assert calls[1] / len(long) < 1.5 * calls[0] / len(short)


@pytest.mark.parametrize("packet", ["ac ff ff ff 7f", "2d ff ff ff 7f", "2e ff ff ff 7f", "f4", "30", "2c", "00"])
@pytest.mark.parametrize("unit", UNITS)
def test_no_packet_takes_long(unit: str, packet: str) -> None:
    # Counts as large as can be written, and whatever is many elements in a byte.
    stream = Stream(unit, 1, b"")
    head = soup(unit, 1, 0)
    data = [head + bytes.fromhex(packet) * times for times in (10, 40)]
    calls = [count_calls(lambda: decode(stream.config, stream.program(), one)) for one in data]
    assert calls[1] < 5 * calls[0]
