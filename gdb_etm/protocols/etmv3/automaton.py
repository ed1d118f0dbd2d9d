"""ETMv3's automaton: successors by P-header, each computed once."""

from __future__ import annotations

from functools import lru_cache
from re import findall
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.program.transfers import Parts
from gdb_etm.protocols.armv7.automaton import (
    Automaton,
    DecoderState,
    ProgramPoint,
    Step,
    Successor,
    Transition,
    TransitionBuilder,
    TransitionRun,
    UnknownPoint,
    count,
    is_always_taken,
)
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.data import data_parts
from gdb_etm.protocols.etmv3.lines import LineWalker
from gdb_etm.protocols.etmv3.packets import ATOMS, CYCLE_ATOMS
from gdb_etm.protocols.etmv3.packets import Kind as PacketKind
from gdb_etm.protocols.etmv3.packets import read_branch
from gdb_etm.protocols.obstacles import Obstacle, no_code, not_taken
from gdb_etm.protocols.recorder import Leg
from gdb_etm.protocols.stream import Header

# A name of its own is faster to reach than an enumeration's member.
_P_HEADER: Final = PacketKind.P_HEADER
_BRANCH: Final = PacketKind.BRANCH
_IGNORE: Final = PacketKind.IGNORE
_DIRECT: Final = InstructionKind.DIRECT
_INDIRECT: Final = InstructionKind.INDIRECT
_T32: Final = Isa.T32
# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class Half(ProgramPoint):
    """Program point between the two atoms of a 32-bit Thumb instruction."""

    __slots__ = ()


class Hop(NamedTuple):
    """The effect of one atom."""

    # Address after the instruction.
    end: int
    # Where the execution goes on.
    point: ProgramPoint
    # Whether a range ends here.
    ends: bool
    # Number of instructions: 0 for half of one.
    ran: int
    # The transfers that are traced.
    parts: Parts


class AtomRun(NamedTuple):
    """Instructions that ran, and a cycle count before them."""

    # 0 where there is none.
    cycles: int
    # E and N.
    atoms: str


@lru_cache(maxsize=None)
def _atom_runs(atoms: str) -> Tuple[AtomRun, ...]:
    # There are few: those of the P-headers, and what may be left over of them.
    found = findall("(W*)([EN]*)", atoms)
    return tuple([AtomRun(len(cycles), rest) for cycles, rest in found if cycles or rest])


class Etmv3Automaton(Automaton):
    """Program points, states and transitions of one program under one configuration.

    Where the unit traces data, an instruction that loads or stores ends a leg.

    :param blocks: The program.
    :param table: The header table.
    :param config: The unit's configuration.
    """

    def __init__(self, blocks: Blocks, table: Tuple[Header, ...], config: Etmv3Config) -> None:
        super().__init__(blocks, table, (_P_HEADER, _BRANCH, _IGNORE))
        self._config = config
        self._kinds = [header.kind for header in table]
        # The atoms of each P-header.
        self.atoms: Dict[int, str] = CYCLE_ATOMS if config.cycle_accurate else ATOMS
        # The same without cycles, by header; None where it is no P-header.
        self._plain = [
            self.atoms[header].replace("W", "") if kind is _P_HEADER else None
            for header, kind in enumerate(self._kinds)
        ]
        # The transfers of the last instruction of a leg, where it loads or stores and the unit traces data.
        self.transfers: Dict[Leg, Parts] = {}
        self._halves: Dict[ProgramPoint, Half] = {}
        self._lines = LineWalker(self, blocks) if config.whole_instructions and not config.data_trace else None

    def take(self, builder: TransitionBuilder, data: bytes, at: int, size: int, position: int) -> bool:
        """Take a P-header, or a branch packet without exception information."""
        kind = self._kinds[data[at]]
        if kind is _P_HEADER:
            successor = self.successor(builder.point, data[at])
            if successor.atoms < len(self.atoms[data[at]]):
                return False
            builder.add(successor.steps, position)
            builder.point = successor.point
            return True
        if kind is not _BRANCH or builder.reference is None:
            return kind is _IGNORE
        branch = read_branch(self._config, data, at, builder.reference)
        if branch.information is not None:
            return False
        point = self.point_of(branch.reference)
        if point is not builder.point and not builder.address_given and not isinstance(builder.point, UnknownPoint):
            return False
        builder.point, builder.reference, builder.address_given = point, branch.reference, True
        return True

    def _find(self, state: DecoderState, data: bytes, at: int, limit: int) -> Optional[Transition]:
        lines = self._lines
        if lines is None:
            return super()._find(state, data, at, limit)
        builder = TransitionBuilder(state)
        point, plain, lengths = builder.point, self._plain, self._lengths
        index, count, whole = at, 0, bool(state.window)
        while index < limit:
            header = data[index]
            atoms = plain[header]
            if atoms is None:
                builder.point = point
                size = lengths[header](data, index, limit)
                if size <= 0 or not self.take(builder, data, index, size, 0):
                    break
                point = builder.point
                index += size
                if not whole and self._is_enough(builder, index - at):
                    break
                continue
            if atoms:
                if header == point.header:
                    ran, point = point.ran, point.after
                elif point.steps is not None and header in point.steps:
                    ran, point = point.steps[header]
                else:
                    done, ran, after = lines.walk(point, atoms, None)
                    if done < len(atoms):
                        break
                    point.keep_step(header, ran, after)
                    point = after
                if ran:
                    count += ran
                    builder.address_given = False
            index += 1
        if index == at:
            return None
        builder.point = point
        # There are cycles in most.
        self.runs.has_events = self.runs.has_events or self._config.cycle_accurate
        run = self.runs.add(TransitionRun(self, state, data[at:index], count), False)
        return self._keep(state, data, at, index - at, builder, run)

    def successor(self, point: ProgramPoint, header: int) -> Successor:
        """Give the successor of a program point after a P-header."""
        successor = point.successors.get(header)
        if successor is None:
            successor = self.find_successor(point, self.atoms[header])
            point.keep(header, successor)
        return successor

    def find_successor(self, point: ProgramPoint, atoms: str) -> Successor:
        """Compute where atoms lead, up to the first that cannot be followed."""
        steps: List[Step] = []
        done = 0
        for run in _atom_runs(atoms):
            if run.cycles:
                steps.append(count(run.cycles))
                done += run.cycles
            if run.atoms:
                ran, point = self._run(steps, point, run.atoms)
                done += ran
                if ran < len(run.atoms):
                    break
        return Successor(tuple(steps), point, done)

    def _run(self, steps: List[Step], point: ProgramPoint, atoms: str) -> Tuple[int, ProgramPoint]:
        # Runs instructions, in ranges as long as can be; returns how many atoms that took.
        ranges: List[Range] = []
        if self._lines is not None:
            done, _, point = self._lines.walk(point, atoms, ranges)
            if ranges:
                steps.append(Leg(tuple(ranges)))
            return done, point
        start, instructions = point.address, 0
        done = 0
        for atom in atoms:
            hop: Optional[Hop] = point.successors.get(atom)
            if hop is None and not isinstance(point, UnknownPoint):
                hop = self._find_hop(point, atom)
            if hop is None and point is not self.lost:
                break
            done += 1
            if hop is None:
                continue
            instructions += hop.ran
            if hop.ends or hop.parts:
                ranges.append(_new(Range, (start, hop.end, instructions, point.isa, atom == "E")))
                start, instructions = hop.point.address, 0
            if hop.parts:
                leg = Leg(tuple(ranges))
                self.transfers[leg] = hop.parts
                steps.append(leg)
                ranges = []
            point = hop.point
        if instructions:
            ranges.append(_new(Range, (start, point.address, instructions, point.isa, True)))
        if ranges:
            steps.append(Leg(tuple(ranges)))
        return done, point

    def _find_hop(self, point: ProgramPoint, atom: str) -> Optional[Hop]:
        # What an atom leads to, and keeps it; None where there is no code, or it does not do what the atom says.
        hop = self._make_hop(point, atom == "E")
        if hop is not None:
            point.keep(atom, hop)
        return hop

    def _make_hop(self, point: ProgramPoint, passed: bool) -> Optional[Hop]:
        address, isa = point.address, point.isa
        insn = self.blocks.instruction(address, isa)
        if insn is None:
            return None
        if insn.size == 4 and isa is _T32 and not self._config.whole_instructions and not isinstance(point, Half):
            return _new(Hop, (address, self._half(point), False, 0, ()))
        end = address + insn.size
        if not passed:
            if is_always_taken(self.blocks, insn, address, isa):
                return None
            return _new(Hop, (end, self.point(end, isa), True, 1, ()))
        parts: Parts = ()
        if self._config.data_trace:
            parts = data_parts(self.blocks.program.read(address, 4), isa, self._config.coprocessor)
        if insn.kind is _INDIRECT:
            return _new(Hop, (end, self.after_branch, True, 1, parts))
        if insn.kind is _DIRECT:
            return _new(Hop, (end, self.point(insn.target, insn.isa), True, 1, parts))
        return _new(Hop, (end, self.point(end, isa), False, 1, parts))

    def obstacle(self, point: ProgramPoint) -> Obstacle:
        """Explain why an atom cannot be followed from a program point."""
        insn = self.blocks.instruction(point.address, point.isa)
        return no_code(point.address, point.isa) if insn is None else not_taken(point.address)

    def _half(self, point: ProgramPoint) -> Half:
        half = self._halves.get(point)
        if half is None:
            half = self._halves[point] = Half(point.address, point.isa)
        return half
