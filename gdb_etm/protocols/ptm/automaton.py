"""PTM's automaton: successors by atoms, each computed once."""

from __future__ import annotations

from typing import Final, List, Optional, Tuple

from gdb_etm.program.barriers import is_barrier, is_enterx, is_leavex
from gdb_etm.program.blocks import Block, Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.armv7.automaton import (
    Automaton,
    ProgramPoint,
    Stack,
    Step,
    Successor,
    TransitionBuilder,
    UnknownPoint,
    count,
)
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.packets import ATOMS
from gdb_etm.protocols.ptm.packets import Kind as PacketKind
from gdb_etm.protocols.ptm.packets import read_branch, read_count
from gdb_etm.protocols.recorder import Leg
from gdb_etm.protocols.stream import Header

# A name of its own is faster to reach than an enumeration's member.
_ATOM: Final = PacketKind.ATOM
_BRANCH: Final = PacketKind.BRANCH
_IGNORE: Final = PacketKind.IGNORE
_INDIRECT: Final = InstructionKind.INDIRECT
_T32: Final = Isa.T32

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__
# Atoms, oldest first; True is E.
Atoms = Tuple[bool, ...]


class PtmAutomaton(Automaton):
    """Program points, states and transitions of one program under one configuration.

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

    def take(self, builder: TransitionBuilder, data: bytes, at: int, size: int, position: int) -> bool:
        """Take an Atom packet, or a branch packet without exception information."""
        kind = self._kinds[data[at]]
        if kind is _ATOM:
            atoms, cycles = self.atoms(data, at)
            successor = self.successor(builder.point, atoms, builder.stack)
            if successor.atoms < len(atoms):
                return False
            builder.add(successor.steps, position)
            builder.point, builder.stack = successor.point, successor.stack
        elif kind is _BRANCH:
            if builder.reference is None:
                return False
            branch = read_branch(data, at, builder.reference)
            if branch.information is not None:
                return False
            successor = self.leave(builder.point, builder.stack)
            point = self.point_of(branch.reference)
            if not successor.atoms or point is not successor.point and not isinstance(successor.point, UnknownPoint):
                return False
            builder.add(successor.steps, position)
            builder.point, builder.reference, builder.address_given, builder.stack = (
                point,
                branch.reference,
                True,
                successor.stack,
            )
            cycles = read_count(data, branch.after) if self._config.cycle_accurate else 0
        else:
            return kind is _IGNORE
        if cycles:
            builder.add((count(cycles),), position)
        return True

    def atoms(self, data: bytes, at: int) -> Tuple[Atoms, int]:
        """Read an Atom packet: its atoms, and the cycles that it counts."""
        if self._config.cycle_accurate:
            return (not data[at] & 2,), read_count(data, at)
        return ATOMS[data[at]], 0

    def successor(self, point: ProgramPoint, atoms: Atoms, stack: Stack) -> Successor:
        """Give the successor of a program point after some atoms."""
        key = (atoms, stack)
        successor = point.successors.get(key)
        if successor is None:
            successor = self._find_successor(point, atoms, stack, False)
            point.keep(key, successor)
        return successor

    def leave(self, point: ProgramPoint, stack: Stack) -> Successor:
        """Give the successor that a branch packet implies (4.5.4).

        What runs is all up to the next waypoint, whose target the packet has.

        The return stack is not used, but a branch with link is put on it.
        """
        successor = point.successors.get(stack)
        if successor is None:
            successor = self._find_successor(point, (True,), stack, True)
            point.keep(stack, successor)
        return successor

    def _find_successor(self, point: ProgramPoint, atoms: Atoms, stack: Stack, addressed: bool) -> Successor:
        ranges: List[Range] = []
        for index, taken in enumerate(atoms):
            if isinstance(point, UnknownPoint):
                if point is not self.lost:
                    return Successor(_steps(ranges), point, index, stack)
                continue
            block = self.blocks.at(point.address, point.isa)
            if block.last is None:
                return Successor(_steps(ranges), point, index, stack)
            if not taken and self.blocks.always_taken(block):
                return Successor(_steps(ranges), point, index, stack)
            ranges.append(_new(Range, (block.start, block.end, block.instructions, block.isa, taken)))
            if not taken:
                point = self.point(block.end, block.isa)
                continue
            target = self._target(block, stack, addressed)
            if target is None:
                ranges.pop()
                return Successor(_steps(ranges), point, index, stack)
            point, stack = target
        return Successor(_steps(ranges), point, len(atoms), stack)

    def _target(self, block: Block, stack: Stack, addressed: bool) -> Optional[Tuple[ProgramPoint, Stack]]:
        # Where a waypoint that was taken leads; None when that lies below in the return stack. An entry is taken off
        # the stack before one is put on it.
        last = block.last
        point: Optional[ProgramPoint] = None
        if last is None or last.kind is _INDIRECT:
            if self._config.return_stack and stack and not addressed:
                entry = stack[-1]
                if entry is None:
                    return None
                point, stack = self.point(*entry), stack[:-1]
            else:
                point = self.after_branch
        elif last.target == block.end and is_enterx(self.blocks.program.read(block.end - 4, 4)):
            point = self.thumbee
        else:
            point = self.point(last.target, last.isa)
        if last is not None and last.link and self._config.return_stack:
            stack = stack + ((block.end, block.isa),)
        return point, stack


def _steps(ranges: List[Range]) -> Tuple[Step, ...]:
    return (Leg(tuple(ranges)),) if ranges else ()
