"""Stream of lines to and from the process beside GDB.

Ctrl-C at any moment leaves both ends in step.
"""

from __future__ import annotations

import os
import select
import time
from typing import Any, Protocol

from gdb_etm.access.wire import MAX_LINE, Message, decode_line, encode_line

_POLL_SECONDS = 0.1
_READ_BYTES = 1 << 16
# What a pipe or a socket takes at once when it is ready (Linux, pipe(7): PIPE_BUF), and how long it may not be.
_WRITE_BYTES, _WRITE_SECONDS = 1 << 12, 10.0


class _File(Protocol):
    """An open file or socket file."""

    def fileno(self) -> int:
        """Return its descriptor."""

    def close(self) -> None:
        """Close it."""


class LineStream:
    """One message a line over two unbuffered files.

    A KeyboardInterrupt may fall between reading bytes and keeping them.  So when one ends a call, what was received is
    thrown away, and after a call that was ended while sending, the next message starts with a line end: both sides then
    drop at most one broken line, and :meth:`exchange` drops replies to earlier requests.

    :param reader: Where lines come from; only its descriptor is used, and it is closed with the stream.
    :param writer: Where lines go to.
    """

    def __init__(self, reader: _File, writer: _File) -> None:
        self._reader = reader
        self._writer = writer
        self._received = bytearray()
        self._broken = False
        # Whether :meth:`close` was called.
        self.closed = False

    def exchange(self, message: Message, number: Any, seconds: float) -> Message:
        """Send a message and return its reply, or a farewell.

        The reply has the same ``"id"``; other messages are dropped.

        :raises EOFError: The other side is gone.
        :raises TimeoutError: It did not answer in time.
        """
        deadline = time.monotonic() + seconds
        try:
            self.send(message)
        except EOFError:
            pass  # what it has said before its end may still be to be read
        while True:
            reply = self.receive(deadline - time.monotonic())
            if reply.get("id") == number or "farewell" in reply:
                return reply

    def send(self, message: Message) -> None:
        """Send one message.

        :raises EOFError: The other side is gone.
        :raises TimeoutError: It takes nothing.
        """
        line = (b"\n" if self._broken else b"") + encode_line(message)
        self._broken = True
        sent = 0
        try:
            while sent < len(line):
                self._wait_for_room()
                sent += os.write(self._writer.fileno(), line[sent : sent + _WRITE_BYTES])
        except TimeoutError:
            raise
        except OSError:
            raise EOFError from None
        self._broken = False

    def receive(self, seconds: float) -> Message:
        """Return the next message; lines that are none are dropped.

        :raises EOFError: The other side is gone.
        :raises TimeoutError: None came in time.
        """
        deadline = time.monotonic() + seconds
        try:
            while True:
                end = self._received.find(b"\n")
                if end < 0:
                    self._fill(deadline)
                    continue
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                try:
                    return decode_line(line)
                except ValueError:
                    continue  # the rest of a line whose beginning was thrown away
        except TimeoutError:
            raise
        except BaseException:
            del self._received[:]
            raise

    def close(self) -> None:
        """Close both directions."""
        self.closed = True
        for file in (self._writer, self._reader):
            try:
                file.close()
            except OSError:
                pass  # it was broken already

    def _wait_for_room(self) -> None:
        # In short steps, too.
        deadline = time.monotonic() + _WRITE_SECONDS
        while not select.select([], [self._writer], [], _POLL_SECONDS)[1]:
            if time.monotonic() >= deadline:
                raise TimeoutError

    def _fill(self, deadline: float) -> None:
        """Receive some bytes, waiting in short steps.

        GDB notices Ctrl-C only between them.
        """
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        if not select.select([self._reader], [], [], min(remaining, _POLL_SECONDS))[0]:
            return
        try:
            data = os.read(self._reader.fileno(), _READ_BYTES)
        except OSError:
            raise EOFError from None
        if not data or len(self._received) > MAX_LINE:
            raise EOFError
        self._received += data
