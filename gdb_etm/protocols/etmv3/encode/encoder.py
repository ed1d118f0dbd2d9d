"""Encoder from executed instructions and transfers to ETMv3 trace bytes.

For units on ARMv7-M processors: T32 code, always Secure, no Context ID and no VMID.  Exceptions, halts
and returns, which the instructions do not show, are methods of their own.

A direct branch's direction shows in the address that follows it, so its atom waits for its successor; so does the
packet with the target of an indirect branch, and that of an exception, which has the handler's address (IHI 0014Q,
7.3.5).
"""

from __future__ import annotations

from functools import partial
from typing import Callable, Collection, Mapping, NamedTuple, Optional, Sequence

from gdb_etm.program.isa import Insn, InstructionKind
from gdb_etm.protocols.armv7.fields import Information
from gdb_etm.protocols.encode.cores import StreamEncoder
from gdb_etm.protocols.encode.instructions import InstructionCache, ReadCode, instruction_at
from gdb_etm.protocols.encode.output import Sink
from gdb_etm.protocols.etmv3.encode.data import BusTransfer, DataConfig, DataEncoder
from gdb_etm.protocols.etmv3.encode.packets import EXCEPTION_ENTRY, EXCEPTION_EXIT, TRIGGER, cycle_count
from gdb_etm.protocols.etmv3.encode.writer import Layout, PacketWriter

# Whether TraceEnable is active for an instruction; called once for each executed instruction, in order.
View = Callable[[int], bool]
# How many cycles an instruction takes: by what it is, and whether it ran and, of a branch, was taken.
Cost = Callable[[Insn, bool], int]

# Return address of an exception that is tail-chained: nothing ran since the exception return.
NO_EXECUTION = 0xFFFFFFFE

# Reasons of I-sync packets (table 7.21).
PERIODIC, ENABLED, OVERFLOW, DEBUG = range(4)

_SYNC_AFTER = 2
_NONE: Collection[int] = ()

# Exception types of ARMv7-M processors by the number in IPSR (Cortex-M3 TRM, DDI 0337G, table 14-8); IRQ0 is 8, IRQ1 to
# IRQ7 are 1 to 7, the others as in IPSR plus 8.
_TYPES = {1: 17, 2: 10, 3: 19, 4: 13, 5: 21, 6: 9, 11: 11, 12: 12, 14: 14, 15: 15, 16: 8}


class EncoderConfig(NamedTuple):
    """How the trace unit is built and programmed."""

    # Whether the targets of direct branches are traced too (ETMCR[8]).
    branch_output: bool = False
    # The cycles of an instruction when trace is cycle-accurate (ETMCR[12]), else None.
    cost: Optional[Cost] = None
    # ETMCR[28]; one tick is one executed instruction.
    timestamps: bool = False
    # What the timestamp generator says when the trace run begins.
    time: int = 0
    # Whether they have 64 bits (ETMCCER[29]).
    wide_timestamps: bool = False
    # Whether branch packets have the alternative address encoding (ETMIDR[20]).
    alternative: bool = True
    # Bytes of trace between synchronisation points (ETMSYNCFR); 0 for none.
    sync_period: int = 0
    # TraceEnable; None traces everything.
    view: Optional[View] = None
    # Data trace; None for none.
    data: Optional[DataConfig] = None

    @property
    def layout(self) -> Layout:
        """How packets are written."""
        data = self.data
        addresses, values = data is not None and data.addresses, data is not None and data.values
        most = 9 if self.wide_timestamps else 7
        return Layout(self.alternative, self.cost is not None, most, addresses, values)


class _Taken(NamedTuple):
    # An exception whose handler's address is not known yet.
    number: int
    cancel: bool
    pushed: Sequence[BusTransfer]


class Encoder(StreamEncoder[PacketWriter]):
    """One trace unit's stream, from being enabled to being disabled.

    Bytes reach `sink` in bursts; :meth:`debug_halt`, :meth:`flush` and :meth:`disable` hand over everything.

    :param config: How the unit is built and programmed.
    :param read_code: Reads program memory.
    :param sink: Takes the trace bytes.
    """

    def __init__(self, config: EncoderConfig, read_code: ReadCode, sink: Sink) -> None:
        super().__init__(PacketWriter(sink, config.layout), config.timestamps)
        self._config = config
        self._data = None if config.data is None else DataEncoder(self._writer, config.data)
        self._read_code = read_code
        self._code = InstructionCache(partial(instruction_at, read_code))
        # What waits for the next address, in this order: a direct branch for its direction, the target of an indirect
        # branch or of an exception return, an exception.
        self._branch: Optional[Insn] = None
        self._lost = False
        self._taken: Optional[_Taken] = None
        self._active = False
        self._reason = ENABLED
        # Cycles since the last P-header while trace is off; None when unknown.
        self._idle: Optional[int] = None
        # Instructions up to the I-sync packet that belongs to the last A-sync.
        self._sync_in = 0
        self._ticks = config.time

    def enable(self) -> None:
        """Begin a trace run with A-sync."""
        self._asynchronise()

    def disable(self) -> None:
        """End the trace run."""
        self._forget_address()
        self._stop()
        self._writer.deliver()

    def flush(self) -> None:
        """Hand over all trace so far."""
        self.deliver()

    def forget_code(self) -> None:
        """Read program memory afresh from here on: it may have changed."""
        self._code = InstructionCache(partial(instruction_at, self._read_code))

    def overflow(self) -> None:
        """Drop what is not written and restart, as after a FIFO overflow."""
        self._writer.drop_atoms()
        if self._data is not None:
            self._data.drop()
        self._forget_address()
        self._active = False
        self._reason = OVERFLOW
        self._idle = None

    def suppress(self) -> None:
        """Leave out data packets while the FIFO is nearly full (ETMCR[18])."""
        if self._data is not None and self._active:
            self._data.suppress()

    def trigger(self) -> None:
        """Report that the trigger event occurred (ETMTRIGGER)."""
        self._writer.put(TRIGGER)

    def instructions(
        self,
        addresses: Sequence[int],
        failed: Collection[int] = _NONE,
        transfers: Mapping[int, Sequence[BusTransfer]] = {},
    ) -> None:
        """Take executed instructions in order; those whose condition failed are executed too.

        :param addresses: Their addresses.
        :param failed: Indices in ``addresses`` of those in IT blocks whose condition failed.
        :param transfers: What they loaded and stored, by index in ``addresses``.
        """
        for index, address in enumerate(addresses):
            self._instruction(address, index in failed, transfers.get(index, ()))

    def exception(
        self, number: int, return_address: int, pushed: Sequence[BusTransfer] = (), cancelled: bool = False
    ) -> None:
        """Take an exception entry.

        :param number: Architectural exception number (IPSR).
        :param return_address: Preferred return address, or :data:`NO_EXECUTION`.
        :param pushed: What it stored on the stack.
        :param cancelled: Whether the instruction at the return address had started: it is traced, and then cancelled.
        """
        if return_address != NO_EXECUTION:
            self._arrive(return_address)
        else:
            # Execution arrived nowhere.
            if self._branch is not None:
                self._atom(self._branch, True)
            self._forget_address()
        if self._active:
            began = cancelled and self._config.view is None
            if began:
                self._atom(self._code[return_address], True)
            self._taken = _Taken(exception_type(number), began, pushed)

    def exception_return(self, popped: Sequence[BusTransfer] = ()) -> None:
        """Take an exception return by the last executed instruction.

        :param popped: What it loaded from the stack.
        """
        if self._active:
            self._writer.put(EXCEPTION_EXIT)
            self._transfers(0, popped)
            self._lost = True
            self.request_timestamp()

    def lockup(self, address: int) -> None:
        """Take an entry to lockup, which ETMv3 does not report.

        Nothing runs until another exception or a halt.

        :param address: Address of the instruction that caused it, or :data:`NO_EXECUTION`.
        """
        if address != NO_EXECUTION:
            self._arrive(address)

    def debug_halt(self, pc: int) -> None:
        """Take an entry to Debug state.

        :param pc: Address of the instruction that would have been next.
        """
        self._arrive(pc)
        self._stop()
        self._writer.deliver()

    def resume(self) -> None:
        """Take an exit from Debug state."""
        self._reason = DEBUG
        self.forget_code()

    def _instruction(self, address: int, failed: bool, transfers: Sequence[BusTransfer]) -> None:
        self._ticks += 1
        self._arrive(address)
        view = self._config.view
        insn = self._code[address]
        if view is not None and not view(address):
            self._pass_over(insn)
            return
        if not self._active:
            self._start(address)
        elif self._writer.count >= self._sync_at:
            self._asynchronise()
            self._sync_in = _SYNC_AFTER
        elif self._sync_in:
            self._sync_in -= 1
            if not self._sync_in:
                self._writer.isync(PERIODIC, address)
        if insn.kind is InstructionKind.DIRECT and not failed and insn.target != address + insn.size:
            self._branch = insn
            return
        self._atom(insn, not failed)
        self._lost = insn.kind is InstructionKind.INDIRECT and not failed
        self._transfers(address, transfers)

    def _arrive(self, address: int) -> None:
        # Write what waited for the address at which execution continues.
        branch, self._branch = self._branch, None
        if branch is not None:
            taken = address == branch.target
            self._atom(branch, taken)
            self._lost = taken and self._config.branch_output
        if self._lost:
            self._lost = False
            self._writer.branch(address)
        if self._taken is not None:
            self._enter(self._taken, address)
            self._taken = None
        if self._timestamp_due and self._active:
            self._timestamp_due = False
            self._writer.timestamp(self._ticks)

    def _enter(self, taken: _Taken, handler: int) -> None:
        information = Information(taken.number, False, False, taken.cancel, None, None)
        self._writer.branch(handler, information=information)
        if self._data is not None:
            self._writer.put(EXCEPTION_ENTRY)
            self._transfers(handler, taken.pushed)
        self.request_timestamp()

    def _atom(self, insn: Insn, passed: bool) -> None:
        atom = "E" if passed else "N"
        cost = self._config.cost
        self._writer.atoms(atom if cost is None else "W" * cost(insn, passed) + atom)

    def _transfers(self, address: int, transfers: Sequence[BusTransfer]) -> None:
        if self._data is not None and transfers:
            self._data.transfers(address, transfers)

    def _pass_over(self, insn: Insn) -> None:
        if self._active:
            self._stop()
        self._reason = OVERFLOW if self._reason == OVERFLOW else ENABLED
        if self._idle is not None and self._config.cost is not None:
            self._idle += self._config.cost(insn, True)

    def _start(self, address: int) -> None:
        if self._writer.count >= self._sync_at:
            self._asynchronise()
        reason = self._reason
        self._active, self._reason, self._sync_in = True, ENABLED, 0
        if self._config.cost is None:
            self._writer.isync(reason, address)
        elif reason != DEBUG:
            self._writer.isync(reason, address, cycles=self._idle or 0)
        else:
            # The same in two packets (7.10.5).
            self._writer.isync(reason, address)
            self._writer.put(cycle_count(self._idle or 0))
        self._idle = None

    def _stop(self) -> None:
        # No more is traced before the next start.
        if self._data is not None:
            self._data.settle()
        self._writer.flush_atoms()
        if self._active:
            self._idle = 0
        self._active = False

    def _asynchronise(self) -> None:
        period = self._config.sync_period
        self._writer.asynchronise()
        if self._config.timestamps:
            self._writer.timestamp(self._ticks)
        self._sync_at = self._writer.count + period if period else 1 << 64

    def _forget_address(self) -> None:
        self._branch = self._taken = None
        self._lost = False


def exception_type(number: int) -> int:
    """Convert an ARMv7-M exception number to the traced exception type.

    :param number: Exception number as in IPSR, from 1.
    """
    if number in _TYPES:
        return _TYPES[number]
    return number - 16 if 16 < number < 24 else number
