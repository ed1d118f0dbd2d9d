"""The one way to reach registers: :class:`AccessPort`.

Every driver in ``coresight`` and ``traceunit`` takes an object of this shape; it may be pyOCD in
this process, the process beside GDB, GDB's own connection, or a recording.
"""

from __future__ import annotations

from typing import List, Protocol


class AccessPort(Protocol):
    """Aligned 32-bit access to one memory space of the target.

    Addresses are byte addresses, multiples of 4.  Every method raises
    :class:`~gdb_etm.errors.AccessError` with the address when the target faults, does not answer
    in time, or is gone.
    """

    @property
    def name(self) -> str:
        """Short description for messages, such as ``"AHB-AP 0"``."""

    def read32(self, address: int) -> int:
        """Read one word."""

    def write32(self, address: int, value: int) -> None:
        """Write one word; it has reached the bus on return."""

    def read_block(self, address: int, words: int) -> List[int]:
        """Read ``words`` consecutive words starting at ``address``."""

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word ``words`` times, in pipelined transfers.

        One DAP transfer a word.
        """
