"""ETMv4 instruction trace and the program to an execution: ranges of instructions, and events.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 5
"Instruction trace analysis" and chapter 6.

Packets that only say where the program went (atoms and short addresses) are followed by the automaton, eight
bytes a look-up.  All others, and everything that cannot be followed, go through one handler for each kind of packet.
"""

from __future__ import annotations

import gc
from typing import Callable, Dict, List, Optional, Tuple

from gdb_etm.program.blocks import Block, Blocks, Stop
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import (
    Context,
    Cycles,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Range,
    Timestamp,
    TraceEvent,
)
from gdb_etm.protocols.etmv4 import exceptions
from gdb_etm.protocols.etmv4.automaton import ADDRESS_KINDS, WINDOW, Automaton
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.headers import build_table, packet_kind
from gdb_etm.protocols.etmv4.packets import (
    ASYNC,
    ATOMS,
    NO_ADDRESSES,
    NO_CONTEXT,
    Address,
    Addresses,
    ContextFields,
    Kind,
    push_address,
    read_address,
    read_context,
    read_continued,
    read_count,
    read_exception,
    read_timestamp,
    read_trace_info,
)
from gdb_etm.protocols.etmv4.places import AFTER_BRANCH, EXPECTED, LOST, STACK_DEPTH, Entry, Place, Unplaced
from gdb_etm.protocols.recorder import Leg, Recorder

# Packets that change which instructions ran, or whose P0 elements are not understood: the place is lost.
_SPECULATIVE = (
    Kind.COMMIT,
    Kind.CANCEL_1,
    Kind.CANCEL_2,
    Kind.CANCEL_3,
    Kind.MISPREDICT,
    Kind.UNNUMBERED_SYNC,
    Kind.FUNCTION_RETURN,
    Kind.RESYNCHRONIZATION,
    Kind.Q,
)
_SILENT = (Kind.ASYNC, Kind.IGNORE, Kind.TIMESTAMP_MARKER, Kind.BRANCH_FUTURE_FLUSH)
_CYCLE_COUNTS = (Kind.CYCLE_COUNT_1, Kind.CYCLE_COUNT_2, Kind.CYCLE_COUNT_3)
# EXC_RETURN-like return addresses say that nothing ran before the exception; 0xEFFFFFFE is the
# lockup address (Armv8-M ARM, B3.33).
_NO_EXECUTION_FROM = 0xFFFFFFF0
_LOCKUP_ADDRESS = 0xEFFFFFFE


class Decoder:
    """Decodes streams of one trace unit; what it learns of the program serves every later stream.

    :param config: The unit's configuration.
    :param program: The program that the core ran.
    """

    def __init__(self, config: Etmv4Config, program: Program) -> None:
        self.config = config
        self.table = build_table(config)
        blocks = Blocks(program, config.waits, config.futures)
        self.automaton = Automaton(blocks, self.table, config.return_stack)

    def begin(self, offset_of: Callable[[int], int]) -> "Decoding":
        """Begin a stream.

        :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
        """
        return Decoding(self, offset_of)

    def decode(self, data: bytes, offset_of: Callable[[int], int]) -> Recorder:
        """Decode a whole stream."""
        decoding = self.begin(offset_of)
        collecting = gc.isenabled()
        # Nothing made here becomes garbage, and looking for it in ever more objects takes longer than decoding.
        gc.disable()
        try:
            decoding.feed(data)
        finally:
            if collecting:
                gc.enable()
        return decoding.finish()


class Decoding:
    """One stream being decoded; its bytes may be fed in any split."""

    def __init__(self, decoder: Decoder, offset_of: Callable[[int], int]) -> None:
        self._config = decoder.config
        self._table = decoder.table
        self._automaton = decoder.automaton
        self._recorder = Recorder(decoder.automaton.runs, offset_of)
        self._hunting = True
        self._informed = False
        self._skipped = 0
        self._rest = b""
        self._base = 0
        self._state = decoder.automaton.state(LOST, NO_ADDRESSES, False, False)
        self._stack: List[Entry] = []
        self._context: Optional[Context] = None
        # What Context packets are compressed against; a Trace Info resets it, but not the context (table 6-4).
        self._fields = NO_CONTEXT
        self._timestamp = 0
        self._threshold = 0
        self._wide = False
        self._refused = ""
        self._config_refuses = ""
        if self._config.max_speculation:
            self._config_refuses = "speculative execution (TRCIDR8.MAXSPEC is %d)" % self._config.max_speculation
        self._handlers = self._all_handlers()

    def _all_handlers(self) -> Dict[Kind, Callable[[bytes, int, int], None]]:
        handlers: Dict[Kind, Callable[[bytes, int, int], None]] = {kind: self._on_nothing for kind in _SILENT}
        handlers.update({kind: self._on_cycle_count for kind in _CYCLE_COUNTS})
        handlers.update({kind: self._on_address for kind in ADDRESS_KINDS})
        handlers.update(
            {
                Kind.TRACE_ON: self._on_trace_on,
                Kind.DISCARD: self._on_discard,
                Kind.OVERFLOW: self._on_overflow,
                Kind.TIMESTAMP: self._on_timestamp,
                Kind.EVENT: self._on_event,
                Kind.CONTEXT: self._on_context,
                Kind.ADDRESS_CONTEXT: self._on_address_context,
                Kind.ATOM: self._on_atom,
                Kind.Q: self._on_q,
                Kind.EXCEPTION: self._on_exception,
                Kind.EXCEPTION_RETURN: self._on_exception_return,
            }
        )
        return handlers

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream; a packet that is not whole waits for more."""
        data = self._rest + bytes(data) if self._rest else bytes(data)
        at = 0
        end = len(data)
        while at < end or self._state.pending:
            if self._hunting:
                at = self._hunt(data, at, end)
                if self._hunting:
                    break
            if self._informed and not self._refused and self._context is not None:
                following = self._follow(data, at, end)
            else:
                following = self._packet(data, at, end)
            if following == at and not self._state.pending:
                break
            at = following
        self._rest = data[at:]
        self._base += at

    def finish(self) -> Recorder:
        """End the stream and give what was recorded."""
        if self._hunting or not self._informed:
            self._skipped += len(self._rest)
            if self._skipped:
                detail = "no synchronisation in %d bytes" % self._skipped
                self._gap(self._base, GapReason.NOT_SYNCHRONISED, detail)
        elif self._rest.strip(b"\0"):
            self._gap(self._base, GapReason.CUT, self._rest[:8].hex(" "))
        return self._recorder

    def _follow(self, data: bytes, at: int, end: int) -> int:
        # The hot loop.  Returns where it stopped: at the end, or where synchronisation was lost.
        automaton, stack, recorder = self._automaton, self._stack, self._recorder
        ran, lies, base = recorder.order.append, recorder.positions.append, self._base
        state = self._state
        while at < end or state.pending:
            stretch = state.stretches.get(data[at : at + WINDOW])
            if stretch is None:
                if state.place is AFTER_BRANCH and stack and (state.pending or data[at] in ATOMS):
                    entry = stack.pop()
                    place = automaton.place(entry.address, entry.isa)
                    state = automaton.state(place, state.addresses, state.wide, state.quiet, pending=state.pending)
                    continue
                stretch = automaton.stretch(state, data, at, end)
            if stretch is None:
                self._state = state
                following = self._pending(at) if state.pending else self._packet(data, at, end)
                if self._hunting or self._refused or (following == at and not state.pending):
                    return following
                state = self._state
                at = following
                continue
            length, run, state, pushes, deepest = stretch
            if run >= 0:
                ran(run)
                lies(base + at)
            if deepest:
                # The oldest entries made room for what was pushed, even if that was popped again.
                del stack[: max(0, len(stack) + deepest - STACK_DEPTH)]
                stack.extend(pushes)
            at += length
        self._state = state
        return at

    def _hunt(self, data: bytes, at: int, end: int) -> int:
        found = data.find(ASYNC, at)
        if found < 0:
            # Keep what may be the beginning of the packet.
            following = max(at, end - len(ASYNC) + 1)
            self._skipped += following - at
            return following
        self._skipped += found - at
        self._hunting = False
        return found

    def _packet(self, data: bytes, at: int, end: int) -> int:
        # Handles one packet and returns the index after it; ``at`` when it is not whole.
        header = self._table[data[at]]
        size = header.length(data, at, end)
        if size == 0:
            return at
        position = self._base + at
        kind = packet_kind(header, data, at, self._config) if size > 0 else Kind.RESERVED
        if kind is Kind.RESERVED:
            # Only bytes that were needed to tell: others may not have come yet.
            self._gap(position, GapReason.BAD_PACKET, data[at : at + max(size, 1)].hex(" "))
            self._lose_synchronisation()
            return at + 1
        if kind is Kind.TRACE_INFO:
            self._on_trace_info(data, at, position)
        elif self._informed:
            handler = self._handlers.get(kind)
            if handler is not None:
                handler(data, at, position)
            else:
                self._not_decoded(kind, position)
        else:
            self._skipped += 0 if kind is Kind.ASYNC else size
        return at + size

    def _pending(self, at: int) -> int:
        pending = self._state.pending
        self._set(self._state.place)
        self._atoms(pending, self._base + at - 1)
        return at

    # What every handler uses.

    def _set(
        self,
        place: Place,
        addresses: Optional[Addresses] = None,
        quiet: Optional[bool] = None,
        told: bool = False,
    ) -> None:
        state = self._state
        self._state = self._automaton.state(
            LOST if self._refused and place is not LOST else place,
            state.addresses if addresses is None else addresses,
            self._wide,
            state.quiet if quiet is None else quiet,
            told,
        )

    def _gap(self, position: int, reason: GapReason, detail: str = "", address: Optional[int] = None) -> None:
        self._recorder.event(Gap(self._recorder.offset_of(position), reason, detail, address))

    def _lose_synchronisation(self) -> None:
        self._hunting = True
        self._informed = False
        self._stack.clear()
        self._context = None
        self._set(LOST)

    def _not_decoded(self, kind: Kind, position: int) -> None:
        if not self._refused:
            self._gap(position, GapReason.NOT_DECODED, kind.value)
        if kind in _SPECULATIVE:
            self._set(LOST)

    # Synchronisation and discontinuity (6.4.2).

    def _on_trace_info(self, data: bytes, at: int, position: int) -> None:
        if not self._informed:
            self._informed = True
            if self._skipped:
                self._gap(position, GapReason.NOT_SYNCHRONISED, "%d bytes before it" % self._skipped)
            self._skipped = 0
        info, _ = read_trace_info(data, at)
        self._timestamp = 0
        self._threshold = info.cycle_threshold
        refused = self._config_refuses or ("loads and stores traced as branches" if info.info & 0x30 else "")
        if refused and refused != self._refused:
            self._gap(position, GapReason.NOT_DECODED, refused)
        self._refused = refused
        self._fields = NO_CONTEXT._replace(
            vmid=min(self._fields.vmid, 0), context_id=min(self._fields.context_id, 0)
        )
        self._set(self._state.place, NO_ADDRESSES, quiet=True, told=self._state.told)

    def _on_nothing(self, data: bytes, at: int, position: int) -> None:
        pass

    def _on_trace_on(self, data: bytes, at: int, position: int) -> None:
        self._gap(position, GapReason.TRACE_ON)
        self._set(EXPECTED)

    def _on_discard(self, data: bytes, at: int, position: int) -> None:
        self._gap(position, GapReason.DISCARD)
        self._set(LOST)

    def _on_overflow(self, data: bytes, at: int, position: int) -> None:
        self._gap(position, GapReason.OVERFLOW)
        self._set(LOST)

    # Time and events (6.4.3, 6.4.6, 6.4.11).

    def _on_timestamp(self, data: bytes, at: int, position: int) -> None:
        self._timestamp, cycles, _ = read_timestamp(data, at, self._timestamp)
        count = cycles if cycles >= 0 else None
        self._recorder.event(Timestamp(self._recorder.offset_of(position), self._timestamp, count))

    def _on_cycle_count(self, data: bytes, at: int, position: int) -> None:
        header = data[at]
        count: Optional[int]
        if header >= 0x10:
            count = self._threshold + (header & 3)
        elif header <= 0x0D:
            count = self._threshold + (data[at + 1] & 0xF)
        else:
            count = None
            if not header & 1:
                after = at + 1 if self._config.commit_mode else read_continued(data, at + 1)[1]
                count = self._threshold + read_count(data, after)[0]
        self._recorder.event(Cycles(self._recorder.offset_of(position), count))

    def _on_event(self, data: bytes, at: int, position: int) -> None:
        for number in range(4):
            if data[at] >> number & 1:
                self._recorder.event(TraceEvent(self._recorder.offset_of(position), number))

    # Addresses and context (6.4.12).

    def _on_context(self, data: bytes, at: int, position: int) -> None:
        # Without a payload it is the same context again; after a Trace Info that is all zero.
        fields = read_context(self._config, data, at + 1)[0] if data[at] & 1 else self._fields
        self._set_context(fields, position)

    def _on_address(self, data: bytes, at: int, position: int) -> None:
        address, _ = read_address(data[at], data, at + 1, self._state.addresses)
        self._arrive(address, position)

    def _on_address_context(self, data: bytes, at: int, position: int) -> None:
        address, after = read_address(data[at], data, at + 1, self._state.addresses)
        self._set_context(read_context(self._config, data, after)[0], position)
        self._arrive(address, position)

    def _set_context(self, fields: ContextFields, position: int) -> None:
        old = self._fields
        vmid = fields.vmid if fields.vmid >= 0 else old.vmid
        context_id = fields.context_id if fields.context_id >= 0 else old.context_id
        self._fields = fields._replace(vmid=vmid, context_id=context_id)
        context = Context(
            self._recorder.offset_of(position),
            fields.exception_level,
            fields.non_secure,
            fields.sixty_four_bit,
            context_id if context_id >= 0 else None,
            vmid if vmid >= 0 else None,
        )
        if self._context is None or self._context[1:] != context[1:]:
            self._recorder.event(context)
        self._context = context
        place = self._state.place
        if self._wide != fields.sixty_four_bit:
            # The instruction set is decided by the address and the context together, in either order (6.4.12).
            if not isinstance(place, Unplaced):
                address = self._state.addresses[0]
                if not self._state.told or self._automaton.place_of(address, self._wide) is not place:
                    address = Address(place.address, place.isa is Isa.T32)
                place = self._automaton.place_of(address, fields.sixty_four_bit)
            self._wide = fields.sixty_four_bit
        self._set(place, told=self._state.told)

    def _arrive(self, address: Address, position: int) -> None:
        here = self._state.place
        place = self._automaton.place_of(address, self._wide)
        if place is not here and not self._state.told and not isinstance(here, Unplaced):
            detail = "the program goes on at 0x%08x, the trace at 0x%08x" % (here.address, place.address)
            self._gap(position, GapReason.BAD_IMAGE, detail)
        self._set(place, push_address(self._state.addresses, address), quiet=False, told=True)

    # Execution.

    def _on_atom(self, data: bytes, at: int, position: int) -> None:
        self._atoms(ATOMS[data[at]], position)

    def _atoms(self, atoms: Tuple[bool, ...], position: int) -> None:
        for taken in atoms:
            self._branch_target(position)
            place = self._state.place
            if place is LOST:
                return
            if place is EXPECTED:
                self._gap(position, GapReason.NO_ADDRESS)
                self._set(LOST)
                return
            if self._needs_context(place, position):
                return
            way = self._automaton.way(place, (taken,))
            if way is None:
                self._unfollowable(place, position)
                return
            self._recorder.add(way.leg, position)
            if not self._state.quiet:
                self._stack.extend(way.pushes)
                del self._stack[:-STACK_DEPTH]
            self._set(way.place)

    def _branch_target(self, position: int) -> None:
        # An indirect branch without an address before the next P0 element went to the top of the stack (5.3).
        if self._state.place is not AFTER_BRANCH:
            return
        if self._stack:
            entry = self._stack.pop()
            self._set(self._automaton.place(entry.address, entry.isa))
        else:
            self._gap(position, GapReason.NO_ADDRESS, "no target for the branch before")
            self._set(LOST)

    def _needs_context(self, place: Place, position: int) -> bool:
        # IS0 is A32 or A64: without a Context there is no telling which (5.2.9).
        if self._context is not None or place.isa is Isa.T32:
            return False
        self._gap(position, GapReason.NO_ADDRESS, "context unknown")
        self._set(LOST)
        return True

    def _unfollowable(self, place: Place, position: int) -> None:
        self._stopped(self._automaton.blocks.at(place.address, place.isa), position)
        self._set(LOST)

    def _stopped(self, block: Block, position: int) -> None:
        # Records what ran before the place where the code cannot be followed, and the gap.
        if block.instructions and block.stop is not Stop.TOO_LONG:
            executed = Range(block.start, block.end, block.instructions, block.isa, True)
            self._recorder.add(Leg((executed,)), position)
        if block.stop is Stop.NO_CODE:
            self._gap(position, GapReason.NO_CODE, "", block.end)
        elif block.stop is Stop.NOT_DECODED:
            self._gap(position, GapReason.NOT_DECODED, "branch future instruction", block.end)
        else:
            self._gap(position, GapReason.BAD_IMAGE, "no branch where the trace has one", block.end)

    def _on_q(self, data: bytes, at: int, position: int) -> None:
        # Which instructions ran is not decoded, but the address registers have to follow (6.4.14).
        form = data[at] & 0xF
        self._not_decoded(Kind.Q, position)
        if form not in (0xC, 0xF):
            self._arrive(read_address(0x90 | form, data, at + 1, self._state.addresses)[0], position)

    def _on_exception_return(self, data: bytes, at: int, position: int) -> None:
        if self._config_refuses:
            return  # it may be cancelled
        self._recorder.event(ExceptionReturn(self._recorder.offset_of(position)))
        if self._state.place is AFTER_BRANCH:
            self._set(EXPECTED)

    def _on_exception(self, data: bytes, at: int, position: int) -> None:
        fields, after = read_exception(data, at)
        header = data[after]
        address, after = read_address(header, data, after + 1, self._state.addresses)
        context = read_context(self._config, data, after)[0] if header < 0x90 else None
        m_profile = self._config.m_profile
        reset = fields.number == exceptions.reset(m_profile)
        if fields.elements == 2 and not reset:
            if context is not None:
                self._set_context(context, position)
            self._arrive(address, position)
        else:
            self._set(self._state.place, push_address(self._state.addresses, address), told=self._state.told)
            self._run_until(fields.number, self._virtual(address), position)
            if context is not None:
                self._set_context(context, position)
        if self._config_refuses:
            return  # it may be cancelled
        returns_to = self._virtual(address)
        name, vector = exceptions.exception_name(fields.number, m_profile)
        self._recorder.event(
            Exception_(
                self._recorder.offset_of(position), fields.number, name, vector, None if reset else returns_to
            )
        )
        if exceptions.may_go_on(fields.number, m_profile):
            self._set(self._state.place, told=True)
        else:
            self._set(EXPECTED)

    def _virtual(self, address: Address) -> int:
        return address.address if self._wide else address.address & 0xFFFFFFFF

    def _run_until(self, number: int, stop: int, position: int) -> None:
        # Everything from the current place up to the return address ran, and crossed no branch (5.2.7).
        m_profile = self._config.m_profile
        nothing_ran = m_profile and (stop >= _NO_EXECUTION_FROM or stop == _LOCKUP_ADDRESS)
        if nothing_ran or number == exceptions.reset(m_profile):
            return
        self._branch_target(position)
        place = self._state.place
        if isinstance(place, Unplaced) or place.address == stop or self._needs_context(place, position):
            return
        block = self._automaton.blocks.until(place.address, place.isa, stop)
        if place.address < stop and block.end >= stop:
            executed = Range(block.start, block.end, block.instructions, block.isa, True)
            self._recorder.add(Leg((executed,)), position)
            self._set(self._automaton.place(block.end, block.isa))
        elif block.stop is Stop.NO_CODE and place.address < stop:
            self._stopped(block, position)
        else:
            detail = "the program does not go from 0x%08x to 0x%08x" % (place.address, stop)
            self._gap(position, GapReason.BAD_IMAGE, detail)
