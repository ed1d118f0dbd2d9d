"""Formatter frames in a trace port's stream: synchronisation packets removed.

Ref: Arm CoreSight Architecture Specification v3.0 (IHI 0029E), D4.3 "Frame synchronization".

A trace port in continuous mode puts a full synchronisation packet (0x7FFFFFFF, low byte first) between frames, and
halfword synchronisation packets (0x7FFF) between any two halfwords of a frame while it has nothing to send.  Neither
can be trace: in the even bytes of a frame 0xFF would be the reserved ID 0x7F.

A DSTREAM probe stores the stream in blocks of 512 bytes, whose last 8 are its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import List

from gdb_etm.framing.formatter import FRAME

_FULL = b"\xff\xff\xff\x7f"
# Either packet at a whole number of halfwords after where the search begins.
_PACKET = re.compile(rb"(?s:..)*?(?P<packet>\xff\xff\xff\x7f|\xff\x7f)")
_BLOCK = 512
_TRAILER = 8


class TpiuFrames:
    """The frames of a trace port's stream, one after the other."""

    def __init__(self) -> None:
        # Whole frames; and at the end, maybe, one that is cut.
        self.data = bytearray()
        # Bytes outside frames: before the first full synchronisation packet, and of frames that another one cut.
        self.dropped = 0
        self._positions: List[int] = []
        self._offsets: List[int] = []

    def offset_of(self, position: int) -> int:
        """Give the offset in the port's stream of byte ``position`` of :attr:`data`."""
        index = bisect_right(self._positions, position) - 1
        if index < 0:
            return position
        return self._offsets[index] + position - self._positions[index]

    def _append(self, data: memoryview, offset: int) -> None:
        if len(data):
            self._positions.append(len(self.data))
            self._offsets.append(offset)
            self.data += data

    def _align(self) -> None:
        # A full synchronisation packet stands between frames: what it cuts is none.
        partial = len(self.data) % FRAME
        if not partial:
            return
        self.dropped += partial
        del self.data[-partial:]
        while self._positions and self._positions[-1] >= len(self.data):
            del self._positions[-1], self._offsets[-1]


def without_trailers(buffer: bytes) -> bytes:
    """Remove the probe's own bytes from a DSTREAM's blocks."""
    size = _BLOCK - _TRAILER
    return b"".join([buffer[at : at + size] for at in range(0, len(buffer), _BLOCK)])


def with_trailers(offset: int) -> int:
    """Give the offset in a DSTREAM's blocks of a stream's byte."""
    return offset + offset // (_BLOCK - _TRAILER) * _TRAILER


def find_frames(buffer: bytes) -> TpiuFrames:
    """Take the frames out of a trace port's stream.

    :param buffer: The stream; what comes before its first full synchronisation packet cannot be aligned and is dropped.
    """
    frames = TpiuFrames()
    at = buffer.find(_FULL)
    if at < 0:
        frames.dropped = len(buffer)
        return frames
    frames.dropped = at
    view = memoryview(buffer)
    while True:
        found = _PACKET.match(buffer, at)
        if found is None:
            frames._append(view[at:], at)
            return frames
        frames._append(view[at : found.start("packet")], at)
        if found.end() - found.start("packet") == len(_FULL):
            frames._align()
        at = found.end()
