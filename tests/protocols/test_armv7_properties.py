"""Property tests of ETMv3 and PTM: no bytes make a decoder fail; how they arrive or what was learned changes nothing.

Streams are of four kinds: any bytes; good packets at random, which no unit would emit in that order; what the encoder
makes of random walks; and real captures; all of them as they are or with one byte changed.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import List, NamedTuple, Tuple, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.build import streams
from gdb_etm.history.store import History
from gdb_etm.program.image import Program
from gdb_etm.protocols.armv7 import automaton, memories
from gdb_etm.protocols.elements import Cycles, DataGap, Event, Exception_, Gap, Range
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.data_encoder import DataConfig
from gdb_etm.protocols.etmv3.decoder import Decoder as Etmv3Decoder
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.decoder import Decoder as PtmDecoder
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.registry import LANGUAGES
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.etmv3 import dice as etmv3_dice
from tests.protocols.etmv3 import streams as etmv3
from tests.protocols.etmv3.test_encoder_walks import record
from tests.protocols.etmv4.streams import Code, program, same
from tests.protocols.ptm import dice as ptm_dice
from tests.protocols.ptm import streams as ptm
from tests.shared import capture_folder

Config = Union[Etmv3Config, PtmConfig]
CONFIGS: List[Config] = [
    etmv3.A_PROFILE,
    etmv3.A_PROFILE._replace(whole_instructions=False, context_id_bytes=4),
    etmv3.M_PROFILE,
    etmv3.CYCLES,
    etmv3.CYCLES._replace(version=0, alternative_branches=True),
    etmv3.DATA,
    etmv3.DATA._replace(version=5, m_profile=True, alternative_branches=True, data_addresses=False, coprocessor=True),
    etmv3.DATA._replace(cycle_accurate=True, data_only=True),
    ptm.PLAIN,
    ptm.PLAIN._replace(version=0, context_id_bytes=2, barriers=True, gray_timestamps=True),
    ptm.CYCLES,
    ptm.STACK,
    ptm.STACK._replace(cycle_accurate=True, wide_timestamps=False),
]

# T32 at 0x1000: a call, a return, a call by register, a conditional branch, loads and stores, ISB, plain code up to
# missing memory.  A32 at 0x2000 and at the vectors.
MEMORY = program(
    Code(0x1000, "fff7feff 7047 9847 fad0 00bf fee7 10bd 06c8 0868 0860 bff36f8f fff7ecff 0120 0120"),
    Code(0x2000, "fefffeeb 00f020e3 0000a0e1 fcffffea 910002e1 100f10ee d000c2e1 1eff2fe1 1eff2f11"),
    Code(0x0000, "0000a0e1 0ef0b0e1 0ef0b0e1 0ef0b0e1 04f05ee2 00f020e3 04f05ee2 04f05ee2"),
)


Element = Tuple[int, Union[Range, Event]]


class Found(NamedTuple):
    """All that was decoded."""

    elements: List[Element]
    transfers: object


def protocol_of(config: Config) -> str:
    return "ptm" if isinstance(config, PtmConfig) else "etmv3"


class Unit:
    """A decoder and a way to ask it.

    :param memory: The program.
    """

    def __init__(self, config: Config, memory: Program) -> None:
        self._protocol = protocol_of(config)
        self._decoder: Union[Etmv3Decoder, PtmDecoder]
        if isinstance(config, PtmConfig):
            self._decoder = PtmDecoder(config, memory)
        else:
            self._decoder = Etmv3Decoder(config, memory)

    def decode(self, pieces: List[bytes]) -> Found:
        """Decode a stream fed in pieces."""
        decoding = self._decoder.begin(same)
        for piece in pieces:
            decoding.feed(piece)
        recorder: Recorder = decoding.finish()
        source = TraceSource("ETM_0", self._protocol, {}, None, ())
        history = History(recorder, source, self._decoder.automaton.blocks, BufferEnd.STARTED)
        return Found(list(history.elements()), history.data_elements())


def decode(config: Config, memory: Program, data: bytes) -> Found:
    """Decode a stream in one piece, with nothing learned before."""
    return Unit(config, memory).decode([data])


def packets(config: Config, data: bytes) -> List[Packet]:
    """List the packets of a stream."""
    return list(LANGUAGES[protocol_of(config)].packets(config, data, same))


def packet_stream(config: Config, seed: int, count: int) -> bytes:
    """Make a stream of good packets, most of which stay where there is code."""
    choose = random.Random(seed)
    dice = ptm_dice.Dice(seed, config) if isinstance(config, PtmConfig) else etmv3_dice.Dice(seed, config)
    found = [start(config)]
    for _ in range(count):
        if choose.random() < 0.3:
            found.append(dice.packet())
        else:
            found.append(choose.choice(SHORT))
    return b"".join(found)


# Atoms, P-headers and short branches; some data, for the units that trace it.
SHORT = [bytes([value]) for value in (0x84, 0x80, 0x86, 0x88, 0x8C, 0x92, 0xC4, 0x82, 0x96, 0x03, 0x05, 0x0D, 0x15)]
SHORT += [b"\x21"]
SHORT += [bytes.fromhex(text) for text in ("8d 80 80 80 48 1c", "81 a0 80 80 10", "81 a0 80 80 08", "84 02", "03 00")]
SHORT += [bytes.fromhex(text) for text in ("26 04 01", "06 02", "74 08", "24 05", "72 06", "76", "66")]


def start(config: Config) -> bytes:
    """Make what every stream begins with: A-sync, and I-sync for 0x1000."""
    context = bytes(config.context_id_bytes)
    address = bytes.fromhex("01 10 00 00")
    if isinstance(config, PtmConfig):
        count = b"\x04" if config.cycle_accurate else b""
        return bytes.fromhex(ptm.ASYNC) + b"\x08" + address + b"\x21" + count + context
    return bytes.fromhex(etmv3.ASYNC) + b"\x08" + context + b"\x21" + (b"" if config.data_only else address)


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


def cut(data: bytes, cuts: List[int]) -> List[bytes]:
    ends = sorted(min(cut, len(data)) for cut in cuts)
    return [data[begin:end] for begin, end in zip([0] + ends, ends + [len(data)])]


def single_bytes(data: bytes) -> List[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@given(cases())
@settings(max_examples=400, deadline=None)
def test_no_bytes_make_it_fail(case: Tuple[Config, bytes]) -> None:
    config, data = case
    for offset, element in decode(config, MEMORY, data).elements:
        assert 0 <= offset <= len(data)
        if isinstance(element, Range):
            assert element.instructions > 0
            assert MEMORY.read(element.start, element.end - element.start)
    assert b"".join(packet.raw for packet in packets(config, data)) == data


@given(cases())
@settings(max_examples=200, deadline=None)
def test_offsets_never_go_back(case: Tuple[Config, bytes]) -> None:
    # But for the cycles of a gap, which a later packet tells, and for data of what did not complete.
    found = decode(case[0], MEMORY, case[1]).elements
    offsets = [offset for offset, element in found if not isinstance(element, (Cycles, DataGap))]
    assert offsets == sorted(offsets)


@given(cases(), cut_places)
@settings(max_examples=300, deadline=None)
def test_any_split_gives_the_same(case: Tuple[Config, bytes], cuts: List[int]) -> None:
    config, data = case
    assert Unit(config, MEMORY).decode(cut(data, cuts)) == decode(config, MEMORY, data)


@given(cases())
@settings(max_examples=300, deadline=None)
def test_byte_by_byte_gives_the_same(case: Tuple[Config, bytes]) -> None:
    # No stretch of more than a byte can then be remembered, so what is remembered is left out of the comparison.
    config, data = case
    assert Unit(config, MEMORY).decode(single_bytes(data)) == decode(config, MEMORY, data)


@given(configs, st.lists(seeds, min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
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
    """Let the encoder trace a random walk; with every third, what is loaded and stored."""
    data = DataConfig(True, True, None, late=True) if seed % 3 == 0 else None
    _, capture, _, _ = record(seed, data=data, cancels=True)
    (source,) = capture.sources
    return Recorded(Etmv3Config.from_source(source), Program(source.images), capture.buffer[:6000])


@lru_cache(maxsize=None)
def captured(name: str, trace_id: int) -> Recorded:
    """Take the first bytes of a stream of a real capture."""
    (found,) = [one for one in streams(read_snapshot(capture_folder(name))[0]) if one.trace_id == trace_id]
    assert found.language is not None
    return Recorded(found.language.config(found.source), Program(found.source.images), bytes(found.data[:3000]))


def good(number: int) -> Recorded:
    """Give a good stream: those of four units of captures, then random walks."""
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
    """Return what was executed by packets from a place in the stream on."""
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
