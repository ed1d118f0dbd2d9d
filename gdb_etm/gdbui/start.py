"""Registers everything with GDB; called by ``scripts/gdb_etm``."""

from __future__ import annotations

import os
import sys
from typing import Optional

import gdb

from gdb_etm import __version__
from gdb_etm.commands.registry import COMMANDS, SETTINGS
from gdb_etm.gdbui import debug_adapter
from gdb_etm.gdbui.adapter import PrefixCommand, register_commands, register_settings
from gdb_etm.gdbui.command_line import is_quiet
from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.gdbui.events import GdbEvents
from gdb_etm.gdbui.places import CallsFunction, GdbPlaces
from gdb_etm.gdbui.reverse import GdbReverse
from gdb_etm.gdbui.unwinder import register as register_unwinder
from gdb_etm.gdbui.window import register as register_window
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.session import DebugSession

_GREETING = 'gdb_etm %s: "etm connect" connects to a chip with a trace unit, "help etm" says more.'

_session: Optional[DebugSession] = None


def start() -> DebugSession:
    """Register commands, settings and events once, and give their session."""
    global _session
    if _session is not None:
        return _session
    debugger = GdbDebugger()
    session = DebugSession(debugger, Meter(Terminal().line()))
    session.places = session.locations = places = GdbPlaces(debugger)
    session.reverse = GdbReverse()
    session.progress = _wait
    PrefixCommand(session, COMMANDS)
    register_commands(session, COMMANDS)
    register_settings(session, SETTINGS)
    CallsFunction(session)
    register_unwinder(debugger)
    GdbEvents(session, debugger, places).connect()
    register_window(session)
    debug_adapter.extend()
    _session = session
    return session


def greet() -> None:
    """Say what to type first, unless GDB was started with ``-q``."""
    if not is_quiet():
        gdb.write(_GREETING % __version__ + "\n")


def _wait(seconds: float) -> None:
    # Opening a probe takes about a second; after ten a user wonders.
    if int(seconds) in (10, 20):
        gdb.write("waiting for pyOCD to open the target, %d s (Ctrl-C gives up)\n" % seconds)
        gdb.flush()


class Terminal:
    """Detector of a user at GDB's terminal, and of a free line.

    GDB shows its own progress under the same conditions.  A prompt means that a person uses it: a batch and a
    program that talks MI get none.
    """

    def __init__(self) -> None:
        self._prompted = False
        gdb.events.before_prompt.connect(self._on_prompt)

    def line(self) -> TerminalLine:
        """Give the line to show progress on."""
        return TerminalLine(sys.__stderr__, self._is_free)

    def _on_prompt(self) -> None:
        self._prompted = True

    def _is_free(self) -> bool:
        if not self._prompted or not os.isatty(0):
            return False
        try:
            return "not active" in gdb.execute("info win", False, True)
        except gdb.error:
            return True  # this GDB was built without TUI
