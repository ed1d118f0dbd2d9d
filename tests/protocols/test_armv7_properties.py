"""Property tests of ETMv3 and PTM: any bytes, any split.

Streams are of four kinds: any bytes; good packets at random, which no unit would emit in that order; what the encoder
makes of random walks; and real captures; all of them as they are or with one byte changed.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import List, NamedTuple, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.history.build import streams
from gdb_etm.program.image import Program
from gdb_etm.protocols.armv7 import automaton
from gdb_etm.protocols.armv7 import transition_cache as memories
from gdb_etm.protocols.elements import Exception_, Gap, Range
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.encode.data import DataConfig
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.armv7_soup import (
    CONFIGS,
    MEMORY,
    Config,
    Element,
    Unit,
    check_stream,
    cut,
    decode,
    packet_stream,
    packets,
    single_bytes,
    start,
)
from tests.protocols.etmv3.test_encoder_walks import record
from tests.shared import capture_folder

configs = st.sampled_from(CONFIGS)
seeds = st.integers(0, 1 << 32)
cut_places = st.lists(st.integers(0, 400), max_size=6)


@st.composite
def cases(draw: st.DrawFn) -> Tuple[Config, bytes]:
    config = draw(configs)
    kind = draw(st.integers(0, 3))
    if kind > 1:
        return config, packet_stream(config, draw(seeds), 80)
    data = draw(st.binary(max_size=300))
    return config, start(config) + data if kind else data


@given(cases(), cut_places)
@settings(max_examples=500)
def test_any_stream_in_any_split(case: Tuple[Config, bytes], cuts: List[int]) -> None:
    check_stream(*case, cuts)


@given(configs, st.lists(seeds, min_size=1, max_size=3))
@settings(max_examples=200)
def test_what_was_learned_changes_nothing(config: Config, numbers: List[int]) -> None:
    unit = Unit(config, MEMORY)
    for seed in numbers + numbers[:1]:
        data = packet_stream(config, seed, 60) * 2
        assert unit.decode([data]) == decode(config, MEMORY, data)


class Recorded(NamedTuple):
    """A good stream with its program."""

    config: Config
    memory: Program
    data: bytes


@lru_cache(maxsize=None)
def walked(seed: int) -> Recorded:
    """Trace a random walk; every third with loads and stores."""
    data = DataConfig(True, True, None, late=True) if seed % 3 == 0 else None
    _, capture, _, _ = record(seed, data=data, cancels=True)
    (source,) = capture.sources
    return Recorded(Etmv3Config.from_source(source), Program(source.images), capture.buffer[:6000])


@lru_cache(maxsize=None)
def captured(name: str, trace_id: int) -> Recorded:
    """Take the first bytes of a stream of a real capture."""
    (found,) = [one for one in streams(read_snapshot(capture_folder(name))[0]) if one.trace_id == trace_id]
    assert found.reader is not None
    return Recorded(found.reader.config(found.source), Program(found.source.images), bytes(found.data[:3000]))


def good(number: int) -> Recorded:
    """Return a good stream: of captures' units, then random walks."""
    if number < 4:
        return captured(*(("TC2", 0x10), ("TC2", 0x13), ("Snowball", 0x10), ("lpc1769-m3", 2))[number])
    return walked(number)


@pytest.mark.parametrize("number", range(16))
def test_good_streams_in_any_split(number: int) -> None:
    config, memory, data = good(number)
    whole = decode(config, memory, data)
    assert len(whole.elements) > 50
    unit = Unit(config, memory)
    choose = random.Random(number)
    for _ in range(5):
        cuts = [choose.randrange(len(data)) for _ in range(choose.randrange(1, 40))]
        assert unit.decode(cut(data, cuts)) == whole
    assert unit.decode(single_bytes(data)) == whole
    assert Unit(config, memory).decode(single_bytes(data)) == whole


@pytest.mark.parametrize("number", range(8))
def test_what_comes_again_is_the_same(number: int) -> None:
    # By the second time much of it is remembered, and by the third larger parts.
    config, memory, data = good(number)
    often = decode(config, memory, data * 4)
    assert Unit(config, memory).decode(single_bytes(data * 4)) == often


@pytest.mark.parametrize("remembered", [1, 7, 100])
@pytest.mark.parametrize("number", range(6))
def test_forgetting_changes_nothing(number: int, remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is remembered is bounded: trace that does not repeat must not take all memory.
    config, memory, data = good(number)
    expected = decode(config, memory, data * 3)
    monkeypatch.setattr(automaton, "_MAX_REMEMBERED", remembered)
    monkeypatch.setattr(memories, "_MAX_REMEMBERED", remembered)
    unit = Unit(config, memory)
    assert unit.decode([data * 3]) == expected
    assert unit.decode([data * 3]) == expected


def executed(elements: List[Element], begin: int) -> List[Tuple[int, object]]:
    """Return the instructions of the packets from a position on."""
    return [pair for pair in elements if begin <= pair[0] and isinstance(pair[1], (Range, Exception_))]


@pytest.mark.parametrize("seed", range(80))
def test_damage_is_confined(seed: int) -> None:
    config, memory, data = good(seed % 16)
    choose = random.Random(seed)
    place = choose.randrange(len(data))
    damaged = bytearray(data)
    damaged[place] ^= choose.randrange(1, 256)
    well = decode(config, memory, data).elements
    bad = decode(config, memory, bytes(damaged)).elements
    # Nothing before the packet that holds the damage is touched, but for the instruction before it, which may have been
    # cancelled or not.
    listed = packets(config, data)
    hit = max(packet.offset for packet in listed if packet.offset <= place)
    before = [pair for pair in well if pair[0] < hit][:-3]
    assert before == bad[: len(before)]
    # The next A-sync packet may be eaten by a packet that the damage made; after the one after that all is well again,
    # from the next I-sync packet on.
    syncs = [index for index, packet in enumerate(listed) if packet.name == "A-sync" and packet.offset > place]
    if len(syncs) > 1:
        after = listed[syncs[1] :]
        again = next((packet.offset for packet in after if packet.name.startswith("I-sync")), len(data))
        assert executed(bad, again + 1) == executed(well, again + 1)


def test_damage_is_mostly_seen() -> None:
    # Not every change can be: another atom is another good packet.  But gaps there are.
    gaps = 0
    for number in range(16):
        config, memory, data = good(number)
        damaged = bytearray(data)
        damaged[len(data) // 2 + number] = 0x10
        found = decode(config, memory, bytes(damaged)).elements
        gaps += any(isinstance(one, Gap) and one.reason.name in ("BAD_PACKET", "BAD_IMAGE") for _, one in found)
    assert gaps > 8
