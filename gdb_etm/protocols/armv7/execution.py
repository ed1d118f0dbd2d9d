"""The execution of one stream: decoder state, and what is recorded."""

from __future__ import annotations

from typing import Final, List, Optional

from gdb_etm.protocols.armv7.automaton import (
    AddressState,
    Automaton,
    Entry,
    ProgramPoint,
    Successor,
    UnknownPoint,
    refill,
    settle,
)
from gdb_etm.protocols.armv7.fields import Reason, Reference
from gdb_etm.protocols.elements import DEBUG_STATE, Context, Event, ExceptionReturn, Gap, GapReason
from gdb_etm.protocols.recorder import Leg, Recorder

_HYP_LEVEL: Final = 2
# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class Execution:
    """The state of one stream's analysis.

    :param automaton: Program points and states of the program.
    :param recorder: Takes what ran, and the events.
    """

    def __init__(self, automaton: Automaton, recorder: Recorder) -> None:
        self.automaton = automaton
        self.recorder = recorder
        self.state = automaton.state(automaton.unsynchronised, AddressState(None))
        # The last context since synchronisation; its offset means nothing.
        self.context: Optional[Context] = None
        # What lies below in the return stack, the top last; None below what is the bottom.
        self.below: List[Optional[Entry]] = []
        # How many packets did what must not be remembered.
        self.refused = 0

    @property
    def point(self) -> ProgramPoint:
        """Where the execution stands."""
        return self.state.point

    @property
    def addresses(self) -> AddressState:
        """The parts of the decoder state beside the program point."""
        return self.state.addresses

    def set(self, point: ProgramPoint, addresses: Optional[AddressState] = None) -> None:
        """Move to another state.

        :param addresses: None leaves it as it is.
        """
        self.state = self.automaton.state(point, self.state.addresses if addresses is None else addresses)

    def offset(self, position: int) -> int:
        """Map a position in the stream to an offset in the buffer."""
        return self.recorder.offset_of(position)

    def event(self, event: Event) -> None:
        """Take an element that is only recorded."""
        self.recorder.event(event)

    def gap(self, position: int, reason: GapReason, detail: str = "", address: Optional[int] = None) -> None:
        """Record a gap found at ``position`` in the stream."""
        self.recorder.event(_new(Gap, (self.recorder.offset_of(position), reason, detail, address)))

    @property
    def is_synchronised(self) -> bool:
        """Whether an I-sync packet has come."""
        return self.state.addresses.reference is not None

    def lose(self, position: int, reason: GapReason, detail: str) -> None:
        """Record a gap and forget everything, as when synchronisation is lost."""
        self.gap(position, reason, detail)
        self.context = None
        self.set(self.automaton.lost, AddressState(None))

    def follow(self, successor: Successor, position: int) -> None:
        """Take where atoms lead."""
        address_given = self.addresses.address_given
        for step in successor.steps:
            if isinstance(step, Leg):
                self.recorder.add(step, position)
                address_given = False
            else:
                self.recorder.event(step._replace(offset=self.offset(position)))
        stack, below = settle(successor.stack)
        if below:
            self.below += below
            self.refused += 1
        self.set(successor.point, _new(AddressState, (self.addresses.reference, address_given, stack)))

    def refill(self) -> None:
        """Move entries from ``below`` to the return stack's upper part."""
        self.refused += 1
        self.set(self.point, self.addresses._replace(stack=refill(self.below)))

    def stop(self, position: int) -> None:
        """Record why the program point is unknown, unless that was recorded."""
        point = self.point
        lost = self.automaton.lost
        if point is lost or not isinstance(point, UnknownPoint):
            return
        if point in (self.automaton.jazelle, self.automaton.thumbee):
            self.gap(position, GapReason.NOT_FOLLOWED, point.why)
        else:
            self.gap(position, GapReason.NO_ADDRESS, point.why)
        self.set(lost)

    def synchronise(self, reason: Reason, position: int) -> None:
        """Record the gap that an I-sync packet's reason implies.

        Unless it is periodic, what ran before it was not traced.
        """
        if reason is Reason.OVERFLOW:
            self.gap(position, GapReason.OVERFLOW)
        elif reason is Reason.DEBUG:
            self.gap(position, GapReason.TRACE_ON, DEBUG_STATE)
        elif reason is Reason.ENABLED:
            self.gap(position, GapReason.TRACE_ON)

    def arrive(self, reference: Reference, position: int) -> None:
        """Take an address; a contradiction with the program becomes a gap."""
        here, point = self.point, self.automaton.point_of(reference)
        if point is not here and not self.addresses.address_given and not isinstance(here, UnknownPoint):
            detail = "the program goes on at 0x%08x, the trace at 0x%08x" % (here.address, reference.address)
            self.gap(position, GapReason.BAD_IMAGE, detail)
        self.set(point, self.addresses._replace(reference=reference, address_given=True))

    def restart(self, reference: Optional[Reference]) -> None:
        """Continue at an address that is unrelated to what ran before.

        :param reference: None when it is not traced.
        """
        point = self.automaton.lost if reference is None else self.automaton.point_of(reference)
        self.set(point, _new(AddressState, (reference, True, ())))

    def returned(self, position: int) -> None:
        """Take an exception return: the instruction before it returned from an exception."""
        self.event(ExceptionReturn(self.offset(position)))

    def set_context(
        self,
        position: int,
        non_secure: Optional[bool] = None,
        hyp: Optional[bool] = None,
        context_id: Optional[int] = None,
        vmid: Optional[int] = None,
    ) -> None:
        """Take what a packet says of the processor's context."""
        old = self.context
        if old is None:
            old = Context(0, None, False, False, None, None)
        secure = not old.non_secure if non_secure is None else not non_secure
        level = old.exception_level
        if hyp is not None or secure:
            level = _HYP_LEVEL if hyp and not secure else None
        context = _new(
            Context,
            (
                0,
                level,
                not secure,
                False,
                old.context_id if context_id is None else context_id,
                old.vmid if vmid is None else vmid,
            ),
        )
        if self.context != context:
            self.recorder.event(context._replace(offset=self.offset(position)))
            self.context = context
