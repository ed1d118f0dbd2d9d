"""``gdb-etm report``: one page of a snapshot, or of many."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from gdb_etm.commands.report import shown_folders, written_report
from gdb_etm.commands.written_objects import report_object
from gdb_etm.errors import CommandError, harmless
from gdb_etm.exports.encode import write
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS
from gdb_etm.session.programs import named_files
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.saved import read_captures
from gdb_etm.session.session import DebugSession
from gdb_etm.views.schema import add_format, document_lines

# What happened between two snapshots.
_UNSEEN = "%s was taken later"


def main(words: Sequence[str]) -> int:
    """Read snapshots and write their page.

    :returns: The exit status.
    :raises EtmError: It cannot be done.
    """
    arguments = _parser().parse_args(words)
    session = _session(arguments)
    unit = CYCLES if arguments.cycles else INSTRUCTIONS
    folders = shown_folders(session, arguments.source)
    found = written_report(session, arguments.output, unit, arguments.id, write, folders)
    lines = [found.line] if arguments.format == "text" else document_lines(report_object(found), arguments.format)
    print(harmless("\n".join(lines)))
    return 0


def _parser() -> argparse.ArgumentParser:
    about = "write one page with all that is known of a snapshot; many are told one after the other, oldest first"
    parser = argparse.ArgumentParser(prog="gdb-etm report", description=about)
    parser.add_argument("snapshots", metavar="SNAPSHOT", nargs="+", help="snapshot folder")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="where to; the file is DIR/index.html")
    parser.add_argument("--id", metavar="N", type=lambda text: int(text, 0), help="only this trace ID")
    parser.add_argument("--buffer", metavar="NAME", help="only the trace buffer of this name")
    parser.add_argument("--cycles", action="store_true", help="the profile counts cycles, where they were traced")
    about = "a folder whose sources are shown, beside the program's and the current one; may be repeated"
    parser.add_argument("--source", metavar="DIR", action="append", default=[], help=about)
    add_format(parser)
    return parser


def _session(arguments: argparse.Namespace) -> DebugSession:
    # The snapshots in the place of a target's halts.
    files = named_files(arguments.elf)
    if not files:
        raise CommandError("--elf is missing: the program says what the functions and the lines are")
    debugger = OfflineDebugger(files)
    session = DebugSession(debugger, Meter(TerminalLine(sys.stderr)))
    session.locations = ElfLocations(debugger)
    session.settings["history-limit"] = "unlimited"
    for snapshot in arguments.snapshots:
        captures = read_captures(snapshot, files, arguments.buffer)
        if len(captures) > 1:
            names = ", ".join(capture.name.rpartition(" ")[2] for capture in captures)
            raise CommandError("%s: a report is of one buffer: --buffer with one of %s" % (snapshot, names))
        for capture in captures:
            for note in capture.notes:
                print("gdb-etm: note: %s" % harmless(note), file=sys.stderr)
            record = session.add(capture, "loaded from " + snapshot, is_live=False)
            if len(arguments.snapshots) > 1:
                session.join(record, _UNSEEN % snapshot, False)
    return session
