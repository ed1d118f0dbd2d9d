"""Declared commands and settings as GDB's own."""

from __future__ import annotations

from typing import Callable, Iterable, List, Optional, Sequence

import gdb

from gdb_etm.commands.declare import Command, Setting, help_text
from gdb_etm.commands.overview import INTRODUCTION
from gdb_etm.commands.parse import complete, file_names, parse, words_of
from gdb_etm.commands.session import Session
from gdb_etm.commands.settings import checked, value_of
from gdb_etm.errors import CommandError, EtmError

_PREFIX = "etm"


class PrefixCommand(gdb.Command):
    """``etm`` itself: what it can do and how it stands.

    :param session: What the commands work on.
    :param commands: The commands after it.
    """

    def __init__(self, session: Session, commands: Sequence[Command]) -> None:
        self._session = session
        self._commands = commands
        self.__doc__ = INTRODUCTION
        super().__init__(_PREFIX, gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, text: str, from_tty: bool) -> None:
        """Print the overview; GDB comes here for unknown subcommands too."""
        if text.strip():
            raise gdb.GdbError('"etm %s" is no command. Try "help etm".' % text.split()[0])
        _show(self._session, lambda: self._session.overview(self._commands))


class _GdbCommand(gdb.Command):
    # One declared command; GDB reads the help from __doc__ when it is made.

    def __init__(self, session: Session, command: Command) -> None:
        self._session = session
        self._command = command
        self.__doc__ = help_text(command)
        super().__init__("%s %s" % (_PREFIX, command.name), gdb.COMMAND_RUNNING)

    def invoke(self, text: str, from_tty: bool) -> None:
        command = self._command
        _show(self._session, lambda: command.run(self._session, parse(command, words_of(command, text))))

    def complete(self, text: str, word: Optional[str]) -> List[str]:
        # GDB asks twice: first, without a word, how words are to be broken; it keeps its own way.
        if word is None:
            return []
        # GDB breaks words at ":" and more; our words end at blanks only.
        whole = "" if not text or text[-1].isspace() else text.split()[-1]
        offers, files = complete(self._session, self._command, text, whole)
        if files and not offers:
            offers = file_names(whole)
        skip = len(whole) - len(word)
        return [offer[skip:] for offer in offers]


def register_command(session: Session, command: Command) -> None:
    """Make a declared command GDB's ``etm NAME``."""
    _GdbCommand(session, command)


def register_settings(session: Session, settings: Sequence[Setting]) -> None:
    """Make declared settings GDB's ``set etm NAME`` and ``show etm NAME``."""
    for verb in ("set", "show"):
        _SettingPrefix(verb, settings)
    made = {setting.name: _register_setting(session, setting) for setting in settings}
    session.on_setting = lambda name: made[name].follow()


def _register_setting(session: Session, setting: Setting) -> _Parameter:
    if setting.check is not None:
        return _Text(session, setting, gdb.PARAM_STRING_NOESCAPE)
    return _Parameter(session, setting, gdb.PARAM_ENUM) if setting.choices else _Count(
        session, setting, gdb.PARAM_UINTEGER)


class _Parameter(gdb.Parameter):
    # A setting with a few allowed words; what counts is the session's value of it.

    def __init__(self, session: Session, setting: Setting, kind: int) -> None:
        self.set_doc, self.show_doc, self.__doc__ = _setting_docs(setting)
        self._session = session
        self._setting = setting
        choices = (setting.choices,) if kind == gdb.PARAM_ENUM else ()
        super().__init__("%s %s" % (_PREFIX, setting.name), gdb.COMMAND_RUNNING, kind, *choices)
        self.follow()

    def follow(self) -> None:
        """Take over the session's value."""
        self.value: object = value_of(self._session, self._setting)

    def get_set_string(self) -> str:
        self._keep(str(self.value))
        return ""

    def _keep(self, value: str) -> None:
        try:
            self._session.keep_setting(self._setting.name, value)
        except EtmError as error:
            raise gdb.GdbError(self._session.explain(error))

    def get_show_string(self, value: str) -> str:
        return "%s is %s." % (_sentence(self._setting), value_of(self._session, self._setting))


class _Text(_Parameter):
    # A setting with more than a few.

    def get_set_string(self) -> str:
        try:
            value = checked(self._setting, str(self.value or "").strip())
        except CommandError as error:
            self.follow()
            raise gdb.GdbError(str(error))
        self._keep(value)
        return ""


class _Count(_Parameter):
    # A setting that is a number; 0 and "unlimited" are None to Python.

    def follow(self) -> None:
        value = value_of(self._session, self._setting)
        self.value = 0 if value == "unlimited" else int(value)

    def get_set_string(self) -> str:
        self._keep("unlimited" if self.value is None else str(self.value))
        return ""


def _setting_docs(setting: Setting) -> List[str]:
    return ["Set %s." % setting.summary, "Show %s." % setting.summary, setting.details]


def _sentence(setting: Setting) -> str:
    return setting.summary[0].upper() + setting.summary[1:]


class _SettingPrefix(gdb.Command):
    # "set etm" and "show etm": all of them, as with GDB's own.

    def __init__(self, verb: str, settings: Sequence[Setting]) -> None:
        self._settings = settings
        self.__doc__ = "%s how gdb_etm works." % verb.capitalize()
        super().__init__("%s %s" % (verb, _PREFIX), gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, text: str, from_tty: bool) -> None:
        if text.strip():
            names = ", ".join(setting.name for setting in self._settings)
            raise gdb.GdbError('"%s" is no setting; there are: %s' % (text.split()[0], names))
        for setting in self._settings:
            gdb.execute("show %s %s" % (_PREFIX, setting.name))


def _show(session: Session, run: Callable[[], Iterable[str]]) -> None:
    # The one place where errors become GDB's: one line, no traceback.
    try:
        session.settle()
        for line in run():
            gdb.write(line + "\n")
    except EtmError as error:
        raise gdb.GdbError(session.explain(error))
    except gdb.error as error:
        raise gdb.GdbError(str(error))
    except KeyboardInterrupt as stop:
        raise gdb.GdbError(("Quit %s" % stop).rstrip())
