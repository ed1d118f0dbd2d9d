"""From the words a user typed to a command's :class:`~gdb_etm.commands.declare.Values`."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Any, List, Match, Optional, Sequence, Tuple

from gdb_etm.commands.declare import Argument, Command, Completion, Values, usage
from gdb_etm.errors import CommandError

if TYPE_CHECKING:
    from gdb_etm.session.session import DebugSession


# An option with or without a value, as the last words.
_BEHIND = re.compile(r"\s+(--[a-z-]+)(?:(?:=|\s+)(\S+))?\Z")
_FORMAT = re.compile(r"(-?[0-9]+)?[a-z]*\Z")


def split(text: str) -> List[str]:
    """Split a line into words as a shell would, quotes included.

    :raises CommandError: A quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CommandError("%s in: %s" % (str(error).lower(), text))


def words_of(command: Command, text: str) -> List[str]:
    """Split what follows a command's name into words; an expression stays whole.

    Options are before or behind it.

    :raises CommandError: A quote is not closed.
    """
    if not command.is_raw:
        return split(text)
    words: List[str] = []
    rest = text.strip()
    while rest.startswith("/") or _names_option(command, rest):
        option = rest.split(None, 1)[0]
        takes_next = option.startswith("--") and "=" not in option and not _option(command, option).flag
        parts = rest.split(None, 2 if takes_next else 1)
        taken = 2 if takes_next else 1
        words += parts[:taken]
        rest = parts[taken] if len(parts) > taken else ""
    behind = _behind(command, rest)
    while behind:
        words += behind.groups("")[: 1 + bool(behind.group(2))]
        rest = rest[: behind.start()]
        behind = _behind(command, rest)
    return words + ([rest] if rest else [])


def _behind(command: Command, rest: str) -> Optional[Match[str]]:
    # An option behind an expression, where it means nothing in any language.
    found = _BEHIND.search(rest)
    if found is None or not _names_option(command, found.group(1)):
        return None
    return found if _option(command, found.group(1)).flag != bool(found.group(2)) else None


def parse(command: Command, words: Sequence[str]) -> Values:
    """Check and convert the words after a command's name.

    :raises CommandError: A word is unknown, missing or wrong; the message ends with the usage where that helps.
    """
    rest = list(words)
    values = Values(_modifiers(command, rest))
    positions = [argument for argument in command.arguments if not argument.is_option]
    while rest:
        word = rest.pop(0)
        if _names_option(command, word) or word.startswith("--") and not command.is_raw:
            name, equals, text = word.partition("=")
            option = _option(command, name)
            if option.flag and equals:
                raise CommandError("%s takes no value" % name)
            if not equals and not option.flag:
                if not rest:
                    values_text = " | ".join(option.choices) or "%s %s" % (name, option.metavar)
                    raise CommandError("%s needs a value: %s" % (name, values_text))
                text = rest.pop(0)
            if not option.many and values.get(option) is not None:
                raise CommandError("%s is given twice" % name)
            values.add(option, _convert(option, text))
        elif positions:
            argument = positions[0] if positions[0].many else positions.pop(0)
            values.add(argument, _convert(argument, word))
        else:
            wrong = "%s is unknown here" if word.startswith("-") else '"%s" is one argument too many'
            raise CommandError("%s. Usage: %s" % (wrong % word, usage(command)))
    for argument in command.arguments:
        if argument.required and values.get(argument) is None:
            raise CommandError("%s is missing. Usage: %s" % (argument.name, usage(command)))
    return values


def complete(session: DebugSession, command: Command, text: str, word: str) -> Tuple[List[str], bool]:
    """Find what may stand at the end of a line.

    :param session: What it depends on.
    :param text: Everything typed after the command's name.
    :param word: The part of it that is being completed; may be empty.
    :returns: The words that fit, and whether a file name fits too.
    """
    before = text[: len(text) - len(word)].split()
    if word.startswith("/") and command.modifiers and not command.is_raw and all(one.startswith("/") for one in before):
        return [word + letter for letter in command.modifiers if letter not in word + "".join(before)], False
    argument = _expected(command, before)
    offers: List[str] = []
    if word.startswith("-") or (not word and not _is_value_of_option(command, before)):
        offers = [a.name for a in command.arguments if a.is_option and (a.many or a.name not in before)]
    files = False
    if argument is not None:
        suggested = list(argument.suggest(session, before, word)) if argument.suggest is not None else []
        offers = [*argument.choices, *suggested] + (offers if not argument.is_option else [])
        files = argument.completion is Completion.FILE and not word.startswith("--")
    return [offer for offer in offers if offer.startswith(word)], files


def file_names(word: str) -> List[str]:
    """Complete the name of a file or folder.

    Of a single folder, list what is in it.

    GDB's own completion of file names takes all words of a line for one name.
    """
    folder, name = os.path.split(word)
    try:
        with os.scandir(os.path.expanduser(folder) or os.curdir) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(name))
    except OSError:
        return []
    offers = [os.path.join(folder, entry) + (os.sep if is_folder else "") for entry, is_folder in found]
    if len(offers) == 1 and offers[0] != word and found[0][1]:
        return file_names(offers[0]) or offers
    return offers


def flag(name: str, about: str) -> Argument[bool]:
    """Declare an option without a value."""
    return Argument(name, lambda text: True, about, flag=True)


def choice(name: str, words: Tuple[str, ...], about: str, metavar: str = "") -> Argument[str]:
    """Declare an argument that is one of some words."""

    def convert(text: str) -> str:
        if text not in words:
            raise CommandError('"%s" is none of: %s' % (text, ", ".join(words)))
        return text

    return Argument(name, convert, about, metavar, choices=words)


def path(name: str, about: str, metavar: str = "", required: bool = False, many: bool = False) -> Argument[str]:
    """Declare an argument that is the path of a file or folder."""
    return Argument(name, os.path.expanduser, about, metavar, completion=Completion.FILE, required=required, many=many)


def _modifiers(command: Command, rest: List[str]) -> str:
    letters = ""
    while command.modifiers and rest and rest[0].startswith("/"):
        letters += rest.pop(0)[1:]
    if command.is_raw:
        if not _FORMAT.match(letters):
            raise CommandError("/%s is no format. Usage: %s" % (letters, usage(command)))
        return letters
    for letter in letters:
        if letter not in command.modifiers:
            raise CommandError("/%s is unknown here. Usage: %s" % (letter, usage(command)))
    return letters


def _names_option(command: Command, text: str) -> bool:
    # In an expression "-" and "--" are operators.
    name = (text.split(None, 1) or [""])[0].partition("=")[0]
    return any(argument.name == name for argument in command.arguments if argument.is_option)


def _option(command: Command, name: str) -> Argument[Any]:
    for argument in command.arguments:
        if argument.name == name:
            return argument
    raise CommandError("%s is unknown here. Usage: %s" % (name, usage(command)))


def _convert(argument: Argument[Any], text: str) -> Any:
    try:
        return argument.convert(text)
    except (CommandError, ValueError) as error:
        raise CommandError("%s: %s" % (argument.name, error))


def _is_value_of_option(command: Command, before: List[str]) -> bool:
    return bool(before) and any(a.name == before[-1] for a in command.arguments if a.is_option and not a.flag)


def _expected(command: Command, before: List[str]) -> Optional[Argument[Any]]:
    # The argument whose value comes after the words ``before``.
    positions = [a for a in command.arguments if not a.is_option]
    words = iter(before)
    for word in words:
        if word.startswith("-") and "=" not in word:
            if any(a.flag for a in command.arguments if a.name == word):
                continue
            if next(words, None) is None:
                return next((a for a in command.arguments if a.name == word), None)
        elif positions and not word.startswith("/") and not positions[0].many:
            positions.pop(0)
    return positions[0] if positions else None
