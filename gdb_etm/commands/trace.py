"""``etm start``, ``etm stop`` and ``etm status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.event_set import asked_of, asks_for_time
from gdb_etm.commands.filter_set import asked
from gdb_etm.commands.options import OPTIONS, START_AT, STOP_AT, chosen, chosen_ranges
from gdb_etm.commands.overview import standing
from gdb_etm.commands.session import Session
from gdb_etm.errors import CommandError

if TYPE_CHECKING:
    from gdb_etm.traceunit.options import TraceOptions  # commands are declared before anything of it is needed


def options_of(session: Session, values: Values) -> TraceOptions:
    """Put what was typed of :data:`OPTIONS`, the session's filters and the settings in the trace unit's terms.

    :raises EtmError: It makes no sense.
    """
    from gdb_etm.commands.live import options_from

    session.filters.renew(session.locations)
    filters = asked(session.filters.filters, lambda first, end: _is_padding(session, first, end))
    ranges, more = chosen_ranges(session, values), chosen(session, values)
    for name in ranges:
        found = filters.pop(name, [])
        # Filters of loads and stores wait until these are traced.
        ranges[name] = ranges[name] + (found if more["data"] != "off" or not name.startswith("data") else [])
    session.events.renew(session.locations)
    events = session.events.now
    more["timestamps"] = more["timestamps"] or asks_for_time(events)
    return options_from(
        ranges,
        start_at=tuple(values.all(START_AT) + filters.pop("start_at")),
        stop_at=tuple(values.all(STOP_AT) + filters.pop("stop_at")),
        **more,
        **filters,
        **asked_of(events),
    )


def _is_padding(session: Session, first: int, end: int) -> bool:
    return all(session.debugger.function_at(address) is None for address in range(first, end))


def run_start(session: Session, values: Values) -> Iterable[str]:
    """Program the unit and enable it."""
    live = session.connected()
    if session.debugger.is_running():
        raise CommandError("the target runs; halt it first (Ctrl-C)")
    if live.in_the_past:
        # Afterwards GDB goes back to the live end, of which the emptied buffer would tell nothing.
        raise CommandError('GDB looks at the past; "continue" to the live end first')
    lines = live.start(options_of(session, values))
    session.asked = values
    session.on_trace_start()
    return lines


def run_stop(session: Session, values: Values) -> Iterator[str]:
    """Stop, and keep what is in the buffer."""
    live = session.connected()
    if not live.is_tracing:
        raise CommandError('tracing is off. "etm start" starts it')
    record = session.stop()
    if record is not None:
        yield "etm: " + session.summary(record)
        for note in record.capture.notes:
            yield "note: " + note
        if not live.has_core and record.has_program and not len(session.decode(record).history):
            yield 'the core ran nothing that is traced since "etm start"; does it run at all?'
    yield "Tracing is off."


def run_status(session: Session, values: Values) -> Iterator[str]:
    """Say how things stand."""
    yield standing(session)
    if session.live is not None:
        yield from session.live.status()
    if session.filters.filters:
        yield "filters: " + session.filters.text
    if session.events.now.reactions:
        yield "events: " + session.events.text
    if session.current is not None:
        yield "capture %d (%s): %s" % (session.current.number, session.current.origin, session.summary(session.current))


START = Command(
    "start",
    "Start tracing; from now on every halt gives a capture.",
    run_start,
    details='Programs trace unit and buffer.  The target must be halted; "continue" then runs it traced.\n'
    'What "etm filter" chose holds too, and for options that are\n'
    'not typed what "set etm" or "etm set" says.',
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
    "Say how connection, trace unit, buffer and captures stand.",
    run_status,
    examples=(("status", "also tells what the target's trace registers say now"),),
)
