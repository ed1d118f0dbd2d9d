"""Real pyOCD: many silent clients and few file descriptors."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Iterator

import pytest

from gdb_etm.access.channels import MAX_CLIENTS
from gdb_etm.access.client import attach
from gdb_etm.errors import ConnectError
from gdb_etm.replay.packets import frame
from tests.access.processes import ByHand
from tests.replay.boards import pyocd_server
from tests.replay.test_proxy import proxy_before, said
from tests.sockets.visitors import HTTP, come_in

# File descriptors that a proxy has.
FEW = 24
VISITORS = 26
QUERY = b"+" + frame(b"qSupported:")


def crowd(stack: ExitStack, port: int, count: int = VISITORS, words: bytes = b"") -> None:
    """Come in great number and stay."""
    for _ in range(count):
        stack.enter_context(come_in(port)).sendall(words)


@pytest.fixture(name="server", scope="module")
def fixture_server() -> Iterator[int]:
    """The port of pyOCD's own server."""
    with pyocd_server() as port:
        yield port


@pytest.mark.parametrize("words", [b"", b"+", HTTP.encode()])
def test_a_crowd_before_a_proxy_and_during_its_session(server: int, words: bytes) -> None:
    with ExitStack() as stack:
        before = stack.enter_context(proxy_before(server))
        resource.prlimit(before.process.pid, resource.RLIMIT_NOFILE, (FEW, FEW))
        crowd(stack, before.port, words=words)
        first = stack.enter_context(before.connect())
        assert b"ReverseStep+" in said(first, QUERY, b"ReverseStep+")
        crowd(stack, before.port, words=words)
        assert b"T05" in said(first, b"+" + frame(b"?"), b"T05")
        first.close()
        crowd(stack, before.port, words=words)
        again = stack.enter_context(before.connect())
        assert b"ReverseStep+" in said(again, QUERY, b"ReverseStep+")
        assert before.process.poll() is None
        assert before.told() == ""


@pytest.mark.parametrize("words", [b"", b"+", b'{"op"'])
def test_a_crowd_at_both_ports_of_serve(by_hand: ByHand, words: bytes) -> None:
    few = len(list(Path("/proc/%d/fd" % by_hand.process.pid).iterdir())) + 20
    resource.prlimit(by_hand.process.pid, resource.RLIMIT_NOFILE, (few, few))
    with ExitStack() as stack:
        for _ in range(3):
            crowd(stack, by_hand.control_port, words=words)
            crowd(stack, by_hand.gdb_port, words=words)
            client = attach("localhost", by_hand.control_port)
            assert client.states() != ["halted"]
            client.close()
        with socket.create_connection(("localhost", by_hand.gdb_port), 10) as gdb:
            assert b"PacketSize" in said(gdb, QUERY, b"PacketSize")


def test_clients_that_wait_stay_and_one_too_many_is_told(by_hand: ByHand) -> None:
    clients = [attach("localhost", by_hand.control_port) for _ in range(MAX_CLIENTS)]
    with pytest.raises(ConnectError, match="^%d clients are connected already; disconnect one" % MAX_CLIENTS):
        attach("localhost", by_hand.control_port)
    assert all(client.states() != ["halted"] for client in clients)
    clients.pop().close()
    clients.append(attach("localhost", by_hand.control_port))
    for client in clients:
        client.close()
