"""Property tests: any bytes, any split, any earlier trace.

Streams are of three kinds: any bytes; packets put together at random, which no unit would emit; and what the encoder
makes of random walks, as it is or with one byte changed.
"""

from __future__ import annotations

import random
from typing import List, NamedTuple, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Cycles, Exception_, Gap, Range
from gdb_etm.protocols.etmv4 import fast_path, transitions
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from gdb_etm.protocols.etmv4.encode.config import EncoderConfig
from gdb_etm.protocols.etmv4.encode.encoder import Encoder
from gdb_etm.protocols.etmv4.listing import list_packets
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, M_PROFILE, Code, decode, program
from tests.protocols.etmv4.walker import RandomProgram, Walk
from tests.protocols.histories import Element, decode_pieces, same

CONFIGS = [
    M_PROFILE,
    M_PROFILE._replace(return_stack=True),
    M_PROFILE._replace(return_stack=True, version=6, commit_mode=0, waits=True, futures=True),
    A_PROFILE._replace(return_stack=True),
    A_PROFILE._replace(version=0, vmid_bytes=1, commit_mode=0),
    A_PROFILE._replace(max_speculation=8),
]

# T32 at 0x1000: a call to itself, a return, a call by register, a conditional branch, a load to PC, plain code up to
# missing memory.  A32 and A64 at 0x2000 and 0x3000: a call, a branch back, a return.
MEMORY = program(
    Code(0x1000, "fff7feff 7047 9847 fad0 00bf fee7 10bd fff7f6ff 0120 0120"),
    Code(0x2000, "fefffeeb 00f020e3 fcffffea 1eff2fe1 1eff2f11"),
    Code(0x3000, "00000094 1f2003d5 feffff17 c0035fd6 40000054"),
)

# Packets of all kinds, whole and sound; most of them move the execution or tell where it is.
PACKETS = [
    bytes.fromhex(text)
    for text in (
        ["f6", "f7", "d8", "d9", "db", "f8", "fb", "ff", "dc", "de", "df", "f5", "d6", "c0", "c8", "d4", "e0", "f4"]
        + ["96 00", "96 02", "96 03", "96 04", "96 06", "96 07", "96 80 10", "96 8a 10", "96 90 11"]
        + ["95 00", "95 80 10", "95 80 18", "95 81 18", "95 03", "90", "91", "92"]
        + ["9b 00 10 00 00", "9a 00 10 00 00", "9a 00 18 00 00", "9d 00 18 00 00 00 00 00 00"]
        + ["80", "81 00", "81 10", "81 30", "81 a1 01 00 00 00", "82 00 18 00 00 10", "83 00 10 00 00 00"]
        + ["04", "06 1d 90", "06 1d 96 03", "06 5c 96 02", "06 33 96 03", "06 03 90", "06 1d 9b 7f ff ff ff", "07"]
        + ["02 05", "03 05 06", "0e 04", "0f", "12", "71", "70", "20", "2d 01", "af", "a6 03 01", "43"]
        + ["01 00", "01 01 00", ASYNC + "01 00", ASYNC, "00 05", "00 03", "01 01 10", "09", "00"]
    )
]
START = bytes.fromhex(ASYNC + "01 00 04 81 00 9b 00 10 00 00")

configs = st.sampled_from(CONFIGS)
packet_streams = st.lists(st.sampled_from(PACKETS), max_size=60).map(b"".join).map(START.__add__)
any_streams = st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(START.__add__), packet_streams)
cut_places = st.lists(st.integers(0, 400), max_size=6)


def pieces(data: bytes, cuts: List[int]) -> List[bytes]:
    ends = sorted(min(cut, len(data)) for cut in cuts)
    return [data[start:end] for start, end in zip([0] + ends, ends + [len(data)])]


def single_bytes(data: bytes) -> List[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@given(configs, any_streams)
@settings(max_examples=300)
def test_no_bytes_make_it_fail(config: Etmv4Config, data: bytes) -> None:
    found = decode(config, MEMORY, data)
    for offset, element in found:
        assert 0 <= offset <= len(data)
        if isinstance(element, Range):
            assert element.instructions > 0
            assert MEMORY.read(element.start, element.end - element.start)
    assert b"".join(packet.raw for packet in list_packets(config, data, same)) == data


@given(configs, any_streams)
@settings(max_examples=200)
def test_offsets_never_go_back(config: Etmv4Config, data: bytes) -> None:
    # But for cycle counts of a unit that speculates: they stand at the last commit.
    found = decode(config, MEMORY, data)
    offsets = [offset for offset, element in found if not (config.max_speculation and isinstance(element, Cycles))]
    assert offsets == sorted(offsets)


@given(configs, any_streams, cut_places)
@settings(max_examples=300)
def test_any_split_gives_the_same(config: Etmv4Config, data: bytes, cuts: List[int]) -> None:
    whole = decode(config, MEMORY, data)
    assert decode_pieces(Decoder(config, MEMORY), pieces(data, cuts)) == whole


@given(configs, packet_streams)
@settings(max_examples=300)
def test_byte_by_byte_gives_the_same(config: Etmv4Config, data: bytes) -> None:
    # No stretch of more than a byte can then be remembered, so what is remembered is left out of the comparison.
    assert decode_pieces(Decoder(config, MEMORY), single_bytes(data)) == decode(config, MEMORY, data)


@given(configs, st.lists(packet_streams, min_size=1, max_size=3))
@settings(max_examples=200)
def test_what_was_learned_changes_nothing(config: Etmv4Config, streams: List[bytes]) -> None:
    decoder = Decoder(config, MEMORY)
    for data in streams + streams[:1]:
        assert decode_pieces(decoder, [data]) == decode(config, MEMORY, data)


class Recorded(NamedTuple):
    """What an encoder made of a random walk."""

    memory: Program
    data: bytes


def recorded(seed: int) -> Recorded:
    dice = random.Random(seed)
    code = RandomProgram(seed)
    out = bytearray()
    options = EncoderConfig(
        return_stack=True,
        timestamps=dice.random() < 0.3,
        threshold=dice.choice((None, 20)),
        sync_period=dice.choice((64, 128)),
    )
    unit = Encoder(options, code.read, out.extend)
    unit.enable()
    Walk(code, unit, seed).run(600)
    unit.disable()
    return Recorded(Program([MemoryImage(base, piece, "code") for base, piece in code.pieces]), bytes(out))


UNIT = M_PROFILE._replace(return_stack=True)


@pytest.mark.parametrize("seed", range(20))
def test_good_streams_in_any_split(seed: int) -> None:
    memory, data = recorded(seed)
    whole = decode(UNIT, memory, data)
    assert len(whole) > 50
    decoder = Decoder(UNIT, memory)
    choose = random.Random(seed)
    for _ in range(5):
        cuts = [choose.randrange(len(data)) for _ in range(choose.randrange(1, 40))]
        assert decode_pieces(decoder, pieces(data, cuts)) == whole
    assert decode_pieces(decoder, single_bytes(data)) == whole
    assert decode_pieces(Decoder(UNIT, memory), single_bytes(data)) == whole


@pytest.mark.parametrize("remembered", [1, 7, 100])
def test_forgetting_changes_nothing(remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is remembered is bounded: trace that does not repeat must not take all memory.
    memory, data = recorded(3)
    expected = decode(UNIT, memory, data)
    monkeypatch.setattr(transitions, "_MAX_REMEMBERED", remembered)
    monkeypatch.setattr(fast_path, "_MAX_REMEMBERED", remembered)
    decoder = Decoder(UNIT, memory)
    assert decode_pieces(decoder, [data]) == expected
    assert decode_pieces(decoder, [data]) == expected


def executed(elements: List[Element], begin: int, end: int) -> List[Tuple[int, object]]:
    """Return what was executed by packets within a part of the stream."""
    return [pair for pair in elements if begin <= pair[0] < end and isinstance(pair[1], (Range, Exception_))]


@pytest.mark.parametrize("seed", range(60))
def test_damage_is_confined(seed: int) -> None:
    memory, data = recorded(seed % 20)
    choose = random.Random(seed)
    place = choose.randrange(len(data))
    damaged = bytearray(data)
    damaged[place] ^= choose.randrange(1, 256)
    good = decode(UNIT, memory, data)
    bad = decode(UNIT, memory, bytes(damaged))
    # Nothing before the packet that holds the damage is touched.
    packets = list(list_packets(UNIT, data, same))
    hit = max(packet.offset for packet in packets if packet.offset <= place)
    assert [pair for pair in good if pair[0] < hit] == [pair for pair in bad if pair[0] < hit]
    # The next A-Sync may be eaten by a packet that the damage made; after the one after that all is well again, from
    # the first address on.
    syncs = [index for index, packet in enumerate(packets) if packet.name == "A-Sync" and packet.offset > place]
    if len(syncs) > 1:
        after = packets[syncs[1] :]
        again = next((packet.offset for packet in after if "Address" in packet.name), len(data))
        assert executed(bad, again + 1, len(data)) == executed(good, again + 1, len(data))


def test_damage_is_mostly_seen() -> None:
    # Not every change can be: another atom is another good packet.  But gaps there are.
    gaps = 0
    for seed in range(30):
        memory, data = recorded(seed % 10)
        damaged = bytearray(data)
        damaged[len(data) // 2 + seed] = 0x09
        found = decode(UNIT, memory, bytes(damaged))
        gaps += any(isinstance(element, Gap) and element.reason.name != "TRACE_ON" for _, element in found)
    assert gaps > 15
