"""Building the automaton: where P-headers lead, each worked out when it is first met and kept."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Isa, Kind
from gdb_etm.program.transfers import Parts
from gdb_etm.protocols.armv7.automaton import Automaton, Place, Step, Unplaced, Walk, Way
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.datainstructions import data_parts
from gdb_etm.protocols.etmv3.packets import ATOMS, CYCLE_ATOMS, Header
from gdb_etm.protocols.etmv3.packets import Kind as PacketKind
from gdb_etm.protocols.etmv3.packets import read_branch
from gdb_etm.protocols.recorder import Leg


class Half(Place):
    """Between the two atoms of a 32-bit Thumb instruction; the address is the instruction's."""

    __slots__ = ()


class _Line:
    # What atoms execute while it is being worked out: ranges as long as can be, and the cycles between them.

    def __init__(self) -> None:
        self._steps: List[Step] = []
        self._ranges: List[Range] = []
        self._cycles = 0
        self._open = False

    def tick(self) -> None:
        # A cycle passes.
        self.cut()
        self._cycles += 1

    def run(self, executed: Range, ends: bool) -> None:
        # Takes one instruction; with ``ends`` the next one begins a range of its own.
        if self._cycles:
            self._steps.append(self._cycles)
            self._cycles = 0
        last = self._ranges[-1] if self._open else None
        if last is not None and last.end == executed.start and last.isa is executed.isa:
            count = last.instructions + 1
            self._ranges[-1] = last._replace(end=executed.end, instructions=count, taken=executed.taken)
        else:
            self._ranges.append(executed)
        self._open = not ends

    def cut(self) -> Optional[Leg]:
        # Ends the leg; None when there is nothing in it.
        if not self._ranges:
            return None
        leg = Leg(tuple(self._ranges))
        self._steps.append(leg)
        self._ranges, self._open = [], False
        return leg

    def steps(self) -> Tuple[Step, ...]:
        self.cut()
        if self._cycles:
            self._steps.append(self._cycles)
        return tuple(self._steps)


class Etmv3Automaton(Automaton):
    """Places, states and stretches of one program under one configuration.

    Where the unit traces data, an instruction that loads or stores ends a leg.

    :param blocks: The program.
    :param table: The header table.
    :param config: The unit's configuration.
    """

    def __init__(self, blocks: Blocks, table: Tuple[Header, ...], config: Etmv3Config) -> None:
        super().__init__(blocks, table, (PacketKind.P_HEADER, PacketKind.BRANCH, PacketKind.IGNORE))
        self._config = config
        self._kinds = [header.kind for header in table]
        self.atoms: Dict[int, str] = CYCLE_ATOMS if config.cycle_accurate else ATOMS
        """The atoms of each P-header."""
        self.transfers: Dict[Leg, Parts] = {}
        """The transfers of the last instruction of a leg, where it loads or stores and the unit traces data."""
        self._halves: Dict[Place, Half] = {}

    def take(self, walk: Walk, data: bytes, at: int, size: int, position: int) -> bool:
        """Take a P-header, or a branch packet that is nothing but an address."""
        kind = self._kinds[data[at]]
        if kind is PacketKind.P_HEADER:
            way = self.way(walk.place, data[at])
            if way.atoms < len(self.atoms[data[at]]):
                return False
            walk.add(way.steps, position)
            walk.place = way.place
            return True
        if kind is not PacketKind.BRANCH or walk.reference is None:
            return kind is PacketKind.IGNORE
        branch = read_branch(self._config, data, at, walk.reference)
        if branch.information is not None:
            return False
        place = self.place_of(branch.reference)
        if place is not walk.place and not walk.told and not isinstance(walk.place, Unplaced):
            return False
        walk.place, walk.reference, walk.told = place, branch.reference, True
        return True

    def way(self, place: Place, header: int) -> Way:
        """Tell where a P-header's atoms lead from a place."""
        way = place.ways.get(header)
        if way is None:
            way = place.ways[header] = self.find_way(place, self.atoms[header])
        return way

    def find_way(self, place: Place, atoms: str) -> Way:
        """Work out where atoms lead, up to the first that cannot be followed."""
        line = _Line()
        for index, atom in enumerate(atoms):
            if atom == "W":
                line.tick()
            elif isinstance(place, Unplaced):
                if place is not self.lost:
                    return Way(line.steps(), place, index)
            else:
                following = self._step(line, place, atom == "E")
                if following is None:
                    return Way(line.steps(), place, index)
                place = following
        return Way(line.steps(), place, len(atoms))

    def _step(self, line: "_Line", place: Place, passed: bool) -> Optional[Place]:
        # Runs the instruction at a place; None where there is no code.
        insn = place.insn
        if insn is None:
            insn = place.insn = self.blocks.instruction(place.address, place.isa)
            if insn is None:
                return None
        address, isa = place.address, place.isa
        two_atoms = insn.size == 4 and isa is Isa.T32 and not self._config.whole_instructions
        if two_atoms and not isinstance(place, Half):
            return self._half(place)
        end = address + insn.size
        branches = passed and insn.kind in (Kind.DIRECT, Kind.INDIRECT)
        line.run(Range(address, end, 1, isa, passed), not passed or branches)
        if passed and self._config.data_trace:
            parts = data_parts(self.blocks.program.read(address, 4), isa, self._config.coprocessor)
            leg = line.cut() if parts else None
            if leg is not None:
                self.transfers[leg] = parts
        if not branches:
            return self.place(end, isa)
        return self.after_branch if insn.kind is Kind.INDIRECT else self.place(insn.target, insn.isa)

    def _half(self, place: Place) -> Half:
        half = self._halves.get(place)
        if half is None:
            half = self._halves[place] = Half(place.address, place.isa)
        return half
