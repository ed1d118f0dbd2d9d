"""What plain ``etm`` prints."""

from __future__ import annotations

from typing import Iterator, Sequence

from gdb_etm.commands.declare import Command
from gdb_etm.session.session import DebugSession

INTRODUCTION = """Arm trace: what really ran, from the chip's own trace buffer.

Usual steps:
  etm connect          starts pyOCD beside GDB, finds trace unit and buffer
  etm start            traces from the next "continue" on
  continue             until a breakpoint, a fault or Ctrl-C
  etm functions /c     the functions that ran, indented by call depth
  etm history /s       the instructions that ran, with source

The guide: "gdb-etm guide" in a shell."""


def overview(session: DebugSession, commands: Sequence[Command]) -> Iterator[str]:
    """Show the session's state, and list the commands with their summaries."""
    yield standing(session)
    yield ""
    width = max(len(command.name) for command in commands)
    for command in commands:
        yield "etm %-*s  %s" % (width, command.name, command.summary.rstrip("."))
    yield ""
    yield '"help etm COMMAND" describes each; "gdb-etm guide" in a shell prints the guide.'


def standing(session: DebugSession) -> str:
    """Summarise connection, tracing and captures in one line."""
    if session.connection is None:
        words = "Not connected"
    else:
        words = "Connected to %s, tracing is %s" % (
            session.connection.name,
            "on" if session.connection.is_tracing else "off",
        )
    count = len(session.captures)
    return "%s; %s." % (words, "%d capture%s at hand" % (count, "" if count == 1 else "s") if count else "no captures")
