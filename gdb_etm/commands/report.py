"""``etm report``: one page with all that is known of a history."""

from __future__ import annotations

import os
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.fault import explained
from gdb_etm.commands.parse import path
from gdb_etm.commands.profile import WITH_CYCLES, encode_beside
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.exports.formats import Encode
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS, count_all, profile_of
from gdb_etm.session.diagnosed import diagnosed
from gdb_etm.session.reported import ReportParts, report_document
from gdb_etm.session.session import DebugSession
from gdb_etm.session.source_files import only_within
from gdb_etm.session.source_folders import SourceFolders
from gdb_etm.views.text import about_text, plural

DIRECTORY = path("DIR", "the folder to write it to; it is made if it is not there", required=True)
SOURCE = path(
    "--source", "a folder whose sources are shown, beside the program's and the current one", metavar="DIR", many=True
)
_FILE = "index.html"


def run_report(session: DebugSession, values: Values) -> Iterator[str]:
    """Write a report."""
    unit = CYCLES if values.get(WITH_CYCLES) else INSTRUCTIONS
    folder = values.get(DIRECTORY) or ""
    folders = shown_folders(session, values.all(SOURCE))
    yield written_report(session, folder, unit, values.get(TRACE_ID), encode_beside, folders).line


def shown_folders(session: DebugSession, named: Sequence[str]) -> SourceFolders:
    """Give the folders whose sources are shown.

    :param named: Those that the user named.
    :raises CommandError: One of these is no folder.
    """
    wrong = [folder for folder in named if not os.path.isdir(folder)]
    if wrong:
        raise CommandError("--source: no folder %s" % wrong[0])
    known = session.places.source_folders() if session.places is not None else []
    return SourceFolders(session.debugger.program_files(), [*named, *known])


class WrittenReport(NamedTuple):
    """A report that was written."""

    path: str
    # Instructions that it tells of.
    instructions: int

    @property
    def size(self) -> int:
        """The file's size in bytes."""
        return os.path.getsize(self.path)

    @property
    def line(self) -> str:
        """It in a line."""
        return "written to %s: %s, %s" % (self.path, plural(self.instructions, "instruction"), about_text(self.size))


def written_report(
    session: DebugSession, folder: str, unit: str, trace_id: Optional[int], encode: Encode, sources: SourceFolders
) -> WrittenReport:
    """Write a report of the shown history.

    :param folder: Where to; it may not be there yet.
    :param unit: What the profile counts.
    :param encode: Makes the file.
    :param sources: Whose sources are shown.
    :raises CommandError: There are no instructions, or it cannot be written.
    """
    with garbage_uncollected(), only_within(sources):
        decoded = session.shown(trace_id)
        _make(folder)
        profile = profile_of(session.debugger, decoded, unit)
        lines = sources_of(session.debugger.program_files())
        coverage = lines.coverage(count_all([decoded]), decoded.history.blocks)
        has_fault, fault = _fault(session, trace_id)
        document = report_document(session, decoded, ReportParts(coverage, profile, fault, has_fault))
    file = os.path.join(folder, _FILE)
    encode("report", os.path.abspath(file), document)
    return WrittenReport(file, len(decoded.history))


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise CommandError("cannot make %s: %s" % (folder, error.strerror)) from error


def _fault(session: DebugSession, trace_id: Optional[int]) -> Tuple[bool, List[str]]:
    # The verdict, or why there is none.
    try:
        return True, explained(session, diagnosed(session, trace_id))
    except EtmError as error:
        return False, [str(error)]


REPORT = Command(
    "report",
    "Write one page with all that is known: for a browser, without a network.",
    run_report,
    details=(
        "The verdict of a fault; the call tree; a timeline; the profile as a flame graph and a table; the source with\n"
        "counts; every instruction, the last ones with what they made of the registers; and what was not decoded.\n"
        "The page holds everything, so it can be sent as it is.  Its file is DIR/index.html.\n"
        "A program may name any file as its source: shown are those in its folder, the current one and the checkouts\n"
        'around them, in those of GDB\'s "directory" and "set substitute-path", and in those of --source.'
    ),
    arguments=(DIRECTORY, WITH_CYCLES, TRACE_ID, SOURCE),
    examples=(("report crash", "open crash/index.html in a browser"),),
)
