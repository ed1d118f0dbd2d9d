"""Names and help of all commands and settings, as GDB has them.

They are those of the declarations, and are kept in ``catalogue.json`` beside this file: to import the declarations with
all that they work with takes a fifth of a second, which who only sources ``gdb_etm`` does not wait for.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Union

if TYPE_CHECKING:
    from gdb_etm.commands.declare import Setting

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "catalogue.json")


class CommandEntry(NamedTuple):
    """A command after ``etm``."""

    name: str
    help: str


class SettingEntry(NamedTuple):
    """A parameter under ``set etm`` and ``show etm``."""

    name: str
    # What "show" writes before "is".
    sentence: str
    set_help: str
    show_help: str
    details: str
    # The name of GDB's kind of parameter, such as "PARAM_ENUM".
    kind: str
    choices: List[str]
    # As GDB holds it at first.
    value: Union[str, int]


class Catalogue(NamedTuple):
    """All of them, in the order in which they are listed."""

    introduction: str
    commands: List[CommandEntry]
    # GDB's abbreviations of its commands of the same name.
    abbreviations: Dict[str, str]
    # Commands that also give an object, for programs.
    with_object: List[str]
    settings: List[SettingEntry]


def to_json(catalogue: Catalogue) -> str:
    """Write the file's text."""
    parts = catalogue._asdict()
    for name in ("commands", "settings"):
        parts[name] = [entry._asdict() for entry in parts[name]]
    return json.dumps(parts, indent=1) + "\n"


def kept() -> Catalogue:
    """Read what is kept.

    :raises OSError: The package is there without it.
    """
    with open(_FILE, encoding="utf-8") as file:
        parts = json.load(file)
    return Catalogue(
        parts["introduction"],
        [CommandEntry(**entry) for entry in parts["commands"]],
        parts["abbreviations"],
        parts["with_object"],
        [SettingEntry(**entry) for entry in parts["settings"]],
    )


def declared() -> Catalogue:
    """Make it anew of what is declared."""
    from gdb_etm.commands.declare import help_text
    from gdb_etm.commands.overview import INTRODUCTION
    from gdb_etm.commands.registry import ABBREVIATIONS, COMMANDS, SETTINGS
    from gdb_etm.commands.value_objects import OBJECTS

    commands = [CommandEntry(command.name, help_text(command)) for command in COMMANDS]
    settings = [_entry(setting) for setting in SETTINGS]
    return Catalogue(INTRODUCTION, commands, ABBREVIATIONS, list(OBJECTS), settings)


def _entry(setting: Setting) -> SettingEntry:
    kind = _kind(setting)
    return SettingEntry(
        setting.name,
        setting.summary[0].upper() + setting.summary[1:],
        "Set %s." % setting.summary,
        "Show %s." % setting.summary,
        setting.details,
        kind,
        list(setting.choices) if kind == "PARAM_ENUM" else [],
        held_by_gdb(setting, setting.default),
    )


def _kind(setting: Setting) -> str:
    if setting.check is not None:
        return "PARAM_STRING_NOESCAPE"
    return "PARAM_ENUM" if setting.choices else "PARAM_UINTEGER"


def held_by_gdb(setting: Setting, value: str) -> Union[str, int]:
    """Give a setting's value as GDB holds it.

    Of a number, 0 is without a limit.
    """
    if _kind(setting) != "PARAM_UINTEGER":
        return value
    return 0 if value == "unlimited" else int(value)
