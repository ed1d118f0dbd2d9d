"""Names in ELF files, as one line of text.

A file holds what others wrote: a newline in a name would forge a line of a listing or a record of an export, a control
character would be a command to a terminal, and one that nobody sees would make two names look alike.
"""

from __future__ import annotations

from gdb_etm.errors import plain

# More than any compiler's name is told by; a template's can have some thousand.
_LONGEST = 1 << 14


def name_text(name: bytes) -> str:
    """Decode a name of code, data, a type or a file."""
    return one_line(name.decode("utf-8", "replace"))


def one_line(name: str) -> str:
    """Replace what is not printable in a name, and shorten it."""
    return plain(name if len(name) <= _LONGEST else name[:_LONGEST] + "...")
