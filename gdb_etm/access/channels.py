"""Transports of requests: a pair of pipes, or TCP on localhost."""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import closing
from typing import BinaryIO

from gdb_etm.access.logs import LogKeeper
from gdb_etm.access.request_handler import RequestHandler, Served
from gdb_etm.access.wire import MAX_LINE, decode_line, encode_line, error_message, farewell_message, hello_message
from gdb_etm.errors import ConnectError, EtmError
from gdb_etm.sockets.acceptor import JSON_LINE, Acceptor
from gdb_etm.sockets.listener import listen_on

# Clients that may be connected at a time; each may wait as long as it likes between its requests.
MAX_CLIENTS = 32
# How long a client waits for the place of one that is just leaving, in seconds.
_WAIT_FOR_A_PLACE = 2.0
# How long a client may take nothing of a reply, in seconds: what is reported to all clients waits for each.
_SILENT_SECONDS = 10
_FULL = "%d clients are connected already; disconnect one of them first" % MAX_CLIENTS


def serve_stream(session: Served, log: LogKeeper, reader: BinaryIO, writer: BinaryIO) -> None:
    """Serve one client until it closes its end.

    What it changed is then put back.
    """
    handler = RequestHandler(session, log)

    def say_farewell(reason: str) -> None:
        try:
            _send(writer, encode_line(farewell_message(reason)))
        except (OSError, ValueError):
            pass  # it is gone, too

    session.probe.mourners.append(say_farewell)
    try:
        _send(writer, encode_line(hello_message(session.hello())))
        while not handler.closed:
            line = reader.readline(MAX_LINE + 1)
            if not line:
                break
            if not line.endswith(b"\n"):
                # What follows is the rest of this line, so there is no next request to find.
                _send(writer, encode_line({"id": None, "error": error_message(EtmError("no request: line too long"))}))
                break
            _send(writer, handler.answer(line))
    except (OSError, ValueError):
        pass  # the client went away in the middle of a line
    finally:
        session.probe.mourners.remove(say_farewell)
        handler.finish()


class ControlPort:
    """Accept this user's clients on a TCP port of localhost.

    :param session: The session they share.
    :param port: TCP port; 0 takes a free one.
    :raises ConnectError: The port is taken.
    """

    def __init__(self, session: Served, log: LogKeeper, port: int) -> None:
        self._session = session
        self._log = log
        self._clients = threading.BoundedSemaphore(MAX_CLIENTS)
        listener = listen_on(port, "--control-port 0 takes a free port")
        self._acceptor = Acceptor(listener, JSON_LINE)
        # The TCP port.
        self.number = listener.port
        # What the system does not do to keep other users away, as a line; empty where all is well.
        self.warning = listener.warning

    def accept_for_ever(self) -> None:
        """Serve each client in a thread of its own, for ever.

        Returns only by an exception, such as a signal's.
        """
        with closing(self._acceptor):
            while True:
                connection = self._acceptor.wait()
                try:
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                except RuntimeError:
                    connection.close()  # no thread is left

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if os.name == "posix":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SILENT_SECONDS, 0))
            with connection, connection.makefile("rb") as reader, connection.makefile("wb") as writer:
                if not _knows_us(reader.readline(MAX_LINE)):
                    return
                if not self._clients.acquire(timeout=_WAIT_FOR_A_PLACE):
                    _send(writer, encode_line({"error": error_message(ConnectError(_FULL))}))
                    return
                try:
                    serve_stream(self._session, self._log, reader, writer)
                finally:
                    self._clients.release()
        except OSError:
            pass  # this client is gone; the others are not


def _knows_us(line: bytes) -> bool:
    """Whether a first line is our client's.

    A web page that posts to this port must not get further.
    """
    try:
        return decode_line(line).get("op") == "hello"
    except ValueError:
        return False


def _send(writer: BinaryIO, line: bytes) -> None:
    writer.write(line)
    writer.flush()
