"""Where a script runs: inside GDB or outside."""

from __future__ import annotations

import sys

from gdb_etm.api.target import Runner
from gdb_etm.session.session import DebugSession


def is_inside() -> bool:
    """Check whether this Python is GDB's."""
    return hasattr(sys.modules.get("gdb"), "execute")


def commands_session() -> DebugSession:
    """Give the session of GDB's ``etm`` commands, and register them if necessary."""
    from gdb_etm.gdbui.start import session

    return session()


def gdb_runner() -> Runner:
    """Give GDB as what runs and halts the core."""
    from gdb_etm.gdbui.target import GdbRunner
    from gdb_etm.session.servers import reset_commands

    return GdbRunner(lambda: reset_commands(commands_session().debugger))
