"""Tree of all exceptions that a user can see.

Each message is one line that says what failed, where, and what to try.  Malformed trace is
never an exception: it is a gap in the history.
"""

from __future__ import annotations

import re
from typing import Optional

# Control characters but for tab and newline: what a terminal takes for commands.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS = str.maketrans("\n\t", "  ")


def harmless(text: str) -> str:
    """Replace control characters of a text, but for tab and newline."""
    return _CONTROLS.sub("?", text)


def plain(text: str) -> str:
    """Replace control and invisible characters: what is left is one line."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


class EtmError(Exception):
    """Base of all errors shown to the user, one line each."""

    def __str__(self) -> str:
        # Names of files and symbols are in it, which others chose, and words of other programs.
        return plain(super().__str__().translate(_BREAKS))


class AccessError(EtmError):
    """A register or memory access on the target failed.

    :param message: What failed, without a trailing full stop.
    :param address: The address of the access in the target's memory space, if it was one access.
    :param kind: ``"fault"``, ``"timeout"``, ``"lost"`` (the probe or the process beside GDB is gone) or ``"busy"``.
    """

    def __init__(self, message: str, address: Optional[int] = None, kind: str = "fault") -> None:
        super().__init__(message)
        self.address = address
        self.kind = kind


class ConnectError(EtmError):
    """No connection: probe missing or in use, pyOCD missing, port taken."""


class TopologyError(EtmError):
    """The components found cannot be arranged into source, links and sink."""


class UnsupportedError(EtmError):
    """The trace unit lacks what was asked for.

    :param message: What was asked for and what the unit has.
    :param register: The identification field that says so, such as ``"TRCIDR4.NUMACPAIRS"``.
    """

    def __init__(self, message: str, register: str) -> None:
        super().__init__(message)
        self.register = register


class CaptureError(EtmError):
    """Capturing, stopping or draining the trace buffer failed."""


class SnapshotError(EtmError):
    """A snapshot folder cannot be read.

    :param message: What is wrong.
    :param path: The file at fault.
    :param line: Its line number from 1, or None when the whole file is at fault.
    """

    def __init__(self, message: str, path: str, line: Optional[int] = None) -> None:
        where = path if line is None else "%s:%d" % (path, line)
        super().__init__("%s: %s" % (where, message))
        self.path = path
        self.line = line


class ImageError(EtmError):
    """A program image (ELF file or memory dump) cannot be used."""


class CommandError(EtmError):
    """Wrong arguments of a command, or a command at a wrong moment."""
