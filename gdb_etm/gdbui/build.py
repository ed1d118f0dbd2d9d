"""Builds the session and GDB's side of it.

It is imported when they are first needed.
"""

from __future__ import annotations

import sys
from typing import Callable, NamedTuple

import gdb

from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.gdbui.dispatch import Dispatch
from gdb_etm.gdbui.events import GdbEvents
from gdb_etm.gdbui.margin import CountMargin
from gdb_etm.gdbui.places import GdbPlaces
from gdb_etm.gdbui.reverse import GdbReverse
from gdb_etm.gdbui.terminal import Terminal
from gdb_etm.gdbui.window import HistoryWindows
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.session import DebugSession


class Parts(NamedTuple):
    """What there is once in a GDB."""

    session: DebugSession
    dispatch: Dispatch
    windows: HistoryWindows


def build(terminal: Terminal, follow: Callable[[str, object], None]) -> Parts:
    """Make the parts, and connect them to GDB's events.

    :param terminal: Where progress may be shown.
    :param follow: Gives GDB's parameter of a name the value that it now has.
    """
    debugger = GdbDebugger()
    session = DebugSession(debugger, Meter(TerminalLine(sys.__stderr__, terminal.is_free)))
    session.places = session.locations = places = GdbPlaces(debugger)
    session.reverse = GdbReverse()
    session.progress = _wait
    GdbEvents(session, debugger, places).connect()
    dispatch = Dispatch(session, follow, CountMargin(session, debugger).on_setting)
    return Parts(session, dispatch, HistoryWindows(session))


def _wait(seconds: float) -> None:
    # Opening a probe takes about a second; after ten a user wonders.  A terminal shows it all the time.
    if int(seconds) in (10, 20) and not (sys.__stderr__ and sys.__stderr__.isatty()):
        gdb.write("waiting for pyOCD to open the target, %d s (Ctrl-C gives up)\n" % seconds)
        gdb.flush()
