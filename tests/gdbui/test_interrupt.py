"""Real GDB sessions: Ctrl-C halts the program at any time."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from tests.access.processes import FOREVER_TICK, write_forever
from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb
from tests.terminal import Terminal

TRIES = 12
# As Ctrl-C does when it falls into a request to the process beside GDB.
_WHILE_ASKING = """import os, signal
from gdb_etm.access.client import Client
plain = Client.request
def request(self, message, *rest):
    if message.get('op') == 'past' and keys:
        keys.pop()
        os.kill(os.getpid(), signal.SIGINT)
    return plain(self, message, *rest)
Client.request, keys = request, []
"""


def test_before_the_program_has_begun_to_run(tmp_path: Path) -> None:
    """Ctrl-C comes after GDB's event, before the program runs."""
    elf = write_forever(tmp_path / "forever.elf")
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s" % elf,
            "etm start",
            "python exec(%r)" % _WHILE_ASKING,
            "python keys.append(1)",
            "continue",
            "python keys.append(1)",
            "continue",
            # Halted so soon it may have executed nothing; what runs from there on is traced.
            "tbreak *%#x" % FOREVER_TICK,
            "continue",
            "etm history -1",
        ]
    )
    assert output.count("Program received signal SIGINT, Interrupt.") == 2, output
    assert "Python Exception" not in output and "etm: interrupted" not in output
    assert "\n[halt in 0x%08x (breakpoint 1)]\n" % FOREVER_TICK in output, output


def test_at_any_moment_after_continue(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    line = [gdb_program(), "-nx", "-q", "-ex", "set width 0", "-ex", "set pagination off"]
    for command in ("source %s" % SCRIPT, "etm connect board:m33 --elf %s" % elf, "etm start", "echo ready\\n"):
        line += ["-ex", command]
    delays = random.Random(1)
    with Terminal(line, environment, ROOT) as terminal:
        at = terminal.wait("ready\n")
        for _ in range(TRIES):
            terminal.type("continue\n")
            at = terminal.wait("Continuing.\n", at)
            time.sleep(delays.uniform(0, 0.02))
            terminal.type("\x03")
            at = terminal.wait("Program received signal SIGINT", at)
            at = terminal.wait("(gdb) ", at)
        assert "Python Exception" not in terminal.seen
