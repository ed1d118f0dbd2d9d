"""Planning: from a request, settings, filters and events to trace options.

A change of the filters or events is planned first, so that what does not fit into the unit changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.errors import CaptureError, CommandError, EtmError
from gdb_etm.program.comparator_limits import doubt_of
from gdb_etm.program.image import Program
from gdb_etm.session.events import EventSettings, asks_for_time, rules_of
from gdb_etm.session.filters import wanted_of
from gdb_etm.session.mtb_buffer import buffer_of
from gdb_etm.session.request import Range, TraceRequest
from gdb_etm.session.session import DebugSession
from gdb_etm.session.trace_settings import trace_settings
from gdb_etm.traceunit.options import (
    AddressRange,
    Conditionals,
    DataTrace,
    ExceptionLevel,
    ExceptionTrace,
    QElements,
    TraceOptions,
)

if TYPE_CHECKING:
    from gdb_etm.traceunit.plan import Plan


def options_of(session: DebugSession, request: TraceRequest) -> TraceOptions:
    """Combine request, settings, filters and events into trace options.

    :raises EtmError: It makes no sense, whatever the unit.
    """
    session.filters.renew(session.locations)
    session.events.renew(session.locations)
    filters = wanted_of(session.filters.filters, lambda first, end: _is_padding(session, first, end))
    settings, events = trace_settings(session.settings), session.events.now
    data = DataTrace(request.data or settings.data)
    context = request.context or settings.context
    broadcasts = request.branch_broadcast or bool(request.broadcast_range)
    stalls = request.stall or request.stall_level is not None
    broadcast_ranges: Sequence[Range] = request.broadcast_range
    if not broadcasts:
        broadcast_ranges = settings.broadcast_ranges(session.locations)
    try:
        return TraceOptions(
            return_stack=False if request.no_return_stack else settings.return_stack,
            cycle_count=_first(request.cycles, settings.cycle_count),
            timestamps=request.timestamps or settings.timestamps or asks_for_time(events),
            context_id=context in ("id", "both"),
            vmid=context in ("vmid", "both"),
            branch_broadcast=broadcasts or settings.branch_broadcast != "off",
            broadcast_ranges=_pairs(broadcast_ranges),
            sync_bytes=_first(request.sync_period, settings.sync_bytes),
            include=_pairs([*request.include, *filters.include]),
            exclude=_pairs([*request.exclude, *filters.exclude]),
            start_at=(*request.start_at, *filters.start_at),
            stop_at=(*request.stop_at, *filters.stop_at),
            exceptions=ExceptionTrace(filters.exceptions),
            secure=filters.secure,
            nonsecure=filters.nonsecure,
            levels=tuple(ExceptionLevel(*each) for each in filters.levels),
            contexts=filters.contexts,
            stall=stalls or settings.stall,
            stall_level=request.stall_level if stalls else settings.stall_level,
            overflow_prevention=request.overflow_prevention or settings.overflow_prevention,
            data=data,
            # Filters of loads and stores wait until these are traced.
            data_include=_pairs([*request.data_range, *(filters.data_include if data else ())]),
            data_exclude=_pairs([*request.data_exclude, *(filters.data_exclude if data else ())]),
            conditional=Conditionals(request.conditional or settings.conditional),
            q_elements=QElements(request.q_elements or settings.q_elements),
            rules=rules_of(events),
            counters=tuple(events.counters),
            first_state=events.first_state,
            trigger_position=events.position,
            buffer=buffer_of(session, request.buffer),
            stop_after=request.stop_after,
        )
    except ValueError as error:
        raise CaptureError(str(error))


def start(session: DebugSession, request: TraceRequest) -> List[str]:
    """Program the trace unit and trace into an empty buffer.

    :returns: Lines that say what is traced.
    :raises UnsupportedError: The unit lacks what was asked for; nothing was changed.
    :raises CaptureError: The hardware does not do as it should; tracing is off.
    :raises CommandError: Not connected, the core runs, or GDB looks at the past.
    """
    connection = session.connected()
    if session.debugger.is_running():
        raise CommandError("the target runs; halt it first (Ctrl-C)")
    if connection.in_the_past:
        # Afterwards GDB goes back to the live end, and the emptied buffer would hold nothing of it.
        raise CommandError('GDB looks at the past; "continue" to the live end first')
    options = options_of(session, request)
    # GDB does not notice what "monitor" has changed, such as a reset: registers must be right where the trace begins.
    session.debugger.refresh()
    lines = connection.start(options)
    if options.buffer is not None and options.buffer.note:
        lines.append("note: " + options.buffer.note)
    session.request = request
    session.on_trace_start()
    return lines


def carry_over(session: DebugSession, undo: Callable[[], None]) -> str:
    """Reprogram the trace unit for the session's new filters and events.

    :param undo: Puts the session back as it was before; done if the unit cannot.
    :returns: From when on it does so, as the end of a sentence.
    :raises EtmError: It cannot.
    """
    try:
        planned(session)
    except EtmError:
        undo()
        raise
    connection = session.connection
    if connection is None or not connection.is_tracing:
        return '; from the next "etm start" on'
    if not connection.sees_halts:
        return '; from the next "etm start" on: the core may be running'
    request = session.request

    def restart() -> None:
        connection.start(options_of(session, request))

    return '; from the next "continue" on' if session.reprogram(restart) else "; from the next halt on"


def change_events(session: DebugSession, events: EventSettings) -> str:
    """Reprogram the trace unit for other rules and counters.

    :returns: From when on it does so, as the end of a sentence.
    :raises EtmError: It cannot; the session's are as before.
    """
    before, session.events.now = session.events.now, events

    def undo() -> None:
        session.events.now = before

    return carry_over(session, undo)


def planned(session: DebugSession) -> Optional[Plan]:
    """Plan how the unit would be programmed; None where there is none.

    :raises EtmError: It cannot do what the session says.
    """
    is_on = session.connection is not None and session.connection.is_tracing
    options = options_of(session, session.request if is_on else TraceRequest())
    if session.connection is None or session.connection.trace is None:
        return None
    return session.connection.trace.plan_start(options)[0]


def point_notes(session: DebugSession, addresses: Iterable[int]) -> Iterator[str]:
    """Warn of addresses where a comparator may miss the instruction.

    Only for a Cortex-M, whose code is all T32.
    """
    trace = session.connection.trace if session.connection is not None else None
    if trace is None or not trace.core.type.startswith("Cortex-M"):
        return
    try:
        image = Program(session.images())
    except EtmError:
        return  # the program cannot be read; whoever needs it reports that
    for address in dict.fromkeys(addresses):
        function = session.debugger.function_at(address)
        doubt = doubt_of(image.read, address, None if function is None else function.start)
        if doubt:
            yield "note: 0x%08x %s" % (address, doubt)


def _first(wished: Optional[int], set_: Optional[int]) -> Optional[int]:
    return set_ if wished is None else wished


def _pairs(ranges: Sequence[Range]) -> Tuple[AddressRange, ...]:
    return tuple(AddressRange(*pair) for pair in ranges)


def _is_padding(session: DebugSession, first: int, end: int) -> bool:
    return all(session.debugger.function_at(address) is None for address in range(first, end))
