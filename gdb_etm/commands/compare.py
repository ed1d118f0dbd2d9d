"""``etm compare``: two executions, and where they went another way."""

from __future__ import annotations

import os
import re
from typing import Iterator, Optional, Sequence

from gdb_etm.commands.declare import Argument, Command, Completion, Values
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.session.compared import compared
from gdb_etm.session.programs import named_files
from gdb_etm.session.saved import read_captures
from gdb_etm.session.session import DebugSession
from gdb_etm.session.sides import Side
from gdb_etm.views.compare import compare_lines

_PART = re.compile(r"(?:(.+)@)?([0-9]+)-([0-9]+)")
_ABOUT = "capture number, snapshot folder, dump, or a part: FIRST-LAST of the history, WHICH@FIRST-LAST"
LEFT = Argument("A", str, _ABOUT, required=True, completion=Completion.FILE)
RIGHT = Argument("B", str, "the same", required=True, completion=Completion.FILE)


def run_compare(session: DebugSession, values: Values) -> Iterator[str]:
    """Compare two executions."""
    sides = [side_of(session, values.get(one) or "", values) for one in (LEFT, RIGHT)]
    yield from compare_lines(compared(sides[0], sides[1]))


def side_of(session: DebugSession, text: str, values: Values) -> Side:
    """Find one of the executions.

    :raises CommandError: There is no such capture, folder or part.
    """
    part = _PART.fullmatch(text)
    which = (part.group(1) or "") if part is not None else text
    trace_id = values.get(TRACE_ID)
    if os.path.isdir(which) or os.path.isfile(which):
        side = snapshot_side(which, session.debugger.program_files(), trace_id, session)
    elif which == "":
        decoded = session.shown(trace_id)
        side = Side("the history", session, decoded, 1, len(decoded.history))
    else:
        records = [record for record in session.captures if str(record.number) == which]
        if not records:
            known = ", ".join(str(record.number) for record in session.captures) or "none"
            raise CommandError(
                '"%s" is no capture, no snapshot folder and no dump; captures at hand: %s' % (which, known)
            )
        decoded = session.decode(records[0], trace_id)
        side = Side("capture %s" % which, session, decoded, 1, len(decoded.history))
    if part is None:
        return side
    return part_of(side, int(part.group(2)), int(part.group(3)))


def part_of(side: Side, first: int, last: int) -> Side:
    """Take a part of an execution.

    :raises CommandError: It has no such instructions.
    """
    if not 1 <= first <= last <= side.last:
        raise CommandError("%s has no instructions %d-%d; there are %d" % (side.name, first, last, side.last))
    return side._replace(name="%s@%d-%d" % (side.name, first, last), first=first, last=last)


def snapshot_side(folder: str, elf: Sequence[str], trace_id: Optional[int], like: DebugSession) -> Side:
    """Read a snapshot, or a dump, as one of the executions.

    :param like: Whose settings hold.
    :raises EtmError: It cannot be read.
    """
    files = named_files(elf)
    debugger = OfflineDebugger(files)
    session = DebugSession(debugger, like.meter)
    session.locations = ElfLocations(debugger)
    session.settings.update(like.settings)
    captures = read_captures(folder, files)
    record = session.add(captures[0], "loaded from " + folder, is_live=False)
    decoded = session.decode(record, trace_id)
    return Side(folder, session, decoded, 1, len(decoded.history))


COMPARE = Command(
    "compare",
    "Compare two executions: the first branch that went another way, and why.",
    run_compare,
    details=(
        "Threads and handlers are compared by themselves, so an interrupt that comes a little later is no branch.\n"
        "Two builds of a program are compared by source line.  What makes the answer doubtful is said."
    ),
    arguments=(LEFT, RIGHT, TRACE_ID),
    examples=(
        ("compare 1 2", "two captures"),
        ("compare good bad", "two snapshot folders"),
        ("compare 100-900 1100-1900", "two parts of the history, such as two rounds of a loop"),
    ),
)
