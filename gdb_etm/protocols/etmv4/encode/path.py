"""Path encoder: the packets of instructions, one after the other.

A branch's direction shows in the address that follows it, so the last branch waits for its successor.  An indirect
branch in an IT block that goes to the instruction after it counts as not taken; execution is the same.
"""

from __future__ import annotations

from typing import List, Optional, Sequence

from gdb_etm.protocols.encode.cores import StreamEncoder
from gdb_etm.protocols.encode.instructions import BranchRecord, ReadCode
from gdb_etm.protocols.encode.output import Sink
from gdb_etm.protocols.etmv4.encode.conditions import ConditionalInstructions
from gdb_etm.protocols.etmv4.encode.config import EncoderConfig
from gdb_etm.protocols.etmv4.encode.data import BusTransfer, DataEncoder
from gdb_etm.protocols.etmv4.encode.data_packets import DataWriter
from gdb_etm.protocols.etmv4.encode.packets import CONDITIONAL_FLUSH, trace_info
from gdb_etm.protocols.etmv4.encode.records import TRANSFER, p0_instructions
from gdb_etm.protocols.etmv4.encode.speculation import Speculator
from gdb_etm.protocols.etmv4.encode.writer import HANDLER, THREAD, PacketWriter

# Return address of an exception that is tail-chained: nothing ran since the exception return (5.2.7).
NO_EXECUTION = 0xFFFFFFFE

_RETURN_STACK_DEPTH = 3
_CYCLE_BITS = 12


class PathEncoder(StreamEncoder[PacketWriter]):
    """Encodes the path of one stream, instruction by instruction.

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
        self._loaded: Sequence[BusTransfer] = ()
        self._level = HANDLER if handler else THREAD
        # The level that the stream has last; None before it has any.
        self._written_level: Optional[int] = None
        self._active = False
        # Whether the stream does not say where the next instruction is.
        self._lost = False
        self._ticks = self._counted = config.time
        self._count_known = False
        # Events since the last instruction, one bit each.
        self._events = 0
        self._each = config.view is not None or config.timestamps or config.threshold is not None
        self._each = self._each or config.transfers is not None or conditional != 0

    def _data_tracer(self, sink: Optional[Sink]) -> Optional[DataEncoder]:
        data, setup = self._config.data, self._config.setup
        if data is None or setup is None or sink is None or not isinstance(self._writer, Speculator):
            return None
        normal = data.p1_keys - data.special_keys
        writer = DataWriter(sink, setup.keys, normal)
        special = range(normal, data.p1_keys)
        return DataEncoder(self._writer, writer, setup.keys, special, data.addresses, data.values, data.late)

    def forget_code(self) -> None:
        """Read program memory afresh from here on: it may have changed."""
        self._records = p0_instructions(self._read_code, self._config.broadcast, self._config.transfers)

    def _instruction(self, address: int, transfers: Sequence[BusTransfer]) -> None:
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
                # Tracing stops between two blocks: the target of the last P0 element is not traced (4.1.3).
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

    def _own(self, transfers: Sequence[BusTransfer]) -> None:
        # These belong to the P0 element that has just been written.
        if self._data is not None:
            self._data.transfer(transfers)
            self._data.step()
            if self._data.timestamp_due:
                self.request_timestamp()

    def _of_exception(self, transfers: Sequence[BusTransfer]) -> Sequence[BusTransfer]:
        data = self._config.data
        return transfers if data is not None and data.exceptions else ()

    def _resolve(self, branch: BranchRecord, successor: int) -> None:
        # Write the atom of a P0 instruction whose successor is now known; then _lost is whether an address is due.
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

    def _leave(self, number: int, address: int, pushed: Sequence[BusTransfer]) -> None:
        # Write an Exception packet; execution ran up to, not including, `address`.
        if self._branch is not None:
            self._resolve(self._branch, address)
            self._branch = None
        self._writer.flush_atoms()
        level = None
        if self._lost and self._level != self._written_level and address != NO_EXECUTION:
            level = self._written_level = self._level
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
        if self._written >= self._sync_at and self._written_level is not None:
            self._synchronise()
        self._writer.trace_on()
        self._stack.clear()
        self._active = self._lost = True

    def _arrive(self, address: int) -> None:
        # An address is due at the target of the last P0 element, or a synchronisation point, which has it too.
        self._writer.flush_atoms()
        if self._written >= self._sync_at:
            self._synchronise()
        self._locate(address)

    def _locate(self, address: int) -> None:
        level = None if self._level == self._written_level else self._level
        self._writer.location(address, level)
        self._written_level = self._level
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
        self._written_level = None
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
