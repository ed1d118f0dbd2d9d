"""Real GDB session, property tests: the proxy and its failures."""

from __future__ import annotations

import gc
import re
import select
import socket
import subprocess
import sys
import weakref
from contextlib import contextmanager
from typing import Iterator, List, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from gdb_etm.beside.histories import Histories
from gdb_etm.errors import CaptureError
from gdb_etm.replay.console import Replay
from gdb_etm.replay.halted import Halt
from gdb_etm.replay.layout import RegisterLayout, described, m_profile
from gdb_etm.replay.packets import InputKind, Item, frame
from gdb_etm.replay.proxy import Proxy
from gdb_etm.session.halt_states import Anchored
from gdb_etm.snapshot.reader import read_snapshot
from tests.gdb_session import ROOT
from tests.replay.boards import ELF, PROXY, pyocd_server, run
from tests.shared import capture_folder

SECONDS = 30


class Halted:
    """A server with a halted target that has registers and nothing else."""

    def __init__(self) -> None:
        self.asked: List[bytes] = []

    def ask(self, data: bytes) -> bytes:
        """Answer."""
        self.asked.append(data)
        return {b"g": b"00" * 68, b"vCont?": b"vCont;c;C;s;S"}.get(data, b"OK" if data[:1] in b"Zz" else b"")

    def send(self, data: bytes) -> None:
        """Take a packet."""
        self.asked.append(data)

    def interrupt(self) -> None:
        """Take Ctrl-C."""
        self.asked.append(b"\x03")


def test_what_was_made_for_an_older_halt_is_collected() -> None:
    """Python's own collector rests, as with many old objects."""
    (capture,) = read_snapshot(capture_folder("armv8_1m_branches"))
    histories, made = Histories([]), []
    gc.disable()
    try:
        for _ in range(3):
            histories.forget()
            histories.add(capture, Anchored())
            replay = histories.replay(Halt(Halted()))
            replay.past.prepare(replay.motion.last)
            made.append(weakref.ref(replay.past))
            del replay
        assert [each() is not None for each in made] == [False, False, True]
    finally:
        gc.enable()


class Nothing:
    """No history."""

    def replay(self, halt: Halt) -> Replay:
        """Refuse."""
        raise CaptureError("nothing was traced yet")

    def on_past(self, in_the_past: bool) -> None:
        """Take note."""

    def on_resume(self, halt: Halt) -> None:
        """Take note."""

    def on_leave(self, halt: Halt) -> None:
        """Take note."""


def replies(proxy: Proxy, data: bytes) -> List[Optional[bytes]]:
    """Give what GDB gets at once for a packet."""
    return list(proxy.from_gdb(Item(InputKind.PACKET, data)))


def test_live_packets_pass_and_features_are_added() -> None:
    server = Halted()
    proxy = Proxy(server, Nothing())
    assert replies(proxy, b"qSupported:multiprocess+") == [] and server.asked[-1] == b"qSupported:multiprocess+"
    told = proxy.from_server(Item(InputKind.PACKET, b"PacketSize=4000;ReverseStep-;QNonStop+;qXfer:features:read+"))
    assert told == (
        b"PacketSize=4000;qXfer:features:read+;ReverseStep+;ReverseContinue+;QStartNoAckMode+;vContSupported+"
    )
    assert (
        replies(proxy, b"m20000000,4") == [] and proxy.from_server(Item(InputKind.PACKET, b"01020304")) == b"01020304"
    )
    list(proxy.from_gdb(Item(InputKind.INTERRUPT)))
    assert server.asked[-1] == b"\x03"


def test_without_a_history_a_line_says_why() -> None:
    proxy = Proxy(Halted(), Nothing())
    console, stop = replies(proxy, b"bs")
    assert console == b"O" + b"etm: nothing was traced yet\n".hex().encode() and stop == b"T05replaylog:begin;"
    assert not proxy.is_replaying


@settings(max_examples=200)
@given(some.binary(max_size=40))
def test_descriptions_and_packets_of_any_bytes(data: bytes) -> None:
    described(data.decode("latin-1"))
    m_profile().values(data.decode("latin-1"))
    proxy = Proxy(Halted(), Nothing())
    replies(proxy, data)
    proxy.from_server(Item(InputKind.PACKET, data))


def test_a_description_numbers_its_registers_on() -> None:
    layout = described('<reg name="a" bitsize="32"/><reg bitsize="64" name="b" regnum="7"/><reg name="c" bitsize="8"/>')
    assert isinstance(layout, RegisterLayout)
    assert [(one.name, one.number, one.bits) for one in layout.registers] == [("a", 0, 32), ("b", 7, 64), ("c", 8, 8)]
    assert layout.values("01000000" + "xx" * 8 + "ff") == {"a": 1, "c": 255}
    # As OpenOCD 0.12 describes a Cortex-M's: a bit takes a byte in packets.
    masks = described('<reg name="primask" bitsize="1" regnum="93"/><reg name="control" bitsize="3" regnum="96"/>')
    assert masks is not None and [one.bits for one in masks.registers] == [8, 8]
    assert described('<reg name="a" bitsize="100000000"/>') is None and described("") is None


class Before:
    """A running ``gdb-etm proxy`` with a port of its own."""

    def __init__(self, server: int) -> None:
        command = [sys.executable, "-m", "gdb_etm", "proxy", "--server", "localhost:%d" % server, "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--elf", str(ELF)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"localhost:(\d+)", self.process.stdout.readline())
        assert found
        self.port = int(found.group(1))

    def connect(self) -> socket.socket:
        """Come as a GDB does."""
        return socket.create_connection(("localhost", self.port), SECONDS)

    def told(self) -> str:
        """End it, and give what it wrote to standard error."""
        self.process.terminate()
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def proxy_before(server: int) -> Iterator[Before]:
    """Run a proxy in front of a server."""
    before = Before(server)
    try:
        yield before
    finally:
        before.process.kill()
        before.process.communicate()


def said(connection: socket.socket, words: bytes, wanted: bytes) -> bytes:
    """Say something, and read until something is answered."""
    connection.sendall(words)
    heard = b""
    while wanted not in heard:
        assert select.select([connection], [], [], SECONDS)[0], heard
        data = connection.recv(4096)
        assert data, heard
        heard += data
    return heard


@pytest.fixture(name="server", scope="module")
def fixture_server() -> Iterator[int]:
    """The port of pyOCD's own server."""
    with pyocd_server() as port:
        yield port


TRCPRGCTLR = "x/wx 0xe0041004"


@pytest.mark.every_gdb
def test_a_server_that_knows_nothing_of_it(server: int) -> None:
    target = "%s --server localhost:%d --elf %s" % (PROXY, server, ELF)
    fault = ["monitor reset halt", TRCPRGCTLR, "continue"]
    output = run(
        ["file %s" % ELF, target, *fault, "reverse-stepi", "reverse-step", "break crc16", "reverse-continue"]
        + ["reverse-finish", "watch -l station", "delete", "continue", "info registers pc", "stepi", "reverse-stepi"]
        + ["detach", "target remote localhost:%d" % server, TRCPRGCTLR],
        source=False,
    )
    assert "gdb-etm: Trace: ETMv4.2 at 0xe0041000 -> funnel 0xe0042000 ports 0, 1 -> ETF at 0xe0043000" in output
    assert "0x00000304 in dispatch (" in output and "Breakpoint 1, crc16 (" in output
    assert "0x00000510 in report () at app.c:121" in output
    assert "etm: [the live end: here the target is halted; the next command runs it]" in output
    assert len(re.findall(r"^0xe0041004:\t0x00000000$", output, re.M)) == 2
    # The step went on for real, and the one back is of what it traced.
    after = output[output.index("the next command runs it") :]
    assert re.search(r"^pc +0x598", after, re.M) and "HardFault_Handler () at faults.c:4" in after


def test_a_gdb_that_ends_in_the_middle_of_a_packet(server: int) -> None:
    with proxy_before(server) as before:
        with before.connect() as first:
            said(first, b"+$qSupported:#%02x" % (sum(b"qSupported:") & 255), b"ReverseStep+")
            first.sendall(b"$X20000000,100:abc")
        output = run(["target remote localhost:%d" % before.port, "info registers pc", "detach"], source=False)
        assert re.search(r"^pc  ", output, re.M) and before.process.poll() is None


def test_a_second_gdb_is_told(server: int) -> None:
    with proxy_before(server) as before:
        with before.connect() as first:
            said(first, b"+" + frame(b"qSupported:"), b"ReverseStep+")
            output = run(["target remote localhost:%d" % before.port], source=False)
            assert "another GDB uses this connection; disconnect it first" in output
            assert b"T05" in said(first, b"+" + frame(b"?"), b"T05")


def test_a_server_that_disappears() -> None:
    with pyocd_server() as port, proxy_before(port) as before:
        with before.connect() as first:
            said(first, b"+" + frame(b"qSupported:"), b"ReverseStep+")
            # The server is told to end by whom it serves.
            first.sendall(b"+" + frame(b"qRcmd," + b"exit".hex().encode()))
            while first.recv(4096):
                pass
        assert before.process.stderr is not None
        told = before.process.stderr.readline()
        assert told + before.told() == "gdb-etm: the server at localhost:%d closed the connection\n" % port


NOISE = some.lists(
    some.one_of(
        some.binary(max_size=30),
        some.binary(max_size=12).map(frame),
        some.sampled_from([frame(b"bs"), frame(b"bc"), frame(b"g"), frame(b"Z0,5,2"), b"+", b"-", frame(b"m0,4")]),
    ),
    max_size=30,
)


def test_noise_harms_nothing(server: int) -> None:
    with proxy_before(server) as before:

        @settings(max_examples=15)
        @given(NOISE)
        def disturb(pieces: List[bytes]) -> None:
            with before.connect() as connection:
                try:
                    for piece in pieces:
                        if not piece.startswith((b"$c", b"$s", b"$v", b"$k", b"$R", b"$C", b"$S")):
                            connection.sendall(piece)
                except OSError:
                    pass  # it was turned away
            assert before.process.poll() is None

        disturb()
        commands = ["target remote localhost:%d" % before.port, "info registers pc", "detach"]
        output = run(commands, source=False)
        while "another GDB uses this connection" in output or "Connection reset" in output:
            # The proxy is not done with the last noise.
            output = run(commands, source=False)
        assert re.search(r"^pc  ", output, re.M), output
