"""Real pyOCD on the simulated boards: scripts and the board's truth."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator, List

import pytest

import gdb_etm
from gdb_etm import CallKind, Session
from gdb_etm.access.client import attach
from gdb_etm.coresight.components import ComponentKind
from gdb_etm.errors import AccessError, CommandError, ConnectError, EtmError, UnsupportedError
from gdb_etm.history.store import OwnedTransfer
from gdb_etm.protocols.elements import Exception_
from tests.access.processes import DEMO, FOREVER_TICK, ROOT, serve_by_hand, wait_until, write_forever

pytest.importorskip("unicorn")

DISPATCH = 0x2F0
# Until a run that should end by itself is given up.
SECONDS = 60.0


def truth(path: Path) -> List[int]:
    """Read the addresses that ran after the board was halted."""
    lines = path.read_text().splitlines()
    halted = next(number for number, line in enumerate(lines) if line.startswith("halt"))
    return [int(line.split()[0], 16) for line in lines[halted:] if line.startswith("0x")]


@pytest.fixture
def forever(tmp_path: Path) -> Iterator[Session]:
    """A session on a program that never halts by itself."""
    with gdb_etm.connect("board:m33", elf=write_forever(tmp_path / "forever.elf")) as session:
        yield session


@pytest.mark.parametrize("board, cycles", [("m33", 16), ("m7", 4)])
def test_from_connecting_to_the_history(board: str, cycles: int, tmp_path: Path) -> None:
    with gdb_etm.connect("board:" + board, elf=DEMO, truth=tmp_path / "truth", etb_size=65536) as session:
        kinds = {component.kind for component in session.discover()}
        assert {ComponentKind.SCS, ComponentKind.ETMV4, ComponentKind.TMC} & kinds >= {
            ComponentKind.SCS,
            ComponentKind.ETMV4,
        }
        assert any("ETMv4" in line for line in session.info())
        session.configure(cycles=cycles, timestamps=True)
        plan = session.plan()
        assert plan.value("TRCCCCTLR") == cycles and plan.value("TRCCONFIGR") >> 4 & 1 == 1
        assert "TRCCCCTLR" in str(plan) and plan.sync_bytes
        with pytest.raises(CommandError, match="this plan does not write TRCNOTHING"):
            plan.value("TRCNOTHING")
        assert session.start()[0].startswith("Tracing everything")
        stop = session.run_to("dispatch", SECONDS)
        assert stop == (DISPATCH, "dispatch", False)
        first = session.capture()
        assert first.origin == "halt in dispatch" and len(first) and list(session.captures)[-1].number == first.number
        stop = session.run(SECONDS)
        assert stop.function == "HardFault_Handler" and not stop.timed_out
        second = session.capture()
        assert session.stop() is None
    (history,) = first.decode().values()
    assert len(history) > 1000
    ran = [one.address for capture in (first, second) for one in capture.history().instructions()]
    expected = truth(tmp_path / "truth")
    assert ran == expected[: len(ran)] and len(expected) - len(ran) <= 1
    assert list(history.times(1, 200))
    names = {call.name for call in history.functions() if call.kind is CallKind.FUNCTION}
    assert {"Reset_Handler", "main", "parse", "UART_Handler"} <= names
    (last,) = second.history().functions(-1)
    assert (last.kind, last.name) == (CallKind.EXCEPTION, "HardFault (exception 3)")


def test_a_history_in_all_its_views(tmp_path: Path) -> None:
    with gdb_etm.connect("board:m7", elf=str(DEMO)) as session:
        session.configure(data="both")
        session.start()
        session.run_to("*0x302", SECONDS)
        history = session.capture().history()
    assert repr(history) == "<History: %d instructions of ETM_0 (cpu_0)>" % len(history)
    newest = history.instruction(len(history))
    assert [newest] == list(history.instructions(-1)) == list(history.instructions(-1, -1))
    assert newest.function == history.function_at(newest.address) == "dispatch"
    assert history.line_at(newest.address).startswith("rx.c:12") and history.text(newest).split("\t")[0]
    assert history.function_at(0x60000000) == history.line_at(0x60000000) == ""
    exceptions = [event for _, event in history.events() if isinstance(event, Exception_)]
    assert any(event.vector == 16 for event in exceptions)
    owned = [one for one in history.transfers() if isinstance(one, OwnedTransfer) and one.number == newest.number]
    assert [(one.transfer.store, one.transfer.size) for one in owned] == [(True, 4)]
    for calls in (history.functions(2, 3), history.functions(-2, -1)):
        assert len([call for call in calls if call.kind is not CallKind.GAP]) == 2
    for wrong in ((0, None), (5, 4), (1, 10**9), (-(10**9), None)):
        with pytest.raises(CommandError, match="^no instructions .*; there are %d$" % len(history)):
            list(history.instructions(*wrong))


def test_functions_by_name_are_ranges_of_addresses(tmp_path: Path) -> None:
    wanted = {"parse", "parse_values"}
    with gdb_etm.connect("board:m4", elf=DEMO, data_trace=True) as session:
        session.configure(include=sorted(wanted), exclude=(0x4000, 0x40FF))
        session.start()
        session.run_to("dispatch", SECONDS)
        history = session.capture().history()
        assert {one.function for one in history.instructions()} == wanted
        session.reset()
        session.configure()
        assert session.command("filter include main")[0].startswith("Filter 1: include main")
        session.start()
        session.run_to("dispatch", SECONDS)
        assert {one.function for one in session.capture().history().instructions()} == {"main"}


def test_what_the_unit_lacks_changes_nothing() -> None:
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.configure(data="both")
        for refused in (session.plan, session.apply, session.start):
            with pytest.raises(UnsupportedError, match=r"TRCIDR0"):
                refused()
        with pytest.raises(EtmError, match="ends before it starts"):
            session.configure(include=(0x200, 0x100))
        with pytest.raises(CommandError, match='^no function "dispach"; did you mean dispatch'):
            session.configure(start_at="dispach")
        with pytest.raises(CommandError, match="no code for line 1 of rx.c; next with code: "):
            session.breakpoint("rx.c:1")
        with pytest.raises(CommandError, match='no source file "ry.c"'):
            session.breakpoint("ry.c:1")
        with pytest.raises(CommandError, match='"dance" is no command; there are: connect, '):
            session.command("dance")
        session.configure()
        assert not session.status()[0].endswith("tracing is on")


def test_applied_is_programmed_and_off(forever: Session) -> None:
    forever.halt()
    forever.configure(branch_broadcast=True)
    forever.apply()
    assert any("trace unit: off" in line for line in forever.status())
    assert any(line.split()[:3] == ["BB", "3", "1"] for line in forever.command("reg TRCCONFIGR"))
    assert forever.command("diff")
    with pytest.raises(CommandError, match=r"tracing is off; start\(\) starts it"):
        forever.stop()
    forever.start()
    forever.run(0.05)
    assert len(forever.capture().history()) > 100


def test_seconds_end_a_run_and_breakpoints_come_and_go(forever: Session) -> None:
    assert forever.halt() == forever.halt()
    forever.start()
    stop = forever.run(0.05)
    assert stop.timed_out
    with forever.breakpoint(FOREVER_TICK) as one, forever.breakpoint("*%d" % FOREVER_TICK) as other:
        assert one.address == other.address == FOREVER_TICK
        assert [forever.run(SECONDS).address for _ in range(3)] == [FOREVER_TICK] * 3
        other.delete()
        other.delete()
        assert forever.run(SECONDS).address == FOREVER_TICK
    assert forever.run(0.05).timed_out
    assert [len(capture) > 0 for capture in forever.captures] == [True] * 6
    assert forever.reset().address == 0x40


def test_ctrl_c_halts_and_keeps_the_trace(forever: Session) -> None:
    forever.halt()
    forever.start()
    timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        forever.run()
    timer.join()
    assert len(forever.capture().history()) > 100
    assert forever.run(0.05).timed_out


def test_a_running_core_is_not_programmed(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    with gdb_etm.connect("board:m33", elf=elf, mode="attach") as session:
        for refused in (session.start, session.apply):
            with pytest.raises(CommandError, match="the (target|core) runs"):
                refused()
        session.halt()
        session.start()
        session.run(0.05)
        assert session.stop() is None


def test_a_closed_session_says_so() -> None:
    session = gdb_etm.connect("board:m33", elf=DEMO)
    session.close()
    session.close()
    for refused in (session.discover, session.plan, session.start, session.stop, session.capture):
        with pytest.raises(CommandError, match="not connected"):
            refused()
    with pytest.raises(EtmError, match="no core: not connected"):
        session.run(1)
    assert repr(session) == "<Session: not connected>"


def test_connecting_that_fails_is_one_line(tmp_path: Path) -> None:
    for arguments, words in (
        ({"where": "here"}, '"here" is none of'),
        ({"where": "board:m33", "elf": tmp_path / "none.elf"}, "no file"),
        ({"where": "board:m33", "unit": 7}, "unit"),
        ({"where": "target"}, "inside GDB"),
        ({"where": "localhost:1"}, "no gdb-etm serve"),
        ({"where": "board:m33", "option": "board.color=red"}, "board.color"),
    ):
        with pytest.raises(EtmError, match=words) as caught:
            gdb_etm.connect(**arguments)
        assert "\n" not in str(caught.value)
    with pytest.raises(CommandError, match="outside GDB"):
        gdb_etm.current()


def test_beside_a_process_by_hand_the_core_runs_on_afterwards(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    served = serve_by_hand("-Oboard.elf=%s" % elf)
    try:
        for _ in range(2):
            with gdb_etm.connect("localhost:%d" % served.control_port, elf=elf) as session:
                assert all(session._session.debugger.is_running() for _ in range(20))
                session.halt()
                session.start()
                assert session.run_to(FOREVER_TICK, SECONDS).address == FOREVER_TICK
                assert len(session.capture().history()) > 10
    finally:
        served.process.kill()
        served.process.communicate()


def test_a_script_that_is_killed_leaves_the_core_running_and_the_unit_to_the_next(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    served = serve_by_hand("-Oboard.elf=%s" % elf)
    where = "localhost:%d" % served.control_port
    program = (
        "import os, gdb_etm; session = gdb_etm.connect(%r, elf=%r); session.halt(); session.configure(cycles=16); "
        "session.start(); session.run_to(%d); print('there', flush=True); os.kill(os.getpid(), 9)"
    ) % (where, str(elf), FOREVER_TICK)
    watcher = attach("localhost", served.control_port)
    try:
        done = subprocess.run([sys.executable, "-c", program], cwd=str(ROOT), stdout=subprocess.PIPE, check=False)
        assert done.stdout == b"there\n" and done.returncode == -signal.SIGKILL
        assert wait_until(lambda: not watcher.is_halted) and not watcher.wait_for_halt(0.2)
        with gdb_etm.connect(where, elf=elf) as session:
            session.halt()
            session.start()
            session.run(0.05)
            assert len(session.capture().history()) > 100
    finally:
        watcher.close()
        served.process.kill()
        served.process.communicate()


def test_why_a_script_ends_comes_before_what_follows_from_it(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    with pytest.raises(AccessError, match="is it unplugged") as caught:
        with gdb_etm.connect("board:m33", elf=elf, option="board.faults=unplug-after:20000") as session:
            while True:
                session.status()
    assert caught.value.kind == "lost" and "unplugged" in str(caught.value)
    with pytest.raises(ZeroDivisionError):
        with gdb_etm.connect("board:m33", elf=elf) as session:
            session.halt()
            session.start()
            1 // 0


def test_access_ports_alone_run_no_core(tmp_path: Path) -> None:
    with gdb_etm.connect("board:m33", elf=DEMO, dap_only=True) as session:
        with pytest.raises(ConnectError, match="no core: not connected, or to access ports alone"):
            session.run(1)
        session.start()
        assert session.stop() is not None
