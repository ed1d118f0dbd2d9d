"""The debugger's own reverse execution, which moves the one cursor."""

from __future__ import annotations

from typing import Iterator, Optional

from gdb_etm.errors import CommandError
from gdb_etm.history.steps import MoveEnd, MoveReason, Position
from gdb_etm.session.places import ReverseExecution
from gdb_etm.session.session import DebugSession
from gdb_etm.session.walk import Walk


def shared(session: DebugSession) -> Optional[ReverseExecution]:
    """Give what moves the cursor; None where it moves by itself."""
    connection, joined = session.connection, session.joined
    if connection is None or not connection.reverses or joined is None or session.is_alone:
        return None
    if joined.records[-1:] != [session.current] or session.debugger.is_running():
        return None
    return session.reverse


def follow(session: DebugSession, walked: Walk) -> None:
    """Bring the cursor to where the debugger is."""
    mover, cursor = shared(session), walked.cursor
    if mover is None or session.connection is None:
        return
    number, last = session.connection.position()
    if not number:
        cursor.follow(Position(cursor.end), mover.selected())
        return
    # Both end at the same halt.
    number += cursor.end - 1 - last
    if number < 1:
        raise CommandError("GDB looks at what is older than this history")
    address = cursor.path.address(number)
    hidden = 0 if address is None else max(0, len(walked.places.inlined_at(address)) - mover.inlined())
    cursor.follow(Position(number, hidden), mover.selected())


def jump(session: DebugSession, mover: ReverseExecution, walked: Walk) -> Iterator[str]:
    """Bring the debugger to where the cursor is."""
    cursor = walked.cursor
    number, end = cursor.position.number, cursor.end
    if number != end:
        mover.jump("-%d" % (end - number), False)
    elif _in_the_past(session):
        mover.jump("end", True)
    else:
        mover.execute("frame 0")
    yield walked.number_text()


def where(mover: ReverseExecution, walked: Walk) -> Iterator[str]:
    """Have the debugger say where it is, and count."""
    mover.execute("frame")
    yield walked.number_text()


def run_by(
    session: DebugSession, mover: ReverseExecution, walked: Walk, command: str, backward: bool, times: int = 1
) -> Iterator[str]:
    """Have the debugger move by a command of its own.

    :param times: How often; it stops before where nothing moves any more.
    """
    for _ in range(times):
        before = walked.cursor.position
        if not backward and not _in_the_past(session):
            # The target would run.
            yield from walked.stop(MoveEnd(before, MoveReason.NO_HISTORY), None)
            return
        mover.execute(command)
        follow(session, walked)
        if walked.cursor.position == before:
            return


def _in_the_past(session: DebugSession) -> bool:
    return session.connection is not None and session.connection.in_the_past
