"""Choice of an export's format, by its file's name."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.coverage import Coverage
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.errors import CommandError
from gdb_etm.exports.callgrind import callgrind_lines
from gdb_etm.exports.collapsed import collapsed_lines
from gdb_etm.exports.gcovr import gcovr_lines
from gdb_etm.exports.lcov import lcov_lines
from gdb_etm.exports.pprof import pprof_document
from gdb_etm.exports.sources import SourceOf
from gdb_etm.exports.speedscope import speedscope_lines
from gdb_etm.files import through_own_links
from gdb_etm.history.frames import Function

# Makes the file of a document: its kind, the file's path, the document.
Encode = Callable[[str, str, Mapping[str, Any]], None]

COVERAGE_FORMATS: Mapping[str, str] = {".info": "lcov", ".json": "gcovr"}
PROFILE_FORMATS: Mapping[str, str] = {
    ".folded": "collapsed stacks",
    ".speedscope.json": "speedscope",
    ".callgrind": "Callgrind",
    ".pb.gz": "pprof",
}
TIMELINE_FORMATS: Mapping[str, str] = {".pftrace": "Perfetto"}


class ProfileExport(NamedTuple):
    """What an exported profile is made of."""

    profile: CallProfile
    # Of the same executions.
    counts: ExecutionCounts
    function_at: Callable[[int], Optional[Function]]
    source_of: SourceOf


def export_coverage(path: str, coverage: Coverage) -> str:
    """Write coverage to a file.

    :returns: What format it is.
    :raises CommandError: Its name says no format, or it cannot be written.
    """
    suffix, name = format_of(path, COVERAGE_FORMATS)
    write_lines(path, (lcov_lines if suffix == ".info" else gcovr_lines)(coverage))
    return name


def export_profile(path: str, export: ProfileExport, encode: Encode) -> str:
    """Write a profile to a file.

    :param encode: Makes files that need a library.
    :returns: What format it is.
    :raises CommandError: Its name says no format, or it cannot be written.
    """
    suffix, name = format_of(path, PROFILE_FORMATS)
    profile = export.profile
    if suffix == ".callgrind" and profile.unit != "instructions":
        raise CommandError("Callgrind's format has instructions here, not %s" % profile.unit)
    makers: Dict[str, Callable[[], Iterable[str]]] = {
        ".folded": lambda: collapsed_lines(profile),
        ".speedscope.json": lambda: speedscope_lines(profile, os.path.basename(path), export.source_of),
        ".callgrind": lambda: callgrind_lines(profile, export.counts, export.function_at, export.source_of),
    }
    if suffix in makers:
        write_lines(path, makers[suffix]())
    else:
        encode("pprof", os.path.abspath(path), pprof_document(profile, export.source_of))
    return name


def format_of(path: str, formats: Mapping[str, str]) -> Tuple[str, str]:
    """Find a format by the end of a file's name.

    :raises CommandError: It is none of them.
    """
    name = os.path.basename(path)
    for suffix, format_name in formats.items():
        # Callgrind's tools want names such as callgrind.out.1.
        if name.endswith(suffix) or suffix == ".callgrind" and name.startswith("callgrind.out"):
            return suffix, format_name
    known = ", ".join("%s (%s)" % each for each in formats.items())
    raise CommandError("%s: the end of the name says the format: %s" % (path, known))


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write a text file.

    :raises CommandError: It cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8", opener=through_own_links) as file:
            for line in lines:
                file.write(line + "\n")
    except OSError as error:
        raise CommandError("cannot write %s: %s" % (path, error.strerror)) from error
