"""The loop of the proxy: carries packets between GDB and its targets."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Callable, ContextManager, Iterator, List, Optional, Union

from gdb_etm.errors import AccessError
from gdb_etm.replay.ends import Host, ServerLink
from gdb_etm.replay.packets import InputKind, Item
from gdb_etm.replay.proxy import Proxy, Source
from gdb_etm.replay.target import Reply, Target
from gdb_etm.replay.wires import Wire, wait
from gdb_etm.sockets.acceptor import Acceptor


def serve(wire: Wire, target: Target) -> None:
    """Answer one GDB from a history until it is gone."""

    def answer(item: Item) -> Iterator[Reply]:
        if item.kind is InputKind.PACKET:
            return target.answer(item.data)
        if item.kind is InputKind.INTERRUPT:
            target.interrupt()
        return iter(())

    host = Host(wire, answer, target.interrupted)
    target.patience = host
    try:
        while not any(data in (b"k", b"D") or data[:2] == b"D;" for data in host.receive()):
            pass
    except EOFError:
        pass  # GDB is gone, whatever it was about to say
    finally:
        wire.close()


def pass_on(
    wire: Wire,
    server: ServerLink,
    source: Source,
    acceptor: Optional[Acceptor] = None,
    turn: ContextManager[object] = nullcontext(),
    meet: Callable[[Proxy], None] = lambda proxy: None,
) -> None:
    """Carry packets between one GDB and a server until either ends.

    :param wire: GDB.
    :param source: Where the history comes from.
    :param acceptor: Where another GDB may come.
    :param turn: Holds the server while a packet is answered; somebody else may use it in between.
    :param meet: Takes the proxy once there is one.
    :raises AccessError: The server is gone.
    """
    with turn:
        between = _Between(wire, server, source, acceptor)
        meet(between.proxy)
    try:
        while True:
            ready = between.wait()
            with turn:
                between.turn(ready)
    except EOFError:
        between.proxy.leave()
    except AccessError:
        if not between.proxy.has_left:
            raise  # a server may close the connection when GDB has taken its leave
    finally:
        wire.close()


class _Between:
    def __init__(self, wire: Wire, server: ServerLink, source: Source, acceptor: Optional[Acceptor]) -> None:
        self.proxy = Proxy(server, source)
        self._server = server
        self._host = Host(wire, self.proxy.from_gdb, self.proxy.interrupted)
        self.proxy.patience = self._host
        self._acceptor = acceptor

    def wait(self) -> List[Union[Wire, Acceptor]]:
        """Wait for somebody to say something."""
        ends: List[Union[Wire, Acceptor]] = [self._host.wire, self._server.wire]
        if self._acceptor is not None:
            ends.append(self._acceptor)
        return wait(ends, self._acceptor.seconds if self._acceptor is not None else None)

    def turn(self, ready: List[Union[Wire, Acceptor]]) -> None:
        """Pass on what was said."""
        if self._host.wire in ready:
            for _ in self._host.receive():
                pass
        if self._server.wire in ready:
            self._from_server()
        if self._acceptor is not None:
            self._acceptor.admit(is_taken=True)

    def _from_server(self) -> None:
        for item in self._server.receive(0):
            data = self.proxy.from_server(item) if item.kind is InputKind.PACKET else None
            if data is not None:
                self._host.send(data)
