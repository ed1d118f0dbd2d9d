"""The CoreSight formatter: trace bytes to 16-byte frames (CoreSight Architecture, D4.2)."""

from __future__ import annotations

from typing import Callable, Optional

# Trace ID whose data is padding.
NULL_ID = 0

_FRAME = 16
_REPEAT_ID = 10


class Formatter:
    """Fills frames with trace data.

    In a frame each even byte holds an ID, or data with its lowest bit moved to byte 15; each odd byte holds data.
    The ID is repeated when ten frames have not held it, so that a circular buffer can be read from any frame on.

    :param write: Takes each full frame.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._frame = bytearray()
        self._flags = 0
        # The ID of the data in the stream, or None before any; frames since it was last sent.
        self._id: Optional[int] = None
        self._silent = 0
        # Data for an even byte waits to see whether an ID must take its place.
        self._held: Optional[int] = None

    def write(self, trace_id: int, data: bytes) -> None:
        """Add trace data.

        :param trace_id: The ID of its source, 7 bits.
        :param data: Its bytes.
        """
        for byte in data:
            self._add(trace_id, byte)

    def stop(self) -> None:
        """Fill the last frame up with padding."""
        while self._frame or self._held is not None:
            self._add(NULL_ID, 0)
        self._id = None

    def _add(self, trace_id: int, byte: int) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            if trace_id == self._id:
                self._put_even(held)
                self._put(byte)
                return
            # The new ID takes the even place and the old source's byte follows it: flag 1.
            self._flags |= 1 << len(self._frame) // 2
            self._put_id(trace_id)
            self._put(held)
        # The next place is even.
        repeat = not self._frame and self._silent >= _REPEAT_ID
        if trace_id != self._id or repeat:
            self._put_id(trace_id)
            if self._frame:
                self._put(byte)
            else:
                self._add(trace_id, byte)
        elif len(self._frame) == _FRAME - 2:
            self._put_even(byte)
        else:
            self._held = byte

    def _put_id(self, trace_id: int) -> None:
        self._id = trace_id
        self._silent = -1
        self._put(trace_id << 1 | 1)

    def _put_even(self, byte: int) -> None:
        self._flags |= (byte & 1) << len(self._frame) // 2
        self._put(byte & 0xFE)

    def _put(self, byte: int) -> None:
        self._frame.append(byte)
        if len(self._frame) == _FRAME - 1:
            self._frame.append(self._flags)
            self._write(bytes(self._frame))
            self._frame.clear()
            self._flags = 0
            self._silent += 1
