"""Random streams of ETMv3 and PTM units, and their invariants."""

from __future__ import annotations

import random
from typing import List, NamedTuple, Sequence, Union

from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Cycles, DataGap
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.decoder import Decoder as Etmv3Decoder
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.decoder import Decoder as PtmDecoder
from gdb_etm.protocols.registry import PROTOCOLS
from tests.protocols.etmv3 import dice as etmv3_dice
from tests.protocols.etmv3 import streams as etmv3
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.histories import Element, history_of_pieces, same
from tests.protocols.possible import Judge
from tests.protocols.ptm import dice as ptm_dice
from tests.protocols.ptm import streams as ptm

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
        self._decoder: Union[Etmv3Decoder, PtmDecoder]
        if isinstance(config, PtmConfig):
            self._decoder = PtmDecoder(config, memory)
        else:
            self._decoder = Etmv3Decoder(config, memory)

    def decode(self, pieces: List[bytes]) -> Found:
        """Decode a stream fed in pieces."""
        history = history_of_pieces(self._decoder, pieces)
        return Found(list(history.elements()), history.data_elements())


def decode(config: Config, memory: Program, data: bytes) -> Found:
    """Decode a stream in one piece, with nothing learned before."""
    return Unit(config, memory).decode([data])


def packets(config: Config, data: bytes) -> List[Packet]:
    """List the packets of a stream."""
    return list(PROTOCOLS[protocol_of(config)].packets(config, data, same))


def packet_stream(config: Config, seed: int, count: int) -> bytes:
    """Make a stream of good packets, mostly where code is."""
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


def cut(data: bytes, cuts: Sequence[int]) -> List[bytes]:
    ends = sorted(min(cut, len(data)) for cut in cuts)
    return [data[begin:end] for begin, end in zip([0] + ends, ends + [len(data)])]


def single_bytes(data: bytes) -> List[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def check_stream(config: Config, data: bytes, cuts: Sequence[int]) -> None:
    """Decode and list a stream over :data:`MEMORY`, in every way.

    :param cuts: Where to split it.
    :raises AssertionError: Something does not hold.
    """
    listed = packets(config, data)
    assert b"".join(packet.raw for packet in listed) == data
    found = decode(config, MEMORY, data)
    assert all(0 <= offset <= len(data) for offset, _ in found.elements)
    # But for the cycles of a gap, which a later packet tells, and for data of what did not complete.
    offsets = [offset for offset, element in found.elements if not isinstance(element, (Cycles, DataGap))]
    assert offsets == sorted(offsets)
    assert not _JUDGE.impossible(found.elements, listed)
    assert Unit(config, MEMORY).decode(cut(data, cuts)) == found
    # No stretch of more than a byte can then be remembered, so what is remembered is left out of the comparison.
    assert Unit(config, MEMORY).decode(single_bytes(data)) == found


_JUDGE = Judge(MEMORY)
