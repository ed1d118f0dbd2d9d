"""Executed instructions and their transfers -> ETMv4 trace bytes, as the trace units of the boards emit them.

No Q elements.  What the unit cannot know from the instructions it is told: exceptions, halts and
returns are methods of their own.  Speculation is a stage after this one (``speculation.py``), and so is the data stream
(``data.py``).

A branch's direction shows in the address that follows it, so the last branch waits for its successor.  An indirect
branch in an IT block that goes to the instruction after it counts as not taken; execution is the same.
"""

from __future__ import annotations

from typing import Callable, Collection, List, Mapping, NamedTuple, Optional, Sequence

from gdb_etm.protocols.encode.cores import StreamEncoder
from gdb_etm.protocols.encode.instructions import BranchRecord, ReadCode, Region
from gdb_etm.protocols.encode.output import Sink
from gdb_etm.protocols.etmv4.encode.conditions import ConditionalInstructions
from gdb_etm.protocols.etmv4.encode.data import DataTracer, Transfer
from gdb_etm.protocols.etmv4.encode.data_packets import DataWriter
from gdb_etm.protocols.etmv4.encode.packets import CONDITIONAL_FLUSH, event, result_2, trace_info
from gdb_etm.protocols.etmv4.encode.records import TRANSFER, p0_instructions
from gdb_etm.protocols.etmv4.encode.speculation import Setup, Speculator
from gdb_etm.protocols.etmv4.encode.writer import HANDLER, THREAD, PacketWriter, exception_type

# Tells whether ViewInst is active for an instruction; called once for each executed instruction, in order.
View = Callable[[int], bool]

# Return address of an exception that is tail-chained: nothing ran since the exception return (5.2.7).
NO_EXECUTION = 0xFFFFFFFE
# Exception type of an entry to Debug state (6.4.5).
DEBUG_HALT = 0x18

# Exception type of an entry to lockup (6.4.5).
LOCKUP = 0x1A

_RETURN_STACK_DEPTH = 3
_CYCLE_BITS = 12


class DataConfig(NamedTuple):
    """How data trace is programmed, and what the unit has for it."""

    # TRCCONFIGR.DA.
    addresses: bool
    # TRCCONFIGR.DV.
    values: bool
    # TRCVDCTLR.TRCEXDATA: what exceptions push and pop is traced too.
    exceptions: bool
    # TRCIDR10.NUMP1KEY.
    p1_keys: int
    # TRCIDR11.NUMP1SPC.
    special_keys: int
    # Whether transfers are traced late and out of order.
    late: bool = True


class EncoderConfig(NamedTuple):
    """How the trace unit is programmed."""

    # TRCCONFIGR.RS: leave out the address of a return to where the last call came from.
    return_stack: bool = False
    # Where branch broadcasting is on (TRCCONFIGR.BB, TRCBBCTLR); None for nowhere.
    broadcast: Optional[Region] = None
    # TRCCONFIGR.TS; one tick is one executed instruction.
    timestamps: bool = False
    # TRCCCCTLR.THRESHOLD when TRCCONFIGR.CCI is set; one cycle is one executed instruction.
    threshold: Optional[int] = None
    # Bytes of trace between synchronisation points (2 to the power of TRCSYNCPR); 0 for none.
    sync_period: int = 0
    # ViewInst; None traces everything.
    view: Optional[View] = None
    # Whether an exception at the target of an indirect branch has that address in a packet before it, and not in the
    # Exception packet (E1:E0 = 0b10).  Both are right (4.1.3); OpenCSD up to 1.8 pops its return stack at the latter.
    separate_address: bool = False
    # Speculation, P0 keys and commit mode; None for a unit with commit mode 1 and none of the others.
    setup: Optional[Setup] = None
    # Which instructions are P0 elements for their loads or stores (TRCCONFIGR.INSTP0); None for none.  Needs
    # ``setup``.
    transfers: Optional[Region] = None
    # Data trace; None for none.  Needs ``setup``.
    data: Optional[DataConfig] = None
    # TRCCONFIGR.COND, for a unit with one key that tells passed or failed (TRCIDR0.CONDTYPE).  Not with ``setup``.
    conditional: int = 0


class Encoder(StreamEncoder[PacketWriter]):
    """One trace unit's stream, from being enabled to being disabled.

    Bytes reach `sink` in bursts; :meth:`debug_halt`, :meth:`flush` and :meth:`disable` hand over everything.

    :param config: How the unit is programmed.
    :param read_code: Reads program memory.
    :param sink: Takes the trace bytes.
    :param handler: Whether the core is in Handler mode.
    :param data_sink: Takes the bytes of the data stream, where there is one.
    """

    def __init__(
        self,
        config: EncoderConfig,
        read_code: ReadCode,
        sink: Sink,
        handler: bool = False,
        data_sink: Optional[Sink] = None,
    ) -> None:
        writer = PacketWriter(sink) if config.setup is None else Speculator(sink, config.setup)
        super().__init__(writer, config.timestamps)
        self._config = config
        self._data = self._data_tracer(data_sink)
        self._read_code = read_code
        self._records = p0_instructions(read_code, config.broadcast, config.transfers)
        conditional = config.conditional
        self._conditional = ConditionalInstructions(read_code, conditional) if conditional else None
        self._stack: List[int] = []
        self._branch: Optional[BranchRecord] = None
        # What the branch itself loads, as POP with the PC does.
        self._loaded: Sequence[Transfer] = ()
        self._level = HANDLER if handler else THREAD
        # The level that the stream last told; None before it has told any.
        self._told: Optional[int] = None
        self._active = False
        # Whether an analyser cannot tell from the stream where the next instruction is.
        self._lost = False
        self._ticks = 0
        self._counted = 0
        self._count_known = False
        # Events since the last instruction, one bit each.
        self._events = 0
        self._each = config.view is not None or config.timestamps or config.threshold is not None
        self._each = self._each or config.transfers is not None or conditional != 0

    def _data_tracer(self, sink: Optional[Sink]) -> Optional[DataTracer]:
        data, setup = self._config.data, self._config.setup
        if data is None or setup is None or sink is None or not isinstance(self._writer, Speculator):
            return None
        normal = data.p1_keys - data.special_keys
        writer = DataWriter(sink, setup.keys, normal)
        special = range(normal, data.p1_keys)
        return DataTracer(self._writer, writer, setup.keys, special, data.addresses, data.values, data.late)

    def enable(self) -> None:
        """Begin a trace run: it starts with a synchronisation point (6.4.2)."""
        self._synchronise()

    def disable(self) -> None:
        """End the trace run; a branch whose direction is not known yet is not traced."""
        self._branch = None
        self._active = False
        self._settle()
        self.deliver()

    def deliver(self) -> None:
        """Hand over what is written; a branch whose direction is not known yet stays."""
        super().deliver()
        if self._data is not None:
            self._data.deliver()

    def event(self, numbers: int) -> None:
        """Take that numbered events occurred at the instruction for which the view is being asked.

        :param numbers: One bit each.
        """
        self._events |= numbers

    def data_event(self) -> None:
        """Tell the data stream that event 0 occurred."""
        if self._data is not None:
            self._data.event()

    def forget_code(self) -> None:
        """Read program memory afresh from here on: it may have changed."""
        self._records = p0_instructions(self._read_code, self._config.broadcast, self._config.transfers)

    def overflow(self) -> None:
        """Lose what is not written yet and restart, as after an overflow of the unit's buffer (3.5.9)."""
        self._writer.drop_atoms()
        self._writer.overflow()
        if self._data is not None:
            self._data.overflow()
        self._branch = None
        self._active = False
        self._synchronise()

    def data_overflow(self) -> None:
        """Lose what the data stream has not written yet, as after an overflow of its buffer alone (3.5.9)."""
        if self._data is not None:
            self._data.overflow()
            self._sync_at = 0

    def instructions(
        self,
        addresses: Sequence[int],
        transfers: Mapping[int, Sequence[Transfer]] = {},
        failed: Collection[int] = (),
    ) -> None:
        """Take executed instructions in order; those of an IT block whose condition failed are executed too.

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
        self, number: int, return_address: int, pushed: Sequence[Transfer] = (), forced: bool = False
    ) -> None:
        """Take an exception entry; it is traced if what came just before it was (4.1.3).

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

    def exception_return(self, handler: bool, popped: Sequence[Transfer] = ()) -> None:
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

    def lockup(self, address: int, forced: bool = False, told: Optional[int] = None) -> None:
        """Take an entry to lockup: nothing runs until another exception or a halt (5.2.7).

        :param address: Address of the instruction that caused it, or :data:`NO_EXECUTION` if no instruction did.
        :param forced: Whether it is traced even if what came before it was not.
        :param told: The return address that is told instead, as the core's lockup address is.
        """
        if forced and not self._active:
            self._turn_on()
        if not self._active:
            return
        if told is not None and address != NO_EXECUTION:
            if self._branch is not None:
                self._resolve(self._branch, address)
                self._branch = None
            if self._lost:
                self._arrive(address)
        self._leave(LOCKUP, address if told is None else told, ())

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
        """Take an exit from Debug state: the debugger may have changed registers and memory.

        :param handler: Whether the core is in Handler mode.
        """
        self._level = HANDLER if handler else THREAD
        self.forget_code()

    def _instruction(self, address: int, transfers: Sequence[Transfer]) -> None:
        self._ticks += 1
        view = self._config.view
        traced = view is None or view(address)
        if not self._active:
            if not traced:
                return
            self._start(address)
        elif self._branch is not None or self._lost:
            if self._branch is not None:
                self._resolve(self._branch, address)
                self._branch = None
            if not traced:
                # Tracing stops between two blocks: the target of the last P0 element is not told (4.1.3).
                self._account()
                self._active = self._lost = False
                return
            if self._lost or self._written >= self._sync_at:
                self._arrive(address)
            self._account()
        record = self._records[address]
        if record is TRANSFER:
            self._writer.atom(True, True)
            self._own(transfers)
            self._account()
        else:
            self._branch, self._loaded = record, transfers

    @property
    def _written(self) -> int:
        # Bytes of both streams, which the synchronisation period counts (7.3.71).
        return self._writer.count + (0 if self._data is None else self._data.count)

    def _atom(self, taken: bool, fixed: bool = False) -> None:
        # The atom of a branch, and what the branch loads.
        self._writer.atom(taken, fixed)
        loaded, self._loaded = self._loaded, ()
        self._own(loaded)

    def _own(self, transfers: Sequence[Transfer]) -> None:
        # These belong to the P0 element that has just been written.
        if self._data is not None:
            self._data.transfer(transfers)
            self._data.step()
            if self._data.timestamp_due:
                self.request_timestamp()

    def _of_exception(self, transfers: Sequence[Transfer]) -> Sequence[Transfer]:
        data = self._config.data
        return transfers if data is not None and data.exceptions else ()

    def _resolve(self, branch: BranchRecord, successor: int) -> None:
        # Write the atom of a P0 instruction whose successor is now known; then _lost tells whether an address is due.
        target, following, link, broadcast, barrier, certain = branch
        if successor == following and successor != target and not certain:
            self._atom(False, link)
            return
        self._atom(True, link)
        if broadcast:
            self._stack.clear()
            self._lost = True
        else:
            stack = self._stack
            if link and self._config.return_stack:
                # Push before the comparison (5.3.1); PTM does it in the other order.
                stack.append(following)
                if len(stack) > _RETURN_STACK_DEPTH:
                    del stack[0]
            if target < 0:
                if stack and stack[-1] == successor:
                    stack.pop()
                else:
                    self._lost = True
            elif successor != target:
                self._lost = True
        if barrier:
            self.request_timestamp()

    def _leave(self, number: int, address: int, pushed: Sequence[Transfer]) -> None:
        # Write an Exception packet; execution ran up to, not including, `address`.
        if self._branch is not None:
            self._resolve(self._branch, address)
            self._branch = None
        self._writer.flush_atoms()
        level = None
        if self._lost and self._level != self._told and address != NO_EXECUTION:
            level = self._told = self._level
        if self._lost and self._config.separate_address:
            self._writer.location(address, level)
            self._writer.exception(number, address, True)
        else:
            self._writer.exception(number, address, not self._lost, level)
        self._own(self._of_exception(pushed))
        self._lost = True
        self.request_timestamp()

    def _start(self, address: int) -> None:
        # ViewInst becomes active: Trace On, then where (5.2.2).
        self._turn_on()
        self._locate(address)

    def _turn_on(self) -> None:
        self._writer.flush_atoms()
        if self._written >= self._sync_at and self._told is not None:
            self._synchronise()
        self._writer.trace_on()
        self._stack.clear()
        self._active = self._lost = True

    def _arrive(self, address: int) -> None:
        # An address is due at the target of the last P0 element, or a synchronisation point, which tells it too.
        self._writer.flush_atoms()
        if self._written >= self._sync_at:
            self._synchronise()
        self._locate(address)

    def _locate(self, address: int) -> None:
        level = None if self._level == self._told else self._level
        self._writer.location(address, level)
        self._told = self._level
        self._lost = False

    def _synchronise(self) -> None:
        self._writer.flush_atoms()
        if self._data is not None:
            self._data.synchronise()
        if self._config.return_stack:
            # OpenCSD up to 1.8 empties its return stack at a Trace Info, before what is not committed yet uses it.
            self._writer.settle()
        period = self._config.sync_period
        self._sync_at = self._written + period if period else 1 << 64
        threshold, conditional = self._config.threshold, self._config.conditional
        self._writer.synchronise(threshold, trace_info(threshold, conditional) if conditional else b"")
        if conditional:
            self._writer.put(CONDITIONAL_FLUSH)
        # A Context is due after every Trace Info (5.2.10), and the return stack is flushed by it (5.3.1).
        self._told = None
        self._stack.clear()
        self.request_timestamp()

    def _account(self) -> None:
        # After a P0 element and the address of its target: a cycle count when the threshold is reached, and a timestamp
        # when one was asked for.  Both may come before that address (5.3.1), but decoders differ on what that means.
        threshold = self._config.threshold
        if threshold is not None:
            cycles = self._ticks - self._counted
            if cycles >= threshold:
                self._writer.flush_atoms()
                known = self._count_known and cycles >> _CYCLE_BITS == 0
                self._writer.cycle_count(cycles - threshold if known else None)
                self._counted = self._ticks
                self._count_known = True
        if self._timestamp_due:
            self._writer.flush_atoms()
            self._timestamp()

    def _timestamp(self) -> None:
        self._writer.timestamp(self._ticks, self._ticks - self._counted if self._count_known else None)
        if self._data is not None:
            self._data.timestamp(self._ticks)
        self._timestamp_due = False

    def _settle(self) -> None:
        # No more comes before the next start.
        if self._data is not None:
            self._data.settle()
            if self._data.timestamp_due and self._config.timestamps:
                self._writer.flush_atoms()
                self._timestamp()
        self._writer.settle()
