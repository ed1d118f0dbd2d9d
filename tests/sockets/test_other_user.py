"""Real GDB, real pyOCD: the account ``nobody`` reaches nothing.

The places are those that the session's processes listen on, from /proc; and each is shown to answer its own user.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import List

import pytest

import gdb_etm
from gdb_etm.access.client import attach
from tests.access.processes import (
    PATIENCE,
    ByHand,
    listening_ports,
    listening_sockets,
    serve_by_hand,
    start_board,
)
from tests.gdb_session import ROOT, run_gdb
from tests.replay.boards import ELF, pyocd_server
from tests.sockets.visitors import HELLO, HTTP, RSP, Place, answered, as_user, knock, stays_open

OTHER = "nobody"
LISTENS = re.compile(r"target remote (\S+)$")


def places(pid: int) -> List[Place]:
    """List where a process listens."""
    return [*listening_ports(pid), *listening_sockets(pid)]


def test_the_process_beside_gdb(forever: Path) -> None:
    client = start_board(forever)
    try:
        assert client.process_id is not None
        there = places(client.process_id)
        assert there == [client.hello.gdb_server]
        states = client.states()
        assert answered(knock(there, OTHER)) == {}
        assert client.states() == states != ["halted"]
        assert answered(knock(there)) == {RSP: there}
    finally:
        client.close()


def test_serve_by_hand(by_hand: ByHand) -> None:
    there = places(by_hand.process.pid)
    assert sorted(map(str, there)) == sorted(map(str, (by_hand.gdb_port, by_hand.control_port)))
    client = attach("localhost", by_hand.control_port)
    assert answered(knock(there, OTHER)) == {}
    assert client.states() != ["halted"]
    client.close()
    assert answered(knock(there)) == {RSP: [by_hand.gdb_port], HELLO: [by_hand.control_port]}


def test_a_port_that_pyocd_opens_for_a_console(forever: Path) -> None:
    options = ("board.elf=%s" % forever, "enable_semihosting=1", "semihost_use_syscalls=0", "stdio_mode=telnet")
    served = serve_by_hand(*("-O%s" % option for option in options), "-Otelnet_port=0")
    try:
        (console,) = listening_ports(served.process.pid).keys() - {served.gdb_port, served.control_port}
        assert as_user(OTHER, lambda: stays_open(console)) is False
        assert stays_open(console)
    finally:
        served.process.kill()
        served.process.communicate()


def test_a_web_page_halts_nothing(by_hand: ByHand) -> None:
    client = attach("localhost", by_hand.control_port)
    assert answered(knock(places(by_hand.process.pid), None, [HTTP])) == {}
    assert client.states() != ["halted"]
    client.close()


IN_GDB = """
import json, os, re, sys
sys.path.insert(0, %(root)r)
from pathlib import Path
from tests.access.processes import listening_ports, listening_sockets
from tests.sockets.visitors import answered, knock
def mine(pid):
    found = [pid]
    for task in Path("/proc/%%d/task" %% pid).iterdir():
        found += [one for child in (task / "children").read_text().split() for one in mine(int(child))]
    return found
pids = mine(os.getpid())
there = [place for pid in pids for place in [*listening_ports(pid), *listening_sockets(pid)]]
print("@", json.dumps([len(pids), there, answered(knock(there, %(user)r))]))
"""


def test_a_session_in_gdb_with_a_second_gdb_for_the_past(tmp_path: Path) -> None:
    script = tmp_path / "knock.py"
    script.write_text(IN_GDB % {"root": str(ROOT), "user": OTHER})
    connect = ["etm connect board:m33 --elf %s" % ELF, "etm start", "continue"]
    output = run_gdb(
        # Of a value of the past, the second GDB stays.
        [*connect, "etm goto -100", "etm print 1 + 1", "python import runpy; runpy.run_path(%r)" % str(script)]
    )
    found = re.search(r"^@ (.*)$", output, re.M)
    if found is None and "Skipped" in output:
        pytest.skip("only root may run a program as another user")
    assert found is not None, output
    processes, there, heard = json.loads(found.group(1))
    assert processes > 2 and len(there) == 1 and heard == {}


@pytest.mark.parametrize("option", ["--port=0", "--socket"])
def test_a_replay(option: str, tmp_path: Path) -> None:
    with gdb_etm.connect("board:m33", elf=ELF) as session:
        session.start()
        session.run(PATIENCE)
        session.command("save %s" % (tmp_path / "fault"))
    command = [sys.executable, "-m", "gdb_etm", "replay", str(tmp_path / "fault"), "--elf=%s" % ELF, option]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert LISTENS.search(process.stdout.readline())
        (there,) = places(process.pid)
        assert answered(knock([there], OTHER)) == {} == answered(knock([there], None, [HTTP]))
        # It waited for its one GDB.
        assert answered(knock([there], None, [RSP])) == {RSP: [there]}
        assert process.wait(PATIENCE) == 0
        assert isinstance(there, int) or not Path(there).parent.exists()


@pytest.mark.parametrize("option", ["--port=0", "--socket"])
def test_a_proxy(option: str) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(pyocd_server())
        command = [sys.executable, "-m", "gdb_etm", "proxy", "--server=localhost:%d" % server, "--elf=%s" % ELF, option]
        process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        found = LISTENS.search(process.stdout.readline())
        assert found
        (there,) = places(process.pid)
        assert found.group(1) in (there, "localhost:%s" % there)
        assert answered(knock([there], OTHER)) == {}
        assert answered(knock([there])) == {RSP: [there]}
