"""Worked by hand: what whoever listens at a port may say first."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any, Callable, Dict

import pytest

from gdb_etm.access.client import attach
from gdb_etm.access.wire import PROTOCOL, Hello, decode_line, parse_hello
from gdb_etm.errors import ConnectError
from tests.sockets.visitors import as_user


def line(**changes: Any) -> bytes:
    """Write a hello with some fields changed."""
    fields: Dict[str, Any] = {
        **{"protocol": PROTOCOL, "pyocd": "0.46", "probe": "probe", "probe_uid": "", "target": "cortex_m"},
        **{"gdb_server": "/run/user/1000/gdb_etm-x/gdb", "core": 0, "running": False, "reverse": False},
        "cores": [{"number": 0, "name": "Cortex-M33", "cpuid": 0x411FD210, "ap": 0}],
        "aps": [{"id": 0, "name": "AHB-AP 0", "idr": 1, "rom": 0xE00FF000, "has_rom": True}],
        "warnings": [],
    }
    return json.dumps({"hello": {**fields, **changes}}).encode()


def said(**changes: Any) -> Hello:
    """Read a hello with some fields changed."""
    return parse_hello(decode_line(line(**changes)))


@pytest.mark.parametrize("where", ["/tmp/gdb_etm-x/gdb", "localhost:3333", ""])
def test_where_gdbs_server_is(where: str) -> None:
    assert said(gdb_server=where).gdb_server == where


@pytest.mark.parametrize(
    "where", ["| touch it_ran", " |x", "!x", "localhost:1\n!x", "localhost:x", "other:1", "gdb", 3333]
)
def test_it_is_no_program(where: Any) -> None:
    with pytest.raises(ConnectError, match="bad hello from the process beside GDB: ") as caught:
        said(gdb_server=where)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "changes",
    [{"core": 1}, {"core": "0"}, {"cores": []}, {"cores": [{}]}, {"cores": 7}, {"aps": [[]]}, {"pyocd": None}],
)
def test_what_is_missing_or_of_another_kind(changes: Dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="bad hello from the process beside GDB: "):
        said(**changes)


def test_its_texts_are_one_line() -> None:
    found = said(probe="a\n\x1b[2J", warnings=["b\nc"])
    assert (found.probe, found.warnings) == ("a??[2J", ("b?c",))


def listen(port: int) -> bool:
    """Say hello to one client, and wait until it goes."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(20)
        with listener.accept()[0] as connection:
            connection.settimeout(20)
            connection.sendall(line() + b"\n")
            while connection.recv(100):
                pass
    return True


def attached(port: int, server: Callable[[], object]) -> Hello:
    """Attach to a server, once it listens."""
    thread = threading.Thread(target=server)
    thread.start()
    try:
        for _ in range(200):
            try:
                client = attach("localhost", port)
            except ConnectError as error:
                if "no gdb-etm serve at" not in str(error):
                    raise
                time.sleep(0.05)
            else:
                client.close()
                return client.hello
        raise TimeoutError
    finally:
        thread.join()


def free_port() -> int:
    """Find a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_another_user_who_listens_is_not_talked_to() -> None:
    port = free_port()
    assert attached(port, lambda: listen(port)).core == 0
    as_user("nobody", lambda: None)
    with pytest.raises(ConnectError, match="what listens at localhost:%d is another user's" % port):
        attached(port, lambda: as_user("nobody", lambda: listen(port)))
