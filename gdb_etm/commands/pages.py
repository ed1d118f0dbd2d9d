"""Which page of the guide has each command."""

from __future__ import annotations

from typing import Dict, Tuple

_COMMANDS: Dict[str, Tuple[str, ...]] = {
    "connect": ("connect", "disconnect", "info"),
    "settings": ("start", "stop", "status", "set", "show"),
    "filters": ("filter",),
    "events": ("on", "counter", "sequencer", "trigger"),
    "registers": ("plan", "diff", "reg"),
    "doctor": ("doctor", "budget"),
    "history": ("history", "functions", "packets"),
    "offline": ("captures", "save", "load"),
    "reverse": ("replay",),
    "values": ("print", "x", "why", "writes"),
}

_PAGES: Dict[str, str] = {command: page for page, commands in _COMMANDS.items() for command in commands}
# All others walk through a history.
_WALKING = "tour"


def page_of(command: str) -> str:
    """Name the page that has a command, without its ending."""
    return _PAGES.get(command, _WALKING)
