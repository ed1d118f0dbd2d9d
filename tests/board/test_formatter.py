"""Vectors worked by hand, and a property test: the formatter."""

from __future__ import annotations

from typing import Dict, List, Tuple

from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.board.formatter import Formatter
from gdb_etm.framing.formatter import deframe


def format_all(pieces: List[Tuple[int, bytes]]) -> bytes:
    out = bytearray()
    formatter = Formatter(out.extend)
    for trace_id, data in pieces:
        formatter.write(trace_id, data)
    formatter.stop()
    return bytes(out)


def test_one_source() -> None:
    # ID 0x10 in byte 0; data; then padding: the null ID, at once, in byte 6, and zeros.
    frame = format_all([(0x10, bytes((0x11, 0x22, 0x33, 0x44, 0x55)))])
    assert frame.hex(" ") == "21 11 22 33 44 55 01 00 00 00 00 00 00 00 00 00"


def test_lowest_bits_are_in_the_last_byte() -> None:
    # Data in even bytes: 0x23, 0x45 and 0x67 have bit 0 set, which is bits 1, 2 and 3 of byte 15.
    frame = format_all([(0x10, bytes((0x12, 0x23, 0x34, 0x45, 0x56, 0x67, 0x78) + (0,) * 7))])
    assert frame.hex(" ") == "21 12 22 34 44 56 66 78 00 00 00 00 00 00 00 0e"


def test_a_new_source_after_an_odd_byte() -> None:
    # The byte 0x22 has an even place; the new ID takes it and 0x22 comes after it, which bit 1 of byte 15 says.  So it
    # goes with 0x33 when padding begins, which bit 2 says.
    frame = format_all([(0x10, b"\x11\x22"), (0x20, b"\x33")])
    assert frame.hex(" ") == "21 11 41 22 01 33 00 00 00 00 00 00 00 00 00 06"


def test_the_id_is_repeated_after_ten_frames() -> None:
    frames = format_all([(0x10, bytes(15 * 12))])
    ids = [index for index in range(0, len(frames), 16) if frames[index] == 0x21]
    assert ids == [0, 16 * 11]


@given(st.lists(st.tuples(st.sampled_from((1, 0x10, 0x6F)), st.binary(max_size=40)), max_size=30))
def test_round_trip(pieces: List[Tuple[int, bytes]]) -> None:
    frames = format_all(pieces)
    assert len(frames) % 16 == 0
    expected: Dict[int, bytes] = {}
    for trace_id, data in pieces:
        if data:
            expected[trace_id] = expected.get(trace_id, b"") + data
    found = {trace_id: bytes(stream.data) for trace_id, stream in deframe(frames).streams.items()}
    assert found == expected
