"""Lets clients in that speak the protocol they should, and keeps out all others.

A client that says nothing, or begins with something else, goes; a second GDB is told that there is one.  Nothing of
what a client has sent is taken from its connection before it is let in.
"""

from __future__ import annotations

import re
import select
import socket
import time
from typing import List, NamedTuple, Optional

from gdb_etm.sockets.listener import Listener

_WORDS = b"E.another GDB uses this connection; disconnect it first"
_REFUSAL = b"+$%b#%02x" % (_WORDS, sum(_WORDS) & 0xFF)
_PEEK_BYTES = 256
_SILENT_SECONDS = 5.0
_LEAVING_SECONDS = 1.0
# How long a GDB waits for the one before it, which may be about to leave; GDB itself waits for two seconds.
_MOST_GUESTS = 4
# Of more, the oldest goes, once it was listened to.
_TURN_SECONDS = 0.01
_HEARD_BYTES = 1 << 12


class Greeting(NamedTuple):
    """What a client says first."""

    whole: "re.Pattern[bytes]"
    """Matches the beginning of what it says, once it may be let in."""
    part: "re.Pattern[bytes]"
    """Matches all that it may have said before that."""


REMOTE_PROTOCOL = Greeting(re.compile(rb"[+-]*[$\x03]"), re.compile(rb"[+-]*\Z"))
"""GDB's: a packet or an interrupt."""
JSON_LINE = Greeting(re.compile(rb"\{[^\n]*\n"), re.compile(rb"(\{[^\n]*)?\Z"))
"""A line of 255 characters at most that begins as a JSON object does."""


class _Guest(NamedTuple):
    connection: socket.socket
    came: float

    def first_bytes(self) -> Optional[bytes]:
        # None when it is gone.
        self.connection.setblocking(False)
        try:
            return self.connection.recv(_PEEK_BYTES, socket.MSG_PEEK) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def refuse(self) -> None:
        # What it said is read, or the system would take back what it is told.
        try:
            self.connection.recv(_HEARD_BYTES)
            self.connection.send(_REFUSAL)
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it did not wait for that
        self.connection.close()


class Door:
    """Where clients come in.

    :param listener: Where they connect; it is closed with the door.
    :param greeting: What they say first.
    """

    def __init__(self, listener: Listener, greeting: Greeting = REMOTE_PROTOCOL) -> None:
        self._listener = listener
        self._greeting = greeting
        self._guests: List[_Guest] = []
        self.where = listener.where
        """What reaches it, as GDB's ``target remote`` takes it."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when somebody comes."""
        return self._listener.fileno()

    @property
    def seconds(self) -> Optional[float]:
        """How soon :meth:`admit` wants to be called again; None: when somebody comes."""
        return _TURN_SECONDS if self._guests else None

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
        for guest in list(self._guests):
            waited = time.monotonic() - guest.came
            heard = guest.first_bytes()
            if heard is None or not self._greeting.whole.match(heard):
                if heard is None or not self._greeting.part.match(heard) or waited > _SILENT_SECONDS:
                    self._guests.remove(guest)
                    guest.connection.close()
            elif not is_taken:
                self._guests.remove(guest)
                guest.connection.setblocking(True)
                return guest.connection
            elif waited > _LEAVING_SECONDS:
                self._guests.remove(guest)
                guest.refuse()
        return None

    def _receive(self) -> None:
        while len(self._guests) > _MOST_GUESTS:
            self._guests.pop(0).connection.close()
        for _ in range(_MOST_GUESTS):
            connection = self._listener.accept()
            if connection is None:
                break
            self._guests.append(_Guest(connection, time.monotonic()))

    def close(self) -> None:
        """Let nobody in any more."""
        for guest in self._guests:
            guest.connection.close()
        self._guests.clear()
        self._listener.close()
