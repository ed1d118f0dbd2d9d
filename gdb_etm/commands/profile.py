"""``etm profile``: calls of each function, and what they cost."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Iterator, Mapping, Optional

from gdb_etm.access.process import python_command
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import flag, path
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.errors import CommandError
from gdb_etm.exports.formats import PROFILE_FORMATS, ProfileExport, export_profile
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS
from gdb_etm.session.counted import counts_shown, profile_shown
from gdb_etm.session.interpreter import interpreter
from gdb_etm.session.session import DebugSession
from gdb_etm.views.coverage import seen_text
from gdb_etm.views.profile import function_lines, profile_lines, root_lines
from gdb_etm.views.text import plural

WHAT = Argument("FUNCTION", str, "its callers and callees; without it: a table of the functions")
EXPORT = path(
    "--export", "write it to a file; the name's end says how: %s" % ", ".join(PROFILE_FORMATS), metavar="FILE"
)
WITH_CYCLES = flag("--cycles", "count processor cycles, where they were traced, and not instructions")
_MODULE = "gdb_etm.exports.encode"


def run_profile(session: DebugSession, values: Values) -> Iterator[str]:
    """Say what the functions cost."""
    unit = CYCLES if values.get(WITH_CYCLES) else INSTRUCTIONS
    decoded = session.shown(values.get(TRACE_ID))
    profile = profile_shown(session, decoded, unit)
    limit = session.settings.get("function-call-history-size", "10")
    export = values.get(EXPORT)
    if export is None:
        yield from report_lines(profile, values.get(WHAT) or "", None if limit == "unlimited" else int(limit))
    else:
        sources = sources_of(session.debugger.program_files())
        made = ProfileExport(profile, counts_shown(session, decoded), sources.function_at, sources.source_of)
        yield "written to %s (%s)" % (export, export_profile(export, made, encode_beside))


def report_lines(profile: CallProfile, what: str, limit: Optional[int]) -> Iterator[str]:
    """Print a profile.

    :param what: A function; empty for the table of all.
    :param limit: How many functions of the table; None for all.
    :raises CommandError: There is no such function in it.
    """
    found = [one.function for one in profile.functions() if one.function.name == what]
    if what and not found:
        raise CommandError('"%s" was not seen to run' % what)
    yield "%s, %s:" % (profile.unit, seen_text(profile.instructions, profile.gaps))
    for function in found:
        yield from function_lines(profile, function)
    if not what:
        yield from profile_lines(profile, limit)
        if len(profile.root.children) > 1:
            yield ""
            yield from root_lines(profile)
    if profile.unmeasured:
        yield "[%s whose cycles are not known]" % plural(profile.unmeasured, "instruction")


def encode_beside(kind: str, file: str, document: Mapping[str, Any]) -> None:
    """Write a document's file in a process that has the libraries.

    :raises CommandError: It cannot.
    """
    words = python_command(interpreter(), _MODULE, [kind, file])
    done = subprocess.run(words, input=json.dumps(document), stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        raise CommandError((done.stderr.strip().splitlines() or ["%s: not written" % file])[-1])


PROFILE = Command(
    "profile",
    "Say what the functions cost: calls, instructions or cycles.",
    run_profile,
    details=(
        "A function's own cost, and its cost with the functions that it called.  Exception handlers and threads are\n"
        "apart: what interrupts a function is no part of it.  Minimum, median and maximum are of the calls that were\n"
        "seen from begin to end, with the functions that they called.\n"
        '"set etm function-call-history-size" sets how many are listed.'
    ),
    arguments=(WHAT, WITH_CYCLES, EXPORT, TRACE_ID),
    examples=(
        ("profile", "the functions that cost most"),
        ("profile parse_values", "who calls it, and what it calls"),
        ("profile --export run.speedscope.json", "for https://www.speedscope.app"),
        ("profile --export callgrind.out.1", "for KCachegrind"),
    ),
)
