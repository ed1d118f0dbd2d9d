"""Bytes of a trace stream on their way out, and what all protocols write alike."""

from __future__ import annotations

from typing import Callable

Sink = Callable[[bytes], None]
"""Takes the next bytes of the stream."""

_BURST = 64


class Output:
    """A stream that is being written.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left.
    """

    def __init__(self, sink: Sink) -> None:
        self.count = 0
        """Number of bytes written so far."""
        self._sink = sink
        self._out = bytearray()

    def deliver(self) -> None:
        """Hand everything written so far to the sink."""
        if self._out:
            data = bytes(self._out)
            self._out.clear()
            self._sink(data)

    def _put(self, data: bytes) -> None:
        self._out += data
        self.count += len(data)
        if len(self._out) >= _BURST:
            Output.deliver(self)


def continued(value: int) -> bytes:
    """Write a number with seven bits a byte, low bits first; bit 7 says that another byte follows."""
    data = bytearray()
    while value > 0x7F:
        data.append(0x80 | (value & 0x7F))
        value >>= 7
    data.append(value)
    return bytes(data)
