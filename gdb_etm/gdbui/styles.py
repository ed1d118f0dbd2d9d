"""GDB's styles: what "set style" says, as escape sequences.

GDB takes the sequences out of what "set logging" writes to a file.
"""

from __future__ import annotations

import os
from typing import Any, Dict

import gdb

_COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_INTENSITIES = {"bold": "1", "dim": "2"}
_SEQUENCE, _RESET = "\x1b[%sm", "\x1b[m"


class GdbStyles:
    """The styles while a command runs; they are asked for once."""

    def __init__(self) -> None:
        self._sequences: Dict[str, str] = {}

    @staticmethod
    def are_on() -> bool:
        """Whether GDB styles what it prints now."""
        is_capable = os.isatty(1) and os.environ.get("TERM", "dumb") != "dumb"
        return is_capable and bool(gdb.parameter("style enabled"))

    def paint(self, name: str, text: str) -> str:
        """Give a text in a style of GDB's."""
        sequence = self._sequences.get(name)
        if sequence is None:
            sequence = self._sequences[name] = _sequence(name)
        return sequence + text + _RESET if sequence else text


def _sequence(name: str) -> str:
    codes = [_color(name, "foreground", 30), _color(name, "background", 40)]
    codes.append(_INTENSITIES.get(str(_setting(name, "intensity")), ""))
    # From GDB 17 on a color gives its own sequence.
    whole = "".join(code for code in codes if code.startswith("\x1b"))
    plain = ";".join(code for code in codes if code and not code.startswith("\x1b"))
    return whole + (_SEQUENCE % plain if plain else "")


def _color(name: str, part: str, base: int) -> str:
    value = _setting(name, part)
    if hasattr(value, "escape_sequence"):
        return "" if value.is_none else str(value.escape_sequence(part == "foreground"))
    return str(base + _COLORS.index(value)) if value in _COLORS else ""


def _setting(name: str, part: str) -> Any:
    try:
        return gdb.parameter("style %s %s" % (name, part))
    except RuntimeError:
        return None  # this GDB has no such style
