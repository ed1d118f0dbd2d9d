"""The guide's pages, and the page that each command has."""

from __future__ import annotations

import os
from typing import Dict, List, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.files import read_regular

_COMMANDS: Dict[str, Tuple[str, ...]] = {
    "connect": ("connect", "disconnect", "info"),
    "settings": ("start", "stop", "status", "set", "show"),
    "record": ("record",),
    "filters": ("filter",),
    "events": ("on", "counter", "sequencer", "trigger"),
    "registers": ("plan", "diff", "reg"),
    "doctor": ("doctor", "budget"),
    "coverage": ("coverage", "profile", "timeline"),
    "report": ("report",),
    "selftest": ("selftest",),
    "history": ("history", "functions", "threads", "packets"),
    "offline": ("captures", "save"),
    "dumps": ("load", "anonymise"),
    "reverse": ("replay",),
    "fault": ("fault", "origin", "uses", "race"),
    "compare": ("compare",),
    "values": ("print", "x", "why", "writes"),
}

_PAGES: Dict[str, str] = {command: page for page, commands in _COMMANDS.items() for command in commands}
# All others walk through a history.
_WALKING = "tour"
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "guide")
_ENDING = ".md"
_INDEX = "README"
# Bytes of a page: those of the package have less than twenty thousand.
_LARGEST = 1 << 18


def page_of(command: str) -> str:
    """Name the page that has a command, without its ending."""
    return _PAGES.get(command, _WALKING)


def pages() -> List[str]:
    """List the pages' names, in alphabetical order and without their ending.

    :raises CommandError: The package is there without them.
    """
    try:
        found = sorted(name[: -len(_ENDING)] for name in os.listdir(_FOLDER) if name.endswith(_ENDING))
    except OSError as error:
        raise CommandError("%s: %s; install gdb_etm again" % (_FOLDER, error.strerror))
    return [name for name in found if name != _INDEX]


def page_lines(name: str) -> List[str]:
    """Give a page's lines.

    :param name: Of the page, with its ending or without; empty for the list of pages.
    :raises CommandError: There is no such page, or it cannot be read.
    """
    wanted = name[: -len(_ENDING)] if name.endswith(_ENDING) else name
    known = pages()
    if wanted and wanted not in known:
        raise CommandError('the guide has no page "%s"; it has %s' % (name, ", ".join(known)))
    path = os.path.join(_FOLDER, (wanted or _INDEX) + _ENDING)
    try:
        return read_regular(path, _LARGEST).decode("utf-8").splitlines()
    except OSError as error:
        raise CommandError("%s: %s; install gdb_etm again" % (path, error.strerror))
