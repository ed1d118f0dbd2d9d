"""Real GDB and pyOCD on m33, failing while GDB connects."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest

from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
from gdb_etm.beside.process import HistoryFront
from gdb_etm.board.faults import Faults
from gdb_etm.board.wire import ProbeWire
from tests.access.processes import DEMO

SECONDS = 60
# GDB begins with fewer.
ACCESSES = 60
CONNECTING = """
import gdb
for number in range(%d):
    print("@", number, flush=True)
    try:
        gdb.execute("target extended-remote %s", False, True)
        print("in")
        gdb.execute("disconnect", False, True)
    except gdb.error as error:
        print("error:", error)
"""
TOLD = re.compile(
    r"in|error: (Remote co.*(closed|disconnected).*|Could not .*the debug probe (is lost|failed|gets no answer).*)"
)


class FailingAnew:
    """A session whose probe recovers for each GDB, and fails later.

    :param fault: Which fault of the board's.
    :param step: How many accesses later.
    """

    def __init__(self, session: PyocdSession, fault: str, step: int) -> None:
        assert session._server is not None
        self.conversations = 0
        self._fault, self._step = fault, step
        self._watched = session.probe
        self._wire: ProbeWire = session.probe.etm_wire
        server: Any = session._server.pyocds
        self._halt = server._halt_target
        server._halt_target = self.begin

    def begin(self) -> None:
        """Begin with what pyOCD does first when a GDB comes."""
        self.conversations += 1
        after = self._step * self.conversations
        self._wire.board.faults = Faults(**{self._fault: self._wire.transfers + after})
        self._wire.mend()
        if self._fault == "hang":
            port: Any = self._wire.board.dp
            port._faults = Faults(hang=port._accesses + after)
        self._watched.lost = None
        self._halt()


@pytest.fixture
def session() -> Iterator[PyocdSession]:
    """A session on the board, with reverse execution."""
    options = SessionOptions(probe="board:m33", options=("board.elf=%s" % DEMO,), connect_mode="halt")
    opened = PyocdSession(options, HistoryFront().between)
    yield opened
    opened.close()


@pytest.mark.parametrize("fault, step", [("unplug_after", 1), ("usb_error", 4), ("hang", 5)])
def test_gdb_begins_or_says_why_not(session: PyocdSession, fault: str, step: int, tmp_path: Path) -> None:
    failing = FailingAnew(session, fault, step)
    script = tmp_path / "connecting.py"
    script.write_text(CONNECTING % (ACCESSES // step, session.hello().gdb_server))
    line = ["gdb-multiarch", "-nx", "-q", "-batch", "-ex", "set width 0", "-ex", "file %s" % DEMO, "-x", str(script)]
    with subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True
    ) as gdb:
        try:
            output, _ = gdb.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            gdb.kill()
            output, _ = gdb.communicate()
    told = re.findall(r"^(?:in|error: .*)$", output, re.M)
    assert len(told) == ACCESSES // step == failing.conversations, output
    assert all(map(TOLD.fullmatch, told)) and "in" in told, output
    assert fault != "unplug_after" or any("is lost" in line for line in told), output
