"""Damaged captures: the decoded execution must be possible."""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import Callable, Dict, List, NamedTuple

from gdb_etm.capture import BufferEnd, RawCapture
from gdb_etm.framing.formatter import FRAME
from gdb_etm.history.build import SourceStream, streams
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.etmv3.encode.data import DataConfig
from tests.protocols.etmv3.test_encoder_walks import record as record_etmv3
from tests.protocols.etmv4.test_encoder_walks import record as record_etmv4
from tests.protocols.histories import same
from tests.protocols.possible import Judge
from tests.protocols.ptm.test_encoder_walks import Recorded as RecordedPtm
from tests.shared import SHARED, read_capture

# The captures beside the checkout.
REAL = (
    "Snowball",
    "TC2",
    "a55-test-tpiu",
    "a57_single_step",
    "armv8_1m_branches",
    "bugfix-exact-match",
    "init-short-addr",
    "juno_r1_1",
    "lpc1769-m3",
    "rp2350-m33-0",
    "trace_cov_a15",
    "v7m-svc",
    "v8m-svc",
)
# Random executions, traced by the boards' encoders.
WALKS: Dict[str, Callable[[], RawCapture]] = {
    "walk, ETMv3": lambda: record_etmv3(1)[1],
    "walk, ETMv3 with data": lambda: record_etmv3(3, data=DataConfig(True, True, None, late=True), cancels=True)[1],
    "walk, ETMv4": lambda: record_etmv4(1, True)[1],
    "walk, PTM": lambda: RecordedPtm(9).capture,
}
# Bytes of a stream, or of a buffer of frames, that are damaged at a time.
_LENGTH = 1500
_SYNC = re.compile(b"\0{5,}\x80")


class Case(NamedTuple):
    """A piece of a capture, damaged."""

    # A name of :data:`REAL` or :data:`WALKS`.
    capture: str
    # Decides which piece, and the damage.
    seed: int
    # Whether the buffer is damaged and not one source's bytes; it must be frames.
    frames: bool


def available() -> List[str]:
    """List the captures that are there."""
    return [name for name in REAL if (SHARED / "captures" / name).exists()] + list(WALKS)


def check(case: Case) -> int:
    """Decode a damaged piece of a capture.

    :returns: How many instructions are told.
    :raises AssertionError: One of them cannot have run.
    """
    choose = random.Random(case.seed)
    capture = _capture(case.capture)
    if case.frames and len(capture.buffer) >= 2 * FRAME:
        length = min(len(capture.buffer), 2 * _LENGTH) // FRAME * FRAME
        at = choose.randrange((len(capture.buffer) - length) // FRAME + 1) * FRAME
        buffer = damaged(capture.buffer[at : at + length], choose)
        return sum(_check_stream(case, one, one.data) for one in streams(capture._replace(buffer=buffer)))
    stream = choose.choice(_streams(case.capture))
    starts = [match.start() for match in _SYNC.finditer(stream.data)] or [0]
    at = choose.choice(starts)
    return _check_stream(case, stream, damaged(stream.data[at : at + _LENGTH], choose))


def check_whole(name: str, length: int) -> int:
    """Decode a part of each stream of a capture, undamaged.

    :returns: How many instructions are told.
    :raises AssertionError: One of them cannot have run.
    """
    return sum(_check_stream(Case(name, 0, False), one, one.data[:length]) for one in _streams(name))


def damaged(data: bytes, choose: random.Random) -> bytes:
    """Flip, insert and remove bits and bytes at one to four places."""
    found = bytearray(data)
    for _ in range(choose.randrange(1, 5)):
        at = choose.randrange(len(found) + 1)
        kind = choose.choice(("flip", "flip", "change", "insert", "drop", "again"))
        if kind in ("flip", "change"):
            if at < len(found):
                found[at] ^= 1 << choose.randrange(8) if kind == "flip" else choose.randrange(1, 256)
        elif kind == "insert":
            found[at:at] = bytes(choose.randrange(256) for _ in range(choose.randrange(1, 5)))
        elif kind == "drop":
            del found[at : at + choose.randrange(1, 40)]
        else:
            found[at:at] = found[at : at + choose.randrange(1, 40)]
    return bytes(found)


def _check_stream(case: Case, stream: SourceStream, data: bytes) -> int:
    reader = stream.reader
    assert reader is not None
    config = reader.config(stream.source)
    program = _program(case.capture, stream.source.name)
    decoder = reader.decoder(config, program)
    history = ExecutionHistory(decoder.decode(data, same), stream.source, decoder.automaton.blocks, BufferEnd.STARTED)
    packets = list(reader.packets(config, data, same))
    assert b"".join(packet.raw for packet in packets) == data
    elements = list(history.elements())
    assert all(0 <= offset <= len(data) for offset, _ in elements)
    assert len(history) == sum(one.instructions for _, one in elements if isinstance(one, Range))
    impossible = _judge(case.capture, stream.source.name).impossible(elements, packets)
    assert not impossible, "%s: %s" % (case, impossible[0])
    return len(history)


@lru_cache(maxsize=None)
def _capture(name: str) -> RawCapture:
    return WALKS[name]() if name in WALKS else read_capture(name)


@lru_cache(maxsize=None)
def _streams(name: str) -> List[SourceStream]:
    return [one for one in streams(_capture(name)) if not one.is_data]


@lru_cache(maxsize=None)
def _program(name: str, source: str) -> Program:
    (images,) = [one.images for one in _capture(name).sources if one.name == source]
    return Program(images)


@lru_cache(maxsize=None)
def _judge(name: str, source: str) -> Judge:
    return Judge(_program(name, source))
