"""CoreSight formatter frames: taking a shared trace buffer apart into one byte stream per trace ID.

Ref: Arm CoreSight Architecture Specification v3.0 (IHI 0029E), chapter D4 "Trace Formatter".

A frame is 16 bytes.  In the even bytes 0 to 14, bit 0 tells what the other seven bits are: 1, a new
trace ID; 0, the upper bits of a data byte whose bit 0 is in the auxiliary byte 15.  The odd bytes
1 to 13 are data.  For an ID byte the auxiliary bit says when it takes effect: 0, at once; 1, after
the next byte.

Bytes that are no ID dominate, so frames are expanded thousands at a time: strided slices for the columns, big
integers for the auxiliary bits.  Then the stream is cut where IDs are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Callable, Dict, Optional

FRAME = 16
"""Bytes in a formatter frame."""
_DATA = 15
_PIECE = 1 << 20
_LOWEST_BIT = bytes([0, 1]) * 128
_FIRST_TRACE_ID = 0x01
_LAST_TRACE_ID = 0x6F


class Stream:
    """The bytes of one trace ID, and where in the buffer each of them lies."""

    def __init__(self, trace_id: int) -> None:
        self.trace_id = trace_id
        """ATB trace ID, 0x01 to 0x6F."""
        self.data = bytearray()
        # Where pieces begin that lie in the buffer with nothing between them but auxiliary bytes: in the stream, and in
        # the buffer with the auxiliary bytes left out.
        self._positions = array("Q")
        self._places = array("Q")
        self._following = -1

    def append(self, data: memoryview, place: int) -> None:
        """Add bytes that lie in the buffer at ``place`` and on, auxiliary bytes not counted."""
        if place != self._following:
            self._positions.append(len(self.data))
            self._places.append(place)
        self.data += data
        self._following = place + len(data)

    def offset_of(self, position: int) -> int:
        """Tell the buffer offset of the stream's byte number ``position`` (from 0, up to its length)."""
        if not self._positions:
            return position
        index = bisect_right(self._positions, position) - 1
        frame, column = divmod(self._places[index] + position - self._positions[index], _DATA)
        return frame * FRAME + column


class Deformatter:
    """Takes formatter frames apart; bytes may be fed in any split."""

    def __init__(self) -> None:
        self.streams: Dict[int, Stream] = {}
        """Streams by trace ID.  Null data (ID 0) and reserved IDs are left out."""
        self.unattributed = 0
        """Data bytes before the first ID byte, which belong to a source that cannot be known."""
        self._id: Optional[int] = None
        self._rest = b""
        self._frames = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the buffer; a frame that is not whole waits for more."""
        if self._rest:
            data = self._rest + data
        frames = len(data) // FRAME
        self._rest = data[frames * FRAME :]
        if not frames:
            return
        expanded = memoryview(_expand(data, frames))
        marks = _mark_ids(data, frames)
        base = self._frames * _DATA
        start = 0
        at = marks.find(1)
        while at >= 0:
            if at > start:
                self._append(expanded[start:at], base + start)
            start = at + 1
            new = expanded[at] >> 1
            if new != self._id:
                frame, column = divmod(at, _DATA)
                if data[frame * FRAME + _DATA] >> (column >> 1) & 1 and column < _DATA - 1:
                    self._append(expanded[start : start + 1], base + start)
                    start += 1
                self._id = new
            at = marks.find(1, start)
        if start < len(expanded):
            self._append(expanded[start:], base + start)
        self._frames += frames

    @property
    def leftover(self) -> int:
        """Number of bytes after the last whole frame."""
        return len(self._rest)

    def _append(self, data: memoryview, place: int) -> None:
        trace_id = self._id
        stream = self.streams.get(trace_id) if trace_id is not None else None
        if stream is not None:
            stream.append(data, place)
        elif trace_id is None:
            self.unattributed += len(data)
        elif _FIRST_TRACE_ID <= trace_id <= _LAST_TRACE_ID:
            stream = self.streams[trace_id] = Stream(trace_id)
            stream.append(data, place)


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


def _mark_ids(data: bytes, frames: int) -> bytearray:
    # For each data column of every frame 1 when it is an ID, else 0.
    marks = bytearray(frames * _DATA)
    for column in range(0, _DATA, 2):
        marks[column::_DATA] = data[column : frames * FRAME : FRAME].translate(_LOWEST_BIT)
    return marks


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
