"""Private listening sockets for this user's processes.

A socket in a folder of the user's, or a TCP port whose peers are looked up.

Ref: unix(7), "Address format": the path of a socket has 108 bytes with the zero at its end, on BSD and macOS 104.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import tempfile
import time
from typing import Iterator, Optional

from gdb_etm.errors import ConnectError
from gdb_etm.sockets.peers import can_tell, is_own

# Connections that the system keeps until they are accepted, and most that are looked at in a row.
_WAITING = 16
_LONGEST_PATH = 103
_NAME = "gdb"
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_SECONDS = 0.05


class Listener:
    """Listening socket that accepts only this user's processes.

    Made by the functions of this file.

    :param listener: The socket.
    :param where: What reaches it, as GDB's ``target remote`` takes it.
    :param folder: The folder that was made for it; None for a TCP port.
    """

    def __init__(self, listener: socket.socket, where: str, folder: Optional[str] = None) -> None:
        # What reaches it, as GDB's ``target remote`` takes it: a path, or ``localhost:PORT``.
        self.where = where
        self._socket = listener
        self._folder = folder
        self._is_checked = can_tell(listener)
        listener.setblocking(False)
        # Given up for a moment where no descriptor is left, so that who comes can be turned away.
        self._spare: Optional[int] = _spare()

    @property
    def port(self) -> int:
        """The TCP port; 0 for a socket in a folder."""
        return 0 if self._folder is not None else int(self._socket.getsockname()[1])

    @property
    def warning(self) -> str:
        """Warning about protection that the system lacks; empty if none."""
        if self._is_checked:
            return ""
        return "this system does not report who connects: every user of this machine can reach %s" % self.where

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when somebody comes."""
        return self._socket.fileno()

    def accept(self) -> Optional[socket.socket]:
        """Give the next connection of this user's; None when there is none.

        :raises OSError: The listener is closed.
        """
        for _ in range(_WAITING):
            connection = self._next()
            if connection is None:
                break
            connection.setblocking(True)
            if not self._is_checked or is_own(connection):
                return connection
            connection.close()
        return None

    def close(self) -> None:
        """Let nobody in any more, and take the folder away."""
        self._socket.close()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _next(self) -> Optional[socket.socket]:
        try:
            return self._socket.accept()[0]
        except OSError as error:
            if self._socket.fileno() < 0:
                raise
            if error.errno in _EXHAUSTED:
                self._turn_away()
            return None  # nobody is there, or went away by itself

    def _turn_away(self) -> None:
        # Who stays in the queue would wake us again and again.
        if self._spare is None:
            time.sleep(_PAUSE_SECONDS)
        else:
            os.close(self._spare)
        try:
            self._socket.accept()[0].close()
        except OSError:
            pass  # it went away by itself, or is turned away later
        self._spare = _spare()


def listen_privately() -> Listener:
    """Listen in a fresh private folder, or else on a free port.

    :raises ConnectError: Neither can be had.
    """
    if not hasattr(socket, "AF_UNIX"):
        return listen_on(0, "")
    for base in _bases():
        try:
            folder = tempfile.mkdtemp(prefix="gdb_etm-", dir=base)
        except OSError:
            continue
        path = os.path.join(folder, _NAME)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(path)
            listener.listen(_WAITING)
            return Listener(listener, path, folder)
        except OSError:
            listener.close()
            shutil.rmtree(folder, ignore_errors=True)
    return listen_on(0, "")


def listen_on(port: int, advice: str) -> Listener:
    """Listen on a TCP port of localhost.

    :param port: Its number; 0 takes a free one.
    :param advice: What to try when it is taken.
    :raises ConnectError: It is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Elsewhere this option lets another program take the port over.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        hint = "; " + advice if advice else ""
        raise ConnectError("cannot listen on localhost:%d (%s)%s" % (port, error.strerror, hint)) from None
    return Listener(listener, "localhost:%d" % listener.getsockname()[1])


def _bases() -> Iterator[str]:
    # GDB takes a name with a colon for a host and a port.
    for name in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):
        base = os.path.realpath(name) if os.path.isabs(name) else ""
        longest = os.path.join(base, "gdb_etm-12345678", _NAME)
        if base and ":" not in base and len(os.fsencode(longest)) <= _LONGEST_PATH and _is_safe(base):
            yield base


def _is_safe(base: str) -> bool:
    # Another user who owns the folder, or may rename what is in it, could put a socket of hers in the place of ours.
    try:
        found = os.lstat(base)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), 0):
        return False
    return not found.st_mode & 0o022 or bool(found.st_mode & stat.S_ISVTX)


def _spare() -> Optional[int]:
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None
