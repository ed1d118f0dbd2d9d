"""Registers everything with GDB; called by ``scripts/gdb_etm``."""

from __future__ import annotations

from typing import Optional

import gdb

from gdb_etm.commands.registry import COMMANDS, SETTINGS
from gdb_etm.gdbui import debug_adapter
from gdb_etm.gdbui.adapter import PrefixCommand, register_command, register_settings
from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.gdbui.events import GdbEvents
from gdb_etm.gdbui.places import CallsFunction, GdbPlaces
from gdb_etm.gdbui.terminal import Terminal
from gdb_etm.gdbui.unwinder import register as register_unwinder
from gdb_etm.session.progress import Meter
from gdb_etm.session.session import DebugSession

_session: Optional[DebugSession] = None


def start() -> DebugSession:
    """Register commands, settings and events, unless that was done before, and give what the commands work on."""
    global _session
    if _session is not None:
        return _session
    debugger = GdbDebugger()
    session = DebugSession(debugger, Meter(Terminal().line()))
    session.places = session.locations = places = GdbPlaces(debugger)
    session.progress = _wait
    PrefixCommand(session, COMMANDS)
    for command in COMMANDS:
        register_command(session, command)
    register_settings(session, SETTINGS)
    CallsFunction(session)
    register_unwinder(debugger)
    GdbEvents(session, debugger, places).connect()
    debug_adapter.extend()
    _session = session
    return session


def _wait(seconds: float) -> None:
    # Opening a probe takes about a second; after ten a user wonders.
    if int(seconds) in (10, 20):
        gdb.write("waiting for pyOCD to open the target, %d s (Ctrl-C gives up)\n" % seconds)
        gdb.flush()
