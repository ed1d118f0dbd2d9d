"""Declarations of commands, arguments and settings, as values.

GDB, the shell and the tests read the same declarations; help, completion and argument checking come
from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterable, List, Optional, Tuple, TypeVar

from gdb_etm.commands.guide import page_of

if TYPE_CHECKING:
    from gdb_etm.session.session import DebugSession

T = TypeVar("T")


class Completion(Enum):
    """What completion offers for an argument, beside its fixed choices."""

    NOTHING = "nothing"
    # A file or folder name.
    FILE = "file"


@dataclass(frozen=True)
class Argument(Generic[T]):
    """One argument: an option if its name begins with ``-``, else positional."""

    # As typed (``"--elf"``) or as shown in the usage (``"RANGE"``).
    name: str
    # Makes the value of the word; raises CommandError or ValueError with a reason.
    convert: Callable[[str], T]
    # One line, without a full stop.
    help: str
    # Word for the value of an option in the usage.
    metavar: str = ""
    # Values offered by completion; others may be right too.
    choices: Tuple[str, ...] = ()
    # Finds more values to offer: from the session, the words before and the word that is being completed.
    suggest: Optional[Callable[["DebugSession", List[str], str], Iterable[str]]] = None
    completion: Completion = Completion.NOTHING
    required: bool = False
    # Whether it may be given more than once (options) or takes all words left (by position).
    many: bool = False
    # Whether it is an option without a value; its value is then what ``convert`` makes of ``""``.
    flag: bool = False

    @property
    def is_option(self) -> bool:
        """Whether it is an option, not an argument by position."""
        return self.name.startswith("-")


class Values:
    """The typed arguments of one call.

    :param modifiers: The letters after ``/``, in the order typed.
    """

    def __init__(self, modifiers: str = "") -> None:
        self.modifiers = modifiers
        # Whether the user typed Enter alone, so that the command goes on where it ended.
        self.goes_on = False
        self._values: Dict[str, List[Any]] = {}

    def add(self, argument: Argument[T], value: T) -> None:
        """Keep one value of ``argument``."""
        self._values.setdefault(argument.name, []).append(value)

    def get(self, argument: Argument[T]) -> Optional[T]:
        """Give the value of ``argument``; None when it was not typed."""
        found: Optional[T] = self._values.get(argument.name, [None])[-1]
        return found

    def all(self, argument: Argument[T]) -> List[T]:
        """Give every value of ``argument``, in the order typed."""
        return list(self._values.get(argument.name, []))


@dataclass(frozen=True)
class Command:
    """A command after ``etm``."""

    name: str
    # One line that ends in a full stop.
    summary: str
    # Does it and gives the lines to print; raises EtmError.
    run: Callable[["DebugSession", Values], Iterable[str]]
    # Paragraphs of help after the summary.
    details: str = ""
    arguments: Tuple[Argument[Any], ...] = ()
    # Letters that may follow ``/``, and what each does.
    modifiers: Dict[str, str] = field(default_factory=dict)
    # Command line after ``etm``, and what it does.
    examples: Tuple[Tuple[str, str], ...] = ()
    # Whether what follows modifiers and options is one argument, quotes and all; any letters may follow ``/``.
    is_raw: bool = False


@dataclass(frozen=True)
class Setting:
    """A parameter under ``set etm`` and ``show etm``."""

    name: str
    # What it is, as a noun phrase: GDB's "Set ..." and "Show ...".
    summary: str
    details: str
    default: str
    # Allowed words; empty for a count, where ``"unlimited"`` is allowed as well.
    choices: Tuple[str, ...] = ()
    # Where other words than the choices are allowed: raises CommandError for those that are not.
    check: Optional[Callable[[str], object]] = None


def usage(command: Command) -> str:
    """Write a command's usage line, such as ``etm history [/mrsf] [RANGE]``."""
    words = ["etm", command.name]
    if command.modifiers:
        words.append("[/%s]" % "".join(command.modifiers))
    for argument in command.arguments:
        word = argument.name
        if argument.is_option and argument.metavar:
            word += " " + argument.metavar
        if argument.many:
            word += "..."
        words.append(word if argument.required else "[%s]" % word)
    return " ".join(words)


def help_text(command: Command) -> str:
    """Write a command's whole help: summary, usage, arguments, modifiers, examples, page."""
    parts = [command.summary, "Usage: " + usage(command)]
    if command.details:
        parts.append(command.details)
    rows = [("/" + letter, what) for letter, what in command.modifiers.items()]
    rows += [((a.name + " " + a.metavar).strip(), a.help) for a in command.arguments]
    if rows:
        parts.append(_table(rows))
    if command.examples:
        parts.append("Examples:\n" + _table([("etm " + line, what) for line, what in command.examples]))
    parts.append('The guide: "gdb-etm guide %s" in a shell.' % page_of(command.name))
    return "\n\n".join(parts)


def _table(rows: List[Tuple[str, str]]) -> str:
    width = max(len(left) for left, _ in rows)
    return "\n".join("  %-*s  %s" % (width, left, right) for left, right in rows)
