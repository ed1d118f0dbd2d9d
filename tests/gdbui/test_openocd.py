"""Real GDB, real OpenOCD, and a differential run: pyOCD's session.

What a user types on a board behind OpenOCD gives what it gives behind pyOCD.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Iterator, List, Sequence

import pytest

from gdb_etm.access.logs import LogKeeper
from gdb_etm.access.request_handler import RequestHandler
from gdb_etm.access.wire import encode_line
from gdb_etm.beside.relay import RelaySession
from tests.access.processes import wait_until, write_forever
from tests.firmware.cortex_a.build import elf as elf_a9
from tests.gdb_session import ROOT, SCRIPT, demo_script, gdb_program, run_gdb
from tests.openocd import OpenOcd, board_with_pins, connect_commands, openocd, run_openocd

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
ELF = DEMO / "demo.elf"
_TRCPRGCTLR = 0xE0041004
# OpenOCD takes a core for running once it has run something between two looks.
POLL = "for {set i 0} {$i < 50} {incr i} {poll; if {[m33.cpu curstate] ne {unknown}} break; sleep 100}"
BACK = ["reverse-stepi", "reverse-step", "backtrace", "reverse-finish", "print *message", "reverse-continue", "stepi"]


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenOcd]:
    """Run OpenOCD on a board; parametrised by board."""
    with board_with_pins(tmp_path, getattr(request, "param", "m33"), "--elf", str(ELF)) as config:
        with openocd(config) as running:
            yield running


def run(commands: Sequence[str]) -> str:
    output = run_gdb(["set remotetimeout 100", *commands], cwd=DEMO)
    assert "Traceback" not in output and "Python Exception" not in output and "Fatal signal" not in output, output
    return output


def story() -> List[str]:
    """Return what scripts/demo types from ``etm start`` on, then GDB's own commands."""
    text = Path(demo_script()).read_text("utf-8")
    typed = re.findall(r'^    "(.*)"$', text[text.index("session=(") : text.index("\n)")], re.M)
    assert typed[:2] == ["source gdb_etm", "etm connect board:m33 --elf demo.elf"] and len(typed) > 15
    commands = []
    for line in [*typed[2:], "etm goto end", *BACK]:
        commands += ["echo >>> %s\\n" % line, line]
    return commands


def compared(output: str) -> List[str]:
    """Return what is to be the same, from the halt on."""
    lines = output[output.index(">>> etm functions") :].splitlines()
    # pyOCD reads the core's revision, takes a halt in HardFault for SIGSEGV, and has a name for its thread.
    names = re.compile(r"(Connected to Cortex-M\d+) r\dp\d| \(SIGSEGV\)|\[Switching to Thread .*|\[Inferior 1 .*")
    found = (names.sub(r"\1", line) for line in lines)
    return [line for line in found if line and "(Ctrl-C ends it)" not in line]


@pytest.mark.sweep
@pytest.mark.parametrize("server, name", [("m33", "m33"), ("m7", "m7"), ("m4", "m4")], indirect=["server"])
def test_the_demos_story_is_that_behind_pyocd(server: OpenOcd, name: str) -> None:
    mine = run([*connect_commands(server, ELF), "etm connect target", *story()])
    assert "Cortex-M%s through extended-remote localhost:%d\n" % (name[1:], server.port) in mine
    other = run(["etm connect board:%s --elf %s" % (name, ELF), *story()])
    assert compared(mine) == compared(other)
    assert "parse_values, rx.c:83: writes past the end of station.values (32 bytes)" in mine
    assert " in main () at main.c:22" in mine.partition(">>> reverse-finish")[2].partition(">>>")[0]
    said = "".join(server.said)
    assert "WAIT" not in said and "Invalid ACK" not in said


def test_disconnecting_gives_gdb_its_server_back(server: OpenOcd) -> None:
    output = run(
        [*connect_commands(server, ELF), "etm connect target", "etm start", "tbreak dispatch", "continue"]
        + ["reverse-stepi", "etm disconnect", "info registers pc", "monitor mdw 0xe0041004", "stepi", "etm"]
    )
    assert "disconnected from Cortex-M33; the captures stay at hand" in output
    assert re.search(r"^pc +0x2f0 +0x2f0 <dispatch>", output, re.M), output
    # The unit is off (TRCPRGCTLR.EN).
    assert re.search(r"^0xe0041004: 00000000", output, re.M)
    assert "Not connected; " in output


def test_without_reverse_execution_gdb_stays_at_the_server(server: OpenOcd) -> None:
    output = run(
        ["set etm reverse off", *connect_commands(server, ELF), "etm connect target", "etm start", "continue"]
        + ["reverse-stepi", "etm history -1", "info inferiors"]
    )
    assert "Target remote does not support this command." in output or "does not support" in output
    assert "<HardFault (exception 3), return address 0x00163332>" in output
    assert "(extended-remote localhost:%d)" % server.port in output


def test_each_halt_of_a_cortex_a9_gives_its_trace(tmp_path: Path) -> None:
    """OpenOCD has the core, and reaches its trace unit.

    Evidence: the board's truth.
    """
    program, truth = elf_a9("sort-a32"), tmp_path / "truth"
    with board_with_pins(tmp_path, "a9", "--elf", str(program), "-O", "board.truth=%s" % truth) as config:
        with openocd(config) as server:
            # The board has run meanwhile: this core cannot be halted in its reset.
            commands = [*connect_commands(server, program), "set $pc = 0", "set $cpsr = 0x1d3"]
            commands += ["etm connect target --dap-only", "etm start", "hbreak run", "continue", "stepi"]
            commands += ["etm why 100 sp", "etm record --instructions 3000", "echo >>>\\n", "etm history 1,99999"]
            output = run(commands)
    assert "etm: 1 instruction in run, 0 calls, 0 exceptions" in output
    assert "sp = 0x20080000 before instruction 100, <Reset_Handler+88>" in output
    assert "in 1 piece" in output and "nothing that ran is missing" in output, output
    history = output.partition(">>>")[2]
    assert "gap" not in history
    listed = re.findall(r"^\d+ +(0x[0-9a-f]{8}) ", history, re.M)
    ran = [line[:10] for line in truth.read_text().splitlines() if re.match("0x[0-9a-f]{8}", line)]
    assert len(listed) > 3000 and ran[-len(listed) :] == listed


def _wait_for_ended_connections(server: OpenOcd, count: int) -> None:
    until = time.monotonic() + 60
    while "".join(server.said).count("dropped 'gdb' connection") < count:
        assert time.monotonic() < until, server.said
        time.sleep(0.2)


def test_a_killed_gdb_leaves_the_unit_as_it_was(tmp_path: Path) -> None:
    """The core runs: it is halted for that, and runs on."""
    forever = write_forever(tmp_path / "forever.elf")
    with board_with_pins(tmp_path, "m33", "--elf", str(forever)) as config:
        with openocd(config) as server:
            words = [gdb_program(), "-nx", "-q", "-ex", "source %s" % SCRIPT]
            for line in [
                *connect_commands(server, forever),
                "etm connect target",
                "etm start",
                "echo >>>\\n",
                "continue",
            ]:
                words += ["-ex", line]
            with subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as gdb:
                assert gdb.stdout is not None
                for line in gdb.stdout:
                    if line.startswith(b">>>"):
                        break
                time.sleep(1.5)
                # A process has taken GDB's place at OpenOCD.
                _wait_for_ended_connections(server, 1)
                os.kill(gdb.pid, signal.SIGKILL)
            # It leaves OpenOCD when all is put back.
            _wait_for_ended_connections(server, 2)
        # OpenOCD is gone; a new one looks.
        output = run_openocd(config, POLL, "echo [mdw 0xe0041004]", "echo [m33.cpu curstate]")
    assert "0xe0041004: 00000000" in output and "\nrunning\n" in output, "".join(server.said) + output


def test_a_gdb_that_is_killed_before_it_has_read_everything_is_gone(tmp_path: Path) -> None:
    """A socket stands for GDB, whose end resets the connection.

    It reads no acknowledgment.  The relay's own thread, which may meet the reset first, waits for its turn.
    """
    forever = write_forever(tmp_path / "forever.elf")
    with board_with_pins(tmp_path, "m33", "--elf", str(forever)) as config:
        with openocd(config, "reset halt") as server:
            with closing(RelaySession("localhost", server.port)) as session, socket.socket(socket.AF_UNIX) as gdb:
                desk = RequestHandler(session, LogKeeper())
                on = {"op": "write32", "ap": 0, "address": _TRCPRGCTLR, "value": 1}
                for request in (on, {"op": "at_end", "steps": [[0, _TRCPRGCTLR, 0, 0]]}):
                    assert b"error" not in desk.answer(encode_line(request))
                assert session.port(0).read32(_TRCPRGCTLR) == 1
                gdb.connect(session.hello().gdb_server)
                gdb.sendall(b"+$c#63")
                assert wait_until(lambda: session.states() == ["running"])
                with session.probe.borrowed():
                    gdb.close()
                    desk.finish()
            _wait_for_ended_connections(server, 1)
        output = run_openocd(config, POLL, "echo [mdw 0xe0041004]", "echo [m33.cpu curstate]")
    assert "0xe0041004: 00000000" in output and "\nrunning\n" in output, output
