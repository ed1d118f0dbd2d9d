"""Where the execution stands while a stream is decoded, and what is recorded of it.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 5
"Instruction trace analysis".
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from gdb_etm.program.blocks import Block, Stop
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Context, Gap, GapReason, Range
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.packets import (
    NO_ADDRESSES,
    NO_CONTEXT,
    Address,
    Addresses,
    ContextFields,
    push_address,
)
from gdb_etm.protocols.etmv4.places import AFTER_BRANCH, EXPECTED, LOST, STACK_DEPTH, Entry, Place, Unplaced
from gdb_etm.protocols.recorder import Leg, Recorder


class Execution:
    """The state of one stream's analysis.

    :param automaton: Places and states of the program.
    :param recorder: Takes what ran, and the events.
    """

    def __init__(self, automaton: Automaton, recorder: Recorder) -> None:
        self.automaton = automaton
        self.recorder = recorder
        self.state = automaton.state(LOST, NO_ADDRESSES, False, False)
        self.stack: List[Entry] = []
        """The return stack, its top last."""
        self.refused = ""
        """Why the stream cannot be followed at all; empty when it can."""
        self.context: Optional[Context] = None
        """The last context told since synchronisation."""
        self.wide = False
        """That context's SF bit."""
        # What Context packets are compressed against; a Trace Info resets it, but not the context (table 6-4).
        self._fields = NO_CONTEXT

    def set(
        self,
        place: Place,
        addresses: Optional[Addresses] = None,
        quiet: Optional[bool] = None,
        told: bool = False,
    ) -> None:
        """Move to another state; what is not given stays, but for ``told``.

        :param place: Where the execution stands.
        :param told: Whether an address packet was the last to say so.
        """
        state = self.state
        self.state = self.automaton.state(
            LOST if self.refused and place is not LOST else place,
            state.addresses if addresses is None else addresses,
            self.wide,
            state.quiet if quiet is None else quiet,
            told,
        )

    def gap(self, position: int, reason: GapReason, detail: str = "", address: Optional[int] = None) -> None:
        """Tell a gap found at ``position`` in the stream."""
        self.recorder.event(Gap(self.recorder.offset_of(position), reason, detail, address))

    def lose(self) -> None:
        """Forget everything, as when synchronisation is lost."""
        self.stack.clear()
        self.context = None
        self.set(LOST)

    def synchronise(self) -> None:
        """Reset what packets are compressed against, and nothing else, as a Trace Info does (table 6-4)."""
        self._fields = NO_CONTEXT._replace(
            vmid=min(self._fields.vmid, 0), context_id=min(self._fields.context_id, 0)
        )
        self.set(self.state.place, NO_ADDRESSES, quiet=True, told=self.state.told)

    def same_context(self, position: int) -> None:
        """Take a Context packet without a payload: the fields of the last one again."""
        self.set_context(self._fields, position)

    def set_context(self, fields: ContextFields, position: int) -> None:
        """Take a Context element; the code from here on runs in it."""
        old = self._fields
        vmid = fields.vmid if fields.vmid >= 0 else old.vmid
        context_id = fields.context_id if fields.context_id >= 0 else old.context_id
        self._fields = fields._replace(vmid=vmid, context_id=context_id)
        context = Context(
            self.recorder.offset_of(position),
            fields.exception_level,
            fields.non_secure,
            fields.sixty_four_bit,
            context_id if context_id >= 0 else None,
            vmid if vmid >= 0 else None,
        )
        if self.context is None or self.context[1:] != context[1:]:
            self.recorder.event(context)
        self.context = context
        place = self.state.place
        if self.wide != fields.sixty_four_bit:
            # The instruction set is decided by the address and the context together, in either order (6.4.12).
            if not isinstance(place, Unplaced):
                address = self.state.addresses[0]
                if not self.state.told or self.automaton.place_of(address, self.wide) is not place:
                    address = Address(place.address, place.isa is Isa.T32)
                place = self.automaton.place_of(address, fields.sixty_four_bit)
            self.wide = fields.sixty_four_bit
        self.set(place, told=self.state.told)

    def arrive(self, address: Address, position: int) -> None:
        """Take an Address element; one that the program contradicts is told as a gap."""
        here = self.state.place
        place = self.automaton.place_of(address, self.wide)
        if place is not here and not self.state.told and not isinstance(here, Unplaced):
            detail = "the program goes on at 0x%08x, the trace at 0x%08x" % (here.address, place.address)
            self.gap(position, GapReason.BAD_IMAGE, detail)
        self.set(place, push_address(self.state.addresses, address), quiet=False, told=True)

    def atoms(self, atoms: Tuple[bool, ...], position: int) -> None:
        """Follow atoms one by one as far as that is possible; a gap says why it is not."""
        for taken in atoms:
            self._branch_target(position)
            place = self.state.place
            if place is LOST:
                return
            if place is EXPECTED:
                self.gap(position, GapReason.NO_ADDRESS)
                self.set(LOST)
                return
            if self._needs_context(place, position):
                return
            way = self.automaton.way(place, (taken,))
            if way is None:
                self._unfollowable(place, position)
                return
            self.recorder.add(way.leg, position)
            if not self.state.quiet:
                self.stack.extend(way.pushes)
                del self.stack[:-STACK_DEPTH]
            self.set(way.place)

    def run_until(self, stop: int, position: int) -> None:
        """Take an exception's preferred return address: all up to it ran, and crossed no branch (5.2.7)."""
        self._branch_target(position)
        place = self.state.place
        if isinstance(place, Unplaced) or place.address == stop or self._needs_context(place, position):
            return
        block = self.automaton.blocks.until(place.address, place.isa, stop)
        if place.address < stop and block.end >= stop:
            executed = Range(block.start, block.end, block.instructions, block.isa, True)
            self.recorder.add(Leg((executed,)), position)
            self.set(self.automaton.place(block.end, block.isa))
        elif block.stop is Stop.NO_CODE and place.address < stop:
            self._stopped(block, position)
        else:
            detail = "the program does not go from 0x%08x to 0x%08x" % (place.address, stop)
            self.gap(position, GapReason.BAD_IMAGE, detail)

    def _branch_target(self, position: int) -> None:
        # An indirect branch without an address before the next P0 element went to the top of the stack (5.3).
        if self.state.place is not AFTER_BRANCH:
            return
        if self.stack:
            entry = self.stack.pop()
            self.set(self.automaton.place(entry.address, entry.isa))
        else:
            self.gap(position, GapReason.NO_ADDRESS, "no target for the branch before")
            self.set(LOST)

    def _needs_context(self, place: Place, position: int) -> bool:
        # IS0 is A32 or A64: without a Context there is no telling which (5.2.9).
        if self.context is not None or place.isa is Isa.T32:
            return False
        self.gap(position, GapReason.NO_ADDRESS, "context unknown")
        self.set(LOST)
        return True

    def _unfollowable(self, place: Place, position: int) -> None:
        self._stopped(self.automaton.blocks.at(place.address, place.isa), position)
        self.set(LOST)

    def _stopped(self, block: Block, position: int) -> None:
        # Records what ran before the place where the code cannot be followed, and the gap.
        if block.instructions and block.stop is not Stop.TOO_LONG:
            executed = Range(block.start, block.end, block.instructions, block.isa, True)
            self.recorder.add(Leg((executed,)), position)
        if block.stop is Stop.NO_CODE:
            self.gap(position, GapReason.NO_CODE, "", block.end)
        elif block.stop is Stop.NOT_DECODED:
            self.gap(position, GapReason.NOT_DECODED, "branch future instruction", block.end)
        else:
            self.gap(position, GapReason.BAD_IMAGE, "no branch where the trace has one", block.end)
