"""Building the automaton: where P-headers lead, each worked out when it is first met and kept."""

from __future__ import annotations

from functools import lru_cache
from re import findall
from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Insn, Isa, Kind
from gdb_etm.program.transfers import Parts
from gdb_etm.program.untaken import always_taken
from gdb_etm.protocols.armv7.automaton import Automaton, Place, Step, Unplaced, Walk, Way, count
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.datainstructions import data_parts
from gdb_etm.protocols.etmv3.packets import ATOMS, CYCLE_ATOMS, Header
from gdb_etm.protocols.etmv3.packets import Kind as PacketKind
from gdb_etm.protocols.etmv3.packets import read_branch
from gdb_etm.protocols.obstacles import Obstacle, no_code, not_taken
from gdb_etm.protocols.recorder import Leg

# A name of its own is faster to reach than an enumeration's member.
_P_HEADER, _BRANCH, _IGNORE = PacketKind.P_HEADER, PacketKind.BRANCH, PacketKind.IGNORE
_DIRECT, _INDIRECT, _T32 = Kind.DIRECT, Kind.INDIRECT, Isa.T32
_new = tuple.__new__
# Makes a named tuple of a tuple, three times as fast as its class does.


class Half(Place):
    """Between the two atoms of a 32-bit Thumb instruction; the address is the instruction's."""

    __slots__ = ()


class Hop(NamedTuple):
    """What one atom leads to."""

    end: int
    """Address after the instruction."""
    place: Place
    """Where the execution goes on."""
    ends: bool
    """Whether a range ends here."""
    ran: int
    """Number of instructions: 0 for half of one."""
    parts: Parts
    """The transfers that are traced."""


class Line(NamedTuple):
    """Instructions that ran, and a cycle count before them."""

    cycles: int
    """0 where none is told."""
    atoms: str
    """E and N."""


@lru_cache(maxsize=None)
def _lines(atoms: str) -> Tuple[Line, ...]:
    # There are few: those of the P-headers, and what may be left over of them.
    found = findall("(W*)([EN]*)", atoms)
    return tuple([Line(len(cycles), rest) for cycles, rest in found if cycles or rest])


class Etmv3Automaton(Automaton):
    """Places, states and stretches of one program under one configuration.

    Where the unit traces data, an instruction that loads or stores ends a leg.

    :param blocks: The program.
    :param table: The header table.
    :param config: The unit's configuration.
    """

    def __init__(self, blocks: Blocks, table: Tuple[Header, ...], config: Etmv3Config) -> None:
        super().__init__(blocks, table, (_P_HEADER, _BRANCH, _IGNORE))
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
        if kind is _P_HEADER:
            way = self.way(walk.place, data[at])
            if way.atoms < len(self.atoms[data[at]]):
                return False
            walk.add(way.steps, position)
            walk.place = way.place
            return True
        if kind is not _BRANCH or walk.reference is None:
            return kind is _IGNORE
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
        steps: List[Step] = []
        done = 0
        for line in _lines(atoms):
            if line.cycles:
                steps.append(count(line.cycles))
                done += line.cycles
            if line.atoms:
                ran, place = self._run(steps, place, line.atoms)
                done += ran
                if ran < len(line.atoms):
                    break
        return _new(Way, (tuple(steps), place, done, ()))

    def _run(self, steps: List[Step], place: Place, atoms: str) -> Tuple[int, Place]:
        # Runs instructions, in ranges as long as can be; returns how many atoms that took.
        ranges: List[Range] = []
        start, instructions = place.address, 0
        done = 0
        for atom in atoms:
            hop: Optional[Hop] = place.ways.get(atom)
            if hop is None and not isinstance(place, Unplaced):
                hop = self._find_hop(place, atom)
            if hop is None and place is not self.lost:
                break
            done += 1
            if hop is None:
                continue
            instructions += hop.ran
            if hop.ends or hop.parts:
                ranges.append(_new(Range, (start, hop.end, instructions, place.isa, atom == "E")))
                start, instructions = hop.place.address, 0
            if hop.parts:
                leg = Leg(tuple(ranges))
                self.transfers[leg] = hop.parts
                steps.append(leg)
                ranges = []
            place = hop.place
        if instructions:
            ranges.append(_new(Range, (start, place.address, instructions, place.isa, True)))
        if ranges:
            steps.append(Leg(tuple(ranges)))
        return done, place

    def _find_hop(self, place: Place, atom: str) -> Optional[Hop]:
        # What an atom leads to, and keeps it; None where there is no code, or it does not do what the atom says.
        hop = self._make_hop(place, atom == "E")
        if hop is not None:
            place.ways[atom] = hop
        return hop

    def _make_hop(self, place: Place, passed: bool) -> Optional[Hop]:
        address, isa = place.address, place.isa
        insn = self.blocks.instruction(address, isa)
        if insn is None:
            return None
        if insn.size == 4 and isa is _T32 and not self._config.whole_instructions and not isinstance(place, Half):
            return _new(Hop, (address, self._half(place), False, 0, ()))
        end = address + insn.size
        if not passed:
            if self._is_always_taken(insn, address, isa):
                return None
            return _new(Hop, (end, self.place(end, isa), True, 1, ()))
        parts: Parts = ()
        if self._config.data_trace:
            parts = data_parts(self.blocks.program.read(address, 4), isa, self._config.coprocessor)
        if insn.kind is _INDIRECT:
            return _new(Hop, (end, self.after_branch, True, 1, parts))
        if insn.kind is _DIRECT:
            return _new(Hop, (end, self.place(insn.target, insn.isa), True, 1, parts))
        return _new(Hop, (end, self.place(end, isa), False, 1, parts))

    def _is_always_taken(self, insn: Insn, address: int, isa: Isa) -> bool:
        """Tell whether an instruction is a branch that is taken whenever it runs."""
        if insn.kind is not _INDIRECT and insn.kind is not _DIRECT or insn.target == address + insn.size:
            return False
        return always_taken(self.blocks.program.read, address, address, isa)

    def obstacle(self, place: Place) -> Obstacle:
        """Tell why an atom cannot be followed from a place."""
        insn = self.blocks.instruction(place.address, place.isa)
        return no_code(place.address, place.isa) if insn is None else not_taken(place.address)

    def _half(self, place: Place) -> Half:
        half = self._halves.get(place)
        if half is None:
            half = self._halves[place] = Half(place.address, place.isa)
        return half
