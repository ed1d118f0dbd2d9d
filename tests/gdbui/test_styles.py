"""Real GDB on a terminal: styles, paging and logging."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb
from tests.gdbui.test_values import DEMO
from tests.shared import capture_folder
from tests.terminal import Terminal

_CAPTURE = "bugfix-exact-match"
_PROMPT = "(gdb) "
_ADDRESS = "\x1b[34m0x"


def gdb_on_terminal(folder: Path, where: Path) -> Terminal:
    """Start GDB in a terminal with colours."""
    keys = folder / "inputrc"
    keys.write_text("set enable-bracketed-paste off\n")
    environment = dict(os.environ, TERM="xterm", HOME=str(folder), LC_ALL="C.UTF-8", INPUTRC=str(keys))
    environment.pop("NO_COLOR", None)
    arguments = [gdb_program(), "-nx", "-q", "-ex", "set width 0", "-ex", "set height 0", "-ex", "source %s" % SCRIPT]
    return Terminal(arguments, environment, where)


@pytest.mark.gdb
def test_styles_paging_and_logging(tmp_path: Path) -> None:
    with gdb_on_terminal(tmp_path, ROOT) as terminal:
        at = terminal.wait(_PROMPT)

        def run(line: str, until: str = _PROMPT) -> str:
            nonlocal at
            before = at
            terminal.type(line + "\n")
            at = terminal.wait(until, at)
            return terminal.seen[before:at]

        run("etm load %s" % capture_folder(_CAPTURE))
        assert run("etm history 1,3").count(_ADDRESS) == 3
        run("set style address foreground red")
        assert run("etm history 1,3").count("\x1b[31m0x") == 3
        run("set style address foreground blue")
        log = tmp_path / "log"
        run("set logging file %s" % log)
        run("set logging enabled on")
        assert _ADDRESS in run("etm history 1,3")
        run("set logging enabled off")
        assert "0x" in log.read_text() and "\x1b" not in log.read_text()
        run("set style enabled off")
        assert "\x1b" not in run("etm history 1,3")
        run("set style enabled on")
        # What a script takes is plain.
        assert run("python print('\\x1b' in gdb.execute('etm history 1,3', False, True))").splitlines()[1] == "False"
        run("set height 5")
        paged = run("etm history 1,100", "without paging--")
        assert paged.count(_ADDRESS) < 5
        assert "Quit" in run("q") and terminal.seen.count(_ADDRESS) < 20
        run("set height 0")
        assert run("etm history 1,3").count(_ADDRESS) == 3


@pytest.mark.gdb
def test_where_a_recording_ends_is_text(tmp_path: Path) -> None:
    # The line of source is of a file that GDB keeps with its styles.
    commands = ["etm connect board:m33 --elf demo.elf", "etm start", "break dispatch", "continue", "next", "etm record"]
    with gdb_on_terminal(tmp_path, DEMO.parent) as terminal:
        before = at = terminal.wait(_PROMPT)
        for command in commands:
            before = at
            terminal.type(command + "\n")
            at = terminal.wait(_PROMPT, terminal.wait(command + "\n", at))
        assert "\n117\t{\n" in terminal.seen[before:at]


def test_no_styles_without_a_terminal() -> None:
    lines = run_gdb(["set style enabled on", "etm load %s" % capture_folder(_CAPTURE), "etm history 1,3"])
    assert "0x" in lines and "\x1b" not in lines
