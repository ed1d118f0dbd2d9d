"""Encoder from executed instructions and transfers to ETMv4 trace.

No Q elements.  Exceptions, halts and returns, which the instructions do not show, are methods of their own.
Speculation is a stage after this one (``speculation.py``), and so is the data stream (``data.py``).
"""

from __future__ import annotations

from typing import Collection, Mapping, Optional, Sequence

from gdb_etm.protocols.etmv4.encode.data import BusTransfer
from gdb_etm.protocols.etmv4.encode.packets import event, result_2
from gdb_etm.protocols.etmv4.encode.path import NO_EXECUTION, PathEncoder
from gdb_etm.protocols.etmv4.encode.writer import HANDLER, THREAD, exception_type

# Exception type of an entry to Debug state (6.4.5).
DEBUG_HALT = 0x18

# Exception type of an entry to lockup (6.4.5).
LOCKUP = 0x1A


class Encoder(PathEncoder):
    """One trace unit's stream, from being enabled to being disabled.

    Bytes reach `sink` in bursts; :meth:`debug_halt`, :meth:`flush` and :meth:`disable` hand over everything.

    :param config: How the unit is programmed.
    :param read_code: Reads program memory.
    :param sink: Takes the trace bytes.
    :param handler: Whether the core is in Handler mode.
    :param data_sink: Takes the bytes of the data stream, where there is one.
    """

    def enable(self) -> None:
        """Begin a trace run: it starts with a synchronisation point (6.4.2)."""
        self._synchronise()

    def disable(self) -> None:
        """End the trace run."""
        self._branch = None
        self._active = False
        self._settle()
        self.deliver()

    def deliver(self) -> None:
        """Hand over what is written."""
        super().deliver()
        if self._data is not None:
            self._data.deliver()

    def event(self, numbers: int) -> None:
        """Take numbered events, at the instruction that the view decides on.

        :param numbers: One bit each.
        """
        self._events |= numbers

    def data_event(self) -> None:
        """Report event 0 to the data stream."""
        if self._data is not None:
            self._data.event()

    def overflow(self) -> None:
        """Drop what is not written and restart, as after an overflow (3.5.9)."""
        self._writer.drop_atoms()
        self._writer.overflow()
        if self._data is not None:
            self._data.overflow()
        self._branch = None
        self._active = False
        self._synchronise()

    def data_overflow(self) -> None:
        """Drop what the data stream has not written (3.5.9)."""
        if self._data is not None:
            self._data.overflow()
            self._sync_at = 0

    def instructions(
        self,
        addresses: Sequence[int],
        transfers: Mapping[int, Sequence[BusTransfer]] = {},
        failed: Collection[int] = (),
    ) -> None:
        """Take executed instructions in order.

        Those of an IT block whose condition failed are executed too.

        :param addresses: Their addresses.
        :param transfers: What they loaded and stored, by index in ``addresses``.
        :param failed: Indices of those whose condition failed, if conditional instructions are traced.
        """
        if not addresses:
            return
        if self._each:
            for index, address in enumerate(addresses):
                self._instruction(address, transfers.get(index, ()))
                if self._conditional is not None and self._conditional(address) and self._active:
                    # The C element and its result, of the one key.
                    self._writer.put(result_2(False, index not in failed))
                if self._events:
                    # After what ran before this instruction's block, and before the atom of the block (5.2.17).
                    self._writer.put(event(number for number in range(4) if self._events >> number & 1))
                    self._events = 0
            return
        self._ticks += len(addresses)
        if not self._active:
            self._start(addresses[0])
        elif self._lost:
            self._arrive(addresses[0])
        branch = self._branch
        records = self._records
        writer = self._writer
        for address in addresses:
            if branch is not None:
                self._resolve(branch, address)
                if self._lost or writer.count >= self._sync_at:
                    self._arrive(address)
            branch = records[address]
        self._branch = branch

    def exception(
        self, number: int, return_address: int, pushed: Sequence[BusTransfer] = (), forced: bool = False
    ) -> None:
        """Take an exception entry, traced if what ran before was (4.1.3).

        :param number: Architectural exception number (IPSR).
        :param return_address: Preferred return address, or :data:`NO_EXECUTION`.
        :param pushed: What it stored on the stack.
        :param forced: Whether it is traced all the same.
        """
        if forced and not self._active:
            self._turn_on()
        if self._active:
            self._leave(exception_type(number), return_address, pushed)
        self._level = HANDLER

    def exception_return(self, handler: bool, popped: Sequence[BusTransfer] = ()) -> None:
        """Take an exception return by the last executed instruction.

        :param handler: Whether the core is in Handler mode after it.
        :param popped: What it loaded from the stack.
        """
        if self._active:
            if self._branch is not None:
                self._atom(True)
                self._branch = None
            self._writer.flush_atoms()
            self._writer.exception_return()
            self._own(self._of_exception(popped))
            self._lost = True
            self.request_timestamp()
        self._level = HANDLER if handler else THREAD

    def lockup(self, address: int, forced: bool = False, reported: Optional[int] = None) -> None:
        """Take an entry to lockup (5.2.7).

        :param address: Address of the instruction that caused it, or :data:`NO_EXECUTION` if no instruction did.
        :param forced: Whether it is traced even if what came before it was not.
        :param reported: The return address that is traced instead, as the core's lockup address is.
        """
        if forced and not self._active:
            self._turn_on()
        if not self._active:
            return
        if reported is not None and address != NO_EXECUTION:
            if self._branch is not None:
                self._resolve(self._branch, address)
                self._branch = None
            if self._lost:
                self._arrive(address)
        self._leave(LOCKUP, address if reported is None else reported, ())

    def debug_halt(self, pc: int) -> None:
        """Take an entry to Debug state (3.5.8).

        :param pc: Address of the instruction that would have been next.
        """
        if self._active:
            self._leave(DEBUG_HALT, pc, ())
            self._account()
        self._branch = None
        self._active = False
        self._settle()
        self.deliver()

    def resume(self, handler: bool) -> None:
        """Take an exit from Debug state.

        :param handler: Whether the core is in Handler mode.
        """
        self._level = HANDLER if handler else THREAD
        self.forget_code()
