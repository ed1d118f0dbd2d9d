"""Real GDB, real OpenOCD on the board's pins: a script inside GDB."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.access.processes import DEMO, ROOT
from tests.gdb_session import SCRIPT, gdb_program
from tests.openocd import board_with_pins, openocd
from tests.pages import GUIDE, blocks

pytest.importorskip("unicorn")

_TEXT = """
check = [{calls-of = "dispatch", at-least = 1}, {calls-of = "dispatch", at-most = 3}]
[target]
connect = "target"
[trace]
cycles = 4
[run]
to = "app.c:111"
times = 2
"""


def test_the_pages_file_runs_a_script_inside_gdb(tmp_path: Path) -> None:
    (block,) = [one for one in blocks(GUIDE / "unattended.md") if one.language == "gdb"]
    (tmp_path / "receiver.toml").write_text(_TEXT)
    with board_with_pins(tmp_path, "m33", "--elf", str(DEMO)) as config, openocd(config) as server:
        text = block.text.replace("source gdb_etm", "source %s" % SCRIPT).replace("demo.elf", str(DEMO))
        (tmp_path / "receiver.gdb").write_text(text.replace(":3333", ":%d" % server.port))
        command = [gdb_program(), "-q", "-nx", "-batch", "-x", "receiver.gdb"]
        pipe = subprocess.PIPE
        done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=pipe, timeout=180, check=False)
    printed = done.stdout.decode()
    assert done.returncode == 1, printed
    assert "pass       calls of dispatch: at least 1: 4 calls" in printed
    assert "FAIL       calls of dispatch: at most 3: 4 calls in run 1, #1,783 rx.c:117" in printed
    result = json.loads((tmp_path / "result" / "result.json").read_text())
    assert [run["instructions"] for run in result["runs"]] == [5849, 5849]
    assert (tmp_path / "result" / "run-1" / "snapshot" / "snapshot.ini").is_file()


def test_outside_gdb_a_line_says_how(tmp_path: Path) -> None:
    (tmp_path / "receiver.toml").write_text(_TEXT)
    command = [sys.executable, "-m", "gdb_etm", "run", str(tmp_path / "receiver.toml")]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2
    (error, _) = done.stdout.decode().splitlines()
    assert error.startswith('error: connect = "target" is GDB\'s connection') and "gdb-multiarch -batch -x" in error
