"""Listeners of a core, in execution order.

The machine around it listens, and passes what it hears to the trace unit.
"""

from __future__ import annotations

from typing import Collection, Protocol, Sequence

from gdb_etm.board.accesses import Accesses, BusAccess


class CoreListener(Protocol):
    """Listener of any core; each call holds the machine's lock."""

    def debug_entry(self, pc: int) -> None:
        """Take a halt: `pc` is the next instruction to execute."""

    def debug_exit(self, pc: int) -> None:
        """Take the end of a halt: `pc` is the next instruction."""


class CortexMListener(CoreListener, Protocol):
    """Who hears what a Cortex-M does."""

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Take completed instructions in order, failed ones of IT blocks included.

        :param accesses: What they loaded and stored, by index in ``addresses``, while the engine watches that.
        :param failed: Indices in ``addresses`` of those whose condition failed, while the engine watches that.
        """

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess]) -> None:
        """Take an exception entry.

        :param number: The architectural exception number (IPSR).
        :param return_address: The preferred return address; 0xFFFFFFFE when nothing ran since the exception return
            before it.
        :param pushed: What it stored on the stack.
        """

    def exception_return(self, popped: Sequence[BusAccess]) -> None:
        """Take an exception return.

        :param popped: What it loaded from the stack.
        """

    def lockup(self, address: int) -> None:
        """Take an entry to lockup.

        `address` is as for an exception's return address.
        """


class Both:
    """Two listeners of one Cortex-M.

    :param first: Hears each thing before the other.
    """

    def __init__(self, first: CortexMListener, second: CortexMListener) -> None:
        self._both = first, second

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Pass on completed instructions."""
        for each in self._both:
            each.executed(addresses, accesses, failed)

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess]) -> None:
        """Pass on an exception entry."""
        for each in self._both:
            each.exception(number, return_address, pushed)

    def exception_return(self, popped: Sequence[BusAccess]) -> None:
        """Pass on an exception return."""
        for each in self._both:
            each.exception_return(popped)

    def lockup(self, address: int) -> None:
        """Pass on a lockup."""
        for each in self._both:
            each.lockup(address)

    def debug_entry(self, pc: int) -> None:
        """Pass on a halt."""
        for each in self._both:
            each.debug_entry(pc)

    def debug_exit(self, pc: int) -> None:
        """Pass on the end of a halt."""
        for each in self._both:
            each.debug_exit(pc)


class CortexAListener(CoreListener, Protocol):
    """Listener of a Cortex-A.

    Addresses of T32 code have bit 0 set.
    """

    def executed(self, addresses: Sequence[int]) -> None:
        """Take completed instructions in order, those whose condition failed included."""

    def exception(self, number: int, reached: int, vector: int) -> None:
        """Take an exception entry.

        :param number: Its type as traced.
        :param reached: The instruction that would have been next.
        :param vector: The instruction that is.
        """

    def exception_return(self) -> None:
        """Take an exception return by the last executed instruction."""
