"""The base class of all protocols' encoders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from gdb_etm.protocols.encode.output import AtomOutput

Writer = TypeVar("Writer", bound=AtomOutput)


class StreamEncoder(ABC, Generic[Writer]):
    """One trace unit's stream, from being enabled to being disabled.

    :param writer: Writes the packets.
    :param timestamps: Whether there are timestamps.
    """

    def __init__(self, writer: Writer, timestamps: bool) -> None:
        self._writer = writer
        self._timestamps = timestamps
        self._timestamp_due = False
        # How many bytes have been written when the next synchronisation point is due.
        self._sync_at = 0

    @abstractmethod
    def enable(self) -> None:
        """Begin a trace run: it starts with a synchronisation point."""

    @abstractmethod
    def disable(self) -> None:
        """End the trace run.

        An instruction whose direction is not known yet is not traced.
        """

    @abstractmethod
    def overflow(self) -> None:
        """Drop what is not written and restart, as after a FIFO overflow."""

    def flush(self) -> None:
        """Hand over all trace so far.

        An instruction whose direction is not known yet stays.
        """
        self.request_timestamp()
        self.deliver()

    def deliver(self) -> None:
        """Hand over what is written."""
        self._writer.flush_atoms()
        self._writer.deliver()

    def request_timestamp(self) -> None:
        """Request a timestamp soon (IHI 0014Q, ETMTSEVR; IHI 0064, 7.3.31)."""
        self._timestamp_due = self._timestamps

    def request_sync(self) -> None:
        """Request a synchronisation point soon, as a sink may (IHI 0064, 2.5)."""
        self._sync_at = 0
