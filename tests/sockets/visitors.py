"""Knocks at every port and socket, as whatever user."""

from __future__ import annotations

import json
import os
import pwd
import socket
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import pytest

# A TCP port of localhost, or a socket's path.
Place = Union[int, str]
HELLO = '{"op":"hello"}\n'
RSP = "+$qSupported:multiprocess+#c6"
HTTP = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n" + RSP + HELLO
GREETINGS = (RSP, HELLO, HTTP)
# Where what was said, and what was answered.
Heard = Tuple[Place, str, str]
# How long an answer may take.  And a connection: a request for one that is lost is repeated after one second and three.
_SECONDS, _COMING_SECONDS = 2.0, 20.0


def knock(places: Sequence[Place], user: Optional[str] = None, greetings: Sequence[str] = GREETINGS) -> List[Heard]:
    """Say each greeting at each place, and give what was answered.

    :param user: Who knocks; None: this user.  Skips where this user may not become that one.
    """
    tries = [(place, greeting) for place in places for greeting in greetings]

    def say_all() -> List[Heard]:
        return [(place, greeting, _say(place, greeting)) for place, greeting in tries]

    if user is None:
        return say_all()
    heard = as_user(user, say_all)
    assert len(heard) == len(tries)
    return [(place, greeting, said) for place, greeting, said in heard]


def as_user(user: str, action: Callable[[], Any]) -> Any:
    """Call a function as another user; skip where that is forbidden.

    :param action: Returns what can be written as JSON.
    """
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    known = pwd.getpwnam(user)
    # What is still to be imported that user may not read.
    "localhost".encode("idna")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(known.pw_gid)
            os.setuid(known.pw_uid)
            os.write(writer, json.dumps([os.geteuid(), action()]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        who, found = json.load(told)
    os.waitpid(child, 0)
    assert who == known.pw_uid
    return found


def stays_open(place: Place) -> bool:
    """Whether who comes and says nothing is not sent away."""
    with come_in(place) as connection:
        try:
            return connection.recv(100) != b""
        except ConnectionError:
            return False
        except socket.timeout:
            return True


def answered(heard: Sequence[Heard]) -> Dict[str, List[Place]]:
    """Give the places that said anything, by greeting."""
    found: Dict[str, List[Place]] = {}
    for place, greeting, said in heard:
        if said:
            found.setdefault(greeting, []).append(place)
    return found


def come_in(place: Place) -> socket.socket:
    """Connect as this user."""
    connection = socket.socket(socket.AF_INET if isinstance(place, int) else socket.AF_UNIX)
    connection.settimeout(_COMING_SECONDS)
    connection.connect(("127.0.0.1", place) if isinstance(place, int) else place)
    connection.settimeout(_SECONDS)
    return connection


def _say(place: Place, greeting: str) -> str:
    try:
        with come_in(place) as connection:
            connection.sendall(greeting.encode())
            return connection.recv(4096).decode("latin-1")
    except OSError:
        return ""
