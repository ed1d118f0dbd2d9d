"""The program between two packets: instructions one after the other.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3.1: a packet for each change of the PC that is not
sequential, and maybe for any other instruction.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.program.blocks import BlockEnd, Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Insn, InstructionKind, Isa
from gdb_etm.program.untaken import always_taken
from gdb_etm.protocols.elements import GapReason, Range
from gdb_etm.protocols.mtb.packets import SIZE
from gdb_etm.protocols.obstacles import Obstacle, in_block, no_code, not_taken
from gdb_etm.protocols.recorder import Leg, Run, RunTable

_T32 = Isa.T32
# The upper byte of 16-bit instructions after which the execution never goes on: UDF, BKPT.  After SVC it may end.
_NEVER_COMPLETE = (0xDE, 0xBE)
_SVC = 0xDF


class Passage(NamedTuple):
    """Instructions between two places of the trace."""

    # Number of the run in the table; None when no instruction ran.
    run: Optional[int]
    # Why the rest is not known; None when it is.
    obstacle: Optional[Obstacle]


_NOTHING = Passage(None, None)


class MtbAutomaton:
    """Passages of one program, found once and kept.

    :param program: The program that the core ran.
    """

    def __init__(self, program: Program) -> None:
        self.blocks = Blocks(program)
        self.runs = RunTable()
        self._program = program
        self._branches: Dict[Tuple[int, int, int], Passage] = {}
        self._straights: Dict[Tuple[int, int], Passage] = {}

    def straight(self, start: int, stop: int) -> Passage:
        """Follow the execution from one address up to another.

        The instruction there did not run.
        """
        if start == stop:
            return _NOTHING
        key = start, stop
        found = self._straights.get(key)
        if found is None:
            found = self._straights[key] = self._passage(*self._walk(start, stop, True))
        return found

    def branch(self, start: Optional[int], source: int, destination: int) -> Passage:
        """Follow the execution to an instruction, and from there to its successor.

        :param start: None: only that instruction is known to have run.
        :param source: Of the instruction.
        """
        key = source if start is None else start, source, destination
        found = self._branches.get(key)
        if found is None:
            found = self._branches[key] = self._branch(*key)
        return found

    def _branch(self, start: int, source: int, destination: int) -> Passage:
        ranges, obstacle = self._walk(start, source, False)
        insn = self.blocks.instruction(source, _T32)
        if obstacle is not None or insn is None:
            return self._passage(ranges, obstacle or no_code(source, _T32))
        outcome = self._outcome(insn, start, source, destination)
        if isinstance(outcome, Obstacle):
            return Passage(None, outcome)
        at = ranges[-1].end if ranges else start
        count = 1
        if at == source and ranges and self._ends_plain(ranges[-1]):
            # One range to the branch, as far as nothing before it ends one.
            last = ranges.pop()
            at, count = last.start, last.instructions + 1
        return self._passage(ranges + [Range(at, source + insn.size, count, _T32, outcome)], None)

    def _outcome(self, insn: Insn, start: int, source: int, destination: int) -> Union[bool, Obstacle]:
        # Whether the branch was taken, or why it cannot have led there.
        onward = destination == source + insn.size
        if insn.kind is InstructionKind.DIRECT and insn.target == destination:
            return True
        if insn.kind not in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
            if onward:
                return True
            detail = "no branch at 0x%08x, where the trace has one to 0x%08x" % (source, destination)
            return Obstacle(GapReason.BAD_IMAGE, detail, source)
        certain = always_taken(self._program.read, start, source, _T32)
        if insn.kind is InstructionKind.INDIRECT:
            return certain or not onward
        if onward and not certain:
            return False
        detail = "the branch at 0x%08x leads to 0x%08x, the trace to 0x%08x" % (source, insn.target, destination)
        return Obstacle(GapReason.BAD_IMAGE, detail, source)

    def _walk(self, start: int, stop: int, ends: bool) -> Tuple[List[Range], Optional[Obstacle]]:
        # The ranges from an address up to another, no branch of which is taken.
        # ends: whether the last instruction may be one after which an exception comes for certain.
        ranges: List[Range] = []
        at = start
        while at < stop:
            block = self.blocks.at(at, _T32)
            if block.end > stop:
                block = self.blocks.until(at, _T32, stop)
                if block.end != stop and block.stop is not BlockEnd.NO_CODE:
                    return [], Obstacle(GapReason.BAD_IMAGE, "no T32 instruction begins at 0x%08x" % stop, stop)
            passed = block.stop is BlockEnd.BRANCH and block.last is not None
            onward = block.last is not None and block.last.target == block.end
            if block.instructions:
                ranges.append(Range(at, block.end, block.instructions, _T32, onward or not passed))
                exceptional = self._exceptional(at, block.end, ends and block.end == stop)
                if exceptional is not None:
                    return [], exceptional
            if block.stop is BlockEnd.NO_CODE:
                return ranges, in_block(block)
            if passed and not onward and self.blocks.always_taken(block):
                assert block.last is not None
                return [], not_taken(block.end - block.last.size)
            if block.end <= at:
                return [], in_block(block)
            at = block.end
        if at > stop:
            detail = "the program goes on at 0x%08x, the trace comes from 0x%08x" % (start, stop)
            return [], Obstacle(GapReason.BAD_IMAGE, detail, start)
        return ranges, None

    def _exceptional(self, start: int, end: int, may_end: bool) -> Optional[Obstacle]:
        # An instruction in a range after which the next one cannot have run.
        addresses = self.blocks.addresses(start, end, _T32)
        for at in addresses:
            upper = self._program.read(at + 1, 1)
            last = may_end and at == addresses[-1]
            if upper[:1] and (upper[0] in _NEVER_COMPLETE or upper[0] == _SVC and not last):
                detail = "the instruction at 0x%08x causes an exception, the trace has none" % at
                return Obstacle(GapReason.BAD_IMAGE, detail, at)
        return None

    def _ends_plain(self, executed: Range) -> bool:
        # Whether no branch ends a range.
        last = self.blocks.addresses(executed.start, executed.end, _T32)[-1]
        insn = self.blocks.instruction(last, _T32)
        return (
            insn is not None and insn.kind is not InstructionKind.DIRECT and insn.kind is not InstructionKind.INDIRECT
        )

    def _passage(self, ranges: List[Range], obstacle: Optional[Obstacle]) -> Passage:
        if not ranges:
            return Passage(None, obstacle)
        return Passage(self.runs.add(Run(SIZE, (0,), (Leg(tuple(ranges)),))), obstacle)
