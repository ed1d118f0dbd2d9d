"""JSON objects of commands that write files, or test a board."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from gdb_etm.commands.anonymise import passed_on
from gdb_etm.commands.declare import Values
from gdb_etm.commands.doctor import BUNDLE, bundle_lines
from gdb_etm.commands.profile import WITH_CYCLES, encode_beside
from gdb_etm.commands.report import DIRECTORY, SOURCE, WrittenReport, shown_folders, written_report
from gdb_etm.commands.selftest import WORKS, DoctorRows, tested, verdict
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.selftest.findings import StepFinding
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS
from gdb_etm.session.session import DebugSession
from gdb_etm.views.schema import document
from gdb_etm.views.verdict import verdict_objects


def anonymise_object(session: DebugSession, values: Values) -> Dict[str, Any]:
    """Write what may be passed on; rows say what is there."""
    found = passed_on(session, values)
    rows = [{"what": what, "text": text} for what, text in found.contents]
    return document("anonymise", {"written": found.written, "rows": rows})


def report_object(found: WrittenReport) -> Dict[str, Any]:
    """Make a report's object."""
    return document("report", {"instructions": found.instructions, "bytes": found.size, "written": [found.path]})


def _report(session: DebugSession, values: Values) -> Dict[str, Any]:
    unit = CYCLES if values.get(WITH_CYCLES) else INSTRUCTIONS
    folder = values.get(DIRECTORY) or ""
    folders = shown_folders(session, values.all(SOURCE))
    return report_object(written_report(session, folder, unit, values.get(TRACE_ID), encode_beside, folders))


def selftest_object(session: DebugSession, values: Values) -> Dict[str, Any]:
    """Test the board; a row is a step."""
    found: List[StepFinding] = []
    doctor: List[Dict[str, str]] = []
    for one in tested(session, values):
        if isinstance(one, DoctorRows):
            doctor = verdict_objects(one.rows)
        else:
            found.append(one)
    text, bundle = verdict(found), values.get(BUNDLE)
    for _ in bundle_lines(session, bundle, values) if bundle is not None else ():
        pass
    fields = {"target": session.connected().name, "works": text.startswith(WORKS), "text": text, "doctor": doctor}
    rows = [{**one._asdict(), "outcome": one.outcome.value} for one in found]
    return document("selftest", {**fields, "written": [] if bundle is None else [bundle], "rows": rows})


# By the command's name.
WRITTEN: Dict[str, Callable[[DebugSession, Values], Dict[str, Any]]] = {
    "anonymise": anonymise_object,
    "report": _report,
    "selftest": selftest_object,
}
