"""Every command and setting, in the order in which they are listed."""

from __future__ import annotations

from typing import Tuple

from gdb_etm.commands.budget import BUDGET
from gdb_etm.commands.captures import CAPTURES, LOAD, SAVE
from gdb_etm.commands.connect import CONNECT, DISCONNECT, INFO
from gdb_etm.commands.declare import Command, Setting
from gdb_etm.commands.doctor import DOCTOR
from gdb_etm.commands.filter import FILTER
from gdb_etm.commands.frames import FRAME_COMMANDS
from gdb_etm.commands.history import FUNCTIONS, HISTORY
from gdb_etm.commands.packets import PACKETS
from gdb_etm.commands.registers import DIFF, PLAN, REG
from gdb_etm.commands.replay import REPLAY_COMMANDS
from gdb_etm.commands.trace import DATA_CHOICES, START, STATUS, STOP

COMMANDS: Tuple[Command, ...] = (
    CONNECT,
    DISCONNECT,
    INFO,
    START,
    STOP,
    STATUS,
    FILTER,
    PLAN,
    DIFF,
    REG,
    DOCTOR,
    HISTORY,
    FUNCTIONS,
    PACKETS,
    BUDGET,
    CAPTURES,
    SAVE,
    LOAD,
    *FRAME_COMMANDS,
    *REPLAY_COMMANDS,
)

SETTINGS: Tuple[Setting, ...] = (
    Setting(
        "drain",
        "when the trace buffer is read",
        "eager: after each halt.  lazy: when a command first looks at it; until then the buffer goes on filling over\n"
        "several halts, which is quicker while stepping.",
        "eager",
        ("eager", "lazy"),
    ),
    Setting(
        "data",
        'data trace that "etm start" asks for',
        "addresses, values or both, where the trace unit can; such trace fills the buffer many times faster.",
        "off",
        DATA_CHOICES,
    ),
    Setting(
        "history-size",
        'number of instructions that "etm history" prints',
        '"unlimited" or 0 prints all.',
        "10",
    ),
    Setting(
        "function-call-history-size",
        'number of lines that "etm functions" prints',
        '"unlimited" or 0 prints all.',
        "10",
    ),
)
