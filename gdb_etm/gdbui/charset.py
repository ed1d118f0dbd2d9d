"""Texts from GDB: names of one line, and what commands print.

What is no text in GDB's character set (which is ASCII in the locale C) GDB raises an error for.
"""

from __future__ import annotations

from typing import Callable

import gdb

from gdb_etm.errors import CommandError
from gdb_etm.program.names import one_line


def text_of(read: Callable[[], str]) -> str:
    """Read a name from GDB."""
    return one_line(_decoded(read))


def tabbed(text: str) -> str:
    """Give one line of a text with tabs between its parts."""
    return "\t".join(map(one_line, text.split("\t")))


def ask(command: str) -> str:
    """Run one of GDB's commands, and give what it prints.

    :raises CommandError: It is more than one line.
    :raises gdb.error: It fails.
    """
    line = one_command(command)
    return _decoded(lambda: gdb.execute(line, False, True) or "")


def one_command(command: str) -> str:
    """Give a command that is one line.

    GDB's Python takes each line for a command.

    :param command: May hold what others chose, such as names and paths.
    :raises CommandError: It is more.
    """
    if "\n" in command:
        raise CommandError("what is given to GDB is one line")
    return command


def _decoded(read: Callable[[], str]) -> str:
    # What GDB does not decode is UTF-8.
    try:
        return str(read())
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")


def charset_text(error: UnicodeDecodeError) -> str:
    """Say that GDB could not give a name to Python."""
    remedy = '; try "set host-charset UTF-8"' if error.encoding == "ascii" else ""
    return "the program has a name that GDB cannot read: it is no %s%s" % (error.encoding.upper(), remedy)
