"""Lines of instructions: straight code up to the next branch.

Where an atom is a whole instruction and no data is traced, atoms are followed along a line, many at once.
"""

from __future__ import annotations

from typing import Final, List, Optional, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import InstructionKind
from gdb_etm.protocols.armv7.automaton import Automaton, Line, ProgramPoint, UnknownPoint, is_always_taken
from gdb_etm.protocols.elements import Range

# Instructions in a line at most.
_LONGEST: Final = 32
# A name of its own is faster to reach than an enumeration's member.
_INDIRECT: Final = InstructionKind.INDIRECT
# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class LineWalker:
    """Follows atoms along lines.

    :param automaton: Has the program points.
    :param blocks: The program.
    """

    def __init__(self, automaton: Automaton, blocks: Blocks) -> None:
        self._automaton = automaton
        self._blocks = blocks

    def walk(self, point: ProgramPoint, atoms: str, ranges: Optional[List[Range]]) -> Tuple[int, int, ProgramPoint]:
        """Follow E and N atoms.

        :param ranges: Takes what ran; None where nobody asks.
        :returns: How many of the atoms could be followed, how many instructions ran, and where that leads.
        """
        start, line, index = point.address, point.line, point.index
        done = ran = before = 0
        count = len(atoms)
        while done < count:
            if line is None:
                if isinstance(point, UnknownPoint):
                    # Nothing runs where a gap was recorded.
                    done = count if point is self._automaton.lost else done
                    break
                line, index = self._find(point), 0
            left = line.length - index
            if not left:
                break
            skipped = atoms.find("N", done)
            passed = (count if skipped < 0 else skipped) - done
            taken = passed >= left and line.last is not None
            passed = left if passed >= left else passed
            index, ran, done = index + passed, ran + passed, done + passed
            ends = taken
            if not taken and done == skipped and index < line.length:
                if index + 1 == line.length and self._is_certain(line):
                    break
                index, ran, done, ends = index + 1, ran + 1, done + 1, True
            if ends and ranges is not None:
                ranges.append(_new(Range, (start, line.addresses[index], ran - before, line.isa, taken)))
            if taken or index == line.length:
                point = self._target(line) if taken else self._at(line, index)
                start = point.address if ends else start
                line, index = point.line, point.index
            elif ends:
                start = line.addresses[index]
            before = ran if ends else before
        if line is not None:
            point = self._at(line, index)
        if ran > before and ranges is not None:
            ranges.append(_new(Range, (start, point.address, ran - before, point.isa, True)))
        return done, ran, point

    def _find(self, point: ProgramPoint) -> Line:
        addresses, last = self._blocks.line(point.address, point.isa, _LONGEST)
        line = point.line = Line(point.isa, addresses, last)
        return line

    def _at(self, line: Line, index: int) -> ProgramPoint:
        point = self._automaton.point(line.addresses[index], line.isa)
        if point.line is None and index < line.length:
            point.line, point.index = line, index
        return point

    def _target(self, line: Line) -> ProgramPoint:
        last = line.last
        if last is None or last.kind is _INDIRECT:
            return self._automaton.after_branch
        return self._automaton.point(last.target, last.isa)

    def _is_certain(self, line: Line) -> bool:
        last = line.last
        return last is not None and is_always_taken(self._blocks, last, line.addresses[-2], line.isa)
