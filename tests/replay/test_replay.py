"""Real GDB session: a snapshot as GDB's target, its own commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.access.processes import wait_until
from tests.gdb_session import ROOT
from tests.gdb_texts import no_more, refused
from tests.replay.boards import DEMO, ELF, REPLAY, run
from tests.shared import capture_folder


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's fault, saved."""
    folder = tmp_path_factory.mktemp("replay") / "fault"
    run(["etm connect board:m33 --etb-size 1K --elf %s" % ELF, "etm start", "continue", "etm save %s" % folder])
    return folder


def replay(folder: Path, commands: List[str]) -> List[str]:
    """Run GDB, without our plug-in, on a snapshot."""
    target = "%s %s --elf %s" % (REPLAY, folder, ELF)
    output = run(["directory %s" % DEMO, "file %s" % ELF, target, *commands], source=False)
    return output.splitlines()


def between(lines: List[str], first: str, last: str) -> List[str]:
    """Give the lines between two."""
    return lines[lines.index(first) + 1 : lines.index(last)]


@pytest.mark.every_gdb
def test_back_from_the_fault(snapshot: Path) -> None:
    lines = replay(
        snapshot,
        ["monitor where", "reverse-stepi", "echo A\\n", "backtrace 2", "echo B\\n", "monitor where", "reverse-step"]
        + ["break crc16", "reverse-continue", "echo C\\n", "backtrace 3", "echo D\\n", "reverse-finish", "frame"]
        + ["finish", "info registers pc"],
    )
    assert "HardFault_Handler () at faults.c:4" in lines
    last = next(line.split()[2] for line in lines if line.startswith("after instruction "))[:-1]
    assert "instruction %s of %s" % (last, last) in lines
    assert re.match(r"#0  0x00000304 in dispatch \(.*\) at rx.c:121$", between(lines, "A", "B")[0])
    assert re.match(r"#1  0x000000da in main \(\) at main.c:22$", between(lines, "A", "B")[1])
    assert any(line.startswith("Breakpoint 1, crc16 (") for line in lines)
    stack = [line for line in between(lines, "C", "D") if line.startswith("#")]
    assert [re.findall(r"(\w+) \(", line)[0] for line in stack] == ["crc16", "report", "main"]
    assert "0x00000510 in report () at app.c:121" in lines
    assert any(line.startswith("Breakpoint 1, crc16 (") for line in lines[lines.index("D") :])


@pytest.mark.every_gdb
def test_ends_are_told_and_nothing_is_written(snapshot: Path) -> None:
    lines = replay(
        snapshot,
        ["reverse-stepi", "set var $sp = 0", "set var *(int *) 0x20000000 = 1", "stepi", "delete", "reverse-continue"]
        + ["reverse-stepi", "info registers r9", "monitor where", "monitor reset", "x/i $pc", "continue"],
    )
    assert 'Could not write register "sp"; %s' % refused("E01") in lines
    assert any(line.startswith("Cannot access memory at address 0x20000000") for line in lines)
    assert lines.count(no_more()) == 4
    assert "etm: [the capture ends here: nothing can be added to it]" in lines
    assert lines.count("etm: [the buffer wrapped here: what ran before was overwritten]") == 2
    assert any(line.startswith("instruction 1 of ") for line in lines)
    assert '"reset" is not for a replay; "monitor where" shows the instruction\'s number' in lines


@pytest.mark.every_gdb
def test_gaps_are_stopped_at(snapshot: Path, tmp_path: Path) -> None:
    (capture,) = read_snapshot(str(snapshot))
    # Two buffers one after the other, with what is between unknown.
    write_snapshot(capture._replace(buffer=capture.buffer * 2), str(tmp_path / "twice"))
    lines = replay(tmp_path / "twice", ["reverse-continue", "monitor where", "reverse-continue"])
    gap = next(number for number, line in enumerate(lines) if line.startswith("etm: [gap: "))
    assert lines[gap].endswith("]: what ran here is unknown; the next command goes on beyond it")
    assert no_more() in lines[gap : gap + 4]
    assert any(re.match(r"instruction [\d,]+ of [\d,]+$", line) for line in lines[gap:])


@pytest.mark.every_gdb
def test_the_command_does_the_same(snapshot: Path) -> None:
    output = run(
        ["etm replay %s --elf %s" % (snapshot, ELF), "reverse-stepi", "etm replay %s" % snapshot, "detach"]
        + ["etm replay nowhere", "etm replay %s" % snapshot, "reverse-stepi"]
    )
    assert output.count("in dispatch (") == 2 and "replaying %s from its end" % snapshot in output
    assert "GDB is connected to" in output and "nowhere/snapshot.ini: no such file" in output


KILLED = """python
import os, signal
from gdb_etm.gdbui.debugger import GdbDebugger
def connect(self, where):
    print("listens:", where, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
GdbDebugger.connect_replay = connect
end
etm replay %s --elf %s
"""


def test_nobody_waits_for_a_gdb_that_was_killed_before_it_connected(snapshot: Path, tmp_path: Path) -> None:
    script = tmp_path / "killed.gdb"
    script.write_text(KILLED % (snapshot, ELF))
    found = re.search("^listens: (.*)$", run(["source %s" % script]), re.M)
    assert found is not None
    assert wait_until(lambda: not Path(found.group(1)).parent.exists())


@pytest.mark.every_gdb
@pytest.mark.parametrize("name", ["bugfix-exact-match", "a57_single_step"])
def test_64_bit_code_is_refused_before_gdb_connects(name: str) -> None:
    told = '64-bit code cannot be replayed; "etm history" and "gdb-etm history" show it'
    folder = capture_folder(name)
    output = run(["%s %s" % (REPLAY, folder), "etm replay %s" % folder, "info inferiors"])
    assert output.count(told) == 2 and "replaying" not in output and "process 1" not in output


def test_gdb_shows_why_its_pipe_ends() -> None:
    told = "gdb-etm: no GDB server at localhost:1 ("
    assert told in run(["target remote | %s -m gdb_etm proxy --server localhost:1" % sys.executable])


def test_mistakes_get_one_line(tmp_path: Path) -> None:
    for words, told in (
        (["replay", "nowhere"], "gdb-etm: nowhere/snapshot.ini: no such file"),
        (["proxy", "--server", "localhost:1", "--port", "0"], "gdb-etm: no GDB server at localhost:1 ("),
    ):
        command = [sys.executable, "-m", "gdb_etm", *words]
        done = subprocess.run(
            command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, universal_newlines=True, cwd=ROOT, check=False
        )
        assert done.returncode == 1 and done.stderr.startswith(told) and done.stderr.count("\n") == 1
