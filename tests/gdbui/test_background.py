"""Real GDB at a prompt, with a history that takes long."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Iterator

import pytest

from tests.firmware.recovery.build import elf
from tests.gdb_session import ROOT, SCRIPT, gdb_program
from tests.terminal import Terminal

PROGRAM = elf("algorithms-O0")
# What of GDB's interface the plug-in calls.
GUARD = """python
import gdb, os, threading
def guarded(call):
    def called(*arguments, **named):
        if threading.current_thread() is not threading.main_thread():
            os.write(1, b"CALLED OFF GDB'S THREAD")
        return call(*arguments, **named)
    return called
for name in dir(gdb):
    if callable(getattr(gdb, name)) and not isinstance(getattr(gdb, name), type) and name != "post_event":
        setattr(gdb, name, guarded(getattr(gdb, name)))
end
"""
CONNECT = "etm connect board:m33 --etb-size 64K --elf %s" % PROGRAM
# In instructions before the end.
LIMIT, PLACE = 12000, 9000
_PROVISIONAL = re.compile(r"\[provisional: worked out from ([\d,]+) instructions around here")


class Prompt:
    """GDB on a terminal.

    :param terminal: It.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._at = terminal.wait("(gdb) ", terminal.wait("ready\n"))

    def run(self, command: str) -> str:
        """Run a command at the prompt and give what it prints."""
        self.terminal.type(command + "\n")
        echoed = self.terminal.wait(command + "\n", self._at)
        self._at = self.terminal.wait("(gdb) ", echoed)
        return self.terminal.seen[echoed : self._at]

    def settle(self) -> str:
        """Wait until the background has nothing to do."""
        status = self.run("etm status")
        while "in the background" in status:
            time.sleep(0.2)
            status = self.run("etm status")
        return status


@pytest.fixture(name="prompt")
def fixture_prompt(tmp_path: Path) -> Iterator[Prompt]:
    (tmp_path / "guard.gdb").write_text(GUARD)
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    line = [gdb_program(), "-nx", "-q"]
    begin = ["set width 0", "set pagination off", "set confirm off", "source %s" % SCRIPT]
    begin += ["source %s" % (tmp_path / "guard.gdb"), "set etm reverse off", CONNECT, "break finished"]
    for command in [*begin, "etm start", "continue", "echo ready\\n"]:
        line += ["-ex", command]
    with Terminal(line, environment, ROOT) as terminal:
        prompt = Prompt(terminal)
        prompt.run("set etm recovery-limit %d" % LIMIT)
        prompt.run("etm goto -%d" % PLACE)
        yield prompt
        assert "Python Exception" not in terminal.seen and "Traceback" not in terminal.seen
        assert "Fatal" not in terminal.seen and "CALLED OFF" not in terminal.seen


def test_an_answer_is_provisional_until_the_background_comes_to_it(prompt: Prompt) -> None:
    assert "= void" in prompt.run("print $etm_r0")
    first = prompt.run("etm info registers r0")
    found = _PROVISIONAL.search(first)
    assert found is not None and "up to the end are being worked out]" in first
    assert int(found[1].replace(",", "")) < 2500 and "r0  <unavailable>" in first
    # Meanwhile there are GDB's own commands, and others of ours.
    assert "= 2\n" in prompt.run("print 1+1") and "finished ()" in prompt.run("backtrace")
    assert "<finished" in prompt.run("etm history -1")
    assert "values of the past: worked out from instruction " in prompt.settle()
    later = prompt.run("etm info registers r0")
    assert "provisional" not in later and re.search(r"^r0  0x2000[0-9a-f]{4} ", later, re.MULTILINE), later
    assert re.search(r"= 0x2000[0-9a-f]{4}$", prompt.run("print /x $etm_r0"), re.MULTILINE)
    # Back to a place that is not known, and out of GDB in the midst of it.
    prompt.run("set etm recovery-limit unlimited")
    prompt.run("etm goto 2000")
    assert _PROVISIONAL.search(prompt.run("etm print $sp"))
    prompt.terminal.type("\x03")
    assert "= 3\n" in prompt.run("print 1+2")
    assert "going on in the background" in prompt.run("etm status")
    prompt.terminal.type("quit\n")
    assert prompt.terminal.end() == 0


def test_the_background_ends_with_the_connection_and_with_the_setting(prompt: Prompt) -> None:
    assert _PROVISIONAL.search(prompt.run("etm print $r0"))
    prompt.run("set etm recovery-background off")
    assert "in the background" not in prompt.run("etm status")
    prompt.run("set etm recovery-background on")
    assert _PROVISIONAL.search(prompt.run("etm print $r0"))
    assert "disconnected" in prompt.run("etm disconnect")
    assert "in the background" not in prompt.run("etm status")
    prompt.terminal.type("\x04")
    assert prompt.terminal.end() == 0


def test_a_script_waits_for_its_answers(prompt: Prompt, tmp_path: Path) -> None:
    script = tmp_path / "script.gdb"
    script.write_text("etm print $r0\n")
    assert _PROVISIONAL.search(prompt.run("etm print $r0"))
    found = prompt.run("source %s" % script)
    assert "$r0 = " in found and "provisional" not in found
