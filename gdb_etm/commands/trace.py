"""``etm start``, ``etm stop`` and ``etm status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Iterator, Tuple

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.filter_set import asked
from gdb_etm.commands.overview import standing
from gdb_etm.commands.parse import count, on, one_of
from gdb_etm.commands.session import Session
from gdb_etm.errors import CommandError

if TYPE_CHECKING:
    from gdb_etm.traceunit.options import TraceOptions  # commands are declared before anything of it is needed


def _range(text: str) -> Tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        raise CommandError('"%s" is no range of addresses; try FIRST-LAST, such as 0x100-0x1ff' % text)
    return count(first), count(last)


INCLUDE = Argument(
    "--include", _range, "trace only these addresses; may be given more than once", "FIRST-LAST", many=True
)
EXCLUDE = Argument(
    "--exclude", _range, "do not trace these addresses; may be given more than once", "FIRST-LAST", many=True
)
START_AT = Argument("--start-at", count, "trace from the instruction at this address on", "ADDRESS", many=True)
STOP_AT = Argument("--stop-at", count, "trace no more from the instruction at this address on", "ADDRESS", many=True)
CYCLES = Argument(
    "--cycles", count, "trace processor cycles too, at least this many between two counts (ETMv3, PTM: 1)", "N"
)
TIMESTAMPS = Argument("--timestamps", on, "trace the chip's time too", flag=True)
BROADCAST = Argument("--branch-broadcast", on, "trace the address of every branch that is taken", flag=True)
NO_STACK = Argument("--no-return-stack", on, "trace the address of every return", flag=True)
STALL = Argument("--stall", on, "stall the processor rather than lose trace", flag=True)
DATA_CHOICES = ("off", "addresses", "values", "both")
DATA = Argument(
    "--data",
    one_of(*DATA_CHOICES),
    'loads and stores too: off | addresses | values | both; without it as "set etm data" says',
    "WHAT",
    choices=DATA_CHOICES,
)
DATA_RANGE = Argument("--data-range", _range, "only loads and stores at these addresses", "FIRST-LAST", many=True)


OPTIONS: Tuple[Argument[Any], ...] = (
    INCLUDE, EXCLUDE, START_AT, STOP_AT, CYCLES, TIMESTAMPS, BROADCAST, NO_STACK, STALL, DATA, DATA_RANGE
)
"""What can be asked of the trace unit."""


def options_of(session: Session, values: Values) -> TraceOptions:
    """Put what was typed of :data:`OPTIONS`, the session's filters and the settings in the trace unit's terms.

    :raises CaptureError: It makes no sense.
    """
    from gdb_etm.commands.live import options_from
    from gdb_etm.traceunit.options import Exceptions

    data = values.get(DATA) or session.settings.get("data", "off")
    session.filters.renew(session.locations)
    filters = asked(session.filters.filters, lambda first, end: _is_padding(session, first, end))
    ranges = {
        "include": values.all(INCLUDE) + filters.pop("include"),
        "exclude": values.all(EXCLUDE) + filters.pop("exclude"),
        "data_include": values.all(DATA_RANGE),
    }
    return options_from(
        ranges,
        data,
        start_at=tuple(values.all(START_AT) + filters.pop("start_at")),
        stop_at=tuple(values.all(STOP_AT) + filters.pop("stop_at")),
        cycle_count=values.get(CYCLES),
        timestamps=values.get(TIMESTAMPS) is not None,
        branch_broadcast=values.get(BROADCAST) is not None,
        return_stack=None if values.get(NO_STACK) is None else False,
        stall=values.get(STALL) is not None,
        exceptions=Exceptions(filters.pop("exceptions")),
        **filters,
    )


def _is_padding(session: Session, first: int, end: int) -> bool:
    return all(session.debugger.function_at(address) is None for address in range(first, end))


def run_start(session: Session, values: Values) -> Iterable[str]:
    """Program the unit and enable it."""
    live = session.connected()
    if session.debugger.is_running():
        raise CommandError("the target runs; halt it first (Ctrl-C)")
    lines = live.start(options_of(session, values))
    session.asked = values
    return lines


def run_stop(session: Session, values: Values) -> Iterator[str]:
    """Stop, and keep what is in the buffer."""
    live = session.connected()
    if not live.is_tracing:
        raise CommandError('tracing is off. "etm start" starts it')
    record = session.stop()
    if record is not None:
        yield "etm: " + session.summary(record)
    yield "Tracing is off."


def run_status(session: Session, values: Values) -> Iterator[str]:
    """Say how things stand."""
    yield standing(session)
    if session.live is not None:
        yield from session.live.status()
    if session.filters.filters:
        yield "filters: " + session.filters.text
    if session.current is not None:
        yield "capture %d (%s): %s" % (session.current.number, session.current.origin, session.summary(session.current))


START = Command(
    "start",
    "Start tracing; from now on every halt gives a capture.",
    run_start,
    details='Programs trace unit and buffer.  The target must be halted; "continue" then runs it traced.\n'
    'What "etm filter" chose holds too.',
    arguments=OPTIONS,
    examples=(
        ("start", "trace everything"),
        ("start --include 0x400-0x7ff", "only what runs there"),
        ("start --start-at 0x400 --stop-at 0x480", "from one instruction to another"),
        ("start --data both", "addresses and values of loads and stores too"),
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
