"""Declared commands and settings as GDB's own."""

from __future__ import annotations

import re
from typing import Callable, Iterable, List, Optional, Sequence, Tuple

import gdb

from gdb_etm.commands.declare import Command, Setting, help_text
from gdb_etm.commands.overview import INTRODUCTION, overview
from gdb_etm.commands.parse import complete, file_names, parse, words_of
from gdb_etm.commands.registry import ABBREVIATIONS, STYLERS
from gdb_etm.commands.settings import checked, value_of
from gdb_etm.errors import EtmError
from gdb_etm.gdbui.styles import GdbStyles
from gdb_etm.session.disconnecting import error_text, settle
from gdb_etm.session.session import DebugSession
from gdb_etm.session.settings import keep_setting

_PREFIX = "etm"
_LINE_TYPED = re.compile(r"^ *([0-9]+)  ", re.MULTILINE)


class PrefixCommand(gdb.Command):
    """``etm`` itself: what it can do and how it stands.

    :param session: What the commands work on.
    :param commands: The commands after it.
    """

    def __init__(self, session: DebugSession, commands: Sequence[Command]) -> None:
        self.__session = session
        self.__commands = commands
        self.__doc__ = INTRODUCTION
        super().__init__(_PREFIX, gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, text: str, from_tty: bool) -> None:
        """Print the overview; GDB comes here for unknown subcommands too."""
        if text.strip():
            raise gdb.GdbError('"etm %s" is no command. Try "help etm".' % text.split()[0])
        _show(self.__session, lambda: overview(self.__session, self.__commands))


class _GdbCommand(gdb.Command):
    # One declared command; GDB reads the help from __doc__ when it is made.

    def __init__(self, session: DebugSession, command: Command, typed: _TypedCommands) -> None:
        self.__session = session
        self.__command = command
        self.__typed = typed
        self.__doc__ = help_text(command)
        super().__init__("%s %s" % (_PREFIX, command.name), gdb.COMMAND_RUNNING)

    def invoke(self, text: str, from_tty: bool) -> None:
        command, background = self.__command, self.__session.background
        # A script waits for its answers, which begins at a prompt, too.
        background.is_attended = background.is_attended and from_tty
        goes_on = self.__typed.is_repeated(command, text) if from_tty else False

        def run() -> Iterable[str]:
            values = parse(command, words_of(command, text))
            values.goes_on = goes_on
            lines = command.run(self.__session, values)
            styler = STYLERS.get(command.name)
            # To a script, which takes the text, and to a file there are no styles.
            if styler is None or not from_tty or not GdbStyles.are_on():
                return lines
            styles = GdbStyles()
            return (styler(line, styles.paint) for line in lines)

        _show(self.__session, run)

    def complete(self, text: str, word: Optional[str]) -> List[str]:
        # GDB asks twice: first, without a word, how words are to be broken; it keeps its own way.
        if word is None:
            return []
        # GDB breaks words at ":" and more; our words end at blanks only.
        whole = "" if not text or text[-1].isspace() else text.split()[-1]
        with self.__session.background.held():
            offers, files = complete(self.__session, self.__command, text, whole)
        if files and not offers:
            offers = file_names(whole)
        skip = len(whole) - len(word)
        return [offer[skip:] for offer in offers]


class _TypedCommands:
    # Detects Enter: GDB runs the command before once more, and has no line more in the history of its terminal.

    def __init__(self) -> None:
        self._before: Tuple[str, str, int] = ("", "", 0)

    def is_repeated(self, command: Command, text: str) -> bool:
        before, self._before = self._before, (command.name, text, _lines_typed())
        return self._before == before


def _lines_typed() -> int:
    # The last line's number.  Without a terminal there is none: the same command twice in turn is taken for Enter.
    found = _LINE_TYPED.findall(gdb.execute("show commands", False, True))
    return int(found[-1]) if found else 0


def register_commands(session: DebugSession, commands: Sequence[Command]) -> None:
    """Make declared commands GDB's ``etm NAME``, and give them GDB's abbreviations."""
    typed = _TypedCommands()
    for command in commands:
        _GdbCommand(session, command, typed)
    for short, name in ABBREVIATIONS.items():
        # As an abbreviation it is not offered by completion.
        gdb.execute("alias -a %s %s = %s %s" % (_PREFIX, short, _PREFIX, name), False, True)


def register_settings(session: DebugSession, settings: Sequence[Setting]) -> None:
    """Make declared settings GDB's ``set etm NAME`` and ``show etm NAME``."""
    for verb in ("set", "show"):
        _SettingPrefix(verb, settings)
    made = {setting.name: (_Parameter(session, setting), setting) for setting in settings}

    def follow(name: str) -> None:
        parameter, setting = made[name]
        parameter.value = _shown(session, setting)

    session.on_setting = follow


class _Parameter(gdb.Parameter):
    # What counts is the session's value of it.

    def __init__(self, session: DebugSession, setting: Setting) -> None:
        self.set_doc, self.show_doc, self.__doc__ = _setting_docs(setting)
        self.__session = session
        self.__setting = setting
        kind = _kind(setting)
        choices = (setting.choices,) if kind == gdb.PARAM_ENUM else ()
        super().__init__("%s %s" % (_PREFIX, setting.name), gdb.COMMAND_RUNNING, kind, *choices)
        self.value: object = _shown(session, setting)

    def get_set_string(self) -> str:
        try:
            keep_setting(self.__session, self.__setting.name, _given(self.__setting, self.value))
        except EtmError as error:
            self.value = _shown(self.__session, self.__setting)
            raise gdb.GdbError(error_text(self.__session, error))
        return ""

    def get_show_string(self, value: str) -> str:
        return "%s is %s." % (_sentence(self.__setting), value_of(self.__session, self.__setting))


def _kind(setting: Setting) -> int:
    kind = gdb.PARAM_STRING_NOESCAPE
    if setting.check is None:
        kind = gdb.PARAM_ENUM if setting.choices else gdb.PARAM_UINTEGER
    return int(kind)


def _shown(session: DebugSession, setting: Setting) -> object:
    # As GDB holds it: of a number, 0 is without a limit.
    value = value_of(session, setting)
    if _kind(setting) != gdb.PARAM_UINTEGER:
        return value
    return 0 if value == "unlimited" else int(value)


def _given(setting: Setting, value: object) -> str:
    # As the session holds it; to Python a number without a limit is None.
    if setting.check is not None:
        return checked(setting, str(value or "").strip())
    return "unlimited" if value is None else str(value)


def _setting_docs(setting: Setting) -> List[str]:
    return ["Set %s." % setting.summary, "Show %s." % setting.summary, setting.details]


def _sentence(setting: Setting) -> str:
    return setting.summary[0].upper() + setting.summary[1:]


class _SettingPrefix(gdb.Command):
    # "set etm" and "show etm": all of them, as with GDB's own.

    def __init__(self, verb: str, settings: Sequence[Setting]) -> None:
        self.__settings = settings
        self.__doc__ = "%s how gdb_etm works." % verb.capitalize()
        super().__init__("%s %s" % (verb, _PREFIX), gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, text: str, from_tty: bool) -> None:
        if text.strip():
            names = ", ".join(setting.name for setting in self.__settings)
            raise gdb.GdbError('"%s" is no setting; there are: %s' % (text.split()[0], names))
        for setting in self.__settings:
            gdb.execute("show %s %s" % (_PREFIX, setting.name))


def _show(session: DebugSession, run: Callable[[], Iterable[str]]) -> None:
    # The one place where errors become GDB's: one line, no traceback.
    try:
        with session.background.held():
            settle(session)
            for line in run():
                gdb.write(line + "\n")
    except EtmError as error:
        raise gdb.GdbError(error_text(session, error))
    except gdb.error as error:
        raise gdb.GdbError(str(error))
    except KeyboardInterrupt as stop:
        raise gdb.GdbError(("Quit %s" % stop).rstrip())
