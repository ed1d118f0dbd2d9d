"""Names in a program that are no text in GDB's character set.

In the locale C that is ASCII, and GDB raises an error instead of a name.
"""

from __future__ import annotations

from typing import Callable


def text_of(read: Callable[[], str]) -> str:
    """Read a text from GDB; what it does not decode is UTF-8."""
    try:
        return str(read())
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")


def charset_text(error: UnicodeDecodeError) -> str:
    """Say that GDB could not give a name to Python."""
    remedy = '; try "set host-charset UTF-8"' if error.encoding == "ascii" else ""
    return "the program has a name that GDB cannot read: it is no %s%s" % (error.encoding.upper(), remedy)
