"""Real pyOCD and GDB on simulated boards whose probe fails."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
from pyocd.core import exceptions
from pyocd.gdbserver.gdbserver import GDBClientSession

from gdb_etm.access.logs import LogKeeper
from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
from gdb_etm.access.request_handler import RequestHandler
from gdb_etm.access.watched_probe import WatchedProbe
from gdb_etm.access.wire import Message, decode_line, encode_line
from gdb_etm.board.faults import Faults
from gdb_etm.board.wire import ProbeWire
from gdb_etm.errors import AccessError, ConnectError
from tests.access.processes import (
    CPUID,
    DEMO,
    PATIENCE,
    ROOT,
    SPARE,
    is_running,
    start_board,
    wait_until,
)
from tests.gdb_session import gdb_program

NOTHING = 0x60000000
CASES = 25


@pytest.fixture
def session() -> Iterator[PyocdSession]:
    """A session on the board, whose faults can be changed."""
    opened = PyocdSession(SessionOptions(probe="board:m33", options=("board.elf=%s" % DEMO,), connect_mode="halt"))
    yield opened
    opened.close()


def wire_of(session: PyocdSession) -> ProbeWire:
    wire = session.probe.etm_wire
    assert isinstance(wire, ProbeWire)
    return wire


def fail_after(session: PyocdSession, fault: str, transfers: int) -> None:
    """Have a fault happen so many transfers from now."""
    wire = wire_of(session)
    wire.mend()
    wire.board.faults = Faults(**{fault: wire.transfers + transfers})


def in_another_thread(work: Callable[[], object]) -> List[object]:
    """Call a function in a thread; return its result, if any."""
    found: List[object] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return found


def read_past_the_fault(session: PyocdSession) -> int:
    """Read a word; the first read may find an old bus fault."""
    try:
        return session.port(0).read32(CPUID)
    except AccessError:
        return session.port(0).read32(CPUID)


REGISTERS = {"op": "registers"}
BLOCK = {"op": "read_block", "ap": 0, "address": CPUID, "words": 3}
FIFO_OF_NOTHING = {"op": "read_fifo", "ap": 0, "address": NOTHING, "words": 3}
DEBUG_PORT = {"op": "debug_port", "power_up": True}


@pytest.mark.parametrize(
    "fault, message",
    [
        ("usb_error", REGISTERS),
        ("usb_error", BLOCK),
        ("usb_error", FIFO_OF_NOTHING),
        ("usb_error", DEBUG_PORT),
        ("short_read", REGISTERS),
        ("short_read", BLOCK),
    ],
)
def test_no_failure_keeps_the_probe_from_others(session: PyocdSession, fault: str, message: Message) -> None:
    """Each request fails at each transfer; pyOCD may keep its lock."""
    handler = RequestHandler(session, LogKeeper())
    failed = 0
    for transfers in range(1, CASES):
        fail_after(session, fault, transfers)
        reply = decode_line(handler.answer(encode_line(message)))
        failed += "error" in reply and reply["error"]["kind"] == "lost"
        wire_of(session).board.faults = Faults()
        cpuid = in_another_thread(lambda: read_past_the_fault(session))
        assert cpuid == [session.hello().cores[0].cpuid], transfers
    assert failed and session.probe.lost is None


def test_holes_in_a_fifo_are_told(session: PyocdSession) -> None:
    """A lost word is gone; the next one does not replace it."""
    fail_after(session, "short_read", 50)
    with pytest.raises(AccessError, match=r"sent nonsense; .* \(98 of 99 values\)"):
        session.port(0).read_fifo(CPUID, 100)


def test_a_hole_in_any_answer_is_told_while_opening() -> None:
    """pyOCD takes other values instead, or does without."""
    told = []
    for transfers in range(1, 400, 9):
        options = ("board.elf=%s" % DEMO, "board.faults=short-read:%d" % transfers)
        try:
            PyocdSession(SessionOptions(probe="board:m33", options=options)).close()
        except ConnectError as error:
            told.append(str(error))
    line = re.compile(r"the debug probe board:m33 sent nonsense; .* \((\d+ of \d+ values|IndexError: .*)\)")
    assert len(told) > 20 and all(map(line.fullmatch, told)), told


@pytest.mark.parametrize("board, transfers", [("m33", 3), ("m33", 150), ("m33", 306), ("m7", 199), ("m4", 248)])
def test_usb_that_fails_while_opening_is_told(board: str, transfers: int) -> None:
    """pyOCD goes on without registers, or keeps its lock."""
    options = ("board.elf=%s" % DEMO, "board.faults=usb-error:%d" % transfers)
    line = "^the debug probe board:%s failed: Input/Output Error; connect again$" % board
    with pytest.raises(ConnectError, match=line):
        PyocdSession(SessionOptions(probe="board:%s" % board, options=options, connect_mode="under-reset"))


@pytest.mark.parametrize("accesses", [1, 40])
def test_a_target_that_does_not_answer_is_told_while_opening(accesses: int) -> None:
    """pyOCD says that there are no cores."""
    options = ("board.elf=%s" % DEMO, "board.faults=hang:%d" % accesses)
    line = "^debug probe board:m33 is there, the target is not: board:m33: the access port answers WAIT$"
    with pytest.raises(ConnectError, match=line):
        PyocdSession(SessionOptions(probe="board:m33", options=options))


def test_gdb_is_told_of_a_target_that_does_not_answer(session: PyocdSession) -> None:
    server: Any = session._server
    wire_of(session).board.dp._faults = Faults(hang=1)
    client = GDBClientSession(server.pyocds, None, 1)
    answers = [server._reply(client, b"$%s#00" % packet) for packet in (b"g", b"?", b"m0,4")]
    assert answers[0].startswith(b"$E.the debug probe gets no answer from the target: board:m33: the access port answ")
    assert [answer[1:4] for answer in answers[1:]] == [b"S05", b"E01"]


def test_a_halt_that_failed_is_asked_for_again(session: PyocdSession) -> None:
    session.core_control().run()
    server: Any = session._server
    fail_after(session, "usb_error", 1)
    before = wire_of(session).transfers
    server.pyocds._halt_target()
    # The write fails once, and is made again.
    assert wire_of(session).transfers > before + 1 and wire_of(session)._failed
    assert session.states() == ["halted"] and session.probe.lost is None


def test_a_port_that_is_first_used_when_the_probe_is_lost(session: PyocdSession) -> None:
    session.probe.lost = "board:m33 is not connected any more"
    with pytest.raises(AccessError, match="cannot open AHB5?-AP 0: the debug probe no longer answers") as caught:
        session.port(0)
    assert caught.value.kind == "lost"


def test_the_packet_that_waits_gets_a_reply_that_gdb_understands(session: PyocdSession) -> None:
    """GDB 13 waits for ever for another reply to these."""

    class Gdb:
        sent: List[bytes] = []

        def send(self, packet: bytes) -> None:
            self.sent.append(packet)

        def run(self) -> None:
            pass

    server: Any = session._server
    gdb = Gdb()
    for packet, reply in ((b"$?#3f", b"S05"), (b"$m0,4#fd", b"E01"), (b"$g#67", b"E.the debug probe is lost: gone; ")):

        def lose(client: object, msg: bytes) -> None:
            session.probe.lost = "gone"
            server._mourn("gone")
            server._asking.add(client)  # so that the test's thread returns

        session.probe.lost = None
        server._pyocds_reply = lose
        server._reply(gdb, packet)
        assert len(Gdb.sent) == 1 and Gdb.sent.pop().startswith(b"$" + reply)
    session.probe.lost = None


def test_a_lost_probe_is_refused_to_who_waits_for_it(session: PyocdSession) -> None:
    probe = session.probe
    probe.lock()
    fail_after(session, "unplug_after", 1)
    with pytest.raises(AccessError):
        session.port(0).read_block(CPUID, 100)

    def take() -> str:
        with pytest.raises(exceptions.ProbeDisconnected) as caught:
            probe.lock()
        return str(caught.value)

    assert in_another_thread(take) == ["board:m33 is not connected any more"]


def test_a_call_that_waits_too_long_loses_the_probe() -> None:
    class Probe:
        unique_id = "probe:1"
        looks = 0

        def read_dp(self, address: int) -> int:
            while watched.lost is None:
                self.looks += 1
                watched.look()
            return address

    watched = WatchedProbe(Probe())
    watched.is_watched = True
    assert watched.read_dp(4) == 4
    assert watched.lost == "probe:1 has not answered for 4 s" and watched._probe.looks > 4
    with pytest.raises(exceptions.ProbeDisconnected, match="has not answered for 4 s"):
        watched.read_dp(4)


def test_one_failure_is_none_and_many_are_a_loss() -> None:
    class Probe:
        def read_dp(self, address: int) -> int:
            if address:
                raise OSError(5, "Input/Output Error")
            return 0

    watched = WatchedProbe(Probe())
    watched.is_watched = True
    for address in (1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1):
        if address:
            with pytest.raises(exceptions.ProbeError, match="Input/Output Error"):
                watched.read_dp(address)
        else:
            assert watched.read_dp(address) == 0
    assert watched.lost is None
    with pytest.raises(exceptions.ProbeError):
        watched.read_dp(1)
    assert watched.lost == "Input/Output Error"


def test_a_probe_that_does_not_return_is_lost_and_the_process_ends(forever: Path) -> None:
    client = start_board(forever, "board.faults=stuck:6000")
    pid = client.process_id
    assert pid is not None
    with pytest.raises(AccessError, match="the debug probe is lost: board:m33 has not answered for 4 s") as caught:
        client.port().read_fifo(SPARE, 20000)
    assert caught.value.kind == "lost" and not client.alive
    client.close()
    assert not is_running(pid)


@pytest.mark.sweep
@pytest.mark.parametrize("transfers", [1, 40, 150])
def test_a_probe_that_does_not_return_while_it_is_opened(forever: Path, transfers: int) -> None:
    with pytest.raises(ConnectError, match="the debug probe is lost: board:m33 has not answered for 4 s"):
        start_board(forever, "board.faults=stuck:%d" % transfers)


def test_a_process_that_waits_for_its_probe_ends_with_its_client(forever: Path) -> None:
    program = (
        "import os, pathlib, threading; from tests.access.processes import SPARE, start_board;"
        "client = start_board(pathlib.Path(%r), 'board.faults=stuck:6000'); print(client.process_id, flush=True);"
        "threading.Timer(1, os.kill, (os.getpid(), 9)).start(); client.port().read_fifo(SPARE, 20000)"
    ) % str(forever)
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert wait_until(lambda: not is_running(int(killed.stdout)))


@pytest.mark.parametrize("fault", ["unplug-after", "stuck"])
def test_gdb_is_told_by_each_command(forever: Path, fault: str) -> None:
    """The probe fails during GDB's own access, in another thread."""
    client = start_board(forever, "board.faults=%s:2500" % fault)
    commands = [
        "file %s" % forever,
        "target extended-remote " + client.hello.gdb_server,
        "dump binary memory /dev/null 0x20000000 0x20004000",
        "stepi",
        "continue",
        "detach",
        "echo alive\\n",
    ]
    line = [gdb_program(), "-nx", "-q", "-batch", "-ex", "set width 0"]
    for command in commands:
        line += ["-ex", command]
    done = subprocess.run(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=60,
        check=False,
    )
    client.close()
    told = re.findall(r'the debug probe is lost: board:m33 .*; try "etm disconnect" and "etm connect"', done.stdout)
    assert len(told) >= 2 and "alive\n" in done.stdout, done.stdout
