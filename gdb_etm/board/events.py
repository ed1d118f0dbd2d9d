"""Debug events and their causes, and who hears what the core does (DDI 0553, D1.2.36 and D1.2.34)."""

from __future__ import annotations

from typing import Collection, Protocol, Sequence

from gdb_etm.board.accesses import Accesses, BusAccess

# DFSR.
DFSR_HALTED = 1 << 0
DFSR_BKPT = 1 << 1
DFSR_DWTTRAP = 1 << 2
DFSR_VCATCH = 1 << 3

# DEMCR vector catch, by what is caught.
VC_CORERESET = 1 << 0
VC_MMERR = 1 << 4
VC_NOCPERR = 1 << 5
VC_CHKERR = 1 << 6
VC_STATERR = 1 << 7
VC_BUSERR = 1 << 8
VC_INTERR = 1 << 9
VC_HARDERR = 1 << 10


class Witness(Protocol):
    """Who hears what the core does, in order."""

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Take completed instructions, what they loaded and stored, and whose condition failed."""

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess]) -> None:
        """Take an exception entry."""

    def exception_return(self, popped: Sequence[BusAccess]) -> None:
        """Take an exception return."""

    def lockup(self, address: int) -> None:
        """Take that the core locked up because of the instruction at `address`."""

    def halt(self, pc: int) -> None:
        """Take a halt."""

    def resume(self, pc: int) -> None:
        """Take the end of a halt."""
