"""Damaged and hostile clients: what they send, and what must hold.

Everybody is answered, nobody fails.

For the tests, and for longer runs of scripts/fuzz.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import threading
from functools import lru_cache
from typing import Any, Callable, List, Sequence, Tuple

from hypothesis import strategies as some

import gdb_etm
from gdb_etm.access.client import Client, start
from gdb_etm.access.logs import LogKeeper
from gdb_etm.access.process import server_arguments
from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
from gdb_etm.access.request_handler import RequestHandler
from gdb_etm.beside.process import HistoryFront
from gdb_etm.beside.shell import load_replay
from gdb_etm.errors import AccessError
from gdb_etm.replay.between import pass_on, serve
from gdb_etm.replay.console import Replay
from gdb_etm.replay.ends import ServerLink
from gdb_etm.replay.halted import Halt
from gdb_etm.replay.packets import InputKind, PacketReader, frame
from gdb_etm.replay.target import Target
from gdb_etm.replay.wires import over_socket
from tests.replay.boards import ELF
from tests.sockets.visitors import come_in

_PATIENCE = 20.0
_HEX = some.text("0123456789abcdefABCDEFx,;:-", max_size=24)
_NAMES = (
    *("g", "G", "p", "P", "m", "M", "X", "Z0,", "Z2,", "z1,", "Z9", "bs", "bc", "?", "!", "T", "H", "Hg-1", "D", "k"),
    *("s", "S05", "c", "vCont?", "vCont;s", "vCont;r", "vCont;r0,ffffffffffff", "vKill;", "vRun;", "vMustReplyEmpty"),
    *("qSupported:", "qXfer:features:read:target.xml:", "qXfer:memory-map:read::", "qXfer:threads:read::", "qSymbol::"),
    *("qRcmd,", "qRcmd,7768657265", "qRcmd,7265636f7665727920", "qRcmd,766f6c6174696c6520", "QStartNoAckMode"),
    *("QNonStop", "qfThreadInfo", "qC", "vFile:open:", "R00", "F", "\x80"),
    *("O4f", "OK", "E01", "T05thread:1;", "S05", "W00", "0*~0*~"),
)
_SPOKEN = some.builds(lambda name, more: (name + more).encode("latin-1"), some.sampled_from(_NAMES), _HEX)
_PACKETS = some.one_of(_SPOKEN, _SPOKEN, some.binary(max_size=40)).map(frame)


def _damage(packet: bytes, at: int, bit: int) -> bytes:
    at %= len(packet)
    return packet[:at] + bytes([packet[at] ^ 1 << bit]) + packet[at + 1 :]


# What comes from one side, in pieces, each in hexadecimal.
SPEECH = some.lists(
    some.one_of(
        _PACKETS,
        some.builds(_damage, _PACKETS, some.integers(0, 99), some.integers(0, 7)),
        some.binary(max_size=30),
        some.sampled_from([b"+", b"-", b"\x03", b"$", b"#", b"}", b"%Stop:T05#99", b"$" + b"m" * 70000]),
    ).map(bytes.hex),
    min_size=1,
    max_size=20,
)

_LEAVES = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-(1 << 70), 1 << 70),
    some.sampled_from([float("inf"), float("-inf"), float("nan"), 1e300, "", "0x10", "A" * 5000, "frames", "STARTED"]),
    some.text(max_size=8),
)
_FIELDS = some.sampled_from(
    "id op ap address value words steps power_up data sources format end name files whole begin halt settings "
    "registers core protocol begin_at recovery volatile".split()
)
_VALUES = some.recursive(
    _LEAVES, lambda inner: some.one_of(some.lists(inner, max_size=4), some.dictionaries(_FIELDS, inner, max_size=5))
)
_SOURCE: Any = {"name": "ETM_0", "protocol": "etmv4", "registers": {"TRCCONFIGR": 0}, "core": ["cpu_0", "Cortex-M33"]}
_CAPTURE: Any = {
    "data": "AAAA",
    "sources": [_SOURCE],
    "format": "coresight",
    "end": "WRAPPED",
    "name": "halt",
    "files": [],
    "whole": True,
    "begin": {"r0": 0},
    "halt": {"pc": 0},
    "settings": {"recovery": "assumed"},
}


def _request(op: str, fields: Any, capture: bool) -> Any:
    return {"op": op, **(_CAPTURE if capture else {}), **fields}


# Lines for the control port.
MESSAGES = some.lists(
    some.one_of(
        some.builds(
            _request,
            some.sampled_from(
                "hello read32 write32 read_block read_fifo aps cores status debug_port log run halt reset registers "
                "set_breakpoint clear_breakpoint at_end capture capture past rely x".split()
            ),
            some.dictionaries(_FIELDS, _VALUES, max_size=5),
            some.booleans(),
        ).map(json.dumps),
        _VALUES.map(json.dumps),
        some.text(max_size=30),
        some.sampled_from(["[" * 100000, '{"id":' + "9" * 5000 + "}", '{"op":"capture","begin_at":1e999,"data":""}']),
    ),
    min_size=1,
    max_size=12,
)


def _spoken(pieces: Sequence[str]) -> bytes:
    return b"".join(map(bytes.fromhex, pieces))


def _check_heard(heard: bytes) -> List[bytes]:
    # Whole packets and acknowledgments, nothing else; gives the packets.
    items = PacketReader(1 << 22).feed(heard)
    assert all(
        item.kind in (InputKind.PACKET, InputKind.ACK, InputKind.NACK, InputKind.INTERRUPT) for item in items
    ), heard[-200:]
    packets = [item.data for item in items if item.kind is InputKind.PACKET]
    signs = sum(item.kind is not InputKind.PACKET for item in items)
    assert len(heard) == sum(len(frame(packet)) for packet in packets) + signs
    return packets


def _speaker(pieces: Sequence[str]) -> Tuple[socket.socket, socket.socket]:
    # Both ends of a connection; at the first one all is being said, and then nothing more.
    ours, theirs = socket.socketpair()

    def say() -> None:
        try:
            ours.sendall(_spoken(pieces))
            ours.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # nobody listens any more

    threading.Thread(target=say, daemon=True).start()
    return ours, theirs


def _exchange(pieces: Sequence[str], answer: Callable[[socket.socket], None]) -> bytes:
    # Gives what was answered until the server had enough.
    ours, theirs = _speaker(pieces)
    heard = bytearray()

    def hear() -> None:
        try:
            while True:
                data = ours.recv(1 << 16)
                if not data:
                    break
                heard.extend(data)
        except OSError:
            pass  # the server has gone with something unread

    with ours:
        hearing = threading.Thread(target=hear, daemon=True)
        hearing.start()
        answer(theirs)
        hearing.join(_PATIENCE)
        assert not hearing.is_alive(), "the connection is open still"
    return bytes(heard)


@lru_cache(maxsize=None)
def fault() -> Replay:
    """The demo's fault, captured on the board m33."""
    with tempfile.TemporaryDirectory() as folder, gdb_etm.connect("board:m33", elf=str(ELF)) as session:
        session.start()
        session.run(_PATIENCE)
        session.command("save %s/fault" % folder)
        return load_replay(folder + "/fault", [str(ELF)], None)


class _Fault:
    # The history of whatever halt.

    def replay(self, halt: Halt) -> Replay:
        """Give it."""
        return fault()

    def on_past(self, in_the_past: bool) -> None:
        """Take note."""

    def on_resume(self, halt: Halt) -> None:
        """Take note."""

    def on_leave(self, halt: Halt) -> None:
        """Take note."""


def check_target(pieces: Sequence[str]) -> None:
    """A replay sends only packets, and answers the next GDB."""
    target = Target(fault())
    for words in (pieces, [frame(b"qSupported:").hex()]):
        packets = _check_heard(_exchange(words, lambda theirs: serve(over_socket(theirs), target)))
    assert packets and packets[0].startswith(b"PacketSize=")


def check_proxy(pieces: Sequence[str], replies: Sequence[str]) -> None:
    """A proxy survives both sides; a lost server is an error."""

    def answer(theirs: socket.socket) -> None:
        ours, servers = _speaker(replies)
        with ours:
            wire, link = over_socket(theirs), ServerLink(over_socket(servers), "the server")
            try:
                pass_on(wire, link, _Fault())
            except AccessError as error:
                assert "the server" in str(error)
            finally:
                wire.close()
                link.wire.close()

    _exchange(pieces, answer)


def check_beside(pieces: Sequence[str], replies: Sequence[str]) -> None:
    """Who stands between GDB and pyOCD has an answer to every packet."""
    between = HistoryFront().between()
    answers = [bytes.fromhex(text) for text in replies]
    for number, piece in enumerate(pieces):
        for item in PacketReader().feed(bytes.fromhex(piece)):
            if item.kind is InputKind.PACKET and not between.leaves_alone(item.data):
                reply = between.answer(item.data, lambda data: answers[number % len(answers)], bytes, lambda: True)
                assert reply is None or isinstance(reply, bytes)
    between.leave()


@lru_cache(maxsize=None)
def _session() -> PyocdSession:
    front = HistoryFront()
    session = PyocdSession(SessionOptions(probe="board:m33", options=("board.elf=%s" % ELF,)), front.between)
    session.operations.update(front.operations)
    return session


def answer(line: bytes) -> bytes:
    """Give what the control port answers to a line."""
    return RequestHandler(_session(), LogKeeper()).answer(line)


def check_desk(lines: Sequence[str]) -> None:
    """Each line is answered, and a good request then works."""
    handler = RequestHandler(_session(), LogKeeper())
    for line in lines:
        answer = handler.answer(line.encode("utf-8", "surrogatepass").replace(b"\n", b" "))
        assert answer.endswith(b"\n") and answer.count(b"\n") == 1
        reply = json.loads(answer)
        assert "id" in reply
        if "error" in reply:
            assert {"kind", "message", "address"} == set(reply["error"]) and reply["error"]["message"]
    assert json.loads(handler.answer(b'{"id": 7, "op": "read32", "ap": 0, "address": 3758157056}'))["value"] & 0xFFF0
    handler.finish()


@lru_cache(maxsize=None)
def _process() -> Client:
    arguments = server_arguments(probe="board:m33", connect_mode="under-reset", options=("board.elf=%s" % ELF,))
    return start(sys.executable, arguments, module="gdb_etm.beside.process")


def end_process() -> None:
    """End the process that :func:`check_pyocd` started, if any."""
    if _process.cache_info().currsize:
        _process().close()
        _process.cache_clear()


def check_pyocd(pieces: Sequence[str]) -> None:
    """After anything said to pyOCD's server, the next GDB is served."""
    place = _process().hello.gdb_server
    with come_in(place) as connection:
        try:
            connection.sendall(_spoken(pieces) + b"\x03")
        except ConnectionError:
            pass  # it was sent away
    with come_in(place) as connection:
        connection.settimeout(_PATIENCE)
        connection.sendall(b"+" + frame(b"qSupported:"))
        heard = b""
        while b"PacketSize" not in heard:
            data = connection.recv(4096)
            assert data, heard
            heard += data
