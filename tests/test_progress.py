"""Real processes on a terminal: the progress line, and Ctrl-C.

The processes are the shell and a real GDB session.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

from tests.commands.captures import repeated
from tests.gdb_session import ROOT, SCRIPT, gdb_program
from tests.shared import capture_folder
from tests.terminal import Terminal

AT_ONCE = "import gdb_etm.session.progress as progress; progress._PATIENCE = progress._BETWEEN = 0"
CONNECT = "etm connect board:m33 --etb-size 64K --elf %s" % (ROOT / "gdb_etm/board/firmware/demo/demo.elf")
INTERRUPTED = r"while decoding \d+(\.\d+)? MiB of trace, at \d+%"


def environment() -> Dict[str, str]:
    """Give GDB's Python nothing of ours, as tests/gdb_session.py does."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return dict(kept, LC_ALL="C.UTF-8", TERM="dumb", HOME="/nonexistent")


def screen(text: str) -> List[str]:
    """Return the visible lines; ``\\r`` goes back to a line's beginning."""
    lines = []
    for line in text.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Over 25 MiB of trace with five IDs, seconds of work."""
    return repeated("juno_r1_1", 400, tmp_path_factory.mktemp("big") / "juno")


@pytest.fixture()
def gdb() -> Iterator[Terminal]:
    """GDB at its prompt, with gdb_etm."""
    if not list(ROOT.glob(".venv/lib/python3*/site-packages")):
        pytest.skip("no .venv in the checkout; run scripts/setup")
    words = [gdb_program(), "-nx", "-q", "-ex", "set height 0", "-ex", "source %s" % SCRIPT]
    with Terminal(words, environment(), ROOT) as terminal:
        terminal.wait("(gdb) ")
        yield terminal


def ask(gdb: Terminal, line: str) -> List[str]:
    """Type a line at the prompt; return the visible answer."""
    begun = len(gdb.seen)
    gdb.type(line + "\n")
    end = gdb.wait("(gdb) ", begun)
    return screen(gdb.seen[begun:end])[1:-1]


def test_the_shell_shows_it_and_ctrl_c_ends_it(big: str) -> None:
    words = [sys.executable, "-m", "gdb_etm", "elements", big, "--format", "none"]
    with Terminal(words, environment(), ROOT) as shell:
        shell.wait("% (Ctrl-C ends it)", shell.wait("Decoding "))
        shell.type("\x03")
        assert shell.end() == 130
    assert re.search(r"\rDecoding 2\d(\.\d)? MiB of trace: \d+% \(Ctrl-C ends it\)", shell.seen)
    (line,) = [line for line in screen(shell.seen) if line]
    assert re.fullmatch("gdb-etm: interrupted " + INTERRUPTED, line)


def test_the_shell_writes_it_to_terminals_only(tmp_path: Path) -> None:
    code = "%s; from gdb_etm.__main__ import main; sys.exit(main())" % AT_ONCE
    words = "%s -c 'import sys; %s' elements %s" % (sys.executable, code, capture_folder("juno_r1_1"))
    output = tmp_path / "output"
    line = "%s > %s; echo; %s 2>/dev/null | head -1" % (words, output, words)
    with Terminal(["sh", "-c", line], environment(), ROOT) as shell:
        assert shell.end() == 0
    assert "\rDecoding" in shell.seen and "Decoding" not in output.read_text()
    first, second, *rest = screen(shell.seen)
    assert first == "" and re.match(r" +\d+  1\d  ", second) and rest == [""]
    assert shell.seen.count("\n") == 2 and "Decoding" not in shell.seen.split("\n")[1]


def test_gdb_shows_it_and_ctrl_c_ends_it(gdb: Terminal, big: str) -> None:
    ask(gdb, "etm load " + big)
    begun = len(gdb.seen)
    gdb.type("etm history -1\n")
    gdb.wait("% (Ctrl-C ends it)", gdb.wait("Decoding ", begun))
    gdb.type("\x03")
    end = gdb.wait("(gdb) ", begun)
    assert re.fullmatch("Quit " + INTERRUPTED, screen(gdb.seen[begun:end])[1])
    # The session goes on, and the work can be done anew.
    assert "not decoded yet" in ask(gdb, "etm captures")[0]
    assert ask(gdb, "print 5") == ["$1 = 5"]
    ask(gdb, "etm load " + capture_folder("juno_r1_1"))
    assert ask(gdb, "etm history 1,2")[-1].startswith("2")


def test_gdb_takes_the_line_away_and_gives_it_to_no_caller(gdb: Terminal) -> None:
    ask(gdb, "python " + AT_ONCE)
    for command in ("etm history 1,2", "etm functions 1,2", "etm packets 1,2"):
        ask(gdb, "etm load " + capture_folder("juno_r1_1"))
        begun = len(gdb.seen)
        lines = ask(gdb, command)
        assert "% (Ctrl-C ends it)\r" in gdb.seen[begun:]
        assert lines and "Ctrl-C" not in "".join(lines)
    for command in ("etm history 1,2", "etm functions 1,2", "etm packets 1,2"):
        ask(gdb, "etm load " + capture_folder("juno_r1_1"))
        assert ask(gdb, "python text = gdb.execute('%s', to_string=True)" % command) == []
        assert ask(gdb, "python print('Ctrl-C' in text, len(text) > 80)") == ["False True"]


def test_a_target_that_is_being_opened(gdb: Terminal) -> None:
    ask(gdb, "python " + AT_ONCE)
    begun = len(gdb.seen)
    gdb.type(CONNECT + "\n")
    gdb.wait("s (Ctrl-C ends it)", gdb.wait("Waiting for pyOCD to open the target: ", begun))
    gdb.type("\x03")
    end = gdb.wait("(gdb) ", begun)
    assert re.fullmatch(r"Quit while waiting for pyOCD to open the target, at \d s", screen(gdb.seen[begun:end])[1])
    lines = ask(gdb, CONNECT)
    assert lines[0].startswith("Reset_Handler () at ") and "Ctrl-C" not in "".join(lines)
    ask(gdb, "etm disconnect")


def test_reading_a_trace_buffer(gdb: Terminal) -> None:
    ask(gdb, "python " + AT_ONCE)
    ask(gdb, CONNECT)
    ask(gdb, "etm start")
    begun = len(gdb.seen)
    lines = ask(gdb, "continue")
    assert re.search(r"\rReading the trace buffer: \d+% \(Ctrl-C ends it\)", gdb.seen[begun:])
    assert lines[-1].startswith("etm: ") and "Ctrl-C" not in "".join(lines)
    ask(gdb, "etm disconnect")


@pytest.mark.parametrize("words", [["-i=mi"], ["-batch"]])
def test_programs_that_drive_gdb_do_not_see_it(words: List[str]) -> None:
    commands = ["source %s" % SCRIPT, "python " + AT_ONCE, "etm load " + capture_folder("juno_r1_1"), "etm history 1,2"]
    line = [gdb_program(), "-nx", "-q", *words]
    if words == ["-batch"]:
        line += [word for command in commands for word in ("-ex", command)]
    with Terminal(line, environment(), ROOT) as gdb:
        if words != ["-batch"]:
            gdb.wait("(gdb)")
            for command in commands:
                begun = len(gdb.seen)
                gdb.type('-interpreter-exec console "%s"\n' % command)
                gdb.wait("^done\n(gdb)", begun)
            gdb.type("-gdb-exit\n")
        assert gdb.end() == 0
    assert "0xffffffc000096a04" in gdb.seen
    assert "Ctrl-C" not in gdb.seen
