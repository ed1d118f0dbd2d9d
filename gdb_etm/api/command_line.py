"""A line as a user types it, run for a script: the one place where the interface knows the commands."""

from __future__ import annotations

from typing import List

from gdb_etm.commands.parse import parse, split
from gdb_etm.commands.registry import COMMANDS
from gdb_etm.errors import CommandError
from gdb_etm.session.session import DebugSession


def run_line(session: DebugSession, line: str) -> List[str]:
    """Run a command.

    :param line: What is typed after ``etm``.
    :returns: The lines that it prints.
    :raises EtmError: There is no such command, or it fails.
    """
    name, *rest = split(line) or [""]
    for command in COMMANDS:
        if command.name == name:
            return list(command.run(session, parse(command, rest)))
    raise CommandError('"%s" is no command; there are: %s' % (name, ", ".join(one.name for one in COMMANDS)))
