"""Both ends of a proxy: GDB, and the live target's server."""

from __future__ import annotations

import time
from typing import Callable, Iterator, List

from gdb_etm.errors import AccessError
from gdb_etm.replay.console import console
from gdb_etm.replay.link import Link
from gdb_etm.replay.packets import ACK, INTERRUPT, NO_ACKS, InputKind, Item, expand
from gdb_etm.replay.past import Impatient
from gdb_etm.replay.target import Reply
from gdb_etm.replay.wires import Wire

_REPLY_SECONDS = 10
# Before the first line about work that takes long, and between two of them.
_PATIENT_SECONDS, _BETWEEN_SECONDS = 4, 4
# Longest packet that is passed on: a server may announce that it takes long ones.
_MOST_PASSED = 1 << 22


class ServerLink:
    """The live target's server at the other end of a wire.

    :param wire: The connection.
    :param name: What the server is called in messages.
    """

    def __init__(self, wire: Wire, name: str) -> None:
        self.wire = wire
        self._name = name
        self._link = Link(_MOST_PASSED, True)

    def ask(self, data: bytes) -> bytes:
        """Send a packet and give the reply, runs expanded.

        :raises AccessError: The server does not answer.
        """
        self.send(data)
        deadline = time.monotonic() + _REPLY_SECONDS
        while True:
            for item in self.receive(max(0.0, deadline - time.monotonic())):
                if item.kind is InputKind.PACKET and (item.data[:1] != b"O" or item.data == b"OK"):
                    try:
                        return expand(item.data, _MOST_PASSED)
                    except ValueError as error:
                        raise AccessError("%s sent %s" % (self._name, error)) from None
            if time.monotonic() >= deadline:
                words = self._name, data[:20].decode("latin-1"), _REPLY_SECONDS
                raise AccessError("%s did not answer %s in %d s" % words, kind="timeout")

    def send(self, data: bytes) -> None:
        """Send a packet whose reply comes later."""
        self._link.send(data)
        self._write(self._link.take())

    def interrupt(self) -> None:
        """Ask that the target halt."""
        self._write(INTERRUPT)

    def receive(self, seconds: float) -> List[Item]:
        """Give what the server has sent."""
        try:
            items = self._link.feed(self.wire.read(seconds))
        except EOFError:
            raise AccessError("%s closed the connection" % self._name, kind="lost") from None
        self._write(self._link.take())
        return items

    def stop_acknowledging(self) -> None:
        """Negotiate no-acknowledgment mode with the server, if it can."""
        self._write(ACK)
        if self.ask(NO_ACKS) == b"OK":
            self._link.acknowledges = False

    def _write(self, data: bytes) -> None:
        if data:
            try:
                self.wire.write(data)
            except EOFError:
                raise AccessError("%s closed the connection" % self._name, kind="lost") from None


class Host:
    """GDB at the other end of a wire.

    :param wire: The connection.
    :param answer: Gives the replies to a packet or an interrupt; None among them now and then while it takes long.
    :param interrupted: Gives the reply when an interrupt has ended that.
    """

    def __init__(self, wire: Wire, answer: Callable[[Item], Iterator[Reply]], interrupted: Callable[[], bytes]) -> None:
        self.wire = wire
        self._answer = answer
        self._interrupted = interrupted
        self._link = Link(_MOST_PASSED)
        # When something is said of work that takes long.
        self._due = 0.0

    def receive(self) -> Iterator[bytes]:
        """Take what has come and answer it.

        :returns: Each packet that was answered.
        :raises EOFError: GDB is gone.
        """
        items = self._link.feed(self.wire.read())
        self._flush()
        for item in items:
            if item.kind is InputKind.PACKET and item.data == NO_ACKS:
                self.send(b"OK")
                self._link.acknowledges = False
            else:
                self._reply(item)
            yield item.data

    def send(self, data: bytes) -> None:
        """Give GDB a packet."""
        self._link.send(data)
        self._flush()

    def wait(self, what: str, share: float) -> None:
        """Take note of progress that GDB waits for, and report it sometimes.

        :raises Impatient: Ctrl-C was typed.
        """
        if self._is_interrupted():
            raise Impatient
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _BETWEEN_SECONDS
            self.send(console("etm: %s: %d%% (Ctrl-C ends it)" % (what, 100 * share)))

    def _reply(self, item: Item) -> None:
        self._due = time.monotonic() + _PATIENT_SECONDS
        for reply in self._answer(item):
            if reply is not None:
                self.send(reply)
            elif self._is_interrupted():
                self.send(self._interrupted())
                return

    def _is_interrupted(self) -> bool:
        return any(other.kind is InputKind.INTERRUPT for other in self._link.feed(self.wire.read(0)))

    def _flush(self) -> None:
        data = self._link.take()
        if data:
            self.wire.write(data)
