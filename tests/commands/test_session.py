"""Real captures, some worked by hand: sessions without a debugger."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import List

import pytest

from gdb_etm.commands.options import OPTION_SETTINGS
from gdb_etm.commands.overview import overview
from gdb_etm.commands.parse import parse, split
from gdb_etm.commands.registry import COMMANDS, SETTINGS
from gdb_etm.errors import CaptureError, CommandError, EtmError, SnapshotError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.captures import KEPT
from gdb_etm.session.past import recovered
from gdb_etm.session.session import DebugSession
from gdb_etm.snapshot.reader import read_snapshot
from tests.shared import capture_folder


def run(session: DebugSession, line: str) -> List[str]:
    """Run a command line after ``etm``."""
    name, _, rest = line.partition(" ")
    command = next(command for command in COMMANDS if command.name == name)
    return list(command.run(session, parse(command, split(rest))))


@pytest.fixture
def session() -> DebugSession:
    return DebugSession(OfflineDebugger())


def test_the_last_captures_stay(session: DebugSession) -> None:
    folder = capture_folder("armv8_1m_branches")
    for _ in range(KEPT + 2):
        run(session, "load " + folder)
    lines = run(session, "captures")
    assert len(lines) == KEPT
    assert lines[0].split()[0] == "3" and lines[-1].startswith("* 18  ")
    assert run(session, "captures 5")[0].startswith("capture 5: ")
    assert [line.split()[1] for line in run(session, "captures") if line.startswith("*")] == ["5"]
    with pytest.raises(CommandError, match="no capture 2; at hand: 3, 4"):
        run(session, "captures 2")


def test_pages_go_on_and_back(session: DebugSession) -> None:
    run(session, "load " + capture_folder("juno_r1_1"))
    run(session, "captures 1")

    def numbers(line: str) -> List[int]:
        return [int(text.split()[0]) for text in run(session, line) if text[0].isdigit()]

    assert numbers("history") == list(range(18869, 18879))
    assert numbers("history -") == list(range(18859, 18869))
    assert numbers("history 1,3") == [1, 2, 3]
    assert numbers("history +") == list(range(4, 14))
    assert numbers("history +") == list(range(14, 24))
    assert numbers("history") == list(range(18869, 18879))
    assert numbers("packets 7,+3") == [7, 8, 9]
    assert numbers("packets") == list(range(10, 20))
    assert numbers("functions 5") == list(range(5, 15))
    with pytest.raises(CommandError, match="inlined functions need a debugger's symbols"):
        run(session, "functions /n 5")
    session.settings["history-size"] = "unlimited"
    assert len(numbers("history 100")) == 18878 - 99


def test_other_trace_ids(session: DebugSession) -> None:
    run(session, "load " + capture_folder("juno_r1_1"))
    run(session, "captures 1")
    assert run(session, "history --id 0x11 -1")[0].startswith("164   ")
    with pytest.raises(CommandError, match="no trace ID 0x01 in capture 1; it has: 0x10, "):
        run(session, "packets --id 1")
    session.current = session.captures[1]
    with pytest.raises(CaptureError, match=r"STM_12 \(stm\)"):
        run(session, "history")


def test_save_writes_what_load_reads(session: DebugSession, tmp_path: Path) -> None:
    run(session, "load " + capture_folder("juno_r1_1"))
    run(session, "captures 1")
    before = run(session, "history 1,200")
    (line,) = run(session, "save %s" % (tmp_path / "new folder").as_posix().replace(" ", "\\ "))
    assert line.startswith("capture 1 saved in %s/new folder: " % tmp_path)
    other = DebugSession(OfflineDebugger())
    run(other, "load '%s/new folder'" % tmp_path)
    assert run(other, "history 1,200") == before


def test_save_replaces_only_when_that_is_asked_for(session: DebugSession, tmp_path: Path) -> None:
    run(session, "load " + capture_folder("juno_r1_1"))
    run(session, "save %s/new" % tmp_path)
    with pytest.raises(SnapshotError, match="new: there is a snapshot already; only -f replaces it"):
        run(session, "save %s/new" % tmp_path)
    run(session, "load " + capture_folder("v7m-svc"))
    for line in ("save -f %s/new", "save %s/new -f"):
        assert run(session, line % tmp_path)[0].startswith("capture 3 saved in ")
    (told,) = run(DebugSession(OfflineDebugger()), "load %s/new" % tmp_path)
    assert told.startswith("capture 1: 43 bytes of ")


def test_load_tells_what_a_snapshot_lacks(session: DebugSession, tmp_path: Path) -> None:
    shutil.copytree(capture_folder("armv8_1m_branches"), str(tmp_path / "copy"))
    (tmp_path / "copy" / "range1.bin").unlink()
    assert run(session, "load %s/copy" % tmp_path) == [
        "capture 1: 33 bytes of etm_0 (etmv4)",
        "note: %s/copy/cpu_0.ini:13: range1.bin: no such file" % tmp_path,
    ]


def test_save_does_not_litter(session: DebugSession, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    run(session, "load " + capture_folder("juno_r1_1"))
    with pytest.raises(CommandError, match="is not empty and no snapshot"):
        run(session, "save %s" % tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("line", ["history", "functions", "packets", "save /nowhere/else"])
def test_nothing_captured(session: DebugSession, line: str) -> None:
    with pytest.raises(CommandError, match='nothing captured: not connected. Try "etm connect", or "etm load DIR"'):
        run(session, line)


@pytest.mark.parametrize("line", ["start", "stop", "info", "disconnect"])
def test_not_connected(session: DebugSession, line: str) -> None:
    with pytest.raises(CommandError, match='not connected to a trace unit. Try "etm connect"'):
        run(session, line)


@pytest.mark.parametrize(
    "line, message",
    [
        (
            "connect here",
            '"here" is none of: board:m33, .*, board:a9, board:m0, board:m23, board:m33,mtb, .*HOST:PORT, target',
        ),
        ("connect target", "connecting works inside GDB"),
        ("connect --etb-size 4K", "--etb-size is for the simulated board"),
        ("connect board:m33 --probe x", "--probe is for a debug probe"),
        ("connect localhost:3344 --frequency 4M", "--frequency is for a debug probe"),
        ("connect localhost:3344 --option a=b", "--option is for pyOCD started here"),
        ("connect localhost:65536", "localhost:65536: ports are numbered 1 to 65535"),
        ("connect --dap-only --mode halt", "--mode halt: --dap-only leaves the core as it is"),
        ("connect target --dap-only", "--dap-only through GDB's own connection needs OpenOCD"),
        ("connect localhost:3344 --dap-only", "--dap-only is for pyOCD started here"),
        ("connect board:m33 --data-trace", "--data-trace is for the simulated board: etm connect board:m4"),
        ("connect --mode slowly", '--mode: "slowly" is none of'),
        ("start --include 5", "not connected|no range"),
        ("load /nowhere/else", "/nowhere/else/snapshot.ini: no such file"),
    ],
)
def test_wrong_connections(session: DebugSession, line: str, message: str) -> None:
    with pytest.raises(EtmError, match=message) as caught:
        run(session, line)
    assert "\n" not in str(caught.value)


def test_status_and_overview(session: DebugSession) -> None:
    assert run(session, "status") == ["Not connected; no captures."]
    lines = list(overview(session, COMMANDS))
    assert lines[0] == "Not connected; no captures." and len(lines) == len(COMMANDS) + 4


def test_settings_are_those_that_commands_read() -> None:
    assert {setting.name for setting in SETTINGS} == {
        "anchor-memory",
        "counts",
        "drain",
        "fault-hint",
        "gdb",
        "history-limit",
        "history-size",
        "function-call-history-size",
        "recovery",
        "recovery-background",
        "recovery-limit",
        "reverse",
        "volatile",
        *(setting.name for setting in OPTION_SETTINGS),
    }


def test_one_trace_id_is_decoded_alone(session: DebugSession) -> None:
    record = session.add(read_snapshot(capture_folder("juno_r1_1"))[0], "loaded", is_live=False)
    one = session.decode(record, 0x15)
    assert len(one.history) > 0 and not record.is_decoded
    # Whoever wants all of them, or one that is not there, has the others decoded; what was looked at stays.
    with pytest.raises(CommandError, match="0x10, 0x11, 0x12, 0x13, 0x15"):
        session.decode(record, 0x42)
    assert record.is_decoded and session.decode(record, 0x15) is one
    assert session.decode(record) is session.decode(record, 0x10)


def test_values_of_64_bit_code_are_refused_in_a_line() -> None:
    session = DebugSession(OfflineDebugger())
    session.add(read_snapshot(capture_folder("bugfix-exact-match"))[0], "loaded", is_live=False)
    with pytest.raises(CommandError, match="for 32-bit cores only"):
        recovered(session, session.shown())
    # Not that there is no register x0.
    with pytest.raises(CommandError, match="for 32-bit cores only"):
        run(session, "why 10 x0")
