"""Real GDB sessions whose process beside GDB is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.access.processes import write_forever
from tests.gdb_session import run_gdb
from tests.gdb_texts import gdb_version

ENDED = 'the process beside GDB ended; this connection is closed. Try "etm connect"'
GONE = 'etm: GDB was connected to the process beside it, which is gone. Try "etm connect"'
_KILL = """import os, time
from gdb_etm.api.inside import commands_session
pid = commands_session().connection._client.process_id
os.kill(pid, 9)
while open('/proc/%d/stat' % pid).read().rpartition(')')[2].split()[0] != 'Z': time.sleep(0.01)
"""

# GDB asks for the registers, and finds out itself.
_LATE = """exec(%r.rpartition('pid =')[0])
session = commands_session()
plain = session._anchors.on_resume
def late(*arguments):
    exec(%r)
    gdb.execute('maint flush register-cache')
    plain(*arguments)
session._anchors.on_resume = late
"""


def after_the_kill(elf: Path, *commands: str) -> str:
    """Run commands after the kill; return GDB's later output."""
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s" % elf,
            "etm start",
            "tbreak *0x60",
            "continue",
            "python exec(%r)" % _KILL,
            "echo >>>\\n",
            *commands,
        ]
    )
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.split(">>>\n")[1]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "command", ["stepi", "x/4x 0x20000000", "continue", "reverse-stepi", "etm start", "etm status"]
)
def test_the_next_command_says_so_once(command: str, tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    output = after_the_kill(elf, command, "echo >>>\\n")
    assert output.count(ENDED) == 1 and GONE not in output, output


def test_it_may_end_while_the_program_is_about_to_run(tmp_path: Path) -> None:
    if gdb_version() >= 16:
        pytest.skip("this GDB may end by an assertion when its connection breaks while Python reads registers")
    elf = write_forever(tmp_path / "forever.elf")
    late = _LATE % (_KILL, _KILL)
    connect = ["etm connect board:m33 --elf %s" % elf, "etm start"]
    # GDB 13 crashes then, after all is said.
    output = run_gdb([*connect, "python exec(%r)" % late, "stepi"], may_crash=True)
    assert "Traceback" not in output and "Python Exception" not in output, output
    assert output.count(ENDED) == 1, output


def test_gdb_says_so_too_when_it_finds_out_later(tmp_path: Path) -> None:
    if gdb_version() >= 16:
        pytest.skip("this GDB may end by an assertion when its connection breaks while a Python command reads memory")
    elf = write_forever(tmp_path / "forever.elf")
    connect = "etm connect board:m33 --elf %s" % elf
    output = after_the_kill(elf, "etm history -1", "stepi", connect, "etm start", "stepi", "echo alive\\n")
    # Whether GDB or the plug-in notices first is up to the moment: either nothing is read from GDB, or all is there.
    first, rest = output.split("\n", 1)
    assert first in (ENDED, "etm: " + ENDED) and output.count("ended") == 1, output
    assert rest.startswith(GONE) or "<Debug halt" in rest, output
    assert "Tracing everything" in output and "alive\n" in output
