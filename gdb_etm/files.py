"""Safe reading of files made by others, and writing beside them.

Files that are opened for reading neither wait nor are too large.

A FIFO would hold up the debugger until somebody writes to it, a device may do anything when it is opened, and a size
that a file states about itself decides how much memory is asked for.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import Optional

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

# A file is read over so many times, and so many bytes more: symbols and their names are read piece by piece.
_TIMES, _SPARE = 16, 1 << 20


class RegularFile(io.BufferedReader):
    """File with a bounded size and no waiting reads.

    :param raw: The open file.
    :param size: How many bytes it holds.
    """

    def __init__(self, raw: io.FileIO, size: int) -> None:
        super().__init__(raw)
        self.__size = size
        self.__left = size * _TIMES + _SPARE

    def read(self, size: Optional[int] = -1) -> bytes:
        """Read up to ``size`` bytes; all that is left for -1.

        :raises OSError: Its stated content would be read over and over.
        """
        # Python makes room for as many bytes as are asked for, and reads then.
        found = super().read(size if size is None or size <= self.__size else self.__size)
        self.__left -= len(found)
        if self.__left < 0:
            message = "its parts overlap: %d bytes were read more than %d times"
            raise OSError(errno.EFBIG, message % (self.__size, _TIMES))
        return found


def open_regular(path: str, most: int) -> RegularFile:
    """Open a file for reading, as bytes.

    :param most: The most bytes that it may hold.
    :raises OSError: It cannot be opened, is larger, or is no regular file; ``strerror`` is made for the user.
    """
    # Looked at before it is opened, because opening a device may do something, and after it, because names change.
    _check(os.stat(path), path, most)
    raw = os.open(path, _FLAGS)
    try:
        size = _check(os.fstat(raw), path, most)
        return RegularFile(io.FileIO(raw, "rb"), size)
    except BaseException:
        os.close(raw)
        raise


def read_regular(path: str, most: int) -> bytes:
    """Read a whole file.

    :param most: The most bytes that it may hold.
    :raises OSError: As for :func:`open_regular`.
    """
    with open_regular(path, most) as file:
        return file.read(most)


def through_own_links(path: str, flags: int) -> int:
    """Open a file for writing, as the ``opener`` of :func:`open`.

    Where others may write, such as in a folder below ``/tmp``, a link of theirs may lead to any file of this user's.

    :raises OSError: It is a link of another user's, but for root; or it cannot be opened.
    """
    follows = False
    if hasattr(os, "geteuid") and os.path.islink(path):
        follows = os.lstat(path).st_uid in (os.geteuid(), 0)
        if not follows:
            raise OSError(errno.ELOOP, "it is a link of another user's", path)
    # Names change in between.
    return os.open(path, flags if follows else flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def size_of(file: RegularFile) -> int:
    """Give the bytes that a file holds."""
    return os.fstat(file.fileno()).st_size


def _check(state: os.stat_result, path: str, most: int) -> int:
    if not stat.S_ISREG(state.st_mode):
        kind = next((name for matches, name in _KINDS if matches(state.st_mode)), "something else")
        raise OSError(errno.EINVAL, "it is %s, not a file" % kind, path)
    if state.st_size > most:
        raise OSError(errno.EFBIG, "it holds %d bytes; at most %d are read" % (state.st_size, most), path)
    return state.st_size
