"""Carry requests and replies between clients and a session: over a pair of pipes, or over TCP on localhost."""

from __future__ import annotations

import socket
import threading
from typing import BinaryIO

from gdb_etm.access.desk import Desk
from gdb_etm.access.logs import LogKeeper
from gdb_etm.access.pyocd_session import PyocdSession
from gdb_etm.access.wire import MAX_LINE, decode_line, encode_line, error_message, hello_message
from gdb_etm.errors import ConnectError, EtmError

_MAX_CLIENTS = 8


def serve_stream(session: PyocdSession, log: LogKeeper, reader: BinaryIO, writer: BinaryIO) -> None:
    """Greet one client and answer it until it closes its end; then put back what it changed."""
    desk = Desk(session, log)
    try:
        _send(writer, encode_line(hello_message(session.hello())))
        while not desk.closed:
            line = reader.readline(MAX_LINE + 1)
            if not line:
                break
            if not line.endswith(b"\n"):
                # What follows is the rest of this line, so there is no next request to find.
                _send(writer, encode_line({"id": None, "error": error_message(EtmError("no request: line too long"))}))
                break
            _send(writer, desk.answer(line))
    except (OSError, ValueError):
        pass  # the client went away in the middle of a line
    finally:
        desk.finish()


class ControlPort:
    """Accept clients on a TCP port of localhost.

    :param session: The session they share.
    :param port: TCP port; 0 takes a free one.
    :raises ConnectError: The port is taken.
    """

    def __init__(self, session: PyocdSession, log: LogKeeper, port: int) -> None:
        self._session = session
        self._log = log
        self._clients = threading.BoundedSemaphore(_MAX_CLIENTS)
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind(("127.0.0.1", port))
        except OSError as error:
            self._listener.close()
            raise ConnectError(
                "cannot listen on localhost:%d (%s); --control-port 0 takes a free port" % (port, error.strerror)
            ) from None
        self._listener.listen(_MAX_CLIENTS)

    @property
    def number(self) -> int:
        """The TCP port."""
        return int(self._listener.getsockname()[1])

    def accept_for_ever(self) -> None:
        """Serve each client in a thread of its own; returns only by an exception, such as a signal's."""
        with self._listener:
            while True:
                connection, _ = self._listener.accept()
                if self._clients.acquire(blocking=False):
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                else:
                    connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, connection.makefile("rb") as reader, connection.makefile("wb") as writer:
                if _knows_us(reader.readline(MAX_LINE)):
                    serve_stream(self._session, self._log, reader, writer)
        except OSError:
            pass  # this client is gone; the others are not
        finally:
            self._clients.release()


def _knows_us(line: bytes) -> bool:
    """Whether a first line is our client's; a web page that posts to this port must not get further."""
    try:
        return decode_line(line).get("op") == "hello"
    except ValueError:
        return False


def _send(writer: BinaryIO, line: bytes) -> None:
    writer.write(line)
    writer.flush()
