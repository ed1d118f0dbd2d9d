"""Streams in hexadecimal text, decoded to readable lines."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Union

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    Range,
    Timestamp,
    TraceEvent,
)
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from tests.protocols import histories
from tests.protocols.histories import Element

# An A-Sync packet.
ASYNC = "00" * 11 + "80 "
# A unit without speculation, as in a Cortex-A53.
A_PROFILE = Etmv4Config(
    trace_id=0x10,
    version=4,
    m_profile=False,
    return_stack=False,
    commit_mode=1,
    context_id_bytes=4,
    vmid_bytes=4,
    waits=False,
    futures=False,
    max_speculation=0,
)
# A unit as in a Cortex-M33.
M_PROFILE = A_PROFILE._replace(version=2, m_profile=True, context_id_bytes=0, vmid_bytes=0)


class Code(NamedTuple):
    """Program memory at an address."""

    address: int
    # Bytes in hexadecimal, in memory order.
    text: str


def program(*pieces: Code) -> Program:
    """Make a program of pieces of code."""
    return Program([MemoryImage(piece.address, bytes.fromhex(piece.text), "test") for piece in pieces])


def decode(config: Etmv4Config, memory: Program, data: bytes) -> List[Element]:
    """Decode a stream in one piece, with nothing learned before."""
    return histories.decode(Decoder(config, memory), data)


def line(element: Union[Range, Event]) -> str:
    """Write an element in a few words."""
    if isinstance(element, Range):
        return "%x-%x %d%s" % (element.start, element.end, element.instructions, "E" if element.taken else "N")
    if isinstance(element, Gap):
        where = "" if element.address is None else " %x" % element.address
        return "gap: %s%s" % (element.reason.value, where)
    if isinstance(element, Exception_):
        address = "unknown" if element.return_address is None else "%x" % element.return_address
        return "%s, return %s" % (element.name, address)
    if isinstance(element, ExceptionReturn):
        return "exception return"
    if isinstance(element, Timestamp):
        return "time %d" % element.value + ("" if element.cycles is None else " cycles %d" % element.cycles)
    if isinstance(element, Cycles):
        return "cycles %s" % ("unknown" if element.cycles is None else element.cycles)
    if isinstance(element, TraceEvent):
        return "event %d" % element.number
    return context_line(element)


def context_line(element: Context) -> str:
    """Write a context in a few words."""
    words = ["EL%d" % element.exception_level, "NS" if element.non_secure else "S"]
    words += ["64"] if element.sixty_four_bit else []
    words += [] if element.context_id is None else ["CID %x" % element.context_id]
    words += [] if element.vmid is None else ["VMID %x" % element.vmid]
    return " ".join(words)


def lines(elements: Sequence[Element]) -> List[str]:
    """Write elements without their offsets."""
    return [line(element) for _, element in elements]


def story(config: Etmv4Config, memory: Program, text: str) -> List[str]:
    """Decode a stream written in hexadecimal; each element is a line."""
    return lines(decode(config, memory, bytes.fromhex(text)))
