"""Property tests with real sockets: who is admitted."""

from __future__ import annotations

import os
import re
import resource
import socket
import stat
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Iterator, List, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from gdb_etm.errors import ConnectError
from gdb_etm.sockets import acceptor as acceptor_file
from gdb_etm.sockets import peers
from gdb_etm.sockets.acceptor import Acceptor
from gdb_etm.sockets.listener import Listener, listen_on, listen_privately
from tests.sockets.visitors import HTTP, RSP, come_in

TOLD = b"$E.another GDB uses this connection; disconnect it first#"


@pytest.fixture(name="listener", params=["socket", "port"])
def fixture_listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    """Each kind of listener."""
    listener = listen_privately() if request.param == "socket" else listen_on(0, "")
    yield listener
    listener.close()


@pytest.fixture(name="hurried")
def fixture_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for."""
    monkeypatch.setattr(acceptor_file, "_SILENT_SECONDS", -1.0)
    monkeypatch.setattr(acceptor_file, "_LEAVING_SECONDS", -1.0)


def visit(listener: Listener, words: bytes = b"") -> socket.socket:
    """Come, and say something."""
    connection = come_in(listener.port or listener.where)
    connection.sendall(words)
    return connection


def admitted(acceptor: Acceptor, turns: int = 20) -> Optional[socket.socket]:
    """Let the acceptor look so many times, until it lets somebody in."""
    for _ in range(turns):
        connection = acceptor.admit()
        if connection is not None:
            return connection
    return None


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has gone without a word."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


def test_a_gdb_is_let_in_with_all_it_said(listener: Listener) -> None:
    acceptor = Acceptor(listener)
    with visit(listener, RSP.encode()):
        connection = admitted(acceptor)
        assert connection is not None
        with connection:
            assert connection.recv(100) == RSP.encode()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=some.one_of(
        some.binary(min_size=1, max_size=40), some.text("+-$\x03G", min_size=1, max_size=5).map(str.encode)
    )
)
def test_the_first_bytes_decide(listener: Listener, hurried: None, words: bytes) -> None:
    acceptor = Acceptor(listener)
    with visit(listener, words) as visitor:
        connection = admitted(acceptor)
        assert (connection is not None) == bool(re.match(rb"[+-]*[$\x03]", words))
        if connection is None:
            assert is_closed(visitor)
        else:
            connection.close()
        assert acceptor.seconds is None


def test_a_greeting_in_pieces(listener: Listener) -> None:
    acceptor = Acceptor(listener)
    with visit(listener) as visitor:
        assert admitted(acceptor) is None and acceptor.seconds is not None
        visitor.sendall(b"+")
        assert admitted(acceptor) is None and acceptor.seconds is not None
        visitor.sendall(b"$?#3f")
        connection = admitted(acceptor)
        assert connection is not None
        connection.close()


@pytest.mark.parametrize("words", [b"", HTTP.encode()])
def test_a_crowd_locks_nobody_out(listener: Listener, words: bytes) -> None:
    acceptor = Acceptor(listener)
    with ExitStack() as stack:
        crowd = []
        for _ in range(40):
            crowd.append(stack.enter_context(visit(listener, words)))
            assert acceptor.admit() is None
        last = stack.enter_context(visit(listener, RSP.encode()))
        connection = admitted(acceptor)
        assert connection is not None and connection.recv(5) == RSP[:5].encode()
        connection.sendall(b"hello")
        assert last.recv(5) == b"hello"
        connection.close()
        assert all(is_closed(visitor) for visitor in crowd[:-8])


def test_a_second_gdb_is_told_once_and_sent_away(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor_file, "_LEAVING_SECONDS", -1.0)
    acceptor = Acceptor(listener)
    with visit(listener, RSP.encode()) as second:
        assert acceptor.admit(is_taken=True) is None
        told = second.recv(200)
        assert told.count(TOLD) == 1 and told.startswith(b"+")
        checksum = sum(told[2 : told.index(b"#")]) & 0xFF
        assert told.endswith(b"#%02x" % checksum)
        # It goes when it has understood.
        assert acceptor.admit(is_taken=True) is None and acceptor.seconds is not None
        second.sendall(b"+")
        assert acceptor.admit(is_taken=True) is None and acceptor.seconds is None
        assert is_closed(second)


def test_a_gdb_that_comes_while_the_first_leaves_waits_for_that(listener: Listener) -> None:
    acceptor = Acceptor(listener)
    with visit(listener, RSP.encode()):
        assert acceptor.admit(is_taken=True) is None
        connection = admitted(acceptor)
        assert connection is not None
        connection.close()


def test_without_a_descriptor_who_comes_is_turned_away(listener: Listener) -> None:
    visitors = [visit(listener) for _ in range(3)]
    taken: List[int] = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        pass
    try:
        for _ in visitors:
            assert listener.accept() is None
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert all(is_closed(visitor) for visitor in visitors)
    with visit(listener, b"+"):
        connection = listener.accept()
        assert connection is not None and connection.recv(1) == b"+"
        connection.close()


def test_the_folder_is_the_users_alone_and_goes() -> None:
    listener = listen_privately()
    folder = Path(listener.where).parent
    found = folder.stat()
    assert stat.S_IMODE(found.st_mode) == 0o700 and found.st_uid == os.geteuid()
    assert listener.warning == "" and listener.port == 0
    listener.close()
    assert not folder.exists()


@pytest.mark.parametrize("mode, is_taken", [(0o700, True), (0o755, True), (0o777, False), (0o1777, True)])
def test_which_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_taken: bool) -> None:
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    base.chmod(mode)
    try:
        with closing(listen_privately()) as listener:
            assert (base in Path(listener.where).parents) is is_taken
    finally:
        base.rmdir()


@pytest.mark.parametrize("name", ["a:b", "n" * 90])
def test_a_folder_that_gdb_or_the_system_cannot_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / name))
    with closing(listen_privately()) as listener:
        assert name not in listener.where and len(os.fsencode(listener.where)) < 104


def test_where_the_system_does_not_tell_who_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_TABLES", ())
    with closing(listen_on(0, "")) as listener, visit(listener):
        assert listener.warning.endswith("every user of this machine can reach %s" % listener.where)
        connection = listener.accept()
        assert connection is not None
        connection.close()


def test_where_there_are_no_such_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with closing(listen_privately()) as listener:
        assert listener.port and listener.where == "localhost:%d" % listener.port and listener.warning == ""


def test_a_port_that_is_taken() -> None:
    with closing(listen_on(0, "")) as listener:
        with pytest.raises(ConnectError, match=r"cannot listen on localhost:%d \(.*\); try another$" % listener.port):
            listen_on(listener.port, "try another")


def test_who_has_gone_is_nobody(listener: Listener) -> None:
    visitor = visit(listener, b"$?#3f")
    visitor.close()
    connection = listener.accept()
    if connection is not None:
        # Of a socket in a folder the system remembers who it was.
        assert listener.port == 0
        connection.close()


def test_an_ipv6_socket_that_comes_over_ipv4() -> None:
    with closing(listen_on(0, "")) as listener, socket.socket(socket.AF_INET6) as visitor:
        try:
            visitor.connect(("::ffff:127.0.0.1", listener.port))
        except OSError as error:
            pytest.skip("no IPv6: %s" % error)
        connection = listener.accept()
        assert connection is not None
        connection.close()
