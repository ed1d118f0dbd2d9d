"""Does what GDB's user types after ``etm``, ``set etm`` and ``show etm``."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Callable, Iterable, Iterator, List, Tuple

import gdb

from gdb_etm.commands.catalogue import held_by_gdb
from gdb_etm.commands.declare import Command, Setting
from gdb_etm.commands.overview import overview
from gdb_etm.commands.parse import complete, file_names, parse, words_of
from gdb_etm.commands.registry import COMMANDS, SETTINGS, STYLERS
from gdb_etm.commands.settings import checked, value_of
from gdb_etm.errors import EtmError, harmless
from gdb_etm.gdbui.charset import charset_text
from gdb_etm.gdbui.places import count_calls
from gdb_etm.gdbui.styles import GdbStyles
from gdb_etm.session.disconnecting import error_text, settle
from gdb_etm.session.session import DebugSession
from gdb_etm.session.settings import keep_setting

_LINE_TYPED = re.compile(r"^ *([0-9]+)  ", re.MULTILINE)


class Dispatch:
    """What GDB's commands and parameters call.

    :param session: What the commands work on.
    :param follow: Gives GDB's parameter of a name the value that it now has.
    :param changed: Called with the name of a setting that was changed.
    """

    def __init__(
        self, session: DebugSession, follow: Callable[[str, object], None], changed: Callable[[str], None]
    ) -> None:
        self._session = session
        self._follow = follow
        self._changed = changed
        self._commands = {command.name: command for command in COMMANDS}
        self._settings = {setting.name: setting for setting in SETTINGS}
        self._typed = _TypedCommands()
        session.on_setting = self._tell

    def overview(self) -> None:
        """Print what ``etm`` alone prints."""
        self._show(lambda: overview(self._session, COMMANDS))

    def run(self, name: str, text: str, from_tty: bool) -> None:
        """Do a command.

        :param text: What was typed after its name.
        """
        command, background = self._commands[name], self._session.background
        # A script waits for its answers, which begins at a prompt, too.
        background.is_attended = background.is_attended and from_tty
        goes_on = self._typed.is_repeated(command, text) if from_tty else False

        def lines() -> Iterable[str]:
            values = parse(command, words_of(command, text))
            values.goes_on = goes_on
            # Before the styles, which are commands to the terminal.
            lines = map(harmless, command.run(self._session, values))
            styler = STYLERS.get(name)
            # To a script, which takes the text, and to a file there are no styles.
            if styler is None or not from_tty or not GdbStyles.are_on():
                return lines
            styles = GdbStyles()
            return (styler(line, styles.paint) for line in lines)

        self._show(lines)

    def complete(self, name: str, text: str, word: str) -> List[str]:
        """Offer what may stand in the place of a command's last word.

        :param text: What was typed after its name.
        :param word: Its end, as GDB breaks words.
        """
        # GDB breaks words at ":" and more; our words end at blanks only.
        whole = "" if not text or text[-1].isspace() else text.split()[-1]
        with self._session.background.held():
            offers, files = complete(self._session, self._commands[name], text, whole)
        if files and not offers:
            offers = file_names(whole)
        skip = len(whole) - len(word)
        return [offer[skip:] for offer in offers]

    def set(self, name: str, value: object) -> None:
        """Change a setting to what GDB has for it."""
        try:
            keep_setting(self._session, name, _given(self._settings[name], value))
        except EtmError as error:
            self._tell(name)
            raise gdb.GdbError(error_text(self._session, error))
        self._changed(name)

    def value(self, name: str) -> str:
        """Give what a setting is."""
        return value_of(self._session, self._settings[name])

    def object_of(self, name: str, words: List[str]) -> object:
        """Give a command's object, for programs.

        :param words: What follows its name.
        """
        from gdb_etm.commands.value_objects import OBJECTS

        command = self._commands[name]
        words = words_of(command, " ".join(words)) if command.is_raw else words
        with _told(self._session), self._session.background.held():
            settle(self._session)
            return OBJECTS[name](self._session, parse(command, words))

    def count_calls(self, name: str) -> int:
        """Count the calls of a function in the history."""
        with _told(self._session):
            return count_calls(self._session, name)

    def _tell(self, name: str) -> None:
        self._follow(name, held_by_gdb(self._settings[name], self.value(name)))
        self._changed(name)

    def _show(self, run: Callable[[], Iterable[str]]) -> None:
        with _told(self._session), self._session.background.held():
            settle(self._session)
            for line in run():
                gdb.write(line + "\n")


@contextmanager
def _told(session: DebugSession) -> Iterator[None]:
    # The one place where errors become GDB's: one line, no traceback.
    try:
        yield
    except EtmError as error:
        raise gdb.GdbError(error_text(session, error))
    except gdb.error as error:
        raise gdb.GdbError(str(error))
    except UnicodeDecodeError as error:
        raise gdb.GdbError(charset_text(error))
    except KeyboardInterrupt as stop:
        raise gdb.GdbError(("Quit %s" % stop).rstrip())


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


def _given(setting: Setting, value: object) -> str:
    # As the session holds it; to Python a number without a limit is None.
    if setting.check is not None:
        return checked(setting, str(value or "").strip())
    return "unlimited" if value is None else str(value)
