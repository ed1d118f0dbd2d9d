"""Encoder from executed instructions to PTM trace bytes.

Addresses have bit 0 set for T32 code, as interworking branches have them.  Exceptions and halts, which the
instructions do not show, are methods of their own.

A waypoint's direction shows in the instruction that follows it, so the last one waits for its successor.  A conditional
indirect branch that goes to the instruction after it counts as not taken; execution is the same.
"""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Sequence

from gdb_etm.protocols.armv7.fields import Information, IsaState, Reason, Reference
from gdb_etm.protocols.encode.cores import StreamEncoder
from gdb_etm.protocols.encode.instructions import BranchRecord, ReadCode, Region
from gdb_etm.protocols.encode.output import Sink
from gdb_etm.protocols.ptm.encode import packets
from gdb_etm.protocols.ptm.encode.packets import Regime
from gdb_etm.protocols.ptm.encode.records import waypoints
from gdb_etm.protocols.ptm.encode.writer import PacketWriter

# Whether TraceEnable is active for an instruction; called once for each executed instruction, in order.
View = Callable[[int], bool]

# Exception types of ARMv7-A and ARMv7-R (4.5.4).
DEBUG_HALT = 1
SMC = 2
RESET = 8
UNDEFINED = 9
SVC = 10
PREFETCH_ABORT = 11
DATA_ABORT = 12
IRQ = 14
FIQ = 15

_RETURN_STACK_DEPTH = 4
# How many bytes of instructions may run without a waypoint (4.3).
_MOST_BYTES = 4096
_TIMESTAMP_MASKS = {False: (1 << 48) - 1, True: (1 << 64) - 1}


class EncoderConfig(NamedTuple):
    """What the trace unit is, and how it is programmed."""

    # Minor architecture version: 1 for PFTv1.1 (ETMIDR[7:4]).
    version: int = 0
    # ETMCR[12]; one cycle is one executed instruction.
    cycle_accurate: bool = False
    # ETMCR[29]: leave out the address of a return to where the last call came from.
    return_stack: bool = False
    # Where branch broadcasting is on (ETMCR[8]); None for nowhere.
    broadcast: Optional[Region] = None
    # ETMCR[28]; one tick is one executed instruction.
    timestamps: bool = False
    # What the timestamp generator says when the trace run begins.
    time: int = 0
    # Whether they have 64 bits and not 48 (ETMCCER[29]).
    wide_timestamps: bool = False
    # Whether they are Gray-coded (ETMCCER[28] is 0).
    gray_timestamps: bool = False
    # Whether DMB and DSB are waypoints (ETMCCER[24]).
    barriers: bool = False
    # 0, 1, 2 or 4 (ETMCR[15:14]).
    context_id_bytes: int = 0
    # ETMCR[30]: whether the VMID is traced, from PFTv1.1.
    vmid: bool = False
    # Bytes of trace between synchronisation points (ETMSYNCFR); 0 for none.
    sync_period: int = 0
    # TraceEnable; None traces everything.
    view: Optional[View] = None


class Encoder(StreamEncoder[PacketWriter]):
    """One trace unit's stream, from being enabled to being disabled.

    Bytes reach `sink` in bursts; :meth:`debug_halt`, :meth:`flush` and :meth:`disable` hand over everything.

    :param config: How the unit is programmed.
    :param read_code: Reads program memory.
    :param sink: Takes the trace bytes.
    """

    def __init__(self, config: EncoderConfig, read_code: ReadCode, sink: Sink) -> None:
        super().__init__(PacketWriter(sink, config.cycle_accurate, config.wide_timestamps), config.timestamps)
        self._config = config
        self._read_code = read_code
        self._records = waypoints(read_code, config.broadcast, config.barriers)
        self._stack: List[int] = []
        # The last instruction, when it is a waypoint that waits for its successor.
        self._waypoint: Optional[BranchRecord] = None
        # Whether nothing ran since a waypoint or an exception, and what is due there has not been written.
        self._between = False
        # The first and the last instruction since a waypoint; -1 at one.
        self._first = self._last = -1
        self._regime = Regime()
        # The regime that the stream has last; None before it has any.
        self._written_regime: Optional[Regime] = None
        self._context_id = self._vmid = 0
        self._written_id = self._written_vmid = -1
        self._active = False
        self._reason = Reason.ENABLED
        self._ticks = self._counted = config.time
        # Whether the waypoint that waits is an exception return that has a packet.
        self._returned = False

    def enable(self) -> None:
        """Begin a trace run: it starts with an A-sync packet (4.5.1)."""
        self._align()

    def disable(self) -> None:
        """End the trace run."""
        self._settle()

    def forget_code(self) -> None:
        """Read program memory afresh from here on: it may have changed."""
        self._records = waypoints(self._read_code, self._config.broadcast, self._config.barriers)

    def overflow(self) -> None:
        """Drop what is not written and restart, as after an overflow (4.5.2)."""
        self._writer.drop_atoms()
        self._waypoint = None
        self._between = self._active = False
        self._first = self._last = -1
        self._reason = Reason.OVERFLOW
        self._align()

    def trigger(self) -> None:
        """Take the trigger (4.5.7)."""
        self._writer.put(packets.TRIGGER)

    def context(self, context_id: int, vmid: int = 0) -> None:
        """Take the Context ID and the VMID of the next instructions."""
        self._context_id, self._vmid = context_id, vmid

    def instructions(self, addresses: Sequence[int], regime: Regime = Regime()) -> None:
        """Take executed instructions in order; those whose condition failed are executed too.

        :param addresses: Their addresses, with bit 0 set for T32 code.
        :param regime: The state in which they executed.
        """
        self._regime = regime
        view, records = self._config.view, self._records
        for address in addresses:
            traced = view is None or view(address & ~1)
            if self._waypoint is not None:
                self._resolve(self._waypoint, address)
                self._between = True
            if self._between:
                # Tracing stops only here.
                self._between = False
                if traced:
                    self._arrive(address)
                else:
                    self._active = False
            elif traced and not self._active:
                self._start(address)
            self._ticks += 1
            if self._active:
                self._ran(address, records[address])

    def exception(self, number: int, reached: int, vector: int, regime: Regime = Regime()) -> None:
        """Take an exception, traced if what ran before was.

        :param number: Exception type as traced.
        :param reached: The instruction that would have been next.
        :param vector: Where execution goes on.
        :param regime: The state there.
        """
        if self._active:
            self._leave(number, reached, vector, regime)
            self._between = True
        self._regime = regime

    def exception_return(self) -> None:
        """Take an exception return by the last executed instruction."""
        self.request_timestamp()
        self._returned = self._config.version >= 1 and self._active

    def debug_halt(self, pc: int) -> None:
        """Take an entry to Debug state.

        :param pc: The instruction that would have been next.
        """
        if self._active:
            # There is no vector, so the address is where execution stopped.
            self._leave(DEBUG_HALT, pc, pc, self._regime)
        self._settle()
        self._reason = Reason.DEBUG

    def resume(self) -> None:
        """Take an exit from Debug state."""
        self.forget_code()

    def _ran(self, address: int, record: Optional[BranchRecord]) -> None:
        self._waypoint = record
        if record is not None:
            self._first = self._last = -1
            return
        self._last = address
        if self._first < 0:
            self._first = address
        elif address - self._first > _MOST_BYTES:
            self._update()

    def _update(self) -> None:
        # Everything up to and with the last instruction ran (4.5.5).
        if self._last >= 0:
            self._writer.update(_reference(self._last))
            self._first = self._last = -1

    def _resolve(self, waypoint: BranchRecord, successor: int) -> None:
        # Write the atom of a waypoint whose successor is now known, or the branch packet that implies it.
        self._waypoint = None
        returned, self._returned = self._returned, False
        target, following, link, broadcast, barrier, certain = waypoint
        if successor == following and successor != target and not returned and not certain:
            self._writer.atom(False, self._cycles())
            return
        known = not broadcast and self._regime == self._written_regime
        if known and target == successor:
            self._writer.atom(True, self._cycles())
        elif known and target < 0 and self._stack and self._stack[-1] == successor:
            # The return stack is popped before it is pushed.
            self._stack.pop()
            self._writer.atom(True, self._cycles())
        else:
            self._branch(successor)
        if link and self._config.return_stack:
            self._stack.append(following)
            del self._stack[:-_RETURN_STACK_DEPTH]
        if returned:
            self._writer.put(packets.EXCEPTION_RETURN)
        if barrier:
            self.request_timestamp()

    def _branch(self, successor: int) -> None:
        information = None if self._regime == self._written_regime else self._information(0, self._regime)
        self._writer.branch(_reference(successor), information, self._cycles())
        self._written_regime = self._regime

    def _leave(self, number: int, reached: int, vector: int, regime: Regime) -> None:
        # Write a branch packet with an exception; execution ran up to, not including, `reached`.
        if self._waypoint is not None:
            self._resolve(self._waypoint, reached)
            self._between = True
        if self._between:
            self._between = False
            self._arrive(reached)
        self._update()
        self._writer.branch(_reference(vector), self._information(number, regime), self._cycles())
        self._written_regime = regime
        self.request_timestamp()

    def _information(self, number: int, regime: Regime) -> Information:
        # Hyp mode is written where it changed.
        changed = self._written_regime is None or self._written_regime.hyp != regime.hyp
        return Information(number, regime.non_secure, False, False, regime.hyp if changed else None, None)

    def _start(self, address: int) -> None:
        # TraceEnable becomes active, or execution goes on after an overflow or a halt.
        if self._writer.count >= self._sync_at:
            self._align()
        self._sync(address, self._reason)
        self._reason = Reason.ENABLED
        self._active = True
        self._first = self._last = -1
        self._account()

    def _arrive(self, address: int) -> None:
        # After a waypoint, and the address of where it led.
        if self._writer.count >= self._sync_at:
            self._align()
            self._sync(address, Reason.PERIODIC)
        self._account()

    def _align(self) -> None:
        period = self._config.sync_period
        self._sync_at = self._writer.count + period if period else 1 << 64
        self._writer.alignment()
        self.request_timestamp()
        self._written_vmid = -1

    def _sync(self, address: int, reason: Reason) -> None:
        cycles = 0 if reason is Reason.PERIODIC else self._cycles()
        self._writer.sync(_reference(address), reason, self._regime, cycles, self._id_bytes())
        self._written_regime, self._written_id = self._regime, self._context_id
        self._stack.clear()

    def _account(self) -> None:
        # What is due between two waypoints: a new Context ID or VMID, and a timestamp.
        config = self._config
        if config.context_id_bytes and self._context_id != self._written_id:
            self._written_id = self._context_id
            self._writer.put(packets.context_id(self._id_bytes()))
        if config.vmid and self._vmid != self._written_vmid:
            self._written_vmid = self._vmid
            self._writer.put(packets.vmid(self._vmid))
        if self._timestamp_due:
            self._timestamp_due = False
            value = self._ticks & _TIMESTAMP_MASKS[config.wide_timestamps]
            value = packets.to_gray(value) if config.gray_timestamps else value
            self._writer.timestamp(value, self._cycles())

    def _id_bytes(self) -> bytes:
        size = self._config.context_id_bytes
        return (self._context_id & (1 << 8 * size) - 1).to_bytes(size, "little")

    def _cycles(self) -> int:
        # Cycles since the last count.
        cycles, self._counted = self._ticks - self._counted, self._ticks
        return cycles & 0xFFFFFFFF

    def _settle(self) -> None:
        # No more comes before the next start.
        self._update()
        self._waypoint = None
        self._between = self._active = False
        self.deliver()


def _reference(address: int) -> Reference:
    return Reference(address & ~1, IsaState.THUMB if address & 1 else IsaState.ARM)
