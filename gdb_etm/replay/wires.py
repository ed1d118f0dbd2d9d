"""Sockets and pipes: the one file here that reads and writes."""

from __future__ import annotations

import os
import select
import socket
from typing import List, Optional, Protocol, Sequence, Union

from gdb_etm.errors import ConnectError
from gdb_etm.sockets.acceptor import Acceptor

_READ_BYTES = 1 << 16
# What a pipe or a socket takes at once when it is ready (Linux, pipe(7): PIPE_BUF).
_WRITE_BYTES = 1 << 12
_SEND_SECONDS = 10.0


class File(Protocol):
    """An open file, or a socket's."""

    def fileno(self) -> int:
        """Return its descriptor."""

    def close(self) -> None:
        """Close it."""


class Wire:
    """A two-way wire: a pair of open files, or a socket.

    :param reader: Where bytes come from.
    :param writer: Where they go to.
    """

    def __init__(self, reader: File, writer: File) -> None:
        self._reader = reader
        self._writer = writer

    def fileno(self) -> int:
        """Return the descriptor that bytes come from."""
        return self._reader.fileno()

    def read(self, seconds: Optional[float] = None) -> bytes:
        """Wait for bytes.

        :param seconds: How long at most; None: without end.
        :returns: Some of them; none when the time is over.
        :raises EOFError: The other side is gone.
        """
        if not select.select([self], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.fileno(), _READ_BYTES)
        except OSError:
            raise EOFError from None
        if not data:
            raise EOFError
        return data

    def write(self, data: bytes) -> None:
        """Send bytes.

        :raises EOFError: The other side is gone, or takes nothing.
        """
        sent = 0
        try:
            while sent < len(data):
                if not select.select([], [self._writer], [], _SEND_SECONDS)[1]:
                    raise EOFError
                sent += os.write(self._writer.fileno(), data[sent : sent + _WRITE_BYTES])
        except OSError:
            raise EOFError from None

    def close(self) -> None:
        """Close both directions."""
        for file in (self._writer, self._reader):
            try:
                file.close()
            except OSError:
                pass  # it was broken already


def over_socket(connection: socket.socket) -> Wire:
    """Make a wire of a connected socket, which the wire closes."""
    connection.setblocking(True)
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader, writer = connection.makefile("rb", buffering=0), connection.makefile("wb", buffering=0)
    connection.close()  # the two files keep it
    return Wire(reader, writer)


def connect(host: str, port: int, seconds: float = 5.0) -> Wire:
    """Connect to a GDB server.

    :raises ConnectError: None listens there.
    """
    try:
        return over_socket(socket.create_connection((host, port), seconds))
    except OSError as error:
        raise ConnectError("no GDB server at %s:%d (%s)" % (host, port, error)) from None


def wait(ends: Sequence[Union[Wire, Acceptor]], seconds: Optional[float] = None) -> List[Union[Wire, Acceptor]]:
    """Wait until something comes from one of several sides.

    :param seconds: How long at most; None: without end.
    """
    return list(select.select(ends, [], [], seconds)[0])
