"""``etm set`` and ``etm show``: the settings."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import Iterable, Iterator, List, Tuple

from gdb_etm.commands.declare import Argument, Command, Setting, Values
from gdb_etm.commands.options import OPTION_SETTINGS
from gdb_etm.errors import CommandError
from gdb_etm.replay.reliance import LIMITS, MOST, NO_REGIONS, regions
from gdb_etm.session.background import BACKGROUND
from gdb_etm.session.counted import COUNTS
from gdb_etm.session.fault_hint import FAULT_HINT
from gdb_etm.session.joined import DEFAULT_LIMIT, HISTORY_LIMIT, history_limit
from gdb_etm.session.numbers import count
from gdb_etm.session.recovered import THIS_GDB
from gdb_etm.session.session import DebugSession
from gdb_etm.session.settings import change_setting
from gdb_etm.views.text import align


def _check_regions(text: str) -> None:
    try:
        regions(text)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _check_limit(text: str) -> None:
    try:
        history_limit(text)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _check_path(text: str) -> None:
    if not os.access(text, os.X_OK) or not os.path.isfile(text):
        raise CommandError('"%s" is no program; a path such as /usr/bin/gdb-multiarch is, or %s' % (text, THIS_GDB))


_RECOVERY_SETTINGS: Tuple[Setting, ...] = (
    Setting(
        "recovery",
        "how far the past's registers and memory are worked out",
        "exact: what follows from the trace, the program and the halted core.\n"
        "assumed: also what holds if calls and handlers keep SP and r4 to r11, and call frame information is right.\n"
        "off: nothing.  Values that are not exact are marked, except by GDB's own commands in the past.",
        "assumed",
        tuple(LIMITS),
    ),
    Setting(
        "recovery-limit",
        "instructions before the end whose values are worked out",
        "a number; unlimited or 0: all.  The newest 50,000 are worked out at the first look, and older ones when they\n"
        "are asked for, which takes a second for each 10,000.  Of still older ones a few around the place are.",
        str(MOST),
    ),
    Setting(
        BACKGROUND,
        "whether values of the past are worked out while the prompt is free",
        "on: the first answer about a place comes from the instructions around it, and says so; the rest is worked\n"
        "out while you read and type.  off: a command waits until all is worked out that it may show.",
        "on",
        ("on", "off"),
    ),
    Setting(
        "volatile",
        "memory that others write too",
        "none, or ADDRESS,SIZE of each piece, such as 0x20000400,64: the trace does not show what DMA or another core\n"
        "writes.",
        NO_REGIONS,
        (NO_REGIONS,),
        _check_regions,
    ),
    Setting(
        "gdb",
        "the GDB that prints values of the past",
        "auto: this one's own program, started a second time.  Or the path of another.",
        THIS_GDB,
        (THIS_GDB,),
        _check_path,
    ),
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
    *OPTION_SETTINGS,
    Setting(
        "anchor-memory",
        "whether the RAM that the program uses is read before it runs on",
        "on: at every resume.  Past memory can then be worked out after the halt too, and forwards from the resume.\n"
        "off: only what is asked for while the target is halted is read.",
        "off",
        ("off", "on"),
    ),
    *_RECOVERY_SETTINGS,
    Setting(
        FAULT_HINT,
        "whether a halt in the handler of a fault says which fault it is",
        "on: one line, from the fault status registers, such as what kind of access failed.  off: none.",
        "on",
        ("on", "off"),
    ),
    Setting(
        "reverse",
        'whether "etm connect" gives GDB reverse execution',
        "on: reverse-step, reverse-continue and similar commands go back through what was traced, and other commands\n"
        'see the past.  off: GDB talks to pyOCD\'s server directly, from the next "etm connect" on.',
        "on",
        ("on", "off"),
    ),
    Setting(
        HISTORY_LIMIT,
        "how much the one history of a connection holds",
        "instructions, the size of their trace, or both; unlimited: all.  To the size of each capture's trace 64 KiB\n"
        "are added.  When there is more, the oldest captures are left out, and the instructions numbered anew.",
        DEFAULT_LIMIT,
        ("unlimited",),
        _check_limit,
    ),
    Setting(
        COUNTS,
        "whether GDB's own list and disassemble show how often code ran",
        'on: in the margin of disassemble, x/i, list, and the source window; "-" was not seen to run in the history.\n'
        'list shows it where GDB styles sources ("set style enabled on"); disassemble needs GDB 13.  off: as ever.',
        "off",
        ("off", "on"),
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


def checked(setting: Setting, text: str) -> str:
    """Check a setting's value, and convert it to the stored form.

    :raises CommandError: It is none.
    """
    if text in setting.choices:
        return text
    if setting.check is not None:
        try:
            setting.check(text)
        except CommandError as error:
            raise CommandError("%s: %s" % (setting.name, error))
        return text
    if setting.choices:
        raise CommandError('%s: "%s" is none of: %s' % (setting.name, text, ", ".join(setting.choices)))
    return "unlimited" if text == "unlimited" or not count(text) else str(count(text))


def value_of(session: DebugSession, setting: Setting) -> str:
    """Give what a setting is."""
    return session.settings.get(setting.name, setting.default)


def _named(name: str) -> Setting:
    names = [setting.name for setting in SETTINGS]
    if name not in names:
        near = get_close_matches(name, names, n=3)
        raise CommandError('"%s" is no setting; there are: %s' % (name, ", ".join(near or names)))
    return SETTINGS[names.index(name)]


def _suggested(session: DebugSession, before: List[str], word: str) -> Iterable[str]:
    names = [setting.name for setting in SETTINGS]
    if not before:
        return names
    return SETTINGS[names.index(before[0])].choices if len(before) == 1 and before[0] in names else ()


NAME = Argument("NAME", str, "the setting", suggest=_suggested)
WORDS = Argument("VALUE", str, "what it is to be", many=True, suggest=_suggested)


def run_set(session: DebugSession, values: Values) -> Iterator[str]:
    """Change a setting."""
    name = values.get(NAME)
    if name is None:
        yield from run_show(session, values)
        return
    setting, text = _named(name), " ".join(values.all(WORDS))
    if not text:
        details = setting.details.partition("\n")[0].rstrip(".")
        known = ", ".join(setting.choices) if setting.choices and setting.check is None else details
        raise CommandError("etm set %s needs a value: %s" % (name, known))
    change_setting(session, name, checked(setting, text))


def run_show(session: DebugSession, values: Values) -> Iterator[str]:
    """List settings."""
    name = values.get(NAME)
    chosen = SETTINGS if name is None else (_named(name),)
    yield from align([[setting.name, value_of(session, setting), setting.summary] for setting in chosen])


SET = Command(
    "set",
    "Change a setting.",
    run_set,
    details='In GDB "set etm NAME VALUE" does the same, and "help set etm NAME" says what a setting is.\n'
    'Settings of the trace unit take effect at the next "etm start", which reports what the unit cannot do.',
    arguments=(NAME, WORDS),
    examples=(
        ("set cycle-count 16", "at least 16 cycles between two counts"),
        ("set branch-broadcast dispatch", "the targets of all branches of one function"),
        ("set context id", "which Context ID each instruction had"),
    ),
)

SHOW = Command(
    "show",
    "List the settings, or say what one of them is.",
    run_show,
    arguments=(NAME,),
    examples=(("show", "all of them"), ("show sync-period", "one")),
)
