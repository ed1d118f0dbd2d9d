"""From a request, a session's settings, filters and events to its trace unit's options; and the start with them."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gdb_etm.errors import CaptureError, CommandError
from gdb_etm.session.events import asks_for_time, rules_of
from gdb_etm.session.filters import wanted_of
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


def options_of(session: DebugSession, request: TraceRequest) -> TraceOptions:
    """Put a request, the session's filters and events, and its settings in the trace unit's terms.

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
        # Afterwards GDB goes back to the live end, of which the emptied buffer would tell nothing.
        raise CommandError('GDB looks at the past; "continue" to the live end first')
    lines = connection.start(options_of(session, request))
    session.request = request
    session.on_trace_start()
    return lines


def _first(wished: Optional[int], set_: Optional[int]) -> Optional[int]:
    return set_ if wished is None else wished


def _pairs(ranges: Sequence[Range]) -> Tuple[AddressRange, ...]:
    return tuple(AddressRange(*pair) for pair in ranges)


def _is_padding(session: DebugSession, first: int, end: int) -> bool:
    return all(session.debugger.function_at(address) is None for address in range(first, end))
