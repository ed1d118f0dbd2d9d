"""Output buffer of an encoder, and its packing of atoms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Callable

# Takes the next bytes of the stream.
Sink = Callable[[bytes], None]

_BURST = 64


class Output:
    """A stream that is being written.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left.
    """

    def __init__(self, sink: Sink) -> None:
        # Number of bytes written so far.
        self.count = 0
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


class AtomOutput(Output, ABC):
    """A stream with atoms, several of which share a packet.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left, but for waiting
        atoms, which stay until :meth:`flush_atoms`.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._atoms = ""

    def put(self, data: bytes) -> None:
        """Write a packet after the waiting atoms."""
        self.flush_atoms()
        self._put(data)

    def flush_atoms(self) -> None:
        """Write the waiting atoms."""
        while self._atoms:
            self._write_atoms()

    def drop_atoms(self) -> None:
        """Lose the waiting atoms, as an overflow does."""
        self._atoms = ""

    @abstractmethod
    def _write_atoms(self) -> None:
        """Write a packet of the oldest waiting atoms."""


def continued(value: int) -> bytes:
    """Write a number as seven bits a byte, low bits first.

    Bit 7 says that another byte follows.
    """
    data = bytearray()
    while value > 0x7F:
        data.append(0x80 | (value & 0x7F))
        value >>= 7
    data.append(value)
    return bytes(data)
