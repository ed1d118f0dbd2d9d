"""The execution of an ETMv4 stream: addresses and P0 elements.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 5
"Instruction trace analysis".
"""

from __future__ import annotations

from typing import Final, NamedTuple, Optional, Tuple

from gdb_etm.program.blocks import Block, BlockEnd
from gdb_etm.program.isa import Insn, InstructionKind, Isa
from gdb_etm.program.untaken import always_taken
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, GapReason, Range
from gdb_etm.protocols.etmv4 import exceptions
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.execution_state import ExecutionState
from gdb_etm.protocols.etmv4.log import Log, Parent
from gdb_etm.protocols.etmv4.packets import Address, ContextFields, ExceptionFields, push_address
from gdb_etm.protocols.etmv4.program_points import (
    AFTER_BRANCH,
    EXPECTED,
    LOST,
    RESERVED,
    STACK_DEPTH,
    UNDIRECTED,
    FuturePoint,
    ProgramPoint,
    UnknownPoint,
    elsewhere,
)
from gdb_etm.protocols.etmv4.results import Flush
from gdb_etm.protocols.obstacles import in_block
from gdb_etm.protocols.profile import nothing_ran
from gdb_etm.protocols.recorder import Leg, Recorder

# A Q element's count may be any number, so what is followed of it is bounded.
_MOST_BRANCHES: Final = 1 << 12


class _Undirected(NamedTuple):
    # The branch at the end of a Q element: the entry of the recording that it is in, what ran, and the branch.
    entry: int
    executed: Range
    branch: Insn


class TakenException(NamedTuple):
    """An Exception element, and the rest of its packet."""

    fields: ExceptionFields
    # The preferred return address.
    address: Address
    # The context that the exception was taken from, where the packet has it.
    context: Optional[ContextFields]
    # Whether the address was an Address element as well, before this one.
    arrived: bool


class Execution(ExecutionState):
    """The execution of one stream: addresses and P0 elements.

    :param automaton: Program points and states of the program.
    :param recorder: Takes what ran, and the events.
    :param m_profile: Whether the core has the M-profile exception model.
    :param log: Takes the positions of Conditional Flush elements; None when nobody needs them.
    """

    def __init__(
        self, automaton: Automaton, recorder: Recorder, m_profile: bool = False, log: Optional[Log] = None
    ) -> None:
        super().__init__(automaton, recorder, log)
        self._m_profile = m_profile
        self._undirected: Optional[_Undirected] = None

    def arrive(self, address: Address, position: int) -> None:
        """Take an Address element; a contradiction with the program becomes a gap."""
        here = self.state.point
        point = self.automaton.point_of(address, self.wide)
        if here is UNDIRECTED:
            self._direct(point, position)
        if isinstance(here, FuturePoint) and not isinstance(point, UnknownPoint):
            point = self.automaton.point(point.address, point.isa, here.future)
        if point is not here and not self.state.address_given and not isinstance(here, UnknownPoint):
            self.gap(position, *elsewhere(here.address, point.address)[1:])
        self.set(point, push_address(self.state.addresses, address), quiet=False, address_given=True)

    def flush_future(self) -> None:
        """Take a Branch Future Flush: no implicit branch will come (5.2.11)."""
        point = self.state.point
        if isinstance(point, FuturePoint):
            self.set(self.automaton.point(point.address, point.isa), address_given=self.state.address_given)

    def resynchronise(self, position: int) -> None:
        """Take a Resynchronization: an untraced branch future may apply (5.2.12)."""
        point = self.state.point
        if isinstance(point, FuturePoint) or point is LOST:
            return
        self.gap(position, GapReason.NO_ADDRESS, "a branch future instruction was not traced")
        self.set(LOST)

    # P0 elements.

    def atoms(self, atoms: Tuple[bool, ...], position: int) -> None:
        """Take Atom elements, oldest first."""
        for taken in atoms:
            if self.state.point is LOST:
                return
            self.atom(taken, taken, position)

    def atom(self, taken: bool, traced: bool, position: int, parent: Optional[Parent] = None) -> None:
        """Follow one Atom element; failure becomes a gap.

        :param taken: Whether it is an E in the end.
        :param traced: Whether it was one at first: that decides what the return stack does (5.3.1).
        """
        point = self._begin(position)
        if point is None:
            return
        successor = self.automaton.successor(point, (taken,))
        if successor is None:
            leg, gap = self.automaton.stop(point)
            if leg is not None:
                self.recorder.add(leg, position)
            self.gap(position, *gap[1:])
            self.set(LOST)
            return
        if successor.leg.instructions:
            self.recorder.add(successor.leg, position)
            if parent is not None:
                parent.entry = len(self.recorder.order) - 1
        if not self.state.quiet:
            if taken == traced:
                self.stack.extend(successor.pushes)
            elif traced:
                wrong = self.automaton.successor(point, (traced,))
                self.stack.extend(wrong.pushes if wrong is not None else ())
            del self.stack[:-STACK_DEPTH]
        self.set(successor.point)

    def q(self, count: Optional[int], position: int) -> None:
        """Take a Q element: instructions ran, their branches' directions unknown (5.2.6)."""
        point = self._begin(position)
        if point is None:
            self.set(LOST if self.state.point is LOST else EXPECTED)
            return
        left = count or 0
        for _ in range(_MOST_BRANCHES):
            if not left:
                break
            block = self.automaton.blocks.some(point.address, point.isa, left)
            last = block.last
            if block.stop is BlockEnd.BRANCH and last is None and left == block.instructions + 1:
                # It ends with a branch; the address shows its direction.
                branch = self.automaton.blocks.instruction(block.end, block.isa)
                if branch is not None:
                    self._last(block, branch, position)
                    return
            self._ran(block, True, position)
            left -= block.instructions
            if block.stop is BlockEnd.NO_CODE:
                self.gap(position, GapReason.NO_CODE, "", block.end)
                self.set(EXPECTED)
                return
            point = self.automaton.point(last.target, last.isa) if last else self.automaton.point(block.end, block.isa)
            if last is None:
                break
        if count is None or left:
            detail = "an unknown number" if count is None else "%d of %d" % (left, count)
            self.gap(position, GapReason.COUNTED, detail)
            point = EXPECTED
        self.set(point)

    def _last(self, block: Block, branch: Insn, position: int) -> None:
        # Records a block and the branch after it as if it were taken, until an address shows that.
        end = block.end + branch.size
        executed = Range(block.start, end, block.instructions + 1, block.isa, True)
        self.recorder.add(Leg((executed,)), position)
        self._undirected = _Undirected(len(self.recorder.order) - 1, executed, branch)
        self.set(UNDIRECTED)

    def _direct(self, point: ProgramPoint, position: int) -> None:
        # The branch at the end of a Q element was not taken when execution goes on just after it.
        if self._undirected is None:
            return
        entry, executed, branch = self._undirected
        at = executed.end - branch.size
        certain = always_taken(self.automaton.blocks.program.read, executed.start, at, executed.isa)
        if point.address == executed.end and not certain:
            self.recorder.order[entry] = self.recorder.table.single(Leg((executed._replace(taken=False),)))
        elif branch.kind is InstructionKind.DIRECT and branch.target != point.address:
            onward = "" if certain else "0x%08x or " % executed.end
            detail = "the program goes on at %s0x%08x, the trace at 0x%08x" % (onward, branch.target, point.address)
            self.gap(position, GapReason.BAD_IMAGE, detail)

    def exception(
        self,
        taken: TakenException,
        position: int,
        parent: Optional[Parent] = None,
        flush: Optional[Flush] = None,
    ) -> None:
        """Take an Exception element (5.2.7).

        :param flush: The Conditional Flush element that it implies; None for a new one.
        """
        number = taken.fields.number
        address = self._virtual(taken.address)
        reset = number == exceptions.reset(self._m_profile)
        if not taken.arrived:
            state = self.state
            self.set(state.point, push_address(state.addresses, taken.address), address_given=state.address_given)
            if not reset and not (self._m_profile and nothing_ran(address)):
                self._run_until(address, position)
            if taken.context is not None:
                self.set_context(taken.context, position)
        name, vector = exceptions.exception_name(number, self._m_profile)
        offset = self.recorder.offset_of(position)
        self.recorder.event(Exception_(offset, number, name, vector, None if reset else address))
        if parent is not None:
            parent.event = len(self.recorder.events) - 1
        self.flush_conditions(flush)
        if exceptions.may_go_on(number, self._m_profile):
            self.set(self.state.point, address_given=True)
        else:
            self.set(EXPECTED)

    def exception_return(self, position: int, parent: Optional[Parent] = None) -> None:
        """Take an Exception Return element (5.2.8)."""
        self.recorder.event(ExceptionReturn(self.recorder.offset_of(position)))
        if parent is not None:
            parent.event = len(self.recorder.events) - 1
        self._returned()

    def function_return(self, position: int, parent: Optional[Parent] = None) -> None:
        """Take a Function Return: the branch before changed security state (5.2.13)."""
        if parent is not None:
            parent.entry = len(self.recorder.order) - 1
        self._returned()

    def _returned(self) -> None:
        # The target comes in an Address element, never from the return stack (5.3.1).
        if self.state.point in (AFTER_BRANCH, UNDIRECTED):
            self.set(EXPECTED)
        elif self._m_profile:
            self.flush_future()

    def _virtual(self, address: Address) -> int:
        # In AArch32 state the upper bits of the address registers may be from before; a Trace Info clears them.
        return address.address if self.wide or self.context is None else address.address & 0xFFFFFFFF

    def _begin(self, position: int) -> Optional[ProgramPoint]:
        # The program point from where a P0 element is followed; None, and a gap unless there was one, where unknown.
        self._branch_target(position)
        point = self.state.point
        if point is LOST:
            return None
        if not isinstance(point, UnknownPoint):
            return None if self._needs_context(point, position) else point
        if point in (EXPECTED, UNDIRECTED):
            self.gap(position, GapReason.NO_ADDRESS)
        elif point is RESERVED:
            self.gap(position, GapReason.BAD_PACKET, "an address with instruction set IS1 in AArch64 state")
        self.set(LOST)
        return None

    def _run_until(self, stop: int, position: int) -> None:
        # An exception's preferred return address: all up to it ran, and crossed no branch.
        self._branch_target(position)
        point = self.state.point
        if isinstance(point, UnknownPoint) or point.address == stop or self._needs_context(point, position):
            return
        block = self.automaton.blocks.until(point.address, point.isa, stop)
        crossed = isinstance(point, FuturePoint) and point.address <= point.future.end < stop
        # On M-profile it may be inside a load or store that is to be continued (note c of table 5-5).
        reached = block.end == stop or self._m_profile and block.end > stop
        if point.address < stop and reached and not crossed:
            self._ran(block, True, position)
            self.set(self.automaton.point(block.end, block.isa))
        elif block.stop is BlockEnd.NO_CODE and point.address < stop:
            self._stopped(block, position)
        else:
            detail = "the program does not go from 0x%08x to 0x%08x" % (point.address, stop)
            self.gap(position, GapReason.BAD_IMAGE, detail)

    def _branch_target(self, position: int) -> None:
        # An indirect branch without an address before the next P0 element went to the top of the stack (5.3).
        if self.state.point is not AFTER_BRANCH:
            return
        if self.stack:
            entry = self.stack.pop()
            self.set(self.automaton.point(entry.address, entry.isa))
        else:
            self.gap(position, GapReason.NO_ADDRESS, "no target for the branch before")
            self.set(LOST)

    def _needs_context(self, point: ProgramPoint, position: int) -> bool:
        # IS0 is A32 or A64: without a Context it is not known which (5.2.9).
        if self.context is not None or point.isa is Isa.T32:
            return False
        self.gap(position, GapReason.NO_ADDRESS, "context unknown")
        self.set(LOST)
        return True

    def _ran(self, block: Block, taken: bool, position: int) -> None:
        if block.instructions:
            executed = Range(block.start, block.end, block.instructions, block.isa, taken)
            self.recorder.add(Leg((executed,)), position)

    def _stopped(self, block: Block, position: int) -> None:
        # Records what ran before missing code, and the gap.
        if block.stop is BlockEnd.NO_CODE:
            self._ran(block, True, position)
        self.gap(position, *in_block(block))
