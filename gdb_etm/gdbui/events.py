"""GDB's events, passed on to the session."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Iterable, Optional

import gdb

from gdb_etm.errors import EtmError, harmless
from gdb_etm.gdbui.charset import charset_text
from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.gdbui.interrupts import guarded
from gdb_etm.gdbui.places import GdbPlaces, publish
from gdb_etm.gdbui.posted import POSTED
from gdb_etm.session.disconnecting import check_connection_end, error_text, leave, settle
from gdb_etm.session.session import DebugSession

_KINDS = {
    gdb.BP_WATCHPOINT: "watchpoint",
    gdb.BP_HARDWARE_WATCHPOINT: "watchpoint",
    gdb.BP_READ_WATCHPOINT: "watchpoint",
    gdb.BP_ACCESS_WATCHPOINT: "watchpoint",
}


class GdbEvents:
    """Connects a session to GDB's events.

    GDB reports a stop after it has printed the place; a connection's end after it has closed it; its own end while
    the target is still connected.

    :param session: The session.
    :param debugger: Its debugger, which keeps what it learns of symbols.
    :param places: The same for walking through a history.
    """

    def __init__(self, session: DebugSession, debugger: GdbDebugger, places: GdbPlaces) -> None:
        self._session = session
        self._debugger = debugger
        self._places = places
        # Whether the error is reported already that is about to end GDB's own connection, too.
        self._has_reported = False

    def connect(self) -> None:
        """Connect the handlers to GDB's events."""
        gdb.events.stop.connect(guarded(self._on_stop, _tell_interrupted))
        gdb.events.cont.connect(guarded(self._on_cont, self._on_cont_interrupted))
        gdb.events.memory_changed.connect(self._on_memory_changed)
        gdb.events.register_changed.connect(self._on_registers_changed)
        gdb.events.inferior_call.connect(self._on_registers_changed)
        gdb.events.exited.connect(self._on_exited)
        gdb.events.before_prompt.connect(partial(guarded(self._on_prompt, _tell_interrupted), None))
        gdb.events.new_objfile.connect(self._on_symbols)
        gdb.events.clear_objfiles.connect(self._on_symbols)
        # GDB before 12 reports a connection's end as the program's.
        ends = getattr(gdb.events, "connection_removed", gdb.events.exited)
        ends.connect(guarded(self._on_connection_end, _tell_interrupted))
        if hasattr(gdb.events, "gdb_exiting"):  # GDB 12; before, the process beside it sees its input end
            gdb.events.gdb_exiting.connect(self._on_exiting)

    def _on_stop(self, event: Any) -> None:
        self._debugger.running.halted()
        self._report(partial(DebugSession.on_halt, halted_by=_halted_by(event)))
        publish(self._session)

    def _on_cont(self, event: Any) -> None:
        # The event comes before GDB lets the target go, which it does whatever happens here.
        self._has_reported = not self._report(DebugSession.on_resume)

    def _on_cont_interrupted(self) -> None:
        # The user wants the program to stop; what was not noted is noted now.
        POSTED.post(_interrupt)
        self._report(DebugSession.on_resume)

    def _on_memory_changed(self, event: Any) -> None:
        with self._session.background.held():
            self._session.on_memory_changed(int(event.address), int(event.length))

    def _on_registers_changed(self, event: Any) -> None:
        # A function that is called in the program changes them, too.
        self._session.on_registers_changed()

    def _on_exited(self, event: Any) -> None:
        # "run" kills the program first; whether it has a successor shows when GDB is done with the command.
        # (A posted event would be late: a batch need not come to GDB's event loop any more.)
        self._session.program_ended = True

    def _on_connection_end(self, event: Any) -> None:
        has_reported, self._has_reported = self._has_reported, False
        if not has_reported:
            self._report(check_connection_end)

    def _on_prompt(self, nothing: None) -> None:
        self._session.background.is_attended = True
        self._report(settle)
        self._report(_refresh)

    def _on_exiting(self, event: Any) -> None:
        self._report(leave)

    def _report(self, react: Callable[[DebugSession], Optional[Iterable[str]]]) -> bool:
        # Nobody waits for an event's outcome, so an error is a line of its own; GDB goes on.
        try:
            with self._session.background.held():
                for line in react(self._session) or ():
                    gdb.write(harmless(line) + "\n")
            return True
        except EtmError as error:
            gdb.write("etm: %s\n" % error_text(self._session, error), gdb.STDERR)
        except UnicodeDecodeError as error:
            gdb.write("etm: %s\n" % charset_text(error), gdb.STDERR)
        return False

    def _on_symbols(self, event: Any) -> None:
        self._debugger.forget()
        self._places.forget()
        self._session.forget_program()


def _halted_by(event: Any) -> str:
    # In GDB's words; nothing for the end of a step.
    if isinstance(event, gdb.BreakpointEvent):
        return ", ".join("%s %d" % (_KINDS.get(one.type, "breakpoint"), one.number) for one in event.breakpoints)
    if isinstance(event, gdb.SignalEvent):
        return "interrupted" if event.stop_signal == "SIGINT" else str(event.stop_signal)
    return ""


def _tell_interrupted() -> None:
    gdb.write("etm: interrupted; the trace is read when you look at it\n", gdb.STDERR)


def _refresh(session: DebugSession) -> None:
    # Convenience variables hold what the background has found out since.
    for walk in session.walks:
        walk.refresh()


def _interrupt() -> None:
    # Run by GDB's event loop when the target is on its way.
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        gdb.execute("interrupt")
