"""Real GDB sessions with real pyOCD on board m33."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List

import pytest

from gdb_etm.access.client import Client, attach
from tests.access.processes import (
    CPUID,
    DEMO,
    FOREVER_TICK,
    PATIENCE,
    ROOT,
    SPARE,
    ByHand,
    is_running,
    serve_by_hand,
    wait_until,
)
from tests.gdb_session import gdb_program

OPTIONS = ["-nx", "-batch", "-ex", "set pagination off", "-ex", "set confirm off"]
TICK_BREAK = "break *0x%x" % FOREVER_TICK
STOPPED = "Breakpoint 1, 0x%08x in ?? ()" % FOREVER_TICK
ASLEEP = "python import time; time.sleep(60)"
RUNNING = ("running", "sleeping")


@pytest.fixture
def client(by_hand: ByHand) -> Iterator[Client]:
    """A client of it."""
    attached = attach("localhost", by_hand.control_port)
    yield attached
    attached.close()


def _start_gdb(port: int, commands: List[str]) -> "subprocess.Popen[str]":
    """Start GDB on the target with its commands."""
    lines = ["set architecture armv8-m.main", "target extended-remote localhost:%d" % port, *commands]
    words = [gdb_program(), *OPTIONS, *(argument for line in lines for argument in ("-ex", line))]
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _gdb(port: int, *commands: str) -> str:
    """Run GDB on the target; return its output."""
    output, _ = _start_gdb(port, list(commands)).communicate(timeout=60)
    return output


def _wait_for(gdb: "subprocess.Popen[str]", text: str) -> str:
    """Read GDB's output up to the line that holds a text."""
    assert gdb.stdout is not None
    seen = ""
    for line in gdb.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError("no %r in: %s" % (text, seen))


def test_load_break_continue_and_step() -> None:
    empty = serve_by_hand()
    try:
        output = _gdb(
            empty.gdb_port,
            "file %s" % DEMO,
            "load",
            "monitor reset halt",
            "compare-sections .text",
            "break main",
            "continue",
            "next",
            "stepi",
            "info symbol $pc",
            "delete",
            "break SysTick_Handler",
            "continue",
            "backtrace",
        )
    finally:
        empty.process.kill()
        empty.process.communicate()
    assert "matched" in output
    assert re.search(r"Breakpoint 1, main \(\) at .*main\.c", output), output
    assert re.search(r"^main .*in section .text", output, re.M), output
    assert re.search(r"Breakpoint 2, SysTick_Handler \(\)", output), output
    assert re.search(r"#1 +<signal handler called>", output), output


def test_an_interrupt_stops_the_target_and_registers_are_read_while_it_runs(by_hand: ByHand, client: Client) -> None:
    gdb = _start_gdb(by_hand.gdb_port, ["echo ready\\n", "continue", "print $pc", "echo done\\n"])
    try:
        _wait_for(gdb, "ready")
        assert wait_until(lambda: client.states()[0] in RUNNING)
        port = client.port()
        for value in range(50):
            port.write32(SPARE, value)
            assert port.read32(SPARE) == value
            assert port.read_fifo(CPUID, 100) == [client.hello.cores[0].cpuid] * 100
        assert client.states()[0] in RUNNING
        gdb.send_signal(signal.SIGINT)
        output = _wait_for(gdb, "done")
        assert "Program received signal SIGINT" in output
        gdb.wait(PATIENCE)
    finally:
        gdb.kill()
        gdb.communicate()


def test_leaving_gdb_leaves_the_target_running(by_hand: ByHand, client: Client) -> None:
    output = _gdb(by_hand.gdb_port, TICK_BREAK, "continue", "echo stopped\\n")
    assert STOPPED in output
    assert wait_until(lambda: client.states()[0] in RUNNING)


def test_killing_gdb_leaves_the_target_running_without_its_breakpoints(by_hand: ByHand, client: Client) -> None:
    gdb = _start_gdb(by_hand.gdb_port, [TICK_BREAK, "continue", "echo stopped\\n", ASLEEP])
    _wait_for(gdb, "stopped")
    assert client.states() == ["halted"]
    gdb.kill()
    gdb.communicate()
    assert wait_until(lambda: client.states()[0] in RUNNING)
    # SysTick comes every 2000 instructions: a breakpoint left behind would soon stop the target for ever.
    again = attach("localhost", by_hand.control_port)
    for _ in range(200):
        assert again.states()[0] in RUNNING
    again.close()


def test_gdb_comes_back_after_it_was_killed(by_hand: ByHand) -> None:
    gdb = _start_gdb(by_hand.gdb_port, ["echo ready\\n", "continue"])
    _wait_for(gdb, "ready")
    gdb.kill()
    gdb.communicate()
    assert STOPPED in _gdb(by_hand.gdb_port, TICK_BREAK, "continue")


def test_a_second_gdb_is_told_that_there_is_one(by_hand: ByHand, client: Client) -> None:
    first = _start_gdb(by_hand.gdb_port, ["echo ready\\n", ASLEEP])
    try:
        _wait_for(first, "ready")
        before = client.registers()
        output = _gdb(by_hand.gdb_port, "set {int}%d = 0x1234" % SPARE, "stepi")
        assert output.count("another GDB uses this connection; disconnect it first") == 1, output
        assert client.registers() == before and client.port().read32(SPARE) == 0
    finally:
        first.kill()
        first.communicate()


IN_GDB = """
import os, sys
sys.path.insert(0, {root!r})
import gdb
from gdb_etm.access.client import start
from gdb_etm.access.process import server_arguments
client = start({python!r}, server_arguments(probe="board:m33", options=["board.elf={elf}", "board.faults={faults}"]))
gdb.execute("set architecture armv8-m.main")
gdb.execute("target extended-remote " + client.hello.gdb_server)
print("pid %d" % client.process_id, flush=True)
port = client.port()
"""


def _run_in_gdb(elf: Path, program: str, faults: str = "") -> str:
    """Run Python in GDB, connected to a process beside it."""
    script = elf.with_name("script.py")
    script.write_text(IN_GDB.format(root=str(ROOT), python=sys.executable, elf=elf, faults=faults) + program)
    finished = subprocess.run(
        [gdb_program(), *OPTIONS, "-x", str(script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
        # As at a terminal: the process must not be in the group that Ctrl-C reaches.
        start_new_session=True,
    )
    return finished.stdout


def test_ctrl_c_in_gdb_ends_a_drain_then_stops_the_target(forever: Path) -> None:
    output = _run_in_gdb(
        forever,
        """
def ctrl_c_soon():
    os.system("(sleep 0.5; kill -INT -%d) &" % os.getpid())
port.write32(0x20060000, 0x600DF00D)
ctrl_c_soon()
try:
    while True:
        port.read_fifo(0xE000ED00, 100000)
except KeyboardInterrupt:
    print("interrupted", hex(port.read32(0x20060000)), client.states())
ctrl_c_soon()
gdb.execute("continue")
print("stopped", hex(port.read32(0x20060000)), client.states())
client.close()
""",
    )
    assert "interrupted 0x600df00d ['halted']" in output, output
    assert "Program received signal SIGINT" in output and "stopped 0x600df00d ['halted']" in output, output


def test_a_second_gdb_beside_the_one_that_started_the_process_is_told(forever: Path) -> None:
    output = _run_in_gdb(
        forever,
        """
import subprocess
before = client.registers()
words = ["gdb-multiarch", "-nx", "-batch", "-ex", "target extended-remote " + client.hello.gdb_server]
words += ["-ex", "stepi", "-ex", "monitor reset"]
second = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print("told", second.stdout.count(b"another GDB uses this connection; disconnect it first"))
print("same", client.registers() == before)
gdb.execute("stepi")
print("stepped", client.registers()["pc"] != before["pc"])
client.close()
""",
    )
    assert "told 1" in output and "same True" in output and "stepped True" in output, output


def test_the_process_ends_with_a_gdb_that_is_killed(forever: Path) -> None:
    output = _run_in_gdb(forever, "os.kill(os.getpid(), 9)")
    match = re.search(r"^pid (\d+)$", output, re.M)
    assert match is not None, output
    assert wait_until(lambda: not is_running(int(match[1])))


def test_a_probe_unplugged_under_gdb_gives_back_the_prompt(forever: Path) -> None:
    """Neither GDB nor the client in a drain may hang."""
    output = _run_in_gdb(
        forever,
        """
from gdb_etm.errors import AccessError
try:
    port.read_fifo(0xE000ED00, 100000)
except AccessError as error:
    print("drain:", error.kind, error)
for command in ("stepi", "continue", "x/4x 0x20000000", "info registers pc"):
    try:
        gdb.execute(command)
    except gdb.error as error:
        print(command, "->", error)
client.close()
print("prompt")
""",
        faults="unplug-after:20000",
    )
    assert "drain: lost cannot read 0xe000ed00: the debug probe no longer answers" in output, output
    assert re.search("^prompt$", output, re.M), output
