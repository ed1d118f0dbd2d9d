"""Owner of the process at a local connection's other end.

Ref: unix(7), SO_PEERCRED; proc(5), /proc/net/tcp: a socket without an inode has no process any more, and the user that
the table then names is none.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import Iterator, List, Tuple

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"
# What an IPv6 socket that is connected over IPv4 has before its address.
_MAPPED = "%016X%08X" % (0, int.from_bytes(b"\0\0\xff\xff", sys.byteorder))
# A row may be missed while others come and go.
_TRIES = 3


def can_tell(listener: socket.socket) -> bool:
    """Whether the system says who connects to a listening socket.

    :param listener: A socket in a folder of this user's, or a TCP socket.
    """
    if listener.family != socket.AF_INET:
        return True
    try:
        inode = str(os.fstat(listener.fileno()).st_ino)
    except OSError:
        return False  # a socket of Windows is no file
    here = _written(listener.getsockname())
    return any(row[1] in here and row[3] == _LISTENS and row[9] == inode for row in _rows())


def is_own(connection: socket.socket) -> bool:
    """Whether this user owns the process at the other end.

    A process that has ended has no known owner.

    :param connection: Accepted by a listener for which :func:`can_tell` is true.
    """
    try:
        if connection.family == socket.AF_INET:
            return any(_is_ours(connection) for _ in range(_TRIES))
        # Elsewhere than on Linux the folder of the socket alone keeps others out.
        option = getattr(socket, "SO_PEERCRED", None)
        if option is None:
            return True
        size = struct.calcsize("3i")
        return bool(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, size))[1] == os.geteuid())
    except OSError:
        return False


def is_local(host: str) -> bool:
    """Whether a host's name is one of this machine's."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    addresses = [str(entry[4][0]) for entry in found]
    return all(address == "::1" or address.startswith("127.") for address in addresses)


def ipv4_of(host: str) -> str:
    """Give a host's IPv4 address.

    :raises OSError: It has none.
    """
    return str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])


def is_strangers(connection: socket.socket) -> bool:
    """Whether another user, but for root, owns what we connected to.

    False where the system does not tell.

    :param connection: Accepted at its other end, at an IPv4 address.
    """
    here, there = _written(connection.getsockname()), _written(connection.getpeername())
    known = str(os.geteuid()), "0"
    return any(row[1] in there and row[2] in here and row[7] not in known and row[9] != "0" for row in _rows())


def _is_ours(connection: socket.socket) -> bool:
    here, there = _written(connection.getsockname()), _written(connection.getpeername())
    ours = str(os.geteuid())
    return any(row[1] in there and row[2] in here and row[7] == ours and row[9] != "0" for row in _rows())


def _written(address: Tuple[str, int]) -> List[str]:
    # As the tables write it: words in the machine's order, the port in hexadecimal.
    host, port = address
    word = "%08X:%04X" % (int.from_bytes(socket.inet_aton(host), sys.byteorder), port)
    return [word, _MAPPED + word]


def _rows() -> Iterator[List[str]]:
    for name in _TABLES:
        try:
            with open(name, encoding="ascii") as table:
                yield from (row for row in map(str.split, table) if len(row) > 9)
        except OSError:
            continue  # the system has none, or no IPv6
