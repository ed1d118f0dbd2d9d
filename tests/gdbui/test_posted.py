"""Real GDB, real pyOCD: events that still wait when GDB ends.

GDB 13 crashes at its exit on such an event.
"""

from __future__ import annotations

import subprocess

import pytest

from tests.firmware.build import elf
from tests.gdb_session import SCRIPT, SECONDS, gdb_program, run_gdb

_POST = "python from gdb_etm.gdbui.posted import POSTED; POSTED.post(lambda: print('called'))"
_SLOW = "python import time; gdb.events.stop.connect(lambda event: time.sleep(1.5))"
_RUN = "from gdb_etm.api.inside import commands_session; ran = commands_session().debugger.run_once(%g); "


@pytest.mark.every_gdb
def test_an_event_that_waits_does_not_crash_gdb_at_its_exit() -> None:
    line = [gdb_program(), "-nx", "-q", "-batch", "-ex", "source %s" % SCRIPT, "-ex", _POST, "-ex", "echo the end\\n"]
    for more, status in ([], 0), (["-ex", "quit 7"], 7):
        done = subprocess.run(
            line + more, stdout=subprocess.PIPE, universal_newlines=True, timeout=SECONDS, check=False
        )
        assert (done.returncode, done.stdout) == (status, "the end\n")


@pytest.mark.every_gdb
def test_the_clock_of_a_run_stands_still_once_the_target_has_halted() -> None:
    path = elf("sort")
    words = "python %sprint('in time', ran.is_itself); from gdb_etm.gdbui.posted import POSTED; " % (_RUN % 1)
    output = run_gdb(
        ["etm connect board:m33 --elf %s" % path, "tbreak main", _SLOW]
        + [words + "print('waiting', len(POSTED._waiting))", "etm disconnect"]
    )
    assert "in time True" in output and "waiting 0" in output, output
