"""``etm coverage``: what was seen to run, by source line."""

from __future__ import annotations

from typing import Iterator, List, Tuple

from gdb_etm.analysis.coverage import Coverage, FileCoverage
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import path
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.errors import CommandError
from gdb_etm.exports.formats import COVERAGE_FORMATS, export_coverage
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.session.counted import counts_shown
from gdb_etm.session.session import DebugSession
from gdb_etm.session.source_files import read_lines
from gdb_etm.views.coverage import file_lines, seen_text, source_lines

WHAT = Argument("FILE|FUNCTION", str, "its source, with counts at the margin; without it: a table of the files")
EXPORT = path(
    "--export", "write it to a file; the name's end says how: %s" % ", ".join(COVERAGE_FORMATS), metavar="FILE"
)


def run_coverage(session: DebugSession, values: Values) -> Iterator[str]:
    """Say what was seen to run."""
    decoded = session.shown(values.get(TRACE_ID))
    sources = sources_of(session.debugger.program_files())
    coverage = sources.coverage(counts_shown(session, decoded), decoded.history.blocks)
    yield from coverage_lines(coverage, values.get(WHAT) or "", values.get(EXPORT) or "")


def coverage_lines(coverage: Coverage, what: str, export: str) -> Iterator[str]:
    """Print coverage, or write it to a file.

    :param what: A file or a function; empty for the table of files.
    :param export: A file's path; empty for none.
    :raises CommandError: There is no such file or function, or nothing that tells source lines.
    """
    if not coverage.files:
        raise CommandError("the program has no debug information of source lines; compile it with -g")
    if export:
        yield "written to %s (%s)" % (export, export_coverage(export, coverage))
    elif what:
        file, first, last = _found(coverage, what)
        yield "%s, %s:" % (file.path, seen_text(coverage.instructions, coverage.gaps))
        yield from source_lines(file, first, last, read_lines(file.file))
    else:
        yield "%s:" % seen_text(coverage.instructions, coverage.gaps)
        yield from file_lines(coverage)


def _found(coverage: Coverage, what: str) -> Tuple[FileCoverage, int, int]:
    # The source file, and the lines of it.
    for file in coverage.files:
        if file.path == what or ("/" + file.file).endswith("/" + what):
            return file, 1, file.lines[-1].line
    for file in coverage.files:
        starts = [function.line for function in file.functions]
        for function in file.functions:
            if function.name == what:
                end = min([line for line in starts if line > function.line], default=file.lines[-1].line + 1)
                inside = [one.line for one in file.lines if function.line <= one.line < end]
                return file, function.line, max(inside)
    known: List[str] = [file.path for file in coverage.files]
    raise CommandError('"%s" is no source file and no function with code; files: %s' % (what, ", ".join(known)))


COVERAGE = Command(
    "coverage",
    "Say what was seen to run: lines, branches, functions.",
    run_coverage,
    details=(
        "A line counts as often as the instruction of it that ran most often; a branch is a conditional branch of the\n"
        "code.  What is not counted was not seen in this history, which may begin late and have gaps.\n"
        'lcov\'s trace file is for "genhtml", the JSON for "gcovr --add-tracefile".'
    ),
    arguments=(WHAT, EXPORT, TRACE_ID),
    examples=(
        ("coverage", "a table of the source files"),
        ("coverage rx.c", "the source, with counts"),
        ("coverage parse_values", "the same of one function"),
        ("coverage --export run.info", "for genhtml"),
    ),
)
