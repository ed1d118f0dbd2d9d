"""Vectors worked by hand, real captures, and a property test: formatter.

The rules are those of the CoreSight Architecture Specification (IHI 0029), D4.2: bit 0 of an even byte tells an ID from
data; the bits of byte 15 belong to the even bytes 0 to 14 in order; with an ID the bit says that the next byte still
belongs to the ID before.
"""

from __future__ import annotations

import gzip
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.framing.formatter import FRAME, Deformatter, deframe
from gdb_etm.snapshot.reader import read_snapshot
from tests.shared import capture_folder, shared


def frames(text: str) -> bytes:
    data = bytes.fromhex(text)
    assert len(data) % FRAME == 0
    return data


def streams(deformatter: Deformatter) -> Dict[int, str]:
    return {trace_id: bytes(stream.data).hex(" ") for trace_id, stream in deformatter.streams.items()}


def test_id_takes_effect_at_once() -> None:
    # 0x21 is ID 0x10.  Byte 15: bits 1 and 3 give bytes 2 and 6 their bit 0.
    found = deframe(frames("21 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0a"))
    assert streams(found) == {0x10: "01 03 03 04 05 07 07 08 09 0a 0b 0c 0d 0e"}
    assert found.unattributed == 0
    assert [found.streams[0x10].offset_of(position) for position in range(14)] == list(range(1, 15))


def test_id_takes_effect_after_the_next_byte() -> None:
    # Byte 4 is ID 0x11; bit 2 of byte 15 is set, so byte 5 still belongs to ID 0x10.
    found = deframe(frames("21 01 02 03 23 05 06 07 08 09 0a 0b 0c 0d 0e 04"))
    assert streams(found) == {0x10: "01 02 03 05", 0x11: "06 07 08 09 0a 0b 0c 0d 0e"}
    assert [found.streams[0x10].offset_of(position) for position in range(4)] == [1, 2, 3, 5]
    assert [found.streams[0x11].offset_of(position) for position in range(3)] == [6, 7, 8]


def test_id_in_byte_14() -> None:
    # No data follows it in the frame: whatever its bit in byte 15 says, it holds from the next frame on.
    for auxiliary in ("00", "80"):
        text = "21 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 23 %s" % auxiliary
        found = deframe(frames(text + " 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 00"))
        assert streams(found) == {
            0x10: "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d",
            0x11: "10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e",
        }
        assert found.streams[0x11].offset_of(0) == 16


def test_several_ids_in_a_frame() -> None:
    found = deframe(frames("21 01 23 03 25 05 21 07 23 09 21 0b 25 0d 0e 50"))
    # Bit 4 for byte 8 and bit 6 for byte 12: bytes 9 and 13 belong to the ID before.
    assert streams(found) == {0x10: "01 07 09 0b 0d", 0x11: "03", 0x12: "05 0e"}


def test_null_and_reserved_ids_are_left_out() -> None:
    # IDs 0x00 (null data), 0x70 and 0x7F are no trace sources; 0x6F is the last that is.
    found = deframe(frames("01 aa 02 03 e1 05 06 07 df 09 ff 0b 0c 0d 0e 00"))
    assert streams(found) == {0x6F: "09"}
    assert found.unattributed == 0


def test_bytes_before_the_first_id() -> None:
    # As after a circular buffer has wrapped: whose they are is not known.  Byte 7 is one more, since the ID is late.
    found = deframe(frames("00 01 02 03 04 05 21 07 08 09 0a 0b 0c 0d 0e 08"))
    assert found.unattributed == 7
    assert streams(found) == {0x10: "08 09 0a 0b 0c 0d 0e"}
    assert deframe(bytes(32)).unattributed == 30
    assert deframe(bytes(32)).streams == {}


def test_a_cut_frame_waits() -> None:
    whole = frames("21 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 00")
    deformatter = Deformatter()
    deformatter.feed(whole[:15])
    assert (deformatter.leftover, deformatter.streams) == (15, {})
    deformatter.feed(whole[15:] + whole[:3])
    assert deformatter.leftover == 3
    assert len(deformatter.streams[0x10].data) == 14


def test_offset_of_the_end() -> None:
    # The position after the last byte is where the next one would lie: past byte 15.
    stream = deframe(frames("21 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 00")).streams[0x10]
    assert stream.offset_of(14) == 16


# Trace ID, data byte, its offset in the buffer.
Piece = Tuple[int, int, int]


def walk(data: bytes) -> Tuple[List[Piece], int]:
    """Deframe byte by byte as D4.2 does; count unattributed bytes."""
    found: List[Piece] = []
    unknown = 0
    current: Optional[int] = None
    for start in range(0, len(data) - 15, FRAME):
        following: Optional[int] = None
        for index in range(15):
            byte = data[start + index]
            bit = data[start + 15] >> (index // 2) & 1
            if index % 2 == 0 and byte & 1:
                if bit and index < 14:
                    following = byte >> 1
                else:
                    current = byte >> 1
                continue
            value = byte | bit if index % 2 == 0 else byte
            if current is None:
                unknown += 1
            elif 1 <= current <= 0x6F:
                found.append((current, value, start + index))
            if following is not None:
                current, following = following, None
    return found, unknown


def pieces(deformatter: Deformatter) -> List[Piece]:
    return sorted(
        (
            (trace_id, byte, stream.offset_of(position))
            for trace_id, stream in deformatter.streams.items()
            for position, byte in enumerate(stream.data)
        ),
        key=lambda piece: piece[2],
    )


# Frames with many IDs, with few, and with none.
sparse = st.lists(st.sampled_from([0, 2, 4, 0x20, 0x21, 0x23, 0x01, 0xFF, 0xFE]), min_size=16, max_size=16).map(bytes)
buffers = st.lists(st.one_of(st.binary(min_size=16, max_size=16), sparse), max_size=6).map(b"".join)


@given(buffers, st.binary(max_size=15), st.lists(st.integers(0, 120), max_size=4))
def test_agrees_with_a_walk_byte_by_byte(data: bytes, rest: bytes, cuts: List[int]) -> None:
    buffer = data + rest
    expected, unknown = walk(buffer)
    deformatter = Deformatter()
    ends = sorted(min(cut, len(buffer)) for cut in cuts)
    for start, end in zip([0] + ends, ends + [len(buffer)]):
        deformatter.feed(buffer[start:end])
    assert pieces(deformatter) == expected
    for stream in deformatter.streams.values():
        positions = range(len(stream.data))
        offsets = [stream.offset_of(position) for position in positions]
        # It does not matter what was asked before.
        assert [stream.offset_of(position) for position in reversed(positions)] == offsets[::-1]
    assert deformatter.unattributed == unknown
    assert deformatter.leftover == len(rest)


class Listed(NamedTuple):
    """A packet as OpenCSD lists it."""

    index: int
    raw: bytes


def listed(name: str) -> Dict[int, List[Listed]]:
    """Return OpenCSD's packets of a capture by trace ID."""
    found: Dict[int, List[Listed]] = {}
    with gzip.open(shared("captures", "expected", name + ".packets.tsv.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            index, trace_id, raw, _ = line.rstrip("\n").split("\t", 3)
            data = bytes(int(word, 16) for word in raw.strip("[] ;").split())
            found.setdefault(int(trace_id, 16), []).append(Listed(int(index), data))
    return found


def id_bytes_before(buffer: bytes, offset: int) -> int:
    frame = offset - offset % FRAME
    return sum(buffer[at] & 1 for at in range(frame, offset, 2))


@pytest.mark.parametrize("name", ["a57_single_step", "juno_r1_1", "rp2350-m33-0"])
def test_real_captures(name: str) -> None:
    (capture, *_) = read_snapshot(capture_folder(name))
    found = deframe(capture.buffer).streams
    expected = listed(name)
    assert set(expected) == set(found)
    for trace_id, packets in expected.items():
        stream = found[trace_id]
        assert b"".join(packet.raw for packet in packets) == bytes(stream.data)
        position = 0
        for index, raw in packets:
            offset = stream.offset_of(position)
            # OpenCSD counts from the beginning of each piece of a frame, and takes the ID byte for its place: its
            # index is too low by the ID byte, and by one more when that ID is late.  Where a piece begins it goes on
            # counting from the piece before.  Everywhere else it is the offset.
            if position and stream.offset_of(position - 1) == offset - 1:
                too_low = offset - index
                assert too_low in (1, 2) if id_bytes_before(capture.buffer, offset) else too_low == 0
            position += len(raw)
        # And our own offsets: the byte there is the stream's, but for bit 0 of even bytes.
        for position, byte in enumerate(stream.data):
            assert (capture.buffer[stream.offset_of(position)] ^ byte) & 0xFE == 0
