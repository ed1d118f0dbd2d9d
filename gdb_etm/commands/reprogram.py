"""A change of what the trace unit is to do: asked of the unit first, then carried over to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional

from gdb_etm.errors import EtmError
from gdb_etm.session.events import EventSettings
from gdb_etm.session.planning import options_of
from gdb_etm.session.request import TraceRequest
from gdb_etm.session.session import DebugSession

if TYPE_CHECKING:
    from gdb_etm.traceunit.plan import Plan


def carry_over(session: DebugSession, undo: Callable[[], None]) -> str:
    """Have the trace unit do what the session says now.

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
    if not connection.has_core:
        return '; from the next "etm start" on: the core may be running'
    request = session.request

    def restart() -> None:
        connection.start(options_of(session, request))

    return '; from the next "continue" on' if session.reprogram(restart) else "; from the next halt on"


def change_events(session: DebugSession, events: EventSettings) -> str:
    """Have the trace unit do what other rules and counters say.

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
