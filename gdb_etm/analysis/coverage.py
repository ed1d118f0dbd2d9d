"""Coverage: what was seen to run, by source line, branch and function.

A line counts as often as the instruction of it that ran most often.  A branch has two ways; what an ``if`` becomes may
be several branches, or none.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.counts import BranchCounts, ExecutionCounts, is_conditional_branch
from gdb_etm.history.frames import Function
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.code_pieces import CodePiece


class LinePiece(NamedTuple):
    """Code of one source line."""

    start: int
    # Address just past its last byte.
    end: int
    # The source file, as the debug information names it, and where it is.
    path: str
    file: str
    # From 1.
    line: int


class LineCoverage(NamedTuple):
    """A source line that has code."""

    line: int
    # How often it was seen to run.
    times: int
    # Its conditional branches, by address.
    branches: Tuple[BranchCounts, ...]


class FunctionCoverage(NamedTuple):
    """A function that has code in a source file."""

    name: str
    # Of its first instruction.
    line: int
    # How often its first instruction was seen to run.
    times: int


class Ratio(NamedTuple):
    """How many of some things were seen to run."""

    seen: int
    all: int

    def __str__(self) -> str:
        return "%d/%d" % self

    @property
    def percent(self) -> float:
        """The share in percent; 0 of nothing."""
        return 100 * self.seen / self.all if self.all else 0.0


class FileCoverage(NamedTuple):
    """A source file that has code."""

    # As the debug information names it.
    path: str
    # Where it is.
    file: str
    lines: Tuple[LineCoverage, ...]
    functions: Tuple[FunctionCoverage, ...]

    @property
    def line_ratio(self) -> Ratio:
        """How many of its lines were seen."""
        return Ratio(sum(one.times > 0 for one in self.lines), len(self.lines))

    @property
    def branch_ratio(self) -> Ratio:
        """How many ways of its branches were seen."""
        ways = [way for one in self.lines for branch in one.branches for way in branch]
        return Ratio(sum(way > 0 for way in ways), len(ways))

    @property
    def function_ratio(self) -> Ratio:
        """How many of its functions were seen."""
        return Ratio(sum(one.times > 0 for one in self.functions), len(self.functions))


class Coverage(NamedTuple):
    """The coverage of a program."""

    files: Tuple[FileCoverage, ...]
    # How many instructions were seen in all, and how many gaps there are between them.
    instructions: int
    gaps: int


class _Line:
    def __init__(self) -> None:
        self.times = 0
        self.branches: Dict[int, BranchCounts] = {}


def cover(
    counts: ExecutionCounts,
    blocks: Blocks,
    code: Sequence[CodePiece],
    pieces: Iterable[LinePiece],
    functions: Iterable[Function],
) -> Coverage:
    """Put counts beside the source.

    :param blocks: The program's.
    :param code: Where its instructions are.
    :param pieces: The code of its source lines.
    :param functions: Its functions.
    """
    files: Dict[Tuple[str, str], Dict[int, _Line]] = {}
    places = LinePlaces(pieces)
    for start, address in code_instructions(blocks, code):
        piece = places.at(address)
        if piece is None:
            continue
        line = files.setdefault((piece.path, piece.file), {}).setdefault(piece.line, _Line())
        line.times = max(line.times, counts.executed[address])
        if is_conditional_branch(blocks, start.start, address, start.isa):
            line.branches[address] = counts.branch(address)
    named: Dict[str, Dict[str, FunctionCoverage]] = {}
    for function in functions:
        piece = places.at(function.start)
        if piece is not None and not function.is_label:
            found = FunctionCoverage(function.name, piece.line, counts.executed[function.start])
            named.setdefault(piece.file, {})[function.name] = found
    return Coverage(
        tuple(
            FileCoverage(path, file, tuple(_lines(lines)), _by_line(named.get(file, {}).values()))
            for (path, file), lines in sorted(files.items())
        ),
        counts.instructions,
        counts.gaps,
    )


def _by_line(functions: Iterable[FunctionCoverage]) -> Tuple[FunctionCoverage, ...]:
    return tuple(sorted(functions, key=lambda one: (one.line, one.name)))


def _lines(lines: Dict[int, _Line]) -> Iterator[LineCoverage]:
    for number, line in sorted(lines.items()):
        yield LineCoverage(number, line.times, tuple([branch for _, branch in sorted(line.branches.items())]))


def code_instructions(blocks: Blocks, code: Sequence[CodePiece]) -> Iterator[Tuple[CodePiece, int]]:
    """Go through the instructions of a program.

    :returns: The piece of code that each is in, and its address.
    """
    for piece in code:
        at = piece.start
        while at < piece.end:
            insn = blocks.instruction(at, piece.isa)
            if insn is None:
                break
            yield piece, at
            at += insn.size


def program_branches(blocks: Blocks, code: Sequence[CodePiece]) -> Iterator[int]:
    """List the addresses of the conditional branches of a program.

    :param code: Where its instructions are.
    """
    for start, address in code_instructions(blocks, code):
        if is_conditional_branch(blocks, start.start, address, start.isa):
            yield address


class LinePlaces:
    """Source lines by address.

    :param pieces: The code of the lines.
    """

    def __init__(self, pieces: Iterable[LinePiece]) -> None:
        self.pieces: List[LinePiece] = sorted(pieces)
        self._starts = [piece.start for piece in self.pieces]

    def at(self, address: int) -> Optional[LinePiece]:
        """Find the piece that holds an instruction."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.pieces[index].end:
            return None
        return self.pieces[index]
