"""Coverage as lines: a table of files, and source with counts."""

from __future__ import annotations

from itertools import chain
from typing import Iterable, Iterator, List, Optional, Sequence

from gdb_etm.analysis.coverage import Coverage, FileCoverage, LineCoverage, Ratio
from gdb_etm.views.text import align, plural

UNSEEN = "-"
_COUNT_WIDTH = 10
# Files of which nothing was seen that are listed one by one, at most.
_UNSEEN_FILES = 10
_MARGIN = 8


def seen_text(instructions: int, gaps: int) -> str:
    """Say what a result was made from."""
    return "seen in %s%s" % (plural(instructions, "instruction"), ", %s" % plural(gaps, "gap") if gaps else "")


def file_lines(coverage: Coverage) -> Iterator[str]:
    """List the files, each with how much of it was seen.

    Of many of which nothing was, such as a library's, there is one line.
    """
    rows = [["", "lines", "", "branches", "", "functions", ""]]
    unseen = [file for file in coverage.files if not file.line_ratio.seen]
    is_long = len(unseen) > _UNSEEN_FILES
    for file in coverage.files:
        if is_long and not file.line_ratio.seen:
            continue
        rows.append([file.path, *_cells(file.line_ratio, file.branch_ratio, file.function_ratio)])
    if len(coverage.files) > 1:
        files = coverage.files
        totals = [
            Ratio(sum(one.seen for one in ratios), sum(one.all for one in ratios))
            for ratios in (
                [file.line_ratio for file in files],
                [file.branch_ratio for file in files],
                [file.function_ratio for file in files],
            )
        ]
        rows.append(["all", *_cells(*totals)])
    yield from align(rows)
    if is_long:
        lines = sum(file.line_ratio.all for file in unseen)
        yield "[%d more files, with %s: nothing of them was seen]" % (len(unseen), plural(lines, "line"))


def _cells(*ratios: Ratio) -> List[str]:
    cells: List[str] = []
    for ratio in ratios:
        cells += [str(ratio), "%3.0f %%" % ratio.percent] if ratio.all else [UNSEEN, ""]
    return cells


def source_lines(file: FileCoverage, first: int, last: int, source: Sequence[str]) -> Iterator[str]:
    """List a file's source with counts at the margin.

    :param first: The first line, from 1.
    :param last: The last line.
    :param source: The file's lines; those behind them are listed where they have code.
    """
    known = {one.line: one for one in file.lines}
    width = len(str(last))
    behind = [number for number in sorted(known) if max(first - 1, len(source)) < number <= last]
    for number in chain(range(first, min(last, len(source)) + 1), behind):
        line = known.get(number)
        text = source[number - 1].rstrip() if number <= len(source) else ""
        margin = "" if line is None else "{:,}".format(line.times) if line.times else UNSEEN
        yield ("%*s  %*d  %s" % (_COUNT_WIDTH, margin, width, number, text)).rstrip()
        if line is not None:
            yield from _branch_lines(line, _COUNT_WIDTH + width + 4)


def margin_text(times: Optional[int]) -> str:
    """Give the margin of a debugger's line, a tab wide.

    :param times: How often it was seen to run; None for a line without code.
    """
    if times is None:
        return " " * _MARGIN
    text = "{:,}".format(times) if times else UNSEEN
    for unit in ("k", "M", "G"):
        if len(text) < _MARGIN:
            break
        times //= 1000
        text = "{:,}{}".format(times, unit)
    return text.rjust(_MARGIN - 1) + " "


def _branch_lines(line: LineCoverage, indent: int) -> Iterable[str]:
    for branch in line.branches:
        if any(branch):
            taken, not_taken = ("{:,}".format(way) if way else "never seen" for way in branch)
            yield "%sbranch: taken %s, not taken %s" % (" " * indent, taken, not_taken)
