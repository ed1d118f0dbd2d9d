"""The execution of a PTM stream: waypoints and exceptions.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.3, chapter 5 and B.3.
"""

from __future__ import annotations

from gdb_etm.program.blocks import Block, BlockEnd
from gdb_etm.protocols.armv7.automaton import Successor, UnknownPoint
from gdb_etm.protocols.armv7.exceptions import exception_name
from gdb_etm.protocols.armv7.execution import Execution
from gdb_etm.protocols.armv7.fields import Branch, Reference
from gdb_etm.protocols.elements import Exception_, GapReason, Range
from gdb_etm.protocols.obstacles import in_block
from gdb_etm.protocols.ptm.automaton import Atoms, PtmAutomaton
from gdb_etm.protocols.recorder import Leg, Recorder


class PtmExecution(Execution):
    """The state of one stream's analysis.

    :param automaton: Program points and states of the program.
    :param recorder: Takes what ran, and the events.
    """

    def __init__(self, automaton: PtmAutomaton, recorder: Recorder) -> None:
        super().__init__(automaton, recorder)
        self._ptm = automaton

    def atoms(self, atoms: Atoms, position: int) -> None:
        """Follow atoms; where that is not possible a gap says why."""
        successor = self._ptm.successor(self.point, atoms, self.addresses.stack)
        while successor.atoms < len(atoms) and successor.stack[-1:] == (None,):
            self.follow(successor, position)
            self.refill()
            atoms = atoms[successor.atoms :]
            successor = self._ptm.successor(self.point, atoms, self.addresses.stack)
        self._follow(successor, len(atoms), position)

    def branch(self, branch: Branch, position: int) -> None:
        """Take a branch packet: a taken waypoint's target, or an exception (4.5.4)."""
        information = branch.information
        if information is None or not information.number:
            self._follow(self._ptm.leave(self.point, self.addresses.stack), 1, position)
            self.arrive(branch.reference, position)
        else:
            point = self.point
            address = None if isinstance(point, UnknownPoint) else point.address
            name = exception_name(information.number)
            self.event(Exception_(self.offset(position), information.number, name, None, address))
            target = self.automaton.point_of(branch.reference)
            self.set(target, self.addresses._replace(reference=branch.reference, address_given=True))
        if information is not None:
            self.set_context(position, information.non_secure, information.hyp)

    def update(self, reference: Reference, position: int) -> None:
        """Take a waypoint update: all up to an instruction ran (4.5.5)."""
        point, addresses = self.point, self.addresses._replace(reference=reference)
        self.set(point, addresses)
        if isinstance(point, UnknownPoint):
            self.stop(position)
            return
        if reference.address < point.address:
            self._contradict(point.address, reference.address, position)
            return
        block = self.automaton.blocks.until(point.address, point.isa, reference.address + 1)
        if block.stop is BlockEnd.NO_CODE:
            self._stop_in(block, position)
        elif block.end <= reference.address:
            self._contradict(block.end, reference.address, position)
        else:
            self._ran(block, position)
            self.set(self.automaton.point(block.end, block.isa), addresses._replace(address_given=False))

    def _follow(self, successor: Successor, atoms: int, position: int) -> None:
        self.follow(successor, position)
        if successor.atoms == atoms:
            return
        point = self.point
        if isinstance(point, UnknownPoint):
            self.stop(position)
            return
        self._stop_in(self.automaton.blocks.at(point.address, point.isa), position)

    def _stop_in(self, block: Block, position: int) -> None:
        # Records what ran before missing code, and the gap.
        if block.stop is BlockEnd.NO_CODE:
            self._ran(block, position)
        self.gap(position, *in_block(block))
        self.set(self.automaton.lost)

    def _ran(self, block: Block, position: int) -> None:
        if block.instructions:
            executed = Range(block.start, block.end, block.instructions, block.isa, True)
            self.recorder.add(Leg((executed,)), position)

    def _contradict(self, here: int, there: int, position: int) -> None:
        detail = "the program does not go from 0x%08x to 0x%08x" % (here, there)
        self.gap(position, GapReason.BAD_IMAGE, detail)
        self.set(self.automaton.lost)
