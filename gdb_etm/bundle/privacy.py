"""What is left out of a bundle, and out of its texts.

Accesses are kept of pages where trace hardware is, and of no other: a word of memory may be anybody's.  Texts of errors
may name a file: paths, the user's name and the machine's are taken out of every text.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from typing import Any, Iterable, List, Sequence, Set, Tuple

from gdb_etm.access.recording import DEBUG_PORT, PortAccess, RecordedStep

_PATH = re.compile(r"(?<![\w.])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+~-]+){2,}[/\\]?")
_REST = re.compile(r"\(path\)(?:\(path\)|[/\\][\w.@+~-]+)+")
# Names shorter than this are words of the language, or of the chip.
_SHORTEST = 3
# Names that say nothing of who it is, and stand in texts of their own.
_COMMON = {"root", "user", "arm", "gdb", "localhost"}
# Steps whose accesses say where components are; of these pages accesses are kept.
_OF_TRACE = ("connect", "vendor enable", "start")
# Steps that read a core's registers.
_OF_CORE = "core registers"
_PAGE = 12


class Scrubber:
    """Takes paths and names out of texts.

    :param files: Paths that are known, such as the program's.
    """

    def __init__(self, files: Iterable[str] = ()) -> None:
        known = {os.path.expanduser("~"), os.getcwd(), *files, *map(os.path.abspath, files)}
        self._paths = sorted((each for each in known if len(each) > _SHORTEST), key=len, reverse=True)
        names = [each for each in _own_names() if len(each) >= _SHORTEST and each.lower() not in _COMMON]
        self._names = re.compile(r"(?<!\w)(?:%s)(?!\w)" % "|".join(map(re.escape, names)), re.I) if names else None

    def text(self, text: str) -> str:
        """Give a text without them."""
        for path in self._paths:
            text = text.replace(path, "(path)")
        text = _REST.sub("(path)", _PATH.sub("(path)", text))
        return text if self._names is None else self._names.sub("(name)", text)

    def within(self, value: Any) -> Any:
        """Give what JSON has with no such text in it."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.within(each) for each in value]
        if isinstance(value, dict):
            return {key: self.within(each) for key, each in value.items()}
        return value


def public_steps(steps: Sequence[RecordedStep], with_program: bool) -> Tuple[List[RecordedStep], int]:
    """Leave out what may be the program's.

    :returns: The steps without it, and how many accesses were left out.
    """
    if with_program:
        return list(steps), 0
    pages: Set[Tuple[int, int]] = set()
    for step in steps:
        if step.name in _OF_TRACE:
            pages.update((access.port, access.address >> _PAGE) for access in step.accesses)
    kept: List[RecordedStep] = []
    left = 0
    for step in steps:
        if step.name == _OF_CORE:
            left += len(step.accesses)
            continue
        public = RecordedStep(step.name, step.asked)
        public.error, public.is_cut = step.error, step.is_cut
        public.accesses = [each for each in step.accesses if _is_public(each, pages)]
        left += len(step.accesses) - len(public.accesses)
        kept.append(public)
    return kept, left


def _is_public(access: PortAccess, pages: Set[Tuple[int, int]]) -> bool:
    return access.operation == DEBUG_PORT or (access.port, access.address >> _PAGE) in pages


def _own_names() -> List[str]:
    # The user's and the machine's.
    names = [os.path.basename(os.path.expanduser("~")), socket.gethostname(), socket.gethostname().partition(".")[0]]
    try:
        names.append(getpass.getuser())
    except (OSError, KeyError, ImportError):
        pass  # a user without a name
    return names
