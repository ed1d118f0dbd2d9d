"""Every command and setting, in the order in which they are listed."""

from __future__ import annotations

from typing import Dict, Tuple

from gdb_etm.commands.anonymise import ANONYMISE
from gdb_etm.commands.budget import BUDGET
from gdb_etm.commands.captures import CAPTURES, LOAD, SAVE
from gdb_etm.commands.compare import COMPARE
from gdb_etm.commands.connect import CONNECT, DISCONNECT
from gdb_etm.commands.counter import COUNTER, SEQUENCER, TRIGGER
from gdb_etm.commands.coverage import COVERAGE
from gdb_etm.commands.declare import Command
from gdb_etm.commands.doctor import DOCTOR
from gdb_etm.commands.fault import FAULT
from gdb_etm.commands.filter import FILTER
from gdb_etm.commands.frames import FRAME_COMMANDS
from gdb_etm.commands.history import FUNCTIONS, HISTORY
from gdb_etm.commands.moves import MOVE_COMMANDS
from gdb_etm.commands.on import ON
from gdb_etm.commands.origin import ORIGIN, USES
from gdb_etm.commands.packets import PACKETS
from gdb_etm.commands.profile import PROFILE
from gdb_etm.commands.race import RACE
from gdb_etm.commands.record import RECORD
from gdb_etm.commands.registers import DIFF, PLAN, REG
from gdb_etm.commands.replay import REPLAY
from gdb_etm.commands.report import REPORT
from gdb_etm.commands.selftest import SELFTEST
from gdb_etm.commands.settings import SET, SETTINGS, SHOW
from gdb_etm.commands.threads import THREADS
from gdb_etm.commands.timeline import TIMELINE
from gdb_etm.commands.trace import START, STATUS, STOP
from gdb_etm.commands.values import INFO, PRINT, X
from gdb_etm.commands.why import WHY
from gdb_etm.commands.writes import WRITES
from gdb_etm.errors import CommandError
from gdb_etm.views.styles import Styler, style_call, style_frame, style_instruction

__all__ = ["ABBREVIATIONS", "COMMANDS", "SETTINGS", "STYLERS", "command_named"]

COMMANDS: Tuple[Command, ...] = (
    CONNECT,
    DISCONNECT,
    INFO,
    START,
    STOP,
    STATUS,
    RECORD,
    SET,
    SHOW,
    FILTER,
    ON,
    COUNTER,
    SEQUENCER,
    TRIGGER,
    PLAN,
    DIFF,
    REG,
    DOCTOR,
    SELFTEST,
    HISTORY,
    FUNCTIONS,
    THREADS,
    PACKETS,
    BUDGET,
    COVERAGE,
    PROFILE,
    TIMELINE,
    REPORT,
    CAPTURES,
    SAVE,
    ANONYMISE,
    LOAD,
    REPLAY,
    PRINT,
    X,
    FAULT,
    ORIGIN,
    USES,
    WHY,
    WRITES,
    RACE,
    COMPARE,
    *FRAME_COMMANDS,
    *MOVE_COMMANDS,
)

# GDB's abbreviations of its commands of the same name, where other commands begin alike or the name does not begin so.
ABBREVIATIONS: Dict[str, str] = {
    "bt": "backtrace",
    "c": "continue",
    "dow": "down",
    "f": "frame",
    "fg": "continue",
    "fin": "finish",
    "inspect": "print",
    "l": "list",
    "n": "next",
    "p": "print",
    "rc": "reverse-continue",
    "rn": "reverse-next",
    "rs": "reverse-step",
    "rsi": "reverse-stepi",
    "s": "step",
    "si": "stepi",
    "u": "until",
}

# How the lines of a command are styled; those of others stay plain.
STYLERS: Dict[str, Styler] = {
    HISTORY.name: style_instruction,
    FUNCTIONS.name: style_call,
    **{command.name: style_frame for command in (*FRAME_COMMANDS, *MOVE_COMMANDS)},
}


def command_named(name: str) -> Command:
    """Find a command by its name, or by an abbreviation.

    :raises CommandError: There is none of that name.
    """
    for command in COMMANDS:
        if command.name == ABBREVIATIONS.get(name, name):
            return command
    raise CommandError('"%s" is no command; there are: %s' % (name, ", ".join(one.name for one in COMMANDS)))
