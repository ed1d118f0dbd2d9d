"""Acceptor of clients that speak the expected protocol.

A client that says nothing, or begins with something else, goes; a second GDB gets a refusal.  Nothing of
what a client has sent is taken from its connection before it is let in.
"""

from __future__ import annotations

import re
import select
import socket
import time
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.sockets.listener import Listener

_WORDS = b"E.another GDB uses this connection; disconnect it first"
_REFUSAL = b"+$%b#%02x" % (_WORDS, sum(_WORDS) & 0xFF)
_PEEK_BYTES = 256
_SILENT_SECONDS = 5.0
# How long a GDB waits for the one before it, which may be about to leave; GDB itself waits for two seconds.
_LEAVING_SECONDS = 1.0
# Of more, the oldest is closed, after its first bytes were looked at.
_MOST_PENDING = 4
_TURN_SECONDS = 0.01
_RECEIVED_BYTES = 1 << 12


class Greeting(NamedTuple):
    """What a client says first."""

    # Matches the beginning of what it says, once it may be let in.
    whole: "re.Pattern[bytes]"
    # Matches all that it may have said before that.
    part: "re.Pattern[bytes]"


# GDB's: a packet or an interrupt.
REMOTE_PROTOCOL = Greeting(re.compile(rb"[+-]*[$\x03]"), re.compile(rb"[+-]*\Z"))
# A line of 255 characters at most that begins as a JSON object does.
JSON_LINE = Greeting(re.compile(rb"\{[^\n]*\n"), re.compile(rb"(\{[^\n]*)?\Z"))


class _Pending:
    # A client that has connected and is not yet accepted.

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.is_refused = False
        self._came = time.monotonic()
        connection.setblocking(False)

    @property
    def waited(self) -> float:
        return time.monotonic() - self._came

    def first_bytes(self) -> Optional[bytes]:
        # None when it is gone.
        try:
            return self.connection.recv(_PEEK_BYTES, socket.MSG_PEEK) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def refuse(self) -> None:
        # What it sent must be read, or closing would discard the refusal.
        self.is_refused = True
        try:
            self.connection.recv(_RECEIVED_BYTES)
            self.connection.send(_REFUSAL)
        except OSError:
            pass  # it did not wait for that


class Acceptor:
    """Where clients come in.

    :param listener: Where they connect; it is closed with the acceptor.
    :param greeting: What they say first.
    """

    def __init__(self, listener: Listener, greeting: Greeting = REMOTE_PROTOCOL) -> None:
        self._listener = listener
        self._greeting = greeting
        self._pending: List[_Pending] = []
        # What reaches it, as GDB's ``target remote`` takes it.
        self.where = listener.where

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when somebody comes."""
        return self._listener.fileno()

    @property
    def seconds(self) -> Optional[float]:
        """How soon :meth:`admit` wants to be called again; None: when somebody comes."""
        return _TURN_SECONDS if self._pending else None

    def wait(self) -> socket.socket:
        """Wait for a client, without end."""
        while True:
            connection = self.admit()
            if connection is not None:
                return connection
            select.select([self], [], [], self.seconds)

    def admit(self, is_taken: bool = False) -> Optional[socket.socket]:
        """Look after those who came, without waiting.

        :param is_taken: Whether a GDB is in already.
        :returns: The connection of a client, with all that it has sent still to be read; None as long as there is none.
        """
        self._receive()
        for client in list(self._pending):
            is_known, stays = self._judge(client)
            if not stays:
                self._pending.remove(client)
                client.connection.close()
            elif is_known and not is_taken:
                self._pending.remove(client)
                client.connection.setblocking(True)
                return client.connection
            elif is_known and client.waited > _LEAVING_SECONDS:
                client.refuse()
        return None

    def _judge(self, client: _Pending) -> Tuple[bool, bool]:
        # Whether it has said what it should, and whether it may stay.
        received = client.first_bytes()
        if client.is_refused:
            # GDB shows the refusal after it has acknowledged it.
            return False, received == b"" and client.waited <= _SILENT_SECONDS
        if received is None:
            return False, False
        is_known = self._greeting.whole.match(received) is not None
        is_part = self._greeting.part.match(received) is not None
        return is_known, is_known or is_part and client.waited <= _SILENT_SECONDS

    def _receive(self) -> None:
        while len(self._pending) > _MOST_PENDING:
            self._pending.pop(0).connection.close()
        for _ in range(_MOST_PENDING):
            connection = self._listener.accept()
            if connection is None:
                break
            self._pending.append(_Pending(connection))

    def close(self) -> None:
        """Let nobody in any more."""
        for client in self._pending:
            client.connection.close()
        self._pending.clear()
        self._listener.close()
