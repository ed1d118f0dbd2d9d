"""Executed instructions -> ETMv4 instruction-trace bytes, as the trace unit of a Cortex-M33 (ETMv4.2) emits them.

No speculation (TRCIDR8 = 0, so every P0 element is committed at once), no conditional, data or Q elements.  What
the unit cannot know from the instructions it is told: exceptions, halts and returns are methods of their own.

A branch's direction shows in the address that follows it, so the last branch waits for its successor.  An indirect
branch that goes to the instruction after it counts as not taken, for it may be in an IT block; execution is the same.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

from gdb_etm.program.isa import Kind, decode_t16, decode_t32, is_wide
from gdb_etm.protocols.etmv4.writer import HANDLER, THREAD, PacketWriter, Sink, exception_type

ReadCode = Callable[[int], bytes]
"""Returns four bytes of program memory at an address (two at the end of memory)."""
View = Callable[[int], bool]
"""Tells whether ViewInst is active for an instruction; called once for each executed instruction, in order."""
Region = Callable[[int], bool]
"""Tells whether an address is in some region."""

NO_EXECUTION = 0xFFFFFFFE
"""Return address of an exception that is tail-chained: nothing ran since the exception return (5.2.7)."""
DEBUG_HALT = 0x18
"""Exception type of an entry to Debug state (6.4.5)."""

LOCKUP = 0x1A
"""Exception type of an entry to lockup (6.4.5)."""

_RETURN_STACK_DEPTH = 3
_CYCLE_BITS = 12
_RAM = 0x20000000


class EncoderConfig(NamedTuple):
    """How the trace unit is programmed."""

    return_stack: bool = False
    """TRCCONFIGR.RS: leave out the address of a return to where the last call came from."""
    broadcast: Optional[Region] = None
    """Where branch broadcasting is on (TRCCONFIGR.BB, TRCBBCTLR); None for nowhere."""
    timestamps: bool = False
    """TRCCONFIGR.TS; one tick is one executed instruction."""
    threshold: Optional[int] = None
    """TRCCCCTLR.THRESHOLD when TRCCONFIGR.CCI is set; one cycle is one executed instruction."""
    sync_period: int = 0
    """Bytes of trace between synchronisation points (2 to the power of TRCSYNCPR); 0 for none."""
    view: Optional[View] = None
    """ViewInst; None traces everything."""
    separate_address: bool = False
    """Whether an exception at the target of an indirect branch has that address in a packet before it, and not in the
    Exception packet (E1:E0 = 0b10).  Both are right (4.1.3); OpenCSD up to 1.8 pops its return stack at the latter."""


class _Branch(NamedTuple):
    # A P0 instruction.  `target` is -1 for an indirect branch.
    target: int
    following: int
    link: bool
    broadcast: bool
    barrier: bool


class _Records(Dict[int, Optional[_Branch]]):
    # What the unit needs to know of each instruction, found out when it is first executed; in RAM each time, for a
    # program may change its code there (the Code region of the memory map ends at 0x20000000, Armv8-M ARM, B8.1).
    def __init__(self, read_code: ReadCode, broadcast: Optional[Region]) -> None:
        super().__init__()
        self._read_code = read_code
        self._broadcast = broadcast

    def __missing__(self, address: int) -> Optional[_Branch]:
        code = self._read_code(address)
        first = int.from_bytes(code[:2], "little")
        if is_wide(first):
            insn = decode_t32(address, first, int.from_bytes(code[2:4], "little"))
        else:
            insn = decode_t16(address, first)
        record: Optional[_Branch] = None
        if insn.kind in (Kind.DIRECT, Kind.INDIRECT):
            target = insn.target if insn.kind == Kind.DIRECT else -1
            following = (address + insn.size) & 0xFFFFFFFF
            everywhere = self._broadcast is not None and self._broadcast(address)
            record = _Branch(target, following, insn.link, everywhere, first == 0xF3BF and target == following)
        if address < _RAM:
            self[address] = record
        return record


class Encoder:
    """One trace unit's stream, from being enabled to being disabled.

    Bytes reach `sink` in bursts; :meth:`debug_halt`, :meth:`flush` and :meth:`disable` hand over everything.

    :param config: How the unit is programmed.
    :param read_code: Reads program memory.
    :param sink: Takes the trace bytes.
    :param handler: Whether the core is in Handler mode.
    """

    def __init__(self, config: EncoderConfig, read_code: ReadCode, sink: Sink, handler: bool = False) -> None:
        self._config = config
        self._writer = PacketWriter(sink)
        self._read_code = read_code
        self._records = _Records(read_code, config.broadcast)
        self._stack: List[int] = []
        self._branch: Optional[_Branch] = None
        self._level = HANDLER if handler else THREAD
        # The level that the stream last told; None before it has told any.
        self._told: Optional[int] = None
        self._active = False
        # Whether an analyser cannot tell from the stream where the next instruction is.
        self._lost = False
        self._sync_at = 0
        self._ticks = 0
        self._counted = 0
        self._count_known = False
        self._timestamp_due = False
        self._each = config.view is not None or config.timestamps or config.threshold is not None

    def enable(self) -> None:
        """Begin a trace run: it starts with a synchronisation point (6.4.2)."""
        self._synchronise()

    def disable(self) -> None:
        """End the trace run; a branch whose direction is not known yet is not traced."""
        self._branch = None
        self._active = False
        self._deliver()

    def flush(self) -> None:
        """Hand over all trace generated so far (3.5.10); a branch whose direction is not known yet stays."""
        self._timestamp_due = self._config.timestamps
        self._deliver()

    def request_sync(self) -> None:
        """Ask for a synchronisation point soon, as a trace sink may (2.5)."""
        self._sync_at = 0

    def forget_code(self) -> None:
        """Read program memory afresh from here on: it may have changed."""
        self._records = _Records(self._read_code, self._config.broadcast)

    def overflow(self) -> None:
        """Lose what is not written yet and restart, as after an overflow of the unit's buffer (3.5.9)."""
        self._writer.drop_atoms()
        self._writer.overflow()
        self._branch = None
        self._active = False
        self._synchronise()

    def instructions(self, addresses: Sequence[int]) -> None:
        """Take executed instructions in order; those of an IT block whose condition failed are executed too.

        :param addresses: Their addresses.
        """
        if not addresses:
            return
        if self._each:
            for address in addresses:
                self._instruction(address)
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

    def exception(self, number: int, return_address: int) -> None:
        """Take an exception entry; it is traced if what came just before it was (4.1.3).

        :param number: Architectural exception number (IPSR).
        :param return_address: Preferred return address, or :data:`NO_EXECUTION`.
        """
        if self._active:
            self._leave(exception_type(number), return_address)
        self._level = HANDLER

    def exception_return(self, handler: bool) -> None:
        """Take an exception return by the last executed instruction.

        :param handler: Whether the core is in Handler mode after it.
        """
        if self._active:
            if self._branch is not None:
                self._writer.atom(True)
                self._branch = None
            self._writer.flush_atoms()
            self._writer.exception_return()
            self._lost = True
            self._timestamp_due = self._config.timestamps
        self._level = HANDLER if handler else THREAD

    def lockup(self, address: int) -> None:
        """Take an entry to lockup: nothing runs until another exception or a halt (5.2.7).

        :param address: Address of the instruction that caused it, or :data:`NO_EXECUTION` if no instruction did.
        """
        if self._active:
            self._leave(LOCKUP, address)

    def debug_halt(self, pc: int) -> None:
        """Take an entry to Debug state (3.5.8).

        :param pc: Address of the instruction that would have been next.
        """
        if self._active:
            self._leave(DEBUG_HALT, pc)
            self._account()
        self._branch = None
        self._active = False
        self._deliver()

    def resume(self, handler: bool) -> None:
        """Take an exit from Debug state: the debugger may have changed registers and memory.

        :param handler: Whether the core is in Handler mode.
        """
        self._level = HANDLER if handler else THREAD
        self.forget_code()

    def _instruction(self, address: int) -> None:
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
            if self._lost or self._writer.count >= self._sync_at:
                self._arrive(address)
            self._account()
        self._branch = self._records[address]

    def _resolve(self, branch: _Branch, successor: int) -> None:
        # Write the atom of a P0 instruction whose successor is now known; then _lost tells whether an address is due.
        target, following, link, broadcast, barrier = branch
        if successor == following and successor != target:
            self._writer.atom(False)
            return
        self._writer.atom(True)
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
            self._timestamp_due = self._config.timestamps

    def _leave(self, number: int, address: int) -> None:
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
        self._lost = True
        self._timestamp_due = self._config.timestamps

    def _start(self, address: int) -> None:
        # ViewInst becomes active: Trace On, then where (5.2.2).
        self._writer.flush_atoms()
        if self._writer.count >= self._sync_at and self._told is not None:
            self._synchronise()
        self._writer.trace_on()
        self._stack.clear()
        self._active = True
        self._locate(address)

    def _arrive(self, address: int) -> None:
        # An address is due at the target of the last P0 element, or a synchronisation point, which tells it too.
        self._writer.flush_atoms()
        if self._writer.count >= self._sync_at:
            self._synchronise()
        self._locate(address)

    def _locate(self, address: int) -> None:
        level = None if self._level == self._told else self._level
        self._writer.location(address, level)
        self._told = self._level
        self._lost = False

    def _synchronise(self) -> None:
        self._writer.flush_atoms()
        period = self._config.sync_period
        self._sync_at = self._writer.count + period if period else 1 << 64
        self._writer.synchronise(self._config.threshold)
        # A Context is due after every Trace Info (5.2.10), and the return stack is flushed by it (5.3.1).
        self._told = None
        self._stack.clear()
        self._timestamp_due = self._config.timestamps

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
            self._writer.timestamp(self._ticks, self._ticks - self._counted if self._count_known else None)
            self._timestamp_due = False

    def _deliver(self) -> None:
        self._writer.flush_atoms()
        self._writer.deliver()
