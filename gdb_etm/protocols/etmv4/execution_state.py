"""State of an execution: program point, context, return stack, and records.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 5
"Instruction trace analysis".
"""

from __future__ import annotations

from typing import Final, List, Optional, Tuple

from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Context, Cycles, Event, Gap, GapReason, Timestamp
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.log import Log
from gdb_etm.protocols.etmv4.packets import NO_ADDRESSES, Address, Addresses, ContextFields, TraceInfo
from gdb_etm.protocols.etmv4.program_points import (
    EXPECTED,
    LOST,
    RESERVED,
    Entry,
    ProgramPoint,
    UnknownPoint,
    pack_addresses,
)
from gdb_etm.protocols.etmv4.results import Flush
from gdb_etm.protocols.recorder import Recorder, Spot

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class ExecutionState:
    """The state of one stream's analysis, and the elements that execute nothing.

    :param automaton: Program points and states of the program.
    :param recorder: Takes what ran, and the events.
    :param log: Takes the positions of Conditional Flush elements; None when nobody needs them.
    """

    def __init__(self, automaton: Automaton, recorder: Recorder, log: Optional[Log]) -> None:
        self.automaton = automaton
        self.recorder = recorder
        self._log = log
        self.state = automaton.state(LOST, NO_ADDRESSES, False, False)
        # The return stack, its top last.
        self.stack: List[Entry] = []
        # Why the stream cannot be followed at all; empty when it can.
        self.refused = ""
        # The last context since synchronisation.
        self.context: Optional[Context] = None
        # That context's SF bit.
        self.wide = False
        # Timestamps that have a marker, each with the spot of the marker; not recorded yet.
        self.marked: List[Tuple[Spot, Event]] = []
        self._marker: Optional[Spot] = None

    @property
    def addresses(self) -> Addresses:
        """The address registers."""
        return self.state.addresses

    def set(
        self,
        point: ProgramPoint,
        addresses: Optional[Addresses] = None,
        quiet: Optional[bool] = None,
        address_given: bool = False,
    ) -> None:
        """Move to another state; what is not given stays, but for ``address_given``.

        :param point: Where the execution stands.
        :param address_given: Whether an address packet was the last to say so.
        """
        state = self.state
        self.state = self.automaton.enter(
            LOST if self.refused else point,
            state.registers if addresses is None else pack_addresses(addresses),
            self.wide,
            state.quiet if quiet is None else quiet,
            address_given,
            (),
        )

    def gap(self, position: int, reason: GapReason, detail: str = "", address: Optional[int] = None) -> None:
        """Record a gap found at ``position`` in the stream."""
        self.recorder.event(_new(Gap, (self.recorder.offset_of(position), reason, detail, address)))

    def event(self, event: Event) -> None:
        """Take an element that is only recorded."""
        if self._marker is not None and isinstance(event, Timestamp):
            self.marked.append((self._marker, event))
            self._marker = None
        else:
            self.recorder.event(event)

    def mark_time(self) -> None:
        """Take a Timestamp Marker, the place of the next timestamp (5.2.15)."""
        self._marker = self.recorder.here()

    def cycle_count(self, event: Cycles) -> None:
        """Take a Cycle Count element."""
        self.recorder.event(event)

    def lose(self, position: int, reason: GapReason, detail: str) -> None:
        """Record a gap and forget everything, as when synchronisation is lost."""
        self.gap(position, reason, detail)
        self._marker = None
        self.stack.clear()
        self.context = None
        if self._log is not None:
            self._log.conditions.lose()
        self.set(LOST)

    def synchronise(self, info: TraceInfo, position: int) -> None:
        """Reset the compression state, as a Trace Info does (table 6-4)."""
        self.set(self.state.point, NO_ADDRESSES, quiet=True, address_given=self.state.address_given)

    def trace_on(self, position: int, flush: Optional[Flush] = None) -> None:
        """Take a Trace On: what ran before was not traced (5.2.2).

        :param flush: The Conditional Flush element that it implies; None for a new one.
        """
        self.gap(position, GapReason.TRACE_ON)
        self.flush_conditions(flush)
        self.set(EXPECTED)

    def cut(self, position: int, reason: GapReason, detail: str = "") -> None:
        """Record a gap that loses only the program point (5.2.4, 5.2.5)."""
        self.gap(position, reason, detail)
        self._marker = None
        self.flush_conditions()
        self.set(LOST)

    def flush_conditions(self, flush: Optional[Flush] = None) -> None:
        """Take a Conditional Flush element, stated or implied (2.6.2).

        :param flush: What the log has of it already; None for a new one.
        """
        if self._log is not None:
            flush = flush if flush is not None else self._log.conditions.flush()
            flush.entry, flush.event = len(self.recorder.order), len(self.recorder.events)

    def set_context(self, fields: ContextFields, position: int) -> None:
        """Take a Context element; the code from here on runs in it."""
        context = Context(
            self.recorder.offset_of(position),
            fields.exception_level,
            fields.non_secure,
            fields.sixty_four_bit,
            fields.context_id if fields.context_id >= 0 else None,
            fields.vmid if fields.vmid >= 0 else None,
        )
        if self.context is None or self.context[1:] != context[1:]:
            self.recorder.event(context)
        self.context = context
        point = self.state.point
        if self.wide != fields.sixty_four_bit:
            # The instruction set is decided by the address and the context together, in either order (6.4.12).
            if point is RESERVED or not isinstance(point, UnknownPoint):
                address = self.state.addresses[0]
                if not self.state.address_given or self.automaton.point_of(address, self.wide) is not point:
                    address = Address(point.address, point.isa is Isa.T32)
                point = self.automaton.point_of(address, fields.sixty_four_bit)
            self.wide = fields.sixty_four_bit
        self.set(point, address_given=self.state.address_given)
