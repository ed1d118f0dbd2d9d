"""Commands and settings as GDB's own.

What they do is imported when one is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Sequence

import gdb

from gdb_etm.commands.catalogue import Catalogue, CommandEntry, SettingEntry

if TYPE_CHECKING:
    from gdb_etm.gdbui.dispatch import Dispatch

_PREFIX = "etm"


class Adapter:
    """GDB's ``etm``, ``set etm`` and ``show etm``.

    :param catalogue: What there is.
    :param dispatch: Gives what does it, and imports that when it is first called.
    """

    def __init__(self, catalogue: Catalogue, dispatch: Callable[[], Dispatch]) -> None:
        _Prefix(catalogue.introduction, dispatch)
        for command in catalogue.commands:
            _Command(command, dispatch)
        for short, name in catalogue.abbreviations.items():
            # As an abbreviation it is not offered by completion.
            gdb.execute("alias -a %s %s = %s %s" % (_PREFIX, short, _PREFIX, name), False, True)
        for verb in ("set", "show"):
            _SettingPrefix(verb, catalogue.settings)
        self._parameters: Dict[str, _Parameter] = {}
        for setting in catalogue.settings:
            self._parameters[setting.name] = _Parameter(setting, dispatch)
        _CallsFunction(dispatch)

    def follow(self, name: str, value: object) -> None:
        """Take a setting's value from the session."""
        self._parameters[name].value = value


class _Prefix(gdb.Command):
    # "etm" itself: what it can do and how it stands.

    def __init__(self, introduction: str, dispatch: Callable[[], Dispatch]) -> None:
        self.__dispatch = dispatch
        self.__doc__ = introduction
        super().__init__(_PREFIX, gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, text: str, from_tty: bool) -> None:
        # GDB comes here for unknown subcommands too.
        if text.strip():
            raise gdb.GdbError('"etm %s" is no command. Try "help etm".' % text.split()[0])
        self.__dispatch().overview()


class _Command(gdb.Command):
    # One command; GDB reads the help from __doc__ when it is made.

    def __init__(self, entry: CommandEntry, dispatch: Callable[[], Dispatch]) -> None:
        self.__name = entry.name
        self.__dispatch = dispatch
        self.__doc__ = entry.help
        super().__init__("%s %s" % (_PREFIX, entry.name), gdb.COMMAND_RUNNING)

    def invoke(self, text: str, from_tty: bool) -> None:
        self.__dispatch().run(self.__name, text, from_tty)

    def complete(self, text: str, word: Optional[str]) -> List[str]:
        # GDB asks twice: first, without a word, how words are to be broken; it keeps its own way.
        return [] if word is None else self.__dispatch().complete(self.__name, text, word)


class _Parameter(gdb.Parameter):
    # What counts is the session's value of it.

    def __init__(self, entry: SettingEntry, dispatch: Callable[[], Dispatch]) -> None:
        self.set_doc, self.show_doc, self.__doc__ = entry.set_help, entry.show_help, entry.details
        self.__entry = entry
        self.__dispatch = dispatch
        choices = (entry.choices,) if entry.choices else ()
        super().__init__("%s %s" % (_PREFIX, entry.name), gdb.COMMAND_RUNNING, getattr(gdb, entry.kind), *choices)
        self.value: object = entry.value

    def get_set_string(self) -> str:
        # GDB has put the new value here; the session's own is back when it does not take it.
        self.__dispatch().set(self.__entry.name, self.value)
        return ""

    def get_show_string(self, value: str) -> str:
        return "%s is %s." % (self.__entry.sentence, self.__dispatch().value(self.__entry.name))


class _SettingPrefix(gdb.Command):
    # "set etm" and "show etm": all of them, as with GDB's own.

    def __init__(self, verb: str, settings: Sequence[SettingEntry]) -> None:
        self.__names = [setting.name for setting in settings]
        self.__doc__ = "%s how gdb_etm works." % verb.capitalize()
        super().__init__("%s %s" % (verb, _PREFIX), gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)

    def invoke(self, text: str, from_tty: bool) -> None:
        if text.strip():
            raise gdb.GdbError('"%s" is no setting; there are: %s' % (text.split()[0], ", ".join(self.__names)))
        for name in self.__names:
            gdb.execute("show %s %s" % (_PREFIX, name))


class _CallsFunction(gdb.Function):
    """Count the calls of a function in the history: $_etm_calls("NAME")."""

    def __init__(self, dispatch: Callable[[], Dispatch]) -> None:
        super().__init__("_etm_calls")
        self.__dispatch = dispatch

    def invoke(self, *names: gdb.Value) -> int:
        if len(names) != 1 or names[0].type.strip_typedefs().code not in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_PTR):
            raise gdb.GdbError('$_etm_calls("NAME") has one argument, the name of a function in quotes')
        return self.__dispatch().count_calls(names[0].string())
