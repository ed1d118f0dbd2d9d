"""``etm start``, ``etm stop`` and ``etm status``."""

from __future__ import annotations

from typing import Iterable, Iterator

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.options import OPTIONS, request_of
from gdb_etm.commands.overview import standing
from gdb_etm.errors import CommandError
from gdb_etm.session.planning import start
from gdb_etm.session.session import DebugSession


def run_start(session: DebugSession, values: Values) -> Iterable[str]:
    """Program the unit and enable it."""
    return start(session, request_of(values))


def run_stop(session: DebugSession, values: Values) -> Iterator[str]:
    """Stop, and keep what is in the buffer."""
    connection = session.connected()
    if not connection.is_tracing:
        raise CommandError('tracing is off. "etm start" starts it')
    record = session.stop()
    if record is not None:
        yield "etm: " + session.summary(record)
        for note in record.capture.notes:
            yield "note: " + note
        if not connection.has_core and record.has_program and not len(session.decode(record).history):
            yield 'the core ran nothing that is traced since "etm start"; does it run at all?'
    yield "Tracing is off."


def run_status(session: DebugSession, values: Values) -> Iterator[str]:
    """Show the state of everything."""
    yield standing(session)
    if session.connection is not None:
        yield from session.connection.status()
    if session.filters.filters:
        yield "filters: " + session.filters.text
    if session.events.now.reactions:
        yield "events: " + session.events.text
    if session.current is not None:
        yield "capture %d (%s): %s" % (
            session.current.number,
            session.current.origin,
            session.summary(session.current),
        )
        worked_out = session.worked_out[-1].recovered if session.worked_out else None
        if worked_out is not None:
            yield worked_out.status


START = Command(
    "start",
    "Start tracing; from now on every halt gives a capture.",
    run_start,
    details='Programs trace unit and buffer.  The target must be halted; "continue" then runs it traced.\n'
    'The filters of "etm filter" apply too.  Options that are not typed are as "set etm" or "etm set" says.',
    arguments=OPTIONS,
    examples=(
        ("start", "trace everything"),
        ("start --include 0x400-0x7ff", "only what runs there"),
        ("start --start-at 0x400 --stop-at 0x480", "from one instruction to another"),
        ("start --data both", "addresses and values of loads and stores too"),
        ("start --cycles 16 --sync-period 512", "with cycle counts, and synchronised twice as often"),
    ),
)

STOP = Command(
    "stop",
    "Stop tracing.",
    run_stop,
    examples=(("stop", "what was traced since the last halt becomes a capture"),),
)

STATUS = Command(
    "status",
    "Show the state of connection, trace unit, buffer and captures.",
    run_status,
    examples=(("status", "also reads the target's trace registers"),),
)
