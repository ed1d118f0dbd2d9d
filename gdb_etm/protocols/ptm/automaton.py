"""Building the automaton: where atoms lead, each worked out when it is first met and kept."""

from __future__ import annotations

from typing import List, Optional, Tuple

from gdb_etm.program.barriers import is_barrier, is_enterx, is_leavex
from gdb_etm.program.blocks import Block, Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa, Kind
from gdb_etm.protocols.armv7.automaton import Automaton, Place, Stack, Step, Unplaced, Walk, Way, count
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.packets import ATOMS, Header
from gdb_etm.protocols.ptm.packets import Kind as PacketKind
from gdb_etm.protocols.ptm.packets import read_branch, read_count
from gdb_etm.protocols.recorder import Leg

# A name of its own is faster to reach than an enumeration's member.
_ATOM, _BRANCH, _IGNORE = PacketKind.ATOM, PacketKind.BRANCH, PacketKind.IGNORE
_INDIRECT, _T32 = Kind.INDIRECT, Isa.T32

Atoms = Tuple[bool, ...]
"""Atoms, oldest first; True is E."""


class PtmAutomaton(Automaton):
    """Places, states and stretches of one program under one configuration.

    :param program: The program.
    :param table: The header table.
    :param config: The unit's configuration.
    """

    def __init__(self, program: Program, table: Tuple[Header, ...], config: PtmConfig) -> None:
        blocks = Blocks(program, others=self._is_waypoint)
        super().__init__(blocks, table, (_ATOM, _BRANCH, _IGNORE))
        self._config = config
        self._kinds = [header.kind for header in table]

    def _is_waypoint(self, code: bytes, isa: Isa) -> bool:
        # Of what is no branch (2.2).
        if isa is _T32 and (is_enterx(code) or is_leavex(code)):
            return True
        return self._config.barriers and is_barrier(code, isa)

    def take(self, walk: Walk, data: bytes, at: int, size: int, position: int) -> bool:
        """Take an Atom packet, or a branch packet that is nothing but an address."""
        kind = self._kinds[data[at]]
        if kind is _ATOM:
            atoms, cycles = self.atoms(data, at)
            way = self.way(walk.place, atoms, walk.stack)
            if way.atoms < len(atoms):
                return False
            walk.add(way.steps, position)
            walk.place, walk.stack = way.place, way.stack
        elif kind is _BRANCH:
            if walk.reference is None:
                return False
            branch = read_branch(data, at, walk.reference)
            if branch.information is not None:
                return False
            way = self.leave(walk.place, walk.stack)
            place = self.place_of(branch.reference)
            if not way.atoms or place is not way.place and not isinstance(way.place, Unplaced):
                return False
            walk.add(way.steps, position)
            walk.place, walk.reference, walk.told, walk.stack = place, branch.reference, True, way.stack
            cycles = read_count(data, branch.after) if self._config.cycle_accurate else 0
        else:
            return kind is _IGNORE
        if cycles:
            walk.add((count(cycles),), position)
        return True

    def atoms(self, data: bytes, at: int) -> Tuple[Atoms, int]:
        """Read an Atom packet: its atoms, and the cycles that it counts."""
        if self._config.cycle_accurate:
            return (not data[at] & 2,), read_count(data, at)
        return ATOMS[data[at]], 0

    def way(self, place: Place, atoms: Atoms, stack: Stack) -> Way:
        """Tell where atoms lead from a place."""
        key = (atoms, stack)
        way = place.ways.get(key)
        if way is None:
            way = place.ways[key] = self._find_way(place, atoms, stack, False)
        return way

    def leave(self, place: Place, stack: Stack) -> Way:
        """Tell what runs before a branch packet: up to the next waypoint, whose target the packet tells (4.5.4).

        The return stack is not used, but a branch with link is put on it.
        """
        way = place.ways.get(stack)
        if way is None:
            way = place.ways[stack] = self._find_way(place, (True,), stack, True)
        return way

    def _find_way(self, place: Place, atoms: Atoms, stack: Stack, addressed: bool) -> Way:
        ranges: List[Range] = []
        for index, taken in enumerate(atoms):
            if isinstance(place, Unplaced):
                if place is not self.lost:
                    return Way(_steps(ranges), place, index, stack)
                continue
            block = self.blocks.at(place.address, place.isa)
            if block.last is None:
                return Way(_steps(ranges), place, index, stack)
            if not taken and self.blocks.always_taken(block):
                return Way(_steps(ranges), place, index, stack)
            ranges.append(Range(block.start, block.end, block.instructions, block.isa, taken))
            if not taken:
                place = self.place(block.end, block.isa)
                continue
            target = self._target(block, stack, addressed)
            if target is None:
                ranges.pop()
                return Way(_steps(ranges), place, index, stack)
            place, stack = target
        return Way(_steps(ranges), place, len(atoms), stack)

    def _target(self, block: Block, stack: Stack, addressed: bool) -> Optional[Tuple[Place, Stack]]:
        # Where a waypoint that was taken leads; None when that lies below in the return stack. An entry is taken off
        # the stack before one is put on it.
        last = block.last
        place: Optional[Place] = None
        if last is None or last.kind is _INDIRECT:
            if self._config.return_stack and stack and not addressed:
                entry = stack[-1]
                if entry is None:
                    return None
                place, stack = self.place(*entry), stack[:-1]
            else:
                place = self.after_branch
        elif last.target == block.end and is_enterx(self.blocks.program.read(block.end - 4, 4)):
            place = self.thumbee
        else:
            place = self.place(last.target, last.isa)
        if last is not None and last.link and self._config.return_stack:
            stack = stack + ((block.end, block.isa),)
        return place, stack


def _steps(ranges: List[Range]) -> Tuple[Step, ...]:
    return (Leg(tuple(ranges)),) if ranges else ()
