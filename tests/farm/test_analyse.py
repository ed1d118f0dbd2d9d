"""The board's truth, and the commands for one capture: tables of many.

DuckDB and pandas read the tables; a worker is killed by the system.  Real captures have several trace streams.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import pytest

from gdb_etm.farm.cluster import cluster
from gdb_etm.farm.run import FarmRequest, run_on
from gdb_etm.farm.store import ParquetStore
from gdb_etm.farm.tables import CAPTURES, CONTENT_TABLES
from gdb_etm.session.progress import Meter
from tests.dumps.crashed import crash
from tests.farm.made import ELF, analyse, cut_captures, everything, query
from tests.shared import capture_folder
from tests.terminal import children

for _needed in ("distributed", "cryptography", "pyarrow", "duckdb"):
    pytest.importorskip(_needed)

_COUNT = 6
_NAMES = [table.name for table in (CAPTURES, *CONTENT_TABLES)]


class Made(NamedTuple):
    """Captures, and the tables of them."""

    captures: Path
    out: Path
    # What the command printed.
    text: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Analyse captures, also under other names, and a bad one."""
    folder = tmp_path_factory.mktemp("farm")
    paths = cut_captures(folder, _COUNT)
    for path in paths:
        shutil.copytree(path, folder / "captures" / "copies" / path.name)
    bad = folder / "captures" / "bad"
    bad.mkdir()
    (bad / "snapshot.ini").write_text("no ini file\n")
    out = folder / "out"
    done = analyse(str(folder / "captures"), "--elf", str(ELF), "--out", str(out), "--workers", "2")
    assert done.returncode == 0, done.stderr
    return Made(folder / "captures", out, done.stdout)


def alone(command: str, made: Made) -> Dict[str, Any]:
    """Ask the command for captures that add up."""
    words = [sys.executable, "-m", "gdb_etm", command, "--elf", str(ELF), "--format", "json"]
    snapshots = [str(made.captures / ("%02d" % number)) for number in range(_COUNT)]
    text = subprocess.run(words + snapshots, stdout=subprocess.PIPE, timeout=120, check=True).stdout
    found: Dict[str, Any] = json.loads(text)
    return found


def test_a_row_for_each_path_and_work_for_each_content(made: Made) -> None:
    assert len(query(made.out, "FROM captures")) == 2 * _COUNT + 1
    assert len(query(made.out, "FROM contents")) == _COUNT + 1
    (bad,) = query(made.out, "SELECT path, reason FROM captures WHERE reason <> ''")
    assert bad[0] == str(made.captures / "bad") and "snapshot.ini:1: neither [section] nor key=value" in bad[1]
    assert made.text.splitlines() == [
        "%d captures: %d contents analysed, 1 bad; the tables are in %s" % (2 * _COUNT + 1, _COUNT + 1, made.out),
        "  %s: %s" % bad,
    ]
    facts = query(made.out, "SELECT DISTINCT unit, core, bytes, verdict FROM captures WHERE reason = ''")
    assert facts == [("etmv4", "Cortex-M33", 2048, "")]


def test_counts_are_those_of_the_commands_for_few(made: Made) -> None:
    rows = alone("coverage", made)["rows"]
    lines = {(file["path"], one["line_number"]): one["times"] for file in rows for one in file["counts"]}
    assert set(query(made.out, "SELECT file, line FROM code_lines")) == set(lines)
    ran = query(made.out, "SELECT DISTINCT file, line FROM lines")
    assert sorted(ran) == sorted(place for place, times in lines.items() if times)
    sums = (
        "SELECT file, address, coalesce(sum(taken), 0) AS taken, coalesce(sum(not_taken), 0) AS not_taken "
        "FROM code_branches LEFT JOIN branches USING (address) GROUP BY ALL"
    )
    ways = "SELECT file, sum((taken > 0)::INT + (not_taken > 0)::INT), 2 * count(*) FROM (%s) GROUP BY ALL" % sums
    expected = {file["path"]: (file["branches"]["seen"], file["branches"]["all"]) for file in rows}
    found = {file: (int(seen), both) for file, seen, both in query(made.out, ways)}
    assert found == {file: counts for file, counts in expected.items() if counts[1]} and len(found) > 2
    profile = {one["name"]: one for one in alone("profile", made)["rows"]}
    rows = query(
        made.out,
        "SELECT function, sum(calls), sum(own_instructions), sum(inclusive_instructions) " "FROM profile GROUP BY ALL",
    )
    assert {name: tuple(map(int, row)) for name, *row in rows} == {
        name: (one["calls"], one["own"], one["inclusive"]) for name, one in profile.items()
    }


def test_edges_and_branches_agree(made: Made) -> None:
    # Each conditional branch that was not taken goes on behind it, unless an exception came.
    (left,) = query(
        made.out,
        "SELECT sum(times) FROM edges JOIN branches b ON (from_address = b.address AND " "edges.analysis = b.analysis)",
    )
    (right,) = query(made.out, "SELECT sum(taken + not_taken) FROM branches")
    assert 0.9 * right[0] < left[0] <= right[0]
    (executed,) = query(made.out, "SELECT sum(instructions) FROM contents")
    own = query(made.out, "SELECT sum(own_instructions) FROM profile")
    assert own == [executed] and executed[0] > 10000


def test_a_second_run_has_nothing_to_do(made: Made) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.out.rglob("*.parquet") if path.parent.name != "captures"}
    rows = everything(made.out, _NAMES)
    shutil.copytree(made.captures / "00", made.captures / "later")
    try:
        done = analyse(str(made.captures), "--elf", str(ELF), "--out", str(made.out), "--workers", "1")
    finally:
        shutil.rmtree(made.captures / "later")
    assert "%d captures: 0 contents analysed, %d known before, 1 bad" % (2 * _COUNT + 2, _COUNT + 1) in done.stdout
    after = {path: path.stat().st_mtime_ns for path in made.out.rglob("*.parquet") if path.parent.name != "captures"}
    assert after == before
    assert everything(made.out, _NAMES[1:]) == rows[1:]
    assert len(query(made.out, "FROM captures")) == len(rows[0]) + 1


def test_a_worker_that_is_killed_loses_nothing(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["analyse", str(made.captures), "--elf", str(ELF), "--out", str(out), "--workers", "2"]
    process = subprocess.Popen([sys.executable, "-m", "gdb_etm", *words], stdout=subprocess.PIPE, text=True)
    try:
        killed = kill_one(process.pid, out / "contents")
        text, _ = process.communicate(timeout=200)
    finally:
        process.kill()
    assert killed and process.returncode == 0
    assert "%d contents analysed, 1 bad" % (_COUNT + 1) in text
    assert everything(out, _NAMES[1:]) == everything(made.out, _NAMES[1:])


def kill_one(pid: int, contents: Path) -> int:
    """Kill a worker when the first batch was written."""
    if has_begun(contents):
        for child in children(pid):
            if b"spawn_main" in Path("/proc/%d/cmdline" % child).read_bytes():
                os.kill(child, signal.SIGKILL)
                return child
    return 0


def has_begun(contents: Path) -> bool:
    """Wait until the first batch was written."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        if contents.exists() and len(list(contents.glob("*.parquet"))) > 1:
            return True
        time.sleep(0.01)
    return False


def test_a_scheduler_of_ones_own_loses_a_worker(made: Made, tmp_path: Path) -> None:
    # Processes as on three computers, started as Dask's manual says; nothing replaces a worker here.
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    where = ["--scheduler-file", str(file), "--no-dashboard", "--protocol", "tcp"]
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *where]
    worker = [*dask, "worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", *where]
    worker += ["--local-directory", str(tmp_path)]
    out = tmp_path / "out"
    with ExitStack() as stack:
        started = [stack.enter_context(killed_after(command)) for command in (scheduler, worker, worker)]
        while not file.exists() or not file.read_text("ascii").endswith("}"):
            assert started[0].poll() is None
            time.sleep(0.05)
        address = json.loads(file.read_text("ascii"))["address"]
        assert address.startswith("tcp://127.0.0.1:")
        words = ["analyse", str(made.captures), "--elf", str(ELF), "--out", str(out), "--dask", address]
        command = stack.enter_context(killed_after([sys.executable, "-m", "gdb_etm", *words]))
        assert has_begun(out / "contents")
        started[1].kill()
        assert command.wait(timeout=100) == 0
        assert started[0].poll() is None and started[2].poll() is None
    assert everything(out, _NAMES[1:]) == everything(made.out, _NAMES[1:])
    assert len(query(out, "FROM captures")) == 2 * _COUNT + 1


@contextmanager
def killed_after(command: List[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that is not there any more afterwards."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def test_halves_of_a_run_are_removed(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made.out, out)
    # A run that ended before it wrote the last table of a batch.
    victim = next(path for path in (out / "contents").glob("*.parquet") if path.name != "empty.parquet")
    victim.unlink()
    store = ParquetStore(str(out))
    with store.open():
        assert len(store.done()) < _COUNT + 1
    assert not any((out / table / victim.name).exists() for table in _NAMES)


def test_a_folders_name_is_no_line_of_the_result(tmp_path: Path) -> None:
    folder = tmp_path / "captures" / "a\nall is well"
    folder.mkdir(parents=True)
    (folder / "snapshot.ini").write_text("x")
    done = analyse(str(tmp_path / "captures"), "--elf", ELF, "--out", str(tmp_path / "out"), "--workers", "1")
    assert done.returncode == 0 and "a?all is well: " in done.stdout and "\nall" not in done.stdout, done


def test_a_crash_has_its_verdict(tmp_path: Path) -> None:
    crashed = crash("O1", "m33", "load")
    done = analyse(crashed.core(tmp_path), "--elf", crashed.elf, "--out", str(tmp_path / "out"), "--workers", "1")
    assert done.returncode == 0, done.stderr
    ((exception, verdict, text, tier),) = query(tmp_path / "out", "SELECT exception, verdict, text, tier FROM faults")
    assert query(tmp_path / "out", "SELECT verdict, reason FROM captures") == [(verdict, "")]
    assert exception and verdict and text and tier in ("exact", "assumed")


def test_trace_streams_of_a_large_capture_are_analysed_one_by_one(tmp_path: Path) -> None:
    # Six ETMv4 units; three ETMv3 and two PTM.  What is larger than 16 KiB is large here.
    paths = [capture_folder(name) for name in ("juno_r1_1", "TC2")]
    tables = []
    with cluster(None, 2) as client:
        for large, batches in ((1 << 40, 2), (1 << 14, 2 + 6 + 5)):
            out = tmp_path / ("%d" % large)
            run_on(client, FarmRequest(paths, [str(ELF)], str(out), large=large), paths, Meter(None))
            tables.append(everything(out, _NAMES))
            # With the empty one.
            assert len(list((out / "contents").glob("*.parquet"))) == 1 + batches
    assert tables[0] == tables[1]
    units = [(unit, reason) for unit, reason in query(out, "SELECT unit, reason FROM captures ORDER BY ALL")]
    assert units == [("etmv3, ptm, itm", ""), ("etmv4", "")]
    assert len(query(out, "SELECT DISTINCT analysis, trace_id FROM profile")) == 8
