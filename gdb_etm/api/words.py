"""Keyword arguments as the words of a command: scripts and commands take the same options, checked in one place."""

from __future__ import annotations

import os
from typing import Any, Iterator, List, Mapping, Sequence, Tuple, Union

from gdb_etm.commands.declare import Argument, Command
from gdb_etm.errors import CommandError

Files = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
"""One file's path, or several."""
Range = Tuple[int, int]
"""First and last byte address, both included."""


def words(command: Command, given: Mapping[str, Any]) -> List[str]:
    """Write keyword arguments as they would be typed after a command's name.

    :param given: Values by the options' names without ``--`` and with ``_`` for ``-``; None, False and empty lists are
        not written.
    :raises CommandError: A value cannot be written.
    """
    options = {argument.name[2:].replace("-", "_"): argument for argument in command.arguments if argument.is_option}
    return [word for name, value in given.items() for word in _of(options[name], value)]


def _of(option: Argument[Any], value: Any) -> Iterator[str]:
    if value is None or value is False:
        return
    if option.flag:
        yield option.name
        return
    several = option.many and isinstance(value, (list, tuple)) and not is_range(value)
    for one in value if several else [value]:
        yield "%s=%s" % (option.name, _text(option, one))


def is_range(value: Any) -> bool:
    """Tell whether a value is a pair of addresses."""
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, int) for end in value)


def _text(option: Argument[Any], value: Any) -> str:
    if is_range(value):
        return "0x%x-0x%x" % value if min(value) >= 0 else "%d-%d" % value
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise CommandError("%s: %r is none of: a number, a text, a pair of addresses" % (option.name, value))
