"""Real GDB sessions, killed on a board that lives on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, List, NamedTuple, Sequence

import pytest

from tests.access.processes import FOREVER_TICK, is_running, wait_until, write_forever
from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb

TAKEN_OVER = "note: another debugger had claimed the trace unit; if it is still there, it loses its trace"
# Ends GDB at a request to the process beside it, counted from here.
_BOMB = """import os
from gdb_etm.access.client import Client
plain, left = Client.request, [%d]
def request(self, message, *rest):
    left[0] -= message.get('op') in %r
    if left[0] <= 0: os.kill(os.getpid(), 9)
    return plain(self, message, *rest)
Client.request = request
"""
ANY = ("read32", "write32", "read_block", "read_fifo")
_LINE = re.compile(r"\d+ [ !]? *(0x[0-9a-f]{8}) ")


class Board(NamedTuple):
    """A board that lives on, and its program and truth."""

    where: str
    elf: Path
    truth: Path

    @property
    def runs(self) -> bool:
        """Whether its core runs."""
        before = self.truth.stat().st_size
        return wait_until(lambda: self.truth.stat().st_size > before)

    def users(self) -> List[int]:
        """Return the processes beside GDB that use it."""
        words = self.where.split()[3].encode("ascii"), b"--stdio"
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                arguments = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1] in arguments and any(words[0] in each for each in arguments):
                found.append(int(path.parent.name))
        return found


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    elf, truth = write_forever(tmp_path / "forever.elf"), tmp_path / "truth"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.probe_server", "m33", "board.elf=%s" % elf, "board.truth=%s" % truth],
        cwd=str(ROOT),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        universal_newlines=True,
    )
    assert process.stdout is not None
    connect = "etm connect --probe remote:localhost:%d --target cortex_m --mode halt" % int(process.stdout.readline())
    yield Board(connect, elf, truth)
    process.kill()
    process.communicate()


def gdb(board: Board, commands: Sequence[str]) -> "subprocess.Popen[str]":
    """Start GDB on the board with its commands."""
    line = [gdb_program(), "-nx", "-q", "-batch"]
    for command in ("set width 0", "source %s" % SCRIPT, "file %s" % board.elf, board.where, *commands):
        line += ["-ex", command]
    return subprocess.Popen(
        line,
        cwd=str(ROOT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )


def wait_for(process: "subprocess.Popen[str]", text: str) -> List[str]:
    """Read GDB's output up to a line with a given beginning."""
    assert process.stdout is not None
    seen: List[str] = []
    for line in process.stdout:
        seen.append(line)
        if line.startswith(text):
            return seen
    raise AssertionError("".join(seen))


def bomb(number: int, operations: Sequence[str]) -> str:
    return "python exec(%r)" % (_BOMB % (number, tuple(operations)))


def next_session(board: Board) -> List[str]:
    """Trace in a new GDB, and compare with the truth."""
    before = board.truth.stat().st_size
    output = run_gdb(
        [
            "file %s" % board.elf,
            board.where,
            "etm status",
            "etm start",
            # The first tick may be due at once; to the second one a whole period runs.
            *["tbreak *%#x" % FOREVER_TICK, "continue"] * 2,
            "etm history 1,1000000",
            "etm disconnect",
        ]
    )
    assert "Traceback" not in output and "Python Exception" not in output, output
    found = _LINE.findall(output)
    assert len(found) > 20, output
    with board.truth.open("rb") as stream:
        stream.seek(before)
        # Between instructions it tells of exceptions, too.
        ran = b"\n".join(line for line in stream.read().splitlines() if line.startswith(b"0x"))
        assert "\n".join(found).encode("ascii") in ran
    return output.splitlines()


def assert_sane(board: Board) -> None:
    """The core runs, and the unit is off and unclaimed."""
    assert wait_until(lambda: not board.users())
    assert board.runs
    lines = next_session(board)
    assert TAKEN_OVER not in lines
    assert any(line.startswith("trace unit: off, idle, powered, ") for line in lines)


def test_while_it_programs_the_unit(board: Board) -> None:
    process = gdb(board, [bomb(9, ANY), "etm start", "echo not reached\\n"])
    output, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and "not reached" not in output
    assert_sane(board)


def test_while_it_drains_the_buffer(board: Board) -> None:
    deadly = bomb(1, ("read_fifo",))
    process = gdb(board, ["etm start", "tbreak *%#x" % FOREVER_TICK, deadly, "continue", "echo no\\n"])
    output, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and not output.endswith("no\n")
    assert_sane(board)


def test_while_the_program_runs_and_is_traced(board: Board) -> None:
    process = gdb(board, ["etm start", "python print('there', flush=True)", "continue"])
    wait_for(process, "there")
    time.sleep(0.1)
    process.kill()
    process.communicate()
    assert_sane(board)


def test_while_it_records(board: Board) -> None:
    # Until the buffer's interface leads to the core's, and the comparator counts cycles.
    there = (
        "python import os; from gdb_etm.traceunit.full_halt import FullHalt as F; c = F._connect;"
        " F._connect = lambda s: (c(s), s.halts and os.write(2, b'connected\\n'))[0]"
    )
    process = gdb(board, ["etm start", there, "set width 0", "python print('there', flush=True)", "etm record"])
    wait_for(process, "there")
    wait_for(process, "connected")
    process.kill()
    process.communicate()
    assert wait_until(lambda: not board.users())
    assert board.runs
    registers = ("0xe0046000", "0xe00460a0", "0xe0046134", "0xe0048000", "0xe0048028", "0xe0001028")
    looks = ["set mem inaccessible-by-default off", *("x/xw %s" % each for each in registers)]
    output = run_gdb(["file %s" % board.elf, board.where, *looks, "etm disconnect"])
    found = re.findall(r"^(0xe00[0-9a-f]{5}):\s(0x[0-9a-f]{8})$", output, re.MULTILINE)
    # An Armv8-M comparator shows what it is in its upper bits (DDI 0553, DWT_FUNCTIONn.ID), and that there was a match.
    assert [(each, int(value, 16) & 0xFFFFFF) for each, value in found] == [(each, 0) for each in registers], output
    assert_sane(board)


def test_the_process_beside_gdb(board: Board) -> None:
    """Nothing is restored: the core runs on, the unit is reused."""
    tell = "python print('process', flush=True)"
    process = gdb(board, ["etm start", tell, "continue"])
    wait_for(process, "process")
    time.sleep(0.1)
    (beside,) = board.users()
    os.kill(beside, signal.SIGKILL)
    process.communicate(timeout=60)
    assert not is_running(beside)
    assert board.runs
    assert TAKEN_OVER in next_session(board)
