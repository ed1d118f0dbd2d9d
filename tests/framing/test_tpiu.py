"""Vectors worked by hand, and property tests: a port's frames.

From IHI 0029E, D4.3.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.framing.formatter import FRAME
from gdb_etm.framing.tpiu import find_frames, with_trailers, without_trailers

FULL = bytes.fromhex("ffffff7f")
HALF = bytes.fromhex("ff7f")
ONE = bytes(range(0x02, 0x22, 2))
TWO = bytes(range(0x42, 0x62, 2))


def test_full_synchronisation_stands_between_frames() -> None:
    frames = find_frames(FULL + ONE + FULL + FULL + TWO)
    assert (bytes(frames.data), frames.dropped) == (ONE + TWO, 0)
    assert [frames.offset_of(position) for position in (0, 15, 16, 31)] == [4, 19, 28, 43]


def test_halfword_synchronisation_stands_within_frames() -> None:
    frames = find_frames(FULL + HALF + ONE[:6] + HALF + HALF + ONE[6:] + TWO[:2] + HALF + TWO[2:])
    assert (bytes(frames.data), frames.dropped) == (ONE + TWO, 0)
    assert [frames.offset_of(position) for position in (0, 5, 6, 16, 18)] == [6, 11, 16, 26, 30]


def test_what_is_no_packet() -> None:
    # FF 7F at an odd byte: the data byte FF, then the ID 0x3F.
    frame = bytes.fromhex("02ff7f") + ONE[3:]
    assert bytes(find_frames(FULL + frame).data) == frame


def test_bytes_before_the_first_and_frames_that_are_cut() -> None:
    frames = find_frames(b"\x11\x22\x33" + FULL + ONE[:10] + FULL + TWO + TWO[:4])
    assert (bytes(frames.data), frames.dropped) == (TWO + TWO[:4], 3 + 10)
    assert frames.offset_of(0) == 3 + 4 + 10 + 4
    nothing = find_frames(ONE)
    assert (bytes(nothing.data), nothing.dropped) == (b"", len(ONE))


def frame_of(chooser: random.Random) -> bytes:
    """Make a frame of trace ID 0x11 with data at random."""
    data = bytearray(chooser.choice((0xFF, 0x7F, 0x00, chooser.randrange(256))) for _ in range(FRAME))
    for column in range(0, FRAME, 2):
        data[column] &= 0xFE
    data[0] = 0x23
    return bytes(data)


@given(st.integers(0, 1 << 32), st.integers(0, 12))
def test_nothing_is_lost(seed: int, count: int) -> None:
    chooser = random.Random(seed)
    frames = [frame_of(chooser) for _ in range(count)]
    stream = bytearray(FULL)
    for frame in frames:
        stream += FULL * chooser.randrange(3)
        for at in range(0, FRAME, 2):
            stream += HALF * chooser.choice((0, 0, 0, 1, 2)) + frame[at : at + 2]
    found = find_frames(bytes(stream))
    assert (bytes(found.data), found.dropped) == (b"".join(frames), 0)
    assert all(stream[found.offset_of(at)] == found.data[at] for at in range(len(found.data)))


@given(st.binary(max_size=300))
def test_any_bytes(buffer: bytes) -> None:
    # Every byte is a frame's, a synchronisation packet's or counted as dropped.
    frames = find_frames(buffer)
    rest = len(buffer) - len(frames.data) - frames.dropped
    assert rest >= 0 and (rest % 2 == 0)
    assert all(buffer[frames.offset_of(at)] == frames.data[at] for at in range(len(frames.data)))


def test_blocks_of_a_dstream() -> None:
    stream = bytes(random.Random(1).randrange(256) for _ in range(504 * 2 + 100))
    blocks = stream[:504] + b"\xee" * 8 + stream[504:1008] + b"\xee" * 8 + stream[1008:]
    assert without_trailers(blocks) == stream
    assert all(blocks[with_trailers(at)] == stream[at] for at in range(len(stream)))
