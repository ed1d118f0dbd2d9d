"""Registers everything with GDB; called by ``scripts/gdb_etm``.

Little is imported for that, since many have the line in a file that GDB reads whenever it starts; all else is when it
is first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import gdb

from gdb_etm import __version__
from gdb_etm.commands import catalogue
from gdb_etm.gdbui import debug_adapter
from gdb_etm.gdbui.adapter import Adapter
from gdb_etm.gdbui.command_line import is_quiet
from gdb_etm.gdbui.mi import register_mi
from gdb_etm.gdbui.terminal import Terminal
from gdb_etm.gdbui.unwinder import register as register_unwinder

if TYPE_CHECKING:
    from gdb_etm.gdbui.build import Parts
    from gdb_etm.gdbui.dispatch import Dispatch
    from gdb_etm.session.session import DebugSession

_GREETING = 'gdb_etm %s: "etm connect" connects to a chip with a trace unit, "help etm" says more.'
# The TUI window, and the layout that shows it.
_WINDOW = "etm"
_LAYOUT = "tui new-layout %s %s 1 src 1 status 0 cmd 1" % (_WINDOW, _WINDOW)

_registered: Optional[Registered] = None


class Registered:
    """What GDB knows of ``gdb_etm``, and the parts that it leads to."""

    def __init__(self) -> None:
        self._terminal = Terminal()
        self._parts: Optional[Parts] = None
        known = catalogue.kept()
        self._adapter = Adapter(known, self._dispatch)
        register_mi(known.with_object, self._dispatch)
        register_unwinder(lambda: self.parts().session.debugger)
        self._register_window()
        debug_adapter.extend()

    def parts(self) -> Parts:
        """Give the parts; build them when they are first asked for."""
        if self._parts is None:
            from gdb_etm.gdbui.build import build

            self._parts = build(self._terminal, self._adapter.follow)
        return self._parts

    def _dispatch(self) -> Dispatch:
        return self.parts().dispatch

    def _register_window(self) -> None:
        if not hasattr(gdb, "register_window_type"):
            return

        def make(window: Any) -> object:
            return self.parts().windows.make(window)

        gdb.register_window_type(_WINDOW, make)
        try:
            gdb.execute(_LAYOUT, False, True)
        except gdb.error:
            return  # this GDB was built without TUI


def start() -> Registered:
    """Register commands, settings and all else with GDB, once."""
    global _registered
    if _registered is None:
        _registered = Registered()
    return _registered


def session() -> DebugSession:
    """Give the commands' session."""
    return start().parts().session


def greet() -> None:
    """Say what to type first, unless GDB was started with ``-q``."""
    if not is_quiet():
        gdb.write(_GREETING % __version__ + "\n")
