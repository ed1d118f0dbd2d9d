"""``gdb-etm coverage`` and ``gdb-etm profile``: many snapshots, merged."""

from __future__ import annotations

import argparse
import sys
from typing import Iterator, List, Sequence

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.capture import RawCapture
from gdb_etm.commands.coverage import coverage_lines
from gdb_etm.commands.listing_objects import coverage_object, profile_object
from gdb_etm.commands.profile import report_lines
from gdb_etm.errors import CommandError, EtmError, harmless
from gdb_etm.exports.encode import write
from gdb_etm.exports.formats import COVERAGE_FORMATS, PROFILE_FORMATS, ProfileExport, export_profile
from gdb_etm.history.build import DecoderCache
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS, profile_of
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.halt_states import anchored_of
from gdb_etm.session.programs import named_files
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.saved import read_captures
from gdb_etm.views.schema import add_format, document_lines
from gdb_etm.views.text import plural


def coverage(words: Sequence[str]) -> int:
    """Say what was seen to run.

    :raises EtmError: It cannot be done; of many snapshots one alone is a note.
    """
    notes: List[str] = []
    arguments = _parser("coverage").parse_args(words)
    return _write(_coverage_lines(_decoded(arguments, notes), arguments.of, arguments.export, arguments.format), notes)


def profile(words: Sequence[str]) -> int:
    """Say what the functions cost.

    :raises EtmError: It cannot be done; of many snapshots one alone is a note.
    """
    notes: List[str] = []
    arguments = _parser("profile").parse_args(words)
    unit = CYCLES if arguments.cycles else INSTRUCTIONS
    found = _decoded(arguments, notes)
    return _write(_profile_lines(found, unit, arguments.of, arguments.export, arguments.format), notes)


def _write(lines: Iterator[str], notes: Sequence[str]) -> int:
    for line in lines:
        print(harmless(line))
    for note in notes:
        print("gdb-etm: note: %s" % harmless(note), file=sys.stderr)
    return 0


def _parser(name: str) -> argparse.ArgumentParser:
    is_profile = name == "profile"
    about = "say what the functions cost" if is_profile else "say what was seen to run"
    parser = argparse.ArgumentParser(prog="gdb-etm " + name, description=about + "; snapshots of one program add up")
    parser.add_argument("snapshots", metavar="SNAPSHOT", nargs="+", help="snapshot folder")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    what = "FUNCTION" if is_profile else "FILE|FUNCTION"
    parser.add_argument("--of", metavar=what, default="", help="only this one, in detail")
    formats = ", ".join(PROFILE_FORMATS if is_profile else COVERAGE_FORMATS)
    parser.add_argument(
        "--export", metavar="FILE", default="", help="write it there; the name's end says how: " + formats
    )
    add_format(parser)
    if is_profile:
        parser.add_argument("--cycles", action="store_true", help="count processor cycles, where they were traced")
    return parser


def _decoded(arguments: argparse.Namespace, notes: List[str]) -> _Decoded:
    files = named_files(arguments.elf)
    if not files:
        raise CommandError("--elf is missing: the program says what the functions and the lines are")
    return _Decoded(arguments.snapshots, files, notes)


def _coverage_lines(found: _Decoded, what: str, export: str, form: str) -> Iterator[str]:
    counts = ExecutionCounts()
    blocks = None
    for decoded in found.histories():
        counts.add(decoded.history)
        blocks = decoded.history.blocks
    if blocks is None:
        return
    coverage = found.sources.coverage(counts, blocks)
    lines = list(coverage_lines(coverage, what, export)) if form == "text" or export else []
    yield from lines if form == "text" else document_lines(coverage_object(coverage, export), form)


def _profile_lines(found: _Decoded, unit: str, what: str, export: str, form: str) -> Iterator[str]:
    counts, merged = ExecutionCounts(), CallProfile(unit)
    for decoded in found.histories():
        counts.add(decoded.history)
        merged.merge(profile_of(found.debugger, decoded, unit))
    line = ""
    if export:
        made = ProfileExport(merged, counts, found.sources.function_at, found.sources.source_of)
        line = "written to %s (%s)" % (export, export_profile(export, made, write))
    if form != "text":
        yield from document_lines(profile_object(merged, export), form)
    else:
        yield from [line] if export else report_lines(merged, what, None)


class _Decoded:
    # Snapshots, decoded one after the other; one that cannot be decoded does not stop the others.

    def __init__(self, snapshots: Sequence[str], files: Sequence[str], notes: List[str]) -> None:
        self.debugger = OfflineDebugger(files)
        self.sources = sources_of(files)
        self._snapshots = snapshots
        self._files = files
        self._notes = notes

    def histories(self) -> Iterator[Decoded]:
        cache, count = DecoderCache(), 0
        for snapshot in self._snapshots:
            try:
                for capture in read_captures(snapshot, self._files):
                    for decoded in self._decode(capture, snapshot, cache):
                        count += 1
                        yield decoded
            except EtmError as error:
                if len(self._snapshots) == 1:
                    raise
                self._notes.append("%s: %s" % (snapshot, error))
        if not count:
            raise CommandError("no instructions in %s" % plural(len(self._snapshots), "snapshot"))

    def _decode(self, capture: RawCapture, snapshot: str, cache: DecoderCache) -> List[Decoded]:
        record = CaptureRecord(1, capture, snapshot, False, Meter(TerminalLine(sys.stderr)))
        record.anchored = anchored_of(capture)
        self._notes += capture.notes
        return [one for one in record.decoded((), cache, None).values() if len(one.history)]
