"""``etm anonymise``: a capture with what its history needs, for passing on."""

from __future__ import annotations

import os
from typing import Iterable, List, NamedTuple, Tuple

from gdb_etm.commands.captures import FORCE
from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.parse import flag, path
from gdb_etm.errors import CommandError
from gdb_etm.session.anonymised import anonymised
from gdb_etm.session.session import DebugSession

OUTPUT = path("DIR", "the new snapshot's folder", required=True)
RAM = flag("--ram", "also RAM and registers, from which values of the past are recovered")


def run_anonymise(session: DebugSession, values: Values) -> Iterable[str]:
    """List what is in it, and write it."""
    found = passed_on(session, values)
    yield from ("%-9s  %s" % one for one in found.contents)
    yield "written in %s: %s" % (values.get(OUTPUT), ", ".join(os.path.basename(name) for name in found.written))


class PassedOn(NamedTuple):
    """A snapshot that may be passed on."""

    # What is in it: a word or two, and how much of that.
    contents: List[Tuple[str, str]]
    written: List[str]


def passed_on(session: DebugSession, values: Values) -> PassedOn:
    """Write what the history needs, and say what that is.

    :raises CommandError: It cannot be written.
    """
    from gdb_etm.snapshot.writer import write_snapshot

    path = values.get(OUTPUT)
    assert path is not None
    if os.path.isdir(path) and os.listdir(path) and not os.path.isfile(os.path.join(path, "snapshot.ini")):
        raise CommandError("%s is not empty and no snapshot; name a new folder" % path)
    found = anonymised(session, session.look(), values.get(RAM) is not None)
    return PassedOn(found.contents, list(write_snapshot(found.capture, path, replace=values.get(FORCE) is not None)))


ANONYMISE = Command(
    "anonymise",
    "Write what the history of the capture that is shown needs, and no more.",
    run_anonymise,
    details="The snapshot holds the trace, the trace unit's registers and the code that ran: no RAM unless it is\n"
    "asked for, no symbols, no names of files.  What is in it is listed first.",
    arguments=(OUTPUT, FORCE, RAM),
    examples=(
        ("anonymise /tmp/pass-on", "for a bug report: the way to the fault, without data"),
        ("anonymise /tmp/pass-on --ram", "with what is needed for values of the past"),
    ),
)
