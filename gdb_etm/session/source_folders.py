"""Folders whose sources may go into a page for others.

A program names its source files as it likes: one that a stranger made may name any file of the user's.
"""

from __future__ import annotations

import os
import stat
from typing import Dict, Iterable, Iterator, Sequence

# What is at the top of a checkout, or of a workspace of several.
_MARKS = (".git", ".hg", ".svn", ".west", ".repo")
# Folders of a system's packages, such as those of a compiler's headers.
_PACKAGES = ("/usr", "/opt")


class SourceFolders:
    """Decides which source files may be shown to others.

    Those in the program's folder, in the current one, and in the checkouts around them; what everybody on this machine
    may read of its packages; and those in folders that the user named.  No hidden file is.

    :param programs: The ELF files.
    :param named: Folders that the user named.
    """

    def __init__(self, programs: Sequence[str], named: Sequence[str] = ()) -> None:
        begin = [os.getcwd(), *(os.path.dirname(os.path.abspath(path)) for path in programs)]
        self._folders = [one for folder in begin for one in _around(os.path.realpath(folder))]
        self._folders += [os.path.realpath(folder) for folder in named]
        self._packages = [os.path.realpath(folder) for folder in _PACKAGES]
        self._refusals: Dict[str, str] = {}

    def refusal(self, file: str) -> str:
        """Say why a file is not shown; empty where it is.

        :param file: As debug information names it.
        """
        if file not in self._refusals:
            self._refusals[file] = self._refusal(file)
        return self._refusals[file]

    def _refusal(self, file: str) -> str:
        try:
            path = os.path.realpath(file)
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            return "the source is not there"
        parts = [os.path.relpath(path, folder) for folder in self._folders if _is_within(path, folder)]
        if mode & stat.S_IROTH:
            parts += [os.path.relpath(path, folder) for folder in self._packages if _is_within(path, folder)]
        if not parts:
            return "the source is in no folder of the program's; --source DIR shows it"
        if all(_is_hidden(part) for part in parts):
            return "the source is a hidden file"
        return ""


def _around(folder: str) -> Iterator[str]:
    # A folder, and the outermost checkout that it is in.  All that the home folder holds is too much, also where it is
    # a checkout.
    home = os.path.realpath(os.path.expanduser("~"))
    around = [one for one in _upwards(folder) if not _is_within(home, one)]
    yield from around[:1]
    yield from [one for one in around if any(os.path.exists(os.path.join(one, mark)) for mark in _MARKS)][-1:]


def _upwards(folder: str) -> Iterable[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in path.split(os.sep))
