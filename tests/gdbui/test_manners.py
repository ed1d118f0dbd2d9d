"""Real GDB sessions: the first words, abbreviations, frames by number."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import List, Sequence

import pytest

from gdb_etm import __version__
from gdb_etm.commands.registry import ABBREVIATIONS, COMMANDS
from tests.gdb_session import ROOT, SCRIPT, SECONDS, gdb_program, run_gdb
from tests.shared import capture_folder

GREETING = 'gdb_etm %s: "etm connect" connects to a chip with a trace unit, "help etm" says more.' % __version__


def _begun(options: Sequence[str], home: Path) -> List[str]:
    # What GDB prints that reads the script and ends.
    done = subprocess.run(
        [
            gdb_program(),
            "-nx",
            "-eiex",
            "set startup-quietly off",
            *options,
            "-ex",
            "source %s" % SCRIPT,
            "-ex",
            "quit",
        ],
        cwd=str(ROOT),
        env=dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", HOME=str(home)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.every_gdb
@pytest.mark.parametrize("options", [[], ["-ex", "echo -q\\n"], ["-cd", "."], ["-ex=echo"]])
def test_one_line_at_first(options: List[str], tmp_path: Path) -> None:
    lines = _begun(options, tmp_path)
    assert lines[-1] == GREETING and lines.count(GREETING) == 1


@pytest.mark.every_gdb
@pytest.mark.parametrize("options", [["-q"], ["--quiet"], ["-silent"], ["-batch"], ["-ex", "echo", "-q"]])
def test_no_line_when_gdb_is_quiet(options: List[str], tmp_path: Path) -> None:
    assert GREETING not in _begun(options, tmp_path)


def test_abbreviations_are_of_the_commands_that_gdb_has() -> None:
    # GDB's own "where" is another command's abbreviation, and ours a command.
    names = {command.name for command in COMMANDS}
    own = run_gdb(["help %s" % short for short in ABBREVIATIONS], source=False).splitlines()
    assert not names & ABBREVIATIONS.keys()
    for short, name in ABBREVIATIONS.items():
        assert name in names
        assert any({short, name} <= {word.strip() for word in line.split(",")} for line in own), short


@pytest.mark.every_gdb
def test_abbreviations_run_the_commands() -> None:
    texts = [run_gdb(["help etm " + word for word in words]) for words in (ABBREVIATIONS, ABBREVIATIONS.values())]
    assert texts[0] == texts[1] and "Undefined" not in texts[0]


def test_frames_by_number() -> None:
    folder = capture_folder("bugfix-exact-match")
    commands = ["etm load %s" % folder, "etm goto 1000", "etm frame 1", "etm f", "etm f 99999"]
    lines = run_gdb([*commands, "etm f one", "etm f 1 2"]).splitlines()
    assert lines[-5].startswith("#1  0x") and lines[-4] == lines[-5]
    assert lines[-3:] == [
        "No frame at level 99999.",
        'LEVEL: "one" is not a number',
        '"2" is one argument too many. Usage: etm frame [LEVEL]',
    ]
