"""Real pyOCD on board m33, in this process: sessions."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from pyocd.probe.aggregator import DebugProbeAggregator

from gdb_etm.access.client import Client
from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
from gdb_etm.access.stream import LineStream
from gdb_etm.access.wire import NO_CORE
from gdb_etm.errors import ConnectError
from gdb_etm.session.connection import TargetConnection
from gdb_etm.sockets import peers
from tests.access.processes import CPUID, write_forever

DHCSR = 0xE000EDF0
DEMCR = 0xE000EDFC
S_HALT = 1 << 17
C_DEBUGEN = 1
HALT = 0xA05F0003
LOST = "the debug probe is lost: board:m33 is not connected any more"

Open = Callable[..., PyocdSession]


class PoweredBoard:
    """A board that keeps its power between sessions."""

    def __init__(self, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._options = ("board.elf=%s" % elf,)
        session = self.open()
        self._probe: Any = session._session.probe
        self.switch_off = self._probe.close
        for name in ("open", "close"):
            monkeypatch.setattr(self._probe, name, lambda: None)
        monkeypatch.setattr(DebugProbeAggregator, "get_all_connected_probes", lambda unique_id=None: [self._probe])
        self.machine = self._probe.etm_wire.board.machine
        session.close()

    def open(self, **options: Any) -> PyocdSession:
        """Open a session."""
        return PyocdSession(SessionOptions(probe="board:m33", options=self._options, **options))

    def read(self, address: int) -> int:
        """Read a word past probe and debug port."""
        return int(self.machine.read(address, 4))


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PoweredBoard]:
    """A powered board whose program runs for ever, until the test ends."""
    powered = PoweredBoard(write_forever(tmp_path / "forever.elf"), monkeypatch)
    yield powered
    powered.switch_off()


def test_where_nobody_tells_who_connects_the_user_is_told(board: PoweredBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = board.open(gdb_port=0)
    assert checked.hello().warnings == ()
    checked.close()
    monkeypatch.setattr(peers, "_TABLES", ())
    session = board.open(gdb_port=0)
    hello = session.hello()
    where = "every user of this machine can reach %s" % hello.gdb_server
    (warning,) = hello.warnings
    assert hello.gdb_server.startswith("localhost:") and warning.endswith(where)
    with socket.socket() as ours:
        connection = TargetConnection("core", "title", None, [], Client(LineStream(ours, ours), hello))
        assert connection.greeting() == ["note: " + warning]
    session.close()


def test_access_ports_alone_leave_the_core_alone(board: PoweredBoard) -> None:
    session = board.open(dap_only=True)
    hello = session.hello()
    assert (hello.core, hello.cores, hello.gdb_server, hello.running, session.states()) == (NO_CORE, (), "", True, [])
    (ap,) = hello.aps
    assert ap.rom == 0xE00FF000 and session.port(ap.id).read32(CPUID) & 0xFFF0 == 0xD210
    assert not board.read(DHCSR) & (S_HALT | C_DEBUGEN)
    session.close()
    assert not board.read(DHCSR) & (S_HALT | C_DEBUGEN) and board.read(DEMCR) == 0


def test_a_halted_core_is_left_halted_by_access_ports_alone(board: PoweredBoard) -> None:
    board.machine.write(DHCSR, 4, HALT)
    session = board.open(dap_only=True)
    session.port(0).read32(CPUID)
    session.close()
    assert board.read(DHCSR) & S_HALT


@pytest.mark.parametrize("mode", ["attach", "halt", "pre-reset", "under-reset"])
def test_a_target_that_ran_runs_on_without_a_trace_of_the_debugger(board: PoweredBoard, mode: str) -> None:
    session = board.open(connect_mode=mode)
    assert session.hello().running
    if mode != "attach":
        assert session.states() == ["halted"]
    session.port(0).read32(CPUID)
    session.close()
    assert not board.read(DHCSR) & (S_HALT | C_DEBUGEN)
    assert board.read(DEMCR) == 0


def test_a_target_that_was_halted_stays_halted(board: PoweredBoard) -> None:
    board.machine.write(DHCSR, 4, HALT)
    session = board.open()
    assert not session.hello().running
    assert session.states() == ["halted"]
    session.close()
    assert board.read(DHCSR) & S_HALT


def test_a_probe_pulled_out_at_any_moment_of_opening_is_one_clear_line(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    failed = opened = 0
    for transfers in range(1, 400, 9):
        options = ("board.elf=%s" % elf, "board.faults=unplug-after:%d" % transfers)
        try:
            PyocdSession(SessionOptions(probe="board:m33", options=options)).close()
            opened += 1
        except ConnectError as error:
            assert str(error) == LOST
            failed += 1
    assert failed and opened
