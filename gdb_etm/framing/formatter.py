"""Deformatter of CoreSight frames: one byte stream for each trace ID.

Ref: Arm CoreSight Architecture Specification v3.0 (IHI 0029E), chapter D4 "Trace Formatter".

A frame is 16 bytes.  In the even bytes 0 to 14, bit 0 says what the other seven bits are: 1, a new
trace ID; 0, the upper bits of a data byte whose bit 0 is in the auxiliary byte 15.  The odd bytes
1 to 13 are data.  For an ID byte the auxiliary bit says when it takes effect: 0, at once; 1, after
the next byte.

Frames are expanded thousands at a time: strided slices for the columns, big integers for the auxiliary bits.  An ID
that takes effect after the next byte changes places with that byte, so that all take effect at once.  The result is
text: a character for each byte, and one that is no byte for each ID.  It is split there, and the parts are put together
by ID; nothing of this takes a step of its own for a frame or an ID.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate, chain, compress
from typing import Callable, Dict, List, Optional, Tuple

# Bytes in a formatter frame.
FRAME = 16
_DATA = 15
_PIECE = 1 << 15
_NO_IDS = bytes(range(0, 256, 2))
_FIRST_TRACE_ID = 0x01
_LAST_TRACE_ID = 0x6F
# Stands for an ID; in UTF-16 its bytes are 0 and 1.
_CUT = "\u0100"
# Stands for the ID before the first one; in ID bytes bit 0 is set.
_NOBODY = b"\0"


class _Parts:
    # A piece of the buffer, split at its IDs.  Positions in the buffer are counted without auxiliary bytes, and
    # as if every ID took effect at once.

    def __init__(self, begin: int, owners: bytes, sizes: List[int]) -> None:
        # Where the piece begins; for each part the ID byte before it; the parts' sizes.
        self._begin = begin
        self._owners = owners
        self._sizes = sizes
        self._buffer_positions: List[int] = []

    def of(self, owner: int) -> Tuple[List[int], List[int]]:
        # Where one ID's parts begin in its own bytes, and in the buffer; at the end where the last one ends.
        if not self._buffer_positions:
            # An ID is between any two.
            self._buffer_positions = list(accumulate(chain((self._begin,), map((1).__add__, self._sizes))))
        wanted = self._owners.translate(_only(owner))
        positions = list(accumulate(chain((0,), compress(self._sizes, wanted))))
        return positions, list(compress(self._buffer_positions, wanted))


class Stream:
    """The bytes of one trace ID, and their offsets in the buffer."""

    def __init__(self, trace_id: int) -> None:
        # ATB trace ID, 0x01 to 0x6F.
        self.trace_id = trace_id
        self._size = 0
        self._texts: List[bytes] = []
        # Where the pieces of the buffer begin in the stream; how each is split; what was worked out of that.
        self._begins = array("Q")
        self._pieces: List[_Parts] = []
        self._known: Dict[int, Tuple[List[int], List[int]]] = {}
        # The part that was asked for last: its first position, its last one, and how much further it is in the buffer.
        self._last = (0, 0, 0)

    @property
    def data(self) -> bytes:
        """The bytes, all that were fed so far."""
        if len(self._texts) > 1:
            self._texts[:] = [b"".join(self._texts)]
        return self._texts[0] if self._texts else b""

    def _append(self, data: bytes, piece: _Parts) -> None:
        self._begins.append(self._size)
        self._pieces.append(piece)
        self._texts.append(data)
        self._size += len(data)

    def offset_of(self, position: int) -> int:
        """Give the buffer offset of the stream's byte at ``position``, from 0."""
        begin, last, further = self._last
        if begin <= position < last:
            position += further
            return position + position // _DATA
        index = bisect_right(self._begins, position) - 1
        if index < 0:
            return position
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._pieces[index].of(self.trace_id << 1 | 1)
        positions, buffer_positions = known
        begin = self._begins[index]
        position -= begin
        part = bisect_right(positions, min(position, positions[-1] - 1)) - 1
        further = buffer_positions[part] - positions[part] - begin
        self._last = begin + positions[part], begin + positions[part + 1] - 1, further
        in_buffer = buffer_positions[part] + position - positions[part]
        end = buffer_positions[part] + positions[part + 1] - positions[part]
        if in_buffer >= end - 1 and end % _DATA & 1:
            # The ID after it is in an odd column: it changed places with the last byte.
            in_buffer += 1
        return in_buffer + in_buffer // _DATA


class Deformatter:
    """Takes formatter frames apart; bytes may be fed in any split."""

    def __init__(self) -> None:
        # Streams by trace ID.  Null data (ID 0) and reserved IDs are left out.
        self.streams: Dict[int, Stream] = {}
        # Data bytes before the first ID byte, which belong to a source that cannot be known.
        self.unattributed = 0
        self._owner = _NOBODY
        self._rest = b""
        self._frames = 0

    def feed(self, data: bytes) -> None:
        """Take the buffer's next bytes; a frame that is not whole waits."""
        if self._rest:
            data = self._rest + data
        frames = len(data) // FRAME
        self._rest = data[frames * FRAME :]
        if not frames:
            return
        parts = _expand(data, frames).split(_CUT)
        owners = self._owner + data[: frames * FRAME : 2].translate(None, _NO_IDS)
        piece = _Parts(self._frames * _DATA, owners, list(map(len, parts)))
        if self._owner == _NOBODY:
            self.unattributed += len(parts[0])
        for owner in dict.fromkeys(owners):
            if _FIRST_TRACE_ID <= owner >> 1 <= _LAST_TRACE_ID:
                text = "".join(compress(parts, owners.translate(_only(owner))))
                if text:
                    self._append(owner >> 1, text.encode("latin-1"), piece)
        self._owner = owners[-1:]
        self._frames += frames

    @property
    def leftover(self) -> int:
        """Number of bytes after the last whole frame."""
        return len(self._rest)

    def _append(self, trace_id: int, data: bytes, piece: _Parts) -> None:
        stream = self.streams.get(trace_id)
        if stream is None:
            stream = self.streams[trace_id] = Stream(trace_id)
        stream._append(data, piece)


def _only(owner: int) -> bytes:
    # For bytes.translate: 1 for this one, 0 for all others.
    return bytes(owner) + b"\1" + bytes(255 - owner)


def _expand(data: bytes, frames: int) -> str:
    # The 15 data columns of every frame, each character a byte or _CUT.  Numbers have a byte for each frame.
    whole = frames * FRAME
    ones = int.from_bytes(b"\1" * frames, "little")
    auxiliary = int.from_bytes(data[15:whole:FRAME], "little")
    out = bytearray(2 * frames * _DATA)
    for column in range(0, _DATA, 2):
        values = int.from_bytes(data[column:whole:FRAME], "little")
        bits = auxiliary >> (column >> 1) & ones
        ids = values & ones
        following = data[column + 1 : whole : FRAME]
        values |= bits
        values ^= values & ids * 0xFF
        late = ids & bits if column + 1 < _DATA else 0
        if late:
            moved = int.from_bytes(following, "little")
            moved &= late * 0xFF
            values ^= moved
            following = (int.from_bytes(following, "little") ^ moved).to_bytes(frames, "little")
            out[2 * column + 3 :: 2 * _DATA] = late.to_bytes(frames, "little")
        if ids != late:
            out[2 * column + 1 :: 2 * _DATA] = (ids ^ late).to_bytes(frames, "little")
        out[2 * column :: 2 * _DATA] = values.to_bytes(frames, "little")
        if column + 1 < _DATA:
            out[2 * column + 2 :: 2 * _DATA] = following
    return out.decode("utf-16-le")


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
