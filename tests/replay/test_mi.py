"""Real GDB over MI, as an IDE drives it, with --reverse.

Every command, on the simulated board and on a snapshot.

Single steps are held against the board's truth.  Ref: Debugging with GDB, 27.13 "GDB/MI Program Execution", 27.23
"-list-target-features".
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List

import pytest

from tests.gdb_session import ROOT, SCRIPT, gdb_program
from tests.gdbui.test_board import CONNECT, truth
from tests.replay.boards import ELF, run

_STOPPED = re.compile(r'\*stopped,(?:reason="([\w-]+)",)?.*?frame=\{addr="(0x[0-9a-f]+)",func="(\w+)"')


class Mi:
    """A GDB that speaks MI."""

    def __init__(self) -> None:
        line = [gdb_program(), "-nx", "-q", "--interpreter=mi3"]
        self._gdb = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True, cwd=str(ROOT)
        )
        self._sent = 0

    def __enter__(self) -> Mi:
        return self

    def __exit__(self, *rest: object) -> None:
        self._gdb.kill()
        self._gdb.communicate()

    def ask(self, command: str) -> str:
        """Send a command and give its result record, without the number."""
        self._send(command)
        return next(line.partition("^")[2] for line in self._lines() if line.startswith("%d^" % self._sent))

    def type(self, line: str) -> None:
        """Type a line at the console."""
        assert self.ask('-interpreter-exec console "%s"' % line) == "done"

    def go(self, command: str) -> List[str]:
        """Send a moving command; return the stop's reason, address and function."""
        assert self.ask(command).startswith("running")
        return list(next(found for found in map(_STOPPED.match, self._lines()) if found is not None).groups(""))

    def _send(self, command: str) -> None:
        self._sent += 1
        assert self._gdb.stdin is not None
        self._gdb.stdin.write("%d%s\n" % (self._sent, command))
        self._gdb.stdin.flush()

    def move(self, command: str) -> None:
        """Send a command that may move, and may be refused."""
        if self.ask(command).startswith("running"):
            next(line for line in self._lines() if line.startswith("*stopped"))

    def say(self, line: str) -> str:
        """Type a line at the console; give what is printed."""
        self._send('-interpreter-exec console "%s"' % line)
        said = ""
        for answer in self._lines():
            if answer.startswith("%d^" % self._sent):
                break
            said += str(json.loads(answer[1:])) if answer.startswith('~"') else ""
        return said

    def _lines(self) -> Iterator[str]:
        assert self._gdb.stdout is not None
        for line in self._gdb.stdout:
            yield line.rstrip("\n")
        raise AssertionError("GDB has ended")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's fault, saved, and the board's truth of it."""
    folder = tmp_path_factory.mktemp("mi")
    connect = "%s --etb-size 1K --truth %s" % (CONNECT, folder / "all")
    # The program runs on when GDB has ended.
    keep = "shell cp %s %s" % (folder / "all", folder / "truth")
    run([connect, "etm start", "continue", keep, "etm save %s" % (folder / "fault")])
    return folder


def walk(mi: Mi, ran: List[int]) -> None:
    """Go back and forth from the demo's fault; check each stop."""
    assert '"reverse"' in mi.ask("-list-target-features")
    for address in ran[-1:-3:-1]:
        assert mi.go("-exec-step-instruction --reverse") == ["end-stepping-range", "0x%08x" % address, "dispatch"]
    assert mi.go("-exec-next-instruction --reverse")[1] == "0x%08x" % ran[-3]
    assert mi.go("-exec-step --reverse")[::2] == ["end-stepping-range", "dispatch"]
    assert mi.go("-exec-next --reverse")[::2] == ["end-stepping-range", "dispatch"]
    assert mi.go("-exec-finish --reverse")[::2] == ["end-stepping-range", "main"]
    assert mi.ask("-break-insert crc16").startswith("done")
    assert mi.go("-exec-continue --reverse")[::2] == ["breakpoint-hit", "crc16"]
    assert mi.ask("-data-evaluate-expression length") == 'done,value="16"'
    assert mi.ask("-break-delete") == "done"
    # GDB before 14 gives no reason where a history ends.
    begin = mi.go("-exec-continue --reverse")
    assert begin[0] in ("no-history", "") and mi.go("-exec-step --reverse") == begin
    assert mi.go("-exec-step")[0] == "end-stepping-range"
    assert mi.go("-exec-continue")[::2] == [begin[0], "HardFault_Handler"]


@pytest.mark.every_gdb
@pytest.mark.parametrize("background", ["off", "on"])
def test_back_and_forth_on_a_live_target(background: str, tmp_path: Path) -> None:
    with Mi() as mi:
        mi.ask("-gdb-set mi-async %s" % background)
        mi.type("source %s" % SCRIPT)
        assert '"reverse"' not in mi.ask("-list-target-features")
        mi.type("%s --truth %s" % (CONNECT, tmp_path / "truth"))
        mi.type("etm start")
        assert mi.go("-exec-continue")[::2] == ["signal-received", "HardFault_Handler"]
        walk(mi, truth(tmp_path / "truth"))


@pytest.mark.every_gdb
def test_back_and_forth_on_a_snapshot_without_the_plug_in(folder: Path) -> None:
    with Mi() as mi:
        assert mi.ask("-file-exec-and-symbols %s" % ELF) == "done"
        target = "remote | %s -m gdb_etm replay %s --elf %s" % (sys.executable, folder / "fault", ELF)
        assert mi.ask("-target-select %s" % target).startswith("connected")
        walk(mi, truth(folder / "truth"))
