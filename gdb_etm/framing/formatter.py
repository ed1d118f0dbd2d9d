"""CoreSight formatter frames: taking a shared trace buffer apart into one byte stream per trace ID.

Ref: Arm CoreSight Architecture Specification v3.0 (IHI 0029E), chapter D4 "Trace Formatter".

A frame is 16 bytes.  In the even bytes 0 to 14, bit 0 tells what the other seven bits are: 1, a new
trace ID; 0, the upper bits of a data byte whose bit 0 is in the auxiliary byte 15.  The odd bytes
1 to 13 are data.  For an ID byte the auxiliary bit says when it takes effect: 0, at once; 1, after
the next byte.

Frames without an ID dominate, so they are expanded thousands at a time: strided slices for the
columns, big integers for the auxiliary bits.  Only frames that hold an ID are walked.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, Dict, List, Optional

FRAME = 16
"""Bytes in a formatter frame."""
_DATA = 15
_PIECE = 1 << 20
_FIRST_TRACE_ID = 0x01
_LAST_TRACE_ID = 0x6F


class Stream:
    """The bytes of one trace ID, and where in the buffer each of them lies."""

    def __init__(self, trace_id: int) -> None:
        self.trace_id = trace_id
        """ATB trace ID, 0x01 to 0x6F."""
        self.data = bytearray()
        self._positions: List[int] = []
        self._offsets: List[int] = []

    def append(self, data: memoryview, offset: int) -> None:
        """Add bytes that lie in the buffer at ``offset`` and on, auxiliary bytes left out."""
        self._positions.append(len(self.data))
        self._offsets.append(offset)
        self.data += data

    def offset_of(self, position: int) -> int:
        """Tell the buffer offset of the stream's byte number ``position`` (from 0, up to its length)."""
        if not self._positions:
            return position
        index = bisect_right(self._positions, position) - 1
        first = self._offsets[index]
        column = first % FRAME + position - self._positions[index]
        return first - first % FRAME + column // _DATA * FRAME + column % _DATA


class Deformatter:
    """Takes formatter frames apart; bytes may be fed in any split."""

    def __init__(self) -> None:
        self.streams: Dict[int, Stream] = {}
        """Streams by trace ID.  Null data (ID 0) and reserved IDs are left out."""
        self.unattributed = 0
        """Data bytes before the first ID byte, which belong to a source that cannot be known."""
        self._id: Optional[int] = None
        self._rest = b""
        self._offset = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the buffer; a frame that is not whole waits for more."""
        if self._rest:
            data = self._rest + data
        frames = len(data) // FRAME
        whole = frames * FRAME
        self._rest = data[whole:]
        if not frames:
            return
        expanded = memoryview(_expand(data, frames))
        has_id = _frames_with_id(data, frames)
        position = 0
        while position < frames:
            marked = has_id.find(1, position)
            if marked < 0:
                marked = frames
            if marked > position:
                self._append(expanded[position * _DATA : marked * _DATA], self._offset + position * FRAME)
            if marked < frames:
                start = marked * FRAME
                frame = data[start : start + FRAME]
                self._walk(frame, expanded[marked * _DATA : (marked + 1) * _DATA], self._offset + start)
            position = marked + 1
        self._offset += whole

    @property
    def leftover(self) -> int:
        """Number of bytes after the last whole frame."""
        return len(self._rest)

    def _append(self, data: memoryview, offset: int) -> None:
        trace_id = self._id
        if trace_id is None:
            self.unattributed += len(data)
            return
        if not _FIRST_TRACE_ID <= trace_id <= _LAST_TRACE_ID:
            return
        stream = self.streams.get(trace_id)
        if stream is None:
            stream = self.streams[trace_id] = Stream(trace_id)
        stream.append(data, offset)

    def _walk(self, frame: bytes, data: memoryview, offset: int) -> None:
        # ``data`` has the auxiliary bits already put in place; ID bytes in it are skipped.
        auxiliary = frame[15]
        start = 0
        for column in range(0, FRAME, 2):
            byte = frame[column]
            if not byte & 1:
                continue
            late = auxiliary >> (column >> 1) & 1
            if column > start:
                self._append(data[start:column], offset + start)
            start = column + 1
            if late and start < _DATA:
                self._append(data[start : start + 1], offset + start)
                start += 1
            self._id = byte >> 1
        if start < _DATA:
            self._append(data[start:_DATA], offset + start)


def _expand(data: bytes, frames: int) -> bytearray:
    # The 15 data columns of every frame, as if no frame held an ID.
    whole = frames * FRAME
    ones = int.from_bytes(b"\x01" * frames, "little")
    auxiliary = int.from_bytes(data[15:whole:FRAME], "little")
    out = bytearray(frames * _DATA)
    for column in range(_DATA):
        values = data[column:whole:FRAME]
        if not column & 1:
            bits = auxiliary >> (column >> 1) & ones
            values = (int.from_bytes(values, "little") | bits).to_bytes(frames, "little")
        out[column::_DATA] = values
    return out


def _frames_with_id(data: bytes, frames: int) -> bytes:
    # One byte a frame: 1 when any of its even bytes is an ID.
    whole = frames * FRAME
    ones = int.from_bytes(b"\x01" * frames, "little")
    any_id = 0
    for column in range(0, FRAME, 2):
        if column < _DATA:
            any_id |= int.from_bytes(data[column:whole:FRAME], "little")
    return (any_id & ones).to_bytes(frames, "little")


def deframe(buffer: bytes, progress: Optional[Callable[[int], None]] = None) -> Deformatter:
    """Take a whole buffer of formatter frames apart.

    :param buffer: Frames from the first one on; a cut last frame is left over.
    :param progress: Called now and then with the number of bytes taken since the last call; what it raises ends the
        work.
    """
    deformatter = Deformatter()
    for at in range(0, len(buffer), _PIECE):
        piece = buffer[at : at + _PIECE]
        deformatter.feed(piece)
        if progress is not None:
            progress(len(piece))
    return deformatter
