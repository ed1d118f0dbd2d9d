"""The execution that a buffer's packets tell, as it is recorded.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3.1; Armv6-M ARM (DDI 0419), B1.5, for exceptions.

Between the destination of a packet and the source of the next one the core ran straight on.  Every packet has the
whole of both addresses, so what contradicts the program costs no more than what lies before it.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

from gdb_etm.protocols.elements import DEBUG_HALT, DEBUG_STATE, Exception_, ExceptionReturn, Gap, GapReason
from gdb_etm.protocols.mtb.automaton import MtbAutomaton, Passage
from gdb_etm.protocols.mtb.config import BufferEnds
from gdb_etm.protocols.mtb.exceptions import RESET, VectorTable, exception_name
from gdb_etm.protocols.mtb.packets import LOCKUP, SIZE, MtbPacket, is_exc_return
from gdb_etm.protocols.recorder import Recorder

# Return address of an exception before which nothing ran since the exception return before it.
_NOTHING_RAN = 0xFFFFFFFE


class _Entered(NamedTuple):
    # An exception that has not returned.

    # Index of its event.
    event: int
    # Where the outermost exception of its chain returns to; None where that is not known.
    returns_to: Optional[int]
    # The exceptions that it may be; empty where nothing tells.
    numbers: Sequence[int]


class MtbExecution:
    """The state of one buffer's analysis.

    :param automaton: Passages of the program.
    :param vectors: The exceptions' handlers.
    :param recorder: Takes what ran, and the events.
    :param ends: What is known of the ends of the trace.
    """

    def __init__(
        self, automaton: MtbAutomaton, vectors: VectorTable, recorder: Recorder, ends: BufferEnds = BufferEnds()
    ) -> None:
        self.recorder = recorder
        self._automaton = automaton
        self._vectors = vectors
        self._ends = ends
        # Where the core is; None where that is not known.
        self._place: Optional[int] = ends.begin
        # The EXC_RETURN value of a return whose second packet has not come.
        self._returning: Optional[int] = None
        # Exceptions that have not returned, the innermost last.
        self._entered: List[_Entered] = []
        self._is_first = True

    def packet(self, packet: MtbPacket, position: int) -> None:
        """Take the next packet."""
        first, self._is_first = self._is_first, False
        self._start(packet, first, position)
        if first and packet.atomic and self._was_set(packet):
            return
        if self._returning is not None and self._returning != (packet.source if packet.atomic else None):
            self._gap(position, GapReason.BAD_PACKET, "the second packet of an exception return is missing")
            self._place = self._returning = None
        if packet.completes_return:
            self._returned(packet, position)
        elif packet.atomic:
            self._excepted(packet, position)
        else:
            self._branched(packet, position)
        self._place = packet.destination

    def finish(self, position: int) -> None:
        """Take the end of the buffer."""
        ends = self._ends
        if self._entered and ends.exception and ends.halted_at is not None:
            self._name_last(ends.exception)
        if ends.was_reset:
            self.recorder.event(
                Exception_(self.recorder.offset_of(position), RESET, exception_name(RESET), RESET, None)
            )
        elif ends.stopped:
            self._gap(position, GapReason.TRACE_ON, "the trace stopped before the core halted")
        elif ends.halted_at is not None and self._place is not None and self._returning is None:
            passage = self._automaton.straight(self._place, ends.halted_at)
            self._ran(passage, position)
            if passage.obstacle is None:
                offset = self.recorder.offset_of(position)
                self.recorder.event(Exception_(offset, 0, DEBUG_HALT, None, ends.halted_at))

    def _start(self, packet: MtbPacket, first: bool, position: int) -> None:
        # What came before may be unknown: tracing began, or what the first packet says of it is not the whole.
        began = self._place is None and self._ends.is_first
        if packet.start and not (first and self._place is not None) or first and began:
            self._gap(position, GapReason.TRACE_ON)
            self._place = self._returning = None
            self._entered.clear()
        elif first and not packet.start and self._place is not None:
            # Something else has moved the pointer since.
            self._gap(position, GapReason.TRACE_ON, "the first packet since tracing started is missing")
            self._place = None

    def _was_set(self, packet: MtbPacket) -> bool:
        # Whether a debugger wrote the PC before the run began there: that is a packet, too.
        if self._place is None or packet.destination != self._place:
            return False
        return self._automaton.straight(self._place, packet.source).obstacle is not None

    def _branched(self, packet: MtbPacket, position: int) -> None:
        passage = self._automaton.branch(self._place, packet.source, packet.destination)
        self._ran(passage, position)
        if is_exc_return(packet.destination):
            if passage.obstacle is None:
                self.recorder.event(ExceptionReturn(self.recorder.offset_of(position)))
            self._returning = packet.destination

    def _excepted(self, packet: MtbPacket, position: int) -> None:
        if self._place is not None:
            self._ran(self._automaton.straight(self._place, packet.source), position)
        offset = self.recorder.offset_of(position)
        if packet.destination in LOCKUP:
            self.recorder.event(Exception_(offset, 0, "Lockup", None, packet.source))
        elif self._vectors.is_known and not self._vectors.numbers(packet.destination):
            if packet.source == packet.destination:
                # A debugger wrote the PC that was there already.
                return
            self.recorder.event(Exception_(offset, 0, DEBUG_HALT, None, packet.source))
            self._gap(position, GapReason.TRACE_ON, DEBUG_STATE)
        else:
            self._enter(packet, position, packet.source, packet.source)

    def _returned(self, packet: MtbPacket, position: int) -> None:
        if self._returning is None and self._place is not None:
            self._gap(position, GapReason.BAD_PACKET, "the first packet of an exception return is missing")
        self._returning = None
        returns_to = self._entered.pop().returns_to if self._entered else None
        # The handler of the next exception, unless it is where the last one came from before its first instruction.
        if packet.destination != returns_to and self._vectors.numbers(packet.destination):
            self._enter(packet, position, _NOTHING_RAN, returns_to)

    def _enter(self, packet: MtbPacket, position: int, address: int, returns_to: Optional[int]) -> None:
        name, number = self._vectors.name(packet.destination)
        numbers = self._vectors.numbers(packet.destination)
        self._entered.append(_Entered(len(self.recorder.events), returns_to, numbers))
        self.recorder.event(Exception_(self.recorder.offset_of(position), number or 0, name, number, address))

    def _name_last(self, number: int) -> None:
        # The exception in which the core halted says its number itself.
        index, _, numbers = self._entered[-1]
        event = self.recorder.events[index]
        fits = number in numbers or not numbers
        if isinstance(event, Exception_) and event.vector is None and fits:
            self.recorder.events[index] = event._replace(number=number, name=exception_name(number), vector=number)

    def _ran(self, passage: Passage, position: int) -> None:
        if passage.run is not None:
            self.recorder.extend([passage.run], position, position + SIZE)
        if passage.obstacle is not None:
            reason, detail, address = passage.obstacle
            self._gap(position, reason, detail, address)

    def _gap(self, position: int, reason: GapReason, detail: str = "", address: Optional[int] = None) -> None:
        self.recorder.event(Gap(self.recorder.offset_of(position), reason, detail, address))
