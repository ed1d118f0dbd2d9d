"""Coverage as a trace file of lcov.

Ref: geninfo(1), "FILES", of lcov 1.16 and 2.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.analysis.coverage import Coverage, FileCoverage


def lcov_lines(coverage: Coverage) -> Iterator[str]:
    """Write all files' coverage."""
    for file in coverage.files:
        yield from _file_lines(file)


def _file_lines(file: FileCoverage) -> Iterator[str]:
    yield "TN:"
    yield "SF:" + file.file
    for function in file.functions:
        yield "FN:%d,%s" % (function.line, function.name)
    for function in file.functions:
        yield "FNDA:%d,%s" % (function.times, function.name)
    yield "FNF:%d" % file.function_ratio.all
    yield "FNH:%d" % file.function_ratio.seen
    for line in file.lines:
        for block, branch in enumerate(line.branches):
            for number, way in enumerate(branch):
                # "-": the branch itself was not seen.
                yield "BRDA:%d,%d,%d,%s" % (line.line, block, number, way if any(branch) else "-")
    yield "BRF:%d" % file.branch_ratio.all
    yield "BRH:%d" % file.branch_ratio.seen
    for line in file.lines:
        yield "DA:%d,%d" % (line.line, line.times)
    yield "LF:%d" % file.line_ratio.all
    yield "LH:%d" % file.line_ratio.seen
    yield "end_of_record"
