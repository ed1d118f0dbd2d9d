"""The end of a connection: requested, with GDB, or by a loss."""

from __future__ import annotations

from typing import Optional

from gdb_etm.errors import AccessError, CaptureError, CommandError, EtmError
from gdb_etm.session.session import DebugSession

# Its pipe may end a little after its socket.
_FAREWELL_SECONDS = 0.2
_LEFT_PROGRAMMED = (
    "GDB's connection ended while the trace unit was programmed; its registers can no longer be put back."
    ' Next time use "etm disconnect" before "detach" or "disconnect"'
)


def disconnect(session: DebugSession) -> None:
    """Stop tracing, restore the target and end both connections.

    :raises EtmError: The first thing that went wrong; the connection has ended all the same.
    """
    connection = session.let_go()
    if connection is None:
        return
    try:
        connection.release()
    finally:
        if connection.has_process and connection.has_core:
            session.debugger.disconnect()
        connection.close()
        if connection.server is not None:
            session.debugger.connect_server(*connection.server)


def check_connection_end(session: DebugSession) -> None:
    """Raise the reason why GDB's connection ended, unless GDB ended it.

    :raises EtmError: That is why.
    """
    lost, session.lost = session.lost, None
    if lost is not None:
        lost.close()
        raise CommandError('GDB was connected to the process beside it, which is gone. Try "etm connect"')
    if session.connection is not None and session.connection.has_core:
        session.connection.check(_FAREWELL_SECONDS)


def settle(session: DebugSession) -> None:
    """End our connection if the debugger has let the target go.

    :raises EtmError: The target could not be put back as it was, or what reaches it is lost.
    """
    if session.connection is not None:
        session.connection.check()
    ended, session.program_ended = session.program_ended, False
    if not ended or session.debugger.connection() is not None:
        return
    if session.connection is not None and not session.connection.has_core:
        return
    connection = session.let_go()
    if connection is None:
        return
    if not connection.has_process:
        if connection.trace is not None:
            raise CaptureError(_LEFT_PROGRAMMED)
        return
    try:
        connection.release()
    finally:
        connection.close()


def leave(session: DebugSession) -> None:
    """Restore the target when the debugger ends.

    The debugger still holds it then.

    :raises EtmError: The target could not be put back as it was.
    """
    session.background.stop()
    session.end_second_gdb()
    settle(session)
    connection = session.let_go()
    if connection is not None and (connection.has_process or not session.debugger.is_running()):
        connection.release()


def error_text(session: DebugSession, error: EtmError) -> str:
    """Word an error for the user; a lost connection is closed."""
    connection = session.connection
    if not isinstance(error, AccessError) or error.kind != "lost" or connection is None:
        return str(error)
    session.let_go()
    if connection.has_process and connection.has_core:
        # GDB may be in the midst of a command: it crashes when its connection ends then.
        session.lost = connection
    else:
        connection.close()
    return '%s; this connection is closed. Try "etm connect"' % error


def drop_lost(session: DebugSession) -> Optional[str]:
    """Disconnect the debugger from a server that is lost.

    :returns: What it was connected to; None when there was nothing to let go of.
    """
    lost, session.lost = session.lost, None
    if lost is None:
        return None
    session.debugger.disconnect()
    lost.close()
    return lost.name
