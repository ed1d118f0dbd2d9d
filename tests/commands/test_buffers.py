"""Real captures: snapshots with several trace buffers."""

from __future__ import annotations

import json
import shutil

import pytest

from gdb_etm.commands.captures import LOAD
from gdb_etm.commands.parse import parse
from gdb_etm.errors import SnapshotError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.session import DebugSession
from tests.gdb_session import run_gdb
from tests.shared import capture_folder
from tests.test_main import refused, run, well

# Bytes of the second buffer; the first has 43.
CUT = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a snapshot with two buffers of one unit."""
    path = tmp_path_factory.mktemp("buffers") / "two"
    shutil.copytree(capture_folder("v7m-svc"), str(path), copy_function=shutil.copyfile)
    path.chmod(0o755)
    text = (path / "trace.ini").read_text()
    (path / "trace.ini").write_text(
        text.replace("buffers=buffer0", "buffers=buffer0,buffer1")
        .replace(
            "[source_buffers]", "[buffer1]\nname=SECOND\nfile=second.bin\nformat=source_data\n\n[source_buffers]", 1
        )
        .replace("ETM_0=FIFO", "ETM_0=FIFO,SECOND")
    )
    (path / "second.bin").write_bytes((path / "trace.bin").read_bytes()[:CUT])
    return str(path)


def test_all_of_them_are_listed(folder: str) -> None:
    first, second = ("%s, buffer %s" % (folder, name) for name in ("FIFO", "SECOND"))
    one, other = (well("packets", folder, "--buffer", name).lines for name in ("FIFO", "SECOND"))
    assert one != other and first not in one
    assert well("packets", folder).lines == [first, *one, second, *other]
    objects = [json.loads(line) for line in well("packets", folder, "--format", "jsonl").lines]
    assert [each["name"] for each in objects if each.get("kind") == "buffer"] == [first, second]
    assert well("history", folder).lines[0] == first


def test_what_asks_for_numbers_wants_one(folder: str) -> None:
    told = "gdb-etm: info is of one buffer: --buffer with one of FIFO, SECOND\n"
    assert refused("info", folder, "--at", "1") == told
    assert run("info", folder, "--at", "1", "--buffer", "FIFO").err != told
    assert refused("history", folder, "--buffer", "THIRD").endswith("no buffer THIRD; there are: FIFO, SECOND\n")


def test_loaded_all_or_one(folder: str) -> None:
    session = DebugSession(OfflineDebugger())
    list(LOAD.run(session, parse(LOAD, [folder])))
    assert [len(record.capture.buffer) for record in session.captures] == [43, CUT]
    list(LOAD.run(session, parse(LOAD, [folder, "--buffer", "SECOND"])))
    assert [len(record.capture.buffer) for record in session.captures] == [43, CUT, CUT]
    with pytest.raises(SnapshotError, match="no buffer THIRD"):
        list(LOAD.run(session, parse(LOAD, [folder, "--buffer=THIRD"])))


def test_replayed_by_name(folder: str) -> None:
    """In a real GDB."""
    output = run_gdb(["etm replay %s --buffer THIRD" % folder, "etm replay %s --buffer FIFO" % folder])
    assert "no buffer THIRD; there are: FIFO, SECOND" in output and "replaying %s from its end" % folder in output
